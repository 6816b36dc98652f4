"""Spans of tags, by hand and against a second implementation of seqeval's default mode."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import CrowdDataset, Sentences, simulate
from crowdcore.data.tags import TagScheme, find_spans, need_tags, worker_sequences

CLASSES = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
SCHEME = TagScheme.of(CLASSES)


def literal_spans(tags: list[str]) -> set[tuple[str, int, int]]:
    """The rules of seqeval's default mode for IOB2, one token after another."""
    spans, kind, begin = set(), None, 0
    for i, tag in enumerate([*tags, "O"]):
        part, _, this = tag.partition("-")
        goes_on = part == "I" and this == kind
        if kind is not None and not goes_on:
            spans.add((kind, begin, i))
            kind = None
        if part != "O" and not goes_on:
            kind, begin = this, i
    return spans


def found(tags: list[str], first=None) -> set[tuple[str, int, int]]:
    codes = np.array([CLASSES.index(tag) for tag in tags], int)
    first = np.arange(len(tags)) == 0 if first is None else first
    spans = find_spans(codes, first, SCHEME)
    return {(SCHEME.types[k], int(a), int(b)) for k, a, b in zip(spans.type, spans.start, spans.end, strict=True)}


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("", set()),
        ("O O", set()),
        ("B-LOC I-LOC O B-PER", {("LOC", 0, 2), ("PER", 3, 4)}),
        ("B-LOC B-LOC", {("LOC", 0, 1), ("LOC", 1, 2)}),
        ("O I-LOC I-LOC", {("LOC", 1, 3)}),  # inside after outside begins a span
        ("B-LOC I-PER", {("LOC", 0, 1), ("PER", 1, 2)}),  # and so after another type
        ("I-LOC", {("LOC", 0, 1)}),
    ],
)
def test_spans_by_hand(tags, spans):
    assert found(tags.split()) == spans == literal_spans(tags.split())


def test_spans_of_random_tags_are_those_of_the_literal_rules():
    rng = np.random.default_rng(0)
    for n in range(1, 60):
        tags = [CLASSES[c] for c in rng.integers(5, size=n)]
        assert found(tags) == literal_spans(tags)


def test_a_span_ends_with_its_sentence():
    assert found(["B-LOC", "I-LOC"], np.array([True, True])) == {("LOC", 0, 1), ("LOC", 1, 2)}


@pytest.mark.parametrize("classes", [("O",), ("cat", "dog"), ("O", "LOC"), ("B-LOC", "I-LOC"), ("O", "B-")])
def test_other_classes_are_no_tags(classes):
    assert TagScheme.of(classes) is None


def test_a_tag_that_may_not_follow():
    assert SCHEME.invalid[0].tolist() == [False, False, True, False, True]  # after O
    assert SCHEME.invalid[1].tolist() == [False, False, False, False, True]  # after B-LOC
    assert SCHEME.invalid[5].tolist() == [False, False, True, False, True]  # at the start


def test_sequences_of_workers_with_repeats_and_gaps():
    sentences = Sentences(np.array([0, 3, 5]), pd.Index(["a", "b"]), pd.Index(list("vwxyz")))
    task = np.array([0, 0, 1, 1, 2, 3, 3, 4])
    worker = np.array([0, 0, 0, 0, 1, 1, 0, 0])
    crowd = CrowdDataset("c", CLASSES, pd.Index(list("pqrst")), pd.Index(["u", "v"]), task, worker, np.zeros(8, int))
    from dataclasses import replace

    found = worker_sequences(replace(crowd, sentences=sentences))
    assert found.rows.tolist() == [0, 2, 6, 7, 1, 3, 4, 5]
    assert found.first.tolist() == [True, False, True, False, True, False, True, True]


def test_crowds_without_spans_are_refused(crowd):
    with pytest.raises(DataError, match="knows no sentences, so that it has no spans"):
        need_tags(crowd)
    tagged = simulate.tags(n_sentences=3)
    from dataclasses import replace

    with pytest.raises(DataError, match="has classes that are not IOB2 tags"):
        need_tags(replace(tagged, classes=tuple("abcde")))
