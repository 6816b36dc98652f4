"""Pairs tested by the others' labels: literal moments, and able workers who contradict a wrong vote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.analysis.coordinated.copying import AgreementByOthers, agreement_by_others
from crowdcore.core.latent_loops import fill_pairs
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import PAIRS, TASKS, unequal
from testkit.planted import ATTACKED, attacked_crowd, honest_crowd
from tests.enumerated_tasks import N_TASKS, N_WORKERS, C, chance, random_tasks, states


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
