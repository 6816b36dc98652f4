"""Counts, noise rates and entropies, the minimax bound, and the choice of the next labels."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from scipy.special import digamma

import crowdcore as cc
from crowdcore import aggregation
from crowdcore.aggregation.base import AggregationResult
from crowdcore.analysis import annotation_entropy, class_balance, minimax_bound, next_labels, noise_rates, summary
from crowdcore.analysis.labels.next_labels import _beliefs
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds import simulate_crowd
from testkit.label_budget import curve
from testkit.planted import honest_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference


@pytest.mark.parametrize(("name", "first", "second"), [("labelme", 11.10, 25.95), ("music", 12.71, 43.97)])
def test_published_noise_rates(data_folder, name, first, second):
    rates = noise_rates(cc.load_dataset(name))
    assert round(100 * rates.tasks_without_truth, 2) == first
    assert round(100 * rates.wrong_annotations, 2) == second


def test_cifar10n_noise_rates(data_folder):
    """N.R.1 is CCC's 2.13 %. N.R.2 is the mean of the three noise rates that the dataset's authors give, 17.66 %
    (17.23, 18.12, 17.64); CCC prints 17.71 %, which these labels do not have."""
    rates = noise_rates(cc.load_dataset("cifar10n"))
    assert round(100 * rates.tasks_without_truth, 2) == 2.13
    assert 100 * rates.wrong_annotations == pytest.approx((17.23 + 18.12 + 17.64) / 3, abs=0.005)


@pytest.mark.parametrize(
    ("name", "entropy"), [("forest", 0.660), ("mountain", 0.193), ("opencountry", 1.287), ("insidecity", 1.116)]
)
def test_published_entropies(data_folder, name, entropy):
    crowd = cc.load_dataset("labelme")
    assert round(annotation_entropy(crowd).entropy[crowd.classes.index(name)], 3) == entropy


@given(crowds())
def test_noise_rates_are_those_of_loops(crowd):
    rates = noise_rates(crowd)
    missed, wrong, known = [], [], 0
    for i in range(crowd.n_tasks):
        given_labels = crowd.label[crowd.task == i]
        if crowd.gold[i] >= 0 and len(given_labels):
            known += 1
            missed.append(crowd.gold[i] not in given_labels)
            wrong += [y != crowd.gold[i] for y in given_labels]
    assert rates.n_tasks == known
    assert rates.n_annotations == len(wrong)
    assert rates.tasks_without_truth == pytest.approx(np.mean(missed))
    assert rates.wrong_annotations == pytest.approx(np.mean(wrong))


@given(crowds(), st.integers(0, 99))
def test_soft_noise_rates_are_expectations(crowd, seed):
    reference = soft_reference(crowd, seed)
    q = reference.posterior
    rates = noise_rates(crowd, reference)
    tasks = [i for i in set(crowd.task.tolist()) if not np.isnan(q[i, 0])]
    if not tasks:
        assert np.isnan(rates.tasks_without_truth)
        assert np.isnan(rates.wrong_annotations)
        return
    missed = [1 - sum(q[i, c] for c in set(crowd.label[crowd.task == i])) for i in tasks]
    wrong = [1 - q[i, y] for i, y in zip(crowd.task, crowd.label, strict=True) if i in tasks]
    assert rates.tasks_without_truth == pytest.approx(np.mean(missed))
    assert rates.wrong_annotations == pytest.approx(np.mean(wrong))


def entropy_of(weights: dict[int, float]) -> float:
    total = sum(weights.values())
    shares = [w / total for w in weights.values() if w > 0]
    return -sum(s * np.log(s) for s in shares)


@given(crowds(), st.booleans())
def test_entropies_are_those_of_loops(crowd, soft):
    reference = soft_reference(crowd) if soft else cc.analysis.resolve_reference(crowd, "gold")
    result = annotation_entropy(crowd, reference)
    for c in range(crowd.n_classes):
        weights: dict[int, float] = {}
        for i, y in zip(crowd.task.tolist(), crowd.label.tolist(), strict=True):
            weight = reference.posterior[i, c] if soft else float(reference.labels[i] == c)
            weights[y] = weights.get(y, 0.0) + np.nan_to_num(weight)
        assert result.annotations[c] == pytest.approx(sum(weights.values()))
        if sum(weights.values()) > 1e-12:
            assert result.entropy[c] == pytest.approx(entropy_of(weights), abs=1e-9)
        elif sum(weights.values()) == 0:
            assert np.isnan(result.entropy[c])


def test_balance_counts_annotated_tasks_only():
    crowd = make_crowd([0, 0, 2], [0, 1, 0], [0, 1, 1], 4, 2, 3, gold=np.array([0, 1, -1, 2]))
    balance = class_balance(crowd)
    np.testing.assert_array_equal(balance.tasks, [1, 0, 0])
    np.testing.assert_array_equal(balance.annotations, [1, 2, 0])
    np.testing.assert_allclose(balance.given_share, [1 / 3, 2 / 3, 0])
    assert balance.frame()["true share"].tolist() == [1, 0, 0]


def test_ten_thousand_classes_stay_sparse():
    crowd = simulate_crowd(n_tasks=100, n_classes=10_000)
    result = annotation_entropy(crowd)
    assert np.isfinite(result.entropy).sum() == len(np.unique(crowd.gold))
    assert noise_rates(crowd).frame()["percent"].between(0, 100).all()


@pytest.mark.parametrize(
    ("name", "workers", "annotations", "annotated", "mean_accuracy"),
    [("labelme", 59, 2547, 1000, 69.16), ("music", 44, 2945, 700, 73.28)],
)
def test_published_figures(data_folder, name, workers, annotations, annotated, mean_accuracy):
    stats = summary(cc.load_dataset(name))
    assert (stats.n_workers, stats.n_annotations, stats.n_annotated) == (workers, annotations, annotated)
    assert round(100 * stats.worker_accuracy, 2) == mean_accuracy
    assert stats.reference == "gold"


@given(crowds(min_classes=2))
def test_summary_is_that_of_loops(crowd):
    stats = summary(crowd, "gold")
    known = crowd.gold[crowd.task] >= 0
    accuracies = [
        (crowd.label == crowd.gold[crowd.task])[known & (crowd.worker == r)].mean()
        for r in range(crowd.n_workers)
        if (known & (crowd.worker == r)).any()
    ]
    assert stats.worker_accuracy == pytest.approx(np.mean(accuracies))
    hits = []
    for i in range(crowd.n_tasks):
        labels = crowd.label[crowd.task == i]
        if len(labels) and crowd.gold[i] >= 0:
            hits.append(np.bincount(labels).argmax() == crowd.gold[i])
    assert stats.majority_vote_accuracy == pytest.approx(np.mean(hits))
    assert stats.n_repeats == crowd.n_annotations - len(set(zip(crowd.task, crowd.worker, strict=True)))
    assert stats.tasks_by_annotations @ np.arange(len(stats.tasks_by_annotations)) == crowd.n_annotations
    assert stats.tasks_by_annotations.sum() == crowd.n_tasks
    assert stats.n_active == len(set(crowd.worker))


def test_without_gold_a_model_is_the_reference(crowd):
    bare = make_crowd(crowd.task, crowd.worker, crowd.label, crowd.n_tasks, crowd.n_workers, crowd.n_classes)
    stats = summary(bare)
    assert stats.reference == "auto"
    assert stats.n_gold == 0
    assert np.isnan(summary(bare, "majority-vote").majority_vote_accuracy)
    frame = stats.frame()
    assert frame.loc[frame["quantity"] == "annotations", "value"].item() == bare.n_annotations


def test_an_empty_dataset_is_refused():
    with pytest.raises(cc.DataError, match="no annotations"):
        summary(make_crowd([], [], [], 3, 2, 2))


def kl(p, q):
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0:
            total += np.inf if b == 0 else a * np.log(a / b)
    return total


def literal(crowd, rho, own, commons, omega, group=(0, 0, 0, 0)):
    n, c = crowd.n_tasks, crowd.n_classes
    total = []
    for i in range(n):
        f = -sum(p * np.log(p) for p in rho[i] if p > 0)
        for j in np.flatnonzero(crowd.task == i):
            for a in range(c):
                for b in range(c):
                    if rho[i, a] * rho[i, b] == 0:
                        continue
                    mine, common = own[crowd.worker[j]], commons[group[crowd.worker[j]]]
                    difference = (1 - omega[j]) * kl(mine[a], mine[b]) if omega[j] < 1 else 0.0
                    difference += omega[j] * kl(common[a], common[b]) if omega[j] > 0 else 0.0
                    f -= rho[i, a] * rho[i, b] * difference
        total.append(f)
    return (sum(total) - np.log(2)) / (n**2 * np.log(c)), np.array(total)


@pytest.fixture
def model():
    crowd = simulate_crowd(n_tasks=12, n_workers=4, n_classes=3, per_task=2)
    rng = np.random.default_rng(0)
    rho = rng.dirichlet(np.ones(3), 12)
    own, common = rng.dirichlet(np.ones(3), (4, 3)), rng.dirichlet(np.ones(3), 3)
    omega = rng.random(crowd.n_annotations)
    result = AggregationResult("conal-em", {}, rho, rho.argmax(1), confusion=own, common_confusion=common, omega=omega)
    return crowd, result, rho


def test_bound_is_the_formula(model):
    crowd, result, rho = model
    bound = minimax_bound(crowd, result, rho)
    value, deficit = literal(crowd, rho, result.confusion, [result.common_confusion], result.omega)
    assert bound.value == pytest.approx(value)
    np.testing.assert_allclose(bound.deficit, deficit)
    assert bound.vacuous == (value <= 0)


def test_each_worker_follows_the_common_confusion_of_its_group(model):
    crowd, result, rho = model
    commons = np.random.default_rng(1).dirichlet(np.ones(3), (2, 3))
    group = np.array([0, 1, 1, 0], np.int32)
    bound = minimax_bound(crowd, replace(result, common_confusion=commons, group=group), rho)
    value, deficit = literal(crowd, rho, result.confusion, commons, result.omega, group)
    assert bound.value == pytest.approx(value)
    np.testing.assert_allclose(bound.deficit, deficit)


def test_without_omega_only_individual_confusions_count(model):
    crowd, result, rho = model
    bound = minimax_bound(crowd, replace(result, omega=None), rho)
    value, _ = literal(crowd, rho, result.confusion, [result.common_confusion], np.zeros(crowd.n_annotations))
    assert bound.value == pytest.approx(value)


def test_useless_labels_leave_the_problem_as_hard_as_it_is(model):
    """Rows all alike tell nothing: F_i is the entropy and the bound is almost 1 / N."""
    crowd, result, _ = model
    same = replace(result, confusion=np.full((4, 3, 3), 1 / 3), omega=None, prior=np.full(3, 1 / 3))
    bound = minimax_bound(crowd, same)
    np.testing.assert_allclose(bound.deficit, np.log(3))
    assert bound.value == pytest.approx((12 * np.log(3) - np.log(2)) / (144 * np.log(3)))
    assert not bound.vacuous
    assert "error rate below" in bound.sentence


def test_perfect_labels_make_it_vacuous(model):
    crowd, result, rho = model
    bound = minimax_bound(crowd, replace(result, confusion=np.tile(np.eye(3), (4, 1, 1)), omega=None), rho)
    assert bound.value == -np.inf
    assert bound.vacuous
    assert bound.sentence.startswith("Vacuous")


def test_rows_without_evidence_tell_nothing(model):
    crowd, result, rho = model
    blind = result.confusion.copy()
    blind[:, 1] = np.nan
    bound = minimax_bound(crowd, replace(result, confusion=blind, omega=None), rho)
    assert np.isfinite(bound.value)
    assert bound.value >= minimax_bound(crowd, replace(result, omega=None), rho).value


def test_real_crowds_have_a_vacuous_bound(data_folder):
    crowd = cc.load_dataset("labelme")
    bound = minimax_bound(crowd, cc.aggregation.get("dawid-skene").fit(crowd))
    assert bound.vacuous
    assert bound.frame()["bound"].item() == bound.value
    assert np.isnan(bound.deficit[~crowd.annotated]).all()


def test_refusals(crowd, model):
    with pytest.raises(cc.SettingError, match="confusions"):
        minimax_bound(crowd, cc.aggregation.get("majority-vote").fit(crowd))
    small, result, rho = model
    with pytest.raises(cc.SettingError, match="shape"):
        minimax_bound(small, result, rho[:5])


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


def test_what_is_learnt_about_a_worker_is_the_information_about_a_dirichlet_row(small: CrowdDataset) -> None:
    fit = aggregation.get("pooled-dawid-skene").fit(small)
    _, confusion, learnt = _beliefs(small, fit, None)
    a = confusion[1, 2] * (fit.counts[1, 2].sum() + 15)
    drawn = np.random.default_rng(0).dirichlet(a, 200_000)
    expected = -(confusion[1, 2] * np.log(confusion[1, 2])).sum() + (drawn * np.log(drawn)).sum(1).mean()
    assert learnt[1, 2] == pytest.approx(expected, abs=1e-3)
    assert digamma(1) < 0 < learnt.min()


@pytest.mark.parametrize("capacity", [None, 3])
def test_the_likeliest_wrong_label_comes_next_and_goes_to_who_tells_most(small, capacity):
    fit = aggregation.get("pooled-dawid-skene").fit(small)
    plan = next_labels(small, 14, capacity=capacity, fit=fit)
    open_ = {(i, r) for i in range(12) for r in range(5)} - set(zip(small.task, small.worker, strict=True))
    done: dict[int, list[int]] = {i: [] for i in range(12)}
    taken, wrong = np.zeros(5, int), 1 - fit.posterior.max(1)

    def gain(pair: tuple[int, int]) -> float:
        i, r = pair
        so_far = [fit.confusion[s] for s in done[i]]
        before = information(fit.posterior[i], *so_far) if so_far else 0.0
        return (information(fit.posterior[i], *so_far, fit.confusion[r]) - before) / np.log(2)

    for task, worker, by_pair in zip(plan.task, plan.worker, plan.gain, strict=True):
        assert (task, worker) in open_
        able = [pair for pair in open_ if capacity is None or taken[pair[1]] < capacity]
        assert wrong[task] / 2 ** len(done[task]) == max(wrong[i] / 2 ** len(done[i]) for i, _ in able)
        assert by_pair == pytest.approx(gain((task, worker)))
        assert by_pair == pytest.approx(max(gain(pair) for pair in able if pair[0] == task))
        open_.discard((task, worker))
        done[task].append(worker)
        taken[worker] += 1
    assert len(plan.task) == 14


def test_other_beliefs_give_another_order(small: CrowdDataset) -> None:
    beliefs = np.full((12, 3), 0.01)
    beliefs[:, 0] = 0.98
    beliefs[7] = 0.4, 0.3, 0.3
    beliefs[5] = np.nan  # without labels: as the class shares say
    plan = next_labels(small, 2, beliefs=beliefs)
    assert set(plan.task) == {5, 7}
    assert plan.wrong[7] == pytest.approx(0.6)


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
    plan = next_labels(held_back, 1000)
    assert not {0, 1, 2} & set(plan.task)
    assert np.isnan(plan.entropy[:3]).all()  # what cannot be asked for is not missing
    assert plan.gain.sum() <= np.nansum(plan.entropy)


def test_agreed_tasks_and_guessing_workers_come_last() -> None:
    rows = [(f"t{i}", f"w{r}", "ab"[i % 2]) for i in range(40) for r in range(4)]
    rows += [(f"t{i}", "guesser", "ab"[(i // 2) % 2]) for i in range(40)]
    rows += [("open", "w0", "a"), ("open", "w1", "b")]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    known = frame[~((frame.worker == "w3") & (frame.task.str[1:].isin(["1", "2", "3"])))]
    plan = next_labels(cc.from_frame(known), 100).frame()
    assert plan["task"].iloc[0] == "open"
    assert plan[plan["task"] == "open"]["worker"].tolist()[-1] == "guesser"
    assert (plan[plan["task"] != "open"]["gain_bits"] < plan["gain_bits"].iloc[0] / 3).all()


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
