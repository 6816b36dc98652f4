"""Words as numbers: what a tagger's network takes of a crowd that tags tokens."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore.core.types import IntArray
from crowdcore.data.rows import Rows
from crowdcore.data.sentences import Sentences
from crowdcore.data.word_features import word_parts

BUCKETS = {"word": 2**14, "prefix": 2**11, "suffix": 2**11, "shape": 2**8}
"""Part of a word -> numbers that it is hashed to."""


def word_rows(sentences: Sentences) -> Rows:
    """(n_tasks, 5) int32: hashes of the word in lower case, its first and last three letters and its shape; sentence.

    A hash depends on the word alone, so that a network reads other texts too; all are below 2²⁴, exact in float32.
    The shape keeps what kind of letters follow each other: ``B-52s`` is ``A.0a``.

    Examples:
        >>> import numpy as np, pandas as pd
        >>> from crowdcore.data import Sentences
        >>> two = Sentences.from_tokens(np.array([0, 0, 1]), pd.Index(["a", "b"]), pd.Index(["The", "cat", "the"]))
        >>> rows = word_rows(two)[:]
        >>> bool(rows[0, 0] == rows[2, 0]), bool(rows[0, 3] == rows[2, 3]), rows[:, 4].tolist()
        (True, False, [0, 0, 1])
    """
    code, parts = word_parts(sentences)
    columns = [_hashed(parts[name], n)[code] for name, n in BUCKETS.items()]
    return Rows.from_array(np.stack([*columns, sentences.of_task], 1).astype(np.int32))


def _hashed(texts: pd.Series[str], n: int) -> IntArray:
    hashes: IntArray = pd.util.hash_array(texts.to_numpy(object), categorize=False) % np.uint64(n)
    return hashes
