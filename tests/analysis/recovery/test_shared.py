"""What shared mistakes explain of the labels, whether ω tells which, and what a run recovered of them."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis import recovered_shares
from crowdcore.analysis.recovery.shared import label_shares
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds_with_features import KINDS
from tests.analysis.crowds import soft_reference


def gold_of(crowd: CrowdDataset) -> tuple[np.ndarray, np.ndarray]:
    """Counts by gold, as a run of one seed would have them, and the posterior that knows gold."""
    posterior = np.eye(crowd.n_classes)[np.maximum(crowd.gold, 0)]
    return analysis.worker_confusion(crowd, "gold").counts[None], posterior[None]


def planted(crowd: CrowdDataset) -> np.ndarray:
    """(C, C) share of the labels on a class that are shared mistakes, as they were made."""
    true = crowd.gold[crowd.task]
    shares = np.zeros((crowd.n_classes, crowd.n_classes))
    made = crowd.truth.used_common
    np.add.at(shares, (true[made], crowd.label[made]), 1)
    return shares / np.bincount(true, minlength=crowd.n_classes)[:, None]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_mistakes_are_the_largest_and_about_as_large(seed: int) -> None:
    crowd = KINDS["shared"](seed)
    counts, q = gold_of(crowd)
    found, true = analysis.shared_part(crowd, counts, q, seeds=[0]), planted(crowd)
    table = found.frame()
    cells = {(crowd.classes[a], crowd.classes[b]) for a, b in zip(*np.nonzero(true), strict=True)}
    assert set(zip(table["true"][:2], table["given"][:2], strict=True)) == cells
    off = ~np.eye(crowd.n_classes, dtype=bool)
    assert np.abs(found.share - true)[off].max() < 0.2
    assert (found.low <= found.share).all() and (found.share <= found.high).all()
    np.testing.assert_allclose(table["share"][0], found.share[off].max())


@pytest.mark.parametrize("kind", ["independent", "roles"])
def test_no_large_mistake_is_found_where_none_is_shared(kind: str) -> None:
    crowd = KINDS[kind](0)
    found = analysis.shared_part(crowd, gold_of(crowd)[0], seeds=[0])
    assert found.mistake is None
    assert found.frame()["share"][0] < 0.15


def test_the_interval_is_wider_where_seeds_differ() -> None:
    crowd = KINDS["shared"](0, 400)
    counts = gold_of(crowd)[0]
    other = counts[:, :, :, np.roll(np.arange(crowd.n_classes), 1)] * 0.3 + counts * 0.7
    same = analysis.shared_part(crowd, np.concatenate([counts, counts]), seeds=[0, 1])
    differ = analysis.shared_part(crowd, np.concatenate([counts, other]), seeds=[0, 1])
    assert (differ.high - differ.low).mean() > (same.high - same.low).mean()
    one = analysis.shared_part(crowd, np.concatenate([counts, other]), seeds=[3, 5], seed=5)
    assert one.seeds == (5,)
    with pytest.raises(SettingError, match="counts"):
        analysis.shared_part(crowd, counts[..., :2], seeds=[0])


def test_the_probability_of_a_shared_mistake_tells_labels_that_are_wrong_as_others() -> None:
    crowd = KINDS["shared"](1)
    counts, q = gold_of(crowd)
    mistake = analysis.shared_part(crowd, counts, q, seeds=[0]).mistake
    right = crowd.label == crowd.gold[crowd.task]
    assert (mistake[right] == 0).all()
    assert np.corrcoef(mistake, crowd.truth.used_common)[0, 1] > 0.5
    of_right = right.astype(np.float64)
    use = analysis.omega_use(crowd, of_right, "gold", mistake)
    assert use.n.sum() == crowd.n_annotations
    assert use.omega.tolist() == [1, 0, 0]
    assert use.omega_correlation < 0 < use.mistake_correlation
    assert "right" in use.sentence
    assert analysis.omega_use(crowd, mistake, "gold", mistake).sentence == ""
    assert use.frame()["annotations"].tolist() == use.n.tolist()


def test_kinds_of_labels_by_hand() -> None:
    crowd = KINDS["independent"](0, 60)
    omega = np.random.default_rng(0).random(crowd.n_annotations)
    omega[3] = np.nan
    kinds: dict[str, list[float]] = {"right": [], "alike": [], "alone": []}
    for k, (i, y) in enumerate(zip(crowd.task, crowd.label, strict=True)):
        others = [crowd.label[j] for j in np.flatnonzero(crowd.task == i) if j != k]
        name = "right" if y == crowd.gold[i] else "alike" if y in others else "alone"
        if k != 3:
            kinds[name].append(omega[k])
    use = analysis.omega_use(crowd, omega)
    assert use.n.tolist() == [len(values) for values in kinds.values()]
    np.testing.assert_allclose(use.omega, [np.mean(values) for values in kinds.values()])


CONAL = {"n_tasks": 900, "n_valid": 0, "n_test": 0, "n_workers": 20, "per_task": 5, "omega_spread": 1.5}


def shown(crowd, common=None, reference="gold", **settings):
    truth = crowd.truth
    parts = (truth.worker_confusion[None], (truth.common_confusion if common is None else common)[None])
    return recovered_shares(crowd, reference, *parts, truth.omega[None], seeds=(7,), **settings)


@pytest.mark.parametrize("soft", [False, True])
def test_equals_loops(soft):
    crowd = simulate.synthetic(**CONAL | {"n_tasks": 60}, seed=1)
    truth, c = crowd.truth, crowd.n_classes
    reference = soft_reference(crowd) if soft else "gold"
    q = reference.posterior if soft else np.eye(c)[crowd.gold]
    total, seen, run, common = np.zeros(c), *np.zeros((3, c, c))
    for i, r, b, w in zip(crowd.task, crowd.worker, crowd.label, truth.omega, strict=True):
        for a in range(c):
            if q[i, a] > 0.02:
                shares = w * truth.common_confusion[a], (1 - w) * truth.worker_confusion[r, a]
                total[a] += q[i, a]
                seen[a, b] += q[i, a]
                run[a] += q[i, a] * sum(shares)
                common[a, b] += q[i, a] * shares[0][b] / max(shares[0][b] + shares[1][b], 1e-300)
    found = shown(crowd, reference=reference)
    np.testing.assert_allclose(found.labels.share, seen / total[:, None])
    np.testing.assert_allclose(found.recovered[0], run / total[:, None])
    np.testing.assert_allclose(found.common_labels[0].share, common / common.sum(1, keepdims=True))
    wrong = np.where(np.eye(c), 0, found.labels.share)
    assert wrong[*found.cells.T].tolist() == sorted(wrong.ravel().tolist())[::-1][:5]


def test_the_true_confusions_are_within_the_intervals_in_19_of_20_cells():
    """Labels of a task depend on each other: with intervals of independent labels it would be fewer."""
    held, common = [], []
    for seed in range(40):
        found = shown(simulate.synthetic(**CONAL, seed=seed), n=20)
        held.append(found.within.mean())
        common.append(found.common_within_by_seed.mean())
    assert 0.92 < np.mean(held) < 0.98
    assert np.mean(common) > 0.9


def test_intervals_know_that_labels_of_a_task_go_together():
    rng, held = np.random.default_rng(0), []
    for _ in range(400):
        p = rng.beta(2, 6, 60)
        task, true = np.repeat(np.arange(60), 8), np.zeros(480, np.int64)
        given = (rng.random(480) < p[task]).astype(np.int64)
        found = label_shares(task, true, given, np.ones(480), 2)
        held.append(found.low[0, 1] <= 0.25 <= found.high[0, 1])
    assert 0.92 < np.mean(held) < 0.98
    assert np.isnan(found.share[1]).all()


def test_a_largest_confusion_of_2_percent_does_not_stand_for_one_of_21_percent():
    """It is among the five largest of the run, too, and counted as recovered."""
    crowd = simulate.synthetic(**CONAL, seed=3)
    found = shown(crowd)
    (a, b), common, own = found.cells[0], crowd.truth.common_confusion.copy(), crowd.truth.worker_confusion.copy()
    for matrix in (common, *own):
        matrix[a, a] += 0.9 * matrix[a, b]
        matrix[a, b] *= 0.1
    less = recovered_shares(crowd, "gold", own[None], common[None], crowd.truth.omega[None], seeds=(0,))
    assert (less.recovered[0][a] > 0).all()
    assert found.within[0]
    assert not less.within[0]
    assert found.common_within_by_seed[0, 0]
    assert not less.common_within_by_seed[0, 0]


def test_every_seed_is_looked_at():
    crowd = simulate.synthetic(**CONAL, seed=3)
    own = np.stack(
        [crowd.truth.worker_confusion, np.broadcast_to(np.eye(crowd.n_classes), crowd.truth.worker_confusion.shape)]
    )
    found = recovered_shares(crowd, "gold", own, seeds=(3, 4))
    assert found.common is None
    assert found.within_by_seed.shape == (2, 5)
    assert not found.within_by_seed[1].any()
    one = recovered_shares(crowd, "gold", own, seeds=(3, 4), seed=3)
    assert one.seeds == (3,)
    np.testing.assert_array_equal(one.within, found.within_by_seed[0])
    with pytest.raises(SettingError, match="worker_confusion"):
        recovered_shares(crowd, "gold", own[:, 1:], seeds=(3, 4))
