"""What shared mistakes explain of the labels, and whether ω tells which labels they are."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.core.errors import SettingError
from crowdcore.data.dataset import CrowdDataset
from testkit.crowds_with_features import KINDS


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
