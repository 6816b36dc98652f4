"""Drawing labels, ratings and spans: exact probabilities, and errors at the planted rates."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, chisquare

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import SPAN_ERRORS
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from crowdcore.data.simulate import TaskChoice, rodrigues
from crowdcore.data.simulate.base import _keyed, assign, choose_workers, draw_labels
from crowdcore.data.writers import write_folder


def successive(weights: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    """P(ordered draw without replacement), by enumeration."""
    out = {}
    for order in permutations(range(len(weights)), k):
        p, left = 1.0, weights.sum()
        for r in order:
            p *= weights[r] / left
            left -= weights[r]
        out[order] = p
    return out


def test_labels_have_the_rows_probabilities_and_impossible_ones_never_come() -> None:
    rng = np.random.default_rng(0)
    confusion = np.array(
        [[[0.2, 0.0, 0.8], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [[0.5, 0.5, 0.0], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]]
    )
    which, true = rng.integers(2, size=60_000), rng.integers(3, size=60_000)
    label = draw_labels(confusion, which, true, rng)
    counts = np.zeros((2, 3, 3))
    np.add.at(counts, (which, true, label), 1)
    assert counts[confusion == 0].sum() == 0
    p = [
        chisquare(c[e > 0], c.sum() * e[e > 0]).pvalue
        for c, e in zip(counts.reshape(-1, 3), confusion.reshape(-1, 3), strict=True)
        if (e > 0).sum() > 1
    ]
    assert len(p) == 4 and min(p) > 1e-3


def test_rounding_cannot_leave_the_row() -> None:
    class Edge:
        def random(self, n: int) -> np.ndarray:
            return np.full(n, np.nextafter(1, 0))

    confusion = np.tile(np.array([[0.3, 0.7, 0.0]] * 3), (50_000, 1, 1))
    which = np.full(10, 49_999)
    label = draw_labels(confusion, which, np.full(10, 2), Edge())  # type: ignore[arg-type]
    np.testing.assert_array_equal(label, 1)


@pytest.mark.parametrize("draw", [choose_workers, _keyed])
def test_weighted_workers_are_drawn_one_after_the_other(draw) -> None:
    weights = np.array([5.0, 1.0, 2.0, 0.5, 1.5, 1.0, 1.0, 3.0, 1.0])
    n = 40_000
    chosen = draw(n, len(weights), 2, np.random.default_rng(1), weights)
    assert (chosen[:, 0] != chosen[:, 1]).all()
    exact = successive(weights, 2)
    sets = {}
    for order, p in exact.items():  # `_keyed` gives no order, so compare sets
        sets[tuple(sorted(order))] = sets.get(tuple(sorted(order)), 0.0) + p
    pair = np.sort(chosen, 1)
    counts = np.array([((pair[:, 0] == a) & (pair[:, 1] == b)).sum() for a, b in sets])
    assert chisquare(counts, n * np.array(list(sets.values()))).pvalue > 1e-3


@pytest.mark.parametrize("per_task", [1, 3, 5, 20])
def test_workers_of_a_task_are_distinct_and_uniform(per_task: int) -> None:
    chosen = choose_workers(9_000, 20, per_task, np.random.default_rng(2))
    assert (np.diff(np.sort(chosen, 1), axis=1) > 0).all()
    counts = np.bincount(chosen.ravel(), minlength=20)
    assert counts.sum() == 9_000 * per_task
    # Draws without replacement vary less than independent ones, so the plain chi-square is conservative.
    assert chisquare(counts).pvalue > 1e-3


def test_more_workers_a_task_than_there_are() -> None:
    with pytest.raises(SettingError, match=r"number.*3,.*4"):
        choose_workers(5, 3, 4, np.random.default_rng(0))
    with pytest.raises(SettingError, match=r"number.*3"):
        assign(np.arange(5), 3, 3.5, "even", np.random.default_rng(0))


def test_even_assignment_mixes_the_two_numbers_next_to_a_fraction() -> None:
    task, worker = assign(np.arange(100, 10_100), 30, 2.5, "even", np.random.default_rng(4))
    count = np.bincount(task)[100:]
    assert set(count) == {2, 3}
    assert abs(count.mean() - 2.5) < 4 * 0.5 / 100
    assert len(np.unique(task * 30 + worker)) == len(task)
    whole, _ = assign(np.arange(50), 30, 3.0, "even", np.random.default_rng(4))
    np.testing.assert_array_equal(np.bincount(whole), 3)


def test_binomial_assignment_counts() -> None:
    task, worker = assign(np.arange(20_000), 30, 3.0, "binomial", np.random.default_rng(5))
    count = np.bincount(np.bincount(task, minlength=20_000), minlength=31)
    expected = 20_000 * binom.pmf(np.arange(31), 30, 0.1)
    common = expected > 10
    observed, wanted = count[common], expected[common]
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3
    assert len(np.unique(task * 30 + worker)) == len(task)


DEMO = cc.load_dataset("demo")


def test_all_tasks_stay_in_place_and_lose_their_annotations() -> None:
    chosen = TaskChoice().of(DEMO)
    assert (chosen.gold == DEMO.gold).all()
    assert chosen.classes == DEMO.classes
    assert (chosen.n_annotations, chosen.truth) == (0, None)
    assert (chosen.features[np.arange(20)] == DEMO.features[np.arange(20)]).all()


def test_classes_are_numbered_in_the_order_asked_for() -> None:
    chosen = TaskChoice(classes=("seven", "two"), n_train=30, n_test=11).of(DEMO)
    place = DEMO.task_ids.get_indexer(chosen.task_ids)
    assert {DEMO.classes[g] for g in DEMO.gold[place]} == {"seven", "two"}
    assert [chosen.classes[g] for g in chosen.gold] == [DEMO.classes[g] for g in DEMO.gold[place]]
    assert [(chosen.split == k).sum() for k in (0, 2)] == [30, 11]
    assert (chosen.split == DEMO.split[place]).all()
    assert (chosen.media.images[np.arange(40)] == DEMO.media.images[place[:40]]).all()
    assert rodrigues(chosen).n_annotations == 150


def test_unknown_gold_stays_unknown() -> None:
    assert (TaskChoice(n_train=500).of(DEMO).gold[:100] == DEMO.gold[:100]).all()
    assert (TaskChoice(classes=("one",)).of(DEMO).gold == 0).all()


def test_a_class_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingError, match=r"`classes`.*'eleven'"):
        TaskChoice(classes=("eleven",)).of(DEMO)


def test_types_are_confused_by_all_alike_and_the_careless_miss_spans() -> None:
    crowd = simulate.spans(n_sentences=1_500, n_workers=4, boundary=0, confused=0, spurious=0, missed=0)
    scores = analysis.span_scores(crowd, n_resamples=0)
    missed = scores.outcomes[:, SPAN_ERRORS.index("missed")] / scores.n_true
    np.testing.assert_allclose(missed, [0, 0, 0, 0.6], atol=0.03)
    assert crowd.truth is not None and crowd.truth.worker_role == ("", "", "", "misses spans")
    types = analysis.worker_confusion(analysis.span_crowd(crowd, of="type"))
    given = types.matrices[:3, 0, :2]  # LOC as LOC and as ORG, where nothing is missed
    np.testing.assert_allclose(given, [[0.7, 0.3]] * 3, atol=0.05)
    assert scores.spurious.sum() == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_boundaries_move_by_one_token_and_spans_stay_in_their_sentence(seed: int) -> None:
    crowd = simulate.spans(boundary=0.5, missed=0, confused=0, shared_confusion=0, careless=0, spurious=0, seed=seed)
    scores = analysis.span_scores(crowd, n_resamples=0)
    wrong = scores.outcomes[:, SPAN_ERRORS.index("boundary")].sum() / scores.n_true.sum()
    assert 0.2 < wrong < 0.8
    assert scores.outcomes[:, SPAN_ERRORS.index("missed")].sum() == 0
    assert scores.invalid.sum() == 0
    planned = simulate.spans(boundary=0, missed=0, confused=0, shared_confusion=0, careless=0, spurious=0, seed=seed)
    np.testing.assert_array_equal(planned.label, planned.gold[planned.task])


def test_spammers_mark_by_chance_and_copiers_take_on_the_tags_of_worker_1() -> None:
    crowd = simulate.spans(n_sentences=400, n_workers=7, careless=1, spammers=1, copiers=1, copied=1.0)
    assert crowd.truth.worker_role == ("", "", "", "", "misses spans", "spammer", "copier of w1")
    first, copier = (crowd.worker == worker for worker in (0, 6))
    assert np.array_equal(crowd.task[first], crowd.task[copier])
    assert np.array_equal(crowd.label[first], crowd.label[copier])
    assert np.array_equal(crowd.truth.worker_confusion[0], crowd.truth.worker_confusion[6])
    spammer = crowd.worker == 5
    marked = crowd.label[spammer] > 0
    in_spans = crowd.gold[crowd.task[spammer]] > 0
    assert marked[in_spans].mean() == pytest.approx(marked[~in_spans].mean(), abs=0.05)
    with pytest.raises(SettingError, match="spammers"):
        simulate.spans(n_workers=3, spammers=2, copiers=1)


def test_ratings_follow_the_planted_lines_and_copiers_the_first_worker() -> None:
    crowd = simulate.ratings(n_tasks=3_000, per_task=8, low=-100, high=100, shared_low=8, shared_high=-2, noise=2)
    truth = crowd.truth
    assert truth is not None and truth.worker_bias is not None
    assert truth.worker_scale is not None and truth.worker_noise is not None
    for worker in range(crowd.n_workers - 2):  # the last two are a spammer and a copier
        mine = (crowd.worker == worker) & (np.abs(crowd.gold[crowd.task]) < 80)  # none beyond the range
        slope, at_middle = np.polyfit(crowd.gold[crowd.task[mine]], crowd.rating[mine], 1)
        around = crowd.rating[mine] - at_middle - slope * crowd.gold[crowd.task[mine]]
        assert slope == pytest.approx(truth.worker_scale[worker], abs=0.02)
        assert at_middle == pytest.approx(truth.worker_bias[worker], abs=0.4)
        assert around.std() == pytest.approx(truth.worker_noise[worker], rel=0.15)
    assert truth.worker_role[-2:] == ("spammer", "copier of w01")
    spammer = crowd.worker == crowd.n_workers - 2
    assert abs(np.corrcoef(crowd.gold[crowd.task[spammer]], crowd.rating[spammer])[0, 1]) < 0.1
    leader, copier = (crowd.worker == w for w in (0, crowd.n_workers - 1))
    np.testing.assert_array_equal(crowd.task[leader], crowd.task[copier])
    assert np.mean(crowd.rating[leader] == crowd.rating[copier]) == pytest.approx(0.9, abs=0.03)


def test_a_folder_keeps_what_was_planted(tmp_path: Path) -> None:
    crowd = simulate.ratings(n_tasks=60, n_valid=10, n_test=10, seed=3)
    back = cc.read_ratings(write_folder(crowd, tmp_path / "planted"))
    assert back.fingerprint == crowd.fingerprint
    assert crowd.truth is not None and back.truth is not None
    assert (back.truth.settings, back.truth.worker_role) == (crowd.truth.settings, crowd.truth.worker_role)
    for part in ("worker_bias", "worker_scale", "worker_noise"):
        np.testing.assert_array_equal(getattr(back.truth, part), getattr(crowd.truth, part))


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"low": 5, "high": 5}, "high"), ({"n_tasks": 20}, "n_tasks"), ({"n_workers": 2, "per_task": 1}, "n_workers")],
)
def test_settings_that_cannot_be(settings: dict[str, float], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        simulate.ratings(**settings)
