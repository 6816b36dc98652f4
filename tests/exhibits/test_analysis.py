"""Exhibits of annotations: numbers are the analyses', clicks name their selection, a crowd with nothing to do."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import SettingError, analysis, exhibits
from crowdcore.core.errors import DataError
from crowdcore.data.dictionary import csv_bytes
from crowdcore.exhibits import View, coordinated, verdicts, view
from crowdcore.exhibits.exhibit import containing
from crowdcore.exhibits.fits import fitted
from crowdcore.exhibits.recovered import confusion_correction, of_run
from crowdcore.exhibits.worker_skills import recovered_workers
from testkit.crowds import simulate_crowd
from testkit.planted import ATTACKED, attacked_crowd, honest_crowd
from testkit.recorded_runs import invented


@pytest.fixture(scope="module")
def seen() -> View:
    return view(simulate_crowd())


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
    assert "diagonal" in exhibits.mistakes.mistake(seen, "class 1", "class 1").notes[0]


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
    figure = exhibits.workers.worker_ranking(seen).figure
    assert figure is not None
    assert list(figure.layout.xaxis.ticktext) == list(ranking.table["worker"]), "one order"


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
    table = exhibits.tasks.tasks(seen, "all", "class 1", "class 2", "w003").table
    assert sorted(table.index) == sorted(np.unique(crowd.task[cell]))
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
    with pytest.raises(DataError, match="'nope'"):
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
    name = "conal-em groups=2 restarts=0"
    assert exhibits.aggregation.common_names(seen.dataset, name) == ["Common of group 1", "Common of group 2"]
    table = exhibits.aggregation.fit_common_confusion(seen, name, 1).table
    result = cc.aggregation.get("conal-em", groups=2, restarts=0).fit(seen.dataset)
    assert table["percent"].to_numpy() == pytest.approx(100 * result.common_confusion[1].ravel())
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
    seen, result = exhibits.view(crowd, fit), fitted(crowd, fit)
    shown = exhibits.aggregation.hard_tasks(seen, fit)
    table = shown.table
    assert (np.diff(table["difficulty"]) <= 0).all()
    np.testing.assert_array_equal(table["difficulty"], result.difficulty[table.index])
    assert ("foil" in table) == (fit == "item-response")
    assert "ifficult" in shown.notes[0]
    listed, one = exhibits.tasks.tasks(seen).table, exhibits.tasks.task(seen, crowd.task_ids[3]).table.iloc[0]
    np.testing.assert_array_equal(listed["difficulty"], result.difficulty[listed.index])
    assert one["difficulty"] == result.difficulty[3]
    if fit == "item-response":
        foil = result.foil[table.index]
        assert table["foil"].isna().tolist() == (foil < 0).tolist()
        assert table["foil"].dropna().tolist() == [crowd.classes[f] for f in foil[foil >= 0]]
        assert (result.foil[:12] >= 0).any() and one["foil"] == ([*crowd.classes, None][result.foil[3]])


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


@pytest.mark.parametrize("reference", ["gold", "auto"])
def test_a_crowd_without_faults_has_no_actions(reference: str) -> None:
    seen = view(simulate_crowd(60, n_workers=6, per_task=5, accuracy=1.0), reference)
    assert verdicts.task_verdicts(seen).table["verdict"].eq("fine").all()
    todo = verdicts.actions(seen).table
    assert list(todo) == ["what", "name", "action", "reason", "how sure", "effect"]
    assert todo["what"].isin(["worker"]).all()


FRAME = pd.DataFrame({"worker": ["ann", "Bob", "=cmd()"], "label": ["cat", "dog", "+1 cat"], "n": [10, 2, -3]})


def test_every_word_must_occur_somewhere_whatever_its_case() -> None:
    assert list(containing(FRAME, "CAT")["worker"]) == ["ann", "=cmd()"]
    assert list(containing(FRAME, "cat ann").index) == [0]
    assert list(containing(FRAME, " 2 ")["worker"]) == ["Bob"]
    assert len(containing(FRAME, "(")) == 1
    assert containing(FRAME, "  ").equals(FRAME)
    assert containing(FRAME, "eel").empty


def test_a_download_holds_no_formula() -> None:
    text = csv_bytes(FRAME)
    assert text.decode().splitlines()[3] == "'=cmd(),'+1 cat,-3"
    assert list(pd.read_csv(io.BytesIO(text))["n"]) == [10, 2, -3]


def test_a_workers_correction_is_shown_for_the_seed_and_epoch_that_are_looked_at():
    crowd = simulate_crowd()
    result = invented(crowd, "crowd-layer")
    assert confusion_correction(of_run(view(crowd), result)) is None
    rng = np.random.default_rng(0)
    selected, last = rng.normal(0, 0.1, (2, *result.worker_confusion.shape))
    group = rng.integers(3, size=result.worker_confusion.shape[:2])
    own = {"worker_confusion": result.worker_confusion, "correction": last}
    result = replace(result, correction=selected, group=group, last=own)
    for settings, expected in (
        ({}, selected[:, 2].mean(0)),
        ({"seed": 1}, selected[1, 2]),
        ({"seed": 1, "at": "last"}, last[1, 2]),
    ):
        seen = of_run(view(crowd), result, **settings)
        shown = confusion_correction(seen, 2)
        np.testing.assert_allclose(shown.table["correction"], expected.ravel(), atol=1e-12)
        share = result.worker_confusion[1, 2] if settings else result.worker_confusion[:, 2].mean(0)
        np.testing.assert_allclose(shown.table["share"], share.ravel())
    np.testing.assert_array_equal(recovered_workers(seen).table["group"].sort_index(), group[1] + 1)


@pytest.fixture(scope="module")
def attacked() -> View:
    return view(attacked_crowd(1, "copy", 3, 0.9, **ATTACKED["4 classes, sparse"]), "gold")


def test_the_group_is_told_in_words_with_its_influence(attacked: View) -> None:
    shown = coordinated.coordinated_workers(attacked)
    row = shown.table.iloc[0]
    assert row["workers"] == "w00, w01, w02"
    words = shown.notes[0]
    assert "w00, w01 and w02" in words
    assert f"{row['labels changed']} labels" in words
    assert f"{row['become right']:.0f} become right" in words
    assert row["share without"] != row["share with"]


def test_a_bar_chooses_its_group_and_a_cell_the_mistake(attacked: View) -> None:
    shown = coordinated.coordinated_workers(attacked)
    assert shown.click is not None and shown.figure is not None
    assert shown.click(0) == {"together": "1"}
    assert [bar.customdata[0][-1] for bar in shown.figure.data] == [0, 0, 0]
    assert sum(bar.x[0] for bar in shown.figure.data) == shown.table["labels changed"].iloc[0]
    change = coordinated.coordinated_confusion(attacked, 1)
    assert change.click is not None
    assert change.click(0, 1) == {"true": "class 0", "given": "class 1"}
    cell = change.table.query("true == 'class 0' and given == 'class 1'").iloc[0]
    assert cell["difference"] == pytest.approx(cell["share with"] - cell["share without"])


def test_hidden_names_come_as_pseudonyms_in_their_own_order(attacked: View) -> None:
    hidden = view(attacked.dataset, "gold", hidden=True)
    shown = coordinated.coordinated_workers(hidden)
    names = shown.table["workers"].iloc[0].split(", ")
    assert names == sorted(hidden.workers[worker] for worker in range(3))
    assert tuple(names) == coordinated.members(hidden, 1)
    assert "w00" not in str(shown.figure) + "".join(shown.notes)


def test_a_crowd_without_groups_says_so() -> None:
    honest = view(honest_crowd(0))
    shown = coordinated.coordinated_workers(honest)
    assert shown.figure is None and shown.table.empty
    with pytest.raises(SettingError, match="group"):
        coordinated.coordinated_confusion(honest, 1)
