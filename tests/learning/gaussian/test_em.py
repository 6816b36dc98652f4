"""Confidence of the posterior, judged by unseen labels or gold, against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.gaussian.fit import (
    GaussianFit,
    choose_gaussians,
    fit_gaussians,
    held_out_power,
    notes_on,
    posterior_power,
)
from crowdcore.learning.gaussian.space import Blocks, Classes
from crowdcore.learning.method_settings import EmOptions, GaussianSettings
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.problem import make_problem
from tests.learning.helpers import featured_crowd


def of_crowd(crowd: CrowdDataset) -> Annotations:
    columns = [torch.from_numpy(np.array(c, np.int64)) for c in (crowd.task, crowd.worker, crowd.label)]
    return Annotations(*columns, int(crowd.task.max()) + 1, crowd.n_workers, crowd.n_classes)


@pytest.mark.parametrize(("sureness", "shared"), [(1.0, 0.0), (6.0, 0.0), (6.0, 0.4)])
def test_the_posterior_is_as_sure_as_labels_that_it_has_not_seen_allow(sureness, shared):
    crowd = featured_crowd(n_tasks=80, per_task=3, accuracy=0.7)
    n, n_classes = int(crowd.task.max()) + 1, crowd.n_classes
    columns = [torch.from_numpy(np.array(c, np.int64)) for c in (crowd.task, crowd.worker, crowd.label)]
    annotations = Annotations(*columns, n, crowd.n_workers, n_classes)
    votes = annotations.votes() + 0.05
    q = (votes / votes.sum(1, keepdim=True)) ** sureness
    q /= q.sum(1, keepdim=True)
    given = annotations.counts(q)
    fit = GaussianFit(Classes(q, q), 1.0, q[0], q, annotations.confusion(given, 0.1, 2.0), shared, q[0])
    every = annotations.log_evidence(q, given, annotations.prior(given, 0.1, 2.0)).numpy()
    counts, prior = given.numpy(), annotations.prior(given, 0.1, 2.0).numpy()
    by_power = {}
    for power in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        by_power[power] = 0.0
        for i, r, y in zip(crowd.task, crowd.worker, crowd.label, strict=True):
            own, m = q[i].numpy(), (crowd.task == i).sum()
            rows = counts[r] + prior
            rows[:, y] -= own
            given = rows[:, y] / rows.sum(1)
            features = np.log(own) - every[i] / (1 + (m - 1) * shared)
            without = np.exp(power * (features + (every[i] - np.log(given)) / (1 + (m - 2) * shared)))
            by_power[power] += np.log((without / without.sum() * given).sum())
    power = posterior_power(fit, annotations, EmOptions())
    assert power == max(by_power, key=by_power.get)
    assert power < 1 or sureness == 1


def test_a_random_label_of_every_task_that_has_another_is_held_out():
    task = torch.tensor([0, 0, 0, 1, 3, 3])
    annotations = Annotations(task, torch.arange(6), torch.zeros(6, dtype=torch.long), 4, 6, 2)
    drawn = [annotations.one_of_each_task(draw) for draw in (0, 1)]
    for out in drawn:
        assert torch.bincount(task[out], minlength=4).tolist() == [1, 0, 0, 1]
    assert not (drawn[0] & drawn[1]).any()
    rest = annotations.where(~drawn[0])
    assert rest.n_tasks == 4
    assert torch.equal(rest.worker, torch.arange(6)[~drawn[0]])


def test_the_posterior_is_calibrated_by_em_without_the_labels_that_judge_it():
    annotations, options = of_crowd(featured_crowd(n_tasks=120, per_task=3, accuracy=0.6)), EmOptions()
    noise = np.random.default_rng(0).standard_normal((annotations.n_tasks, 60))  # EM can only learn it by heart
    blocks = Blocks(torch.from_numpy(noise - noise.mean(0)))
    fit = fit_gaussians(blocks, annotations, options, 0.3, 1.0, 0)
    likelihood = dict.fromkeys((1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1), 0.0)
    for draw in range(2):
        out = annotations.one_of_each_task(draw)
        rest = annotations.where(~out)
        without = fit_gaussians(blocks, rest, EmOptions(rounds=10), 0.3, 1.0, 0, None, fit.posterior)
        for i, r, y in zip(annotations.task[out], annotations.worker[out], annotations.label[out], strict=True):
            for power in likelihood:
                q = without.posterior[i].numpy() ** power
                likelihood[power] += np.log(q / q.sum() @ without.confusion[r, :, y].numpy())
    power = held_out_power(fit, blocks, annotations, options, 0.3, 1.0)
    assert power == max(likelihood, key=likelihood.get) < posterior_power(fit, annotations, options)


def test_without_a_second_label_none_is_held_out():
    annotations = of_crowd(featured_crowd(n_tasks=60, per_task=1, accuracy=0.7))
    blocks = Blocks(torch.from_numpy(np.random.default_rng(0).standard_normal((annotations.n_tasks, 5))))
    fit = fit_gaussians(blocks, annotations, EmOptions(), 0.3, 1.0, 0)
    power = held_out_power(fit, blocks, annotations, EmOptions(), 0.3, 1.0)
    assert power == posterior_power(fit, annotations, EmOptions())


def test_the_posterior_is_as_sure_as_gold_of_annotated_tasks_that_are_held_out_allows():
    crowd = featured_crowd(n_tasks=200, per_task=3, accuracy=0.5)
    problem = make_problem(crowd, TrainSettings(select_on="holdout", holdout=0.2))
    gaussians = choose_gaussians(problem, GaussianSettings())
    held_out = np.arange(problem.n_train, problem.splits["valid"].stop)
    inputs = problem.preparation(torch.from_numpy(problem.rows[problem.order[held_out]]))
    log_p = gaussians.fit.log_probs(gaussians.space(inputs, torch.float64)).numpy()
    likelihood = {}
    for power in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1):
        likelihood[power] = 0.0
        for i, features in zip(held_out, log_p, strict=True):
            of_task = problem.task == i
            weight = 1 / (1 + (of_task.sum() - 1) * gaussians.fit.shared)
            given = gaussians.fit.confusion.numpy()[problem.worker[of_task], :, problem.label[of_task]]
            q = np.exp(power * (features + weight * np.log(given).sum(0)))
            likelihood[power] += np.log(q[problem.gold[i]] / q.sum())
    assert gaussians.power == max(likelihood, key=likelihood.get) < 1
    assert any(f"{len(held_out)} annotated validation tasks" in note for note in notes_on([gaussians]))


def test_the_posterior_that_is_shown_has_the_same_classes_as_the_targets():
    crowd = featured_crowd(n_tasks=80, per_task=3)
    gaussians = choose_gaussians(make_problem(crowd, TrainSettings(select_on="none")), GaussianSettings(rounds=3))
    tempered = replace(gaussians, power=0.5)
    assert (tempered.posterior.argmax(1) == gaussians.fit.posterior.argmax(1)).all()
    torch.testing.assert_close(replace(gaussians, power=1.0).posterior, gaussians.fit.posterior)
    expected = gaussians.fit.posterior.sqrt() / gaussians.fit.posterior.sqrt().sum(1, keepdim=True)
    torch.testing.assert_close(tempered.posterior, expected)
