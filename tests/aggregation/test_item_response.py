"""Ability and difficulty: item response against the enumeration of every class and foil, GLAD against its density."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit

import crowdcore as cc
from crowdcore.aggregation._em import start_posterior
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core import compiled
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd
from testkit.erring import PAIRS, TASKS, unequal
from tests.aggregation.literal_item_response import LiteralItemResponse


def fitted(dataset, **settings):
    return cc.aggregation.get("item-response", **settings).fit(dataset)


def test_able_workers_are_believed_on_tasks_that_most_get_wrong():
    crowd = unequal(PAIRS["39 workers, 200 × 39, 2 classes"], TASKS["unequal"], np.random.default_rng(1))
    vote, glad, found = (cc.aggregation.get(name).fit(crowd) for name in ("majority-vote", "glad", "item-response"))
    right = [(each.labels == crowd.gold).mean() for each in (vote, glad, found)]
    assert max(right[:2]) < 0.9 < 0.97 < right[2]
    wrong = (crowd.label != crowd.gold[crowd.task]).reshape(200, 39).mean(1)
    same = found.labels == crowd.gold
    assert np.corrcoef(found.difficulty[same], wrong[same])[0, 1] > 0.95
    assert (found.foil == -1).all(), "of two classes, the wrong one is the only foil"


def test_the_foil_of_a_task_is_named():
    crowd = simulate_crowd(300, 15, 5, per_task=15, accuracy=0.8, seed=2)
    rng, misled = np.random.default_rng(0), np.arange(300) < 60
    foil = (crowd.gold + rng.integers(1, 5, 300)) % 5
    to_foil = misled[crowd.task] & (rng.random(crowd.n_annotations) < 0.55)
    fit = fitted(replace(crowd, label=np.where(to_foil, foil[crowd.task], crowd.label)))
    right = fit.labels == crowd.gold
    assert (fit.foil[misled & right] == foil[misled & right]).mean() > 0.9
    assert (fit.foil[~misled] >= 0).mean() < 0.05


def test_the_objective_grows_on_a_plain_crowd_and_confusions_are_those_of_the_crowd():
    crowd = simulate_crowd(2000, 10, 3, per_task=6, accuracy=0.7, seed=1)
    fit = fitted(crowd)
    assert fit.converged
    assert (np.diff(fit.log_likelihood) > 0).all()
    np.testing.assert_allclose(fit.confusion.mean(0), 0.55 * np.eye(3) + 0.15, atol=0.04)


def crowd_of(rows: list[tuple[int, int, int]], n_tasks: int, n_workers: int, n_classes: int) -> CrowdDataset:
    """A crowd of (task, worker, label)."""
    task, worker, label = np.array(sorted(rows, key=lambda row: row[0]), np.int32).T
    like = simulate_crowd(n_tasks, n_workers, n_classes, per_task=1)
    return replace(like, task=task, worker=worker, label=label)


@st.composite
def small_crowds(draw: st.DrawFn) -> CrowdDataset:
    """Up to five tasks, workers and classes: idle workers, tasks without labels, repeats, ties, unused classes."""
    n_tasks, n_workers, n_classes = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(2, 5))
    row = st.tuples(*(st.integers(0, n - 1) for n in (n_tasks, n_workers, n_classes)))
    return crowd_of(draw(st.lists(row, min_size=1, max_size=20)), n_tasks, n_workers, n_classes)


def fitted_small(crowd: CrowdDataset, steps: int | None = None) -> AggregationResult:
    """Fit to a small crowd for some iterations; by default, until it converges."""
    some = {} if steps is None else {"max_iterations": steps, "tolerance": 0}
    return cc.aggregation.get("item-response", **some).fit(crowd)


def check(crowd: CrowdDataset) -> None:
    """Check two iterations from the votes, which come before any acceleration, and the results."""
    model = cc.aggregation.get("item-response", max_iterations=2, tolerance=0)
    literal, side = LiteralItemResponse(crowd), model._side(crowd, None, start_posterior(crowd, None, None))
    objective = [literal.step() for _ in range(2)]
    assert side.log_likelihood == pytest.approx(objective, rel=1e-9)
    assert side.prior == pytest.approx(literal.class_share, rel=1e-9)
    for i in np.flatnonzero(crowd.annotated):
        posterior, difficulty, foil = literal.posterior(i)
        assert side.posterior[i] == pytest.approx(posterior, rel=1e-7, abs=1e-12)
        assert side.difficulty[i] == pytest.approx(difficulty, rel=1e-7)
        assert side.foil[i] == foil
    assert np.isnan(side.posterior[~crowd.annotated]).all() and (side.foil[~crowd.annotated] == -1).all()


@settings(max_examples=12)
@given(small_crowds())
def test_two_iterations_are_those_of_the_enumeration(crowd: CrowdDataset) -> None:
    check(crowd)


def test_a_task_with_hundreds_of_labels_is_that_of_the_enumeration() -> None:
    rng = np.random.default_rng(0)
    rows = [(0, int(rng.integers(20)), 2 if rng.random() < 0.6 else int(rng.integers(3))) for _ in range(700)]
    rows += [(i, r, int(rng.integers(3))) for i in (1, 2) for r in range(20)]
    check(crowd_of(rows, 3, 20, 3))


@settings(max_examples=12)
@given(small_crowds())
def test_the_objective_ends_where_it_is_highest(crowd: CrowdDataset) -> None:
    fit = fitted_small(crowd)
    assert fit.converged == ("gain below 1e-06" in fit.stopped) == (len(fit.log_likelihood) < 200)
    fall = (fit.log_likelihood.max() - fit.log_likelihood[-1]) / crowd.n_annotations
    assert fall <= (1e-9 if crowd.n_classes == 2 else 0.05), "w, which is 1 of two classes, is not in the objective"
    rows = fit.confusion.sum(2)
    assert rows[crowd.labels_per_worker > 0] == pytest.approx(1)
    assert fit.posterior[crowd.annotated].sum(1) == pytest.approx(1)
    assert ((fit.difficulty[crowd.annotated] > 0) & (fit.difficulty[crowd.annotated] < 1)).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_more_iterations_gain_next_to_nothing(n_classes: int) -> None:
    crowd = simulate_crowd(400, 20, n_classes, per_task=5, accuracy=0.7)
    fit, end = fitted_small(crowd), fitted_small(crowd, 500)
    assert fit.converged and len(fit.log_likelihood) < 150
    assert end.log_likelihood.max() - fit.log_likelihood[-1] < 1e-4 * crowd.n_annotations
    assert (fit.labels == end.labels).mean() > 0.99


def literal_joint(dataset, ability, ease):
    """log p(z = c, y_i) of every task and class, and the log prior density of the parameters (without constants)."""
    joint = np.full((dataset.n_tasks, dataset.n_classes), -np.log(dataset.n_classes))
    for i, r, y in zip(dataset.task, dataset.worker, dataset.label, strict=True):
        right = expit(ability[r] * ease[i])
        for c in range(dataset.n_classes):
            joint[i, c] += np.log(right if c == y else (1 - right) / (dataset.n_classes - 1))
    return joint, -((ability - 1) ** 2).sum() / 2 - ((np.log(ease) - 1) ** 2).sum() / 2


def objective(dataset, ability, ease, known=None):
    joint, density = literal_joint(dataset, ability, ease)
    free = np.ones(dataset.n_tasks, bool) if known is None else known < 0
    value = np.logaddexp.reduce(joint[free], axis=1).sum() + density
    return value if known is None else value + joint[~free, known[~free]].sum()


def fit(dataset, known=None, **settings):
    return cc.aggregation.get("glad", **{"tolerance": 0, "max_iterations": 30, **settings}).fit(dataset, known=known)


@pytest.mark.parametrize("n_known", [0, 6])
def test_objective_and_posterior_are_those_of_the_model(n_known):
    crowd = simulate_crowd(30, 6, 3, per_task=3, accuracy=0.7, seed=1)
    known = np.where(np.arange(30) < n_known, crowd.gold, -1)
    before, after = fit(crowd, known, max_iterations=8), fit(crowd, known, max_iterations=9)
    joint, _ = literal_joint(crowd, before.worker_weight, 1 / before.difficulty)
    free = known < 0
    q = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    np.testing.assert_allclose(after.posterior[free], q[free], atol=1e-9)
    value = objective(crowd, before.worker_weight, 1 / before.difficulty, known)
    assert after.log_likelihood[-1] == pytest.approx(value, rel=1e-10)


def test_the_end_is_a_summit():
    crowd = simulate_crowd(40, 6, 4, per_task=4, accuracy=0.7, seed=3)
    result = fit(crowd, max_iterations=3000)
    ability, ease = result.worker_weight, 1 / result.difficulty
    top = objective(crowd, ability, ease)
    for k in range(6):
        for step in (-1e-3, 1e-3):
            assert objective(crowd, ability + step * (np.arange(6) == k), ease) <= top + 1e-9
    for k in range(0, 40, 5):
        for step in (-1e-3, 1e-3):
            assert objective(crowd, ability, ease * np.exp(step * (np.arange(40) == k))) <= top + 1e-9


@pytest.mark.parametrize("settings", [{}, {"class_prior": "estimated"}, {"ability_deviation": 3, "log_ease_mean": 0}])
def test_objective_never_falls(settings):
    crowd = simulate_crowd(150, 12, 5, per_task=3, accuracy=0.5)
    values = fit(crowd, max_iterations=100, **settings).log_likelihood
    assert (np.diff(values) >= -1e-9 * np.abs(values[1:])).all()


def test_compiled_loops_do_what_numpy_does(monkeypatch):
    crowd = simulate_crowd(400, 9, 4, per_task=3, accuracy=0.6).where(np.arange(1200) % 7 > 0)
    crowd = crowd.where(crowd.task > 2)
    known = np.where(np.arange(400) % 50 == 0, crowd.gold, -1)
    plain = fit(crowd, known)
    monkeypatch.setattr(compiled, "LARGE", 0)
    large = fit(crowd, known)
    np.testing.assert_allclose(large.posterior, plain.posterior, atol=1e-10)
    np.testing.assert_allclose(large.worker_weight, plain.worker_weight, rtol=1e-9)
    np.testing.assert_allclose(large.difficulty, plain.difficulty, rtol=1e-6)
    np.testing.assert_allclose(large.log_likelihood, plain.log_likelihood, rtol=1e-12)


def test_starts_from_an_earlier_result_of_its_own():
    crowd = simulate_crowd(200, 9, 3)
    first = cc.aggregation.get("glad").fit(crowd)
    again = cc.aggregation.get("glad").fit(crowd, start=first)
    assert again.log_likelihood[0] >= first.log_likelihood[-1] - 1e-9
    assert len(again.log_likelihood) < 4
