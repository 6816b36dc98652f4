"""Features of words: of the word, its neighbours, and nothing else."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, strategies as st

from crowdcore.data import Sentences
from crowdcore.data.word_features import word_matrix, word_parts

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
