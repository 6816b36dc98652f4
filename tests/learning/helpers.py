"""A small crowd with features whose sizes are all different, and a method built on it in float64."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning import methods
from crowdcore.learning.api import split_settings
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.data import Batch, Data
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import Problem, make_problem
from testkit.crowds import simulate_crowd

CPU = torch.device("cpu")
N_CLASSES, N_WORKERS, N_FEATURES, HIDDEN, EMBEDDING = 3, 5, 6, 7, 4


@lru_cache
def featured_crowd(
    n_tasks: int = 60,
    n_workers: int = N_WORKERS,
    n_classes: int = N_CLASSES,
    per_task: int = 2,
    n_features: int = N_FEATURES,
    accuracy: float = 0.75,
    seed: int = 0,
    splits: tuple[float, float] = (0.6, 0.2),
) -> CrowdDataset:
    """Gaussian classes two standard deviations apart, train/valid/test split, annotations on train alone."""
    crowd = simulate_crowd(n_tasks, n_workers, n_classes, per_task, accuracy, seed)
    rng = np.random.default_rng(seed + 1)
    centres = 2 * rng.standard_normal((n_classes, n_features))
    features = (centres[crowd.gold] + rng.standard_normal((n_tasks, n_features))).astype(np.float32)
    edges = np.round(np.cumsum(splits) * n_tasks).astype(int)
    split = np.searchsorted(edges, np.arange(n_tasks), side="right").astype(np.int8)
    crowd = replace(crowd, features=Rows.from_array(features), split=split)
    return crowd.where(split[crowd.task] == 0)


@lru_cache
def posed(crowd: CrowdDataset, training: str) -> Problem:
    """The problem that settings in JSON pose; what methods find of it once is found once for all tests."""
    return make_problem(crowd, TrainSettings.model_validate_json(training))


def small(method: str, **settings: Any) -> dict[str, Any]:
    """Settings that make the sizes of a method's tensors differ from each other."""
    sizes: dict[str, Any] = {"backbone_settings": {"hidden": HIDDEN}, "select_on": "gold"}
    if "embedding" in methods.get(method).Settings.model_fields:
        sizes["embedding"] = EMBEDDING
    return {**sizes, **settings}


def built(
    name: str, crowd: CrowdDataset, seed: int = 0, noise: float = 0.3, **settings: Any
) -> tuple[CrowdMethod, Problem, Batch]:
    """A method in float64 and evaluation mode, away from its symmetric start, and its whole training set."""
    method = methods.get(name)
    training, own = split_settings(method, small(name, **settings))
    problem = posed(crowd, training.model_dump_json())
    module = make_replicas(problem, method, [Replica(own, seed)], training)[0].double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(noise * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    data = Data(problem, CPU, targets=method.targets(problem, own))
    return module, problem, in_double(data.stretch(slice(0, problem.n_train)))


def in_double(batch: Batch) -> Batch:
    """The batch with its floating-point fields in float64."""
    return Batch(*(f.double() if f is not None and f.is_floating_point() else f for f in batch))


def same_results(loaded: TrainingResult, result: TrainingResult, features: np.ndarray) -> None:
    """Every field and prediction of a result is that of another, which was read from a file and has no dataset."""
    for field in (each for each in fields(result) if each.name != "crowd"):
        a, b = getattr(result, field.name), getattr(loaded, field.name)
        if isinstance(a, dict):
            assert set(a) == set(b), field.name
        for x, y in [(a[k], b[k]) for k in a] if isinstance(a, dict) else [(a, b)]:
            if field.name == "preparation":
                assert x.image == y.image and np.array_equal(x.mean, y.mean) and np.array_equal(x.scale, y.scale)
            elif isinstance(x, np.ndarray):
                assert x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), field.name
            else:
                assert x == y, field.name
    np.testing.assert_allclose(loaded.predict_proba(features), result.predict_proba(features))


def objective(module: CrowdMethod, batch: Batch) -> torch.Tensor:
    """The sum of the loss's terms."""
    return torch.stack(list(module.loss(batch).values())).sum()


def gradients(module: CrowdMethod, batch: Batch) -> dict[str, torch.Tensor]:
    """Gradient of the objective for every parameter; zeros where it does not depend on it."""
    names, parameters = zip(*module.named_parameters(), strict=True)
    found = torch.autograd.grad(objective(module, batch), parameters, allow_unused=True)
    return {n: torch.zeros_like(p) if g is None else g for n, p, g in zip(names, parameters, found, strict=True)}


def numerical_gradient(function: Any, module: CrowdMethod, name: str, entries: int = 6) -> tuple[Any, Any]:
    """Flat positions in parameter ``name`` and central differences of ``function()`` there."""
    parameter = dict(module.named_parameters())[name].detach().view(-1)
    where = np.random.default_rng(0).permutation(len(parameter))[:entries]
    step, slopes = 1e-6, []
    for k in where:
        before = parameter[k].item()
        parameter[k] = before + step
        up = function()
        parameter[k] = before - step
        down = function()
        parameter[k] = before
        slopes.append((up - down) / (2 * step))
    return where, np.array(slopes)
