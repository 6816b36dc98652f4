"""Aggregators of tag sequences: valid tags, better than votes, and what they are by definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import aggregation
from crowdcore.analysis import available_references, tagging_scores
from crowdcore.data.tags import TagScheme
from crowdcore.testing.aggregators import sound
from tests.analysis.test_spans import tagged
from tests.data.test_tags import CLASSES

SEQUENTIAL = [name for name in aggregation.names() if aggregation.aggregators[name].sequential]


def short(name):
    """An aggregator; where a step is dear, of few: what is asserted of it holds of every iterate."""
    return aggregation.get(name, **({"max_iterations": 3} if name == "crf-ma" else {}))


@pytest.fixture(scope="module")
def crowd():
    return cc.data.simulate.tags(n_sentences=200, n_test=20, seed=1)


def test_which_they_are(crowd):
    assert SEQUENTIAL == ["bsc-seq", "crf-ma", "hmm-crowd", "span-majority"]
    assert set(SEQUENTIAL) <= set(available_references(crowd))
    assert not {*SEQUENTIAL} & {*available_references(cc.load_dataset("demo"))}


@pytest.mark.parametrize("name", ["majority-vote", "dawid-skene", "mace", *SEQUENTIAL])
def test_all_labels_of_a_tagged_crowd_are_valid_tags(name, crowd):
    result = short(name).fit(crowd)
    scheme, start = TagScheme.of(crowd.classes), crowd.sentences.start[:-1]
    before = np.concatenate([[-1], result.labels[:-1]])
    before[start] = -1
    known = result.labels >= 0
    assert not scheme.invalid[before[known], result.labels[known]].any()
    assert (known == crowd.annotated).all()


@pytest.mark.parametrize("name", ["bsc-seq", "hmm-crowd"])
def test_chains_are_better_than_votes_and_their_bound_never_falls(name, crowd):
    result = aggregation.get(name, tolerance=1e-9).fit(crowd)
    f1 = tagging_scores(crowd, result.labels).f1
    assert f1 > tagging_scores(crowd, aggregation.get("majority-vote").fit(crowd).labels).f1 + 0.1
    assert (np.diff(result.log_likelihood) > -1e-6 * abs(result.log_likelihood[0])).all()
    counts = np.bincount(crowd.worker * crowd.n_classes + crowd.label)
    np.testing.assert_allclose(result.counts.sum(1).ravel(), counts)


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_the_order_of_sentences_and_workers_does_not_matter(name, crowd):
    new = np.random.default_rng(0).permutation(len(crowd.sentences))
    tasks = crowd.sentences.tasks(new)
    sentence = np.repeat(np.arange(len(new)), crowd.sentences.lengths[new])
    number = np.argsort(tasks)
    order = np.argsort(number[crowd.task], kind="stable")
    sentences = crowd.sentences.from_tokens(sentence, crowd.sentences.ids[new], crowd.sentences.words[tasks])
    moved = replace(
        crowd,
        task_ids=crowd.task_ids[tasks],
        task=number[crowd.task][order],
        worker=(crowd.n_workers - 1 - crowd.worker)[order],
        label=crowd.label[order],
        gold=crowd.gold[tasks],
        split=crowd.split[tasks],
        sentences=sentences,
        truth=None,
    )
    before, after = short(name).fit(crowd), short(name).fit(moved)
    np.testing.assert_allclose(after.posterior, before.posterior[tasks], atol=1e-6)


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_known_tokens_are_clamped(name, crowd):
    known = np.full(crowd.n_tasks, -1)
    known[:30] = crowd.gold[:30]
    result = short(name).fit(crowd, known=known)
    sound(replace(result, labels=np.where(result.labels < 0, -1, result.posterior.argmax(1))), crowd, known)
    np.testing.assert_array_equal(result.posterior[:30].argmax(1), known[:30])


def test_spans_that_stand_by_hand():
    crowd = tagged(
        ["O O O O O", "O"],
        ann=["B-LOC I-LOC O B-PER O", "B-LOC"],
        ben=["B-LOC I-LOC O B-PER I-PER", "O"],
        cem=["O B-LOC O B-PER I-PER", None],
    )
    found = aggregation.get("span-majority").fit(crowd)
    assert [CLASSES[c] for c in found.labels] == ["B-LOC", "I-LOC", "O", "B-PER", "I-PER", "B-LOC"]
    strict = aggregation.get("span-majority", least=1).fit(crowd)
    assert [CLASSES[c] for c in strict.labels] == ["O"] * 6


def test_repair_makes_begins_and_keeps_spans():
    crowd = tagged(["B-LOC I-LOC O"], ann=["I-LOC I-LOC O"])
    result = aggregation.get("majority-vote").fit(crowd)
    assert [CLASSES[c] for c in result.labels] == ["B-LOC", "I-LOC", "O"]
    assert any("1 invalid tags" in note for note in result.notes)


def test_without_sentences_hmm_crowd_is_a_model_of_single_tasks(crowd):
    alone = replace(crowd, sentences=None)
    assert aggregation.get("hmm-crowd").fit(alone).notes == aggregation.get("hmm-crowd", words=False).fit(alone).notes
    single = cc.data.Sentences(np.arange(crowd.n_tasks + 1), crowd.task_ids, pd.Index(["x"] * crowd.n_tasks))
    one = aggregation.get("hmm-crowd").fit(replace(alone, classes=tuple("abcde")))
    other = aggregation.get("hmm-crowd", words=False).fit(replace(alone, classes=tuple("abcde"), sentences=single))
    np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-9)
