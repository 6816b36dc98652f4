"""Exhibits of annotations: their numbers are those of the analyses, and a click names what it selects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis, exhibits
from crowdcore.core.errors import DataError
from crowdcore.exhibits import View, view
from crowdcore.exhibits.fits import fitted
from testkit.crowds import simulate_crowd


@pytest.fixture(scope="module")
def seen() -> View:
    return view(simulate_crowd())


@pytest.mark.parametrize(
    ("true", "given", "percent"), [("street", "insidecity", 61.0), ("opencountry", "forest", 44.1)]
)
def test_a_mistake_is_the_published_one(data_folder, true: str, given: str, percent: float) -> None:
    found = exhibits.mistakes.mistake(view(cc.load_dataset("labelme")), true, given)
    row = found.table.iloc[0]
    assert round(row["percent"], 1) == percent
    assert f"{row['expected']:.1f}" in found.notes[0]


def test_a_mistake_in_numbers_and_its_workers_and_tasks(seen: View) -> None:
    row = exhibits.mistakes.mistake(seen, "class 1", "class 2").table.iloc[0]
    behind = (seen.dataset.gold[seen.dataset.task] == 1) & (seen.dataset.label == 2)
    assert row["annotations"] == behind.sum()
    assert row["low"] <= row["percent"] <= row["high"]
    workers = exhibits.mistakes.mistake_workers(seen, "class 1", "class 2").table
    assert workers["times"].sum() == behind.sum()
    assert workers.loc[3, "worker"] == "w003"
    own = seen.dataset.worker == 3
    assert workers.loc[3, "times"] == (behind & own).sum()
    assert workers.loc[3, "labels on the class"] == (own & (seen.dataset.gold[seen.dataset.task] == 1)).sum()
    assert workers.loc[3, "share"] == workers.loc[3, "times"] / workers.loc[3, "labels on the class"] < 1
    tasks = exhibits.mistakes.mistake_tasks(seen, "class 1", "class 2")
    assert len(tasks.table) == row["tasks"] == len(np.unique(seen.dataset.task[behind]))
    assert tasks.click is not None
    assert tasks.click(7) == {"task": "t00007"}
    assert exhibits.mistakes.mistake(seen, "class 1", "class 1").notes == (
        "The diagonal: labels that agree with the reference.",
    )


def test_clicks_on_matrices_name_classes_and_workers(seen: View) -> None:
    drawn = exhibits.mistakes.shared_mistakes(seen)
    assert drawn.click is not None
    assert drawn.click(1, 2) == {"true": "class 1", "given": "class 2"}
    distances = exhibits.workers.worker_distances(seen, "mse", 3)
    assert distances.click is not None
    pair = distances.click(0, 5)
    assert exhibits.workers.distance_cell(seen, "mse", 3, pair["worker"], pair["other"]) == (0, 5)
    ranking = exhibits.workers.worker_quality(seen)
    assert ranking.click is not None
    assert ranking.click(4) == {"worker": "w004", "view": "One worker"}


def test_shares_held_against_the_same_labels_say_so(seen: View) -> None:
    assert not any("same labels" in note for note in exhibits.overview.overview(seen).notes)
    voted = exhibits.overview.overview(exhibits.view(seen.dataset, "majority-vote"))
    assert "same labels" in voted.notes[-1]


def test_two_workers_in_words(seen: View) -> None:
    row = exhibits.workers.worker_pair(seen, "w001", "w002").table.iloc[0]
    assert row["distance"] == analysis.worker_distance(seen.dataset, kind="shrunken-mse").matrix[1, 2]
    every = analysis.pair_mistakes(seen.dataset)
    at = np.flatnonzero((every.worker_a == 1) & (every.worker_b == 2))[0]
    assert (row["tasks both labelled"], row["wrong alike"]) == (every.both_labelled[at], every.wrong_alike[at])


def test_one_worker_has_the_numbers_of_the_ranking(seen: View) -> None:
    one = exhibits.workers.worker(seen, "w003").table
    every = exhibits.workers.worker_quality(seen).table
    shared = [c for c in one if c in every]
    assert one[shared].equals(every.loc[[3], shared])
    confusion = exhibits.workers.worker_confusion(seen, "w003").table
    assert confusion["count"].sum() == one["annotations"][3]


def test_tasks_are_filtered(seen: View) -> None:
    crowd = seen.dataset
    cell = (crowd.label == 2) & (crowd.gold[crowd.task] == 1) & (crowd.worker == 3)
    found = exhibits.tasks.tasks(seen, "all", "class 1", "class 2", "w003").table
    assert sorted(found.index) == sorted(np.unique(crowd.task[cell]))
    assert not len(exhibits.tasks.tasks(seen, "unlabelled").table)
    misled = exhibits.tasks.tasks(seen, "agreed-wrong").table
    assert (misled["wrong"] == 1).all()
    assert (misled["answers"] == 1).all()


def test_one_task(seen: View) -> None:
    crowd = seen.dataset
    labels = exhibits.tasks.task_labels(seen, "t00007").table
    assert labels["label"].tolist() == [crowd.classes[c] for c in crowd.label[crowd.task == 7]]
    assert exhibits.tasks.task(seen, "t00007").table["gold"][7] == crowd.classes[crowd.gold[7]]
    assert exhibits.tasks.task_answers(seen, "t00007").table["labels"].sum() == 3
    with pytest.raises(DataError, match="has no task 'nope'"):
        exhibits.tasks.task(seen, "nope")


def test_the_aggregators_numbers_are_the_library_s(seen: View) -> None:
    crowd, fits = seen.dataset, ("majority-vote", "dawid-skene", "one-coin")
    result = cc.aggregation.get("one-coin").fit(crowd)
    expected = analysis.calibration(result, crowd.gold)
    drawn = exhibits.aggregation.aggregator_calibration(seen, fits)
    assert drawn is not None
    mine = drawn.table[drawn.table["method"] == "one-coin"]
    assert mine["tasks"].tolist() == expected.n_tasks.tolist()
    assert mine["accuracy"].to_numpy() == pytest.approx(expected.bin_accuracy, nan_ok=True)
    climbed = exhibits.aggregation.objective(seen, fits)
    assert climbed is not None
    assert set(climbed.table["method"]) == {"dawid-skene", "one-coin"}
    assert climbed.table["log_likelihood"].iloc[-1] == pytest.approx(result.log_likelihood[-1])
    assert climbed.table["iteration"].iloc[-1] == len(result.log_likelihood)
    assert exhibits.aggregation.objective(seen, ("majority-vote",)) is None
    blind = view(replace(crowd, gold=np.full(crowd.n_tasks, -1)), "majority-vote")
    assert exhibits.aggregation.aggregator_calibration(blind, fits) is None
    assert "accuracy" not in exhibits.aggregation.aggregators(blind, fits).table


def test_the_confusions_of_a_fit(seen: View) -> None:
    name = "conal-em groups=2"
    assert exhibits.aggregation.common_names(seen.dataset, name) == ["Common of group 1", "Common of group 2"]
    found = exhibits.aggregation.fit_common_confusion(seen, name, 1).table
    result = cc.aggregation.get("conal-em", groups=2).fit(seen.dataset)
    assert found["percent"].to_numpy() == pytest.approx(100 * result.common_confusion[1].ravel())
    for exhibit in (exhibits.aggregation.fit_common_confusion, exhibits.aggregation.fit_worker_confusion):
        with pytest.raises(DataError, match="estimates no"):
            exhibit(seen, "majority-vote", *(["w003"] if exhibit is exhibits.aggregation.fit_worker_confusion else []))


def test_the_pair_that_differs_most_leaves_gold_out_unless_it_stands_beside_one_fit(seen: View) -> None:
    three = exhibits.aggregation.disagreement(seen.dataset, ("majority-vote", "dawid-skene"))
    assert exhibits.aggregation.most_different(three) == (1, 2)
    two = exhibits.aggregation.disagreement(seen.dataset, ("majority-vote",))
    assert exhibits.aggregation.most_different(two) == (0, 1)
    words = exhibits.aggregation.differing_tasks(seen, "majority-vote", "dawid-skene").notes[0]
    assert "is right on" in words


@pytest.mark.parametrize("fit", ["item-response", "glad"])
def test_the_hardest_tasks_come_first_with_their_foils(fit: str) -> None:
    crowd = simulate_crowd(60, 15, 4, per_task=15, accuracy=0.8)
    misled = (crowd.task < 12) & (np.random.default_rng(0).random(crowd.n_annotations) < 0.55)
    crowd = replace(crowd, label=np.where(misled, (crowd.gold[crowd.task] + 1) % 4, crowd.label))
    seen, found = exhibits.view(crowd, fit), fitted(crowd, fit)
    shown = exhibits.aggregation.hard_tasks(seen, fit)
    table = shown.table
    assert (np.diff(table["difficulty"]) <= 0).all()
    np.testing.assert_array_equal(table["difficulty"], found.difficulty[table.index])
    assert ("foil" in table) == (fit == "item-response")
    assert "ifficult" in shown.notes[0]
    listed, one = exhibits.tasks.tasks(seen).table, exhibits.tasks.task(seen, crowd.task_ids[3]).table.iloc[0]
    np.testing.assert_array_equal(listed["difficulty"], found.difficulty[listed.index])
    assert one["difficulty"] == found.difficulty[3]
    if fit == "item-response":
        foil = found.foil[table.index]
        assert table["foil"].isna().tolist() == (foil < 0).tolist()
        assert table["foil"].dropna().tolist() == [crowd.classes[f] for f in foil[foil >= 0]]
        assert (found.foil[:12] >= 0).any() and one["foil"] == ([*crowd.classes, None][found.foil[3]])


def test_no_difficulty_is_shown_by_what_estimates_none(seen: View) -> None:
    with pytest.raises(DataError, match="no difficulties"):
        exhibits.aggregation.hard_tasks(seen, "majority-vote")
    assert "difficulty" not in exhibits.tasks.tasks(seen).table


def test_the_difficulties_shown_are_those_of_the_fit_that_is_the_reference() -> None:
    crowd = simulate_crowd(60)
    informed = cc.aggregation.get("glad").fit(crowd, known=np.where(np.arange(60) < 30, crowd.gold, -1))
    listed = exhibits.tasks.tasks(view(crowd, informed)).table
    np.testing.assert_array_equal(listed["difficulty"], informed.difficulty[listed.index])
    labels_alone = analysis.Reference("glad", informed.labels)
    assert "difficulty" not in exhibits.tasks.tasks(view(crowd, labels_alone)).table
