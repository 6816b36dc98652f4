"""Workers counted by a classifier and the other labels; numbers of classes that a method does not take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import spearmanr

from crowdcore import aggregation, analysis
from crowdcore.core.errors import CrowdError
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import load_result, methods, train, worker_counts
from crowdcore.learning.counted import counts_by_classifier, without_task
from crowdcore.learning.gaussian.evidence import Annotations
from testkit.crowds_with_features import KINDS
from tests.learning.helpers import featured_crowd

LEAST = 20  # labels of workers who are compared


def of_crowd(crowd: CrowdDataset) -> Annotations:
    columns = (torch.from_numpy(np.array(c, np.int64)) for c in (crowd.task, crowd.worker, crowd.label))
    return Annotations(*columns, int(crowd.task.max()) + 1, crowd.n_workers, crowd.n_classes)


def skills(crowd: CrowdDataset, matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Learnt and observed skills of the workers with enough labels."""
    seen = analysis.worker_confusion(crowd, "gold")
    compared = analysis.skill_comparison(seen, matrices, seeds=range(len(matrices)))
    many = crowd.labels_per_worker >= LEAST
    return compared.learned[many], compared.observed[many]


def test_a_label_has_no_say_in_what_judges_it() -> None:
    crowd = featured_crowd(n_tasks=80, per_task=3)
    a, rng = of_crowd(crowd), np.random.default_rng(0)
    q = torch.from_numpy(rng.dirichlet(np.ones(3), a.n_tasks))
    features = torch.from_numpy(rng.normal(size=(a.n_tasks, 3)))
    prior, shared = torch.full((3, 3), 0.3, dtype=torch.float64), 0.4
    left_out, likelihood = a.left_out(q, features, prior, shared)
    counts, expected, logs = a.counts(q).numpy(), np.zeros((crowd.n_workers, 3, 3)), []
    for k, (i, r, y) in enumerate(zip(crowd.task, crowd.worker, crowd.label, strict=True)):
        terms = {}
        for j in np.flatnonzero(crowd.task == i):
            rows = counts[crowd.worker[j]] + 0.3
            rows[:, crowd.label[j]] -= q[i].numpy()
            terms[j] = np.log(rows[:, crowd.label[j]] / rows.sum(1))
        others = [terms[j] for j in terms if j != k]
        rest = log_softmax(features[i].numpy() + sum(others, np.zeros(3)) / (1 + max(len(others) - 1, 0) * shared))
        logs.append(logsumexp(rest + terms[k]))
        expected[r, :, y] += softmax(rest if others else rest + terms[k])
    np.testing.assert_allclose(left_out.numpy(), expected)
    assert likelihood == pytest.approx(np.mean(logs))


def test_every_label_is_counted_once() -> None:
    crowd = featured_crowd(per_task=2)
    annotations = of_crowd(crowd)
    log_p = torch.log_softmax(
        torch.randn(annotations.n_tasks, 3, generator=torch.Generator().manual_seed(0)).double(), 1
    )
    counts = counts_by_classifier(annotations, log_p)
    expected = np.zeros((crowd.n_workers, 3))
    np.add.at(expected, (crowd.worker, crowd.label), 1)
    np.testing.assert_allclose(counts.sum(1), expected, atol=1e-4)


@pytest.mark.parametrize("n_features", [4, 60])
def test_the_classifier_is_fitted_again_without_each_task(n_features: int) -> None:
    rng = np.random.default_rng(0)
    x, p = rng.normal(size=(40, n_features)), rng.dirichlet(np.ones(3), (2, 40))
    refit = without_task(x, p)
    centred = x - x.mean(0)
    centred /= np.sqrt((centred**2).sum(1).mean())
    y = np.log(np.maximum(p, 1e-3))
    y -= y.mean(2, keepdims=True)
    for s, i in ((0, 0), (1, 7)):
        keep = np.arange(40) != i
        mean = y[s].mean(0)
        gram = centred[keep].T @ centred[keep] + 1e-3 * 40 * np.eye(n_features)
        fitted = centred[i] @ np.linalg.solve(gram, centred[keep].T @ (y[s][keep] - mean)) + mean
        np.testing.assert_allclose(refit[s, i], log_softmax(fitted), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_workers_are_told_apart_in_crowds_of_every_kind(kind: str) -> None:
    crowd = KINDS[kind](0, 500)
    result = train(crowd, "crowd-layer", seeds=1, epochs=30, select_on="none", device="cpu")
    counts = worker_counts(result, crowd)
    learnt, seen = skills(crowd, np.stack([analysis.confusion_of_counts(one) for one in counts]))
    own, _ = skills(crowd, result.worker_confusion)
    assert spearmanr(learnt, seen).statistic >= 0.9
    assert spearmanr(learnt, seen).statistic >= spearmanr(own, seen).statistic - 0.03
    assert 0.7 <= learnt.std() / seen.std() <= 1.3
    low, high = analysis.count_interval(counts.mean(0))
    observed = analysis.worker_confusion(crowd, "gold")
    known = np.broadcast_to((observed.evidence >= 3)[..., None], observed.matrices.shape)
    inside = (low - 1e-9 <= observed.matrices) & (observed.matrices <= high + 1e-9)
    assert inside[known].mean() >= 0.85


def test_gaussian_em_counts_against_its_own_posterior() -> None:
    crowd = KINDS["shared"](0, 400)
    result = train(crowd, "gaussian-em", seeds=1, epochs=2, select_on="none", device="cpu")
    learnt, seen = skills(crowd, np.stack([analysis.confusion_of_counts(one) for one in worker_counts(result, crowd)]))
    assert spearmanr(learnt, seen).statistic >= 0.9
    assert np.abs(learnt - seen).mean() <= 0.06
    assert 0.7 <= learnt.std() / seen.std() <= 1.3


@pytest.mark.parametrize("method", ["crowd-layer", "gaussian-em", "crowdlab"])
def test_results_without_counts_are_counted_when_they_are_read(method: str, tmp_path) -> None:
    crowd = KINDS["independent"](0, 300)
    result = train(crowd, method, seeds=2, epochs=5, select_on="none", device="cpu")
    kept = load_result(result.save(tmp_path / "new"))
    np.testing.assert_array_equal(worker_counts(kept, crowd), worker_counts(result, crowd))
    last = {name: part for name, part in result.last.items() if name != "worker_counts"}
    old = load_result(replace(result, worker_counts=None, last=last).save(tmp_path / "old"))
    assert old.worker_counts is None
    for at in ("selected", "last"):
        counts, now = worker_counts(old, crowd, at), worker_counts(result, crowd, at)
        np.testing.assert_allclose(counts.sum((2, 3)), now.sum((2, 3)), rtol=1e-4)
        assert np.corrcoef(np.einsum("srcc->sr", counts).ravel(), np.einsum("srcc->sr", now).ravel())[0, 1] > 0.9
    assert worker_counts(old, crowd, 3) is None


def one_class() -> CrowdDataset:
    crowd = featured_crowd()
    return replace(crowd, classes=("only",), label=np.zeros_like(crowd.label), gold=np.zeros_like(crowd.gold))


def test_no_method_learns_one_class():
    for name in methods.names():
        with pytest.raises(CrowdError, match="'only'"):
            train(one_class(), name, seeds=1, epochs=1)


def test_aggregators_refuse_or_fit_one_class():
    refused = dict.fromkeys(["conal-em", "glad", "item-response", "m-msr"], "one class only")
    refused |= dict.fromkeys(["trait", "kos"], "defined for two classes only")
    for name in aggregation.names():
        if name in refused:
            with pytest.raises(CrowdError, match=refused[name]):
                aggregation.get(name).fit(one_class())
        else:
            crowd = one_class()
            posterior = aggregation.get(name).fit(crowd).posterior[crowd.annotated]
            np.testing.assert_allclose(posterior.sum(1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        ("ccc", {"meta_size": 2}, "`meta_size` must be at least 3, a task for every class"),
        ("geocrowdnet", {"batch_size": 2}, "`batch_size` must be at least 3, a task for every class"),
        ("coinnet", {"batch_size": 2}, "`batch_size` must be at least 3, a task for every class"),
        ("max-mig", {"batch_size": 1}, "`batch_size` must be at least 2"),
        ("madl", {"right": 0.3}, "`right` must be above 1 / 3, a guess among 3 classes"),
        ("annot-mix", {"right": 0.3}, "`right` must be above 1 / 3, a guess among 3 classes"),
    ],
)
def test_settings_that_do_not_fit_the_classes_are_refused(name, settings, reason):
    with pytest.raises(CrowdError, match=reason):
        train(featured_crowd(), name, seeds=1, epochs=1, select_on="gold", **settings)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("geocrowdnet", {"batch_size": 2, "volume": "w"}), ("coinnet", {"batch_size": 2, "strength": 0.0})],
)
def test_what_needs_no_volume_of_a_batch_takes_small_ones(name, settings):
    result = train(featured_crowd(), name, seeds=1, epochs=1, select_on="gold", **settings)
    assert np.isfinite(result.curves["loss"]).all()


def test_crowdlab_says_that_it_needs_tasks_with_several_labels():
    text = {n: train(featured_crowd(per_task=n), "crowdlab", seeds=1, epochs=1, select_on="gold").notes for n in (1, 2)}
    assert [any("has two labels" in note for note in text[n]) for n in (1, 2)] == [True, False]
