"""Columns as codes, against a plain loop."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from crowdcore.core.errors import DataError
from crowdcore.data.dictionary import _UNSEEN, NumberColumn, clean, compact, natural_order, strings
from crowdcore.data.encoder import Encoder, encode

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
    found = compact(values, codes, out=codes)
    assert found.codes is codes and found.values.equals(want.values) and np.array_equal(codes, want.codes)


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
    with pytest.raises(DataError, match="characters that are not text"):
        strings(["\ud800"])


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_whole_numbers_that_a_float_cannot_tell_apart_are_refused(kind):
    limit = {32: 2.0**24, 64: 2.0**53}[kind.bit_width]
    assert spelled(encode(pa.array([limit - 1, None], kind))) == [str(int(limit) - 1), None]
    with pytest.raises(DataError, match=r"cannot tell them apart"):
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
    found, wanted = listed.finish(), plain.finish()
    assert found.values.to_pylist() == wanted.values.to_pylist()
    assert found.codes.tolist() == wanted.codes.tolist()


@pytest.mark.parametrize("expected", [0, 7, 2000, 5000])
def test_it_does_not_matter_how_many_rows_are_expected(expected):
    numbers = np.random.default_rng(0).standard_normal(2000)
    texts = [f"t{i % 700}" for i in range(2000)]
    for column in (pa.array(numbers), pa.array(texts)):
        encoder = Encoder(n_rows=expected)
        for at in range(0, 2000, 300):
            encoder.add(pa.chunked_array([column[at : at + 150], column[at + 150 : at + 300]]))
        found, want = encoder.finish(), encode(column)
        assert len(found) == 2000 and found.values.equals(want.values) and np.array_equal(found.codes, want.codes)


def test_a_slab_whose_later_chunk_holds_no_numbers_becomes_names():
    encoder, numbers = Encoder(), pa.array(np.random.default_rng(0).standard_normal(1500)).cast(pa.string())
    encoder.add(pa.chunked_array([numbers, pa.array(["x", None]), numbers[:2]]))
    assert spelled(encoder.finish()) == [*numbers.to_pylist(), "x", None, *numbers[:2].to_pylist()]


def test_numbers_in_short_chunks_are_numbers_too():
    numbers, encoder = np.random.default_rng(0).standard_normal(1500), Encoder()
    encoder.add(pa.chunked_array([pa.array(part, pa.float64()) for part in ([], *np.split(numbers, 30))]))
    found = encoder.finish()
    assert isinstance(found, NumberColumn) and np.array_equal(found.numbers, numbers)
