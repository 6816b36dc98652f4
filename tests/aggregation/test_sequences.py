"""Aggregators of tag sequences: valid tags, better than votes, and equal to their definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore import aggregation
from crowdcore.analysis import available_references, tagging_scores
from crowdcore.data.tags import TagScheme
from crowdcore.data.word_features import word_matrix
from crowdcore.testing.aggregators import sound
from tests.analysis.test_spans import tagged
from tests.data.test_tags import CLASSES
from tests.learning.test_tags import worded_crowd

SEQUENTIAL = [name for name in aggregation.names() if aggregation.aggregators[name].sequential]


def short(name):
    """Make an aggregator, with few steps where they are expensive: the assertions hold for every iterate."""
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
    result = aggregation.get("span-majority").fit(crowd)
    assert [CLASSES[c] for c in result.labels] == ["B-LOC", "I-LOC", "O", "B-PER", "I-PER", "B-LOC"]
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


RIDGE, SMOOTHING = 0.5, 2.0


def few() -> cc.CrowdDataset:
    """Four short sentences; one worker left out a token, another a sentence."""
    crowd = cc.data.simulate.tags(n_sentences=4, n_workers=3, length=3, types=("X",), per_sentence=3, seed=2)
    assert crowd.sentences.lengths.max() < 7
    first = crowd.sentences.start[1]
    return crowd.where(((crowd.worker != 0) | (crowd.task != 1)) & ((crowd.worker != 1) | (crowd.task >= first)))


def log_path(scores: np.ndarray, first: np.ndarray, move: np.ndarray, path: tuple[int, ...]) -> float:
    own = scores[np.arange(len(path)), path].sum() + first[path[0]]
    return float(own + sum(move[a, b] for a, b in pairwise(path)))


def by_hand(crowd: cc.CrowdDataset, result: cc.aggregation.AggregationResult) -> tuple[float, np.ndarray, np.ndarray]:
    """Objective, posterior of tags and next reliabilities under a result's field and reliabilities, over all paths."""
    crf, reliability, n_classes = result.tagger.crf, result.worker_weight, crowd.n_classes
    scores = crf.scores(word_matrix(crowd.sentences)[:, result.tagger.features])
    likelihood, posterior = 0.0, np.zeros((crowd.n_tasks, n_classes))
    won, rivals = np.full(3, SMOOTHING), np.full(3, SMOOTHING * 3)
    for a, b in pairwise(crowd.sentences.start):
        every = list(product(range(n_classes), repeat=b - a))
        weight = np.exp([log_path(scores[a:b], crf.first, crf.move, path) for path in every])
        joint, tags = [], []
        inside = (crowd.task >= a) & (crowd.task < b)
        workers = np.unique(crowd.worker[inside])
        for worker in workers:
            own = inside & (crowd.worker == worker)
            given = dict(zip(crowd.task[own] - a, crowd.label[own], strict=True))
            fits = np.array([all(path[t] == y for t, y in given.items()) for path in every])
            others = inside.sum() - own.sum()
            chosen = reliability[worker] / reliability[workers].sum()
            joint.append(chosen * weight[fits].sum() / weight.sum() * n_classes ** -float(others))
            shares = weight * fits / weight[fits].sum()
            tags.append([[shares[[p[t] == c for p in every]].sum() for c in range(n_classes)] for t in range(b - a)])
        likelihood += np.log(sum(joint))
        won[workers] += np.array(joint) / sum(joint)
        rivals[workers] += 1 / reliability[workers].sum()
        posterior[a:b] = np.einsum("r,rtc->tc", np.array(joint) / sum(joint), np.array(tags))
    prior = SMOOTHING * np.log(reliability).sum() - RIDGE / 2 * np.square(crf.table).sum()
    return likelihood + prior, posterior, won / rivals / (won / rivals).sum()


def test_objective_posterior_and_reliabilities_are_those_of_the_model():
    crowd = few()
    fits = [aggregation.CRFMA(ridge=RIDGE, smoothing=SMOOTHING, tolerance=0, max_iterations=n) for n in (1, 2)]
    before, after = (one.fit(crowd) for one in fits)
    objective, posterior, reliability = by_hand(crowd, before)
    assert after.log_likelihood[1] == pytest.approx(objective)
    assert after.log_likelihood[1] > after.log_likelihood[0]
    np.testing.assert_allclose(after.posterior, posterior, atol=1e-9)
    np.testing.assert_allclose(after.worker_weight, reliability, atol=1e-9)


def test_the_objective_never_falls_and_good_workers_are_reliable():
    crowd = worded_crowd()
    result = aggregation.CRFMA(tolerance=0, max_iterations=15).fit(crowd)
    assert (np.diff(result.log_likelihood) >= -1e-8 * abs(result.log_likelihood[0])).all()
    right = np.diagonal(crowd.truth.worker_confusion, axis1=1, axis2=2).mean(1)
    assert np.corrcoef(np.log(result.worker_weight), right)[0, 1] > 0.6
    votes = tagging_scores(crowd, aggregation.get("majority-vote").fit(crowd).labels).f1
    assert tagging_scores(crowd, result.labels).f1 > votes


def test_the_first_field_has_learnt_enough_to_keep_what_the_start_found():
    crowd = cc.data.simulate.tags(n_sentences=60, n_workers=6, length=8, seed=0)
    fits = {n: aggregation.CRFMA(start_rounds=n, max_iterations=1).fit(crowd) for n in (10, 200)}
    default = aggregation.CRFMA(max_iterations=1).fit(crowd).log_likelihood[0]
    short, thorough = (fit.log_likelihood[0] for fit in fits.values())
    assert thorough - default < 0.2 * (thorough - short)


def test_its_field_tags_new_sentences():
    crowd = worded_crowd()
    tagger = aggregation.CRFMA().fit(crowd).tagger
    new = np.flatnonzero(crowd.split == 2)
    sentences = crowd.sentences.take(new)
    assert not crowd.annotated[new].any()
    labels = np.full(crowd.n_tasks, -1)
    labels[new] = tagger.predict(sentences)
    assert tagging_scores(crowd, labels, tasks=new).f1 > 0.8
    scheme = cc.data.tags.TagScheme.of(crowd.classes)
    before = np.where(np.isin(new, crowd.sentences.start), -1, labels[new - 1])
    assert not scheme.invalid[before, labels[new]].any()
    np.testing.assert_allclose(tagger.predict_proba(sentences).sum(1), 1)


def test_known_tags_are_learnt_from():
    crowd = worded_crowd()
    wrong = replace(crowd, label=np.zeros_like(crowd.label))
    known = np.where(crowd.annotated, crowd.gold, -1)
    new = np.flatnonzero(crowd.split == 2)
    labels = np.full(crowd.n_tasks, -1)
    labels[new] = aggregation.CRFMA().fit(wrong, known=known).tagger.predict(crowd.sentences.take(new))
    assert tagging_scores(crowd, labels, tasks=new).f1 > 0.8
