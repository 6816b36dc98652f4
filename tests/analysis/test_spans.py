"""Spans of workers, and the effects of dependent tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import shared_mistakes, span_crowd, span_scores, tagging_scores
from crowdcore.analysis.spans import SPAN_ERRORS
from crowdcore.core.errors import DataError
from crowdcore.data import CrowdDataset, Sentences
from tests.analysis.crowds import make_crowd
from tests.data.test_tags import CLASSES, literal_spans

GOLD = ["O B-LOC I-LOC O B-PER O B-LOC", "B-PER I-PER O"]
ANN = ["O B-LOC O O B-LOC B-LOC O", "B-PER I-PER O"]  # boundary, type, spurious, missed; exact
BEN = ["O O I-LOC I-LOC O O O", None]  # a boundary that is off at both ends, missed, missed; invalid twice


def tagged(gold=GOLD, **workers) -> CrowdDataset:
    """A crowd from tag sequences; None = the worker did not see the sentence."""
    lengths = [len(tags.split()) for tags in gold]
    start = np.concatenate([[0], np.cumsum(lengths)])
    rows = sorted(
        (start[s] + i, w, CLASSES.index(tag))
        for w, sequences in enumerate(workers.values())
        for s, tags in enumerate(sequences)
        for i, tag in enumerate((tags or "").split())
    )
    task, worker, label = np.array(rows).T
    ids = pd.Index([f"s{i}" for i in range(len(gold))])
    names = pd.Index([f"s{s}:{i + 1}" for s, n in enumerate(lengths) for i in range(n)])
    sentences = Sentences(start, ids, pd.Index([f"w{i}" for i in range(start[-1])]))
    true = [CLASSES.index(tag) for tags in gold for tag in tags.split()]
    return CrowdDataset(
        "c", CLASSES, names, pd.Index(list(workers)), task, worker, label, gold=np.array(true), sentences=sentences
    )


@pytest.fixture
def crowd():
    return tagged(ann=ANN, ben=BEN)


def test_counts_by_hand(crowd):
    scores = span_scores(crowd, n_resamples=0)
    assert (scores.n_true.tolist(), scores.n_given.tolist(), scores.sentences.tolist()) == ([4, 3], [4, 1], [2, 1])
    outcomes = [dict(zip(SPAN_ERRORS, row, strict=True)) for row in scores.outcomes.tolist()]
    assert outcomes[0] == {"missed": 1, "both": 0, "boundary": 1, "type": 1, "exact": 1}
    assert outcomes[1] == {"missed": 2, "both": 0, "boundary": 1, "type": 0, "exact": 0}
    assert scores.spurious.tolist() == [1, 0]
    assert (scores.inside.tolist(), scores.invalid.tolist()) == ([1, 2], [0, 1])
    np.testing.assert_allclose(scores.value, [[1 / 4, 0], [1 / 4, 0], [1 / 4, 0]])
    assert scores.frame()["worker"].tolist() == ["ann", "ben"]


def test_a_crowd_of_one_worker_has_a_figure() -> None:
    scores = span_scores(tagged(ann=GOLD))
    assert scores.value.tolist() == [[1.0], [1.0], [1.0]]
    assert cc.figures.span_f1(scores).data


def test_measures_of_random_tags_are_those_of_sets_of_spans():
    crowd = cc.data.simulate.tags(n_sentences=60, seed=2)
    scores = span_scores(crowd, n_resamples=20)
    for w in range(crowd.n_workers):
        exact = n_given = n_true = 0
        for a, b in zip(crowd.sentences.start[:-1], crowd.sentences.start[1:], strict=True):
            own = crowd.where((crowd.worker == w) & (crowd.task >= a) & (crowd.task < b))
            if own.n_annotations:
                given, true = ([crowd.classes[c] for c in codes] for codes in (own.label, crowd.gold[a:b]))
                given, true = literal_spans(given), literal_spans(true)
                exact, n_given, n_true = exact + len(given & true), n_given + len(given), n_true + len(true)
        expected = [exact / n_given, exact / n_true, 2 * exact / (n_given + n_true)]
        np.testing.assert_allclose(scores.value[:, w], expected)
    assert (scores.low <= scores.value + 0.02).all() and (scores.high >= scores.value - 0.02).all()
    np.testing.assert_array_equal(scores.outcomes.sum(1), scores.n_true)


def test_scores_of_a_tagging(crowd):
    labels = np.array([CLASSES.index(tag) for tags in ANN for tag in tags.split()])
    scores = tagging_scores(crowd, labels)
    assert (scores.precision, scores.recall, scores.f1) == (0.25, 0.25, 0.25)
    assert scores.token_accuracy == pytest.approx(6 / 10)
    assert tagging_scores(crowd, labels, tasks=np.arange(7, 10)).f1 == 1
    assert tagging_scores(crowd, np.full(10, 0)).f1 == 0


def test_spans_as_tasks(crowd):
    spans = span_crowd(crowd)
    assert list(spans.task_ids) == ["s0:2-2", "s0:5-1", "s0:7-1", "s1:1-2"]
    assert spans.media.columns["text"][0] == "w0 ⟦ w1 w2 ⟧ w3 w4 w5 w6"
    given = [
        (spans.task_ids[t], spans.worker_ids[w], spans.classes[c])
        for t, w, c in zip(spans.task, spans.worker, spans.label, strict=True)
    ]
    assert given == [
        ("s0:2-2", "ann", "LOC"),
        ("s0:2-2", "ben", "LOC"),
        ("s0:5-1", "ann", "LOC"),
        ("s1:1-2", "ann", "PER"),
    ]
    shared = shared_mistakes(spans, significance=False)
    assert shared.percent[spans.classes.index("PER"), spans.classes.index("LOC")] == 50
    boundary = span_crowd(crowd, of="boundary")
    assert [boundary.classes[c] for c in boundary.label[:3]] == ["ends early", "both ends differ", "exact"]


def test_workers_who_miss_spans_each_on_their_own_share_no_mistake():
    for seed in range(5):
        crowd = cc.data.simulate.spans(shared_confusion=0, n_workers=20, careless=0, seed=seed)
        assert not (shared_mistakes(span_crowd(crowd)).q_value <= 0.05).any()


def test_a_reference_that_repeats_a_worker_cannot_judge_them():
    crowd = replace(tagged(ann=ANN, ben=[None, *ANN[1:]]), gold=None)
    both = span_scores(crowd, "majority-vote", n_resamples=0)
    assert both.n_true.tolist() == [4, 1], "ann's first sentence counts, as ben shares her second"
    alone = replace(tagged(ann=[ANN[0], None], ben=[None, ANN[1]], cy=[None, ANN[1]]), gold=None)
    scores = span_scores(alone, "majority-vote", n_resamples=0)
    assert scores.sentences.tolist() == [0, 1, 1]
    assert np.isnan(scores.value[:, 0]).all()
    for look in (span_scores, span_crowd):
        with pytest.raises(DataError, match="'majority-vote'"):
            look(replace(tagged(ann=ANN), gold=None), "majority-vote")


def test_refusals(crowd):
    with pytest.raises(DataError, match="sentences"):
        span_scores(cc.load_dataset("demo"))
    with pytest.raises(DataError, match="states"):
        span_crowd(replace(crowd, gold=np.zeros(10, int)))


def test_the_workers_of_the_real_one(data_folder):
    """The figures of its README: F1 of workers from 0.173 to 0.845, mean 0.557; 672 repaired tags are valid now."""
    scores = span_scores(cc.load_dataset("conll_ner"), n_resamples=0)
    f1 = scores.value[2]
    assert (f1.min(), f1.max(), f1.mean()) == pytest.approx((0.173, 0.845, 0.557), abs=6e-4)
    exact = scores.outcomes[:, SPAN_ERRORS.index("exact")].sum()
    precision, recall = exact / scores.n_given.sum(), exact / scores.n_true.sum()
    assert (precision, recall) == pytest.approx((0.6658, 0.4832), abs=6e-5)
    assert scores.invalid.sum() == 0


@pytest.fixture(scope="module")
def dependent():
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


def test_intervals_of_agreement_are_over_sentences(dependent):
    once, thrice = (analysis.agreement(c, min_overlap=5) for c in (dependent, in_sentences(dependent, 3)))
    for a, b in zip(once.coefficients, thrice.coefficients, strict=True):
        assert b.high - b.low == pytest.approx(a.high - a.low, rel=0.01), a.name


def test_intervals_of_accuracy_are_those_of_dependent_tokens(dependent):
    once, thrice = (analysis.worker_quality(c) for c in (dependent, in_sentences(dependent, 3)))
    np.testing.assert_allclose(thrice.accuracy_low, once.accuracy_low)
    np.testing.assert_allclose(thrice.accuracy_high, once.accuracy_high)


def test_two_rounds_are_compared_by_sentences(dependent):
    once, thrice = (analysis.rounds(c, by="round") for c in (dependent, in_sentences(dependent, 3)))
    for name in ("measures", "noise"):
        a, b = getattr(once, name), getattr(thrice, name)
        np.testing.assert_allclose(b.p_value, a.p_value, atol=0.03)
        np.testing.assert_allclose(b.high - b.low, a.high - a.low, rtol=0.03)
