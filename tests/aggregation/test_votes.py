"""Votes and their weights: majority, wawa, zero-based skill, KOS and M-MSR against counting and their equations."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.aggregation.m_msr import _pairs, _trimmed_means
from crowdcore.core.errors import DataError
from testkit.crowds import simulate_crowd


def labels_of(crowd, task):
    return Counter(crowd.label[crowd.task == task].tolist())


def test_shares():
    crowd = simulate_crowd(50, 8, 4, per_task=5)
    posterior = cc.aggregation.get("majority-vote").fit(crowd).posterior
    for i in range(50):
        votes = labels_of(crowd, i)
        np.testing.assert_allclose(posterior[i], [votes[c] / 5 for c in range(4)])


@pytest.mark.parametrize("ties", ["lowest", "random"])
def test_hard_votes_and_tie_rules(ties):
    crowd = simulate_crowd(200, 8, 4, per_task=2, accuracy=0.5)
    result = cc.aggregation.get("majority-vote", hard=True, ties=ties, seed=3).fit(crowd)
    tied_winners = []
    for i in range(200):
        votes = labels_of(crowd, i)
        best = sorted(c for c, n in votes.items() if n == max(votes.values()))
        assert result.posterior[i].max() == 1
        if ties == "lowest" or len(best) == 1:
            assert result.labels[i] == best[0]
        else:
            tied_winners.append(best.index(result.labels[i]))
    if ties == "random":
        assert len(tied_winners) > 50
        assert 0.3 < np.mean(tied_winners) < 0.7
        other = cc.aggregation.get("majority-vote", hard=True, ties=ties, seed=4).fit(crowd)
        assert (other.labels != result.labels).any()


def test_soft_votes_draw_ties_too_and_say_how_many_there_are():
    crowd = simulate_crowd(200, 8, 4, per_task=2, accuracy=0.5)
    lowest, drawn, other = (
        cc.aggregation.get("majority-vote", ties=ties, seed=seed).fit(crowd)
        for ties, seed in (("lowest", 0), ("random", 0), ("random", 1))
    )
    tied = (lowest.posterior == 0.5).any(1)
    np.testing.assert_array_equal(drawn.labels[~tied], lowest.labels[~tied])
    assert 0.3 < (drawn.labels == lowest.labels)[tied].mean() < 0.7
    assert (drawn.labels != other.labels).any()
    assert f"{tied.sum()} of 200 tasks are tied" in lowest.notes[0]
    assert "with seed 1" in other.notes[0]
    assert "“ties”" in lowest.notes[0]
    assert "`" not in lowest.notes[0]


def test_votes_without_a_tie_have_no_note():
    assert cc.aggregation.get("majority-vote").fit(simulate_crowd(50, 3, 2, per_task=3)).notes == ()


def weighted(dataset, weight):
    """votes[i][c] = summed weight of the workers who gave task i the label c."""
    votes = [[Fraction(0)] * dataset.n_classes for _ in range(dataset.n_tasks)]
    for i, r, c in zip(dataset.task, dataset.worker, dataset.label, strict=True):
        votes[i][c] += weight[r]
    return votes


def skills(dataset, votes, known=None):
    """Share of a worker's labels that are winners; a tie among n winners counts 1/n."""
    right, given = [Fraction(0)] * dataset.n_workers, [0] * dataset.n_workers
    for i, r, c in zip(dataset.task, dataset.worker, dataset.label, strict=True):
        winners = [k for k in range(dataset.n_classes) if votes[i][k] == max(votes[i])]
        if known is not None and known[i] >= 0:
            winners = [known[i]]
        right[r] += Fraction(int(c in winners), len(winners))
        given[r] += 1
    return [a / n if n else Fraction(0) for a, n in zip(right, given, strict=True)]


@pytest.mark.parametrize("n_known", [0, 5])
def test_equals_the_definition(n_known):
    crowd = simulate_crowd(25, 6, 3, per_task=3, accuracy=0.5, seed=4)
    known = np.where(np.arange(25) < n_known, crowd.gold, -1)
    skill = skills(crowd, weighted(crowd, [Fraction(1)] * 6), known)
    votes = np.array(weighted(crowd, skill), float)
    result = cc.aggregation.get("wawa").fit(crowd, known=known)
    np.testing.assert_allclose(result.worker_weight, np.array(skill, float), rtol=1e-12)
    np.testing.assert_allclose(result.posterior[n_known:], (votes / votes.sum(1, keepdims=True))[n_known:], rtol=1e-12)


def test_a_task_whose_workers_weigh_nothing_keeps_its_votes():
    crowd = simulate_crowd(4, 4, 2, per_task=2)
    crowd = replace(crowd, worker=np.array([0, 1, 0, 1, 2, 3, 2, 3]), label=np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    result = cc.aggregation.get("wawa").fit(crowd, known=np.array([1, -1, 1, 1]))
    assert result.worker_weight == pytest.approx([0.25, 0.25, 1, 1])
    wrong = cc.aggregation.get("wawa").fit(crowd.where(crowd.task != 1), known=np.array([1, -1, 0, -1]))
    assert wrong.worker_weight == pytest.approx([0, 0, 0.5, 0.5])
    silent = cc.aggregation.get("wawa").fit(crowd.where(crowd.task < 2), known=np.array([1, -1, -1, -1]))
    assert silent.posterior[1] == pytest.approx([0.5, 0.5])


def test_rests_where_weights_equal_agreement_with_the_weighted_vote():
    crowd = simulate_crowd(200, 10, 4, per_task=5, accuracy=0.6, seed=2)
    result = cc.aggregation.get("zero-based-skill").fit(crowd)
    assert result.converged and "no weight moved" in result.stopped
    agreement = [(result.labels[crowd.task] == crowd.label)[crowd.worker == r].mean() for r in range(10)]
    np.testing.assert_allclose(result.worker_weight, agreement, atol=1e-9)


def test_reduced_steps_are_taken_literally_and_the_cap_is_named():
    crowd = simulate_crowd(60, 6, 3, per_task=3, accuracy=0.6)
    settings = {"learning_rate": 0.5, "reduce_every": 2, "reduce_factor": 0.1, "max_iterations": 3}
    result = cc.aggregation.get("zero-based-skill", ties="lowest", **settings).fit(crowd)
    weight = np.full(6, 1 / 3)
    for rate in (0.5, 0.05, 0.05):
        votes = np.zeros((60, 3))
        np.add.at(votes, (crowd.task, crowd.label), weight[crowd.worker])
        right = votes.argmax(1)[crowd.task] == crowd.label
        weight = weight + rate * (np.array([right[crowd.worker == r].mean() for r in range(6)]) - weight)
    np.testing.assert_allclose(result.worker_weight, weight, rtol=1e-12)
    assert result.converged is False and "3 updates" in result.stopped


def literal(dataset, rounds):
    """Messages x[i, r], y[r, i] over the edges, equations of section 2.1 with unit start."""
    edges = {(i, r): 1 - 2 * c for i, r, c in zip(dataset.task, dataset.worker, dataset.label, strict=True)}
    y = dict.fromkeys(edges, 1.0)
    for _ in range(rounds):
        x = {(i, r): sum(edges[i, s] * y[i, s] for j, s in edges if j == i and s != r) for i, r in edges}
        y = {(i, r): sum(edges[j, r] * x[j, r] for j, s in edges if s == r and j != i) for i, r in edges}
    score = np.zeros(dataset.n_tasks)
    size = np.zeros(dataset.n_tasks)
    for i, r in edges:
        score[i] += edges[i, r] * y[i, r]
        size[i] += abs(y[i, r])
    return score / size


@pytest.mark.parametrize("rounds", [1, 2, 4])
def test_equals_the_equations(rounds):
    crowd = simulate_crowd(20, 8, 2, per_task=4, accuracy=0.7, seed=1)
    result = cc.aggregation.get("kos", max_iterations=rounds, patience=1000).fit(crowd)
    np.testing.assert_allclose(result.posterior[:, 0] - result.posterior[:, 1], literal(crowd, rounds), atol=1e-9)


@pytest.mark.parametrize("name", ["bluebird", "rte"])
@pytest.mark.filterwarnings("ignore")
def test_labels_are_crowd_kits_whose_start_is_random(data_folder, name):
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    dataset = cc.load_dataset(name)
    theirs = kit.KOS().fit_predict(dataset.annotations.astype(str)).reindex(dataset.task_ids)
    ours = np.array(dataset.classes)[cc.aggregation.get("kos").fit(dataset).labels]
    assert (ours == theirs.to_numpy())[dataset.annotated].mean() > 0.99


def test_swapping_the_classes_swaps_the_answer():
    crowd = simulate_crowd(80, 9, 2, per_task=5, accuracy=0.7)
    one, other = (cc.aggregation.get("kos").fit(c) for c in (crowd, replace(crowd, label=1 - crowd.label)))
    np.testing.assert_allclose(one.posterior, other.posterior[:, ::-1], atol=1e-12)


def test_finds_adversaries_that_the_vote_follows():
    rng = np.random.default_rng(0)
    crowd = simulate_crowd(600, 20, 2, per_task=7, accuracy=0.9)
    flip = (crowd.worker < 8) & (rng.random(crowd.n_annotations) < 0.9)
    crowd = replace(crowd, label=np.where(flip, 1 - crowd.label, crowd.label))
    accuracy = {m: (cc.aggregation.get(m).fit(crowd).labels == crowd.gold).mean() for m in ("kos", "majority-vote")}
    assert accuracy["kos"] > 0.98 > 0.8 > accuracy["majority-vote"]
    assert (cc.aggregation.get("kos").fit(crowd).worker_weight[:8] < 0).all()


def test_refuses_more_classes_in_a_sentence():
    with pytest.raises(DataError, match=r"simulated.*4"):
        cc.aggregation.get("kos").fit(simulate_crowd())


def test_warns_where_one_worker_labels_much_more_than_the_others(data_folder):
    assert "times the median" in cc.aggregation.get("kos").fit(cc.load_dataset("rte")).notes[0]
    assert cc.aggregation.get("kos").fit(simulate_crowd(100, 10, 2, per_task=5)).notes == ()


def test_known_tasks_teach_who_is_reliable():
    crowd = simulate_crowd(300, 12, 2, per_task=5, accuracy=0.3, seed=6)  # most labels are wrong
    known = np.where(np.arange(300) < 100, crowd.gold, -1)
    blind, told = (cc.aggregation.get("kos").fit(crowd, known=k).labels[100:] for k in (None, known))
    assert (blind == crowd.gold[100:]).mean() < 0.3 < 0.7 < (told == crowd.gold[100:]).mean()


def test_agreements_are_counted_over_common_tasks():
    crowd = simulate_crowd(40, 7, 3, per_task=3, accuracy=0.6, seed=2)
    pairs = _pairs(crowd, None)
    given = {(i, r): c for i, r, c in zip(crowd.task, crowd.worker, crowd.label, strict=True)}
    expected = {}
    for r in range(7):
        for s in range(7):
            common = [i for i in range(40) if r != s and (i, r) in given and (i, s) in given]
            if common:
                share = np.mean([given[i, r] == given[i, s] for i in common])
                expected[r, s] = 3 / 2 * share - 1 / 2
    by_key = dict(zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), pairs.agreement, strict=True))
    assert by_key == pytest.approx(expected)


@pytest.mark.parametrize("trim", [0, 1, 3])
def test_trimmed_means_leave_out_the_extremes_on_either_side_of_the_own_value(trim):
    crowd = simulate_crowd(60, 9, 3, per_task=3)
    pairs = _pairs(crowd, None)
    rng = np.random.default_rng(0)
    values, own = rng.random(len(pairs.first)), rng.random(9)
    means = _trimmed_means(pairs, values, own, trim)
    for r in range(9):
        mine = sorted(values[pairs.first == r])
        below = [v for v in mine if v < own[r]][trim:]
        above = [v for v in mine if v > own[r]]
        kept = below + above[: max(len(above) - trim, 0)]
        assert means[r] == pytest.approx(np.mean(kept) if kept else own[r])


def test_skills_are_recovered():
    rng, base = np.random.default_rng(1), simulate_crowd(32_000, 12, 3, per_task=5, accuracy=1.0)
    accuracy = rng.uniform(0.45, 0.9, 12)
    wrong = (base.label + rng.integers(1, 3, base.n_annotations)) % 3
    crowd = replace(base, label=np.where(rng.random(base.n_annotations) < accuracy[base.worker], base.label, wrong))
    weight = cc.aggregation.get("m-msr", corrupted=0).fit(crowd).worker_weight
    assert np.sqrt(np.mean((weight - (3 * accuracy - 1) / 2) ** 2)) < 0.01


def test_colluding_adversaries_do_not_move_the_others():
    base = simulate_crowd(2000, 20, 3, per_task=12, accuracy=0.8, seed=3)
    together = np.random.default_rng(5).integers(3, size=2000)  # six workers give one and the same random answer
    crowd = replace(base, label=np.where(base.worker < 6, together[base.task], base.label))
    result = cc.aggregation.get("m-msr").fit(crowd)
    honest = result.worker_weight[6:]
    np.testing.assert_allclose(honest, (3 * 0.8 - 1) / 2, atol=0.08)
    plain = cc.aggregation.get("m-msr", corrupted=0).fit(crowd)
    assert (result.labels == base.gold).mean() > 0.95 > (plain.labels == base.gold).mean()


@pytest.mark.filterwarnings("ignore")
def test_no_worse_than_crowd_kit(data_folder):
    kit = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    for name in ("labelme", "leaves"):
        dataset = cc.load_dataset(name)
        seen = dataset.annotated
        theirs = kit.MMSR().fit_predict(dataset.annotations.astype(str)).reindex(dataset.task_ids[seen])
        gold = np.array(dataset.classes)[dataset.gold[seen]]
        ours = np.array(dataset.classes)[cc.aggregation.get("m-msr").fit(dataset).labels[seen]]
        assert (ours == gold).mean() >= (theirs.to_numpy() == gold).mean()
        assert (ours == theirs.to_numpy()).mean() > 0.9


def test_known_tasks_are_answers_of_one_more_worker():
    crowd = simulate_crowd(400, 10, 3, per_task=5, accuracy=0.6)
    known = np.where(np.arange(400) < 200, crowd.gold, -1)
    result = cc.aggregation.get("m-msr").fit(crowd, known=known)
    assert result.worker_weight.shape == (10,)
    np.testing.assert_allclose(result.worker_weight, 0.4, atol=0.12)


@pytest.mark.parametrize(
    ("case", "keep"), [("pair", lambda w: w < 2), ("star", lambda w: np.ones(len(w), bool)), ("alone", lambda w: w < 1)]
)
def test_refuses_workers_whose_skill_no_agreement_tells(case, keep):
    crowd = simulate_crowd(60, 6, 3, per_task=6)
    crowd = crowd.where(keep(crowd.worker))
    if case == "star":  # worker 0 meets each other worker on tasks of their own: only products of two skills are seen
        crowd = crowd.where((crowd.worker == 0) | (crowd.worker == 1 + crowd.task % 5))
    with pytest.raises(DataError, match="others"):
        cc.aggregation.get("m-msr").fit(crowd)


def test_a_pair_apart_has_the_mean_skill_of_the_others():
    crowd = simulate_crowd(200, 8, 3, per_task=6)
    apart = crowd.task < 20
    crowd = crowd.where((apart & (crowd.worker < 2)) | (~apart & (crowd.worker >= 2)))
    result = cc.aggregation.get("m-msr").fit(crowd)
    np.testing.assert_allclose(result.worker_weight[:2], result.worker_weight[2:].mean())
    assert result.notes[0].startswith("2 workers ")


def test_sets_of_workers_without_common_tasks_are_judged_apart():
    one, two = (simulate_crowd(2000, 6, 3, per_task=4, accuracy=a, seed=s) for a, s in ((0.9, 0), (0.6, 1)))
    both = cc.CrowdDataset(
        "both",
        one.classes,
        pd.Index([f"t{i}" for i in range(4000)]),
        pd.Index([f"w{r}" for r in range(12)]),
        np.append(one.task, two.task + 2000),
        np.append(one.worker, two.worker + 6),
        np.append(one.label, two.label),
    )
    weight = cc.aggregation.get("m-msr").fit(both).worker_weight
    np.testing.assert_allclose(weight, np.repeat([0.85, 0.4], 6), atol=0.15)
