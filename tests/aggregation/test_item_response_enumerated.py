"""Item response on random small crowds: what it finds is the enumeration of every class, difficulty and foil."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import crowdcore as cc
from crowdcore.aggregation._em import start_posterior
from crowdcore.aggregation.base import AggregationResult
from crowdcore.data.dataset import CrowdDataset
from crowdcore.testing import rearrange
from testkit.crowds import simulate_crowd
from tests.aggregation.literal_item_response import LiteralItemResponse


def crowd_of(rows: list[tuple[int, int, int]], n_tasks: int, n_workers: int, n_classes: int) -> CrowdDataset:
    """A crowd of (task, worker, label)."""
    task, worker, label = np.array(sorted(rows, key=lambda row: row[0]), np.int32).T
    like = simulate_crowd(n_tasks, n_workers, n_classes, per_task=1)
    return cc.data.CrowdDataset(
        name="small",
        classes=like.classes,
        task_ids=like.task_ids,
        worker_ids=like.worker_ids,
        task=task,
        worker=worker,
        label=label,
        gold=like.gold,
        split=like.split,
    )


@st.composite
def small_crowds(draw: st.DrawFn) -> CrowdDataset:
    """Up to five tasks, workers and classes: idle workers, tasks without labels, repeats, ties, unused classes."""
    n_tasks, n_workers, n_classes = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(2, 5))
    row = st.tuples(*(st.integers(0, n - 1) for n in (n_tasks, n_workers, n_classes)))
    return crowd_of(draw(st.lists(row, min_size=1, max_size=20)), n_tasks, n_workers, n_classes)


def fitted(crowd: CrowdDataset, steps: int | None = None) -> AggregationResult:
    """After some iterations; by default, after as many as it needs."""
    some = {} if steps is None else {"max_iterations": steps, "tolerance": 0}
    return cc.aggregation.get("item-response", **some).fit(crowd)


def check(crowd: CrowdDataset) -> None:
    """Two iterations from the votes, which come before any acceleration, and what follows from them."""
    model = cc.aggregation.get("item-response", max_iterations=2, tolerance=0)
    literal, found = LiteralItemResponse(crowd), model._side(crowd, None, start_posterior(crowd, None, None))
    objective = [literal.step() for _ in range(2)]
    assert found.log_likelihood == pytest.approx(objective, rel=1e-9)
    assert found.prior == pytest.approx(literal.class_share, rel=1e-9)
    for i in np.flatnonzero(crowd.annotated):
        posterior, difficulty, foil = literal.posterior(i)
        assert found.posterior[i] == pytest.approx(posterior, rel=1e-7, abs=1e-12)
        assert found.difficulty[i] == pytest.approx(difficulty, rel=1e-7)
        assert found.foil[i] == foil
    assert np.isnan(found.posterior[~crowd.annotated]).all() and (found.foil[~crowd.annotated] == -1).all()


@settings(max_examples=25)
@given(small_crowds())
def test_two_iterations_are_those_of_the_enumeration(crowd: CrowdDataset) -> None:
    check(crowd)


def test_a_task_with_hundreds_of_labels_is_that_of_the_enumeration() -> None:
    rng = np.random.default_rng(0)
    rows = [(0, int(rng.integers(20)), 2 if rng.random() < 0.6 else int(rng.integers(3))) for _ in range(700)]
    rows += [(i, r, int(rng.integers(3))) for i in (1, 2) for r in range(20)]
    check(crowd_of(rows, 3, 20, 3))


@settings(max_examples=25)
@given(small_crowds(), st.randoms(use_true_random=False))
def test_order_and_names_change_nothing(crowd: CrowdDataset, random) -> None:
    tasks, workers, classes = (
        np.array(random.sample(range(n), n)) for n in (crowd.n_tasks, crowd.n_workers, crowd.n_classes)
    )
    found, again = fitted(crowd, 2), fitted(rearrange(crowd, tasks, workers, classes), 2)
    assert again.posterior == pytest.approx(found.posterior[tasks][:, classes], abs=1e-8, nan_ok=True)
    assert again.difficulty == pytest.approx(found.difficulty[tasks], abs=1e-8, nan_ok=True)
    assert again.log_likelihood == pytest.approx(found.log_likelihood, rel=1e-9)
    old = found.foil[tasks]
    assert (again.foil == np.where(old >= 0, np.argsort(classes)[old], -1)).all()


@settings(max_examples=25)
@given(small_crowds())
def test_the_objective_ends_where_it_is_highest(crowd: CrowdDataset) -> None:
    found = fitted(crowd)
    assert found.converged == ("gain below 1e-06" in found.stopped) == (len(found.log_likelihood) < 200)
    fall = (found.log_likelihood.max() - found.log_likelihood[-1]) / crowd.n_annotations
    assert fall <= (1e-9 if crowd.n_classes == 2 else 0.05), "w, which is 1 of two classes, is not in the objective"
    rows = found.confusion.sum(2)
    assert rows[crowd.labels_per_worker > 0] == pytest.approx(1)
    assert found.posterior[crowd.annotated].sum(1) == pytest.approx(1)
    assert ((found.difficulty[crowd.annotated] > 0) & (found.difficulty[crowd.annotated] < 1)).all()


def test_it_says_whether_it_has_converged() -> None:
    crowd = simulate_crowd(100, 10, 3, per_task=5)
    found = fitted(crowd, 3)
    assert found.converged is False and found.stopped == "cap of 3 iterations reached"
    assert fitted(crowd).converged is True


@pytest.mark.parametrize("n_classes", [2, 4])
def test_more_iterations_gain_next_to_nothing(n_classes: int) -> None:
    crowd = simulate_crowd(400, 20, n_classes, per_task=5, accuracy=0.7)
    found, end = fitted(crowd), fitted(crowd, 500)
    assert found.converged and len(found.log_likelihood) < 150
    assert end.log_likelihood.max() - found.log_likelihood[-1] < 1e-4 * crowd.n_annotations
    assert (found.labels == end.labels).mean() > 0.99
