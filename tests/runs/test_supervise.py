"""How often a run is started again, and what waits for a disk or a record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from safetensors import SafetensorError

from crowdcore import runs
from crowdcore.core.errors import CrowdError
from crowdcore.runs import faults, store
from crowdcore.runs.engine_process import Reconciler
from crowdcore.runs.locks import Ending, leased, read_note
from crowdcore.runs.run import STATUS
from crowdcore.runs.supervise import supervise
from testkit.on_engine import leave, spec

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")  # MLflow's own use of SQLAlchemy


def test_an_ending_has_one_word_for_its_note_one_exit_code_and_one_state():
    assert all(Ending.of(ending.code) is ending is Ending(ending.value) for ending in Ending)
    assert [Ending.of(code) for code in (None, -9, 77)] == [Ending.LOST, Ending.LOST, Ending.FAILED]
    assert {ending.name: STATUS[ending.state] for ending in Ending} == {
        "FINISHED": "FINISHED",
        "FAILED": "FAILED",
        "CANCELLED": "KILLED",
        "LOST": "SCHEDULED",
        "STOPPED": "SCHEDULED",
    }


def test_runs_are_not_started_for_ever(workspace):
    run = store.create(spec(3), workspace=workspace)
    leave(workspace, run.id, lost=2)
    assert supervise(str(workspace.folder), workspace.tracking_uri, run.id, "cpu") == "failed"
    Reconciler(workspace).settle(run.id)
    found = store.get_run(run.id, workspace=workspace)
    assert found.state == "failed" and "3 times" in found.message


class Dying:
    """Children of a run that signals end, each after it has written some lines and perhaps a checkpoint."""

    def __init__(self, folder, codes, gets_on):
        self.folder, self.codes, self.gets_on, self.pid, self.told = folder, list(codes), gets_on, 0, []

    def fork(self, work, run_id, environment, log, handles):
        self.told.append(store.get_run(run_id).message)
        store.set_state(run_id, "running")
        with Path(log).open("a") as written:
            written.write(f"line of child {len(self.told)}\n")
        if self.gets_on:
            (self.folder / "checkpoint" / "0-0").mkdir(parents=True, exist_ok=True)
            (self.folder / "checkpoint" / "0-0" / f"epoch-{len(self.told):06}.safetensors").touch()
        self.code = self.codes.pop(0)
        return self

    def wait(self, seconds):
        return True


@pytest.mark.parametrize(
    ("gets_on", "codes", "outcome", "n_children"),
    [(False, [-9] * 9, "failed", 3), (True, [-9, -11] * 3 + [0], "ended", 7)],
)
def test_a_child_that_a_signal_ends_is_started_again_while_it_gets_on(
    workspace, monkeypatch, gets_on, codes, outcome, n_children
):
    run = store.create(spec(3), workspace=workspace)
    folder = workspace.run_folder(run.id)
    child = Dying(folder, codes, gets_on)
    monkeypatch.setattr("crowdcore.runs.supervise.server", child)
    monkeypatch.setattr("crowdcore.runs.supervise.kill_group", lambda pid: None)
    became = ""
    while not became:
        became = supervise(str(workspace.folder), workspace.tracking_uri, run.id, "cpu")
        Reconciler(workspace).settle(run.id)  # queues it again
    assert became == outcome
    assert len(child.told) == n_children
    assert child.told[0] == "" and "SIGKILL" in child.told[1]
    assert child.told[1].endswith("It begins again.")
    if not gets_on:
        message = read_note(folder).message
        assert "3 times without progress" in message
        assert message.endswith("\nline of child 3"), "the last lines of the last child alone"


def test_a_disk_that_takes_nothing_is_one_sentence(workspace, no_engine, monkeypatch):
    run = runs.submit(spec(3), workspace=workspace)
    full = os.statvfs(workspace.folder)
    monkeypatch.setattr(faults.os, "statvfs", lambda _: os.statvfs_result((*full[:4], 0, *full[5:])))
    assert "is full: make room" in runs.engine_state(workspace=workspace).problem
    for action in (runs.cancel, runs.resume, runs.run_again):
        with pytest.raises(CrowdError, match="is full: make room"):
            action(run.id, workspace=workspace)
    monkeypatch.setattr(faults.os, "statvfs", lambda _: os.statvfs_result((*full[:8], os.ST_RDONLY, *full[9:])))
    assert "is read-only" in runs.engine_state(workspace=workspace).problem
    monkeypatch.undo()
    assert [r.id for r in runs.list_runs(workspace=workspace)] == [run.id]


def test_what_passes_is_tried_again():
    asked = [OSError(28, "No space left on device"), OSError(28, "No space left on device")]

    def act():
        if asked:
            raise asked.pop()
        return "done"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "_PAUSE", 0.0)
        assert faults.retry(act) == "done"
        asked.append(SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"))
        assert faults.retry(act) == "done"
        asked.append(OSError(27, "File too large"))  # a limit stays
        with pytest.raises(OSError, match="too large"):
            faults.retry(act)
        asked.append(OSError(28, "No space left on device"))
        with pytest.raises(OSError, match="No space"):
            faults.retry(act, stopped=lambda: True)


def test_a_run_that_somebody_has_is_not_supervised_twice(workspace, monkeypatch):
    run = store.create(spec(3), workspace=workspace)
    monkeypatch.setattr("crowdcore.runs.supervise.leased", lambda folder, wait: leased(folder, 0))
    with leased(workspace.run_folder(run.id)):
        assert supervise(str(workspace.folder), workspace.tracking_uri, run.id, "cpu") == ""
