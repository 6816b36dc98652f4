"""One trait of verdicts: its order, its border, and its notes on both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import crowdcore as cc
from crowdcore.aggregation.auto import _CANDIDATES
from tests.analysis.panels.crowds import difficult, independent, judged


def area(score: np.ndarray, truth: np.ndarray) -> float:
    """Area under the ROC curve: how often a task of the second class is above one of the first."""
    ones = truth.sum()
    return float((rankdata(score)[truth == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(truth) - ones)))


def test_order_is_better_than_the_votes_where_some_see_little() -> None:
    for seed in range(2):
        rng, (verdicts, truth) = np.random.default_rng(seed), difficult(800, 9, seed)
        verdicts[:, 5:] = rng.integers(0, 2, (800, 4))
        verdicts[rng.random(verdicts.shape) < 0.2] = -1
        crowd = judged(verdicts, truth)
        by_trait, by_votes = (cc.aggregation.get(n).fit(crowd).posterior[:, 1] for n in ("trait", "majority-vote"))
        assert area(by_trait, crowd.gold) > area(by_votes, crowd.gold) + 0.02


def test_judges_who_see_more_of_the_trait_weigh_more() -> None:
    rng = np.random.default_rng(1)
    slope, trait = np.linspace(0, 3, 10), rng.normal(0, 1, 3000)
    verdicts = (rng.random((3000, 10)) < 1 / (1 + np.exp(-slope * trait[:, None] - rng.normal(0, 1, 10)))).astype(int)
    crowd = judged(verdicts, None)
    weight = cc.aggregation.get("trait", slope_deviation=10).fit(crowd).worker_weight
    by_name = dict(zip(crowd.worker_ids, weight, strict=True))
    assert [by_name[f"judge-{j}"] for j in range(10)] == pytest.approx(slope, abs=0.25)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_stated_share_is_that_of_the_labels(share: float) -> None:
    verdicts, truth = difficult(1000, 12, 3)
    result = cc.aggregation.get("trait", share=share).fit(judged(verdicts, truth))
    assert result.labels.mean() == pytest.approx(share, abs=0.01)
    assert len(result.notes) == 1 and f"{100 * share:.0f} %" in result.notes[0] and "25 gold" not in result.notes[0]


def test_without_a_share_the_votes_decide_and_the_note_says_so() -> None:
    verdicts, truth = independent(1000, 9, 4, share=0.2)
    crowd = judged(verdicts, truth)
    trait, votes = (cc.aggregation.get(name).fit(crowd) for name in ("trait", "majority-vote"))
    assert trait.labels.mean() == pytest.approx(votes.labels.mean(), abs=0.005)
    assert "25 gold labels" in trait.notes[0]


@pytest.mark.parametrize("label", [0, 1])
def test_a_panel_of_one_opinion_keeps_it(label: int) -> None:
    verdicts = np.vstack([np.full((30, 3), label), np.full((1, 3), 1 - label)])
    result = cc.aggregation.get("trait").fit(judged(verdicts, None))
    assert (result.labels == np.r_[np.full(30, label), 1 - label]).all()


def test_other_data_is_refused_in_a_sentence() -> None:
    verdicts = np.random.default_rng(0).integers(0, 3, (40, 4))
    with pytest.raises(cc.DataError, match="two classes only"):
        cc.aggregation.get("trait").fit(judged(verdicts, None))


def with_gold(crowd: cc.CrowdDataset, n: int, seed: int, **settings: object) -> tuple[float, np.ndarray]:
    """Accuracy on tasks without given gold, with that of n random tasks given; and the probabilities."""
    given = np.full(crowd.n_tasks, -1)
    drawn = np.random.default_rng(seed).permutation(crowd.n_tasks)[:n]
    given[drawn] = crowd.gold[drawn]
    result = cc.aggregation.get("trait", **settings).fit(crowd, known=given)
    return float((result.labels == crowd.gold)[given < 0].mean()), result.posterior[:, 1]


def leaning(n: int, seed: int) -> cc.CrowdDataset:
    """Judges of one trait who call most tasks the first class; judge 2 alone sees the truth besides."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.6).astype(int)
    trait = (2 * truth - 1) * 0.7 + rng.normal(0, 1, n)
    chance = 1 / (1 + np.exp(-2 * (trait[:, None] - 1.2 - rng.normal(0, 0.3, 8))))
    verdicts = (rng.random((n, 8)) < chance).astype(int)
    verdicts[:, 2] = np.where(rng.random(n) < 0.85, truth, 1 - truth)
    return judged(verdicts, truth)


def test_gold_moves_the_border_and_finds_the_judge_who_is_right_alone() -> None:
    right, off = np.zeros((3, 3)), np.zeros(3)
    for seed in range(3):
        crowd = leaning(1000, seed)
        many, p = with_gold(crowd, 400, seed)
        alone = (cc.aggregation.get("trait").fit(crowd).labels == crowd.gold).mean()
        right[seed] = alone, with_gold(crowd, 25, seed)[0], many
        values = np.maximum(p, 1 - p)
        bins, gap = np.minimum(values * 10, 9).astype(int), values - ((p > 0.5) == crowd.gold)
        off[seed] = sum(abs(gap[bins == k].sum()) for k in range(5, 10)) / len(gap)
    assert np.diff(right.mean(0)).min() > 0.01 and right.mean(0)[2] > 0.86 and off.mean() < 0.05


def test_few_gold_labels_do_no_harm_where_the_border_is_right() -> None:
    lost = []
    for seed in range(6):
        crowd = judged(*difficult(400, 7, seed))
        free = (cc.aggregation.get("trait").fit(crowd).labels == crowd.gold).mean()
        lost.append(free - with_gold(crowd, 10, seed)[0])
    assert np.mean(lost) < 0.005


def test_few_gold_labels_move_the_border_of_votes_more_than_a_stated_one() -> None:
    moved = np.zeros((4, 2))
    for seed in range(4):
        crowd = leaning(1000, seed)
        for k, share in enumerate((None, 0.25)):  # the votes' share is about that, the true one .6
            free = cc.aggregation.get("trait", share=share).fit(crowd).labels.mean()
            moved[seed, k] = (with_gold(crowd, 25, seed, share=share)[1] > 0.5).mean() - free
    assert moved[:, 0].mean() > moved[:, 1].mean() + 0.02 and moved[:, 0].mean() > 0.15


def test_gold_of_one_class_alone_or_of_all_tasks_is_taken() -> None:
    crowd = judged(*difficult(300, 6, 1))
    assert np.isfinite(cc.aggregation.get("trait").fit(crowd, known=np.where(crowd.gold == 1, 1, -1)).posterior).all()
    assert (cc.aggregation.get("trait").fit(crowd, known=crowd.gold).labels == crowd.gold).all()


def scored(n: int, m: int, seed: int, turned: bool = False) -> cc.CrowdDataset:
    """Verdicts nearly all of one kind, beside more informative scores 0 to 9; some of both are missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    seen = ((2 * truth - 1) * 0.8 + rng.normal(0, 1, n))[:, None] + rng.normal(0, 1.2, (n, m)) * rng.uniform(
        0.3, 1.5, m
    )
    score = np.clip(np.round(4.5 + 2 * seen), 0, 9)
    verdicts = (score > 7).astype(int)
    verdicts[rng.random((n, m)) < 0.1] = -1
    crowd = judged(verdicts, truth)
    item, judge = np.nonzero(verdicts >= 0)
    score = (9 - score if turned else score)[item, judge]
    score[rng.random(len(score)) < 0.1] = np.nan
    return replace(crowd, extra=pd.DataFrame({"score": score, "word": "x"}))


@pytest.mark.parametrize("turned", [False, True])
def test_scores_order_the_tasks_better_than_verdicts(turned: bool) -> None:
    more = []
    for seed in range(3):
        crowd = scored(700, 7, seed, turned)
        by_scores, by_verdicts = (
            area(cc.aggregation.get("trait", scores=column).fit(crowd).posterior[:, 1], crowd.gold)
            for column in ("score", "")
        )
        assert by_scores > by_verdicts + 0.03
        more.append(with_gold(crowd, 100, seed, scores="score")[0] - with_gold(crowd, 100, seed)[0])
    assert np.mean(more) > 0.03


@pytest.mark.parametrize("column", ["word", "nothing"])
def test_scores_that_are_none_are_refused(column: str) -> None:
    with pytest.raises(cc.SettingError, match="score"):
        cc.aggregation.get("trait", scores=column).fit(scored(60, 4, 0))


def test_auto_does_not_weigh_it() -> None:
    assert "trait" not in _CANDIDATES
