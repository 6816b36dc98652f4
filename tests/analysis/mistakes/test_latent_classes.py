"""Agreement by what others say of each task equals a literal enumeration, and does not depend on names or order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.coordinated import ATTACKED, attacked_crowd
from benchmarks.mistakes import PAIRS, TASKS, unequal
from benchmarks.verdicts import honest_crowd
from crowdcore.analysis.mistakes.latent_classes import AgreementByOthers, agreement_by_others
from crowdcore.core.kernels_latent_classes_numba import Model, Tasks, fill_pairs, fit_step
from crowdcore.data.dataset import CrowdDataset

N_TASKS, N_WORKERS, C, ALONE = 6, 5, 3, 0.15


@pytest.fixture
def small() -> tuple[Tasks, Model]:
    """Every worker labels every task, all classes occur on each; worker 1 is no judge; the model is random."""
    rng = np.random.default_rng(0)
    label = np.array([[0, 1, 2, *rng.integers(C, size=2)] for _ in range(N_TASKS)])
    label = rng.permuted(label, axis=1).ravel()
    tasks = (
        np.arange(N_TASKS + 1) * N_WORKERS,
        np.tile(np.arange(N_WORKERS), N_TASKS),
        label,
        np.arange(N_WORKERS) != 1,
        np.arange(N_TASKS + 1) * (C + 1),
        np.tile(np.arange(C + 1), N_TASKS),
    )
    right, prior = rng.uniform(0.2, 0.9, (N_WORKERS, C + 1, 2)), rng.dirichlet(np.ones(4)).reshape(2, 2)
    share = rng.uniform(0.2, 1, (N_WORKERS, C + 1, C)) * ~np.eye(C + 1, C, dtype=bool)
    share /= share.sum(2, keepdims=True)
    weight = np.tile([0.5, 0.3, 0.2, 1e-30], N_TASKS)
    return tasks, (right, share, weight, prior, np.array([1.0, 0.3]), ALONE)


def chance(model: Model, r: int, given: int, z: int, d: int, foil: int | None) -> float:
    right, share = float(model[0][r, z, d]), float(model[1][r, z, given])
    if given == z:
        return right
    return (1 - right) * (share if foil is None else (1 - ALONE) * (given == foil) + ALONE * share)


def states(tasks: Tasks, model: Model, i: int, without: tuple[int, ...] = ()) -> Iterator[tuple[float, int, int, int]]:
    """Probability, true class, difficulty and foil (-1: none) of task i by the judges but some workers."""
    label, judges = tasks[2].reshape(N_TASKS, N_WORKERS), tasks[3]
    found = []
    for z in range(C):
        for d in range(2):
            for foil in (None, *(f for f in range(C) if f != z)):
                p = model[2][z] * (model[3][d, 0] if foil is None else model[3][d, 1] / (C - 1))
                for r in range(N_WORKERS):
                    if judges[r] and r not in without:
                        p *= chance(model, r, label[i, r], z, d, foil)
                found.append((p, z, d, -1 if foil is None else foil))
    total = sum(p for p, *_ in found)
    return ((p / total, *state) for p, *state in found)


def test_a_step_of_the_fit_is_the_enumeration_of_classes_difficulties_and_foils(small: tuple[Tasks, Model]) -> None:
    tasks, model = small
    label = tasks[2].reshape(N_TASKS, N_WORKERS)
    n_types, n_class = np.zeros((2, 2)), np.zeros(C)
    slope, curvature, counts = np.zeros((N_WORKERS, C)), np.zeros((N_WORKERS, C)), np.zeros((N_WORKERS, C, C))
    for i in range(N_TASKS):
        for p, z, d, foil in states(tasks, model, i):
            n_types[d, int(foil >= 0)] += p
            n_class[z] += p
            for r in range(N_WORKERS):
                b, right = label[i, r], model[0][r, z, d]
                own = ALONE * model[1][r, z, b]
                slope[r, z] += p * model[4][d] * ((b == z) - right)
                curvature[r, z] += p * model[4][d] ** 2 * right * (1 - right)
                counts[r, z, b] += p * (own / (1 - ALONE + own) if b == foil else 1)
    found = fit_step(0, N_TASKS, tasks, model)
    for got, literal in zip(found, (n_types, n_class, np.stack([slope, curvature]), counts), strict=True):
        assert got == pytest.approx(literal, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (0, 2)])
def test_a_pair_is_held_against_the_enumeration_without_it(small: tuple[Tasks, Model], one: int, other: int) -> None:
    tasks, model = small
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
