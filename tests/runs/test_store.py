"""The record of runs: what is stored and listed, and what is asked of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.runs import (
    STATES,
    Run,
    RunSpec,
    SearchPlan,
    Workspace,
    best_runs,
    curves,
    dataset_names,
    delete,
    differing,
    get_run,
    list_runs,
    matching,
    result,
    run_table,
    set_priority,
    settings_table,
    short_names,
    store,
)
from crowdcore.runs.locks import leased
from crowdcore.runs.record import client_of
from crowdcore.runs.run import STATUS


def queued(dataset: str = "demo", **fields: object) -> Run:
    return store.create(RunSpec(dataset=dataset, method="conal", **fields))


def test_a_run_is_read_as_it_was_made(workspace: Workspace) -> None:
    spec = RunSpec(dataset="demo", method="trace", settings={"epochs": 7, "lr": 0.1}, seeds=(3, 1), group="g")
    run = store.create(spec)
    assert get_run(run.id) == run
    assert run.spec == spec
    assert (run.state, run.message, run.epoch, run.epochs, run.done) == ("queued", "", 0, 7, 0.0)
    assert run.created is not None
    assert run.created.tzinfo is not None
    assert run.started is None
    assert workspace.run_folder(run.id).is_dir()
    assert curves(run.id).columns.tolist() == ["epoch", "metric", "mean", "std"]
    assert curves(run.id).empty


def test_runs_are_listed_newest_first_and_by_what_they_are(workspace: Workspace) -> None:
    a, b, c = queued(), queued("other"), queued(parent="0" * 32)
    store.set_state(b.id, "running")
    assert [r.id for r in list_runs()] == [c.id, b.id, a.id]
    assert [r.id for r in list_runs("demo")] == [c.id, a.id]
    assert [r.id for r in list_runs(states=["running"])] == [b.id]
    assert [r.id for r in list_runs(states=["running", "queued"], dataset="other")] == [b.id]
    assert [r.id for r in list_runs(parent="0" * 32)] == [c.id]
    assert list_runs("nothing") == list_runs(parent="1" * 32) == list_runs(parent="a' or '1'='1") == []


def test_listing_the_runs_of_a_new_workspace_makes_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(store, "client_of", lambda _: pytest.fail("MLflow takes seconds to make an empty record"))
    new = Workspace.open(tmp_path / "new")
    assert store.list_runs("demo", workspace=new) == []
    assert not new.folder.exists()


def test_a_path_is_kept_absolute(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").touch()
    run = queued("./votes.csv")
    assert run.spec.dataset == str(tmp_path / "votes.csv")
    assert [r.id for r in list_runs("votes.csv")] == [run.id]
    assert list_runs("votes") == []


@pytest.mark.parametrize("state", STATES)
def test_mlflow_shows_the_same_state(workspace: Workspace, state: store.State) -> None:
    run = queued()
    store.set_state(run.id, state, "because")
    found = get_run(run.id)
    assert (found.state, found.message) == (state, "because")
    assert client_of(workspace).get_run(run.id).info.status == STATUS[state]
    assert found.has_ended == (found.ended is not None)
    store.set_state(run.id, "queued")
    assert (get_run(run.id).state, get_run(run.id).ended, get_run(run.id).message) == ("queued", None, "because")


def test_a_priority_can_change(workspace: Workspace, no_engine: list[Workspace]) -> None:
    run = queued(priority=1)
    set_priority(run.id, 5)
    assert no_engine == [workspace], "it looks at the queue anew"
    assert get_run(run.id).spec.priority == 5


@pytest.mark.parametrize("run_id", ["f" * 32, "", "../x"])
def test_an_unknown_run_is_a_sentence(workspace: Workspace, run_id: str) -> None:
    for ask in (get_run, curves, result):
        with pytest.raises(DataError, match="There is no run"):
            ask(run_id)


def test_runs_of_others_are_left_alone(workspace: Workspace) -> None:
    client = client_of(workspace)
    foreign = client.create_run("0").info.run_id
    broken = queued()
    client.set_tag(broken.id, "crowdcore.spec", "{")
    assert list_runs() == []
    for run_id in (foreign, broken.id):
        with pytest.raises(DataError, match="not made by crowdcore"):
            get_run(run_id)


def test_what_waits_or_runs_is_not_deleted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_LEAVING", 0.1)
    done, waiting = queued(), queued()
    store.set_state(done.id, "failed")
    with pytest.raises(DataError, match="is queued"):
        delete([done.id, waiting.id])
    assert len(list_runs()) == 2
    with leased(workspace.run_folder(done.id)), pytest.raises(DataError, match="Cancel it"):
        delete([done.id])


def test_a_run_that_has_just_said_that_it_ended_is_deleted(workspace: Workspace) -> None:
    """Its process takes a moment more to leave: refusing to delete would leave the user with a row that stays."""
    done, here, leave = queued(), threading.Event(), threading.Event()
    store.set_state(done.id, "cancelled")

    def end() -> None:
        with leased(workspace.run_folder(done.id)):
            here.set()
            leave.wait()

    threading.Thread(target=end).start()
    here.wait()
    threading.Timer(0.5, leave.set).start()
    delete([done.id])
    assert leave.is_set() and list_runs() == []


def test_nothing_stays_of_a_deleted_run(make: Callable[..., Run], train, workspace: Workspace) -> None:
    gone, kept = make(seeds=(0,), epochs=1), make(seeds=(0,), epochs=1)
    train(gone), train(kept)
    delete([gone.id])
    assert [r.id for r in list_runs()] == [kept.id]
    assert {p.name for p in workspace.folder.rglob("*") if p.name in {gone.id, kept.id}} == {kept.id}
    assert result(kept.id).method == "crowd-layer"


def test_messages_hold_no_secrets(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    run = queued()
    store.set_state(run.id, "failed", "cannot reach http://me:pa55word@server/x with hunter2-hunter2")
    assert get_run(run.id).message == "cannot reach http://…@server/x with <DEPLOY_TOKEN>"


def run(
    number: int,
    method: str = "conal",
    dataset: str = "labelme",
    valid: float | None = None,
    spec: dict[str, Any] | None = None,
    **facts: Any,
) -> Run:
    scores = {} if valid is None else {"valid_accuracy_selected": valid, "test_accuracy_selected": 1 - valid}
    asked = RunSpec(dataset=dataset, fingerprint="f", method=method, **(spec or {}))
    given = {"state": "finished", "has_result": valid is not None, "scores": scores, "validated_on": "gold", **facts}
    return Run(f"{number:032x}", asked, **given)


def ids(found: list[Run]) -> list[int]:
    return [int(one.id, 16) for one in found]


def test_filters_join() -> None:
    runs = [
        run(1, tags=("paper", "old"), note="Ten seeds, Table 2"),
        run(2, "trace", state="failed", message="The disk is full.", name="Baseline"),
        run(3, dataset="music", tags=("paper",), spec={"settings": {"learning_rate": 0.5}}),
        run(4, spec={"parent": "0" * 32}),
    ]
    assert ids(matching(runs)) == [1, 2, 3]
    assert ids(matching(runs, trials=True)) == [1, 2, 3, 4]
    assert ids(matching(runs, datasets=["labelme"], methods=["conal", "trace"])) == [1, 2]
    assert ids(matching(runs, states=["failed"])) == [2]
    assert ids(matching(runs, tags=["paper"])) == [1, 3]
    assert ids(matching(runs, tags=["paper", "old"])) == [1]
    assert ids(matching(runs, words="TABLE seeds")) == [1]
    assert ids(matching(runs, words="baseline")) == ids(matching(runs, words="disk full")) == [2]
    assert ids(matching(runs, words="learning rate 0.5")) == [3]
    assert matching(runs, words="table baseline") == []


def test_runs_differ_in_what_training_used_not_in_how_it_was_asked() -> None:
    runs = [
        run(1, spec={"settings": {"lr": 0.01}}, parameters={"lr": "0.01", "epochs": "100", "embedding": "20"}),
        run(2, parameters={"lr": "0.010", "epochs": "50", "embedding": "20"}),
        run(3, "trace", parameters={"lr": "0.01", "epochs": "100", "strength": "0.1"}),
    ]
    assert differing(runs) == {
        runs[0].id: {"epochs": "100"},
        runs[1].id: {"epochs": "50"},
        runs[2].id: {"epochs": "100"},
    }
    assert list(short_names(runs).values()) == ["conal · epochs 100", "conal · epochs 50", "trace"]


def test_a_run_that_waits_differs_in_what_it_was_asked() -> None:
    plain, asked = run(1, state="queued"), run(2, state="queued", spec={"settings": {"embedding": 40}})
    ran = run(3, parameters={"embedding": "20", "lr": "0.1"})
    assert list(differing([plain, asked]).values()) == [{}, {"embedding": "40"}]
    assert list(differing([plain, asked, ran]).values()) == [{}, {"embedding": "40"}, {"embedding": "20"}]
    assert list(differing([plain, ran]).values()) == [{}, {}]


def test_the_best_is_chosen_on_validation_among_runs_that_may_be_compared() -> None:
    runs = [
        run(1, valid=0.8),
        run(2, valid=0.9),
        run(3, valid=0.95, validated_on="majority vote"),
        run(4, dataset="music", valid=0.7),
        run(8, valid=0.96, parameters={"names": "validation-gold"}),
        run(5, valid=0.99, has_result=False),
        run(6, valid=0.99, spec={"search": SearchPlan(space={"lr": {"values": (0.1,)}}, trials=1)}),
    ]
    assert best_runs(runs) == {runs[1].id}
    assert best_runs([*runs, run(7, valid=0.9)]) == {runs[1].id, f"{7:032x}"}
    assert best_runs(runs[:1]) == set()


def test_the_table_holds_what_the_record_says() -> None:
    began = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    scores = {"test_accuracy_selected": 0.87, "test_accuracy_selected_std": 0.01, "test_accuracy_last": 0.85}
    scores |= {"valid_accuracy_selected": 0.8, "seconds": 12.5}
    done = run(1, has_result=True, scores=scores, started=began, note="n", tags=("a", "b"), name="mine")
    alone = run(2, valid=0.7, spec={"seeds": (0, 1)}, parameters={"backbone_settings": "{'hidden': 8}"})
    other = run(3, parameters={"backbone_settings": "{}", "patience": "None"})
    live = run(4, "trace", state="running", scores=scores)
    frame = run_table([done, alone, other, live])
    first = frame.iloc[0]
    assert first[["name", "seeds", "state", "note", "tags", "best"]].tolist() == [
        "mine", 1, "finished", "n", "a, b", True,
    ]  # fmt: skip
    shown = first[["test_selected", "test_selected_std", "test_last", "validation", "seconds"]]
    assert shown.tolist() == [0.87, 0.01, 0.85, 0.8, 12.5]
    assert first["started"] == began
    assert np.isnan(frame.loc[1, "test_selected_std"])
    assert frame.loc[1, "settings"] == "backbone settings hidden 8"
    assert frame.loc[2, "settings"] == "backbone settings none"
    assert np.isnan(frame.loc[3, "test_selected"]), "what a live run had before it went on is no result"
    assert run_table([]).columns.tolist() == frame.columns.tolist()


def test_a_dataset_is_called_by_the_end_of_its_path_where_that_is_enough() -> None:
    runs = [run(1, dataset="/data/one/votes.csv"), run(2, dataset="/data/two/votes.csv"), run(3, dataset="/data/crowd")]
    assert list(dataset_names(runs).values()) == ["/data/one/votes.csv", "/data/two/votes.csv", "crowd"]


def test_a_column_for_each_run_and_a_row_for_each_difference() -> None:
    runs = [
        run(1, name="mine", spec={"seeds": (0, 1)}, parameters={"lr": "0.1", "epochs": "5"}),
        run(2, "trace", spec={"seeds": (0, 1)}, parameters={"lr": "0.2", "epochs": "5"}),
        run(3, "trace", spec={"seeds": (3,)}, parameters={"lr": "0.2", "epochs": "5"}),
    ]
    frame = settings_table(runs).set_index("setting")
    assert frame.columns.tolist() == ["mine", "trace (00000000)", "trace (00000000)"]
    assert frame.loc["lr"].tolist() == ["0.1", "0.2", "0.2"]
    assert frame.loc["seeds"].tolist() == ["0, 1", "0, 1", "3"]
    assert frame.loc["method"].tolist() == ["conal", "trace", "trace"]
    assert frame.index.tolist() == ["method", "seeds", "lr"]


@pytest.mark.parametrize("runs", [[], [run(1)]])
def test_nothing_differs_from_nothing(runs: list[Run]) -> None:
    assert settings_table(runs).empty
    assert best_runs(runs) == set()
