"""Which file system a folder lies on: SQLite is not safe on those that other machines share."""

from __future__ import annotations

import re
from pathlib import Path

_MOUNTS = Path("/proc/mounts")
_SHARED = re.compile(
    r"nfs4?|cifs|smb3|smbfs|afs|ceph|lustre|gpfs|beegfs|glusterfs|orangefs|pvfs2|ocfs2|gfs2|9p"
    r"|fuse\.(?!(fuse-overlayfs|mergerfs|bindfs|ntfs-3g|lxcfs)$).+"  # sshfs, s3fs, rclone …, but not these on own disks
)


def network_filesystem(folder: Path) -> str:
    """The type of a network file system that holds the folder, such as ``nfs4``; "" for this machine's own disks."""
    kind, longest = "", -1
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # no Linux
        return ""
    for line in lines:
        _, place, found, *_ = [*line.split(" "), "", "", ""]
        point = Path(place.replace("\\040", " "))
        if len(point.parts) >= longest and (folder == point or point in folder.parents):
            kind, longest = found, len(point.parts)
    return kind if _SHARED.fullmatch(kind) else ""
