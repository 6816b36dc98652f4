"""Quality of workers: literal oracles, published means, planted spammers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom, binomtest

import crowdcore as cc
from crowdcore.analysis import worker_quality
from tests.analysis.crowds import crowds, make_crowd, soft_reference


@pytest.mark.parametrize(("name", "mean"), [("labelme", 69.16), ("music", 73.28)])
def test_published_mean_of_the_workers_accuracies(data_folder, name, mean):
    accuracy = worker_quality(cc.load_dataset(name), "gold").accuracy
    assert round(100 * np.nanmean(accuracy), 2) == mean


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
    assert any("including each worker's own" in note for note in consensus.notes)
    assert any("expected values under the reference's posterior" in note for note in consensus.notes)


def test_blocks_do_not_show(monkeypatch):
    whole = worker_quality(planted()).frame()
    import sys

    monkeypatch.setattr(sys.modules["crowdcore.analysis.workers.quality"], "_BLOCK", 60)
    assert worker_quality(planted()).frame().equals(whole)
