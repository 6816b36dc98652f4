"""Bringing the record and the engine together: what waits is handed over, what was lost goes on, what ended says so."""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from datetime import UTC, datetime

from crowdcore.core.errors import CrowdError
from crowdcore.runs import store
from crowdcore.runs.lease import Note, is_leased, leased, read_note
from crowdcore.runs.processes import is_alive, kill_group
from crowdcore.runs.run import TAG, Run, State, read_run
from crowdcore.runs.schema import client_of
from crowdcore.runs.supervise import KEEPING
from crowdcore.runs.workspace import Workspace

_FORGOTTEN = 60.0  # seconds after which a run whose creation MLflow never heard of is forgotten
_GRACE = 5.0  # seconds that a child has to end after its supervisor did


class Reconciler:
    """Decides from the record and the leases alone what has to be done; may be stopped and started at any time.

    Args:
        workspace: whose runs.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._orphaned_since: dict[str, float] = {}
        self.unfinished: set[str] = set()
        """Runs that wait or go on."""

    def waiting(self, handed: set[str]) -> list[Run]:
        """The runs to hand over, in their order, after the record has been put right.

        Args:
            handed: ids of runs that a worker has been given, and of searches at work; they are left alone.
        """
        self._finish_creating()
        live = [
            run
            for run in store.list_runs(states=["queued", "running"], workspace=self._workspace)
            if self._workspace.run_folder(run.id).is_dir()
        ]
        self.unfinished = {run.id for run in live}
        over = {search for search in {run.spec.parent for run in live} if search and self._is_over(search)}
        free = [run for run in live if run.id not in handed and self._is_free(run)]
        queued = [run for run in free if not self._is_wrong(run, over) or self._put_right(run)]
        return sorted(queued, key=self._turn)

    def _finish_creating(self) -> None:
        """Queue the runs whose creation was cut short after MLflow had recorded them; forget the others."""
        for begun in (self._workspace.folder / "runs").glob(f"{store.BEGUN}*"):
            if is_leased(begun):
                continue
            client, key = client_of(self._workspace), begun.name.removeprefix(store.BEGUN)
            experiments = [e.experiment_id for e in client.search_experiments()]
            found = client.search_runs(experiments, f"tags.`{TAG}key` = '{key}'")
            run = read_run(found[0]) if found else None
            if run and not self._workspace.run_folder(run.id).exists():
                store.put_in_place(begun, run.id, run.spec, self._workspace)
            elif begun.exists() and time.time() - begun.stat().st_mtime > _FORGOTTEN:  # its lease comes after it
                shutil.rmtree(begun, ignore_errors=True)

    def _turn(self, run: Run) -> tuple[bool, int, datetime]:
        """What a run's place in the queue goes by; one that only has to make its checkpoint a result goes first."""
        concludes = self._workspace.cancel_requested(run.id)
        return not concludes, -run.spec.priority, run.created or datetime.min.replace(tzinfo=UTC)

    def settle(self, run_id: str) -> None:
        """Put one run's record right after its supervisor came back."""
        with contextlib.suppress(CrowdError):
            run = store.get_run(run_id, workspace=self._workspace)
            if not run.has_ended and not is_leased(self._workspace.run_folder(run_id)):
                self._put_right(run)

    def _is_free(self, run: Run) -> bool:
        """Whether nobody works on the run; a child without a supervisor that does not end is ended."""
        folder = self._workspace.run_folder(run.id)
        if not is_leased(folder):
            self._orphaned_since.pop(run.id, None)
            return True
        note = read_note(folder)
        if note.host == socket.gethostname() and note.child and not is_alive(note.supervisor):
            since = self._orphaned_since.setdefault(run.id, time.monotonic())
            if time.monotonic() - since > _GRACE:
                kill_group(note.child)
        return False

    def _is_wrong(self, run: Run, over: set[str]) -> bool:
        """Whether the record of a run that nobody works on says something else than that it waits, or should."""
        if run.state != "queued" or run.spec.parent in over or self._workspace.cancel_requested(run.id):
            return True
        return read_note(self._workspace.run_folder(run.id)).outcome in {"failed", "cancelled", "ended"}

    def _put_right(self, run: Run) -> bool:
        """Let the record say what the note says; True when the run is queued afterwards."""
        folder = self._workspace.run_folder(run.id)
        try:
            with leased(folder, wait=0):
                note = read_note(folder)
                run = store.get_run(run.id, workspace=self._workspace)
                if run.has_ended:
                    return False
                return self._judge(run, note)
        except BlockingIOError:  # somebody has just begun
            return False

    def _judge(self, run: Run, note: Note) -> bool:
        asked = self._workspace.cancel_requested(run.id)
        if asked and note.outcome in {"", "stopped"} and self._workspace.has_checkpoint(run.id):
            if run.state != "queued":
                self._set(run, "queued", KEEPING)
            return True
        if asked or note.outcome == "cancelled":
            self._set(run, "cancelled", note.message if note.outcome == "cancelled" else "Cancelled while it waited.")
        elif run.spec.parent and self._is_over(run.spec.parent):
            self._set(run, "cancelled", "Its search was ended.")
        elif note.outcome == "failed":
            self._set(run, "failed", note.message)
        elif note.outcome == "ended":
            self._set(run, "failed", "It ended without recording its result. Resume continues from its checkpoint.")
        elif run.state == "running" and not note.supervisor:
            self._set(run, "queued", "")
            return True
        elif run.state == "running":
            why = note.message.partition("\n")[0] or "Its worker was lost."
            self._set(run, "queued", f"{why} {_goes_on(run)}")
            return True
        else:
            return True
        return False

    def _set(self, run: Run, state: State, message: str) -> None:
        store.set_state(run.id, state, message, workspace=self._workspace)

    def _is_over(self, search: str) -> bool:
        try:
            return store.get_run(search, workspace=self._workspace).has_ended
        except CrowdError:
            return True


def _goes_on(run: Run) -> str:
    return f"It continues from its last checkpoint before epoch {run.epoch}." if run.epoch else "It begins again."
