"""One trait of verdicts: its order, its border, and what it says of both."""

from __future__ import annotations

import numpy as np
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
    for seed in range(5):
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
    found = cc.aggregation.get("trait", slope_deviation=10).fit(crowd).worker_weight
    by_name = dict(zip(crowd.worker_ids, found, strict=True))
    assert [by_name[f"judge-{j}"] for j in range(10)] == pytest.approx(slope, abs=0.25)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_stated_share_is_that_of_the_labels(share: float) -> None:
    verdicts, truth = difficult(1000, 12, 3)
    found = cc.aggregation.get("trait", share=share).fit(judged(verdicts, truth))
    assert found.labels.mean() == pytest.approx(share, abs=0.01)
    assert len(found.notes) == 1 and f"{100 * share:.0f} %" in found.notes[0] and "25 gold" not in found.notes[0]


def test_without_a_share_the_votes_decide_and_the_note_says_so() -> None:
    verdicts, truth = independent(1000, 9, 4, share=0.2)
    crowd = judged(verdicts, truth)
    found, votes = (cc.aggregation.get(name).fit(crowd) for name in ("trait", "majority-vote"))
    assert found.labels.mean() == pytest.approx(votes.labels.mean(), abs=0.005)
    assert "do not show where the border" in found.notes[0] and "25 gold labels" in found.notes[0]


@pytest.mark.parametrize("label", [0, 1])
def test_a_panel_of_one_opinion_keeps_it(label: int) -> None:
    verdicts = np.vstack([np.full((30, 3), label), np.full((1, 3), 1 - label)])
    found = cc.aggregation.get("trait").fit(judged(verdicts, None))
    assert (found.labels == np.r_[np.full(30, label), 1 - label]).all()


def test_other_data_is_refused_in_a_sentence() -> None:
    verdicts = np.random.default_rng(0).integers(0, 3, (40, 4))
    with pytest.raises(cc.DataError, match="two classes only"):
        cc.aggregation.get("trait").fit(judged(verdicts, None))


def test_auto_does_not_weigh_it() -> None:
    assert "trait" not in _CANDIDATES
