"""Promises of every aggregator, and `check_aggregator` to hold your own to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from crowdcore import aggregation
from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.testing.crowds import rearrange, refused, run_checks, simulate_crowd, widen

TOLERANCE = 1e-6


def sound(result: AggregationResult, dataset: CrowdDataset, known: IntArray | None = None) -> None:
    """Check that a result is sound, whatever the data."""
    evident = dataset.annotated if known is None else dataset.annotated | (known >= 0)
    assert result.posterior.shape == (dataset.n_tasks, dataset.n_classes)
    assert result.posterior.dtype == np.float64
    assert np.isnan(result.posterior[~evident]).all()
    np.testing.assert_allclose(result.posterior[evident].sum(1), 1, atol=1e-9)
    assert (result.posterior[evident] >= 0).all()
    assert (result.labels[~evident] == -1).all()
    named = result.frame()
    assert list(named["task"]) == list(dataset.task_ids)
    np.testing.assert_array_equal(named["label"].isna(), ~evident)
    assert list(named["label"][evident]) == [dataset.classes[c] for c in result.labels[evident]]
    np.testing.assert_array_equal(result.labels[evident], result.posterior[evident].argmax(1))
    assert np.isfinite(result.log_likelihood).all()
    if result.confusion is not None:
        assert result.confusion.shape == (dataset.n_workers, dataset.n_classes, dataset.n_classes)
        rows = result.confusion.sum(2)
        np.testing.assert_allclose(rows[~np.isnan(rows)], 1, atol=1e-9)
        assert np.isnan(result.confusion[dataset.labels_per_worker == 0]).all(), "no labels, no confusion"
    if result.prior is not None:
        np.testing.assert_allclose(result.prior.sum(), 1, rtol=1e-6)
    for values, n in (
        (result.worker_weight, dataset.n_workers),
        (result.difficulty, dataset.n_tasks),
        (result.foil, dataset.n_tasks),
        (result.group, dataset.n_workers),
        (result.omega, dataset.n_annotations),
    ):
        assert values is None or values.shape == (n,)


@dataclass(frozen=True, eq=False)
class _Case:
    """An aggregator, a crowd for it, and its fit.

    Args:
        make: creates the aggregator.
    """

    make: Callable[[], Aggregator]

    @cached_property
    def aggregator(self) -> Aggregator:
        return self.make()

    @cached_property
    def fitted(self) -> tuple[CrowdDataset, AggregationResult]:
        """Crowd of four classes, or of two for a method that refuses four, and its fit."""
        crowd = simulate_crowd(160, 12, 4, per_task=5, accuracy=0.75, seed=3)
        if self.aggregator.name == "ordinal-dawid-skene":  # its mistakes are near misses
            truth = crowd.gold[crowd.task]
            crowd = replace(crowd, label=truth + np.sign(crowd.label - truth))
        try:
            return crowd, self.aggregator.fit(crowd)
        except CrowdError:
            crowd = simulate_crowd(160, 12, 2, per_task=5, accuracy=0.75, seed=3)
            return crowd, self.aggregator.fit(crowd)

    @property
    def crowd(self) -> CrowdDataset:
        return self.fitted[0]

    @property
    def before(self) -> AggregationResult:
        return self.fitted[1]


def _describes_itself(case: _Case) -> None:
    kind = type(case.aggregator)
    assert kind.name and kind.title and kind.paper, "`name`, `title` and `paper` must be given"
    assert kind.__doc__, "the class docstring must state the equations"
    assert all(field.description for field in kind.model_fields.values()), "every setting needs a description"
    with refused(SettingError, "no_such_setting"):
        kind(**{"no_such_setting": 1})


def _is_sound_and_better_than_chance(case: _Case) -> None:
    crowd, before = case.fitted
    sound(before, crowd)
    assert before.method == case.aggregator.name
    assert before.settings == case.aggregator.model_dump()
    assert (before.labels == crowd.gold).mean() > 0.85
    agreed = np.array([len(set(crowd.label[crowd.task == i])) == 1 for i in range(crowd.n_tasks)])
    assert agreed.sum() > 10
    np.testing.assert_array_equal(before.labels[agreed], crowd.label[crowd.task_start[:-1]][agreed])


def _same_settings_same_result(case: _Case) -> None:
    again = case.make().fit(case.crowd)
    np.testing.assert_array_equal(again.posterior, case.before.posterior)
    np.testing.assert_array_equal(again.log_likelihood, case.before.log_likelihood)


def _starts_from_an_earlier_result_and_changes_no_input(case: _Case) -> None:
    crowd, before = case.fitted
    known = np.where(np.arange(crowd.n_tasks) < 20, crowd.gold, -1)
    kept = crowd.fingerprint, known.copy(), before.posterior.copy()
    case.aggregator.fit(crowd, known=known, start=before)
    after = case.aggregator.fit(crowd, start=before)
    sound(after, crowd)
    assert (after.labels == before.labels).mean() > 0.98
    assert len(after.log_likelihood) <= len(before.log_likelihood)
    assert replace(crowd).fingerprint == kept[0]
    np.testing.assert_array_equal(known, kept[1])
    np.testing.assert_array_equal(before.posterior, kept[2])


def _order_of_tasks_workers_and_classes_does_not_matter(case: _Case) -> None:
    crowd, before = case.fitted
    tasks = np.random.default_rng(0).permutation(crowd.n_tasks)
    workers = np.random.default_rng(1).permutation(crowd.n_workers)
    classes = np.arange(crowd.n_classes)[::-1]
    after = case.aggregator.fit(rearrange(crowd, tasks, workers, classes))
    np.testing.assert_allclose(after.posterior, before.posterior[tasks][:, classes], atol=TOLERANCE)
    for name, order in (("difficulty", tasks), ("worker_weight", workers)):
        if (values := getattr(before, name)) is not None:
            np.testing.assert_allclose(getattr(after, name), values[order], atol=1e-4)
    if before.confusion is not None:
        assert after.confusion is not None
        expected = before.confusion[workers][:, classes][:, :, classes]
        np.testing.assert_allclose(after.confusion, expected, atol=1e-4)


def _a_worker_and_tasks_without_annotations(case: _Case) -> None:
    wider = widen(case.crowd, tasks=2, workers=1)
    result = case.aggregator.fit(wider)
    sound(result, wider)
    np.testing.assert_allclose(result.posterior[:-2], case.before.posterior, atol=TOLERANCE)


def _class_that_nobody_used(case: _Case) -> None:
    wider = widen(case.crowd, classes=1)
    try:
        result = case.aggregator.fit(wider)
    except CrowdError:
        assert case.crowd.n_classes == 2, "only a binary method may refuse a third class"
        return
    sound(result, wider)
    assert (result.labels < case.crowd.n_classes).all()


def _extreme(kind: str) -> Callable[[_Case], None]:
    def check(case: _Case) -> None:
        crowd = case.crowd
        keep = {
            "single worker": crowd.worker == 0,
            "single task": crowd.task == 0,
            "single annotation": np.arange(crowd.n_annotations) == 7,
            "adversarial": np.ones(crowd.n_annotations, bool),
        }[kind]
        extreme = crowd.where(keep)
        if kind == "adversarial":
            extreme = replace(crowd, label=(crowd.gold[crowd.task] + 1) % crowd.n_classes)
        try:
            result = case.aggregator.fit(extreme)
        except CrowdError as refusal:
            assert len(str(refusal)) > 20, "a refusal is a sentence"
            return
        sound(result, extreme)
        if kind == "single annotation":
            assert result.labels[extreme.task[0]] == extreme.label[0]

    return check


def _known_tasks_are_clamped(case: _Case) -> None:
    wider = widen(case.crowd, tasks=2)
    known = np.full(wider.n_tasks, -1)
    wrong = (case.crowd.gold[:10] + 1) % case.crowd.n_classes
    known[:10], known[-2] = wrong, 1  # against the crowd, and a task without annotations
    result = case.aggregator.fit(wider, known=known)
    sound(result, wider, known)
    np.testing.assert_array_equal(result.labels[:10], wrong)
    np.testing.assert_array_equal(result.posterior[known >= 0].max(1), 1.0)
    assert result.labels[-2] == 1
    assert result.labels[-1] == -1


def _refuses_what_does_not_fit(case: _Case) -> None:
    crowd, fit = case.crowd, case.aggregator.fit
    with refused(DataError, "no annotations"):
        fit(crowd.where(np.zeros(crowd.n_annotations, bool)))
    for known in (np.zeros(3, int), np.full(crowd.n_tasks, crowd.n_classes)):
        with refused(SettingError, "known"):
            fit(crowd, known=known)
    with refused(SettingError, "start"):
        fit(widen(crowd, tasks=1), start=case.before)


AGGREGATOR_CHECKS: Mapping[str, Callable[[Any], None]] = {
    "it describes itself": _describes_itself,
    "it is sound and better than chance": _is_sound_and_better_than_chance,
    "the same settings give the same result": _same_settings_same_result,
    "it starts from an earlier result and changes no input": _starts_from_an_earlier_result_and_changes_no_input,
    "the order of tasks, workers and classes does not matter": _order_of_tasks_workers_and_classes_does_not_matter,
    "a worker and tasks may be without annotations": _a_worker_and_tasks_without_annotations,
    "a class may be one that nobody used": _class_that_nobody_used,
    **{f"{kind} is fitted or refused": _extreme(kind) for kind in ("single worker", "single task")},
    **{f"{kind} is fitted or refused": _extreme(kind) for kind in ("single annotation", "adversarial")},
    "known tasks are clamped": _known_tasks_are_clamped,
    "it refuses what does not fit": _refuses_what_does_not_fit,
}
"""Promise -> the function that checks it."""


@lru_cache(8)
def _case(name: str) -> _Case:
    return _Case(lambda: aggregation.get(name))


def check_aggregator(aggregator: str | type[Aggregator] | Aggregator, only: str = "") -> None:
    """Check the promises of an aggregator: shapes, order, ties, clamped tasks, refusals.

    Args:
        aggregator: a name, class or instance.
        only: one of `AGGREGATOR_CHECKS`; "": all of them.

    Raises:
        AssertionError: it breaks a promise, which a note names.
        SettingError: no such aggregator or check.

    Examples:
        >>> check_aggregator("majority-vote")
    """
    made = aggregation.get(aggregator)
    case = _case(aggregator) if isinstance(aggregator, str) else _Case(made.model_copy)
    run_checks(AGGREGATOR_CHECKS, only, case, made.name)
