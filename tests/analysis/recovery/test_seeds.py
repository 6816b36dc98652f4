"""Seeds combined."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.analysis.recovery.seeds import FromSeeds, over_seeds, seed_rows
from crowdcore.core.errors import SettingError


def test_mean_and_spread():
    found = over_seeds(np.array([[1.0, np.nan], [2.0, 5.0], [6.0, 5.0]]))
    assert found.mean.tolist()[0] == 3
    assert found.spread[0] == pytest.approx(((2**2 + 1 + 3**2) / 2) ** 0.5)
    assert np.isnan([found.mean[1], found.spread[1]]).all()
    assert np.isnan(over_seeds(np.ones((1, 2))).spread).all()


def test_one_seed_by_its_name():
    values = np.arange(6).reshape(3, 2)
    assert values[seed_rows((4, 0, 9), 0)].tolist() == [[2, 3]]
    assert len(values[seed_rows((4, 0, 9), None)]) == 3
    with pytest.raises(SettingError, match="be one of 4, 0, 9"):
        seed_rows((4, 0, 9), 1)


@pytest.mark.parametrize(("seeds", "words"), [((7,), "seed 7"), ((0, 1, 2), "mean of 3 seeds")])
def test_words(seeds, words):
    result = FromSeeds()
    result.seeds = seeds
    assert result.combined == words
