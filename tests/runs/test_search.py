"""A search finds the better settings on validation accuracy; its trials are runs and end with it."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from crowdcore import runs
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.processes import is_alive
from crowdcore.runs.locks import read_note
from crowdcore.runs.searching import distributions
from testkit.on_engine import ENGINE, LONG, processes, spec, until, workspace_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy"),  # MLflow's own use of SQLAlchemy
]
USELESS, GOOD = 1e-9, 0.05


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    with workspace_at(tmp_path_factory.mktemp("search")) as made:
        yield made


def test_finds_the_better_of_obviously_different_settings(workspace):
    shared = spec(6, settings={"select_on": "gold"}, seeds=(0, 1))
    match = runs.search(shared, {"lr": runs.Choice(values=(USELESS, GOOD))}, 4, sampler="grid", workspace=workspace)
    until(lambda: runs.get_run(match.id, workspace=workspace).has_ended, 240, "the search has ended")
    search = runs.get_run(match.id, workspace=workspace)
    assert search.state == "finished", search.message
    assert search.message.endswith(f"lr {GOOD}.")
    assert (search.epoch, search.epochs, search.done) == (2, 2, 1.0)

    trials = runs.search_trials(match.id, workspace=workspace)
    assert trials.trial.tolist() == [1, 2]
    assert trials.state.tolist() == ["finished"] * 2 and sorted(trials.lr) == [USELESS, GOOD]
    assert trials.best.tolist() == np.maximum.accumulate(trials.validation_accuracy).tolist()
    made = {run.id: run for run in runs.list_runs(parent=match.id, workspace=workspace)}
    assert set(made) == set(trials.run)
    for row in trials.itertuples():
        assert made[row.run].spec.settings["lr"] == row.lr and made[row.run].spec.search is None
        result = runs.result(row.run, workspace=workspace)
        at_selected = result.curves["valid_accuracy"][result.selected_epoch - 1, [0, 1]]
        assert row.validation_accuracy == pytest.approx(at_selected.mean())
    better = trials.set_index("lr").validation_accuracy
    assert better[GOOD] > better[USELESS] + 0.2
    assert runs.search_importances(match.id, workspace=workspace) == {}  # two trials say nothing


def test_goes_on_after_its_engine_was_killed_and_is_cancelled_with_its_trials(workspace):
    match = runs.search(spec(LONG), {"lr": runs.Range(low=1e-3, high=1e-1, log=True)}, 3, workspace=workspace)

    def trial() -> runs.Run | None:
        made = runs.list_runs(parent=match.id, workspace=workspace)
        return made[0] if made and made[0].state == "running" and made[0].epoch else None

    until(trial, 120, "a trial is running")
    before = runs.get_run(match.id, workspace=workspace).started
    [pid] = processes(workspace, ENGINE)
    os.kill(pid, signal.SIGKILL)

    def goes_on() -> bool:
        runs.engine_state(workspace=workspace)  # as any page does
        search = runs.get_run(match.id, workspace=workspace)
        return search.state == "running" and search.started != before

    until(goes_on, 60, "the search goes on")
    until(trial, 60, "its trial goes on")
    assert len(runs.list_runs(parent=match.id, workspace=workspace)) == 1

    child = read_note(workspace.run_folder(trial().id)).child
    runs.cancel(match.id, workspace=workspace)
    everything = [match.id, runs.list_runs(parent=match.id, workspace=workspace)[0].id]
    until(
        lambda: all(runs.get_run(r, workspace=workspace).state == "cancelled" for r in everything), 60, "all cancelled"
    )
    until(lambda: not is_alive(child), 60, "the process of the trial ends")
    assert runs.search_trials(match.id, workspace=workspace).state.tolist() == ["cancelled"]
    runs.resume(match.id, workspace=workspace)
    until(trial, 60, "the search goes on with its trial")
    runs.cancel(match.id, workspace=workspace)
    until(lambda: runs.get_run(match.id, workspace=workspace).has_ended, 60, "it ends again")
    assert len(runs.list_runs(parent=match.id, workspace=workspace)) == 1


def test_refusals(workspace):
    with pytest.raises(SettingError, match="at least one"):
        runs.search(spec(3), {}, workspace=workspace)
    with pytest.raises(SettingError, match="above `low`"):
        runs.Range(low=1, high=1)
    with pytest.raises(SettingError, match="be positive"):
        runs.Range(low=0, high=1, log=True)
    with pytest.raises(SettingError, match="trials"):
        runs.search(spec(3), {"lr": runs.Choice(values=(1,))}, 0, workspace=workspace)
    no_search = runs.store.create(spec(1), workspace=workspace)
    runs.cancel(no_search.id, workspace=workspace)
    with pytest.raises(DataError, match="search"):
        runs.search_trials(no_search.id, workspace=workspace)


def test_grid_points():
    assert runs.Range(low=1, high=3, integer=True).points() == [1, 2, 3]
    assert runs.Range(low=1e-4, high=1e5, log=True).points() == pytest.approx([10.0**k for k in range(-4, 6)])
    assert len(runs.Range(low=0, high=1000, integer=True).points()) == 10
    plan = runs.SearchPlan(space={"a": runs.Choice(values=("x", None)), "b": runs.Range(low=0, high=9)})
    assert plan.grid() == {"a": ["x", None], "b": pytest.approx(list(range(10)))}


def test_what_optuna_draws_from():
    space = {
        "a": runs.Choice(values=(1, "x")),
        "b": runs.Range(low=1e-3, high=1.0, log=True),
        "c": runs.Range(low=1, high=64, integer=True),
    }
    spaces = distributions(runs.SearchPlan(space=space))
    assert spaces["a"].choices == (1, "x")
    assert (spaces["b"].low, spaces["b"].high, spaces["b"].log) == (1e-3, 1.0, True)
    assert type(spaces["c"]).__name__ == "IntDistribution" and spaces["c"].high == 64
