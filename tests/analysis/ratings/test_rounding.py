"""Where ratings do not vary, nothing is computed from what rounding leaves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.data import RatingDataset

GOLD = np.round(np.linspace(1.1, 4.3, 12), 2)


def rated(by_worker: dict[str, np.ndarray], gold: np.ndarray) -> RatingDataset:
    rows = [(f"t{i}", who, value) for who, values in by_worker.items() for i, value in enumerate(values)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "rating"])
    return cc.ratings_from_frame(frame, 1, 5, gold={f"t{i}": value for i, value in enumerate(gold)})


@pytest.mark.parametrize("n", [3, 6, 9, 12])
def test_a_constant_truth_or_worker_has_no_scale_and_no_correlation(n: int) -> None:
    varied, constant = GOLD[:n], np.full(n, 3.3)
    same = analysis.rating_workers(found := rated({"ann": varied}, constant), analysis.rating_truth(found))
    assert np.isnan([same.scale[0], same.correlation[0], same.low["correlation"][0], same.high["scale"][0]]).all()
    flat = analysis.rating_workers(found := rated({"ann": constant}, varied), analysis.rating_truth(found))
    assert np.isnan(flat.correlation[0])
    assert abs(flat.scale[0]) < 1e-12


def test_a_worker_who_is_always_off_by_the_same_has_no_surprising_ratings() -> None:
    crowd = rated({"ann": np.round(GOLD + 0.7, 2)}, GOLD)
    found = analysis.rating_surprise(crowd, analysis.rating_truth(crowd))
    np.testing.assert_allclose(found.usual, 0.7)
    assert np.isnan(found.p_value).all()


def test_two_workers_with_one_and_the_same_rating_have_no_kappa() -> None:
    always = {"ann": np.full(12, 3.3), "ben": np.full(12, 3.3)}
    crowd = rated(always | {"cem": GOLD}, GOLD)
    pairs = analysis.rating_pairs(crowd, analysis.rating_truth(crowd)).frame().set_index(["worker", "other"])
    assert np.isnan(pairs.kappa["ann", "ben"])
    assert np.isfinite(pairs.kappa["ann", "cem"])
    found = analysis.rating_agreement(crowd, resamples=0)["weighted κ"]
    assert found.state == "mean over 2 pairs of workers"


@pytest.mark.parametrize("value", [3.3, 2.2, 4.7])
def test_one_rating_for_all_has_no_agreement_beyond_chance(value: float) -> None:
    crowd = rated({who: np.full(12, value) for who in ("ann", "ben", "cem")}, GOLD)
    found = analysis.rating_agreement(crowd, resamples=50)
    assert all(np.isnan([c.value, c.low, c.high]).all() and c.state for c in found.coefficients), found


def test_one_task_has_no_intraclass_correlation() -> None:
    found = analysis.rating_agreement(rated({"ann": GOLD[:1], "ben": GOLD[1:2]}, GOLD[:1]), resamples=50)
    for name in ("ICC(1)", "ICC(k)"):
        assert np.isnan(found[name].value), found[name]
        assert found[name].state == "one task only", found[name]


def test_a_constant_truth_has_no_explained_variance() -> None:
    crowd = rated({"ann": GOLD, "ben": GOLD[::-1]}, np.full(12, 3.3))
    table = cc.exhibits.ratings.aggregators(cc.exhibits.ratings.rating_view(crowd)).table
    assert table["R²"].isna().all() and table["RMSE"].notna().all()
