"""Copies and workers who are close are found; the able, the weak and those fooled by a task are not accused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis import PairMistakes, pair_mistakes
from crowdcore.analysis.coordinated.copying import closeness, common_labels, copying
from crowdcore.analysis.reference import resolve_reference
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import PAIRS, TASKS, unequal
from testkit.known_truth import COPIES, HONEST, PLANTED
from testkit.planted import ATTACKED, attacked_crowd, common_confusion, honest_crowd


def named(crowd: CrowdDataset, reference: str = "gold") -> set[tuple[int, int]]:
    found = copying(crowd, resolve_reference(crowd, reference))
    return set(zip(*(of[found.named()].tolist() for of in (found.worker_a, found.worker_b)), strict=True))


@pytest.mark.parametrize("reference", ["gold", "majority-vote"])
@pytest.mark.parametrize("kind", ["copies all, 2 classes", "copies all, 4 classes", "tickets"])
def test_a_pair_that_copies_is_named_alone(kind: str, reference: str) -> None:
    for seed in range(3):
        known = PLANTED[kind](np.random.default_rng(seed))
        crowd = known.dataset if reference == "gold" else known.without_gold().dataset
        assert named(crowd, reference) == {tuple(sorted(known.planted[COPIES]))}


@pytest.mark.parametrize(
    "kind", ["guideline", "skill of two dimensions, dense", "strict and lenient, dense", "own foils"]
)
def test_who_is_alike_for_another_reason_is_not_named(kind: str) -> None:
    for seed in range(3):
        known = HONEST[kind](np.random.default_rng(seed))
        assert not named(known.dataset) and not named(known.without_gold().dataset, "majority-vote")


def test_who_may_copy_half_is_not_trusted_and_most_who_do_not_are() -> None:
    trusted, honest = 0, []
    for seed in range(8):
        known = PLANTED["copies half, 4 classes"](np.random.default_rng([1, seed])).without_gold()
        found = analysis.worker_verdicts(known.dataset, "majority-vote")
        pair = list(known.planted[COPIES])
        trusted += bool((found.verdict[pair] == "trust").any())
        assert (found.alike.partner[pair] == pair[::-1]).all() or found.verdict[pair[0]] == "trust"
        honest.append((found.verdict[known.honest] == "trust").mean())
    assert trusted <= 1 and np.mean(honest) > 0.8


@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_hard_tasks_make_nobody_a_partner_by_gold(tasks: str) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS["39 workers, 200 × 39, 2 classes"], TASKS[tasks], rng) for _ in range(6)]
    assert sum(bool(named(crowd)) for crowd in crowds) <= 1


@pytest.mark.parametrize("design", ["39 workers, 200 × 39, 2 classes", "20 workers, 200 × 20, 8 classes"])
def test_able_workers_who_contradict_a_wrong_vote_are_not_accused(design: str) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS[design], TASKS["unequal, foils"], rng) for _ in range(6)]
    assert sum(analysis.worker_verdicts(crowd, "majority-vote").together.any() for crowd in crowds) <= 1


def test_several_who_copy_do_not_explain_each_other() -> None:
    crowd = replace(attacked_crowd(1, "copy", 5, 0.9, **ATTACKED["4 classes, sparse"]), gold=None)
    assert {r for pair in named(crowd, "majority-vote") for r in pair} == set(range(5))


def test_numbers_of_a_pair_are_literal_and_repeats_change_nothing() -> None:
    crowd = honest_crowd(3, n_tasks=60, n_workers=6)
    found = copying(crowd, resolve_reference(crowd, "gold"))
    for a, b, both, agreed in zip(found.worker_a, found.worker_b, found.both, found.agreed, strict=True):
        one, other = ({t: y for t, w, y in rows(crowd) if w == r} for r in (a, b))
        common = one.keys() & other.keys()
        assert (both, agreed) == (len(common), sum(one[t] == other[t] for t in common))
    again = replace(
        crowd,
        task=np.append(crowd.task, crowd.task[-1]),
        worker=np.append(crowd.worker, crowd.worker[-1]),
        label=np.append(crowd.label, 0),
        extra=None,
    )
    assert copying(again, resolve_reference(again, "gold")).p_value.tolist() == found.p_value.tolist()


def rows(crowd: CrowdDataset) -> list[tuple[int, int, int]]:
    return list(zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True))


def test_others_judge_tasks_without_gold() -> None:
    crowd = honest_crowd(3, n_tasks=400, per_task=6)
    partly = replace(crowd, gold=np.where(np.arange(400) % 5 == 0, crowd.gold, -1))
    all_gold, some_gold = (copying(one, resolve_reference(one, "gold")) for one in (crowd, partly))
    assert all_gold.checked and not some_gold.checked
    assert some_gold.usual <= 0.1
    assert (np.abs(some_gold.expected - all_gold.expected) / all_gold.both).mean() <= 0.05


def test_classes_may_be_renamed() -> None:
    crowd, classes = honest_crowd(4, n_tasks=80, n_workers=6), np.array([2, 0, 3, 1])
    renamed = replace(crowd, label=classes[crowd.label], gold=classes[crowd.gold])
    first, second = (copying(one, resolve_reference(one, "gold")).p_value for one in (crowd, renamed))
    assert first == pytest.approx(second, rel=1e-9)


def test_every_two_labels_of_a_task_are_a_pair_once() -> None:
    task, worker = np.array([0, 0, 0, 2, 3, 3], np.int32), np.array([2, 0, 1, 0, 1, 0], np.int32)
    label = np.array([0, 0, 1, 0, 1, 1], np.int32)
    _, (one, other), begin, agreed, common = common_labels(task, worker, label, 3, 4, least=1)
    assert list(zip(one.tolist(), other.tolist(), agreed.tolist(), strict=True)) == [(0, 1, 1), (0, 2, 1), (1, 2, 0)]
    assert [common[a:b].tolist() for a, b in pairwise(begin)] == [[[1, 2], [5, 4]], [[1, 0]], [[2, 0]]]
    assert common_labels(task, worker, label, 3, 4, least=2)[1][1].tolist() == [1]


def of(pairs: PairMistakes, crowd: CrowdDataset) -> FloatArray:
    """(n_pairs,) p-values at the larger margin."""
    n = crowd.n_classes
    given = np.bincount(crowd.worker.astype(int) * n + crowd.label, minlength=crowd.n_workers * n).reshape(-1, n)
    agreed = pairs.agreed.astype(np.float64)
    return closeness(pairs.worker_a, pairs.worker_b, pairs.both_labelled, agreed, given)[1]


def p_values(crowd: CrowdDataset, reference: str = "gold") -> tuple[FloatArray, FloatArray]:
    """(n_pairs, 2) the pairs and (n_pairs,) their p-values."""
    pairs = pair_mistakes(crowd, reference)
    return np.stack([pairs.worker_a, pairs.worker_b], 1), of(pairs, crowd)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_copiers_stand_out_whatever_is_taken_for_the_truth(n_classes: int) -> None:
    kind = "2 classes, sparse" if n_classes == 2 else "4 classes, sparse"
    crowd = attacked_crowd(2, "copy", 3, 1.0, **ATTACKED[kind])
    for reference in ("gold", "majority-vote"):
        pairs, p = p_values(crowd, reference)
        inside = (pairs < 3).all(1)
        assert p[inside].max() < 1e-3
        assert np.nanmin(p[~inside]) > 1e-3


def test_skill_difficulty_and_a_common_confusion_do_not_stand_out() -> None:
    for seed in range(5):
        for crowd in (honest_crowd(seed, n_tasks=150, per_task=20, difficulty=2.0, foils=0.7), common_confusion(seed)):
            _, p = p_values(crowd)
            assert np.nanmin(p) * (~np.isnan(p)).sum() > 0.05


def test_pairs_with_few_shared_tasks_are_not_tested() -> None:
    crowd = honest_crowd(0, n_tasks=40, per_task=3)
    pairs = pair_mistakes(crowd)
    p = of(pairs, crowd)
    assert np.isnan(p[pairs.both_labelled < 10]).all()


def test_two_who_always_give_the_same_class_do_not_stand_out() -> None:
    crowd = honest_crowd(1, n_classes=2, n_tasks=300, per_task=20, skill=(0.6, 0.95))
    lazy = replace(crowd, label=np.where((crowd.worker < 2) & (crowd.task % 12 > 0), 1, crowd.label))
    pairs, p = p_values(lazy)
    assert p[(pairs < 2).all(1)][0] > 0.05
