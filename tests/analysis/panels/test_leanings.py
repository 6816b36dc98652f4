"""Leanings of judges: planted ones are found, and confounded ones are not named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.analysis.panels.leanings import LENGTH, OWN, POSITION

NAMES = ["gpt-4o", "claude-3-haiku", "llama-3-8b", "qwen-2-7b"]


def told(seed: int, lean: dict[str, float], repeats: int = 1, n: int = 600, gold: bool = True) -> cc.CrowdDataset:
    """Four judges of answers, of which the better are longer and more often OpenAI's; gpt-4o also leans."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    item, judge = (part.ravel() for part in np.meshgrid(np.tile(np.arange(n), repeats), np.arange(4), indexing="ij"))
    swapped, length = rng.random(len(item)) < 0.5, np.exp(5 + 0.5 * truth + rng.normal(0, 0.6, n))[item]
    author = np.where(rng.random(n) < 0.3 + 0.4 * truth, "gpt-4-turbo", "mistral-large")[item]
    z = np.log(length) - np.log(length).mean()
    push = lean.get(POSITION, 0) * swapped + lean.get(LENGTH, 0) * z + lean.get(OWN, 0) * (author == "gpt-4-turbo")
    chance = 0.2 + 0.5 * truth[item] + np.where(judge == 0, push, 0)
    label = (rng.random(len(item)) < chance).astype(int)
    rows = {
        "task": [f"t{i:04d}" for i in item],
        "worker": np.array(NAMES)[judge],
        "label": np.array(["no", "yes"])[label],
    }
    extra = {"swapped": swapped, "length": length.round(), "author": author}
    true = {f"t{i:04d}": ["no", "yes"][c] for i, c in enumerate(truth)} if gold else None
    return cc.from_frame(pd.DataFrame({**rows, **extra}), gold=true, accept=True)


@pytest.mark.parametrize("what", [POSITION, LENGTH, OWN])
def test_a_planted_leaning_is_told_of_the_judge_who_has_it(what: str) -> None:
    frame = cc.analysis.panel_leanings(told(3, {what: 0.25})).frame()
    sure = frame[frame["points low"] * frame["points high"] > 0]
    assert list(zip(sure["worker"], sure["moved by"], strict=True)) == [("gpt-4o", what)]
    assert 8 < sure["points"].iloc[0] < 35


def test_without_gold_the_position_alone_is_told() -> None:
    leanings = cc.analysis.panel_leanings(told(3, {POSITION: 0.25, LENGTH: 0.25}, gold=False))
    sure = leanings.low * leanings.high > 0
    assert {*leanings.what} == {POSITION} and list(leanings.worker_ids[leanings.worker[sure]]) == ["gpt-4o"]
    assert "drawn at random" in leanings.notes[-1]


def test_honest_judges_are_told_nothing_of() -> None:
    named = 0
    for seed in range(20):
        frame = cc.analysis.panel_leanings(told(seed, {}, n=200, gold=seed % 2 == 0)).frame()
        named += bool((frame["points low"] * frame["points high"] > 0).any())
    assert named <= 3


def test_flips_between_positions_and_repeats_are_told_apart() -> None:
    crowd = told(1, {POSITION: 0.3}, repeats=2)
    leanings = cc.analysis.panel_leanings(crowd)
    frame = leanings.flips_frame().set_index("worker")
    assert frame.loc["gpt-4o", "both positions"] + frame.loc["gpt-4o", "repeats"] == 600
    assert frame.loc["gpt-4o", "flips"] > frame.loc["gpt-4o", "changes"]
    without = cc.analysis.panel_leanings(replace(crowd, extra=None))
    assert (without.orders == 0).all() and without.repeats.sum() == 4 * 600 and without.notes == ()


def test_a_tie_is_half_and_other_classes_are_refused() -> None:
    crowd = told(2, {POSITION: 0.3})
    tied = replace(crowd, classes=("a", "b", "tie"))
    assert cc.analysis.panel_leanings(tied).classes == ("a", "b")
    with pytest.raises(cc.DataError, match="ties"):
        cc.analysis.panel_leanings(replace(crowd, classes=("a", "b", "other")))
    with pytest.raises(cc.DataError, match="no column"):
        cc.analysis.panel_leanings(replace(crowd, extra=None))
    with pytest.raises(cc.SettingError, match="length"):
        cc.analysis.panel_leanings(crowd, length="author")
