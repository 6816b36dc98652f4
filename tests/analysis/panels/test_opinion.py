"""Dependence of judges, and bounds of their votes, from verdicts alone."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.analysis.panels.opinion import MANY, SURE, one_opinion, opinion_notes
from tests.analysis.panels.crowds import difficult, independent, judged


def test_shared_mistakes_are_noticed_and_independent_ones_are_not() -> None:
    gains = []
    for seed in range(12):
        verdicts, _ = independent(350, 4 + seed, seed, 0.6 + 0.02 * seed, 0.2 + 0.05 * seed)
        verdicts[np.random.default_rng(seed).random(verdicts.shape) < 0.2] = -1
        opinions = one_opinion(judged(difficult(350, 8, seed)[0], None)), one_opinion(judged(verdicts, None))
        gains.append([one.gain for one in opinions if one is not None])
    shared, alone = np.array(gains).T
    assert (shared > MANY).sum() >= 11 and (alone > MANY).sum() == 0


@pytest.mark.parametrize(
    ("gain", "classes", "word"),
    [(9.0, 2, "not 6 independent"), (-9.0, 2, "would not show"), (1.0, 2, "too few"), (9.0, 3, "not 6 independent"),
     (4.0, 3, "do not show")],
)  # fmt: skip
def test_each_side_has_its_sentence(gain: float, classes: int, word: str) -> None:
    assert word in opinion_notes(gain, 6, classes)[0]


def of_three(n: int, m: int, seed: int, opinion: float) -> tuple[np.ndarray, np.ndarray]:
    """Verdicts of three classes, a fifth of them missing; ``opinion``: by how much items are hard for all judges."""
    rng = np.random.default_rng(seed)
    truth, ease = rng.integers(0, 3, n), opinion * rng.normal(0, 1, n)
    right = rng.random((n, m)) < 1 / (1 + np.exp(-rng.uniform(0.4, 1.6, m) - ease[:, None]))
    wrong = (truth[:, None] + rng.choice([1, 2], (n, m), p=[0.8, 0.2])) % 3
    return np.where(rng.random((n, m)) < 0.2, -1, np.where(right, truth[:, None], wrong)), truth


def test_shared_mistakes_of_more_classes_are_noticed_and_independent_ones_are_not() -> None:
    opinions = [[one_opinion(judged(of_three(350, 8, seed, by)[0], None)) for by in (1.5, 0)] for seed in range(12)]
    shared, alone = np.array([[one.gain for one in both if one is not None] for both in opinions]).T
    free, checked = (
        cc.analysis.panel(judged(*of_three(400, 6, 1, 1.5)), by).votes[1] for by in ("majority-vote", "gold")
    )
    assert free.kish_low < checked.kish < free.kish_high
    assert (shared > SURE).sum() >= 11 and (alone > SURE).sum() == 0


@pytest.mark.parametrize("seed", range(4))
def test_votes_without_gold_are_those_of_gold_within_a_tenth_and_the_range_holds_them(seed: int) -> None:
    civil = cc.load_dataset("judges_civil")
    some = np.random.default_rng(seed).choice(24, 6 + 3 * seed, replace=False)
    part = civil.where(np.isin(civil.worker, some))
    alone, checked = (cc.analysis.panel(part, by, n_resamples=50).votes[1] for by in ("majority-vote", "gold"))
    assert alone.kish == pytest.approx(checked.kish, rel=0.1)
    assert alone.kish_low < checked.kish < alone.kish_high
