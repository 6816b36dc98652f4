"""Bringing the record and the engine together: what waits is handed over, what was lost goes on, what ended says so."""

from __future__ import annotations

import contextlib
import functools
import shutil
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime

from crowdcore.core.errors import CrowdError
from crowdcore.runs import store
from crowdcore.runs.lease import Ending, Note, is_leased, leased, read_note
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
        free = [run for run in live if run.id not in handed and self._is_free(run)]
        is_over = functools.cache(self._is_over)  # trials of one search wait together
        return sorted((run for run in free if self._is_queued(run, is_over)), key=self._turn)

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
                self._is_queued(run, self._is_over)

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

    def _is_queued(self, run: Run, is_over: Callable[[str], bool]) -> bool:
        """Whether a run that nobody works on waits, once the record says what its note says."""
        folder = self._workspace.run_folder(run.id)
        if run.state == "queued" and self._due(run, read_note(folder), is_over)[0] == "queued":
            return True
        try:
            with leased(folder, wait=0):
                run = store.get_run(run.id, workspace=self._workspace)
                if run.has_ended:
                    return False
                state, message = self._due(run, read_note(folder), self._is_over)
                if state != run.state:
                    store.set_state(run.id, state, message, workspace=self._workspace)
                return state == "queued"
        except BlockingIOError:  # somebody has just begun
            return False

    def _due(self, run: Run, note: Note, is_over: Callable[[str], bool]) -> tuple[State, str]:
        """The state that a run should be in on which nobody works, and why."""
        asked, ending = self._workspace.cancel_requested(run.id), note.outcome
        if asked and ending.state == "queued" and self._workspace.has_checkpoint(run.id):
            return "queued", KEEPING
        if ending is not Ending.CANCELLED and (asked or is_over(run.spec.parent)):
            return "cancelled", "Cancelled while it waited." if asked else "Its search was ended."
        if ending is Ending.FINISHED:
            return "failed", "It ended without recording its result. Resume continues from its checkpoint."
        if ending.state != "queued":
            return ending.state, note.message
        why = note.message.partition("\n")[0] or "Its worker was lost."
        return "queued", f"{why} {_goes_on(run)}" if note.supervisor else ""

    def _is_over(self, search: str) -> bool:
        """Whether the search of a trial has ended, or is gone; "" is that of a run that is none."""
        try:
            return bool(search) and store.get_run(search, workspace=self._workspace).has_ended
        except CrowdError:
            return True


def _goes_on(run: Run) -> str:
    return f"It continues from its last checkpoint before epoch {run.epoch}." if run.epoch else "It begins again."
