"""The fit of latent classes, difficulties and foils equals a literal enumeration of them."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.core.latent_loops import fill_posterior, fit_step
from tests.enumerated_tasks import ALONE, N_TASKS, N_WORKERS, C, joint, random_tasks, states


def test_a_step_of_the_fit_is_the_enumeration_of_classes_difficulties_and_foils() -> None:
    tasks, model = random_tasks()
    label = tasks[2].reshape(N_TASKS, N_WORKERS)
    n_types, n_class, n_misled, log_likelihood = np.zeros((2, 2)), np.zeros(C), np.zeros(2), 0.0
    labels, right_slope, counts = np.zeros((N_WORKERS, C, 2)), np.zeros((N_WORKERS, C)), np.zeros((N_WORKERS, C, C))
    for i in range(N_TASKS):
        log_likelihood += np.log(sum(p for p, *_ in joint(tasks, model, i)))
        for p, z, d, foil in states(tasks, model, i):
            n_types[d, int(foil >= 0)] += p
            n_class[z] += p
            for r in range(N_WORKERS):
                b = label[i, r]
                own = ALONE * model[1][r, z, b]
                labels[r, z, d] += p
                right_slope[r, z] += p * model[4][d] * (b == z)
                alone = own / (1 - ALONE + own) if b == foil else 1
                counts[r, z, b] += p * alone
                if foil >= 0 and b != z:
                    n_misled += p * np.array([alone, 1 - alone])
    found = fit_step(0, N_TASKS, tasks, model)
    literal = n_types, n_class, labels, right_slope, counts, n_misled, log_likelihood
    for got, of in zip(found, literal, strict=True):
        assert got == pytest.approx(of, rel=1e-9, abs=1e-12)


def test_posterior_difficulty_and_foil_are_those_of_the_enumeration() -> None:
    tasks, model = random_tasks()
    crowd = model[0].mean(0)
    posterior, difficulty, foils = np.empty((N_TASKS, C)), np.empty(N_TASKS), np.full(N_TASKS, -1, np.int32)
    fill_posterior(0, N_TASKS, tasks, model, crowd, posterior, difficulty, foils)
    for i in range(N_TASKS):
        classes, misled, wrong = np.zeros(C), np.zeros((C, C)), 0.0
        for p, z, d, foil in states(tasks, model, i):
            classes[z] += p
            wrong += p * (1 - crowd[z, d])
            if foil >= 0:
                misled[z, foil] += p
        z = classes.argmax()
        likely = int(misled[z].argmax()) if misled[z].max() > classes[z] / 2 else -1
        assert posterior[i] == pytest.approx(classes, rel=1e-9)
        assert difficulty[i] == pytest.approx(wrong, rel=1e-9)
        assert foils[i] == likely
    assert {*foils.tolist()} > {-1}
