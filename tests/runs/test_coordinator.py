"""A search, killed after every step that it writes down: each point of a grid gets one run."""

from __future__ import annotations

import itertools
import json
import os
import signal
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from optuna.storages.journal import JournalFileBackend

from crowdcore.runs import Choice, Run, RunSpec, SearchPlan, Workspace, searching
from crowdcore.runs.engine_process import Engine
from crowdcore.runs.run import State
from crowdcore.runs.searching import open_study

GRID = {"lr": Choice(values=(0.1, 0.2)), "embedding": Choice(values=(20, 40))}
SEARCH = "f" * 32


class Record:
    """Runs as files of a folder; each has ended when it is read for the second time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ended: tuple[State, str] = ("queued", "")
        self.scores: Callable[[RunSpec], dict[str, float]] = lambda _: {"valid_accuracy_selected": 0.5}

    def submit(self, spec: RunSpec, *, workspace: Workspace) -> Run:
        run = Run(uuid.uuid4().hex, spec, "queued")
        (self.folder / run.id).write_text(spec.model_dump_json())
        return run

    def list_runs(self, *, parent: str, workspace: Workspace) -> list[Run]:
        return [self.look(path.name) for path in self.folder.iterdir() if len(path.name) == 32]

    def look(self, run_id: str) -> Run:
        looked = self.folder / f"{run_id}.looked"
        state: State = "finished" if looked.exists() else "running"
        looked.touch()
        spec = RunSpec(**json.loads((self.folder / run_id).read_text()))
        return Run(run_id, spec, state, scores=self.scores(spec))

    def set_state(self, run_id: str, state: State, message: str = "", *, workspace: Workspace) -> None:
        self.ended = state, message

    def log_progress(self, *given: object, workspace: Workspace) -> None:
        """Ignore progress."""

    def settings(self) -> list[dict[str, object]]:
        return [json.loads(p.read_text())["settings"] for p in self.folder.iterdir() if len(p.name) == 32]


def coordinate(workspace: Workspace, record: Record, plan: SearchPlan) -> tuple[State, str]:
    """Run a search as the engine does, with `record` in the place of MLflow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searching, "store", record)
        patch.setattr(searching, "submit", record.submit)
        run = Run(SEARCH, RunSpec(dataset="d", method="conal", settings={"epochs": 3}, search=plan), "queued")
        record.ended = "queued", ""
        search = searching.Coordinator(run, plan, workspace)
        while search.step(slots=1):
            assert record.ended[0] == "running"
        return record.ended


@pytest.fixture
def searched(tmp_path: Path) -> tuple[Workspace, Record]:
    workspace = Workspace.open(tmp_path)
    workspace.run_folder(SEARCH).mkdir(parents=True)
    (tmp_path / "record").mkdir()
    return workspace, Record(tmp_path / "record")


def killed_after(step: int, workspace: Workspace, record: Record, plan: SearchPlan) -> bool:
    """Fork, coordinate and die of SIGKILL after that many writes; False if it ended before."""
    pid = os.fork()
    if pid == 0:
        steps = itertools.count()

        def counted(real):
            def act(*given, **named):
                done = real(*given, **named)
                if next(steps) == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done

            return act

        try:
            JournalFileBackend.append_logs = counted(JournalFileBackend.append_logs)
            record.submit = counted(record.submit)
            coordinate(workspace, record, plan)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*use of fork")
def test_every_point_of_a_grid_has_one_run_wherever_its_process_is_killed(searched):
    workspace, record = searched
    plan = SearchPlan(space=GRID, sampler="grid", parallel=3)
    expected = sorted(map(str, ({"epochs": 3, "embedding": e, "lr": lr} for e in (20, 40) for lr in (0.1, 0.2))))
    kills = sum(killed_after(2, workspace, record, plan) for _ in range(10))  # every process gets three steps on
    assert kills > 4
    state, message = coordinate(workspace, record, plan)
    assert (state, message.partition(":")[0]) == ("finished", "Best validation accuracy 0.5000")
    assert (
        sorted(str(dict(sorted(s.items(), key=lambda i: (i[0] != "epochs", i[0])))) for s in record.settings())
        == expected
    )
    study = open_study(workspace.run_folder(SEARCH))
    assert study and [t.state.name for t in study.trials] == ["COMPLETE"] * 4


@pytest.mark.filterwarnings("ignore:.*use of fork")
def test_each_single_step_may_be_the_last(searched, tmp_path):
    workspace, record = searched
    plan = SearchPlan(space=GRID, sampler="grid", trials=2, parallel=1)
    for step in itertools.count():
        for path in (*record.folder.iterdir(), *workspace.run_folder(SEARCH).iterdir()):
            path.unlink()
        if not killed_after(step, workspace, record, plan):
            break
        coordinate(workspace, record, plan)
        points = {tuple(sorted(s.items())) for s in record.settings()}
        assert len(record.settings()) == len(points) == 2, f"killed after step {step}"
    assert step > 10


def test_a_grid_has_no_more_trials_than_were_asked_for(searched):
    workspace, record = searched
    coordinate(workspace, record, SearchPlan(space=GRID, sampler="grid", trials=3))
    assert len(record.settings()) == 3


@pytest.mark.parametrize(
    ("score", "best"),
    [
        ("valid_accuracy", "Best validation accuracy 0.8000: lr 0.1"),
        ("valid_span_f1", "Best validation F1 of spans 0.2000: lr 0.2"),
        ("valid_rmse", "Best validation RMSE 0.1000: lr 0.1"),
    ],
)
def test_trials_are_compared_by_the_score_of_the_search(searched, score, best):
    workspace, record = searched
    record.scores = lambda spec: {
        "valid_accuracy_selected": 0.9 - spec.settings["lr"],
        "valid_span_f1_selected": spec.settings["lr"],
        "valid_rmse_selected": spec.settings["lr"],
    }
    plan = SearchPlan(space={"lr": GRID["lr"]}, sampler="grid", score=score)
    state, message = coordinate(workspace, record, plan)
    assert state == "finished" and message.startswith(best)


@pytest.mark.parametrize("deleted", [True, False])
def test_a_trial_that_failed_or_was_deleted_counts_as_failed(searched, monkeypatch, deleted):
    workspace, record = searched
    of = record.list_runs

    def failed(*, parent: str, workspace: Workspace) -> list[Run]:
        trials = of(parent=parent, workspace=workspace)
        return [] if deleted else [replace(run, state="failed", message="`speed` is no setting.") for run in trials]

    monkeypatch.setattr(record, "list_runs", failed)
    state, message = coordinate(workspace, record, SearchPlan(space=GRID, sampler="random", trials=5))
    assert state == "failed" and message.startswith("The first trials failed.")
    assert deleted or "`speed`" in message
    assert len(record.settings()) == 3


def test_a_search_that_is_cancelled_while_it_is_taken_up_ends(searched):
    workspace, record = searched
    workspace.request_cancel(SEARCH)
    state, message = coordinate(workspace, record, SearchPlan(space=GRID))
    assert (state, message) == ("cancelled", "Cancelled after 0 trials.")
    assert record.settings() == []


def test_a_search_that_was_cancelled_can_be_resumed_before_the_engine_looks_again(searched, monkeypatch):
    workspace, record = searched
    monkeypatch.setattr(searching, "store", record)
    monkeypatch.setattr(searching, "submit", record.submit)
    plan = SearchPlan(space=GRID)
    run = Run(SEARCH, RunSpec(dataset="d", method="conal", settings={"epochs": 3}, search=plan), "queued")
    engine = Engine.__new__(Engine)
    engine._workspace, engine._searches = workspace, {}
    engine._reconciler = SimpleNamespace(unfinished={SEARCH})
    engine._search([run], 1)
    assert set(engine._searches) == {SEARCH}
    workspace.request_cancel(SEARCH)
    engine._search([], 1)
    assert record.ended[0] == "cancelled"
    assert engine._searches == {}  # else it would go on with the runs that were cancelled, and count them as failed


def test_trials_that_are_cancelled_with_their_search_have_not_failed(searched, monkeypatch):
    workspace, record = searched
    plan = SearchPlan(space=GRID, sampler="grid", parallel=1)
    of = record.list_runs

    def cancelled_meanwhile(*, parent: str, workspace: Workspace) -> list[Run]:
        trials = of(parent=parent, workspace=workspace)
        if trials:
            workspace.request_cancel(SEARCH)
        return [replace(run, state="cancelled") for run in trials]

    monkeypatch.setattr(record, "list_runs", cancelled_meanwhile)
    assert coordinate(workspace, record, plan) == ("cancelled", "Cancelled after 0 trials.")
    study = open_study(workspace.run_folder(SEARCH))
    assert study and [t.state.name for t in study.trials] == ["RUNNING"]


def test_a_line_that_a_full_disk_cut_off_is_taken_away(searched):
    workspace, record = searched
    plan = SearchPlan(space=GRID, sampler="grid", trials=1)
    coordinate(workspace, record, plan)
    journal = workspace.run_folder(SEARCH) / "search.journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"op_code": 4, "wor')
    assert len(open_study(workspace.run_folder(SEARCH), plan).trials) == 1
    assert journal.read_bytes().startswith(whole)
