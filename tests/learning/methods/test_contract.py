"""What every method found in the folder must do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning import load_result, methods, train
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.data import Batch
from tests.learning.helpers import (
    EMBEDDING,
    HIDDEN,
    N_CLASSES,
    N_WORKERS,
    built,
    featured_crowd,
    gradients,
    objective,
    same_results,
)

NAMES = methods.names()
pytestmark = [pytest.mark.parametrize("name", NAMES), pytest.mark.usefixtures("short_trials")]


def test_it_is_described(name):
    method = methods.get(name)
    assert method.name == name
    assert method.title and method.paper and method.__doc__
    schema = method.Settings.model_json_schema()
    assert all(p.get("description") for p in schema.get("properties", {}).values())
    assert not set(method.Settings.model_fields) & set(TrainSettings.model_fields), "the names would clash in train()"
    assert method.Settings.model_config["frozen"]


def test_the_gradient_reaches_everything_that_is_trained(name):
    module, _, batch = built(name, featured_crowd())
    found = gradients(module, batch)
    assert all(torch.isfinite(g).all() for g in found.values())
    assert all((g != 0).any() for g in found.values()), {k: float(g.abs().max()) for k, g in found.items()}
    assert any(k.startswith("classifier.") for k in found)


def padded(batch: Batch, n: int) -> Batch:
    """The same batch with ``n`` annotations of weight 0 that name other tasks, workers and labels."""

    def more(field: torch.Tensor, high: int) -> torch.Tensor:
        return torch.cat([field, torch.randint(high, (n,), generator=torch.Generator().manual_seed(0))])

    return batch._replace(
        row=more(batch.row, len(batch.features)),
        worker=more(batch.worker, N_WORKERS),
        label=more(batch.label, N_CLASSES),
        weight=torch.cat([batch.weight, torch.zeros(n, dtype=batch.weight.dtype)]),
    )


def test_missing_annotations_contribute_exactly_nothing(name):
    crowd = featured_crowd()
    module, _, batch = built(name, crowd)
    other, _, _ = built(name, crowd)
    more = padded(batch, 1)
    assert objective(module, batch).item() == pytest.approx(objective(other, more).item(), rel=1e-15)
    module, other = built(name, crowd)[0], built(name, crowd)[0]
    plain, with_padding = gradients(module, batch), gradients(other, padded(batch, 17))
    for k in plain:
        torch.testing.assert_close(plain[k], with_padding[k], rtol=1e-12, atol=1e-16)


def permute(tensor: torch.Tensor, order: np.ndarray, size: int) -> torch.Tensor:
    """Every axis of length ``size`` reordered; one of R·C outputs counts workers, and for each its classes."""
    for axis in range(tensor.dim()):
        if tensor.shape[axis] == N_WORKERS * N_CLASSES:
            grid = permute(torch.arange(N_WORKERS * N_CLASSES).view(N_WORKERS, N_CLASSES), order, size)
            tensor = tensor.index_select(axis, grid.flatten())
        elif tensor.shape[axis] == size:
            tensor = tensor.index_select(axis, torch.from_numpy(order))
    return tensor


def same_after(name: str, order: np.ndarray, size: int, other_crowd, annotations: np.ndarray | None = None) -> None:
    """A method with all axes of length ``size`` reordered explains the reordered crowd as well as before."""
    module, problem, batch = built(name, featured_crowd())
    other, _, other_batch = built(name, other_crowd)
    assert len({N_CLASSES, N_WORKERS, HIDDEN, EMBEDDING, 6, problem.n_train}) == 6, "axes must be told by their length"
    with torch.no_grad():
        source = dict([*module.named_parameters(), *module.named_buffers()])
        for k, v in [*other.named_parameters(), *other.named_buffers()]:
            value = permute(source[k], order, size)
            v.copy_(value if annotations is None else permute(value, annotations, len(annotations)))
    assert objective(module, batch).item() == pytest.approx(objective(other, other_batch).item(), rel=1e-9)
    for k, v in module.recovered().items():
        if k != "group":
            torch.testing.assert_close(permute(v, order, size), other.recovered()[k], rtol=1e-6, atol=1e-8)


def test_renaming_classes_renames_what_is_learnt(name):
    order, crowd = np.array([2, 0, 1]), featured_crowd()
    new_label = np.argsort(order)
    renamed = replace(
        crowd,
        label=new_label[crowd.label],
        gold=new_label[crowd.gold],
        classes=tuple(np.array(crowd.classes)[order]),
    )
    same_after(name, order, N_CLASSES, renamed)


def test_the_order_of_workers_does_not_matter(name):
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
    same_after(name, order, N_WORKERS, reordered, annotations=again)


def test_what_is_recovered_follows_the_conventions_and_is_saved(name, tmp_path):
    result = train(featured_crowd(), name, seeds=2, epochs=2, select_on="gold", batch_size=16)
    confusions = [c for c in (result.worker_confusion, result.common_confusion) if c is not None]
    for confusion in confusions:
        assert confusion.dtype == np.float64
        assert confusion.shape[0] == 2 and confusion.shape[-2:] == (N_CLASSES, N_CLASSES)
        sums = confusion.sum(-1)
        np.testing.assert_allclose(sums[~np.isnan(sums)], 1, atol=1e-6)
    if result.worker_confusion is not None:
        assert result.worker_confusion.shape[1] == N_WORKERS
    if methods.get(name).omega is not CrowdMethod.omega:
        assert result.omega is not None and ((result.omega > 0) & (result.omega < 1)).all()
    np.testing.assert_allclose(result.probabilities["selected"].sum(-1), 1, atol=1e-5)
    same_results(load_result(result.save(tmp_path / "run")), result, np.asarray(featured_crowd().features)[:5])


def test_it_learns(name):
    crowd = featured_crowd(n_tasks=300, n_workers=8, per_task=3)
    chosen = {"chosen": "dl-em"} if methods.get(name).candidates else {}
    result = train(crowd, name, seeds=2, epochs=20, batch_size=36, lr=0.01, select_on="gold", **chosen)
    assert result.accuracy("test").min() > 0.7
    assert result.curves["loss"][-1].mean() < result.curves["loss"][0].mean()


def test_one_worker_and_tied_sizes_are_no_problem(name):
    crowd = featured_crowd(n_tasks=90, n_workers=1, per_task=1, n_classes=2)
    result = train(crowd, name, seeds=1, epochs=2, select_on="gold")
    assert np.isfinite(result.curves["loss"]).all()
    assert any("only one worker" in note for note in result.notes)


ODD = {  # case -> what a note must say of it
    "idle workers, a label of one, tasks without labels, a class nobody used": "No worker gave the label 'unseen'",
    "two classes, a label a task": "",
    "equal features": "All training tasks have the same features",
}


def made(case: str) -> CrowdDataset:
    """A crowd that is odd."""
    if case.startswith("two classes"):
        return featured_crowd(n_tasks=90, per_task=1, n_classes=2)
    crowd = featured_crowd(n_tasks=90, per_task=3)
    if case == "equal features":
        return replace(crowd, features=Rows.from_array(np.ones((90, 6), np.float32)))
    crowd = crowd.where((crowd.worker < 4) & (crowd.task % 2 == 0))
    once = (crowd.worker != 2) | (np.arange(crowd.n_annotations) == np.argmax(crowd.worker == 2))
    return replace(crowd.where(once), classes=(*crowd.classes, "unseen"))


@pytest.mark.parametrize("case", ODD)
def test_odd_crowds_give_finite_results_and_say_what_is_odd(case, name):
    crowd = made(case)
    try:
        result = train(crowd, name, seeds=1, epochs=1, select_on="gold", batch_size=5000)
    except DataError as refusal:
        assert case == "equal features" and "have the same features" in str(refusal)
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
    assert any(ODD[case] in note for note in result.notes)
