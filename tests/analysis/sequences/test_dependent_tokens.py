"""Tokens of a sentence are no more evidence than the sentence: thrice the same tokens tell as much as once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.data.sentences import Sentences
from tests.analysis.crowds import make_crowd


@pytest.fixture(scope="module")
def crowd():
    """60 sentences of one token, four workers, two rounds."""
    rng = np.random.default_rng(0)
    gold, task = rng.integers(2, size=60), np.repeat(np.arange(60), 4)
    label = np.where(rng.random(240) < 0.8, gold[task], 1 - gold[task])
    return in_sentences(make_crowd(task, np.tile(np.arange(4), 60), label, 60, 4, 2, gold), 1)


def in_sentences(crowd, times):
    """Every token that many times, in one sentence."""
    task, extra = (crowd.task[:, None] * times + np.arange(times)).ravel(), np.repeat(crowd.task < 30, times)
    order = np.argsort(task, kind="stable")
    n = crowd.n_tasks * times
    return replace(
        crowd,
        classes=("O", "B-X"),
        task_ids=pd.Index([f"t{i}" for i in range(n)]),
        task=task[order],
        worker=np.repeat(crowd.worker, times)[order],
        label=np.repeat(crowd.label, times)[order],
        gold=np.repeat(crowd.gold, times),
        split=np.repeat(crowd.split, times),
        extra=pd.DataFrame({"round": np.where(extra[order], 1, 2)}),
        sentences=Sentences(
            np.arange(crowd.n_tasks + 1) * times,
            pd.Index([f"s{i}" for i in range(crowd.n_tasks)]),
            pd.Index(["word"] * n),
        ),
    )


def test_intervals_of_agreement_are_over_sentences(crowd):
    once, thrice = (analysis.agreement(c, min_overlap=5) for c in (crowd, in_sentences(crowd, 3)))
    for a, b in zip(once.coefficients, thrice.coefficients, strict=True):
        assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.01), a.name


def test_intervals_of_accuracy_are_those_of_dependent_tokens(crowd):
    once, thrice = (analysis.worker_quality(c) for c in (crowd, in_sentences(crowd, 3)))
    np.testing.assert_allclose(thrice.accuracy_low, once.accuracy_low)
    np.testing.assert_allclose(thrice.accuracy_high, once.accuracy_high)


def test_two_rounds_are_compared_by_sentences(crowd):
    once, thrice = (analysis.rounds(c, by="round") for c in (crowd, in_sentences(crowd, 3)))
    for name in ("measures", "noise"):
        a, b = getattr(once, name), getattr(thrice, name)
        np.testing.assert_allclose(b.p_value, a.p_value, atol=0.03)
        np.testing.assert_allclose(b.high - b.low, a.high - a.low, rtol=0.03)
