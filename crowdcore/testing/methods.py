"""Promises of every learning method, and `check_method` to hold your own to them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning import load_result, methods, train, trials
from crowdcore.learning.api import split_settings
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.data import Batch, Data
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import Problem, make_problem
from crowdcore.testing.crowds import featured_crowd, rearrange, run_checks

CPU = torch.device("cpu")
N_CLASSES, N_WORKERS, N_FEATURES, HIDDEN, EMBEDDING = 3, 5, 6, 7, 4  # all different: lengths identify axes

Method: TypeAlias = "str | type[CrowdMethod]"


@lru_cache
def posed(crowd: CrowdDataset, training: str) -> Problem:
    """Problem with settings in JSON, made once, so that fits of methods on it are shared by all tests."""
    return make_problem(crowd, TrainSettings.model_validate_json(training))


def small(method: Method, **settings: Any) -> dict[str, Any]:
    """Settings that make the sizes of a method's tensors differ from each other."""
    sizes: dict[str, Any] = {"backbone_settings": {"hidden": HIDDEN}, "select_on": "gold"}
    if "embedding" in methods.get(method).Settings.model_fields:
        sizes["embedding"] = EMBEDDING
    return {**sizes, **settings}


def built(
    name: Method, crowd: CrowdDataset, seed: int = 0, noise: float = 0.3, **settings: Any
) -> tuple[CrowdMethod, Problem, Batch]:
    """Build a method in float64 and evaluation mode, away from its symmetric start, and its whole training set."""
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
    """Convert the floating-point fields of a batch to float64."""
    parts: Any = (f.double() if f is not None and f.is_floating_point() else f for f in batch)
    return Batch(*parts)


def same_results(loaded: TrainingResult, result: TrainingResult, features: AnyArray) -> None:
    """Check that every field and prediction of a result equals that of one read from a file, which has no dataset."""
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
    """Sum of the terms of the loss."""
    return torch.stack(list(module.loss(batch).values())).sum()


def gradients(module: CrowdMethod, batch: Batch) -> dict[str, Tensor]:
    """Gradient of the objective for every parameter; zeros where it does not depend on it."""
    names, parameters = zip(*module.named_parameters(), strict=True)
    grads = torch.autograd.grad(objective(module, batch), parameters, allow_unused=True)
    return {n: torch.zeros_like(p) if g is None else g for n, p, g in zip(names, parameters, grads, strict=True)}


def _is_described(method: Method) -> None:
    kind = methods.get(method)
    assert kind.name and kind.title and kind.paper, "`name`, `title` and `paper` must be given"
    assert kind.__doc__, "the class docstring must state the loss"
    schema = kind.Settings.model_json_schema()
    assert all(p.get("description") for p in schema.get("properties", {}).values()), "every setting needs a description"
    assert not set(kind.Settings.model_fields) & set(TrainSettings.model_fields), "the names would clash in train()"
    assert kind.Settings.model_config["frozen"], "settings must be frozen"


def _gradients_reach_everything(method: Method) -> None:
    module, _, batch = built(method, featured_crowd())
    grads = gradients(module, batch)
    assert all(torch.isfinite(g).all() for g in grads.values())
    assert all((g != 0).any() for g in grads.values()), {k: float(g.abs().max()) for k, g in grads.items()}
    assert any(k.startswith("classifier.") for k in grads)


def _padded(batch: Batch, n: int) -> Batch:
    """Add ``n`` annotations of weight 0, of other tasks, workers and labels, to a batch."""

    def more(field: Tensor, high: int) -> Tensor:
        return torch.cat([field, torch.randint(high, (n,), generator=torch.Generator().manual_seed(0))])

    return batch._replace(
        row=more(batch.row, len(batch.features)),
        worker=more(batch.worker, N_WORKERS),
        label=more(batch.label, N_CLASSES),
        weight=torch.cat([batch.weight, torch.zeros(n, dtype=batch.weight.dtype)]),
    )


def _missing_annotations_contribute_nothing(method: Method) -> None:
    crowd = featured_crowd()
    module, _, batch = built(method, crowd)
    other, _, _ = built(method, crowd)
    plain, more = objective(module, batch).item(), objective(other, _padded(batch, 1)).item()
    np.testing.assert_allclose(plain, more, rtol=1e-15)
    module, other = built(method, crowd)[0], built(method, crowd)[0]
    without, with_padding = gradients(module, batch), gradients(other, _padded(batch, 17))
    for k in without:
        torch.testing.assert_close(without[k], with_padding[k], rtol=1e-12, atol=1e-16)


def _permuted(tensor: Tensor, order: IntArray, size: int) -> Tensor:
    """Reorder every axis of length ``size``; one of R·C outputs runs over workers, and within each over classes."""
    for axis in range(tensor.dim()):
        if tensor.shape[axis] == N_WORKERS * N_CLASSES:
            grid = _permuted(torch.arange(N_WORKERS * N_CLASSES).view(N_WORKERS, N_CLASSES), order, size)
            tensor = tensor.index_select(axis, grid.flatten())
        elif tensor.shape[axis] == size:
            tensor = tensor.index_select(axis, torch.from_numpy(order))
    return tensor


def _same_after(
    method: Method, order: IntArray, size: int, other_crowd: CrowdDataset, annotations: IntArray | None = None
) -> None:
    """Check that a method with all axes of length ``size`` reordered explains the reordered crowd as well as before."""
    module, problem, batch = built(method, featured_crowd())
    other, _, other_batch = built(method, other_crowd)
    assert len({N_CLASSES, N_WORKERS, HIDDEN, EMBEDDING, N_FEATURES, problem.n_train}) == 6
    with torch.no_grad():
        source = dict([*module.named_parameters(), *module.named_buffers()])
        for k, v in [*other.named_parameters(), *other.named_buffers()]:
            value = _permuted(source[k], order, size)
            v.copy_(value if annotations is None else _permuted(value, annotations, len(annotations)))
    np.testing.assert_allclose(objective(module, batch).item(), objective(other, other_batch).item(), rtol=1e-9)
    for k, v in module.recovered().items():
        if k != "group":
            torch.testing.assert_close(_permuted(v, order, size), other.recovered()[k], rtol=1e-6, atol=1e-8)


def _renaming_classes_renames_what_is_learnt(method: Method) -> None:
    order = np.array([2, 0, 1])
    _same_after(method, order, N_CLASSES, rearrange(featured_crowd(), classes=order))


def _the_order_of_workers_does_not_matter(method: Method) -> None:
    order, crowd = np.array([3, 0, 4, 1, 2]), featured_crowd()
    number = np.argsort(order)[crowd.worker]
    again = np.lexsort([number, crowd.task])
    reordered = replace(
        crowd,
        task=crowd.task[again],
        worker=number[again],
        label=crowd.label[again],
        worker_ids=pd.Index(np.array(crowd.worker_ids)[order]),
    )
    _same_after(method, order, N_WORKERS, reordered, annotations=again)


def _what_is_recovered_follows_the_conventions_and_is_saved(method: Method) -> None:
    result = train(featured_crowd(), method, seeds=2, epochs=2, select_on="gold", batch_size=16)
    for confusion in (c for c in (result.worker_confusion, result.common_confusion) if c is not None):
        assert confusion.dtype == np.float64
        assert confusion.shape[0] == 2 and confusion.shape[-2:] == (N_CLASSES, N_CLASSES)
        sums = confusion.sum(-1)
        np.testing.assert_allclose(sums[~np.isnan(sums)], 1, atol=1e-6)
    if result.worker_confusion is not None:
        assert result.worker_confusion.shape[1] == N_WORKERS
    if methods.get(method).omega is not CrowdMethod.omega:
        assert result.omega is not None and ((result.omega > 0) & (result.omega < 1)).all()
    np.testing.assert_allclose(result.probabilities["selected"].sum(-1), 1, atol=1e-5)
    with tempfile.TemporaryDirectory() as folder:
        loaded: Any = load_result(result.save(Path(folder) / "run"))
        same_results(loaded, result, np.asarray(featured_crowd().features)[:5])


def _it_learns(method: Method) -> None:
    crowd = featured_crowd(n_tasks=300, n_workers=8, per_task=3)
    chosen: dict[str, Any] = {"chosen": "dl-em"} if methods.get(method).candidates else {}
    result = train(crowd, method, seeds=2, epochs=20, batch_size=36, lr=0.01, select_on="gold", **chosen)
    assert result.accuracy("test").min() > 0.7
    assert result.curves["loss"][-1].mean() < result.curves["loss"][0].mean()


def _one_worker_is_no_problem(method: Method) -> None:
    crowd = featured_crowd(n_tasks=90, n_workers=1, per_task=1, n_classes=2)
    result = train(crowd, method, seeds=1, epochs=2, select_on="gold")
    assert np.isfinite(result.curves["loss"]).all()
    assert any("only one worker" in note for note in result.notes)


_ODD = {  # crowd -> words of a note on it
    "idle workers, a label of one, tasks without labels, a class nobody used": "No worker gave the label 'unseen'",
    "two classes, a label a task": "",
    "equal features": "All training tasks have the same features",
}


def _odd_crowd(case: str) -> CrowdDataset:
    """Make an odd crowd."""
    if case.startswith("two classes"):
        return featured_crowd(n_tasks=90, per_task=1, n_classes=2)
    crowd = featured_crowd(n_tasks=90, per_task=3)
    if case == "equal features":
        return replace(crowd, features=Rows.from_array(np.ones((90, N_FEATURES), np.float32)))
    crowd = crowd.where((crowd.worker < 4) & (crowd.task % 2 == 0))
    once = (crowd.worker != 2) | (np.arange(crowd.n_annotations) == np.argmax(crowd.worker == 2))
    return replace(crowd.where(once), classes=(*crowd.classes, "unseen"))


def _odd_crowds_give_finite_results_and_are_told(method: Method, case: str) -> None:
    crowd = _odd_crowd(case)
    try:
        result = train(crowd, method, seeds=1, epochs=1, select_on="gold", batch_size=5000)
    except DataError as refusal:
        assert case == "equal features" and "have the same features" in str(refusal), refusal
        return
    for at in ("selected", "last"):
        np.testing.assert_allclose(result.probabilities[at].sum(-1), 1, rtol=1e-4)
    for matrices in (result.worker_confusion, result.common_confusion):
        if matrices is not None:
            seen = ~np.isnan(matrices).all(-1)  # a row without evidence is NaN
            np.testing.assert_allclose(matrices[seen].sum(-1), 1, rtol=1e-4)
    idle = crowd.where(crowd.split[crowd.task] == 0).labels_per_worker == 0
    if result.worker_weight is not None:
        assert (np.isnan(result.worker_weight[0]) == idle).all()
    assert any(_ODD[case] in note for note in result.notes)


METHOD_CHECKS: Mapping[str, Callable[[Any], None]] = {
    "it is described": _is_described,
    "the gradient reaches everything that is trained": _gradients_reach_everything,
    "missing annotations contribute exactly nothing": _missing_annotations_contribute_nothing,
    "renaming classes renames what is learnt": _renaming_classes_renames_what_is_learnt,
    "the order of workers does not matter": _the_order_of_workers_does_not_matter,
    "what is recovered follows the conventions and is saved": _what_is_recovered_follows_the_conventions_and_is_saved,
    "it learns": _it_learns,
    "one worker is no problem": _one_worker_is_no_problem,
    **{f"a crowd with {case}": partial(_odd_crowds_give_finite_results_and_are_told, case=case) for case in _ODD},
}
"""Promise -> the function that checks it."""


def check_method(method: Method, only: str = "") -> None:
    """Check the promises of a learning method: gradients, order, names, saving, learning, odd crowds.

    Args:
        method: a name or class.
        only: one of `METHOD_CHECKS`; "": all of them.

    Raises:
        AssertionError: it breaks a promise, which a note names.
        SettingError: no such method or check.

    Examples:
        >>> check_method("dl-mv", "it is described")
    """
    with mock.patch.multiple(trials, FOLDS=2, REPLICAS=1):  # for methods that try others
        run_checks(METHOD_CHECKS, only, method, methods.get(method).name)
