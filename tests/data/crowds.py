"""Hypothesis strategies for crowds, and comparing two datasets part by part."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from crowdcore.data import CrowdDataset, Media, Rows, SimulatedTruth


def tidy(name: str) -> bool:
    """A name that reading leaves as it is: no blanks around it, normal form, not empty."""
    return bool(name) and name == unicodedata.normalize("NFC", name.strip()) and name.strip("\x1c\x1d\x1e\x1f") == name


RISKY = ["=1+1", "+A1", "-cat", "@home", "'quoted", "''", "'=x", "'-1", "-1", "+1", "tab\tinside", "a\rb"]
PLAIN = [
    *("a,b", 'say "hi"', "two\nlines", "semi;colon", "é", "日本", "w2", "w10", "0", "1", "01", "00501", "1.10", "-1.0"),
    *("9007199254740993", "Cat", "cat", "a|b", '["a"]', "2.0", "3.0", "nan", "NA", "a b", "#x"),
]
NAMES = st.one_of(
    st.sampled_from([*RISKY, *PLAIN]),
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), min_size=1, max_size=6),
).filter(tidy)


def names(low: int, high: int) -> st.SearchStrategy[list[str]]:
    return st.lists(NAMES, min_size=low, max_size=high, unique=True)


def whole(names: list[str]) -> bool:
    """Names such as 1.0, which a reader without a class list takes for 1."""
    return any(name.endswith("0") and "." in name for name in names)


@st.composite
def crowds(draw: st.DrawFn, media: bool = True) -> CrowdDataset:
    """Datasets of any names, with repeats, bare tasks, idle workers, gold, splits, extras, features, images, truth."""
    classes = draw(names(2, 5).filter(lambda c: not any("\n" in x or "\r" in x for x in c)))
    tasks, workers = draw(names(1, 7).filter(lambda c: not whole(c))), draw(names(1, 5).filter(lambda c: not whole(c)))
    n = draw(st.integers(0 if media else 1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    task = np.sort(rng.integers(len(tasks), size=n))
    worker, label = rng.integers(len(workers), size=n), rng.integers(len(classes), size=n)
    gold = rng.integers(-1, len(classes), size=len(tasks)) if draw(st.booleans()) else None
    split = rng.integers(-1, 3, size=len(tasks)) if draw(st.booleans()) else None
    parts: dict[str, object] = {}
    if draw(st.booleans()):
        aliases = ["truth", "sentence", "subset", "answer"]  # a long table would take them for gold, text …
        column = draw(st.sampled_from(["comment", *(aliases if media else [])]))
        parts["extra"] = pd.DataFrame({"seconds": rng.random(n).round(3), column: draw_texts(draw, n)})
    if media and draw(st.booleans()):
        parts["features"] = Rows.from_array(rng.random((len(tasks), 3)).astype(np.float32))
    if media and draw(st.booleans()):
        images = Rows.from_array(rng.integers(0, 256, (len(tasks), 2, 2, 3)).astype(np.uint8))
        columns = pd.DataFrame({"text": pd.Series(draw_texts(draw, len(tasks)), dtype="str")})
        parts["media"] = Media(images, columns if draw(st.booleans()) else None)
    if media and draw(st.booleans()):
        shape = (len(workers), len(classes), len(classes))
        parts["truth"] = SimulatedTruth(
            worker_confusion=rng.random(shape),
            common_confusion=rng.random(shape[1:]) if draw(st.booleans()) else None,
            omega=rng.random(n),
            used_common=rng.random(n) < 0.5,
            group=rng.integers(3, size=len(workers)),
            settings={"seed": 3, "name": draw(NAMES)},
            worker_role=tuple(draw(st.sampled_from(["", "spammer"])) for _ in workers),
        )
    return CrowdDataset(
        "crowd",
        tuple(classes),
        pd.Index(tasks),
        pd.Index(workers),
        task,
        worker,
        label,
        gold=gold,
        split=split,
        file_row=rng.integers(1, 10**6, size=n) if draw(st.booleans()) else None,
        **parts,
    )


def draw_texts(draw: st.DrawFn, n: int) -> list[str]:
    return draw(
        st.lists(
            st.sampled_from(
                [
                    *("=SUM(A1)", "plain", "a,b", "'x", "''y", "x\ny", '"', "-5 apples"),
                    *("00501", "+5", "1.10", "1e3", "nan", "0x10", " 7", "123456789012345678901"),
                ]
            ),
            min_size=n,
            max_size=n,
        )
    )


def assert_same(got: CrowdDataset, want: CrowdDataset) -> None:
    """Every part of two datasets is equal."""
    assert got.fingerprint == want.fingerprint
    assert got.classes == want.classes
    assert list(got.task_ids) == list(want.task_ids)
    assert list(got.worker_ids) == list(want.worker_ids)
    for part in ("task", "worker", "label", "gold", "split"):
        np.testing.assert_array_equal(getattr(got, part), getattr(want, part), part)
    assert (got.extra is None) == (want.extra is None or want.n_annotations == 0)
    if want.extra is not None and want.n_annotations:
        pd.testing.assert_frame_equal(got.extra, want.extra, check_dtype=False)
    if want.file_row is None:
        assert got.file_row is None
    else:
        np.testing.assert_array_equal(got.file_row, want.file_row)
    same_rows(got.features, want.features)
    same_rows(got.media.images if got.media else None, want.media.images if want.media else None)
    texts = want.media.columns if want.media else None
    if texts is not None:
        assert got.media.columns["text"].tolist() == texts["text"].tolist()
    same_truth(got.truth, want.truth)


def same_rows(got: Rows | None, want: Rows | None) -> None:
    assert (got is None) == (want is None)
    if want is not None:
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        assert got.dtype == want.dtype


def same_truth(got: SimulatedTruth | None, want: SimulatedTruth | None) -> None:
    assert (got is None) == (want is None)
    if want is not None:
        for part in ("worker_confusion", "common_confusion", "omega", "used_common", "group"):
            np.testing.assert_array_equal(getattr(got, part), getattr(want, part), part)
        assert got.settings == want.settings
        assert got.worker_role == want.worker_role
