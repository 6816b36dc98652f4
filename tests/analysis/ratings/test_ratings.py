"""Ratings: agreement, shared bias, workers, surprise, rounding."""

from __future__ import annotations

from dataclasses import replace

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import crowdcore as cc
from crowdcore import analysis
from crowdcore.data import RatingDataset
from tests.rated_crowd import rated_crowd


def matrix(dataset: RatingDataset) -> np.ndarray:
    """(n_workers, n_tasks) ratings, NaN = none."""
    wide = np.full((dataset.n_workers, dataset.n_tasks), np.nan)
    wide[dataset.worker, dataset.task] = dataset.rating
    return wide


def likert(seed: int = 0) -> RatingDataset:
    crowd, _ = rated_crowd(60, 6, 4, seed, noise=0.2)
    rating = np.clip(np.round(crowd.rating * 4), 0, 4) + 1
    return RatingDataset("likert", 1, 5, crowd.task_ids, crowd.worker_ids, crowd.task, crowd.worker, rating)


def test_a_worker_against_scipy():
    crowd, bias = rated_crowd()
    table = analysis.rating_workers(crowd, analysis.rating_truth(crowd))
    mine = crowd.worker == 3
    y, t = crowd.rating[mine], crowd.gold[crowd.task[mine]]
    line = stats.linregress(t, y)
    half = stats.t.ppf(0.975, mine.sum() - 2) * line.stderr
    mean = stats.ttest_1samp(y - t, 0).confidence_interval(0.95)
    pearson = stats.pearsonr(t, y).confidence_interval(0.95)
    assert table.n[3] == mine.sum()
    np.testing.assert_allclose([table.bias[3], table.low["bias"][3], table.high["bias"][3]], [np.mean(y - t), *mean])
    np.testing.assert_allclose([table.scale[3], table.low["scale"][3]], [line.slope, line.slope - half])
    np.testing.assert_allclose([table.low["correlation"][3], table.high["correlation"][3]], pearson)
    np.testing.assert_allclose([table.mae[3], table.rmse[3]], [np.abs(y - t).mean(), np.sqrt(((y - t) ** 2).mean())])
    assert np.abs(table.bias - bias).max() < 0.05
    assert list(table.frame()["worker"][:2]) == ["w0", "w1"]


def test_the_mean_leaves_out_the_rating_itself():
    frame = pd.DataFrame({"task": list("aaab"), "worker": list("xyzx"), "rating": [0, 3, 6, 1]})
    truth = analysis.rating_truth(cc.ratings_from_frame(frame, 0, 6), "mean")
    np.testing.assert_array_equal(truth.compared, [4.5, 3, 1.5, np.nan])
    with pytest.raises(cc.DataError, match="has no gold"):
        analysis.rating_truth(cc.ratings_from_frame(frame, 0, 6), "gold")


@pytest.mark.parametrize(("name", "steeper", "words"), [("mean", -1, "towards 0"), ("raykar-em", 1, "too steep")])
def test_the_note_on_an_inferred_truth_says_in_which_direction_slopes_and_errors_are_wrong(name, steeper, words):
    """Slopes by raykar-em were said to be drawn towards 0, and are too steep."""
    for noise in (0.8, 2.5):
        slopes, errors = [], []
        for seed in range(5):
            crowd = cc.data.simulate.ratings(
                shared_low=0, shared_high=0, spammers=0, copiers=0, noise=noise, per_task=4, seed=seed
            )
            by = [analysis.rating_workers(crowd, analysis.rating_truth(crowd, of)) for of in (name, "gold")]
            slopes.append(np.nanmean(by[0].scale - by[1].scale))
            errors.append(np.nanmean(by[0].rmse - by[1].rmse))
        assert np.sign([np.mean(slopes), np.mean(errors)]).tolist() == [steeper, -steeper]
    assert words in analysis.rating_truth(crowd, name).note


@pytest.mark.parametrize("odd", [False, True])
def test_intervals_hold_the_truth_but_those_of_errors_not_where_few_tasks_cause_most(odd):
    rng, means, (n_workers, n) = np.random.default_rng(0), [], (20, 60)
    for _ in range(30):
        gold, worker = rng.uniform(0, 100, 4000), np.repeat(np.arange(n_workers), n)
        task = np.concatenate([rng.choice(4000, n, replace=False) for _ in range(n_workers)])
        spread = np.where(rng.random(4000) < 0.05, 40.0, 4.0) if odd else np.full(4000, 10.0)
        rating, order = gold[task] + spread[task] * rng.normal(size=len(task)), np.argsort(task, kind="stable")
        ids = pd.RangeIndex(4000).astype(str), pd.RangeIndex(n_workers).astype(str)
        crowd = RatingDataset("r", -300, 400, *ids, task[order], worker[order], rating[order], gold=gold)
        workers = analysis.rating_workers(crowd, analysis.rating_truth(crowd))
        share, sizes = (np.array([0.95, 0.05]), np.array([4, 40])) if odd else (np.ones(1), np.array([10]))
        square, mean = share @ sizes**2, share @ sizes * np.sqrt(2 / np.pi)
        truth = {"bias": 0, "scale": 1, "mae": mean, "rmse": square**0.5}
        truth["correlation"] = (1 + square * 12 / 100**2) ** -0.5
        means.append([((workers.low[k] <= v) & (v <= workers.high[k])).mean() for k, v in truth.items()])
    bias, scale, *rest = np.mean(means, 0)
    assert min(bias, scale) > 0.93
    assert max(rest) < 0.9 if odd else min(rest) > 0.93


def test_a_planted_shared_bias_is_found_where_it_is_and_not_elsewhere():
    crowd, _ = rated_crowd(800, 30, shared=lambda t: 0.15 * (t > 0.8), bias_sd=0.05)
    bias = analysis.shared_bias(crowd, analysis.rating_truth(crowd), n_bins=50)  # of 0.1 each, from -2
    assert (bias.q_value[28:30] < 0.001).all()
    assert (bias.low[28:30] < 0.17).all()
    assert (bias.high[28:30] > 0.13).all()
    assert bias.q_value[20:28].min() > 0.05
    assert "overrates" in bias.sentence() and "0.8…1" in bias.sentence()
    assert bias.ratings.sum() == crowd.n_annotations


@pytest.mark.parametrize("reference", ["mean", "median", "raykar-em"])
def test_without_gold_no_bias_is_shown_to_be_shared_or_not(reference):
    crowd, _ = rated_crowd(300, shared=lambda t: 0.15 * (t > 0.8))
    bias = analysis.shared_bias(crowd, analysis.rating_truth(crowd, reference))
    assert np.isnan(bias.p_value).all()
    assert "without gold" in bias.sentence()


def test_errors_at_the_ends_of_a_range_are_told_apart_from_a_bias():
    crowd, _ = rated_crowd(2000, 30, bias_sd=0.02)
    kept = replace(crowd, low=0.0, high=1.0, rating=np.clip(crowd.rating, 0, 1))
    bias = analysis.shared_bias(kept, analysis.rating_truth(kept), n_bins=20)
    assert "overrates where the truth is 0…0.05 and" in bias.sentence()
    assert "unbiased workers" in bias.sentence()


def test_one_busy_worker_makes_no_shared_bias():
    crowd, _ = rated_crowd(400, 20, 4, bias_sd=0.02)
    busy = RatingDataset(
        *("x", -2, 3, crowd.task_ids, crowd.worker_ids, np.sort(np.r_[crowd.task, crowd.task[::1]])),
        np.c_[crowd.worker, np.zeros(len(crowd.worker), int)].ravel(),
        np.c_[crowd.rating, crowd.gold[crowd.task] + 0.5].ravel(),
        gold=crowd.gold,
    )
    bias = analysis.shared_bias(busy, analysis.rating_truth(busy), n_bins=5)
    assert np.nanmax(bias.bias) > 0.2
    assert np.nanmin(np.append(bias.p_value, 1)) > 0.05


def test_pairs_against_numpy_and_scikit_learn():
    crowd = likert()
    crowd = RatingDataset(*[getattr(crowd, k) for k in ("name", "low", "high", "task_ids", "worker_ids")],
                          crowd.task, crowd.worker, crowd.rating, gold=np.linspace(1, 5, 60))  # fmt: skip
    pairs = analysis.rating_pairs(crowd, analysis.rating_truth(crowd), min_overlap=5)
    wide = matrix(crowd)
    a, b = pairs.worker_a[4], pairs.worker_b[4]
    both = ~np.isnan(wide[a]) & ~np.isnan(wide[b])
    x, y = wide[a, both], wide[b, both]
    assert pairs.tasks[4] == both.sum()
    assert pairs.distance[4] == pytest.approx(np.sqrt(((x - y) ** 2).mean()))
    left = []
    for one in (a, b):
        mine = ~np.isnan(wide[one])
        curve = np.polyfit(crowd.gold[mine], wide[one, mine], 3)  # on all tasks of the worker
        left.append(wide[one, both] - np.polyval(curve, crowd.gold[both]))
    assert pairs.error_correlation[4] == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-6)
    assert pairs.kappa[4] == pytest.approx(cohen_kappa_score(x, y, weights="quadratic", labels=[1, 2, 3, 4, 5]))


def test_alpha_is_that_of_krippendorff():
    crowd = likert()
    coefficients = analysis.rating_agreement(crowd, n_resamples=50)
    for level in ("interval", "ordinal"):
        oracle = krippendorff.alpha(matrix(crowd), level_of_measurement=level)
        coefficient = coefficients[f"α {level}"]
        assert coefficient.value == pytest.approx(oracle)
        assert coefficient.low < oracle < coefficient.high


def test_icc_and_ac2_are_their_definitions():
    crowd = likert()
    coefficients = analysis.rating_agreement(crowd, n_resamples=0)
    wide = matrix(crowd)
    groups = [column[~np.isnan(column)] for column in wide.T]
    f = stats.f_oneway(*groups).statistic  # all groups have 4
    assert coefficients["ICC(1)"].value == pytest.approx((f - 1) / (f + 3))
    assert coefficients["ICC(k)"].value == pytest.approx(1 - 1 / f)
    assert coefficients["AC2"].value == pytest.approx(ac2(groups))
    assert np.isnan(coefficients["AC2"].low)


def ac2(groups: list[np.ndarray]) -> float:
    """Gwet (2014, eq. 5.8 and 5.9), as irrCAC writes it: p_a over tasks with two ratings or more, p_e over all."""
    levels = np.unique(np.concatenate(groups))
    weight = 1 - (levels[:, None] - levels) ** 2 / np.ptp(levels) ** 2
    counts = np.array([[(g == k).sum() for k in levels] for g in groups])
    agreed = [(c * (weight @ c - 1)).sum() / (c.sum() * (c.sum() - 1)) for c in counts if c.sum() > 1]
    share = (counts / counts.sum(1, keepdims=True)).mean(0)
    chance = weight.sum() / (len(levels) * (len(levels) - 1)) * (share * (1 - share)).sum()
    return float((np.mean(agreed) - chance) / (1 - chance))


def test_ac2_expects_chance_of_tasks_with_one_rating_too():
    """irrCAC 0.4.4 gives 0.7149 for this crowd, where we gave 0.7040."""
    whole = likert()
    once = np.arange(whole.n_tasks) >= 30
    first = np.unique(whole.task, return_index=True)[1]
    keep = ~once[whole.task] | np.isin(np.arange(whole.n_annotations), first)
    parts = whole.task[keep], whole.worker[keep], whole.rating[keep]
    crowd = RatingDataset("once", 1, 5, whole.task_ids, whole.worker_ids, *parts)
    groups = [crowd.rating[crowd.task == i] for i in range(crowd.n_tasks)]
    stats, alone = analysis.rating_agreement(crowd, n_resamples=200), [g for g in groups if len(g) > 1]
    assert stats["AC2"].value == pytest.approx(ac2(groups)) == pytest.approx(0.71489292)
    assert abs(stats["AC2"].value - ac2(alone)) > 1e-3
    assert stats["AC2"].low < stats["AC2"].value < stats["AC2"].high
    assert stats["α ordinal"].value == pytest.approx(krippendorff.alpha(matrix(crowd), level_of_measurement="ordinal"))
    assert (stats.tasks, stats.ratings) == (30, sum(map(len, alone)))


def test_coefficients_say_why_they_are_not_there():
    frame = pd.DataFrame({"task": list("ab"), "worker": list("xx"), "rating": [1, 2]})
    coefficients = analysis.rating_agreement(cc.ratings_from_frame(frame, 0, 6))
    assert "two workers" in coefficients["AC2"].state
    many, _ = rated_crowd(30, 5, 3)
    assert "distinct ratings" in analysis.rating_agreement(many)["AC2"].state


def test_a_rating_is_held_against_the_others_of_its_worker() -> None:
    crowd, _ = rated_crowd(40, 6, 3)
    surprise = analysis.rating_surprise(crowd, analysis.rating_truth(crowd))
    error = crowd.rating - crowd.gold[crowd.task]
    for row in range(0, crowd.n_annotations, 7):
        others = error[(crowd.worker == crowd.worker[row]) & (np.arange(len(error)) != row)]
        n = len(others)
        t = (error[row] - others.mean()) / (others.std(ddof=1) * np.sqrt(1 + 1 / n))
        assert surprise.usual[row] == pytest.approx(others.mean())
        assert surprise.p_value[row] == pytest.approx(2 * stats.t.sf(abs(t), n - 1), rel=1e-6)


def test_honest_ratings_surprise_as_often_as_chance_says_and_a_slip_does() -> None:
    crowd, _ = rated_crowd(2000, 20, 5, seed=3)
    truth = analysis.rating_truth(crowd)
    p_value = analysis.rating_surprise(crowd, truth).p_value
    assert stats.kstest(p_value, "uniform").pvalue > 0.01
    assert 0.005 < (p_value < 0.01).mean() < 0.015
    slipped = crowd.rating.copy()
    slipped[17] += 0.8  # ten times the noise
    assert analysis.rating_surprise(replace(crowd, rating=slipped), truth).p_value[17] < 1e-10


def test_a_worker_of_two_ratings_or_of_equal_errors_has_none() -> None:
    crowd, _ = rated_crowd(30, 6, 3)
    first = np.flatnonzero(crowd.worker == 0)[2:]
    few = crowd.where(~np.isin(np.arange(crowd.n_annotations), first))
    surprise = analysis.rating_surprise(few, analysis.rating_truth(few))
    assert np.isnan(surprise.p_value[few.worker == 0]).all()
    assert not np.isnan(surprise.p_value[few.worker != 0]).any()
    exact = replace(crowd, rating=crowd.gold[crowd.task])
    assert np.isnan(analysis.rating_surprise(exact, analysis.rating_truth(exact)).p_value).all()


GOLD = np.round(np.linspace(1.1, 4.3, 12), 2)


def rated(by_worker: dict[str, np.ndarray], gold: np.ndarray) -> RatingDataset:
    rows = [(f"t{i}", worker, value) for worker, values in by_worker.items() for i, value in enumerate(values)]
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
    surprise = analysis.rating_surprise(crowd, analysis.rating_truth(crowd))
    np.testing.assert_allclose(surprise.usual, 0.7)
    assert np.isnan(surprise.p_value).all()


def test_two_workers_with_one_and_the_same_rating_have_no_kappa() -> None:
    always = {"ann": np.full(12, 3.3), "ben": np.full(12, 3.3)}
    crowd = rated(always | {"cem": GOLD}, GOLD)
    pairs = analysis.rating_pairs(crowd, analysis.rating_truth(crowd)).frame().set_index(["worker", "other"])
    assert np.isnan(pairs.kappa["ann", "ben"])
    assert np.isfinite(pairs.kappa["ann", "cem"])
    kappa = analysis.rating_agreement(crowd, n_resamples=0)["weighted κ"]
    assert "2 pairs" in kappa.state


@pytest.mark.parametrize("value", [3.3, 2.2, 4.7])
def test_one_rating_for_all_has_no_agreement_beyond_chance(value: float) -> None:
    crowd = rated({worker: np.full(12, value) for worker in ("ann", "ben", "cem")}, GOLD)
    coefficients = analysis.rating_agreement(crowd, n_resamples=50)
    assert all(np.isnan([c.value, c.low, c.high]).all() and c.state for c in coefficients.coefficients), coefficients


def test_one_task_has_no_intraclass_correlation() -> None:
    coefficients = analysis.rating_agreement(rated({"ann": GOLD[:1], "ben": GOLD[1:2]}, GOLD[:1]), n_resamples=50)
    for name in ("ICC(1)", "ICC(k)"):
        assert np.isnan(coefficients[name].value), coefficients[name]
        assert coefficients[name].state == "one task only", coefficients[name]


def test_a_constant_truth_has_no_explained_variance() -> None:
    crowd = rated({"ann": GOLD, "ben": GOLD[::-1]}, np.full(12, 3.3))
    table = cc.exhibits.ratings.aggregators(cc.exhibits.ratings.rating_view(crowd)).table
    assert table["R²"].isna().all() and table["RMSE"].notna().all()
