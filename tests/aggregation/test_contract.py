"""Every aggregator keeps the contract; results are carried over to a grown dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import aggregation
from crowdcore.aggregation import Aggregator
from crowdcore.core.errors import SettingError
from crowdcore.testing import check_aggregator, rearrange
from testkit.crowds import simulate_crowd


@pytest.mark.parametrize("name", aggregation.names())
def test_every_aggregator_keeps_what_it_promises(name):
    check_aggregator(name)
    assert aggregation.get(name).name == name


class FirstLabel(Aggregator):
    """Takes the first label of each task, whoever gave it."""

    name: ClassVar[str] = "first-label"
    title: ClassVar[str] = "First label"
    paper: ClassVar[str] = "-"

    def _fit(self, dataset: Any, known: Any, start: Any) -> Any:
        posterior = np.zeros((dataset.n_tasks, dataset.n_classes))
        posterior[dataset.task[::-1], dataset.label[::-1]] = 1
        return self.result(dataset, posterior / np.maximum(posterior.sum(1, keepdims=True), 1), known=known)


@pytest.mark.parametrize("given", [FirstLabel, FirstLabel()], ids=["class", "instance"])
def test_an_own_aggregator_that_breaks_a_promise_is_told_which(given):
    check_aggregator(given, "it describes itself")
    with pytest.raises(AssertionError) as broken:
        check_aggregator(given)
    assert "first-label breaks the promise" in broken.value.__notes__[0]


def grown():
    """A crowd, and the same crowd later: shuffled, with a further class, new annotations, tasks and workers."""
    later = simulate_crowd(120, 14, 4, per_task=5, seed=8)
    later = replace(later, classes=(*later.classes, "new class"))
    later = rearrange(later, *(np.random.default_rng(1).permutation(n) for n in (120, 14, 5)))
    tasks, workers = np.arange(100), np.arange(12)
    keep = (later.task < 100) & (later.worker < 12) & (np.arange(later.n_annotations) % 5 > 0)
    new = later.classes.index("new class")
    others = np.delete(np.arange(5), new)
    renumber = np.argsort(np.append(others, new))
    before = replace(
        later,
        task_ids=later.task_ids[tasks],
        worker_ids=later.worker_ids[workers],
        classes=tuple(later.classes[c] for c in others),
        task=later.task[keep],
        worker=later.worker[keep],
        label=renumber[later.label[keep]],
        gold=renumber[later.gold[:100]],
        split=later.split[:100],
    )
    order = np.random.default_rng(2).permutation(100)
    return rearrange(before, tasks=order), later


def test_align_follows_the_ids():
    before, after = grown()
    result = cc.aggregation.get("dawid-skene").fit(before)
    aligned = cc.aggregation.align(result, before, after)
    for i, task in enumerate(before.task_ids):
        at = after.task_ids.get_loc(task)
        assert after.classes[aligned.labels[at]] == before.classes[result.labels[i]]
        for c, label in enumerate(before.classes):
            assert aligned.posterior[at, after.classes.index(label)] == result.posterior[i, c]
    for r, worker in enumerate(before.worker_ids):
        at = after.worker_ids.get_loc(worker)
        for c, true in enumerate(before.classes):
            for d, given in enumerate(before.classes):
                cell = at, after.classes.index(true), after.classes.index(given)
                assert aligned.confusion[cell] == result.confusion[r, c, d]
                assert aligned.counts[cell] == result.counts[r, c, d]
    new = after.classes.index("new class")
    unknown = ~after.task_ids.isin(before.task_ids)
    assert np.isnan(aligned.posterior[unknown]).all() and (aligned.labels[unknown] == -1).all()
    assert (aligned.posterior[~unknown, new] == 0).all()
    assert np.isnan(aligned.confusion[~after.worker_ids.isin(before.worker_ids)]).all()
    assert np.isnan(aligned.confusion[:, new]).all()
    assert aligned.prior[new] == 0 and aligned.prior.sum() == pytest.approx(1)


def test_same_dataset_is_left_as_it_is():
    crowd = simulate_crowd()
    result = cc.aggregation.get("one-coin").fit(crowd)
    aligned = cc.aggregation.align(result, crowd, crowd)
    for part in ("posterior", "labels", "confusion", "counts", "prior", "worker_weight"):
        np.testing.assert_array_equal(getattr(aligned, part), getattr(result, part))


def test_warm_start_ends_where_a_cold_one_does_in_fewer_iterations():
    after = simulate_crowd(800, 10, 4, per_task=5, seed=8)
    before = after.where(np.arange(after.n_annotations) % 10 > 0)
    model = cc.aggregation.get("dawid-skene", tolerance=1e-9, max_iterations=500)
    start = cc.aggregation.align(model.fit(before), before, after)
    cold, warm = model.fit(after), model.fit(after, start=start)
    assert len(warm.log_likelihood) < len(cold.log_likelihood)
    np.testing.assert_allclose(warm.posterior, cold.posterior, atol=1e-3)


def test_changed_labels():
    before, after = grown()
    old = cc.aggregation.align(cc.aggregation.get("majority-vote").fit(before), before, after)
    new = cc.aggregation.get("dawid-skene").fit(after)
    changed = cc.aggregation.changed_labels(old, new)
    assert list(old.frame()["task"]) == list(after.task_ids)
    assert list(changed.columns) == ["task", "before", "after", "confidence_before", "confidence_after"]
    assert len(changed) == (old.labels != new.labels).sum() >= 20
    assert (changed["before"] != changed["after"]).all()
    row = changed[changed["before"].notna()].iloc[0]
    at = after.task_ids.get_loc(row["task"])
    assert row["before"] == after.classes[old.labels[at]] and row["after"] == after.classes[new.labels[at]]
    assert row["confidence_after"] == new.posterior[at].max()
    added = changed[~changed["task"].isin(before.task_ids)]
    assert len(added) == 20 and added["before"].isna().all() and added["confidence_before"].isna().all()
    assert cc.aggregation.changed_labels(new, new, after).empty


def test_refusals():
    before, after = grown()
    result = cc.aggregation.get("majority-vote").fit(before)
    with pytest.raises(SettingError, match="before"):
        cc.aggregation.align(result, after, after)
    with pytest.raises(SettingError, match="keep"):
        cc.aggregation.align(cc.aggregation.get("majority-vote").fit(after), after, before)
    with pytest.raises(SettingError, match="Align"):
        cc.aggregation.changed_labels(result, result, after)


def test_difficulty_and_foil_follow_their_tasks():
    before, later = grown()
    result = cc.aggregation.get("item-response").fit(before)
    foil = np.where(np.arange(100) < 9, before.gold, -1)
    carried = cc.aggregation.align(replace(result, foil=foil), before, later)
    old = before.task_ids.get_indexer(later.task_ids)
    assert (carried.foil[old < 0] == -1).all()
    assert np.isnan(carried.difficulty[old < 0]).all()
    named = carried.foil >= 0
    assert set(old[named]) == set(range(9))
    assert (carried.foil[named] == later.gold[named]).all()
    np.testing.assert_array_equal(carried.difficulty[old >= 0], result.difficulty[old[old >= 0]])
