"""Parts of methods that their loss alone does not show: E-steps, priors, weights, mixing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from crowdcore.learning import load_result, train
from crowdcore.learning.base import EpochContext
from tests.learning.helpers import N_WORKERS, built, featured_crowd, gradients, numerical_gradient, objective
from tests.learning.methods import oracle, oracle_peers


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
    found = gradients(module, batch)
    for parameter in found:
        term = oracle_peers.mixing if parameter == "classifier.weight" else oracle_peers.doctor_net
        where, slopes = numerical_gradient(lambda term=term: term(oracle.State(module, batch)), module, parameter)
        np.testing.assert_allclose(found[parameter].flatten().numpy()[where], slopes, rtol=1e-4, atol=2e-9)
    for epoch in (6, 7):
        module.start_epoch(EpochContext(epoch, batch.features, batch.row, batch.worker, batch.label))
        moves = {name for name, gradient in gradients(module, batch).items() if (gradient != 0).any()}
        assert moves == (set(found) if epoch == 6 else {"classifier.weight"})


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
    found = again.predict_proba(crowd.features[np.flatnonzero(crowd.split == 2)])
    np.testing.assert_allclose(found, again.posterior("test"), rtol=1e-4, atol=1e-6)
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
    found = gradients(module, batch)
    for parameter in found:
        where, slopes = numerical_gradient(
            lambda: oracle_peers.madl(oracle.State(module, batch), fixed), module, parameter
        )
        np.testing.assert_allclose(found[parameter].flatten().numpy()[where], slopes, rtol=1e-4, atol=2e-9)


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
