"""Methods against their equations, part by part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from crowdcore.core.errors import SettingError
from crowdcore.learning import load_result, methods, train
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
    "ccc": [({}, lambda s: oracle.ccc(s, "paper")), ({"variant": "authors"}, lambda s: oracle.ccc(s, "authors"))],
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
    grads = gradients(module, batch)
    for parameter in grads:
        where, slopes = numerical_gradient(lambda: expected(oracle.State(module, batch)), module, parameter)
        np.testing.assert_allclose(grads[parameter].flatten().numpy()[where], slopes, rtol=1e-4, atol=2e-9)


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
    with pytest.raises(SettingError, match=r"`folds`.*0"):
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
        by_pair = list(zip(module.meta_task[k].tolist(), module.meta_label[k].tolist(), strict=True))
        for c, tasks in enumerate(oracle.distilled(state, k, 3, variant)):
            assert sorted(i for i, label in by_pair if label == c) == sorted(tasks)


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
    grads = gradients(module, with_meta)
    with torch.no_grad():
        for k in range(2):
            module.matrices[k] += module.correction[k][module.group[k]]
    for name, gradient in gradients(module, batch).items():
        torch.testing.assert_close(grads[name], gradient, rtol=1e-9, atol=1e-12)


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


def test_the_prior_of_max_mig_is_uniform_or_the_mean_vote():
    module, problem, _ = built("max-mig", featured_crowd(n_tasks=40), prior="votes")
    np.testing.assert_allclose(module.log_prior.exp(), problem.votes().mean(0), rtol=1e-6)
    module, _, _ = built("max-mig", featured_crowd(n_tasks=40))
    np.testing.assert_allclose(module.log_prior.exp(), 1 / 3, rtol=1e-6)


def test_mbem_estimates_confusions_from_hard_predictions():
    module, _, batch = built("mbem", featured_crowd(n_tasks=40), smoothing=0.5, rounds=2, epochs=10)
    state = oracle.State(module, batch)
    p = np.array([state.p(i) for i in range(state.n)])
    hard = np.eye(3)[p.argmax(1)]
    counts = oracle.m_step(hard, state.annotations, state["counts"].shape)
    pi, share = oracle.em_confusion(counts, 0.5), hard.sum(0) + 0.5
    q = np.tile(share, (state.n, 1))
    for i, r, y in state.annotations:
        q[i] *= pi[r, :, y]
    votes = module.q.numpy().copy()
    with torch.no_grad():
        for epoch in (0, 4, 6):
            module.start_epoch(EpochContext(epoch, torch.tensor(np.log(p)), batch.row, batch.worker, batch.label))
        np.testing.assert_array_equal(module.q.numpy(), votes, err_msg="nothing happens within a round")
        module.start_epoch(EpochContext(5, torch.tensor(np.log(p)), batch.row, batch.worker, batch.label))
    np.testing.assert_allclose(module.q.numpy(), q / q.sum(1, keepdims=True), rtol=1e-6)


def test_the_weights_of_doctors_are_learnt_on_tasks_of_others_and_change_nothing_else():
    module, _, batch = built("wdn", featured_crowd(n_tasks=40), epochs=10, mixing_epochs=0.3)
    terms, state = module.loss(batch), oracle.State(module, batch)
    assert terms["cross_entropy"].item() == pytest.approx(oracle_peers.doctor_net(state), rel=1e-10)
    assert terms["mixing"].item() == pytest.approx(oracle_peers.mixing(state), rel=1e-10)
    w = oracle.softmax(state["classifier.weight"])
    mixture = [np.log(sum(w[r] * oracle_peers.head(state, i, r) for r in range(N_WORKERS))) for i in range(state.n)]
    np.testing.assert_allclose(module.log_probs(batch.features).detach().numpy(), mixture, rtol=1e-10)
    grads = gradients(module, batch)
    for parameter in grads:
        term = oracle_peers.mixing if parameter == "classifier.weight" else oracle_peers.doctor_net
        where, slopes = numerical_gradient(lambda term=term: term(oracle.State(module, batch)), module, parameter)
        np.testing.assert_allclose(grads[parameter].flatten().numpy()[where], slopes, rtol=1e-4, atol=2e-9)
    for epoch in (6, 7):
        module.start_epoch(EpochContext(epoch, batch.features, batch.row, batch.worker, batch.label))
        moves = {name for name, gradient in gradients(module, batch).items() if (gradient != 0).any()}
        assert moves == (set(grads) if epoch == 6 else {"classifier.weight"})


@pytest.mark.parametrize("name", ["doctor-net", "wdn"])
def test_heads_of_workers_without_training_labels_do_not_count(name):
    crowd = featured_crowd(n_tasks=40)
    crowd = crowd.where(crowd.worker != 2)
    module, problem, batch = built(name, crowd)
    state = oracle.State(module, batch)
    present = np.unique(problem.worker[: problem.n_train_annotations])
    assert len(present) == N_WORKERS - 1
    w = np.exp(state["classifier.weight"][present]) if name == "wdn" else np.ones(len(present))
    w /= w.sum()
    heads = np.array([[oracle_peers.head(state, i, r) for r in present] for i in range(state.n)])
    np.testing.assert_allclose(
        module.log_probs(batch.features).detach().numpy(), np.log(np.einsum("r,irc->ic", w, heads)), rtol=1e-10
    )
    if name == "wdn":
        assert module.loss(batch)["mixing"].item() == pytest.approx(oracle_peers.mixing(state, present), rel=1e-10)
        np.testing.assert_allclose(module.recovered()["worker_weight"].detach().numpy()[present], w, rtol=1e-10)
        gradient = gradients(module, batch)["classifier.weight"]
        assert gradient[2] == 0 and gradient.isfinite().all()


@pytest.mark.parametrize("name", ["doctor-net", "wdn"])
def test_a_kept_result_knows_whose_heads_count(name, tmp_path):
    crowd = featured_crowd(n_tasks=40)
    crowd = crowd.where(crowd.worker != 2)
    result = train(crowd, name, seeds=2, epochs=3, batch_size=8)
    again = load_result(result.save(tmp_path / "kept"))
    probabilities = again.predict_proba(crowd.features[np.flatnonzero(crowd.split == 2)])
    np.testing.assert_allclose(probabilities, again.posterior("test"), rtol=1e-4, atol=1e-6)
    before = {k: v for k, v in again.model.items() if k != "classifier.present"}  # kept when all heads counted
    mean = replace(again, model=before).predict_proba(crowd.features[:5])
    assert np.isfinite(mean).all() and np.abs(mean - again.predict_proba(crowd.features[:5])).max() > 1e-4


def test_a_frozen_network_does_not_move():
    settings = {"epochs": 4, "batch_size": 8, "select_on": "none", "schedule": "constant", "mixing_epochs": 0.5}
    crowd = featured_crowd(n_tasks=40)
    last = train(crowd, "wdn", seeds=1, **settings).model
    settings = {**settings, "epochs": 2}
    del settings["mixing_epochs"]
    first = train(crowd, "doctor-net", seeds=1, **settings).model
    for name in first.keys() - {"classifier.network.dropout.calls"}:
        np.testing.assert_allclose(last[name], first[name], rtol=1e-5, atol=1e-7)
    assert np.ptp(last["classifier.weight"]) > 0.01


@pytest.mark.parametrize("per_task", [2, 3])
def test_crowdlab_weighs_network_and_workers_by_agreement(per_task):
    module, _, batch = built("crowdlab", featured_crowd(n_tasks=40, per_task=per_task), folds=0)
    state = oracle.State(module, batch)
    q, weight = oracle_peers.crowdlab(state, state.annotations, N_WORKERS)
    log_p = torch.tensor(np.log([state.p(i) for i in range(state.n)]))
    with torch.no_grad():
        module.start_epoch(EpochContext(1, log_p, batch.row, batch.worker, batch.label))
    np.testing.assert_allclose(module.worker_weight.numpy(), weight, rtol=1e-9)
    np.testing.assert_allclose(module.q.numpy(), q, rtol=1e-9)


def test_madl_counts_workers_who_are_alike_for_less():
    module, _, batch = built("madl", featured_crowd(n_tasks=40))
    fixed = module.confusion.worker.detach().numpy().copy()
    assert objective(module, batch).item() == pytest.approx(oracle_peers.madl(oracle.State(module, batch)), rel=1e-10)
    grads = gradients(module, batch)
    for parameter in grads:
        where, slopes = numerical_gradient(
            lambda: oracle_peers.madl(oracle.State(module, batch), fixed), module, parameter
        )
        np.testing.assert_allclose(grads[parameter].flatten().numpy()[where], slopes, rtol=1e-4, atol=2e-9)


def test_annot_mix_mixes_inputs_workers_and_labels(monkeypatch):
    module, _, batch = built("annot-mix", featured_crowd(n_tasks=40), backbone_settings={"hidden": 7, "dropout": 0.0})
    n = len(batch.row)
    order, share = np.random.default_rng(0).random((2, n))
    monkeypatch.setattr(module.random, "uniform_rows", lambda n, k: torch.tensor(np.array([order, share]).T))
    state, total = oracle.State(module, batch), 0.0
    e = state["confusion.worker"]
    for a, b in enumerate(np.argsort(order)):
        (i, r, y), (j, q, z) = state.annotations[a], state.annotations[b]
        x = share[a] * state.x[i] + (1 - share[a]) * state.x[j]
        state.x = np.vstack([state.x, x])
        u = state.p(-1) @ oracle_peers.task_confusion(state, x, share[a] * e[r] + (1 - share[a]) * e[q])
        total -= share[a] * np.log(u[y]) + (1 - share[a]) * np.log(u[z])
    assert objective(module.train(), batch).item() == pytest.approx(total / n, rel=1e-10)
    more = batch._replace(
        row=torch.cat([batch.row, torch.zeros(4, dtype=torch.int64)]),
        worker=torch.cat([batch.worker, torch.zeros(4, dtype=torch.int64)]),
        label=torch.cat([batch.label, torch.zeros(4, dtype=torch.int64)]),
        weight=torch.cat([batch.weight, torch.zeros(4, dtype=torch.float64)]),
    )
    padded = np.concatenate([np.array([order, share]), np.full((2, 4), 0.1)], 1)
    monkeypatch.setattr(module.random, "uniform_rows", lambda n, k: torch.tensor(padded.T))
    assert objective(module, more).item() == pytest.approx(total / n, rel=1e-10)


def test_an_outlier_of_coinnet_belongs_to_its_annotation_whatever_the_batch():
    module, problem, whole = built("coinnet", featured_crowd(n_tasks=40))
    order = torch.randperm(problem.n_train, generator=torch.Generator().manual_seed(0))
    of_task = [torch.nonzero(whole.row == i).flatten() for i in order]
    entry = torch.cat(of_task)
    row = torch.repeat_interleave(torch.arange(len(order)), torch.tensor([len(a) for a in of_task]))
    batch = whole._replace(
        features=whole.features[order],
        task=whole.task[order],
        row=row,
        worker=whole.worker[entry],
        label=whole.label[entry],
    )
    torch.testing.assert_close(module.outliers(batch), module.outliers(whole)[entry])
    expected = torch.stack(
        [module.outliers(whole)[whole.row == i].square().sum().sqrt() for i in range(problem.n_train)]
    )
    torch.testing.assert_close(module.recovered()["difficulty"], expected)
