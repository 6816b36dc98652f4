"""Tests of pairs who agree too much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis import pair_mistakes
from crowdcore.analysis.coordinated.pairs import AgreementByOthers, agreement_beyond, agreement_by_others
from crowdcore.core.latent_loops import fill_pairs
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import PAIRS, TASKS, unequal, with_copier
from testkit.planted import ATTACKED, attacked_crowd, common_confusion, honest_crowd
from tests.enumerated_tasks import N_TASKS, N_WORKERS, C, chance, random_tasks, states


def p_values(crowd: CrowdDataset, reference: str = "gold") -> tuple[FloatArray, FloatArray]:
    """(n_pairs, 2) the pairs and (n_pairs,) their p-values."""
    pairs = pair_mistakes(crowd, reference)
    return np.stack([pairs.worker_a, pairs.worker_b], 1), agreement_beyond(pairs, crowd)[0]


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
    p = agreement_beyond(pairs, crowd)[0]
    assert np.isnan(p[pairs.both_labelled < 10]).all()


def test_two_who_always_give_the_same_class_do_not_stand_out() -> None:
    crowd = honest_crowd(1, n_classes=2, n_tasks=300, per_task=20, skill=(0.6, 0.95))
    lazy = replace(crowd, label=np.where((crowd.worker < 2) & (crowd.task % 12 > 0), 1, crowd.label))
    pairs, p = p_values(lazy)
    assert p[(pairs < 2).all(1)][0] > 0.05


@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_hard_tasks_make_nobody_a_partner_by_gold(tasks: str) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS["39 workers, 200 × 39, 2 classes"], TASKS[tasks], rng) for _ in range(10)]
    assert sum(bool(analysis.coordinated_workers(crowd, "gold").groups) for crowd in crowds) <= 1


@pytest.mark.parametrize(
    ("design", "tasks", "most"),
    [
        ("39 workers, 200 × 39, 2 classes", "unequal", 1),
        ("39 workers, 200 × 39, 2 classes", "unequal, foils", 1),
        ("20 workers, 120 × 20, 5 classes", "unequal, foils", 1),
        ("20 workers, 200 × 20, 8 classes", "unequal, foils", 1),
        ("30 workers, 800 × 8, 4 classes", "unequal, foils", 1),
    ],
)
def test_able_workers_who_contradict_a_wrong_vote_are_not_accused(design: str, tasks: str, most: int) -> None:
    rng = np.random.default_rng(5)
    crowds = [unequal(PAIRS[design], TASKS[tasks], rng) for _ in range(10)]
    assert sum(analysis.worker_verdicts(crowd, "majority-vote").together.any() for crowd in crowds) <= most


@pytest.mark.parametrize("tasks", ["unequal", "unequal, foils"])
def test_half_copies_are_found_by_gold_where_mistakes_are_many(tasks: str) -> None:
    rng, design, found = np.random.default_rng(7), PAIRS["39 workers, 200 × 39, 2 classes"], []
    for _ in range(10):
        crowd, source, copier = with_copier(unequal(design, TASKS[tasks], rng), 0.5, rng)
        groups = analysis.coordinated_workers(crowd, "gold").groups
        assert all(set(group.members.tolist()) == {source, copier} for group in groups)
        found.append(bool(groups))
    assert sum(found) >= 4  # half copies do not double the many common mistakes: a share of the labels tells


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 2)])
def test_a_pair_is_held_against_the_enumeration_without_it(one: int, other: int) -> None:
    tasks, model = random_tasks()
    label = tasks[2].reshape(N_TASKS, N_WORKERS)
    agreed = alike = 0
    literal, least = np.zeros(5), max(0.06 / N_TASKS, 0.001 / C)
    for i in range(N_TASKS):
        both, p_one, p_other, classes = np.zeros(C), np.zeros(C), np.zeros(C), np.zeros(C)
        for p, z, d, foil in states(tasks, model, i, (one, other)):
            classes[z] += p
            for b in range(C):
                x, y = (chance(model, r, b, z, d, None if foil < 0 else foil) for r in (one, other))
                both[b], p_one[b], p_other[b] = both[b] + p * x * y, p_one[b] + p * x, p_other[b] + p * y
        both = np.maximum(both, least)
        ratio = np.log(0.5 + 0.5 * np.sqrt(np.maximum(p_one * p_other, both**2)) / both)
        values, shares = np.append(ratio, np.log(0.5)), np.append(both, 1 - both.sum())
        mean, equal = values @ shares, label[i, one] == label[i, other]
        likely = classes.argmax()
        agreed, alike = agreed + equal, alike + (equal and label[i, one] != likely)
        seen = ratio[label[i, one]] if equal else np.log(0.5)
        literal += (
            *(both.sum(), both.sum() - both[likely], seen - mean),
            *((shares * (values - mean) ** power).sum() for power in (2, 3)),
        )
    counts, moments = np.zeros((1, 3), np.int64), np.zeros((1, 5))
    by_worker, start = np.argsort(tasks[1], kind="stable"), np.arange(N_WORKERS + 1) * N_TASKS
    task = np.repeat(np.arange(N_TASKS), N_WORKERS)
    fill_pairs(0, 1, np.array([one]), np.array([other]), by_worker, start, task, tasks, model, counts, moments)
    assert counts[0].tolist() == [N_TASKS, agreed, alike]
    assert moments[0] == pytest.approx(literal, rel=1e-9)


def by_everybody(crowd: CrowdDataset) -> AgreementByOthers:
    one, other = np.triu_indices(crowd.n_workers, 1)
    return agreement_by_others(crowd, np.ones(crowd.n_workers, bool), one, other)


def test_names_and_repeats_change_nothing() -> None:
    crowd = honest_crowd(3, n_tasks=60, n_workers=6, foils=0.5)
    found = by_everybody(crowd)
    classes = np.array([2, 0, 3, 1])
    renamed = by_everybody(replace(crowd, label=classes[crowd.label]))
    assert renamed.p_value == pytest.approx(found.p_value, rel=1e-6)
    assert renamed.alike.tolist() == found.alike.tolist()
    again = replace(
        crowd,
        task=np.append(crowd.task, 59),
        worker=np.append(crowd.worker, crowd.worker[-1]),
        extra=None,
        label=np.append(crowd.label, 0),
    )
    assert by_everybody(again).p_value.tolist() == found.p_value.tolist()


def test_able_workers_who_contradict_a_foil_that_won_the_vote_agree_no_more_than_expected() -> None:
    rng, least = np.random.default_rng(11), []
    for _ in range(10):
        crowd = unequal(PAIRS["20 workers, 200 × 20, 8 classes"], TASKS["unequal, foils"], rng)
        least.append(np.nanmin(by_everybody(crowd).p_value) * 190)
    assert np.mean(np.array(least) <= 0.05) <= 0.1


def test_copiers_who_won_the_vote_among_foils_agree_more_than_the_others_explain() -> None:
    crowd = attacked_crowd(20001, "copy", 8, 0.9, **ATTACKED["4 classes, dense, foils"])
    one, other = np.triu_indices(8, 1)
    found = agreement_by_others(crowd, np.arange(crowd.n_workers) >= 8, one, other)
    assert (found.p_value < 1e-10).all()
    assert (found.alike >= 2 * found.expected_alike).mean() > 0.9
