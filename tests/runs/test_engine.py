"""The queue, the engine's processes and those that it supervises."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from safetensors import SafetensorError

from crowdcore import runs
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.core.processes import is_alive
from crowdcore.runs import engine, engine_process, faults, store
from crowdcore.runs.engine import EngineFiles
from crowdcore.runs.engine_process import Reconciler
from crowdcore.runs.locks import Ending, Note, is_leased, leased, read_note
from crowdcore.runs.run import STATUS
from crowdcore.runs.supervise import supervise
from testkit.on_engine import ENGINE, leave, processes, spec, until, workspace_at

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy")  # MLflow's own use of SQLAlchemy


def test_a_lease_has_one_holder_and_passes_on_to_its_child(tmp_path):
    with leased(tmp_path) as lease:
        assert is_leased(tmp_path)
        with pytest.raises(BlockingIOError), leased(tmp_path, wait=0):
            pass
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lease.handle])
    assert is_leased(tmp_path)  # the child still works
    child.communicate(b"\n")
    assert not is_leased(tmp_path)


def test_a_supervisor_that_left_no_word_counts_as_lost(tmp_path):
    with leased(tmp_path) as lease:
        assert lease.begin() == Note(supervisor=os.getpid(), host=socket.gethostname())
        assert lease.begin().lost == 1
        lease.write(replace(lease.begin(), outcome="stopped"))
        assert lease.begin().lost == 2  # being stopped is no loss
        (tmp_path / "checkpoint").mkdir()
        (tmp_path / "checkpoint" / "epoch-000004.safetensors").touch()
        assert lease.begin().lost == 1  # it had got on
        assert lease.begin().lost == 2
    (tmp_path / "note.json").write_text("{")
    assert read_note(tmp_path) == Note()


def test_order_of_the_queue(workspace, no_engine):
    first, second, third = (store.create(spec(3, priority=p), workspace=workspace).id for p in (0, 0, 5))
    waiting = Reconciler(workspace)
    assert [r.id for r in waiting.waiting(set())] == [third, first, second]
    assert waiting.unfinished == {first, second, third}
    runs.set_priority(second, 9, workspace=workspace)
    assert [r.id for r in waiting.waiting({third})] == [second, first]


@pytest.mark.parametrize(
    ("note", "state", "words"),
    [
        ({}, "queued", "worker was lost. It begins again"),
        ({"outcome": "stopped", "message": "The engine was stopped."}, "queued", "engine was stopped. It begins"),
        ({"outcome": "failed", "message": "It crashed."}, "failed", "It crashed."),
        ({"outcome": "cancelled", "message": "Cancelled; it hung."}, "cancelled", "it hung"),
        ({"outcome": "ended"}, "failed", "without recording its result"),
    ],
)
def test_the_record_after_a_supervisor_is_gone(workspace, note, state, words):
    run = store.create(spec(3), workspace=workspace)
    store.set_state(run.id, "running", workspace=workspace)
    leave(workspace, run.id, **note)
    waiting = Reconciler(workspace).waiting(set())
    record = store.get_run(run.id, workspace=workspace)
    assert record.state == state and words in record.message
    assert [r.id for r in waiting] == ([run.id] if state == "queued" else [])


def test_what_ended_by_itself_stays_as_it_is(workspace):
    run = store.create(spec(3), workspace=workspace)
    leave(workspace, run.id, outcome="failed", message="exit code 1")
    store.set_state(run.id, "failed", "its own words", workspace=workspace)
    Reconciler(workspace).settle(run.id)
    assert store.get_run(run.id, workspace=workspace).message == "its own words"


def test_runs_at_work_are_left_alone(workspace):
    busy = store.create(spec(3), workspace=workspace)
    store.set_state(busy.id, "running", workspace=workspace)
    with leased(workspace.run_folder(busy.id)) as lease:
        lease.begin()
        assert Reconciler(workspace).waiting(set()) == []
    assert store.get_run(busy.id, workspace=workspace).state == "running"


class KilledError(BaseException):
    """Ends a computation as a signal does, without being handled."""


@pytest.mark.parametrize(
    ("where", "what", "n_runs"),
    [
        ("experiment_of", None, 0),
        ("put_in_place", None, 1),
        ("client_of", "log_batch", 1),
        ("client_of", "update_run", 1),
    ],
)
def test_a_creation_that_was_cut_short_is_finished_or_undone(workspace, monkeypatch, where, what, n_runs):
    def die(*given, **named):
        names.append([path.name for path in (workspace.folder / "runs").iterdir()])
        assert Reconciler(workspace).waiting(set()) == []  # it may only be slow
        raise KilledError

    names = []
    monkeypatch.setattr(engine_process, "_FORGOTTEN", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(store.client_of(workspace) if what else store, what or where, die)
        with pytest.raises(KilledError):
            store.create(spec(3), workspace=workspace)
    assert len(names) == 1 and names[0][0].startswith(store.BEGUN)
    waiting = Reconciler(workspace).waiting(set())
    assert [run.message for run in waiting] == [""] * n_runs
    assert store.list_runs(workspace=workspace) == waiting
    assert [path.name for path in (workspace.folder / "runs").iterdir()] == [run.id for run in waiting]


def test_a_creation_that_the_record_refused_leaves_nothing(workspace, monkeypatch):
    def refuse(*given, **named):
        raise RuntimeError("no")

    monkeypatch.setattr(store, "experiment_of", refuse)
    with pytest.raises(RuntimeError):
        store.create(spec(3), workspace=workspace)
    assert list((workspace.folder / "runs").iterdir()) == []


def test_a_child_that_outlives_its_supervisor_is_ended(workspace, monkeypatch):
    monkeypatch.setattr(engine_process, "_GRACE", 0.0)
    run = store.create(spec(3), workspace=workspace)
    folder = workspace.run_folder(run.id)
    with leased(folder) as lease:
        child = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lease.handle], start_new_session=True
        )
        gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
        lease.write(Note(supervisor=int(gone.stdout), child=child.pid, host=socket.gethostname()))
    reconciler = Reconciler(workspace)
    reconciler.waiting(set())
    time.sleep(0.05)
    reconciler.waiting(set())
    assert child.wait(5) == -9
    child.stdin.close()
    assert [r.id for r in reconciler.waiting(set())] == [run.id]


def test_trials_end_with_their_search(workspace):
    plan = runs.SearchPlan(space={"lr": runs.Choice(values=(0.1, 0.2))})
    parent = store.create(spec(3, search=plan), workspace=workspace)
    trial = store.create(spec(3, parent=parent.id), workspace=workspace)
    assert len(Reconciler(workspace).waiting(set())) == 2
    store.set_state(parent.id, "cancelled", workspace=workspace)
    assert Reconciler(workspace).waiting(set()) == []
    assert store.get_run(trial.id, workspace=workspace).message == "Its search was ended."


def test_cancel_and_go_on_while_waiting(workspace, no_engine):
    run = runs.submit(spec(3), workspace=workspace)
    runs.cancel(run.id, workspace=workspace)
    assert runs.get_run(run.id, workspace=workspace).message == "Cancelled before it started."
    assert supervise(str(workspace.folder), workspace.tracking_uri, run.id, "cpu") == "cancelled"
    again = runs.resume(run.id, workspace=workspace)
    assert (again.state, again.message) == ("queued", "Started again.")
    assert not workspace.cancel_requested(run.id) and read_note(workspace.run_folder(run.id)) == Note()
    with pytest.raises(DataError, match="is queued"):
        runs.resume(run.id, workspace=workspace)
    with leased(workspace.run_folder(run.id)):
        store.set_state(run.id, "finished", workspace=workspace)
    runs.cancel(run.id, workspace=workspace)
    assert runs.get_run(run.id, workspace=workspace).state == "finished"
    assert no_engine == [workspace] * 3  # submit, cancel, resume


def test_run_again_changes_fields_and_settings(workspace, no_engine):
    old = runs.submit(spec(3, seeds=(0, 1), group="g"), workspace=workspace)
    new = runs.run_again(old.id, workspace=workspace, lr=0.5, seeds=(7,))
    assert new.id != old.id
    assert new.spec == old.spec.model_copy(
        update={"settings": {**old.spec.settings, "lr": 0.5}, "seeds": (7,), "group": ""}
    )
    with pytest.raises(SettingError, match="seeds"):
        runs.run_again(old.id, workspace=workspace, seeds=(1, 1))


def test_asking_about_an_engine_starts_none(workspace):
    assert runs.engine_state(workspace=workspace) == runs.EngineState(None)
    runs.stop_engine(workspace=workspace)
    assert not (workspace.folder / "engine").exists()


def test_an_engine_that_is_only_starting_is_stopped(tmp_path):
    with workspace_at(tmp_path) as workspace:
        runs.ensure_engine(workspace=workspace)
        assert processes(workspace)
        runs.stop_engine(workspace=workspace)
        until(lambda: not processes(workspace), 60, "no process is left")
        time.sleep(1)
        assert not processes(workspace)


def test_an_engine_without_work_ends_and_one_that_is_elsewhere_is_left(tmp_path, monkeypatch):
    with workspace_at(tmp_path, CROWDCORE_ENGINE_IDLE="5") as workspace:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: runs.ensure_engine(workspace=workspace), range(16)))

        def up() -> runs.EngineState | None:
            runs.ensure_engine(workspace=workspace)  # which keeps it from ending meanwhile
            return state if (state := runs.engine_state(workspace=workspace)).workers else None

        state = until(up, 60, "the engine is up")
        assert state.address.startswith("tls://127.0.0.1:")
        assert [(w.device, w.slots, w.busy) for w in state.workers] == [("cpu", 1, 0)] or "cuda" in str(state)
        assert len(processes(workspace, ENGINE)) == 1
        for pid in processes(workspace):
            listening = [c for c in psutil.Process(pid).net_connections() if c.status == psutil.CONN_LISTEN]
            assert {c.laddr.ip for c in listening} <= {"127.0.0.1"}
            assert len(listening) <= 2  # scheduler and nanny, or worker: no web server
        files = EngineFiles(tmp_path)
        assert files.folder.stat().st_mode & 0o077 == 0
        assert (files.folder / "key.pem").stat().st_mode & 0o077 == 0
        monkeypatch.setattr(engine.socket, "gethostname", lambda: "another machine")
        with pytest.raises(CrowdError, match="stop"):
            runs.stop_engine(workspace=workspace)
        monkeypatch.undo()
        until(lambda: not processes(workspace), 60, "the engine ends by itself")
        assert runs.engine_state(workspace=workspace) == runs.EngineState(None)
        assert not processes(workspace)  # nothing waits: nothing is started


def test_the_dead_are_not_alive():
    child = subprocess.Popen([sys.executable, "-c", ""])
    until(lambda: not is_alive(child.pid), 60, "a zombie does not count")
    child.wait()
    assert is_alive(os.getpid()) and not is_alive(0)


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
    record = store.get_run(run.id, workspace=workspace)
    assert record.state == "failed" and "3 times" in record.message


class Dying:
    """Children of a run that die of signals, each after writing some lines and perhaps a checkpoint."""

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
        with pytest.raises(CrowdError, match="room"):
            action(run.id, workspace=workspace)
    monkeypatch.setattr(faults.os, "statvfs", lambda _: os.statvfs_result((*full[:8], os.ST_RDONLY, *full[9:])))
    assert "is read-only" in runs.engine_state(workspace=workspace).problem
    monkeypatch.undo()
    assert [r.id for r in runs.list_runs(workspace=workspace)] == [run.id]


def test_what_passes_is_tried_again():
    errors = [OSError(28, "No space left on device"), OSError(28, "No space left on device")]

    def act():
        if errors:
            raise errors.pop()
        return "done"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "_PAUSE", 0.0)
        assert faults.retry(act) == "done"
        errors.append(SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"))
        assert faults.retry(act) == "done"
        errors.append(OSError(27, "File too large"))  # a limit stays
        with pytest.raises(OSError, match="too large"):
            faults.retry(act)
        errors.append(OSError(28, "No space left on device"))
        with pytest.raises(OSError, match="No space"):
            faults.retry(act, stopped=lambda: True)


def test_a_run_that_somebody_has_is_not_supervised_twice(workspace, monkeypatch):
    run = store.create(spec(3), workspace=workspace)
    monkeypatch.setattr("crowdcore.runs.supervise.leased", lambda folder, wait: leased(folder, 0))
    with leased(workspace.run_folder(run.id)):
        assert supervise(str(workspace.folder), workspace.tracking_uri, run.id, "cpu") == ""
