"""Verdicts on workers: planted ones are named, honest ones are not accused, and numbers follow the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy.special import betainc

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import worker_verdicts
from crowdcore.analysis.reference import resolve_reference
from crowdcore.analysis.verdicts.drift import drift, largest_tail
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.skill import no_knowledge, skill_evidence
from crowdcore.analysis.workers.speed import change_points
from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from testkit import known_truth
from testkit.planted import (
    CONFUSED,
    COPIED,
    COPIER,
    DRIFTING,
    HONEST,
    PLANTED,
    SPAMMER,
    falling,
    honest_crowd,
    in_sessions,
    planted_crowd,
    uneven,
)
from tests.analysis.crowds import crowds, make_crowd

LARGE = {"n_tasks": 600, "n_workers": 15, "skill": (0.6, 0.95), "even": True}


@pytest.mark.parametrize("reference", ["gold", "dawid-skene", "majority-vote"])
def test_no_honest_worker_is_accused(reference: str) -> None:
    kinds = ({}, {"n_tasks": 120, "per_task": 20}, {"n_classes": 2, "n_tasks": 300, "skill": (0.6, 0.95)})
    verdicts = [analysis.worker_verdicts(honest_crowd(seed, **kind), reference) for kind in kinds for seed in range(3)]
    assert sum(one.accused.any() for one in verdicts) <= 1


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_with_two_classes_weak_workers_are_not_told_that_they_make_one_mistake(reference: str) -> None:
    crowds = [honest_crowd(seed, **HONEST["2 classes, dense"]) for seed in range(95_000, 95_020)]
    verdicts = [analysis.worker_verdicts(crowd, reference) for crowd in crowds]
    assert sum(one.train.any() for one in verdicts) <= 2  # by chance 1


@pytest.mark.parametrize("reference", ["gold", "dawid-skene"])
def test_planted_workers_are_named_for_what_they_are(reference: str) -> None:
    verdicts = analysis.worker_verdicts(planted_crowd(1, **LARGE), reference)
    assert verdicts.verdict[SPAMMER] == "remove"
    assert verdicts.copies.partner[[COPIER, COPIED]].tolist() == [COPIED, COPIER]
    assert verdicts.verdict[CONFUSED] == "train"
    assert (verdicts.confused.true[CONFUSED], verdicts.confused.given[CONFUSED]) == (0, 1)
    assert verdicts.drifts[DRIFTING]
    assert verdicts.drift is not None
    assert verdicts.drift.before[DRIFTING] > verdicts.drift.after[DRIFTING] + 0.2
    assert not verdicts.accused[5:].any()


def test_with_gold_skill_is_cohens_kappa_up_to_the_shrunk_label_shares() -> None:
    crowd = honest_crowd(3, n_workers=4, per_task=4, n_tasks=3000)
    evidence = skill_evidence(peer_beliefs(crowd, analysis.resolve_reference(crowd, "gold")), 4)
    for r in range(4):
        own = crowd.worker == r
        given, true = crowd.label[own], crowd.gold[crowd.task[own]]
        chance = sum((given == c).mean() * (true == c).mean() for c in range(4))
        kappa = ((given == true).mean() - chance) / (1 - chance)
        assert evidence.skill[r] == pytest.approx(kappa, abs=2e-3)


def test_the_interval_of_skill_covers() -> None:
    """A worker who knows half of the truths and else guesses, by gold and by noisy but calibrated beliefs."""
    rng = np.random.default_rng(0)
    n_workers, n, skill = 400, 40, 0.5
    true = rng.integers(3, size=n)
    knows = rng.random((n_workers, n)) < skill
    label = np.where(knows, true, rng.integers(3, size=(n_workers, n)))
    crowd = cc.from_frame(
        pd.DataFrame(
            {
                "task": np.tile(np.arange(n), n_workers),
                "worker": np.repeat(np.arange(n_workers), n),
                "label": label.ravel(),
            }
        ),
        gold=pd.Series(true, index=[str(i) for i in range(n)]),
    )
    low, high = skill_evidence(peer_beliefs(crowd, analysis.resolve_reference(crowd, "gold")), n_workers).interval()
    assert 0.92 <= ((low <= skill) & (skill <= high)).mean() <= 0.985


def test_without_gold_nobody_is_judged_by_the_own_label() -> None:
    crowd = honest_crowd(2, n_workers=6, n_tasks=60)
    reference = analysis.resolve_reference(crowd, "dawid-skene")
    peers = peer_beliefs(crowd, reference)
    row = 17
    votes = peers.log_confusion[peers.worker, :, peers.label]
    others = (peers.task == peers.task[row]) & (peers.worker != peers.worker[row])
    counts = analysis.worker_confusion(crowd, reference).counts
    prior = np.log(counts.sum((0, 2)) + 0.5)
    expected = np.exp(votes[others].sum(0) + prior)
    assert peers.judge[row] == pytest.approx(expected / expected.sum())


def test_few_labels_are_underpowered_and_none_are_too() -> None:
    crowd = honest_crowd(5, n_tasks=200)
    few = crowd.where((crowd.worker != 3) | (np.cumsum(crowd.worker == 3) <= 4))
    none = few.where(few.worker != 4)
    verdicts = analysis.worker_verdicts(none)
    assert verdicts.verdict[[3, 4]].tolist() == ["underpowered", "underpowered"]
    assert verdicts.needed[3] > verdicts.judged[3]
    assert np.isnan(verdicts.skill[4])


def test_a_crowd_of_guesses_accuses_nobody() -> None:
    crowd = honest_crowd(6)
    guesses = replace(crowd, label=np.random.default_rng(1).integers(4, size=crowd.n_annotations))
    for reference in ("gold", "majority-vote"):
        verdicts = analysis.worker_verdicts(guesses, reference)
        assert not verdicts.accused.any()
        assert not (verdicts.verdict == "trust").any()


def test_one_class_one_worker_and_partial_gold_are_no_trouble() -> None:
    crowd = honest_crowd(7, n_tasks=30, n_workers=3, per_task=2)
    for odd in (
        replace(crowd, classes=("only",), label=np.zeros_like(crowd.label), gold=np.zeros_like(crowd.gold)),
        crowd.where(crowd.worker == 0),
        replace(crowd, gold=np.where(np.arange(30) < 3, crowd.gold, -1)),
        replace(crowd, extra=None),
        replace(crowd, extra=pd.DataFrame({"timestamp": ["soon"] * crowd.n_annotations})),
    ):
        for reference in ("gold", "majority-vote"):
            assert len(analysis.worker_verdicts(odd, reference).verdict) == 3


def test_thresholds_that_cannot_be_are_refused() -> None:
    crowd = honest_crowd(0, n_tasks=20)
    with pytest.raises(SettingError, match=r"between.*0.*1"):
        analysis.worker_verdicts(crowd, trust=1.5)


def test_copies_are_found_without_gold_though_a_model_believes_them() -> None:
    for seed in (1, 2):
        crowd = planted_crowd(seed, **LARGE)
        blind = replace(crowd, gold=np.full(crowd.n_tasks, -1, crowd.gold.dtype))
        copies = analysis.worker_verdicts(blind, "dawid-skene").copies
        assert copies.partner[[COPIER, COPIED]].tolist() == [COPIED, COPIER]
        assert not (np.delete(copies.partner, [COPIER, COPIED]) >= 0).any()


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_a_mistake_of_the_guideline_is_not_its_carriers_fault(reference: str) -> None:
    known = known_truth.guideline(np.random.default_rng(3))
    crowd = known.dataset if reference == "gold" else known.without_gold().dataset
    verdicts = analysis.worker_verdicts(crowd, reference)
    assert known.shared is not None and known.carriers is not None
    assert verdicts.guideline.cells[known.shared]
    assert not verdicts.accused.any() and not verdicts.train.any()
    assert (verdicts.guideline.carriers[:, 0, 1] == known.carriers).mean() > 0.8


def test_who_is_strict_or_lenient_knows_something_and_is_not_removed() -> None:
    for seed in range(4):
        crowd = known_truth.graders(np.random.default_rng(seed), n_tasks=200, per_task=20).dataset
        assert not (analysis.worker_verdicts(crowd).verdict == "remove").any()


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_a_spammer_of_two_classes_is_removed(reference: str) -> None:
    verdicts = []
    for seed in range(6):
        known = known_truth.PLANTED["spams, 2 classes"](np.random.default_rng(seed))
        crowd = known.dataset if reference == "gold" else known.without_gold().dataset
        verdicts.append(analysis.worker_verdicts(crowd, reference).verdict[0])
    assert verdicts.count("remove") >= 4 and "trust" not in verdicts


def test_labels_that_follow_the_truth_in_any_way_show_knowledge() -> None:
    crowd = honest_crowd(1, n_tasks=200, n_workers=4, per_task=4)
    shifted = replace(crowd, label=np.where(crowd.worker == 0, (crowd.gold[crowd.task] + 1) % 4, crowd.label))
    guessed = replace(crowd, label=np.where(crowd.worker == 0, crowd.task * 7 % 4, crowd.label))
    for one, knows in ((shifted, True), (guessed, False)):
        peers = peer_beliefs(one, analysis.resolve_reference(one, "gold"))
        assert (no_knowledge(peers, 0) < 0.05) == knows


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
@pytest.mark.parametrize("kind", ["others learn", "tasks harden, own slopes"])
def test_a_worker_who_stays_as_good_does_not_fall(kind: str, reference: str) -> None:
    named = []
    for seed in range(6):
        crowd = known_truth.HONEST[kind](np.random.default_rng(seed)).dataset
        changes = drift(crowd, peer_beliefs(crowd, analysis.resolve_reference(crowd, reference)))
        assert changes is not None
        named.append(np.nanmin(changes.adjusted) <= 0.0111)
    assert sum(named) <= 1


def test_a_fall_that_may_be_chance_is_watched_and_never_praised() -> None:
    for seed in range(4):
        known = known_truth.tickets(np.random.default_rng(seed))
        verdicts = analysis.worker_verdicts(known.without_gold().dataset, "majority-vote")
        (falls,) = known.planted[known_truth.FALLS]
        assert verdicts.verdict[falls] in ("check", "watch")
        assert verdicts.drift is not None
        assert not ((verdicts.verdict == "trust") & (verdicts.drift.p_value < 0.05)).any()


def test_a_confusion_that_three_others_speak_of_is_watched_and_never_trained() -> None:
    watched = 0
    for seed in (503, 510, 513, 524):  # blocks of four workers, where the best one says the only class there is
        known = known_truth.teams(np.random.default_rng([seed, len("teams on blocks")])).without_gold()
        verdicts = analysis.worker_verdicts(known.dataset, "majority-vote")
        assert not verdicts.train.any()
        assert (verdicts.verdict[verdicts.may_confuse] == "watch").all()
        watched += verdicts.may_confuse.sum()
    assert watched >= 3


def test_opponents_are_the_others_who_say_the_class_that_is_not_given() -> None:
    crowd = known_truth.teams(np.random.default_rng(1)).without_gold().dataset
    peers = peer_beliefs(crowd, analysis.resolve_reference(crowd, "majority-vote"))
    true, given = np.full(crowd.n_workers, 0), np.full(crowd.n_workers, 1)
    true[3] = -1
    expected = np.zeros(crowd.n_workers)
    for r in np.flatnonzero(true >= 0):
        counts = np.zeros(crowd.n_workers)
        for j in np.flatnonzero((peers.worker == r) & (peers.label == 1)):
            for k in np.flatnonzero((peers.task == peers.task[j]) & (peers.label == 0)):
                counts[peers.worker[k]] += peers.by_own_shares[j, 0]
        expected[r] = counts.sum() ** 2 / (counts**2).sum()
    np.testing.assert_allclose(np.nan_to_num(peers.opponents(true, given)), expected)


def test_the_tail_of_a_fall_is_that_of_series_without_one() -> None:
    """Labels right or wrong in no order: p-values are uniform, or larger."""
    rng = np.random.default_rng(5)
    crowd = honest_crowd(9, n_tasks=3000, n_workers=200, per_task=5, difficulty=0.0)
    assert crowd.extra is not None
    crowd = replace(crowd, extra=pd.DataFrame({"timestamp": rng.permutation(crowd.n_annotations)}))
    changes = drift(crowd, peer_beliefs(crowd, analysis.resolve_reference(crowd, "gold")))
    assert changes is not None
    p = changes.p_value[~np.isnan(changes.p_value)]
    assert len(p) > 100 and (p < 0.1).mean() <= 0.16 and (p < 0.5).mean() <= 0.6
    assert largest_tail(np.array([0.0, 2.0, 3.0, 5.0])) == pytest.approx([1, 0.076, 0.004, 8e-7], rel=0.35)


def test_a_worker_who_becomes_worse_is_found_and_one_who_becomes_better_is_not() -> None:
    crowd = planted_crowd(2, **LARGE)
    assert crowd.extra is not None
    back = replace(crowd, extra=-crowd.extra)
    found, turned = (analysis.worker_verdicts(one) for one in (crowd, back))
    assert found.drifts[DRIFTING] and not turned.drifts[DRIFTING]


def test_changes_that_chance_makes_are_named_as_often_as_said() -> None:
    """Right and wrong labels in no order, 20 to 80 a worker; each worker is tested at 1 %."""
    rng, n_workers = np.random.default_rng(0), 4000
    worker = np.repeat(np.arange(n_workers), rng.integers(20, 80, n_workers))
    value = (rng.random(len(worker)) < 0.7).astype(np.float64)
    points = change_points(value, worker, rng.random(len(worker)), n_workers)
    assert 0.002 <= (points.p_value <= 0.01).mean() <= 0.0135


@given(crowds(min_classes=2))
def test_counts_and_the_others_share_are_literal(crowd: CrowdDataset) -> None:
    counts, by_others = peer_beliefs(crowd, resolve_reference(crowd, "gold")).counted
    said: dict[int, dict[int, int]] = {}
    for task, worker, label in zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True):
        said.setdefault(task, {}).setdefault(worker, label)
    expected, others = np.zeros((2, crowd.n_workers, crowd.n_classes, crowd.n_classes))
    met = np.zeros((crowd.n_workers, crowd.n_classes))
    for task, labels in said.items():
        true = crowd.gold[task]
        for worker, label in labels.items():
            if true >= 0:
                expected[worker, true, label] += 1
                rest = [other for one, other in labels.items() if one != worker]
                if rest:
                    met[worker, true] += 1
                    others[worker, true] += np.bincount(rest, minlength=crowd.n_classes) / len(rest)
    assert counts == pytest.approx(expected)
    assert by_others == pytest.approx(others / np.maximum(met, 1)[:, :, None])


def test_a_fall_at_the_only_break_is_found() -> None:
    changes = [falling(in_sessions(planted_crowd(s, **PLANTED["4 classes, dense"]), 2)[0], "gold") for s in range(10)]
    assert sum(one[DRIFTING] for one in changes) >= 9
    assert sum(one.sum() - one[DRIFTING] for one in changes) <= 1


def test_sessions_that_differ_among_all_are_no_fall() -> None:
    honest = [in_sessions(honest_crowd(s), 4) for s in range(20)]
    assert sum(falling(uneven(crowd, session, s), "gold").any() for s, (crowd, session) in enumerate(honest)) <= 1


N = 20  # labels on each of three classes


def by_gold(mistakes: dict[tuple[int, int], int]):
    """Three workers on 60 tasks; the first makes these mistakes (true, given): times, the others none."""
    gold = np.repeat([0, 1, 2], N)
    first = gold.copy()
    for true in range(3):
        wrong = [given for (a, given), times in mistakes.items() if a == true for _ in range(times)]
        first[N * true : N * true + len(wrong)] = wrong
    label = np.stack([first, gold, gold], 1).ravel()
    crowd = make_crowd(np.repeat(np.arange(3 * N), 3), np.tile([0, 1, 2], 3 * N), label, 3 * N, 3, 3, gold)
    return worker_verdicts(crowd, "gold").confused


def test_the_p_value_compares_the_cell_with_all_other_mistakes() -> None:
    p_values = by_gold({(0, 1): 9, (1, 2): 4, (2, 1): 4})
    assert (p_values.true[0], p_values.given[0]) == (0, 1)
    assert (p_values.times[0], p_values.of[0]) == (9, N)
    k, m, cells = 9, 8, 4  # all but 0 called 1, and 1 called 0, which mixes up the same pair
    v = 1 - (k + m) / (N + cells * N)
    own = betainc(k / v, m / v + 1, 1 / (1 + cells))
    assert p_values.q_value[0] == pytest.approx(3 * 6 * own, rel=1e-9)  # the smallest of six cells of three workers


def test_other_labels_of_the_same_class_speak_for_one_mistake() -> None:
    one, spread = (by_gold({(0, 1): 10, (0, 2): also, (1, 2): 5, (2, 1): 5}).q_value[0] for also in (0, 5))
    assert one <= 0.05 < spread
