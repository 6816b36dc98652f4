"""Shares from few gold labels: ppi-python's numbers, coverage, and gold that was not drawn at random."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.analysis.panels.honest import _tuned
from tests.analysis.panels.crowds import difficult, judged

ORACLE = json.loads((Path(__file__).parent / "ppi.json").read_text())


def test_estimate_and_interval_are_those_of_ppi_python() -> None:
    y, f = np.array(ORACLE["y"]), np.array(ORACLE["f"])
    value, half = _tuned(y, f[: len(y)], f, 0.95)
    assert value == pytest.approx(ORACLE["estimate"], abs=1e-9)
    # Theirs is about items to come: it holds the variance of these items' mean besides (and a normal quantile).
    to_come = np.sqrt(half**2 + 1.96**2 * y.var(ddof=1) / len(f))
    assert to_come == pytest.approx((ORACLE["high"] - ORACLE["low"]) / 2, rel=0.03)


VERDICTS, TRUTH = difficult(500, 6, 77)
ALL_GOLD = judged(VERDICTS, TRUTH)


def some_gold(seed: int, n: int) -> tuple[cc.CrowdDataset, np.ndarray]:
    shown = np.isin(np.arange(500), np.random.default_rng(seed).permutation(500)[:n])
    return replace(ALL_GOLD, gold=np.where(shown, ALL_GOLD.gold, -1)), TRUTH


def test_intervals_cover_the_share_of_all_items() -> None:
    hits, ratio = 0, []
    for seed in range(60):
        of, truth = some_gold(seed, 60)
        score = cc.analysis.honest_score(of, "b-yes")
        hits += score.low[0] <= truth.mean() <= score.high[0]
        ratio.append((score.high[0] - score.low[0]) / (score.gold_high[0] - score.gold_low[0]))
    assert hits >= 52
    assert np.mean(ratio) < 0.95


def test_gold_of_one_class_alone_is_doubted() -> None:
    of, truth = some_gold(0, 500)
    chosen = np.where((np.arange(500) % 3 == 0) & (truth == 1), of.gold, -1)
    assert any(
        "not drawn at random" in note for note in cc.analysis.honest_score(replace(of, gold=chosen), "b-yes").notes
    )
    fair = np.where(np.random.default_rng(3).random(500) < 0.3, of.gold, -1)
    assert len(cc.analysis.honest_score(replace(of, gold=fair), "b-yes").notes) == 1


def test_too_little_gold_is_refused() -> None:
    with pytest.raises(cc.CrowdError, match="20"):
        cc.analysis.honest_score(some_gold(0, 8)[0], "b-yes")
    with pytest.raises(cc.SettingError, match="passes"):
        cc.analysis.honest_score(some_gold(0, 60)[0], "nothing")


def test_a_sample_without_a_failure_does_not_show_that_there_is_none() -> None:
    rng = np.random.default_rng(1)
    truth = (rng.random(400) < 0.9).astype(int)
    verdicts = np.where(rng.random((400, 5)) < 0.9, truth[:, None], 1 - truth[:, None])
    full, hits = judged(verdicts, truth), np.zeros(3)
    vote = verdicts.sum(1) > 2
    true = [truth.mean(), (vote == truth).mean(), vote[truth == 1].mean()]
    for _ in range(40):
        gold = np.full(400, -1, full.gold.dtype)
        shown = rng.permutation(400)[:25]
        gold[shown] = full.gold[shown]
        score = cc.analysis.honest_score(replace(full, gold=gold), "b-yes")
        hits += (score.low <= true) & (true <= score.high) & (score.low <= score.estimate)
    assert hits.min() >= 36
