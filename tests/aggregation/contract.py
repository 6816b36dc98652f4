"""What every aggregator promises; subclass `AggregatorContract` with a ``make`` fixture to hold another one to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.aggregation import AggregationResult, Aggregator
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd

TOLERANCE = 1e-6
FITS: dict[tuple[type, str], tuple[CrowdDataset, AggregationResult]] = {}
"""Aggregator and settings -> crowd and result that its tests share."""


def rearrange(dataset: CrowdDataset, tasks=None, workers=None, classes=None) -> CrowdDataset:
    """The same crowd with new numbers: ``tasks[i]`` is the old number of the new task i; likewise the others."""
    tasks, workers, classes = (
        np.arange(n) if given is None else given
        for given, n in ((tasks, dataset.n_tasks), (workers, dataset.n_workers), (classes, dataset.n_classes))
    )
    new_task, new_worker, new_class = (np.argsort(p) for p in (tasks, workers, classes))
    order = np.argsort(new_task[dataset.task], kind="stable")
    gold = dataset.gold[tasks]
    return replace(
        dataset,
        classes=tuple(np.array(dataset.classes)[classes]),
        task_ids=dataset.task_ids[tasks],
        worker_ids=dataset.worker_ids[workers],
        task=new_task[dataset.task][order],
        worker=new_worker[dataset.worker][order],
        label=new_class[dataset.label][order],
        gold=np.where(gold >= 0, new_class[gold], -1),
    )


def widen(dataset: CrowdDataset, tasks=0, workers=0, classes=0) -> CrowdDataset:
    """The same annotations with further tasks, workers or classes that have none."""
    return replace(
        dataset,
        task_ids=dataset.task_ids.append(pd.Index([f"more t{i}" for i in range(tasks)])),
        worker_ids=dataset.worker_ids.append(pd.Index([f"more w{i}" for i in range(workers)])),
        classes=(*dataset.classes, *(f"more {i}" for i in range(classes))),
        gold=np.append(dataset.gold, np.full(tasks, -1)),
        split=np.append(dataset.split, np.full(tasks, -1)),
    )


def sound(result: AggregationResult, dataset: CrowdDataset, known=None) -> None:
    """Everything about a result that holds whatever the data."""
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
        assert result.prior.sum() == pytest.approx(1)
    for values, n in (
        (result.worker_weight, dataset.n_workers),
        (result.difficulty, dataset.n_tasks),
        (result.foil, dataset.n_tasks),
        (result.group, dataset.n_workers),
        (result.omega, dataset.n_annotations),
    ):
        assert values is None or values.shape == (n,)


class AggregatorContract:
    """Subclasses provide ``make``: a fixture with a callable that returns the aggregator."""

    @pytest.fixture
    def aggregator(self, make) -> Aggregator:
        return make()

    @pytest.fixture
    def fitted(self, aggregator) -> tuple[CrowdDataset, AggregationResult]:
        """A crowd of four classes, or two for a method whose assumptions refuse four, and its fit, made once."""
        key = (type(aggregator), aggregator.model_dump_json())
        if key not in FITS:
            crowd = simulate_crowd(160, 12, 4, per_task=5, accuracy=0.75, seed=3)
            if aggregator.name == "ordinal-dawid-skene":  # its mistakes are near misses
                truth = crowd.gold[crowd.task]
                crowd = replace(crowd, label=truth + np.sign(crowd.label - truth))
            try:
                FITS[key] = crowd, aggregator.fit(crowd)
            except CrowdError:
                crowd = simulate_crowd(160, 12, 2, per_task=5, accuracy=0.75, seed=3)
                FITS[key] = crowd, aggregator.fit(crowd)
        return FITS[key]

    @pytest.fixture
    def crowd(self, fitted) -> CrowdDataset:
        return fitted[0]

    @pytest.fixture
    def before(self, fitted) -> AggregationResult:
        """The aggregator's result on the crowd."""
        return fitted[1]

    def test_describes_itself(self, aggregator):
        assert aggregator.name and aggregator.title and aggregator.paper
        assert type(aggregator).__doc__
        assert all(field.description for field in type(aggregator).model_fields.values())
        with pytest.raises(SettingError, match="no_such_setting"):
            type(aggregator)(no_such_setting=1)

    def test_result_is_sound_and_better_than_chance(self, aggregator, crowd, before):
        sound(before, crowd)
        assert before.method == aggregator.name
        assert before.settings == aggregator.model_dump()
        assert (before.labels == crowd.gold).mean() > 0.85
        agreed = np.array([len(set(crowd.label[crowd.task == i])) == 1 for i in range(crowd.n_tasks)])
        assert agreed.sum() > 10
        np.testing.assert_array_equal(before.labels[agreed], crowd.label[crowd.task_start[:-1]][agreed])

    def test_same_settings_same_result(self, make, crowd, before):
        again = make().fit(crowd)
        np.testing.assert_array_equal(again.posterior, before.posterior)
        np.testing.assert_array_equal(again.log_likelihood, before.log_likelihood)

    def test_starts_from_an_earlier_result_and_changes_no_input(self, aggregator, crowd, before):
        known = np.where(np.arange(crowd.n_tasks) < 20, crowd.gold, -1)
        kept = crowd.fingerprint, known.copy(), before.posterior.copy()
        aggregator.fit(crowd, known=known, start=before)
        after = aggregator.fit(crowd, start=before)
        sound(after, crowd)
        assert (after.labels == before.labels).mean() > 0.98
        assert len(after.log_likelihood) <= len(before.log_likelihood)
        assert replace(crowd).fingerprint == kept[0]
        np.testing.assert_array_equal(known, kept[1])
        np.testing.assert_array_equal(before.posterior, kept[2])

    def test_the_order_of_tasks_workers_and_classes_does_not_matter(self, aggregator, crowd, before):
        tasks = np.random.default_rng(0).permutation(crowd.n_tasks)
        workers = np.random.default_rng(1).permutation(crowd.n_workers)
        classes = np.arange(crowd.n_classes)[::-1]
        after = aggregator.fit(rearrange(crowd, tasks, workers, classes))
        np.testing.assert_allclose(after.posterior, before.posterior[tasks][:, classes], atol=TOLERANCE)
        if before.difficulty is not None:
            np.testing.assert_allclose(after.difficulty, before.difficulty[tasks], atol=1e-4)
        if before.confusion is not None:
            expected = before.confusion[workers][:, classes][:, :, classes]
            np.testing.assert_allclose(after.confusion, expected, atol=1e-4)
        if before.worker_weight is not None:
            np.testing.assert_allclose(after.worker_weight, before.worker_weight[workers], atol=1e-4)

    def test_a_worker_and_tasks_without_annotations(self, aggregator, crowd, before):
        wider = widen(crowd, tasks=2, workers=1)
        result = aggregator.fit(wider)
        sound(result, wider)
        np.testing.assert_allclose(result.posterior[:-2], before.posterior, atol=TOLERANCE)

    def test_class_that_nobody_used(self, aggregator, crowd):
        wider = widen(crowd, classes=1)
        try:
            result = aggregator.fit(wider)
        except CrowdError:
            assert crowd.n_classes == 2, "only a binary method may refuse a third class"
            return
        sound(result, wider)
        assert (result.labels < crowd.n_classes).all()

    @pytest.mark.parametrize("case", ["single worker", "single task", "single annotation", "adversarial"])
    def test_extreme_crowds(self, aggregator, crowd, case):
        keep = {
            "single worker": crowd.worker == 0,
            "single task": crowd.task == 0,
            "single annotation": np.arange(crowd.n_annotations) == 7,
            "adversarial": np.ones(crowd.n_annotations, bool),
        }[case]
        extreme = crowd.where(keep)
        if case == "adversarial":
            extreme = replace(crowd, label=(crowd.gold[crowd.task] + 1) % crowd.n_classes)
        try:
            result = aggregator.fit(extreme)
        except CrowdError as refusal:
            assert len(str(refusal)) > 20
            return
        sound(result, extreme)
        if case == "single annotation":
            assert result.labels[extreme.task[0]] == extreme.label[0]

    def test_known_tasks_are_clamped(self, aggregator, crowd):
        wider = widen(crowd, tasks=2)
        known = np.full(wider.n_tasks, -1)
        wrong = (crowd.gold[:10] + 1) % crowd.n_classes
        known[:10], known[-2] = wrong, 1  # against the crowd, and a task without annotations
        result = aggregator.fit(wider, known=known)
        sound(result, wider, known)
        np.testing.assert_array_equal(result.labels[:10], wrong)
        np.testing.assert_array_equal(result.posterior[known >= 0].max(1), 1.0)
        assert result.labels[-2] == 1
        assert result.labels[-1] == -1

    def test_refuses_what_does_not_fit(self, aggregator, crowd, before):
        with pytest.raises(DataError, match="no annotations"):
            aggregator.fit(crowd.where(np.zeros(crowd.n_annotations, bool)))
        with pytest.raises(SettingError, match="known"):
            aggregator.fit(crowd, known=np.zeros(3, int))
        with pytest.raises(SettingError, match="known"):
            aggregator.fit(crowd, known=np.full(crowd.n_tasks, crowd.n_classes))
        with pytest.raises(SettingError, match="start"):
            aggregator.fit(widen(crowd, tasks=1), start=before)
