"""Several seeds combined."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from crowdcore.analysis import band, band_frame, seeds_comparable, smoothed
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


CLASSES = ("cat", "dog", "fox", "owl")
SEEDS = (4, 7, 9)


def crowd(rng, n_workers: int = 8, skill: float = 0.6, noise: float = 0.1):
    """(3, R, 4, 4) the same workers, recovered with some noise by every seed."""
    own = skill * np.eye(4) + (1 - skill) * rng.dirichlet(np.ones(4), (n_workers, 4))
    return (1 - noise) * own + noise * rng.dirichlet(np.ones(4), (3, n_workers, 4))


def judge(confusion, epochs=(10, 20, 30), **more):
    return seeds_comparable(confusion, epochs, seeds=SEEDS, classes=CLASSES, **more)


@pytest.mark.parametrize("n_workers", [1, 8])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_workers_are_comparable(seed, n_workers):
    found = judge(crowd(np.random.default_rng(seed), n_workers))
    assert found
    assert found.reason == ""


def test_classes_in_another_order_are_not():
    confusion = crowd(np.random.default_rng(0))
    confusion[2] = confusion[2][:, [0, 2, 1, 3]]
    found = judge(confusion)
    assert not found
    assert all(word in found.reason for word in ("seed 9", "seed 4", "dog", "fox"))


def test_a_cycle_of_classes_among_strong_noise_is_found():
    confusion = crowd(np.random.default_rng(1), skill=0.4, noise=0.3)
    confusion[1] = confusion[1][:, [1, 2, 0, 3]]
    assert "seed 7" in judge(confusion).reason


def test_rows_that_are_alike_may_be_swapped():
    confusion = np.full((3, 5, 4, 4), 0.25) + np.random.default_rng(2).normal(0, 0.01, (3, 5, 4, 4))
    assert judge(confusion)


def test_unknown_rows_do_not_matter():
    confusion = crowd(np.random.default_rng(3))
    confusion[:, :, 3] = np.nan
    assert judge(confusion)


@pytest.mark.parametrize(("epochs", "fine"), [((10, 20, 30), True), ((3, 16, 21), False), ((0, 3, 2), True)])
def test_epochs_differ_by_a_factor_of_three_at_most(epochs, fine):
    confusion = crowd(np.random.default_rng(0))
    assert bool(judge(confusion, epochs)) == fine
    assert judge(confusion, epochs, at_last=True)
    if not fine:
        assert "(3, 16 and 21)" in judge(confusion, epochs).reason


def test_mean_and_sample_deviation_of_what_there_is():
    values = np.array([[1.0, 2.0, 6.0], [4.0, np.nan, 5.0], [7.0, np.nan, np.nan], [np.nan] * 3])
    found = band("a run", "conal", [1, 2, 3, 4], values)
    assert found.mean[:3].tolist() == [3.0, 4.5, 7.0]
    assert found.std[:2].tolist() == pytest.approx([statistics.stdev([1, 2, 6]), statistics.stdev([4, 5])])
    assert np.isnan(found.std[2:]).all()
    assert np.isnan(found.mean[3])
    assert found.n.tolist() == [3, 2, 1, 0]


def test_positions_may_hold_different_numbers_of_values():
    found = band("a run", "conal", ["a", "b"], [np.array([1.0, 3.0]), np.array([5.0])])
    assert (found.mean.tolist(), found.n.tolist()) == ([2.0, 5.0], [2, 1])


def test_one_row_of_values_per_position():
    with pytest.raises(SettingError, match="`values` must hold 2 rows"):
        band("a run", "conal", [1, 2], np.ones((3, 2)))


def test_the_table_is_long():
    bands = [band("one", "conal", [1, 2], np.ones((2, 3))), band("other", "trace", [1], np.zeros((1, 2)))]
    frame = band_frame(bands, "epoch", "loss")
    assert list(frame.columns) == ["run", "method", "epoch", "loss mean", "loss std", "values"]
    assert frame["run"].tolist() == ["one", "one", "other"]
    assert frame["loss mean"].tolist() == [1, 1, 0]
    assert list(band_frame([], "epoch", "loss").columns) == list(frame.columns)


def test_smoothing_takes_the_mean_around_each_position() -> None:
    values = np.array([[1.0, 2.0], [4.0, 4.0], [np.nan, np.nan], [0.0, 2.0]])
    b = band("one", "conal", [1, 2, 3, 4], values)
    found = smoothed(b, 3)
    np.testing.assert_allclose(found.mean, [2.75, 2.75, np.nan, 1.0])
    np.testing.assert_allclose(found.std, [b.std[:2].mean(), b.std[:2].mean(), np.nan, b.std[3]])
    assert smoothed(b, 1) is b
    for wrong in (0, 2, -1):
        with pytest.raises(SettingError, match="odd"):
            smoothed(b, wrong)
