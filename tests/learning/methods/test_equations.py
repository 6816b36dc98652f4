"""Loss and gradient of every method, and CCC's epoch, against a slow transcription of their equations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from crowdcore.core.errors import SettingError
from crowdcore.learning import methods
from crowdcore.learning.base import EpochContext
from testkit.training import train_as
from tests.learning.helpers import N_WORKERS, built, featured_crowd, gradients, numerical_gradient, objective
from tests.learning.methods import oracle, oracle_peers

KNOWN = np.random.default_rng(5).standard_normal((N_WORKERS, 2)).astype(np.float32)


CASES = {
    "auto": [({"chosen": "dl-mv targets=hard"}, oracle.target_cross_entropy)],
    "dl-mv": [({}, oracle.target_cross_entropy), ({"targets": "hard"}, oracle.target_cross_entropy)],
    "dl-ds": [({}, oracle.target_cross_entropy)],
    "dl-glad": [({}, oracle.target_cross_entropy)],
    "dl-wc": [({}, oracle.target_cross_entropy)],
    "dl-aggregate": [({"aggregator": "dawid-skene"}, oracle.target_cross_entropy)],
    "gaussian-em": [({}, oracle.target_cross_entropy), ({"label_smoothing": 0.0}, oracle.target_cross_entropy)],
    "dl-true": [({}, oracle.target_cross_entropy)],
    "vanilla": [({}, oracle.vanilla)],
    "soft-bootstrap": [({}, oracle.soft_bootstrap), ({"trust": 0.6}, oracle.soft_bootstrap)],
    "single-cm": [({"strength": 0.3}, oracle.single_cm)],
    "trace": [({}, oracle.trace), ({"strength": 0.0}, oracle.trace)],
    "crowd-layer": [({"connection": c}, lambda s, c=c: oracle.crowd_layer(s, c)) for c in ("mw", "vw", "vw+b")]
    + [({"rank": 2}, lambda s: oracle.crowd_layer(s, "mw"))],
    "crowd-layer-over": [({}, oracle.crowd_layer_over)],
    "conal": [
        ({"regularisation": 0.02}, lambda s: oracle.conal(s, "mixture", "features", "none")),
        ({"variant": "paper", "regularisation": 0.02}, lambda s: oracle.conal(s, "paper", "features", "both")),
        ({"variant": "authors", "regularisation": 0.02}, lambda s: oracle.conal(s, "authors", "two-layer", "both")),
        ({"normalise": "worker"}, lambda s: oracle.conal(s, "mixture", "features", "worker")),
        ({"omega_input": "task"}, lambda s: oracle.conal(s, "mixture", "task", "none")),
        (
            {"variant": "paper", "rank": 2, "regularisation": 0.02},
            lambda s: oracle.conal(s, "paper", "features", "both"),
        ),
    ],
    "conal-groups": [
        ({"regularisation": 0.02}, lambda s: oracle.conal_groups(s, "none")),
        ({"normalise": "both"}, lambda s: oracle.conal_groups(s, "both")),
    ],
    "ccc": [
        ({}, lambda s: oracle.ccc(s, "paper")),
        ({"variant": "authors"}, lambda s: oracle.ccc(s, "authors")),
    ],
    "generalized-em": [({}, oracle.generalized_em), ({"smoothing": 2.0}, oracle.generalized_em)],
    "max-mig": [({}, oracle_peers.max_mig), ({"prior": "votes"}, oracle_peers.max_mig)],
    "doctor-net": [({}, oracle_peers.doctor_net)],
    "unionnet": [({"variant": v}, lambda s, v=v: oracle_peers.unionnet(s, v)) for v in "ab"],
    "mbem": [({}, oracle_peers.posterior_cross_entropy)],
    "geocrowdnet": [({"volume": v, "strength": 0.3}, lambda s, v=v: oracle_peers.geocrowdnet(s, v)) for v in "fw"],
    "crowdlab": [({"folds": 0}, oracle_peers.posterior_cross_entropy)],
    "coinnet": [({"strength": 0.3, "sparsity": 0.5}, oracle_peers.coinnet)],
    "annot-mix": [({}, oracle_peers.annot_mix)],
    "crowdar": [({}, oracle_peers.crowdar), ({"trust": 0.4}, oracle_peers.crowdar)],
}
FLAT = [(name, settings, expected) for name, cases in CASES.items() for settings, expected in cases]


@pytest.mark.parametrize(("name", "settings", "expected"), FLAT, ids=[f"{n}-{s}" for n, s, _ in FLAT])
def test_loss_and_gradient_are_those_of_the_equations(name, settings, expected):
    module, _, batch = built(name, featured_crowd(n_tasks=40), **settings)
    assert objective(module, batch).item() == pytest.approx(expected(oracle.State(module, batch)), rel=1e-10)
    found = gradients(module, batch)
    for parameter in found:
        where, slopes = numerical_gradient(lambda: expected(oracle.State(module, batch)), module, parameter)
        np.testing.assert_allclose(found[parameter].flatten().numpy()[where], slopes, rtol=1e-4, atol=2e-9)


def test_every_method_has_an_equation_to_compare_with():
    """Here, or in a file of its own: ``test_<method>.py``."""
    here, files = {*CASES, "dl-em", "wdn", "madl"}, Path(__file__).parent.glob("test_*.py")
    assert here <= set(methods.names())
    assert set(methods.names()) - here <= {file.stem.removeprefix("test_").replace("_", "-") for file in files}


def test_conal_takes_worker_features():
    crowd = featured_crowd(n_tasks=40)
    from crowdcore.learning.api import split_settings
    from crowdcore.learning.training.data import Data
    from crowdcore.learning.training.loop import Replica, make_replicas
    from crowdcore.learning.training.problem import make_problem
    from tests.learning.helpers import CPU, in_double, small

    conal = methods.get("conal")
    training, own = split_settings(conal, small("conal"))
    problem = make_problem(crowd, training, worker_features=KNOWN)
    module = make_replicas(problem, conal, [Replica(own, 3)], training)[0].double().eval()
    batch = in_double(Data(problem, CPU).stretch(slice(0, problem.n_train)))
    state = oracle.State(module, batch)
    assert objective(module, batch).item() == pytest.approx(
        oracle.conal(state, "mixture", "features", "none", KNOWN.astype(float)), rel=1e-10
    )


@pytest.mark.parametrize("name", ["dl-em", "generalized-em"])
def test_em_steps_are_those_of_the_equations(name):
    module, problem, batch = built(name, featured_crowd(n_tasks=40), smoothing=0.5)
    state = oracle.State(module, batch)
    votes = np.zeros((problem.n_train, 3))
    for i, _, y in state.annotations:
        votes[i, y] += 1
    votes /= votes.sum(1, keepdims=True)
    counts = oracle.m_step(votes, state.annotations, state["counts"].shape)
    np.testing.assert_allclose(state["counts"], counts, rtol=1e-6, err_msg="the start is the vote")
    q = oracle.e_step(state, oracle.em_confusion(state["counts"], 0.5))
    log_p = torch.tensor(np.log([state.p(i) for i in range(state.n)]))
    with torch.no_grad():
        module.start_epoch(EpochContext(0, log_p, batch.row, batch.worker, batch.label))
        np.testing.assert_allclose(module.counts.numpy(), counts, rtol=1e-6, err_msg="nothing happens before epoch 1")
        module.start_epoch(EpochContext(1, log_p, batch.row, batch.worker, batch.label))
    np.testing.assert_allclose(module.q.numpy(), q, rtol=1e-9)
    expected = oracle.m_step(q, state.annotations, state["counts"].shape)
    np.testing.assert_allclose(module.counts.numpy(), expected, rtol=1e-9, atol=1e-12)


def test_dl_em_trains_on_its_posterior():
    module, _, batch = built("dl-em", featured_crowd(n_tasks=40))
    state = oracle.State(module, batch)
    state.target = module.q.numpy()
    assert objective(module, batch).item() == pytest.approx(oracle.target_cross_entropy(state), rel=1e-10)


def test_incremental_em_is_em_when_the_batch_is_everything():
    crowd = featured_crowd(n_tasks=40)
    module, _, batch = built("dl-em", crowd, e_step="batch", smoothing=0.5)
    state = oracle.State(module, batch)
    q = oracle.e_step(state, oracle.em_confusion(state["counts"].copy(), 0.5))
    counts = oracle.m_step(q, state.annotations, state["counts"].shape)
    loss = objective(module, batch).item()
    np.testing.assert_allclose(module.q.numpy(), q, rtol=1e-9)
    np.testing.assert_allclose(module.counts.numpy(), counts, atol=1e-6)
    state.target = q
    assert loss == pytest.approx(oracle.target_cross_entropy(state), rel=1e-10)


@pytest.mark.parametrize("name", ["dl-em", "generalized-em"])
def test_a_task_can_be_left_out_of_the_confusions_that_judge_it(name):
    module, _, batch = built(name, featured_crowd(n_tasks=40), smoothing=0.5, leave_one_out=True)
    state = oracle.State(module, batch)
    votes, counts = module.q.numpy().copy(), state["counts"].copy()
    q = np.array([state.p(i) for i in range(state.n)])
    for i, r, y in state.annotations:
        own = counts[r].copy()
        for j, s, label in state.annotations:
            if (i, r, y) == (j, s, label):
                own[:, y] -= votes[i]
        q[i] *= (own + 0.5)[:, y] / (own + 0.5).sum(1)
    q /= q.sum(1, keepdims=True)
    log_p = torch.tensor(np.log([state.p(i) for i in range(state.n)]))
    with torch.no_grad():
        module.start_epoch(EpochContext(1, log_p, batch.row, batch.worker, batch.label))
    np.testing.assert_allclose(module.q.numpy(), q, rtol=1e-6)


@pytest.mark.parametrize("name", ["dl-em", "generalized-em"])
def test_a_network_learns_nothing_from_its_own_fold(name):
    module, problem, batch = built(name, featured_crowd(n_tasks=40), folds=2)
    objective(module, batch).backward()
    seen = [module.classifier.networks[k].output.bias.grad.clone() for k in range(2)]
    alone = batch._replace(features=torch.where((module.fold == 0)[:, None], batch.features, 0 * batch.features))
    module.zero_grad()
    objective(module, alone).backward()
    torch.testing.assert_close(module.classifier.networks[1].output.bias.grad, seen[1])
    assert not torch.allclose(module.classifier.networks[0].output.bias.grad, seen[0])
    with torch.no_grad():
        own = module.train_log_probs(batch.features, batch.task)
        each = module.classifier.each(batch.features)
        torch.testing.assert_close(own, each[torch.arange(problem.n_train), module.fold])
        torch.testing.assert_close(module.log_probs(batch.features).exp(), each.exp().mean(1))
    with pytest.raises(SettingError, match="`folds` must be 0"):
        built(name, featured_crowd(n_tasks=40), folds=1)


def test_generalised_em_has_the_gradient_of_em_with_a_fresh_posterior():
    crowd = featured_crowd(n_tasks=40)
    em, _, batch = built("dl-em", crowd, e_step="batch")
    marginal, _, _ = built("generalized-em", crowd)
    for name, gradient in gradients(em, batch).items():
        np.testing.assert_allclose(gradient, gradients(marginal, batch)[name], rtol=1e-6, atol=1e-10)


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
