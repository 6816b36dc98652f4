"""Names: numbered, looked up, hidden, and lawful."""

from __future__ import annotations

import json
import re
import tempfile
import unicodedata
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from crowdcore.core.errors import DataError
from crowdcore.data import Sentences, dictionary, examine
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.dictionary import _UNSEEN, NumberColumn, clean, compact, natural_order, strings
from crowdcore.data.encoder import Encoder, encode
from crowdcore.data.pseudonyms import hidden_in, hide_names, pseudonyms
from crowdcore.data.word_features import word_matrix, word_parts
from testkit import fuzz_readers

WORDS = st.one_of(
    st.none(),
    st.sampled_from(["", " ", "a", "a ", "\ta", "1", "1.0", "2.0", "-3.00", "e\u0301", "\u00e9", "NA"]),
    st.text(max_size=3),
)


def spelled(codes) -> list[str | None]:
    values = codes.values.to_pylist()
    return [None if code < 0 else values[code] for code in codes.codes]


@settings(max_examples=200)
@given(st.lists(st.lists(WORDS, max_size=8), max_size=4))
def test_encoding_in_pieces(pieces):
    encoder = Encoder()
    for piece in pieces:
        encoder.add(pa.array(piece, pa.string()))
    codes = encoder.finish()
    words = [word for piece in pieces for word in piece]
    assert spelled(codes) == words
    assert codes.values.to_pylist() == list(dict.fromkeys(w for w in words if w is not None))
    assert codes.codes.dtype == np.int32


NUMBERS = st.one_of(
    st.floats(), st.integers(-(2**60), 2**60), st.sampled_from(["0", "-0", "1.50", "1e3", "0.1", "", "nan", "a", None])
)


@settings(max_examples=300)
@given(st.lists(st.lists(NUMBERS, max_size=6), max_size=4))
def test_columns_of_numbers_keep_every_spelling(pieces):
    encoder, words = Encoder(), [[v if v is None else str(v) for v in piece] for piece in pieces]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crowdcore.data.dictionary._LOOK", 1)  # numbers are held as such from the first row on
        for piece in words:
            encoder.add(pa.array(piece, pa.large_string()))
        codes = encoder.finish()
    flat = [word for piece in words for word in piece]
    assert spelled(codes) == flat
    assert codes.values.to_pylist() == list(dict.fromkeys(w for w in flat if w is not None))
    assert codes.codes.dtype == np.int32


def test_ratings_that_all_differ_are_held_as_numbers_and_read_back():
    rng = np.random.default_rng(0)
    for column in (rng.standard_normal(3000), np.arange(3000) / 8):
        several = np.append(column, column[:700])
        for kind in (pa.float64(), pa.large_string()):
            encoder = Encoder()
            for part in np.array_split(several, 5):
                encoder.add(pa.array(part).cast(kind))
            assert len(encoder._numbers) == len(several) and not encoder._values
            codes = encoder.finish()
            assert len(codes.values) == 3000 and codes.values.type == pa.large_string()
            assert np.array_equal(np.array(spelled(codes), float), several)
    mixed = Encoder()
    for piece in (pa.array(several).cast(pa.string()), pa.array(["7.0", None, "x"])):
        mixed.add(piece)
    assert spelled(mixed.finish())[-5:] == [*pa.array(several[-2:]).cast(pa.string()).to_pylist(), "7.0", None, "x"]


def test_a_column_is_compacted_in_place_where_that_is_asked_for():
    values, codes = strings(["a", "b", "c", "d"]), np.array([2, -1, 0, 2], np.int32)
    want = compact(values, codes)
    assert (want.values.to_pylist(), want.codes.tolist(), codes.tolist()) == (["c", "a"], [0, -1, 1, 0], [2, -1, 0, 2])
    compacted = compact(values, codes, out=codes)
    assert compacted.codes is codes and compacted.values.equals(want.values) and np.array_equal(codes, want.codes)


def test_doubles_said_of_each_task_several_times_stay_numbers_and_texts_of_them_names():
    gold = np.repeat(np.random.default_rng(0).standard_normal(600), 5)
    for kind, numbers in ((pa.float64(), True), (pa.large_string(), False)):
        codes = encode(pa.array(gold).cast(kind))
        assert isinstance(codes, NumberColumn) == numbers
        assert np.array_equal(np.array(spelled(codes), float), gold)
    levels = encode(pa.array(np.repeat(np.arange(60) / 4, 50)))
    assert not isinstance(levels, NumberColumn) and len(levels.values) == 60


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=12), st.sampled_from(["keep", "all", "mixed"]))
def test_cleaning(words, whole):
    result = clean(encode(strings(words)), missing=("NA",), whole=whole)
    want = [None if w is None else unicodedata.normalize("NFC", w.translate(_UNSEEN)).strip() for w in words]
    want = [None if w in ("", "NA", None) else w for w in want]
    filled = [w for w in want if w is not None]
    floats = [bool(re.fullmatch(r"-?[0-9]{1,15}\.0+", w)) for w in filled]
    numbers = [bool(re.fullmatch(r"-?[0-9]{1,15}(\.0+)?", w)) for w in filled]
    renumbered = any(floats) and {"keep": False, "all": all(floats), "mixed": all(numbers)}[whole]
    if renumbered:
        want = [w if w is None else re.sub(r"\.0+$", "", w) for w in want]
    assert spelled(result.codes) == want
    assert result.renumbered == renumbered
    assert result.codes.values.to_pylist() == list(dict.fromkeys(w for w in want if w is not None))
    first: dict[str, str] = {}
    for word, became in zip(words, want, strict=True):
        if became is not None and (became not in first or word == became):
            first[became] = word
    merged = [i for i, (word, became) in enumerate(zip(words, want, strict=True)) if became and word != first[became]]
    assert result.merged_rows.tolist() == merged
    assert {became for _, became in result.merged} == {want[i] for i in merged}


@given(st.lists(st.one_of(st.integers(0, 2000).map(str), st.text("w0159 a", max_size=6)), max_size=12))
def test_natural_order(names):
    order = natural_order(names)
    assert sorted(order) == list(range(len(names)))
    ordered = [names[i] for i in order]

    def key(name):
        return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]

    if all(name.isdigit() for name in names):
        assert ordered == sorted(names, key=lambda name: (int(name), name))
    else:
        assert ordered == sorted(names, key=lambda name: (key(name), name))


def test_natural_order_of_endless_digits():
    assert natural_order(["9" * 5000, "1" * 5001, "9" * 4999]) == [2, 0, 1]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array([1.0, None, 2.0, float("nan")]), ["1", None, "2", None]),
        (pa.array([1.5, 2.0]), ["1.5", "2"]),
        (pa.array([0.0, -0.0, 1.0]), ["0", "0", "1"]),
        (pa.array([2**60, -1]), [str(2**60), "-1"]),
        (pa.array([True, None]), ["True", None]),
        (pa.nulls(2), [None, None]),
        (pa.array(["b", "a", "b"]).dictionary_encode()[1:], ["a", "b"]),
        (pa.array([b"x", b"y"]), ["x", "y"]),
        (pa.chunked_array([], pa.string()), []),
        (pa.array([0.1, 2.0], pa.float32()), ["0.1", "2"]),
        (pa.array([1.0, None, 3.0], pa.float16()), ["1", None, "3"]),
        (pa.array([9007199254740993, None, 9007199254740992]), ["9007199254740993", None, "9007199254740992"]),
        (pa.array([Decimal(2**53), Decimal(2**53 + 1)]), [str(2**53), str(2**53 + 1)]),
        (pa.array([Decimal("1.50"), Decimal("-2.00"), None]), ["1.5", "-2", None]),
    ],
)
def test_any_flat_type(values, words):
    assert spelled(encode(values)) == words


def test_names_that_cannot_be():
    with pytest.raises(DataError, match="holds struct"):
        encode(pa.array([{"a": 1}]))
    with pytest.raises(DataError, match="not UTF-8"):
        encode(pa.array([b"\xff"]))
    with pytest.raises(DataError, match="characters"):
        strings(["\ud800"])


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_whole_numbers_that_a_float_cannot_tell_apart_are_refused(kind):
    limit = {32: 2.0**24, 64: 2.0**53}[kind.bit_width]
    assert spelled(encode(pa.array([limit - 1, None], kind))) == [str(int(limit) - 1), None]
    with pytest.raises(DataError, match="apart"):
        encode(pa.array([limit, 1.0], kind))


def test_some_rows_keep_order_of_appearance():
    codes = encode(strings(["c", "a", None, "b", "a"]))
    taken = codes.take(np.array([1, 2, 3, 4]))
    assert spelled(taken) == ["a", None, "b", "a"]
    assert taken.values.to_pylist() == ["a", "b"]


def test_a_dictionary_with_values_twice_missing_unused_and_in_any_order():
    odd = pa.DictionaryArray.from_arrays(
        pa.array([3, 1, None, 0, 2, 3], pa.int8()), pa.array(["b", "a", None, "b", "no"])
    )
    codes = encode(pa.chunked_array([odd, pa.array(["c", "a"]).dictionary_encode().cast(odd.type)]))
    assert spelled(codes) == ["b", "a", None, "b", None, "b", "c", "a"]
    assert codes.values.to_pylist() == ["b", "a", "c"]


@pytest.mark.parametrize("column", [["a", "a", "c", "c", "d"], ["a", "c", "zz", "a", None], ["d", "a", "d", "c", "b"]])
def test_names_looked_up_in_a_list_are_coded_as_without_it(column, monkeypatch):
    monkeypatch.setattr("crowdcore.data.encoder.NEAR", 1)
    listed, plain = Encoder(strings("abcdef")), Encoder()
    for name in column:  # a piece each
        for encoder in (listed, plain):
            encoder.add(pa.chunked_array([[name]], pa.string()))
    codes, wanted = listed.finish(), plain.finish()
    assert codes.values.to_pylist() == wanted.values.to_pylist()
    assert codes.codes.tolist() == wanted.codes.tolist()


@pytest.mark.parametrize("expected", [0, 7, 2000, 5000])
def test_it_does_not_matter_how_many_rows_are_expected(expected):
    numbers = np.random.default_rng(0).standard_normal(2000)
    texts = [f"t{i % 700}" for i in range(2000)]
    for column in (pa.array(numbers), pa.array(texts)):
        encoder = Encoder(n_rows=expected)
        for at in range(0, 2000, 300):
            encoder.add(pa.chunked_array([column[at : at + 150], column[at + 150 : at + 300]]))
        codes, want = encoder.finish(), encode(column)
        assert len(codes) == 2000 and codes.values.equals(want.values) and np.array_equal(codes.codes, want.codes)


def test_a_slab_whose_later_chunk_holds_no_numbers_becomes_names():
    encoder, numbers = Encoder(), pa.array(np.random.default_rng(0).standard_normal(1500)).cast(pa.string())
    encoder.add(pa.chunked_array([numbers, pa.array(["x", None]), numbers[:2]]))
    assert spelled(encoder.finish()) == [*numbers.to_pylist(), "x", None, *numbers[:2].to_pylist()]


def test_numbers_in_short_chunks_are_numbers_too():
    numbers, encoder = np.random.default_rng(0).standard_normal(1500), Encoder()
    encoder.add(pa.chunked_array([pa.array(part, pa.float64()) for part in ([], *np.split(numbers, 30))]))
    column = encoder.finish()
    assert isinstance(column, NumberColumn) and np.array_equal(column.numbers, numbers)


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_sums_are_those_of_bincount_to_the_last_bit_however_long_the_blocks(monkeypatch, block):
    monkeypatch.setattr(dictionary, "_SUMMED", block)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 9, 500).astype(np.int32)
    values = rng.standard_normal(500) * 10.0 ** rng.integers(-9, 9, 500)
    assert np.array_equal(dictionary.summed(codes, values, 12), np.bincount(codes, values, 12))
    assert dictionary.summed(codes[:0], values[:0], 3).tolist() == [0, 0, 0]
    assert np.array_equal(dictionary.summed(codes, lambda at: values[at], 12), np.bincount(codes, values, 12))


@pytest.mark.parametrize("n", [0, 1, 127, 129, 1000, 4099, 70_001])
def test_a_sum_of_pieces_is_that_of_numpy_to_the_last_bit(monkeypatch, n):
    monkeypatch.setattr(dictionary, "_SUMMED", 128)
    values = np.random.default_rng(0).standard_normal(n) * 10.0 ** np.random.default_rng(1).integers(-9, 9, n)
    assert dictionary.sum_of(lambda at: values[at], 0, n) == values.sum()


LOOKUPS_WORDS = st.lists(st.lists(st.text(max_size=6), min_size=1, max_size=5), min_size=1, max_size=5)


def sentences(texts: list[list[str]]) -> Sentences:
    start = np.concatenate([[0], np.cumsum([len(words) for words in texts])])
    return Sentences(
        start, pd.Index([f"s{i}" for i in range(len(texts))]), pd.Index([word for words in texts for word in words])
    )


def features(texts: list[list[str]]) -> list[list[int]]:
    return [np.sort(row.indices).tolist() for row in word_matrix(sentences(texts))]


@given(LOOKUPS_WORDS)
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


def named(crowd: CrowdDataset) -> CrowdDataset:
    names = ["Zoë  Ab", "Q&A", "don't", *(f"anna{n}" for n in range(9))]
    return replace(crowd, worker_ids=pd.Index(names), extra=pd.DataFrame({"mail": ["a@b.c"] * crowd.n_annotations}))


def test_they_come_of_the_workspace_s_key(crowd: CrowdDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {}
    for name in ("none", "one", "other"):
        monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path / name))
        if name != "none":
            (tmp_path / name).mkdir()
        made[name] = pseudonyms(crowd)
        assert pseudonyms(crowd) == made[name]
        assert sorted(made[name]) == [f"worker {n:02d}" for n in range(1, 13)]
    assert len(set(map(tuple, made.values()))) == 3
    assert not (tmp_path / "none").exists()
    (key,) = (tmp_path / "one").iterdir()
    assert (key.name, key.stat().st_mode & 0o777, key.stat().st_size) == ("pseudonyms.key", 0o600, 32)


def test_hiding_leaves_numbers_and_fingerprint_and_nothing_that_names(crowd: CrowdDataset) -> None:
    truth = SimulatedTruth(worker_role=("copier of anna1",) * 12)
    shown = replace(named(crowd), truth=truth, notes=("2 workers gave one label, such as 'anna1'.",))
    hidden = hide_names(shown)
    assert hidden.worker_ids.tolist() == pseudonyms(shown)
    assert (hidden.fingerprint, hidden.extra) == (shown.fingerprint, None)
    assert "anna" not in f"{hidden.notes}{hidden.truth}{hidden.annotations.to_csv()}"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("1 worker, such as 'anna0'.", "1 worker, such as '{3}'."),
        (
            "2 spellings of worker names merged: ' ANNA0' with 'anna0'.",
            "2 spellings of worker names merged: '{3}' with '{3}'.",
        ),
        ("Merged worker 'Zoe Ab' with 'Zoë  Ab'.", "Merged worker '{0}' with '{0}'."),
        (
            "1 worker, such as \"don't\" (column 'hit_worker'; row 1).",
            "1 worker, such as '{2}' (column 'hit_worker'; row 1).",
        ),
        ("A worker without any label would be left out: 'bob'.", "A worker without any label would be left out: '…'."),
        ("3 labels outside the classes: 'bob'.", "3 labels outside the classes: 'bob'."),
        ("2 tasks without any annotation, such as 'Q&A'.", "2 tasks without any annotation, such as 'Q&A'."),
    ],
)
def test_findings_name_pseudonyms(crowd: CrowdDataset, said: str, expected: str) -> None:
    about = replace(named(crowd), task_ids=pd.Index(["Q&A", *(f"t{n}" for n in range(299))]))
    assert hidden_in([said], about) == (expected.format(*pseudonyms(about)),)


CELLS = st.sampled_from(["", "a", "b", "c", " a", "-1", "NA", "é"])
ROWS = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None)
@given(
    ROWS,
    st.sampled_from(["csv", "tsv", "jsonl", "json", "parquet"]),
    st.sampled_from(["keep", "first", "last", "majority"]),
    st.sampled_from([None, ("a", "b"), ("-1", "a", "b", "c")]),
    st.sampled_from([None, ("NA",)]),
)
def test_rows_of_a_long_table(rows, form, repeats, classes, missing):
    first = ("t", "w", "a")  # so that there is something to read
    frame = pd.DataFrame([first, *rows], columns=["task", "worker", "label"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"votes.{form}"
        if form == "parquet":
            frame.to_parquet(path)
        elif form.startswith("json"):
            frame.to_json(path, orient="records", lines=form == "jsonl")
        else:
            frame.to_csv(path, index=False, sep="\t" if form == "tsv" else ",")
        imported = examine(path, repeats=repeats, classes=classes, missing=missing, fill=())
    report, dataset = imported.report, imported.dataset(accept=True)
    listed = classes or {label.strip() for _, _, label in [first, *rows]}
    good = [
        row
        for task, worker, label in [first, *rows]
        if all(row := (task.strip(), worker.strip(), label.strip()))
        and row[2] in listed
        and not {*row[1:]} & {*(missing or ())}
    ]
    kept = len(good) if repeats == "keep" else len({row[:2] for row in good})
    assert report.n_rows == len(rows) + 1
    assert report.n_left_out == len(rows) + 1 - kept
    assert dataset.n_annotations == kept
    assert bool(report.changes) >= (len(good) <= len(rows))
    if repeats == "keep":
        table = dataset.annotations.astype(str)
        assert Counter(zip(table["task"], table["worker"], table["label"], strict=True)) == Counter(good)
    assert json.loads(json.dumps(report.as_dict()))["n_rows"] == report.n_rows


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_mutated_files_are_read_as_other_parsers_read_them_or_refused(first):
    """The short form of ``python -m benchmarks.fuzz_readers``."""
    verdicts, faults = fuzz_readers.many(range(first, first + 50))
    assert not faults, "\n\n".join(faults)
    assert {verdict for _, verdict in verdicts} == {"read", "asked", "refused"}
