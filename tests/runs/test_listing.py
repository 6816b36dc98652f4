from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from crowdcore.runs import (
    Run,
    RunSpec,
    SearchPlan,
    best_runs,
    dataset_names,
    differing,
    matching,
    run_table,
    settings_table,
    short_names,
)


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
