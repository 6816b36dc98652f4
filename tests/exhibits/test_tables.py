from __future__ import annotations

import io

import pandas as pd

from crowdcore.data.dictionary import csv_bytes
from crowdcore.exhibits.exhibit import containing

FRAME = pd.DataFrame({"worker": ["ann", "Bob", "=cmd()"], "label": ["cat", "dog", "+1 cat"], "n": [10, 2, -3]})


def test_every_word_must_occur_somewhere_whatever_its_case() -> None:
    assert list(containing(FRAME, "CAT")["worker"]) == ["ann", "=cmd()"]
    assert list(containing(FRAME, "cat ann").index) == [0]
    assert list(containing(FRAME, " 2 ")["worker"]) == ["Bob"]
    assert len(containing(FRAME, "(")) == 1
    assert containing(FRAME, "  ").equals(FRAME)
    assert containing(FRAME, "eel").empty


def test_a_download_holds_no_formula() -> None:
    text = csv_bytes(FRAME)
    assert text.decode().splitlines()[3] == "'=cmd(),'+1 cat,-3"
    assert list(pd.read_csv(io.BytesIO(text))["n"]) == [10, 2, -3]
