"""`Workspace`: the folder of uploads and runs, and the address of their record."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from crowdcore.core import files
from crowdcore.core.errors import DataError

RUN_ID = re.compile(r"[0-9a-f]{32}")
WAIT = 3  # seconds that SQLite waits for another writer before it says so
_MOUNTS = Path("/proc/mounts")
_SHARED = re.compile(
    r"nfs4?|cifs|smb3|smbfs|afs|ceph|lustre|gpfs|beegfs|glusterfs|orangefs|pvfs2|ocfs2|gfs2|9p"
    r"|fuse\.(?!(fuse-overlayfs|mergerfs|bindfs|ntfs-3g|lxcfs)$).+"  # sshfs, s3fs, rclone …, but not these on own disks
)


@dataclass(frozen=True)
class Workspace:
    """Place of uploads, runs and their record.

    Args:
        folder: an absolute path; created when something is first written.
        tracking_uri: MLflow's, a database in the folder or a server.
    """

    folder: Path
    tracking_uri: str

    @classmethod
    def open(cls, folder: Path | str | None = None) -> Workspace:
        """Open the workspace of ``folder``, else ``CROWDCORE_WORKSPACE``, else ``workspace`` in the current folder.

        ``MLFLOW_TRACKING_URI`` names another record than the workspace's own SQLite database.
        """
        chosen = files.workspace(folder)
        uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{chosen / 'mlflow.db'}"
        if uri.startswith("sqlite:") and "timeout=" not in uri:
            uri += f"{'&' if '?' in uri else '?'}timeout={WAIT}"
        return cls(chosen, uri)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables with which a child process opens the same workspace."""
        return {"CROWDCORE_WORKSPACE": str(self.folder), "MLFLOW_TRACKING_URI": self.tracking_uri}

    @property
    def database(self) -> Path | None:
        """File of a SQLite record; None for a server."""
        if not self.tracking_uri.startswith("sqlite:"):
            return None
        return Path(self.tracking_uri.removeprefix("sqlite:///").split("?")[0]).resolve()

    @property
    def owns_record(self) -> bool:
        """True if the record is in the folder: its paths are then relative to the folder, too."""
        return self.database is not None and self.database.parent == self.folder

    @property
    def read_only(self) -> str:
        """Reason why the record is read-only, with the remedy, in one sentence; "" if it is writable."""
        database = self.database
        if database is None:
            return ""
        if kind := network_filesystem(database.parent):
            return (
                f"The workspace {self.folder} lies on a network folder ({kind}), which can destroy a SQLite record: "
                "set MLFLOW_TRACKING_URI to a tracking server (`mlflow server`), or use a disk of this machine."
            )
        if database.exists() and not all(os.access(path, os.W_OK) for path in (database, database.parent)):
            return (
                f"The workspace {self.folder} is read-only: its runs can be looked at, but not started or changed. "
                "Make it writable, or name another one with CROWDCORE_WORKSPACE."
            )
        return ""

    def artefact_folder(self, run_id: str) -> Path:
        """Folder of the results of a run in a workspace with its own record."""
        return self.folder / "artifacts" / self.run_folder(run_id).name / "artifacts"

    def run_folder(self, run_id: str) -> Path:
        """Folder of one run: its log, checkpoints, lease and note, requests to cancel, a copy of its record.

        Raises:
            DataError: the id is not a run's; nothing else can become a path.
        """
        if not RUN_ID.fullmatch(run_id):
            raise DataError(f"There is no run {run_id!r}", "`crowdcore runs list` lists the runs.")
        return self.folder / "runs" / run_id

    def has_checkpoint(self, run_id: str) -> bool:
        """Return True if a run has a checkpoint, from which it can go on or make a result."""
        return any((self.run_folder(run_id) / "checkpoint").rglob("epoch-*.safetensors"))

    def request_cancel(self, run_id: str, *, now: bool = False) -> None:
        """Ask the process of a run to stop after its current epoch or, with ``now``, within it."""
        folder = self.run_folder(run_id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cancel").touch()
        if now:
            (folder / "cancel-now").touch()

    def cancel_requested(self, run_id: str) -> bool:
        """Return True if a run shall stop."""
        return (self.run_folder(run_id) / "cancel").exists()

    def stop_requested(self, run_id: str) -> bool:
        """Return True if a run shall stop before the end of its epoch."""
        return (self.run_folder(run_id) / "cancel-now").exists()

    def forget_cancel(self, run_id: str) -> None:
        """Withdraw the requests to stop."""
        for name in ("cancel", "cancel-now"):
            (self.run_folder(run_id) / name).unlink(missing_ok=True)


def network_filesystem(folder: Path) -> str:
    """Type of the network file system that holds the folder, such as ``nfs4``; "" for this machine's own disks."""
    kind, longest = "", -1
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # no Linux
        return ""
    for line in lines:
        _, place, mounted, *_ = [*line.split(" "), "", "", ""]
        point = Path(place.replace("\\040", " "))
        if len(point.parts) >= longest and (folder == point or point in folder.parents):
            kind, longest = mounted, len(point.parts)
    return kind if _SHARED.fullmatch(kind) else ""
