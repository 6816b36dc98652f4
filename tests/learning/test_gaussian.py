"""The Gaussian mixture: its features, inputs and results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from torch import Tensor, nn

from crowdcore.core.errors import DataError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.data.simulate.base import as_tasks
from crowdcore.learning import TrainSettings, load_result, sweep, train
from crowdcore.learning.gaussian import fit as gaussian_fit
from crowdcore.learning.gaussian.evidence import Annotations
from crowdcore.learning.gaussian.fit import Chosen, choose_gaussians, fit_alternating, fit_gaussians
from crowdcore.learning.gaussian.space import Blocks, Space, fit_classes, fit_space
from crowdcore.learning.method_settings import EmOptions, GaussianEmSettings, GaussianSettings
from crowdcore.learning.methods.gaussian_em import GaussianEm, WithGaussians
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import make_problem
from tests.learning.elsewhere import Elsewhere, imagined_gpu
from tests.learning.helpers import featured_crowd


def clusters(n: int = 300, n_classes: int = 3, n_features: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    gold = rng.integers(n_classes, size=n)
    return (3 * rng.standard_normal((n_classes, n_features))[gold] + rng.standard_normal((n, n_features))), gold


def test_classes_are_those_of_linear_discriminant_analysis():
    x, gold = clusters()
    x, gold = (np.concatenate([part[gold == c][:80] for c in range(3)]) for part in (x, gold))  # of equal weight
    q = torch.from_numpy(np.eye(3)[gold])
    rows, many = torch.from_numpy(x), 1e6  # the hundredth of a task that every class has is nothing beside them
    classes = fit_classes(many * q.T @ rows, many * q.sum(0), many * rows.T @ rows, 0.0)
    log_p = torch.log_softmax(classes.scores(rows), 1).numpy()
    expected = LinearDiscriminantAnalysis(solver="lsqr", priors=np.full(3, 1 / 3)).fit(x, gold).predict_log_proba(x)
    np.testing.assert_allclose(log_p, expected, rtol=1e-6)


@pytest.mark.parametrize("n_columns", [0, 60])  # with more columns than tasks a fold is taken out of an inverse
def test_scores_out_of_fold_are_by_classes_that_have_not_seen_the_task(n_columns):
    x, gold = clusters(41)
    x = np.concatenate([x, np.random.default_rng(0).standard_normal((41, n_columns))], 1)
    rows, q = torch.from_numpy(x), torch.from_numpy(np.eye(3)[gold])
    blocks = Blocks(rows, n_blocks=6)
    scores = blocks.out_of_fold(q, 0.1, 3, torch.Generator().manual_seed(5))
    fold = (torch.randperm(6, generator=torch.Generator().manual_seed(5)) % 3)[blocks.block]
    for f in range(3):
        without = Blocks(rows[fold != f]).fit(q[fold != f], 0.1)
        torch.testing.assert_close(scores[fold == f], without.scores(rows[fold == f]))


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_the_space_is_kernel_principal_components_of_rescaled_features(shift):
    x = np.abs(clusters()[0]) + shift
    rows = torch.from_numpy(x).float()
    space = fit_space(rows, gamma=0.5, dimensions=4, seed=0)
    components = space(rows).numpy()
    expected = KernelPCA(4, kernel="rbf", gamma=float(space.width)).fit_transform(np.sqrt(x))
    expected /= expected.std(ddof=1)
    np.testing.assert_allclose(np.abs(components), np.abs(expected), atol=0.02)


def test_ranks_replace_features_with_negative_values():
    x = clusters()[0]
    stretched = np.sign(x) * np.abs(x) ** 3  # another scale, the same order
    both = [torch.from_numpy(rows).float() for rows in (x, stretched)]
    a, b = (fit_space(rows, gamma=0.25, dimensions=4, seed=0)(rows) for rows in both)
    torch.testing.assert_close(a.abs(), b.abs(), atol=0.1, rtol=0)


def test_the_last_digit_of_features_does_not_move_the_space():
    rng = np.random.default_rng(0)
    tight = 1 + 4 * np.eye(3)[np.arange(36) % 3] + 1e-4 * rng.standard_normal((36, 3))
    rows = torch.from_numpy(tight).float()
    other = torch.nextafter(rows, torch.where(rows > rows.median(), torch.inf, -torch.inf))
    a, b = (fit_space(x, gamma=0.25, dimensions=30, seed=0)(rows) for x in (rows, other))
    torch.testing.assert_close(a @ a.T, b @ b.T, atol=1e-4, rtol=0)


def test_prepared_inputs_and_composed_maps_come_to_the_same():
    x = torch.from_numpy(np.abs(clusters()[0])).float()
    plain = fit_space(x, gamma=0.25, dimensions=4, seed=0)
    mean, scale = x.mean(0), x.std(0)
    prepared = fit_space((x - mean) / scale, 0.25, 4, 0, mean, scale)
    torch.testing.assert_close(prepared((x - mean) / scale).abs(), plain(x).abs(), atol=2e-3, rtol=0)
    weights, offset = torch.randn(plain.projection.shape[1], 3), torch.randn(3)
    composed, loaded = plain.then(weights, offset), Space()
    loaded.load_state_dict(composed.state_dict())
    torch.testing.assert_close(loaded(x), plain(x) @ weights - offset, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("balance", [0.0, 0.5])
def test_a_mistake_that_most_workers_share_is_undone_by_the_features(balance):
    x, gold = clusters(600)
    rng = np.random.default_rng(1)
    task, worker = np.repeat(np.arange(600), 3), rng.integers(12, size=1800)
    wrong = (rng.random(1800) < 0.65) & (gold[task] == 0)  # class 0 is mostly called 1 by everyone
    label = np.where(wrong, 1, gold[task])
    annotations = Annotations(*map(torch.from_numpy, (task, worker, label)), 600, 12, 3)
    fit = fit_gaussians(Blocks(torch.from_numpy(x)), annotations, EmOptions(), balance, 1.0, 0)
    votes = annotations.votes().argmax(1).numpy()
    assert (votes == gold).mean() < 0.85
    assert (fit.posterior.argmax(1).numpy() == gold).mean() > 0.97
    assert float(fit.confusion[:, 0, 1].mean()) == pytest.approx(0.65, abs=0.1)
    assert (fit.log_probs(torch.from_numpy(x)).argmax(1).numpy() == gold).mean() > 0.95


def test_classes_whose_labels_are_mostly_one_shared_mistake_get_their_names_and_the_common_confusion_is_found():
    x, gold = clusters(400, 4)
    tasks = as_tasks((x.astype(np.float32), gold), "clusters", np.zeros(400, np.int8))
    noise = {"common_strength": 0.8, "individual_strength": 0.5, "proportion": 0.6, "pattern": "symmetric"}
    crowd = simulate.conal(tasks, seed=1, n_workers=15, per_task=4, **noise)
    settings = {"seeds": 1, "epochs": 1, "select_on": "none", "balance": 0.0}
    named, by_votes = (train(crowd, "gaussian-em", **settings, rename=rename) for rename in (True, False))
    assert (by_votes.q[0].argmax(1) == gold).mean() < 0.05
    assert (named.q[0].argmax(1) == gold).mean() > 0.97
    assert any("class 0 → class 1" in note for note in named.notes)
    wrong, found = (float(((r.common_confusion - crowd.truth.common_confusion) ** 2).mean()) for r in (by_votes, named))
    assert found < 0.01 < wrong / 4
    assert np.corrcoef(named.omega[0], crowd.truth.used_common)[0, 1] > 0.45


def test_it_says_what_chose_its_settings_and_predicts_anew():
    crowd = featured_crowd(n_tasks=120, n_workers=6, per_task=3)
    result = train(crowd, "gaussian-em", seeds=1, epochs=2, select_on="gold", batch_size=32)
    assert any(note.startswith("Balance ") and "validation accuracy" in note for note in result.notes)
    several = train(crowd, "gaussian-em", seeds=3, epochs=1, select_on="gold", batch_size=32).notes
    assert len([note for note in several if "were chosen among" in note]) == 1, "one sentence for all seeds"
    blind = train(crowd, "gaussian-em", seeds=1, epochs=2, select_on="none", batch_size=32)
    said = next(n for n in blind.notes if "sharpening 1 were chosen among 3 fits by the labels' likelihood" in n)
    assert said.startswith(("Balance 0.15 ", "Balance 0.3 ", "Balance 0.5 ")), "labels alone cannot say that 0 is right"


@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_a_network_that_learnt_smoothed_targets_is_put_back(spread):
    q = torch.tensor([[0.8, 0.15, 0.05], [1.0, 0.0, 0.0]], dtype=torch.float64)
    smoothed = ((1 - spread) * q + spread / 3).clamp_min(1e-30).log()
    both = WithGaussians(nn.Embedding.from_pretrained(smoothed), nn.Identity(), spread)
    gaussians = torch.tensor([[0.2, 0.2, 0.6], [0.5, 0.5, 0.0]], dtype=torch.float64)
    both.gaussians = nn.Embedding.from_pretrained(gaussians.clamp_min(1e-30).log())
    mixed = both(torch.arange(2)).exp()
    np.testing.assert_allclose(mixed, (q + gaussians) / 2, atol=1e-8)


def test_features_that_are_not_finite_are_refused():
    crowd = featured_crowd(n_tasks=60, n_workers=4, per_task=2)
    assert crowd.features is not None
    np.asarray(crowd.features.arrays[0])[3, 0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        train(crowd, "gaussian-em", seeds=1, epochs=1, select_on="none")


@pytest.mark.parametrize("shared", [0.0, 0.3])
def test_shared_mistakes_are_estimated_from_pairs_that_agree(shared):
    rng = np.random.default_rng(0)
    n, n_workers, n_classes, per_task = 4000, 8, 4, 3
    gold = rng.integers(n_classes, size=n)
    right = rng.uniform(0.5, 0.8, n_workers)
    task = np.repeat(np.arange(n), per_task)
    worker = np.concatenate([rng.permutation(n_workers)[:per_task] for _ in range(n)])
    one_for_all = np.repeat(rng.random(n) < shared, per_task)  # all labels of the task are those of its first worker
    label = np.where(rng.random(len(task)) < right[worker], gold[task], (gold[task] + 1) % n_classes)
    label = np.where(one_for_all, np.repeat(label[::per_task], per_task), label)
    given = Annotations(*map(torch.from_numpy, (task, worker, label)), n, n_workers, n_classes)
    truth = torch.from_numpy(np.eye(n_classes)[gold])
    mistakes = given.shared_mistakes(truth, given.confusion(given.counts(truth), 0.1, 0.0))
    assert mistakes == pytest.approx(shared, abs=0.03)
    assert given.weight(mistakes)[0].item() == pytest.approx(1 / (1 + 2 * mistakes))


def test_labels_that_share_mistakes_are_outvoted_by_features():
    crowd = featured_crowd(400)
    task = np.arange(400)
    wrong = task[(crowd.gold == 1) & (task % 3 == 0)]  # every worker takes these for class 2
    label = np.where(np.isin(crowd.task, wrong), 2, crowd.label)
    crowd = replace(crowd, label=label.astype(crowd.label.dtype))
    results = {s: train(crowd, "gaussian-em", seeds=1, epochs=1, shared=s, balance=0.3) for s in (None, 0.0)}
    right = {s: (r.q[0].argmax(1) == r.gold[: r.q.shape[1]]).mean() for s, r in results.items()}
    assert right[None] > right[0.0]


@pytest.mark.parametrize(("alternate", "fits"), [(0, 1), (1, 2)])
def test_points_of_a_sweep_share_the_fit_unless_its_networks_differ(monkeypatch, alternate, fits):
    rates = []

    def counted(problem, settings, seed):
        rates.append(problem.training.lr)
        return fit_alternating(problem, settings, seed)

    monkeypatch.setattr("crowdcore.learning.methods.gaussian_em.fit_alternating", counted)
    sweep(featured_crowd(60), "gaussian-em", {"lr": [0.001, 0.01]}, seeds=1, epochs=1, alternate=alternate)
    assert rates == [0.001, 0.01][:fits]


def test_every_seed_starts_an_em_of_its_own_and_repeats_it_alone_or_beside_others():
    crowd = featured_crowd(n_tasks=80, n_workers=6, per_task=2, accuracy=0.6)
    given = {"epochs": 2, "select_on": "none", "rounds": 4}
    both, alone = (train(crowd, "gaussian-em", seeds=seeds, **given) for seeds in ([3, 4], [4]))
    parts = ("q", "worker_counts", "worker_confusion", "common_confusion")
    for name in parts:
        one, other = getattr(both, name)
        assert np.abs(one - other).max() > 1e-3, f"seeds share the EM behind {name}"
        np.testing.assert_allclose(other, getattr(alone, name)[0], atol=1e-6)
    np.testing.assert_allclose(both.probabilities["selected"][1], alone.probabilities["selected"][0], atol=1e-4)


def test_networks_learn_the_targets_of_their_own_seed():
    crowd = featured_crowd(n_tasks=60, n_workers=6, per_task=2)
    problem = make_problem(crowd, TrainSettings(select_on="none"))
    modules = make_replicas(
        problem, GaussianEm, [Replica(GaussianEmSettings(rounds=3), s) for s in (5, 6)], problem.training
    )
    for module, seed in zip(modules, (5, 6), strict=True):
        q = fit_alternating(problem, GaussianEmSettings(rounds=3), seed).fit.posterior
        spread = GaussianEmSettings().label_smoothing
        torch.testing.assert_close(module.get_buffer("target"), ((1 - spread) * q + spread / 3).float())
    assert not torch.equal(*(module.get_buffer("target") for module in modules))


def features_of(crowd: CrowdDataset) -> np.ndarray:
    assert crowd.features is not None
    return np.array(crowd.features)


def with_features(crowd: CrowdDataset, features: np.ndarray) -> CrowdDataset:
    return replace(crowd, features=Rows.from_array(np.ascontiguousarray(features, np.float32)))


def chosen(crowd: CrowdDataset, device: str = "cpu", **settings: Any) -> Chosen:
    problem = make_problem(crowd, TrainSettings(select_on="none"), device=device)
    return choose_gaussians(problem, GaussianSettings(**{"rounds": 5, **settings}))


def log_probs(choice: Chosen, crowd: CrowdDataset) -> Tensor:
    return choice.fit.log_probs(choice.space(torch.from_numpy(features_of(crowd))))


def wide(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, np.random.default_rng(0).standard_normal((len(x), 100))], 1)


CHANGES = {
    "as they are": lambda x: x,
    "one constant": lambda x: np.concatenate([x, np.full((len(x), 1), 7)], 1),
    "collinear": lambda x: np.concatenate([x, x, 2 * x, x[:, :1] + x[:, 1:2]], 1),
    "fewer tasks than dimensions": wide,
    "one feature": lambda x: x[:, :1],
    "two values": lambda x: (x > 0).astype(float),
    "far from zero": lambda x: x + 1e4,
    "tiny": lambda x: 1e-12 * x,
    "large": lambda x: 1e30 * x,
    "most of them the same": lambda x: np.where(np.arange(len(x))[:, None] % 3, 0, x),
}


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_any_features_that_differ_give_classes(change, linear):
    crowd = featured_crowd()
    crowd = with_features(crowd, CHANGES[change](features_of(crowd)))
    fit = chosen(crowd, gamma=0.0 if linear else 0.25, shrinkage=0.0 if linear and change == "collinear" else 0.1)
    p = log_probs(fit, crowd).exp()
    assert torch.isfinite(p).all()
    torch.testing.assert_close(p.sum(1), torch.ones(len(p), dtype=p.dtype))
    right = (fit.fit.posterior.argmax(1).numpy() == crowd.gold[: len(fit.fit.posterior)]).mean()
    assert right > 0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda x: np.full_like(x, 3), "same features"),
        (lambda x: np.tile(x[:1], (len(x), 1)), "same features"),
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.nan, x), "'t00001' hold NaN or infinite"),
        (lambda x: np.where(np.arange(x.size).reshape(x.shape) == 7, np.inf, x), "'t00001' hold NaN or infinite"),
        (lambda x: np.where(np.arange(len(x))[:, None] % 2, 3e38, np.abs(x)) ** 1.0, "too large"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_features_that_cannot_be_used_are_refused_in_one_sentence(change, said):
    crowd = featured_crowd()
    with pytest.raises(DataError, match=said):
        chosen(with_features(crowd, change(features_of(crowd))))


def test_a_label_that_nobody_gave_is_no_class():
    crowd = featured_crowd(n_tasks=120)
    fit = chosen(crowd.where(crowd.label != 1), balance=0.3)
    assert float(fit.fit.posterior[:, 1].max()) == 0
    assert float(log_probs(fit, crowd)[:, 1].exp().max()) == 0


@pytest.mark.parametrize(
    "crowd",
    [
        featured_crowd(n_workers=1, per_task=1),
        featured_crowd(n_tasks=5),
        featured_crowd(n_tasks=10, per_task=1, n_workers=2),
    ],
    ids=["one worker", "a task per class", "a label per task"],
)
def test_the_smallest_crowds_have_a_posterior(crowd):
    for balance in (0.0, 0.5):
        q = chosen(crowd, balance=balance).fit.posterior
        torch.testing.assert_close(q.sum(1), torch.ones(len(q), dtype=q.dtype))


def test_chunks_and_samples_do_not_matter(monkeypatch):
    crowd = featured_crowd(n_tasks=200)
    whole = chosen(crowd, unlabelled="all")
    for module in ("fit", "space", "evidence"):
        monkeypatch.setattr(f"crowdcore.learning.gaussian.{module}._CHUNK", 7)
    pieces = chosen(crowd, unlabelled="all")
    torch.testing.assert_close(pieces.fit.posterior, whole.fit.posterior, atol=1e-6, rtol=0)
    monkeypatch.setattr(gaussian_fit, "_ENOUGH", 60)
    monkeypatch.setattr(gaussian_fit, "_FEWEST", 60)
    monkeypatch.setattr("crowdcore.learning.gaussian.space._EXACT", 40)
    sampled = chosen(crowd, unlabelled="all")
    assert len(sampled.space.landmarks) == 40
    agree = sampled.fit.posterior.argmax(1) == whole.fit.posterior.argmax(1)
    assert float(agree.double().mean()) > 0.95


def test_everything_of_the_fit_is_on_one_device():
    """On a GPU that is imagined, where tensors of two devices may not meet."""
    crowd = featured_crowd(n_tasks=120)
    expected = chosen(crowd, unlabelled="all")
    with imagined_gpu() as device:
        fit = chosen(crowd, device.type, unlabelled="all")
    here = [fit.fit.posterior, fit.fit.confusion, fit.fit.classes.weights, *fit.space.buffers()]
    assert not any(isinstance(t, Elsewhere) for t in here)
    torch.testing.assert_close(fit.fit.posterior, expected.fit.posterior)


@pytest.mark.parametrize("backbone", ["mlp", "cnn"])
def test_rounds_of_a_network_and_of_its_last_layer(backbone, tmp_path):
    crowd = featured_crowd()
    if backbone == "cnn":
        levels = features_of(crowd)[:, :3, None, None] * 40 + 128
        pictures = (levels.clip(0, 255) * np.ones((1, 1, 16, 16))).astype(np.uint8).transpose(0, 2, 3, 1)
        crowd = replace(crowd, features=Rows.from_array(pictures))
    settings = {"backbone": backbone, "backbone_settings": {"hidden": 9}, "rounds": 5}
    result = train(crowd, "gaussian-em", seeds=2, epochs=2, alternate=1, select_on="none", **settings)
    assert result.model["classifier.gaussians.landmarks"].shape[1:] == (36, 9)
    inside = [k for k in result.model if k.startswith("classifier.features")]
    assert inside and not any(k.endswith(("output.weight", "16.weight")) for k in inside)
    result.save(tmp_path / "result")
    p = load_result(tmp_path / "result").predict_proba(np.array(crowd.features))
    np.testing.assert_allclose(p[:, result.task], result.probabilities["last"], atol=1e-5)
