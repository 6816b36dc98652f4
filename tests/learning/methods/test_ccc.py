"""CCC's epoch and step against the paper's equations, spelt out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from crowdcore.learning.base import EpochContext
from testkit.training import train_as
from tests.learning.helpers import built, featured_crowd, gradients, objective
from tests.learning.methods import oracle

LR, GAMMA = 0.3, 0.4


def prepared(**settings):
    """A method whose epoch after the warm-up has begun, and its batch with a batch of the meta sets."""
    settings = {"lr": LR, "correction_rate": GAMMA, "n_groups": 2, "warm_up": 0.0, "meta_size": 9, **settings}
    module, _, batch = built("ccc", featured_crowd(n_tasks=20), **settings)
    with torch.no_grad():
        log_p = module.train_log_probs(batch.features, batch.task)
        module.start_epoch(EpochContext(0, log_p, batch.row, batch.worker, batch.label))
        task, label = (part[0] for part in module.extra(0, 1))
    return module, batch, batch._replace(extra=batch.features[task], extra_label=label), task


@pytest.mark.parametrize("variant", ["paper", "authors"])
def test_meta_sets_are_what_the_other_model_is_surest_of(variant):
    module, batch, _, _ = prepared(variant=variant, meta_layers="all", start="identity")
    state = oracle.State(module, batch)
    for k in range(2):
        found = list(zip(module.meta_task[k].tolist(), module.meta_label[k].tolist(), strict=True))
        for c, tasks in enumerate(oracle.distilled(state, k, 3, variant)):
            assert sorted(i for i, label in found if label == c) == sorted(tasks)


@pytest.mark.parametrize("layers", ["all", "last"])
def test_the_correction_is_the_gradient_through_the_virtual_step(layers):
    module, batch, with_meta, task = prepared(meta_layers=layers)
    state = oracle.State(module, batch)
    loss = objective(module, with_meta)
    corrected = state["matrices"].copy()
    for k in range(2):
        meta = list(zip(task[k].tolist(), with_meta.extra_label[k].tolist(), strict=True))
        v = oracle.correction(state, k, layers, meta, LR, GAMMA)
        np.testing.assert_allclose(module.correction[k].numpy(), v, rtol=1e-4, atol=1e-6)
        assert np.abs(v).max() == pytest.approx(GAMMA * corrected[k].max())
        corrected[k] += v[state["group"][k]]
    assert loss.item() == pytest.approx(oracle.ccc(state, "paper", corrected), rel=1e-6)


def test_the_actual_step_holds_the_correction_fixed():
    module, batch, with_meta, _ = prepared()
    found = gradients(module, with_meta)
    with torch.no_grad():
        for k in range(2):
            module.matrices[k] += module.correction[k][module.group[k]]
    for name, gradient in gradients(module, batch).items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-9, atol=1e-12)


def test_every_step_begins_without_a_correction():
    module, _, with_meta, _ = prepared()
    first = objective(module, with_meta).item()
    assert objective(module, with_meta).item() == first


def test_before_the_warm_up_ends_it_is_two_crowd_layers():
    crowd, run = featured_crowd(), {"seeds": 1, "epochs": 4, "batch_size": 16, "select_on": "gold", "record": False}
    plain = train_as(crowd, "ccc", warm_up=1.0, **run)
    assert not plain.correction.any() and not plain.group.any()
    ccc = train_as(crowd, "ccc", warm_up=0.5, n_groups=3, **run)
    np.testing.assert_array_equal(ccc.curves["loss"][:2], plain.curves["loss"][:2])
    assert (ccc.curves["loss"][2:] != plain.curves["loss"][2:]).all()
    assert ccc.last["correction"].any() and set(ccc.last["group"].flatten()) == {0, 1, 2}
