"""Labels counted by what judges them, and the others' labels on the same tasks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from crowdcore.analysis.reference import resolve_reference
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.data.dataset import CrowdDataset
from tests.analysis.crowds import crowds


@given(crowds(min_classes=2))
def test_counts_and_the_others_share_are_literal(crowd: CrowdDataset) -> None:
    counts, by_others = peer_beliefs(crowd, resolve_reference(crowd, "gold")).counted
    said: dict[int, dict[int, int]] = {}
    for task, worker, label in zip(crowd.task.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True):
        said.setdefault(task, {}).setdefault(worker, label)
    expected, others = np.zeros((2, crowd.n_workers, crowd.n_classes, crowd.n_classes))
    met = np.zeros((crowd.n_workers, crowd.n_classes))
    for task, labels in said.items():
        true = crowd.gold[task]
        for worker, label in labels.items():
            if true >= 0:
                expected[worker, true, label] += 1
                rest = [other for one, other in labels.items() if one != worker]
                if rest:
                    met[worker, true] += 1
                    others[worker, true] += np.bincount(rest, minlength=crowd.n_classes) / len(rest)
    assert counts == pytest.approx(expected)
    assert by_others == pytest.approx(others / np.maximum(met, 1)[:, :, None])
