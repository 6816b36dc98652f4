"""Sums by codes, block by block; features of words and of nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from crowdcore.data import Sentences, lookups
from crowdcore.data.word_features import word_matrix, word_parts


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_sums_are_those_of_bincount_to_the_last_bit_however_long_the_blocks(monkeypatch, block):
    monkeypatch.setattr(lookups, "_SUMMED", block)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, 500).astype(np.int32)
    values = rng.standard_normal(500) * 10.0 ** rng.integers(-9, 9, 500)
    assert np.array_equal(lookups.summed(codes, values, 12), np.bincount(codes, values, 12))
    assert lookups.summed(codes[:0], values[:0], 3).tolist() == [0, 0, 0]
    assert np.array_equal(lookups.summed(codes, lambda at: values[at], 12), np.bincount(codes, values, 12))


@pytest.mark.parametrize("n", [0, 1, 127, 129, 1000, 4099, 70_001])
def test_a_sum_of_pieces_is_that_of_numpy_to_the_last_bit(monkeypatch, n):
    monkeypatch.setattr(lookups, "_SUMMED", 128)
    values = np.random.default_rng(0).standard_normal(n) * 10.0 ** np.random.default_rng(1).integers(-9, 9, n)
    assert lookups.sum_of(lambda at: values[at], 0, n) == values.sum()


WORDS = st.lists(st.lists(st.text(max_size=6), min_size=1, max_size=5), min_size=1, max_size=5)


def sentences(texts: list[list[str]]) -> Sentences:
    start = np.concatenate([[0], np.cumsum([len(words) for words in texts])])
    return Sentences(
        start, pd.Index([f"s{i}" for i in range(len(texts))]), pd.Index([word for words in texts for word in words])
    )


def features(texts: list[list[str]]) -> list[list[int]]:
    return [np.sort(row.indices).tolist() for row in word_matrix(sentences(texts))]


@given(WORDS)
def test_a_sentence_has_the_same_features_whatever_stands_beside_it(texts):
    alone = [row for words in texts for row in features([words])]
    assert features(texts) == alone


def test_what_tokens_share():
    of = features([["The", "cat", "sat"], ["the", "cat", "sat", "down"]])
    shared = [len(set(a) & set(b)) for a, b in zip(of[:3], of[3:6], strict=True)]
    assert [len(set(row)) for row in of[:3]] == [12, 16, 12], "bias, five of each word, one for a place outside"
    assert shared == [10, 14, 11]  # text and shape of "The"; what comes behind "sat"


def test_shapes_tell_the_kinds_of_letters():
    _, parts = word_parts(sentences([["B-52s", "EU", "rejects", "1996", "U.S."]]))
    assert parts["shape"].tolist() == ["A.0a", "A", "a", "0", "A.A."]
    assert parts["prefix"].tolist() == ["b-5", "eu", "rej", "199", "u.s"]
