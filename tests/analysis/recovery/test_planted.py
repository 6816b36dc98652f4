"""What is said of a planted crowd, against counts by hand and against crowds whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore.analysis import planted
from crowdcore.core.errors import DataError
from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset

SMALL = {"n_tasks": 1500, "n_valid": 200, "n_test": 200}


def test_counts_by_hand() -> None:
    crowd = CrowdDataset(
        "by hand",
        ("a", "b", "c"),
        pd.Index(["t1", "t2", "t3"]),
        pd.Index(["w1", "w2", "w3"]),
        np.array([0, 0, 0, 1, 1, 2]),
        np.array([0, 1, 2, 0, 1, 2]),
        np.array([0, 0, 1, 2, 2, 1]),
        gold=np.array([0, 1, -1]),
    )
    found = planted(crowd)
    assert found.confusion[0] == pytest.approx([2 / 3, 1 / 3, 0])
    assert found.confusion[1] == pytest.approx([0, 0, 1])
    assert np.isnan(found.confusion[2]).all()
    assert found.right == pytest.approx(2 / 5)
    assert found.majority == pytest.approx(1 / 2)
    assert found.misleading.tolist() == [1]
    assert "In 1 of 3 classes" in found.sentence and "b is mostly" in found.sentence
    assert found.frame()["most frequent label"].tolist() == ["a", "c", "–"]


@pytest.mark.parametrize(("strength", "misled"), [(0.2, False), (0.95, True)])
def test_strong_common_noise_makes_another_label_the_most_frequent_one(strength: float, misled: bool) -> None:
    crowd = simulate.synthetic(common_strength=strength, individual_strength=strength, **SMALL)
    assert bool(len(planted(crowd).misleading)) == misled
    assert ("cannot identify" in planted(crowd).sentence) == misled


def test_labels_are_right_as_often_as_the_settings_say() -> None:
    crowd = simulate.synthetic(common_strength=0.4, individual_strength=0.3, proportion=0.5, omega_spread=0.0, **SMALL)
    assert planted(crowd).right == pytest.approx(0.5 * 0.6 + 0.5 * 0.7, abs=0.03)


def test_without_gold_nothing_can_be_said() -> None:
    crowd = simulate.synthetic(**SMALL)
    with pytest.raises(DataError, match="gold"):
        planted(replace(crowd, gold=np.full(crowd.n_tasks, -1)))
