"""Next labels: the likeliest wrong label first, to the worker who tells most, within the limits given."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma

import crowdcore as cc
from crowdcore import aggregation
from crowdcore.analysis import next_labels
from crowdcore.analysis.labels.next_labels import _beliefs, _information, _split
from crowdcore.data.dataset import CrowdDataset
from testkit.label_budget import curve
from testkit.planted import honest_crowd

SMALL = {"n_tasks": 12, "n_workers": 5, "n_classes": 3, "per_task": 2, "even": True}


@pytest.fixture(scope="module")
def small() -> CrowdDataset:
    return honest_crowd(0, **SMALL)


def information(q: np.ndarray, *confusions: np.ndarray) -> float:
    """I(z; y_1, y_2, …) in nats, by summing over everything."""
    n_classes, total = len(q), 0.0
    for labels in itertools.product(range(n_classes), repeat=len(confusions)):
        given = np.prod([pi[:, y] for pi, y in zip(confusions, labels, strict=True)], axis=0)
        joint = q * given
        total += float((joint * np.log(given / joint.sum())).sum())
    return total


def test_gains_are_mutual_information_also_after_planned_labels() -> None:
    rng = np.random.default_rng(0)
    q, confusion = rng.dirichlet(np.ones(3), 4), rng.dirichlet(np.ones(3), (5, 3))
    found = _information(q[:, None], confusion)
    for i, r in itertools.product(range(4), range(5)):
        assert found[i, r] == pytest.approx(information(q[i], confusion[r]))
    planned = _split(_split(q[:1], confusion[0]), confusion[1])
    for r in (2, 3, 4):
        more = information(q[0], confusion[0], confusion[1], confusion[r]) - information(q[0], *confusion[:2])
        assert _information(planned[None], confusion[r : r + 1])[0, 0] == pytest.approx(more)
    many = _split(planned, confusion[2])
    for _ in range(6):
        many = _split(many, confusion[2])
    assert many.shape == (64, 3)
    assert many.sum() == pytest.approx(1)


def test_what_is_learnt_about_a_worker_is_the_information_about_a_dirichlet_row(small: CrowdDataset) -> None:
    fit = aggregation.get("pooled-dawid-skene").fit(small)
    _, confusion, learnt = _beliefs(small, fit, None)
    a = confusion[1, 2] * (fit.counts[1, 2].sum() + 15)
    drawn = np.random.default_rng(0).dirichlet(a, 200_000)
    expected = -(confusion[1, 2] * np.log(confusion[1, 2])).sum() + (drawn * np.log(drawn)).sum(1).mean()
    assert learnt[1, 2] == pytest.approx(expected, abs=1e-3)
    assert digamma(1) < 0 < learnt.min()


@pytest.mark.parametrize("capacity", [None, 3])
def test_the_likeliest_wrong_label_comes_next_and_goes_to_who_tells_most(
    small: CrowdDataset, capacity: int | None
) -> None:
    fit = aggregation.get("pooled-dawid-skene").fit(small)
    found = next_labels(small, 14, capacity=capacity, fit=fit)
    open_ = {(i, r) for i in range(12) for r in range(5)} - set(zip(small.task, small.worker, strict=True))
    done: dict[int, list[int]] = {i: [] for i in range(12)}
    taken, wrong = np.zeros(5, int), 1 - fit.posterior.max(1)

    def gain(pair: tuple[int, int]) -> float:
        i, r = pair
        so_far = [fit.confusion[s] for s in done[i]]
        before = information(fit.posterior[i], *so_far) if so_far else 0.0
        return (information(fit.posterior[i], *so_far, fit.confusion[r]) - before) / np.log(2)

    for task, worker, told in zip(found.task, found.worker, found.gain, strict=True):
        assert (task, worker) in open_
        able = [pair for pair in open_ if capacity is None or taken[pair[1]] < capacity]
        assert wrong[task] / 2 ** len(done[task]) == max(wrong[i] / 2 ** len(done[i]) for i, _ in able)
        assert told == pytest.approx(gain((task, worker)))
        assert told == pytest.approx(max(gain(pair) for pair in able if pair[0] == task))
        open_.discard((task, worker))
        done[task].append(worker)
        taken[worker] += 1
    assert len(found.task) == 14


def test_other_beliefs_give_another_order(small: CrowdDataset) -> None:
    beliefs = np.full((12, 3), 0.01)
    beliefs[:, 0] = 0.98
    beliefs[7] = 0.4, 0.3, 0.3
    beliefs[5] = np.nan  # without labels: as the class shares say
    found = next_labels(small, 2, beliefs=beliefs)
    assert set(found.task) == {5, 7}
    assert found.wrong[7] == pytest.approx(0.6)


def test_limits_are_kept(small: CrowdDataset) -> None:
    everything = next_labels(small, 1000)
    pairs = list(zip(everything.task, everything.worker, strict=True))
    assert len(set(pairs)) == len(pairs) == 12 * 5 - small.n_annotations
    assert not set(pairs) & set(zip(small.task, small.worker, strict=True))
    some = next_labels(small, 1000, workers=["w01", "w03"], capacity={"w03": 2})
    assert set(some.worker) == {1, 3}
    assert (some.worker == 3).sum() == 2
    assert some.per_worker()["labels"].sum() == len(some.frame())
    only = np.zeros((12, 5), bool)
    only[4] = True
    assert set(next_labels(small, 5, open_pairs=only).task) == {4}


def test_unlabelled_tasks_count_as_unknown_and_those_held_back_stay_so(small: CrowdDataset) -> None:
    fewer = small.where(small.task > 2)
    assert set(next_labels(fewer, 3, capacity=1).task) <= {0, 1, 2}
    held_back = replace(fewer, split=np.where(np.arange(12) < 3, 2, 0).astype(np.int8))
    found = next_labels(held_back, 1000)
    assert not {0, 1, 2} & set(found.task)
    assert np.isnan(found.entropy[:3]).all()  # what cannot be asked for is not missing
    assert found.gain.sum() <= np.nansum(found.entropy)


def test_agreed_tasks_and_guessing_workers_come_last() -> None:
    rows = [(f"t{i}", f"w{r}", "ab"[i % 2]) for i in range(40) for r in range(4)]
    rows += [(f"t{i}", "guesser", "ab"[(i // 2) % 2]) for i in range(40)]
    rows += [("open", "w0", "a"), ("open", "w1", "b")]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    known = frame[~((frame.worker == "w3") & (frame.task.str[1:].isin(["1", "2", "3"])))]
    found = next_labels(cc.from_frame(known), 100).frame()
    assert found["task"].iloc[0] == "open"
    assert found[found["task"] == "open"]["worker"].tolist()[-1] == "guesser"
    assert (found[found["task"] != "open"]["gain_bits"] < found["gain_bits"].iloc[0] / 3).all()


def test_it_buys_more_than_chance_on_a_simulated_crowd() -> None:
    crowds = [honest_crowd(s, n_tasks=150, n_workers=12, per_task=8, skill=(0.3, 0.95), even=True) for s in range(3)]
    gains = [(curve(ds, "information", 0) - curve(ds, "random", 0))[1:].mean() for ds in crowds]
    assert np.mean(gains) > 0.01


def test_what_cannot_be_is_refused(small: CrowdDataset) -> None:
    for settings in ({"budget": 0}, {"budget": 5, "explore": -1.0}, {"budget": 5, "capacity": -1}):
        with pytest.raises(cc.SettingError):
            next_labels(small, **settings)
    with pytest.raises(cc.SettingError, match="nobody"):
        next_labels(small, 5, workers=["nobody"])
    with pytest.raises(cc.SettingError, match="confusions"):
        next_labels(small, 5, fit=aggregation.get("majority-vote").fit(small))
    with pytest.raises(cc.DataError, match="no annotations"):
        next_labels(small.where(np.zeros(small.n_annotations, bool)), 5)
