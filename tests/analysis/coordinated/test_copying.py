"""Copies are found whatever is taken for the truth; who is able, weak, or fooled by a task alike is not accused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis.coordinated.copying import common_labels, copying
from crowdcore.analysis.reference import resolve_reference
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import PAIRS, TASKS, unequal
from testkit.known_truth import COPIES, HONEST, PLANTED
from testkit.planted import ATTACKED, attacked_crowd, honest_crowd


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
