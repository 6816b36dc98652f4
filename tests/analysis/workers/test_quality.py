"""Quality of workers, the information of their labels, and the effect of removing workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.special import entr
from scipy.stats import binom, binomtest
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information

import crowdcore as cc
from crowdcore.analysis import what_if, without_each, worker_quality
from crowdcore.analysis.statistics import majority_of_others
from crowdcore.analysis.workers.quality import independence_p_value, information
from testkit.crowds import simulate_crowd
from tests.analysis.crowds import crowds, make_crowd, soft_reference


@given(crowds(min_classes=2), st.booleans())
def test_accuracy_skill_and_interval(crowd, soft):
    reference = soft_reference(crowd) if soft else "gold"
    posterior = (
        reference.posterior if soft else np.where(crowd.gold[:, None] < 0, np.nan, np.eye(crowd.n_classes)[crowd.gold])
    )
    result = worker_quality(crowd, reference)
    for r in range(crowd.n_workers):
        mine = [(i, c) for i, w, c in zip(crowd.task, crowd.worker, crowd.label, strict=True) if w == r]
        judged = [(i, c) for i, c in mine if not np.isnan(posterior[i, 0])]
        assert result.n_annotations[r] == len(mine)
        assert result.n_judged[r] == len(judged)
        if not judged:
            assert np.isnan([result.accuracy[r], result.accuracy_low[r], result.skill[r]]).all()
            continue
        assert result.accuracy[r] == pytest.approx(np.mean([posterior[i, c] for i, c in judged]))
        diagonal = []
        for a in range(crowd.n_classes):
            total = sum(posterior[i, a] for i, _ in judged)
            if total > 0:
                diagonal.append(sum(posterior[i, a] for i, c in judged if c == a) / total)
        assert result.skill[r] == pytest.approx(np.mean(diagonal))
        if not soft:
            right = round(result.accuracy[r] * len(judged))
            ends = binomtest(right, len(judged)).proportion_ci(0.95, "wilson")
            assert (result.accuracy_low[r], result.accuracy_high[r]) == pytest.approx((ends.low, ends.high), abs=1e-9)


@given(crowds(min_classes=2))
def test_agreement_is_literal(crowd):
    """Of each label: the share of other workers' labels on the task that are the same, and the others' majority."""
    result = worker_quality(crowd, "gold")
    rows = list(zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True))
    for r in range(crowd.n_workers):
        same, shares, given_labels, majority = [], [], [], []
        for i, w, c in rows:
            others = [y for j, s, y in rows if j == i and s != r]
            if w != r or not others:
                continue
            counts = np.bincount(others, minlength=crowd.n_classes)
            same.append(counts[c] / len(others))
            shares.append(counts / len(others))
            given_labels.append(c)
            majority.append(counts.argmax() == c)
        if not same:
            assert np.isnan([result.agreement[r], result.agreement_kappa[r], result.majority_agreement[r]]).all()
            continue
        assert result.agreement[r] == pytest.approx(np.mean(same))
        assert result.majority_agreement[r] == pytest.approx(np.mean(majority))
        chance = np.bincount(given_labels, minlength=crowd.n_classes) / len(given_labels) @ np.mean(shares, 0)
        if chance > 1 - 1e-12:
            assert np.isnan(result.agreement_kappa[r])
        else:
            assert result.agreement_kappa[r] == pytest.approx((np.mean(same) - chance) / (1 - chance), abs=1e-9)


def planted(seed=0, n_tasks=300, n_classes=5):
    """20 ordinary workers; 20 answers one label, 21 guesses, 22 guesses on 4 tasks only."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(n_classes, size=n_tasks)
    task = np.tile(np.arange(n_tasks), 23)
    worker = np.repeat(np.arange(23), n_tasks)
    wrong = rng.integers(n_classes, size=len(task))
    label = np.where(rng.random(len(task)) < 0.75, gold[task], wrong)
    label[worker == 20] = 3
    label[worker >= 21] = wrong[worker >= 21]
    keep = (rng.random(len(task)) < 0.2) & (worker < 22) | (worker == 22) & (task < 4)
    return make_crowd(task[keep], worker[keep], label[keep], n_tasks, 23, n_classes, gold)


def test_who_gives_a_single_answer_is_named_and_nobody_else():
    for seed in range(10):
        for reference in ("gold", "majority-vote"):
            result = worker_quality(planted(seed), reference)
            assert np.flatnonzero(result.answers_single).tolist() == [20]
            assert result.single_label[20] == 3 and result.single_answer[20] == 1.0
            assert result.random_answer[20] == 1.0
            assert (result.random_answer[:20] < 1e-6).all()
            assert result.information[20] == 0 and result.information[21] < result.information[:20].min()


def test_a_worker_of_one_class_is_no_spammer():
    """All tasks of worker 0 are of class 1, and the others say so too."""
    gold = np.array([1] * 30 + [0] * 30)
    task = np.concatenate([np.arange(30), np.arange(60), np.arange(60)])
    crowd = make_crowd(task, np.repeat([0, 1, 2], [30, 60, 60]), gold[task], 60, 3, 2, gold)
    result = worker_quality(crowd)
    assert result.single_answer[0] == 1.0
    assert not result.answers_single.any()
    assert np.isnan(result.information[0]) and np.isnan(result.random_answer[0])


def test_the_single_answer_q_value_is_binomial():
    crowd = make_crowd(
        np.tile(np.arange(8), 2), np.repeat([0, 1], 8), [0] * 8 + [0, 1] * 4, 8, 2, 2, np.array([0, 1] * 4)
    )
    result = worker_quality(crowd)
    # the other worker and gold call for class 0 in half of the tasks; two classes; two workers tested
    p = [min(2 * binom.sf(7, 8, 0.5), 1), 1.0]  # the second: the first one calls for nothing but class 0
    assert result.single_answer_q == pytest.approx([min(2 * p[0], 1), 1.0])


def test_idle_workers_and_notes():
    crowd = make_crowd([0, 0], [0, 1], [0, 1], 1, 3, 2, np.array([0]))
    result = worker_quality(crowd)
    assert result.notes == ()
    assert result.single_label.tolist() == [0, 1, -1]
    assert np.isnan([result.accuracy[2], result.agreement[2], result.single_answer[2]]).all()
    frame = result.frame()
    assert frame["worker"].tolist() == ["w0", "w1", "w2"]
    assert frame["single_label"].tolist() == ["class 0", "class 1", ""]
    consensus = worker_quality(crowd, "majority-vote")
    assert any("come" in note and "same labels" in note for note in consensus.notes)
    assert any("reference's posterior" in note for note in consensus.notes)


def test_blocks_do_not_show(monkeypatch):
    whole = worker_quality(planted()).frame()
    import sys

    monkeypatch.setattr(sys.modules["crowdcore.analysis.workers.quality"], "_BLOCK", 60)
    assert worker_quality(planted()).frame().equals(whole)


def tables(rng, confusion, n_labels, n_workers, spread=4.0):
    n_classes = len(confusion)
    mixes = rng.dirichlet(np.full(n_classes, spread), n_workers)
    return np.stack(
        [[rng.multinomial(n, confusion[a]) for a, n in enumerate(rng.multinomial(n_labels, mix))] for mix in mixes]
    ).astype(float)


def annotations(table):
    true, given = np.nonzero(table)
    times = table[true, given].astype(int)
    return np.repeat(true, times), np.repeat(given, times)


def test_the_adjustment_is_that_of_the_adjusted_mutual_information():
    """With a worker's own class shares as prior: (MI - E[MI]) / (H - E[MI]) of scikit-learn, times H."""
    rng = np.random.default_rng(0)
    for table in tables(rng, 0.5 * np.eye(4) + 0.125, 25, 20):
        n = table.sum(1)
        true, given = annotations(table)
        shares = n / n.sum()
        contingency = table[n > 0][:, table.sum(0) > 0].astype(np.int64)
        by_chance = expected_mutual_information(contingency, int(n.sum()))
        limit = entr(shares).sum()
        expected = limit * (mutual_info_score(true, given) - by_chance) / (limit - by_chance)
        bits, most = information(table[None], shares)
        assert most[0] == pytest.approx(limit / np.log(2))
        assert bits[0] == pytest.approx(max(expected, 0) / np.log(2), abs=1e-9)


def test_guessing_is_worth_nothing_and_knowing_everything_at_any_number_of_labels():
    rng = np.random.default_rng(1)
    prior = np.full(8, 1 / 8)
    for n_labels in (20, 60, 400, 4000):
        guess = information(tables(rng, np.full((8, 8), 1 / 8), n_labels, 300), prior)[0]
        know = information(tables(rng, np.eye(8), n_labels, 300), prior)
        assert guess.mean() < 8 / n_labels + 0.01
        np.testing.assert_allclose(know[0], know[1], atol=1e-9)


def test_bits_of_an_ordinary_worker_are_less_biased_than_the_plain_ones():
    rng = np.random.default_rng(2)
    confusion = 0.7 * np.eye(6) + 0.05
    prior = rng.dirichlet(np.full(6, 8))

    def plain(rows):
        return (entr(prior @ rows).sum(-1) - entr(rows).sum(-1) @ prior) / np.log(2)

    truth = plain(confusion)
    for n_labels, within in ((100, 0.15), (300, 0.06), (3000, 0.02)):
        counts = tables(rng, confusion, n_labels, 400, spread=20)
        bias = np.nanmean(information(counts, prior)[0]) - truth
        seen = (counts.sum(2) > 0).all(1)
        plain_bias = plain(counts[seen] / counts[seen].sum(2, keepdims=True)).mean() - truth
        assert abs(bias) < within
        assert abs(bias) < 0.75 * plain_bias


def test_too_little_evidence_is_nan():
    table = np.zeros((3, 3, 3))
    table[0, 0, 0] = 5  # one class met
    table[1, [0, 1], [0, 1]] = 1  # two labels, each once: any other assignment tells as much
    bits, limit = information(table, np.full(3, 1 / 3))
    assert np.isnan(bits).all() and np.isnan(limit).all()


def test_p_values_of_guessing_workers_are_uniform_even_in_sparse_tables():
    rng = np.random.default_rng(3)
    for n_labels, n_classes in ((20, 6), (50, 8), (300, 4)):
        label_shares = rng.dirichlet(np.full(n_classes, 2))
        p = independence_p_value(tables(rng, np.tile(label_shares, (n_classes, 1)), n_labels, 2000))
        for level in (0.5, 0.1, 0.05, 0.01):
            assert np.nanmean(p <= level) == pytest.approx(level, abs=3.5 * np.sqrt(level * (1 - level) / 2000) + 0.005)


def test_moments_of_the_test_are_those_of_dealing_the_labels_out():
    rng = np.random.default_rng(4)
    table = tables(rng, 0.4 * np.eye(4) + 0.15, 24, 1)[0]
    true, given = annotations(table)
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    observed = ((table - expected) ** 2 / expected).sum()
    dealt = np.zeros((20_000, 4, 4))
    for k in range(len(dealt)):
        np.add.at(dealt[k], (true, rng.permutation(given)), 1)
    share = (((dealt - expected) ** 2 / expected).sum((1, 2)) >= observed - 1e-9).mean()
    assert independence_p_value(table[None])[0] == pytest.approx(share, abs=0.02)


def test_one_answer_shows_nothing():
    table = np.zeros((2, 3, 3))
    table[0, :, 1] = 10  # the same answer to everything
    table[1, 0] = 5  # one class only
    p = independence_p_value(table)
    assert p[0] == 1.0 and np.isnan(p[1])


def majority(crowd, keep):
    """Lowest of the most voted classes by plain loops, -1 without votes."""
    labels = np.full(crowd.n_tasks, -1)
    for i in range(crowd.n_tasks):
        votes = np.bincount(crowd.label[(crowd.task == i) & keep], minlength=crowd.n_classes)
        if votes.sum():
            labels[i] = votes.argmax()
    return labels


def accuracy(labels, gold):
    judged = (labels >= 0) & (gold >= 0)
    return (labels == gold)[judged].mean() if judged.any() else np.nan


@given(crowds())
def test_each_removal_is_literal(crowd):
    result = without_each(crowd, "gold")
    before = majority(crowd, np.ones(crowd.n_annotations, bool))
    assert result.accuracy == pytest.approx(accuracy(before, crowd.gold), nan_ok=True)
    for r in range(crowd.n_workers):
        after = majority(crowd, crowd.worker != r)
        assert result.changed[r] == ((before != after) & (after >= 0)).sum()
        assert result.unlabelled[r] == ((before >= 0) & (after < 0)).sum()
        change = accuracy(after, crowd.gold) - accuracy(before, crowd.gold)
        assert result.accuracy_change[r] == pytest.approx(change, nan_ok=True, abs=1e-12)


@given(crowds())
def test_votes_of_the_others_are_literal(crowd):
    others = majority_of_others(crowd)
    np.testing.assert_array_equal(others.majority, majority(crowd, np.ones(crowd.n_annotations, bool)))
    pairs = sorted(set(zip(crowd.task.tolist(), crowd.worker.tolist(), strict=True)))
    assert list(zip(others.task.tolist(), others.worker.tolist(), strict=True)) == pairs
    for (i, r), label in zip(pairs, others.without, strict=True):
        assert label == majority(crowd, crowd.worker != r)[i]
    np.testing.assert_array_equal(others.task[others.pair_of], crowd.task)
    np.testing.assert_array_equal(others.worker[others.pair_of], crowd.worker)


@given(crowds())
def test_what_if_agrees_with_the_removal_of_each(crowd):
    r = int(crowd.worker[0])
    assume((crowd.worker != r).any())
    one, each = what_if(crowd, [r]), without_each(crowd)
    assert len(one.changed) == each.changed[r]
    assert len(one.unlabelled) == each.unlabelled[r]
    assert one.accuracy_after - one.accuracy_before == pytest.approx(each.accuracy_change[r], nan_ok=True, abs=1e-12)
    assert one.n_annotations == (crowd.worker == r).sum()


def test_removing_spammers_helps_whatever_aggregates():
    crowd = simulate_crowd(n_tasks=200, n_workers=9, per_task=5, accuracy=0.75)
    label = np.where(crowd.worker < 3, 0, crowd.label)
    spammed = make_crowd(crowd.task, crowd.worker, label, 200, 9, 4, crowd.gold)
    for aggregator in ("majority-vote", cc.aggregation.get("dawid-skene")):
        result = what_if(spammed, ["w0", "w1", "w2"], aggregator)
        assert result.accuracy_after > result.accuracy_before - (0.02 if result.aggregator == "dawid-skene" else -0.02)
        assert result.workers.tolist() == [0, 1, 2]
        assert result.reference == "gold"
        rest = spammed.without_workers(np.array([0, 1, 2]))
        np.testing.assert_array_equal(result.after, cc.aggregation.get(result.aggregator).fit(rest).labels)


def test_lost_tasks_are_listed():
    crowd = make_crowd([0, 0, 1], [0, 1, 0], [1, 0, 1], 2, 2, 2, gold=np.array([1, 1]))
    result = what_if(crowd, [0])
    assert result.changed.tolist() == [] and result.unlabelled.tolist() == [1]
    assert (result.accuracy_before, result.accuracy_after) == (0.5, 0.0)
    assert result.frame().to_dict("records") == [{"task": "t1", "before": "class 1", "after": ""}]
    frame = without_each(crowd).frame()
    assert frame["unlabelled"].tolist() == [1, 0]
    assert frame["changed"].tolist() == [0, 1]


def test_without_gold_there_is_no_accuracy():
    crowd = make_crowd([0, 0, 1], [0, 1, 0], [1, 0, 1], 2, 2, 2)
    assert np.isnan(what_if(crowd, [1], reference="gold").accuracy_before)
    assert what_if(crowd, [1], reference="gold").reference == ""
    assert np.isnan(without_each(crowd, "gold").accuracy_change).all()
    assert what_if(crowd, [1], reference="majority-vote").accuracy_before == 1.0


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        (["w7"], "`workers` must be among the 2 workers, but got 'w7'"),
        ([2], "`workers` must be among the 2 workers, but got 2"),
        ([0, 1], "`workers` must leave some annotations, but got '2 workers'"),
    ],
)
def test_refusals(workers, words):
    crowd = make_crowd([0, 0], [0, 1], [1, 0], 1, 2, 2)
    with pytest.raises(cc.SettingError, match=words):
        what_if(crowd, workers)


def test_nobody_removed_changes_nothing():
    result = what_if(simulate_crowd(), [])
    assert len(result.changed) == len(result.unlabelled) == 0
    assert result.accuracy_after == result.accuracy_before
