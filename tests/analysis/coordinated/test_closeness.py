"""Workers who are closer to each other than to the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crowdcore.analysis import PairMistakes, pair_mistakes
from crowdcore.analysis.coordinated.copying import closeness
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from testkit.planted import ATTACKED, attacked_crowd, common_confusion, honest_crowd


def of(pairs: PairMistakes, crowd: CrowdDataset) -> FloatArray:
    """(n_pairs,) p-values at the larger margin."""
    n = crowd.n_classes
    given = np.bincount(crowd.worker.astype(int) * n + crowd.label, minlength=crowd.n_workers * n).reshape(-1, n)
    agreed = pairs.agreed.astype(np.float64)
    return closeness(pairs.worker_a, pairs.worker_b, pairs.both_labelled, agreed, given)[1]


def p_values(crowd: CrowdDataset, reference: str = "gold") -> tuple[FloatArray, FloatArray]:
    """(n_pairs, 2) the pairs and (n_pairs,) their p-values."""
    pairs = pair_mistakes(crowd, reference)
    return np.stack([pairs.worker_a, pairs.worker_b], 1), of(pairs, crowd)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_copiers_stand_out_whatever_is_taken_for_the_truth(n_classes: int) -> None:
    kind = "2 classes, sparse" if n_classes == 2 else "4 classes, sparse"
    crowd = attacked_crowd(2, "copy", 3, 1.0, **ATTACKED[kind])
    for reference in ("gold", "majority-vote"):
        pairs, p = p_values(crowd, reference)
        inside = (pairs < 3).all(1)
        assert p[inside].max() < 1e-3
        assert np.nanmin(p[~inside]) > 1e-3


def test_skill_difficulty_and_a_common_confusion_do_not_stand_out() -> None:
    for seed in range(5):
        for crowd in (honest_crowd(seed, n_tasks=150, per_task=20, difficulty=2.0, foils=0.7), common_confusion(seed)):
            _, p = p_values(crowd)
            assert np.nanmin(p) * (~np.isnan(p)).sum() > 0.05


def test_pairs_with_few_shared_tasks_are_not_tested() -> None:
    crowd = honest_crowd(0, n_tasks=40, per_task=3)
    pairs = pair_mistakes(crowd)
    p = of(pairs, crowd)
    assert np.isnan(p[pairs.both_labelled < 10]).all()


def test_two_who_always_give_the_same_class_do_not_stand_out() -> None:
    crowd = honest_crowd(1, n_classes=2, n_tasks=300, per_task=20, skill=(0.6, 0.95))
    lazy = replace(crowd, label=np.where((crowd.worker < 2) & (crowd.task % 12 > 0), 1, crowd.label))
    pairs, p = p_values(lazy)
    assert p[(pairs < 2).all(1)][0] > 0.05
