"""Processes really killed: no finished result is lost, no run hangs, nothing stays behind."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crowdcore import runs
from crowdcore.core.errors import CrowdError
from crowdcore.core.processes import is_alive
from crowdcore.runs.locks import is_leased, read_note
from crowdcore.runs.workspace import Workspace
from testkit.on_engine import ENGINE, LONG, WORKER, processes, spec, until, workspace_at

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy"),  # MLflow's own use of SQLAlchemy
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with workspace_at(tmp_path_factory.mktemp("faults")) as made:
        yield made


def at_epoch(workspace: Workspace, run_id: str, epoch: int) -> runs.Run:
    """Wait for a running run to reach an epoch."""

    def look() -> runs.Run | None:
        run = runs.get_run(run_id, workspace=workspace)
        assert not run.has_ended, run.message
        return run if run.state == "running" and run.epoch >= epoch else None

    return until(look, 150, f"{run_id} at epoch {epoch}")


def ended(workspace: Workspace, run_id: str, seconds: float = 150) -> runs.Run:
    """Wait for a run to end."""
    until(lambda: runs.get_run(run_id, workspace=workspace).has_ended, seconds, f"{run_id} has ended")
    return runs.get_run(run_id, workspace=workspace)


def kill(pids: list[int]) -> None:
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def children(workspace: Workspace, run_id: str) -> list[int]:
    """The living processes that train a run."""
    pid = read_note(workspace.run_folder(run_id)).child
    return [pid] if is_alive(pid) else []


def test_two_apps_that_die_right_after_asking(workspace):
    import mlflow  # noqa: F401  # loading it later would take longer than the runs

    script = (
        "import os, signal\n"
        "from crowdcore.runs import Workspace, submit\n"
        "from testkit.on_engine import spec\n"
        f"run = submit(spec(12), workspace=Workspace.open({str(workspace.folder)!r}))\n"
        "print(run.id, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    apps = [subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    outputs = [app.communicate(timeout=150)[0].decode().strip() for app in apps]
    assert [app.returncode for app in apps] == [-signal.SIGKILL] * 2
    while not all(runs.get_run(r, workspace=workspace).has_ended for r in outputs):
        assert len(processes(workspace, ENGINE)) <= 2  # the second one leaves at once
        time.sleep(0.1)
    first, second = sorted((runs.get_run(r, workspace=workspace) for r in outputs), key=lambda run: run.started)
    assert first.ended <= second.started  # one slot, whoever asks
    assert len(processes(workspace, WORKER)) == 1
    for run_id in outputs:
        run = runs.get_run(run_id, workspace=workspace)
        assert (run.state, run.message) == ("finished", "")
        assert runs.result(run_id, workspace=workspace).last_epoch.tolist() == [12]


def test_killed_training_process(workspace):
    run = runs.submit(spec(LONG), workspace=workspace)
    waiting = runs.submit(spec(3), workspace=workspace)
    before = at_epoch(workspace, run.id, 8)
    kill(old := children(workspace, run.id))
    until(lambda: set(children(workspace, run.id)) - set(old), 60, "another process goes on")
    again = at_epoch(workspace, run.id, before.epoch + 3)
    assert again.message.startswith(
        "Its process was killed (SIGKILL), as the system does when memory runs out. "
        "It continues from its last checkpoint before epoch"
    )
    assert runs.get_run(waiting.id, workspace=workspace).state == "queued"  # it keeps its slot
    measured = runs.curves(run.id, workspace=workspace).query("metric == 'loss'").epoch.tolist()
    assert measured == list(range(1, len(measured) + 1))  # as if nothing had happened

    runs.stop_engine(workspace=workspace)
    until(lambda: not processes(workspace), 60, "no process is left")
    stopped = runs.get_run(run.id, workspace=workspace)
    assert stopped.state == "queued" and "engine was stopped" in stopped.message
    runs.cancel(run.id, workspace=workspace)  # the engine comes back to make the checkpoint a result
    cancelled = ended(workspace, run.id)
    assert cancelled.state == "cancelled" and cancelled.message.startswith("Cancelled after epoch")
    assert runs.result(run.id, workspace=workspace).last_epoch.item() >= 5
    assert ended(workspace, waiting.id).state == "finished"
    until(lambda: not workspace.has_checkpoint(waiting.id), 60, "its checkpoint goes once it is recorded as finished")
    assert workspace.has_checkpoint(run.id)


def test_killed_worker_and_engine(workspace):
    finished = [r.id for r in runs.list_runs(states=["finished"], workspace=workspace)]
    run = runs.submit(spec(LONG), workspace=workspace)
    reached = at_epoch(workspace, run.id, 6).epoch
    for victim in (WORKER, ENGINE):
        old = children(workspace, run.id)
        kill(processes(workspace, victim))
        until(lambda old=old: not set(old) & set(children(workspace, run.id)), 60, f"its child ends after {victim}")

        def runs_again() -> bool:
            runs.engine_state(workspace=workspace)  # as any page does
            assert len(children(workspace, run.id)) <= 1
            now = runs.get_run(run.id, workspace=workspace)
            assert not now.has_ended, now.message
            return now.state == "running" and bool(children(workspace, run.id))

        until(runs_again, 150, f"the run goes on after {victim} was killed")
        message = runs.get_run(run.id, workspace=workspace).message
        assert "last checkpoint" in message
        reached = at_epoch(workspace, run.id, reached + 3).epoch
    assert all(len(processes(workspace, role)) == 1 for role in (ENGINE, WORKER))

    begun = time.monotonic()
    runs.cancel(run.id, workspace=workspace)
    cancelled = ended(workspace, run.id, 5)
    assert time.monotonic() - begun < 5
    assert cancelled.state == "cancelled" and cancelled.message.startswith("Cancelled after epoch")
    kept = runs.result(run.id, workspace=workspace)
    assert kept.last_epoch.item() >= reached
    for other in finished:
        assert runs.result(other, workspace=workspace).method == "dl-mv"
    until(lambda: not is_leased(workspace.run_folder(run.id)), 5)


def test_cancel_of_a_stuck_and_of_a_waiting_run(workspace):
    stuck = runs.submit(spec(LONG), workspace=workspace)
    waiting = runs.submit(spec(LONG), workspace=workspace)
    at_epoch(workspace, stuck.id, 1)
    runs.cancel(waiting.id, workspace=workspace)
    run = runs.get_run(waiting.id, workspace=workspace)
    assert (run.state, run.message) == ("cancelled", "Cancelled before it started.")
    assert read_note(workspace.run_folder(waiting.id)).child == 0

    at_epoch(workspace, stuck.id, 6)  # there is a checkpoint now
    [pid] = children(workspace, stuck.id)
    os.kill(pid, signal.SIGSTOP)
    runs.cancel(stuck.id, workspace=workspace)
    time.sleep(2)
    assert children(workspace, stuck.id) == [pid]  # it is waited for
    runs.cancel(stuck.id, now=True, workspace=workspace)
    run = ended(workspace, stuck.id)
    assert run.state == "cancelled" and run.message.startswith("Cancelled after epoch"), run.message
    assert runs.result(stuck.id, workspace=workspace).last_epoch.item() >= 5
    until(lambda: not children(workspace, stuck.id), 60, "the child that made its checkpoint the result ends")


def test_cancel_of_a_run_whose_epochs_are_long(workspace):
    slow = {"backbone": "tests.runs.slow_network:Slow"}
    run = runs.submit(spec(4, settings=slow), workspace=workspace)
    before = at_epoch(workspace, run.id, 1)
    begun = time.monotonic()
    runs.cancel(run.id, workspace=workspace)
    cancelled = ended(workspace, run.id, 60)
    assert time.monotonic() - begun > 4  # longer than any patience of old
    assert cancelled.message.startswith(f"Cancelled after epoch {before.epoch + 1}.")
    assert runs.result(run.id, workspace=workspace).last_epoch.tolist() == [before.epoch + 1]
    assert runs.resume(run.id, workspace=workspace).state == "queued"
    at_epoch(workspace, run.id, before.epoch + 1)
    runs.cancel(run.id, now=True, workspace=workspace)
    assert ended(workspace, run.id).state == "cancelled"
    assert runs.result(run.id, workspace=workspace).last_epoch.item() >= before.epoch + 1


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 MB, in memory."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", tmp_path], check=False).returncode:
        pytest.skip("a small disk needs the right to mount one")
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


def test_a_full_disk_a_locked_record_and_a_deleted_workspace(small_disk):
    with workspace_at(small_disk / "workspace") as workspace:
        run = runs.submit(spec(LONG), workspace=workspace)
        at_epoch(workspace, run.id, 1)
        with (small_disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="space"):
            while True:
                filler.write(bytes(1 << 12))
        assert "is full: make room" in runs.engine_state(workspace=workspace).problem
        with pytest.raises(CrowdError, match="room"):
            runs.submit(spec(1), workspace=workspace)
        full = runs.get_run(run.id, workspace=workspace).epoch
        time.sleep(1)  # the engine, its worker and the training process try to write all the time
        assert len(processes(workspace, ENGINE)) == 1 and children(workspace, run.id)
        (small_disk / "filler").unlink()
        at_epoch(workspace, run.id, full + 10)
        assert runs.engine_state(workspace=workspace).problem == ""

        other = sqlite3.connect(workspace.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        until(lambda: "locked" in runs.engine_state(workspace=workspace).problem, 60, "the lock is said")
        other.close()
        until(lambda: not runs.engine_state(workspace=workspace).problem, 60, "nothing is said any more")
        waiting = runs.submit(spec(1), workspace=workspace)
        runs.cancel(run.id, workspace=workspace)
        assert runs.result(ended(workspace, run.id).id, workspace=workspace).last_epoch.item() > full
        assert ended(workspace, waiting.id).state == "finished"

        shutil.rmtree(workspace.folder)
        until(lambda: not processes(workspace), 60, "the engine ends")
        assert not workspace.folder.exists()
