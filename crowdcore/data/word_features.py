"""Spelling of words: parts of a word as texts, and as hashed features of a sequence model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.core.types import IntArray
from crowdcore.data.sentences import Sentences

N_FEATURES = 2**20
_RUNS = (("[A-Z]+", "A"), ("[a-z]+", "a"), ("[0-9]+", "0"), ("[^Aa0]+", "."))
_OFFSETS = (-1, 0, 1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing


def word_parts(sentences: Sentences) -> tuple[IntArray, dict[str, pd.Series[str]]]:
    """(n_tasks,) number of each token's word, and of the distinct words: lower case, first and last letters, shape.

    The shape keeps the sequence of kinds of letters: ``B-52s`` is ``A.0a``.
    """
    code, words = pd.factorize(np.asarray(sentences.words, object))
    texts = pd.Series(words, dtype=object).astype(str)
    lower, shape = texts.str.lower(), texts
    for letters, sign in _RUNS:
        shape = shape.str.replace(letters, sign, regex=True)
    parts = {"text": texts, "word": lower, "prefix": lower.str[:3], "suffix": lower.str[-3:], "shape": shape}
    return np.asarray(code), parts


def word_matrix(sentences: Sentences) -> scipy.sparse.csr_array[Any]:
    """(n_tasks, 2²⁰) one for each feature of a token: all parts of the word, and of those before and behind it.

    Features are hashed, and depend on the sentence alone, so that a model reads other sentences too. The place before
    and behind a sentence has a feature of its own; one more is in all tokens.

    Examples:
        >>> import numpy as np, pandas as pd
        >>> from crowdcore.data import Sentences
        >>> two = Sentences.from_tokens(np.array([0, 0, 1]), pd.Index(["a", "b"]), pd.Index(["The", "cat", "the"]))
        >>> word_matrix(two).sum(1).tolist()  # a place outside the sentence has one feature instead of five
        [12.0, 12.0, 8.0]
    """
    code, parts = word_parts(sentences)
    n, place = len(code), np.arange(len(code))
    hashes = [pd.util.hash_array(part.to_numpy(object), categorize=False)[code] for part in parts.values()]
    entries = [(place, _bucket(np.zeros(n, np.uint64), 0))]
    for k, offset in enumerate(_OFFSETS):
        there = np.clip(place + offset, 0, n - 1)
        inside = (sentences.of_task[there] == sentences.of_task) & (there == place + offset)
        at = place[inside]
        for j, values in enumerate(hashes):
            entries.append((at, _bucket(values[there[inside]], 1 + k * (len(parts) + 1) + j)))
        outside = place[~inside]
        entries.append((outside, _bucket(np.zeros(len(outside), np.uint64), (k + 1) * (len(parts) + 1))))
    row, column = (np.concatenate(values) for values in zip(*entries, strict=True))
    return scipy.sparse.csr_array((np.ones(len(row)), (row, column)), (n, N_FEATURES))


def _bucket(values: IntArray, kind: int) -> IntArray:
    """(n,) number of the feature: the highest bits of the product, other ones for each kind."""
    mixed = (values ^ np.uint64(kind)) * _GOLDEN
    return np.asarray(mixed >> np.uint64(64 - N_FEATURES.bit_length() + 1), np.int64)
