"""Exhibits of ratings: numbers, words where there is no gold, errors of training, tasks, names hidden and escaped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import RatingDataset, read_ratings
from crowdcore.data.simulate import tags
from crowdcore.exhibits import Exhibit, comparison, differences, ratings
from crowdcore.exhibits.glossary import meaning
from crowdcore.exhibits.ratings import rated_task, rated_tasks, rating_view, task_ratings
from crowdcore.learning import RatingsResult, tagged_spans, train, train_ratings
from crowdcore.learning.comparison.variation import facts
from tests.exhibits.test_contract import NAMES, strings, texts
from tests.rated_crowd import rated_crowd, rated_folder

EXHIBITS = (
    *(ratings.summary, ratings.agreement, ratings.worker_bias),
    *(ratings.shared_bias, ratings.errors_alike, ratings.aggregators),
)


@pytest.fixture(scope="module")
def crowd():
    plain, _ = rated_crowd(80, 6, 3)
    return replace(
        plain,
        worker_ids=pd.Index([f"<x>anna{n}</x>" for n in range(6)]),
        notes=("1 worker with a single annotation, such as '<x>anna0</x>'.",),
    )


@pytest.mark.parametrize("make", EXHIBITS)
def test_they_have_numbers_and_hide_and_escape_names(make, crowd):
    exhibit: Exhibit = make(ratings.rating_view(crowd))
    assert len(exhibit.table)
    if exhibit.figure is not None:
        assert not [text for text in strings(exhibit.figure.to_plotly_json()) if NAMES.search(text)]
    assert "anna" not in texts(make(ratings.rating_view(crowd, hidden=True)))


def test_without_gold_the_reference_is_the_mean_and_says_so(crowd):
    view = ratings.rating_view(replace(crowd, gold=None))
    assert view.truth.name == "mean"
    assert "have in common" in ratings.shared_bias(view).notes[-1]
    assert "no gold" in " ".join(ratings.aggregators(view).notes)


def test_without_gold_no_shared_bias_is_shown_not_even_that_of_rounding(crowd):
    """7e-16 was printed for crowds without any bias."""
    shown = ratings.shared_bias(ratings.rating_view(replace(crowd, gold=None)))
    assert shown.figure is None
    assert {"bias", "low", "high", "smooth", "same sign"}.isdisjoint(shown.table)
    assert shown.table["ratings"].sum() == crowd.n_annotations
    assert "without gold" in shown.notes[0]


def test_who_does_not_follow_the_task_is_named(crowd):
    rating = np.where(crowd.worker == 2, 0.4 + 0.01 * np.sin(np.arange(len(crowd.task))), crowd.rating)
    flat = ratings.rating_view(replace(crowd, rating=rating))
    for shown in (ratings.worker_bias(flat), ratings.errors_alike(flat)):
        assert "anna2" in shown.notes[0]
    assert ratings.worker_bias(flat).table["follows"].tolist() == ["", "", "no", "", "", ""]
    assert "anna" not in ratings.worker_bias(replace(flat, hidden=True)).notes[0]
    assert "follow" not in ratings.worker_bias(ratings.rating_view(crowd)).notes[0]


def test_another_range_is_not_taken_for_ignoring_the_task(crowd):
    tenth = replace(crowd, rating=np.where(crowd.worker == 2, crowd.rating / 10, crowd.rating))
    assert ratings.worker_bias(ratings.rating_view(tenth)).table["follows"].tolist() == [
        "",
        "",
        "small scale",
        *[""] * 3,
    ]


def test_who_may_not_follow_the_task_is_not_passed_over():
    rng = np.random.default_rng(0)
    truth = rng.uniform(10, 90, 60)
    rows = [
        (f"i{i}", f"w{r}", rng.uniform(0, 100) if r == 0 and i < 15 else np.clip(t + rng.normal(0, 8), 0, 100))
        for i, t in enumerate(truth)
        for r in range(i >= 15, 5)
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "rating"])
    made = ratings.rating_view(cc.from_frame(frame, kind="ratings", low=0, high=100))
    shown = ratings.worker_bias(made)
    assert shown.table["follows"].tolist() == ["unclear", "", "", "", ""]
    assert "w0" in shown.notes[0]


def test_what_is_not_known_is_a_dash(crowd):
    alone = replace(crowd.where(crowd.worker == 0), gold=None)
    by_key = dict(ratings.summary(ratings.rating_view(alone)).table.to_numpy())
    assert (by_key["bias against mean"], by_key["RMSE against mean"]) == ("–", "–")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RatingsResult]:
    crowd = read_ratings(rated_folder(tmp_path_factory.mktemp("crowds") / "rated"))
    fast = {"epochs": 3, "backbone_settings": {"hidden": 8}, "device": "cpu"}
    values = {"layer": ("crowd-layer", (0, 1, 2)), "mean": ("dl-mean", (2, 1, 5))}
    return {name: train_ratings(crowd, method, seeds=seeds, **fast) for name, (method, seeds) in values.items()}


def test_errors_are_those_of_the_results(results: dict[str, RatingsResult]) -> None:
    table = comparison.rating_errors(results).table.set_index(["run", "epoch"])
    for name, result in results.items():
        for at, called in (("selected", "selected"), ("last", "last"), ("best", "best, optimistic")):
            row = table.loc[(name, called)]
            assert row["R²"] == pytest.approx(result.score("r2", at=at).mean())  # type: ignore[arg-type]
            assert row["MAE ±"] == pytest.approx(result.score("mae", at=at).std(ddof=1))  # type: ignore[arg-type]
    assert all(meaning(str(column)) for column in table.reset_index())


def test_differences_are_paired_over_the_seeds_in_common(results: dict[str, RatingsResult]) -> None:
    table = differences.rating_differences(results).table
    layer, mean = (results[name].score("rmse") for name in ("layer", "mean"))
    gap = layer[[1, 2]] - mean[[1, 0]]
    assert table[["first", "second", "seeds"]].to_numpy().tolist() == [["layer", "mean", 2]]
    assert table["RMSE difference"][0] == pytest.approx(gap.mean())
    assert all(meaning(str(column)) for column in table)
    assert "second run" in differences.rating_differences({"one": results["mean"]}).notes[0]


def test_spans_are_those_that_the_library_finds() -> None:
    crowd = tags(n_sentences=40, n_valid=8, n_test=12, n_workers=4, length=6, seed=1)
    small = {"embedding": 8, "filters": 8, "hidden": 8}
    result = train(crowd, "dl-mv", seeds=2, device="cpu", epochs=1, batch_size=4, backbone_settings=small)
    shown = comparison.found_spans({"run": result})
    assert shown is not None
    expected = tagged_spans(crowd, result)
    np.testing.assert_allclose(shown.table.loc[0, "F1 %"], 100 * expected["f1"].mean())
    np.testing.assert_allclose(shown.table.loc[0, "accuracy %"], 100 * expected["token_accuracy"].mean())
    assert all(meaning(str(column)) for column in shown.table)
    known = [facts(result) | {"lr": lr} for lr in (0.1, 0.2)]
    drawn = comparison.along([result, result], known, "lr")
    assert drawn.title == "Test F1 of spans by lr"
    np.testing.assert_allclose(drawn.table["F1 of spans mean"], expected["f1"].mean())


@pytest.fixture(scope="module")
def slips() -> RatingDataset:
    plain, _ = rated_crowd(80, 6, 3)
    rating = plain.rating.copy()
    rating[plain.task_start[11]] += 1.5
    names = pd.Index([f"<x>anna{n}</x>" for n in range(6)])
    return replace(plain, worker_ids=names, rating=rating, extra=None)


def test_the_task_of_a_slip_comes_first_and_its_rating_is_called_surprising(slips: RatingDataset) -> None:
    view = rating_view(slips)
    listed = rated_tasks(view)
    assert listed.table["task"].iloc[0] == "t11"
    assert listed.click is not None and listed.click(11) == {"task": "t11"}
    shown = task_ratings(view, "t11").table
    assert shown["surprising"].tolist().count("yes") == 1
    assert shown["surprising"].loc[slips.worker[slips.task_start[11]]] == "yes"
    assert rated_tasks(view, "spread").table["spread of ratings"].is_monotonic_decreasing


def test_one_task_has_gold_an_estimate_with_its_interval_and_what_workers_said(slips: RatingDataset) -> None:
    view = rating_view(slips)
    task, rows = rated_task(view, "t5"), slips.task == 5
    assert task.reference == slips.gold[5]
    assert task.low < task.estimate < task.high
    assert task.mean == pytest.approx(slips.rating[rows].mean())
    assert task.spread == pytest.approx(slips.rating[rows].std(ddof=1))
    table = task_ratings(view, "t5").table
    assert table["rating − gold"].tolist() == pytest.approx((slips.rating[rows] - slips.gold[5]).tolist())
    assert np.allclose(table["rating"] - table["usual bias"], table["without it"])
    with pytest.raises(DataError, match="has no task 'nope'"):
        rated_task(view, "nope")


def test_of_one_worker_those_it_rated_and_of_two_those_that_both_did(slips: RatingDataset) -> None:
    view = rating_view(slips)
    one, other = view.workers[:2]
    own = [set(slips.task[slips.worker == n]) for n in range(2)]
    listed = rated_tasks(view, worker=one).table
    assert set(listed.index) == own[0]
    assert listed["its p value"].is_monotonic_increasing
    assert set(rated_tasks(view, worker=one, other=other).table.index) == own[0] & own[1]
    with pytest.raises(SettingError, match="nobody"):
        rated_tasks(view, worker="nobody")


@pytest.mark.parametrize("reference", ["gold", "raykar-em"])
def test_names_are_hidden_and_escaped_and_columns_explained(slips: RatingDataset, reference: str) -> None:
    plain, hidden = (rating_view(slips, reference, hidden=hide) for hide in (False, True))
    exhibit = task_ratings(plain, "t5")
    assert exhibit.figure is not None
    assert not [text for text in strings(exhibit.figure.to_plotly_json()) if NAMES.search(text)]
    worker = hidden.workers[0]
    for made in (task_ratings(hidden, "t5"), rated_tasks(hidden, worker=worker)):
        assert "anna" not in texts(made)
        assert [str(c) for c in made.table if not meaning(str(c))] == []


def test_a_task_that_nobody_rated_has_a_page_without_ratings(slips: RatingDataset) -> None:
    view = rating_view(slips.where(slips.task != 5))
    assert rated_task(view, "t5").n_ratings == 0
    assert np.isnan(rated_task(view, "t5").mean)
    assert "t5" not in set(rated_tasks(view).table["task"])
    assert len(task_ratings(view, "t5").table) == 0


def test_words_that_ratings_stand_for_are_on_the_axis_and_the_mean_is_not_held_against_itself() -> None:
    frame = pd.DataFrame([(t, w, word) for t in "ab" for w, word in zip("xyz", ["bad", "fair", "good"], strict=True)])
    frame.columns = ["task", "worker", "rating"]
    view = rating_view(cc.ratings_from_frame(frame, levels=["bad", "fair", "good"], accept=True))
    figure = task_ratings(view, "a").figure
    assert figure is not None
    assert list(figure.layout.xaxis.ticktext) == ["bad", "fair", "good"]
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 3]
    assert "mean − mean" not in rated_tasks(view, "error").table
