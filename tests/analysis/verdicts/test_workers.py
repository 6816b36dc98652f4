"""Verdicts on workers: what is planted is named, honest workers are not accused, and numbers follow the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis.verdicts.drift import change_points
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.skill import skill_evidence
from crowdcore.core.errors import SettingError
from crowdcore.exhibits.verdicts import reasons
from testkit.planted import (
    ATTACKED,
    CONFUSED,
    COPIED,
    COPIER,
    DRIFTING,
    HONEST,
    SPAMMER,
    attacked_crowd,
    honest_crowd,
    planted_crowd,
)

LARGE = {"n_tasks": 600, "n_workers": 15, "skill": (0.6, 0.95), "even": True}


@pytest.mark.parametrize("reference", ["gold", "dawid-skene", "majority-vote"])
def test_no_honest_worker_is_accused(reference: str) -> None:
    kinds = ({}, {"n_tasks": 120, "per_task": 20}, {"n_classes": 2, "n_tasks": 300, "skill": (0.6, 0.95)})
    found = [analysis.worker_verdicts(honest_crowd(seed, **kind), reference) for kind in kinds for seed in range(3)]
    assert sum(one.accused.any() for one in found) <= 1


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
def test_with_two_classes_weak_workers_are_not_told_that_they_make_one_mistake(reference: str) -> None:
    crowds = [honest_crowd(seed, **HONEST["2 classes, dense"]) for seed in range(95_000, 95_020)]
    found = [analysis.worker_verdicts(crowd, reference) for crowd in crowds]
    assert sum(one.train.any() for one in found) <= 2  # by chance 1


@pytest.mark.parametrize("reference", ["gold", "dawid-skene"])
def test_planted_workers_are_named_for_what_they_are(reference: str) -> None:
    found = analysis.worker_verdicts(planted_crowd(1, **LARGE), reference)
    assert found.verdict[SPAMMER] == "remove"
    assert found.copies.partner[[COPIER, COPIED]].tolist() == [COPIED, COPIER]
    assert found.verdict[CONFUSED] == "train"
    assert (found.confused.true[CONFUSED], found.confused.given[CONFUSED]) == (0, 1)
    assert found.drifts[DRIFTING]
    assert found.drift is not None
    assert found.drift.before[DRIFTING] > found.drift.after[DRIFTING] + 0.2
    assert not found.accused[5:].any()


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
    found = analysis.worker_verdicts(none)
    assert found.verdict[[3, 4]].tolist() == ["underpowered", "underpowered"]
    assert found.needed[3] > found.judged[3]
    assert np.isnan(found.skill[4])


def test_a_crowd_of_guesses_accuses_nobody() -> None:
    crowd = honest_crowd(6)
    guesses = replace(crowd, label=np.random.default_rng(1).integers(4, size=crowd.n_annotations))
    for reference in ("gold", "majority-vote"):
        found = analysis.worker_verdicts(guesses, reference)
        assert not found.accused.any()
        assert not (found.verdict == "trust").any()


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
    with pytest.raises(SettingError, match="lie between 0 and 1"):
        analysis.worker_verdicts(crowd, trust=1.5)
    with pytest.raises(SettingError, match="at most `trust`"):
        analysis.worker_verdicts(crowd, remove=0.6)


def test_copies_are_found_without_gold_though_a_model_believes_them() -> None:
    for seed in (1, 2):
        crowd = planted_crowd(seed, **LARGE)
        blind = replace(crowd, gold=np.full(crowd.n_tasks, -1, crowd.gold.dtype))
        found = analysis.worker_verdicts(blind, "dawid-skene").copies
        assert found.partner[[COPIER, COPIED]].tolist() == [COPIED, COPIER]
        assert not (np.delete(found.partner, [COPIER, COPIED]) >= 0).any()


def test_who_pushes_a_mistake_with_others_is_to_be_checked_for_that() -> None:
    found = analysis.worker_verdicts(attacked_crowd(1, "push", 3, 0.9, **ATTACKED["4 classes, sparse"]), "dawid-skene")
    assert [group.members.tolist() for group in found.groups] == [[0, 1, 2]]
    assert found.verdict[:3].tolist() == ["check"] * 3
    assert np.flatnonzero(found.together).tolist() == [0, 1, 2]
    assert not found.accused[3:].any()
    words = reasons(found)
    assert "(“class 0” called “class 1”): w00, w01 and w02" in words[1]
    assert "w00" not in words[5]


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
    for falls in (True, False):
        found = change_points(value, worker, rng.random(len(worker)), n_workers, falls=falls)
        assert 0.002 <= (found.p_value <= 0.01).mean() <= 0.0135
