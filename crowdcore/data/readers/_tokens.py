"""Texts and sentences as one annotation per token: sequences of tags, and spans of characters as IOB2 tags."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, IntArray
from crowdcore.data.dictionary import BLOCK, Codes, compact, gather, unescape
from crowdcore.data.encoder import encode
from crowdcore.data.readers._answers import as_record, text_of
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.sentences import Sentences, rows_of
from crowdcore.data.tables.base import Arrow

SECOND_TEST = "testb"
"""Split of a second test set, as in CoNLL-2003, which is not loaded."""


def token_ids(names: Arrow, sentence: IntArray, start: IntArray) -> Arrow:
    """``<sentence>:<position>`` of each token, from 1 on."""
    colon, made = pa.scalar(":", pa.large_string()), [names[:0]]
    for at in range(0, len(sentence), BLOCK):
        of = sentence[at : at + BLOCK]
        position = pa.array(np.arange(at, at + len(of)) - start[of] + 1).cast(pa.large_string())
        made.append(pc.binary_join_element_wise(names.take(pa.array(of)), position, colon))
    return pa.concat_arrays(made)


class _Words:
    """The words of each distinct value of a column.

    Args:
        start: (n_values + 1,) offsets into ``codes``.
        codes: the words, encoded.
    """

    def __init__(self, start: IntArray, codes: Codes) -> None:
        self.start, self.codes = start, codes

    def __len__(self) -> int:
        return len(self.start) - 1


def _split(column: Codes) -> _Words:
    lists = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(column.values))
    return _Words(np.asarray(lists.offsets, np.int64), encode(lists.flatten()))


def by_tokens(raw: Raw) -> Raw:
    """Turn sequences of tags into annotations of tokens, tasks ``<sentence>:<position>`` from 1 on.

    A row with another number of tags than its sentence has tokens is left out, and reported.
    """
    about = raw.tasks
    if about is None or not about.listed or "text" not in about.media or about.task.missing.any():
        remedy = "Add tasks.* with the columns task and text, a row for each sentence, a blank between two tokens."
        raise DataError("The labels are sequences of tags, but the sentences are not listed", remedy, file=raw.path)
    findings = list(raw.findings)
    if about.split is not None:
        about, noticed = _without_second_test(about)
        findings += noticed
    given = about.media["text"]
    text = _split(Codes(unescape(given.values), given.codes) if about.escaped else given)
    lengths = np.append(np.diff(text.start), 0)[given.codes]
    if not lengths.all():
        number = int(np.flatnonzero(lengths == 0)[0])
        raise DataError("A sentence of the list has no text", file=raw.path, row=number + 1)
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    words = text.codes.values.take(pa.array(text.codes.codes[rows_of(text.start, given.codes)]))
    start = np.concatenate([[0], np.cumsum(lengths)])
    names = about.task.values.take(pa.array(about.task.codes))
    ids = token_ids(names, sentence, start)
    gold, noticed = _gold(about, lengths, raw)
    findings += noticed
    tasks = RawTasks(
        Codes(ids, np.arange(len(ids), dtype=np.int32)),
        True,
        gold,
        None if about.split is None else Codes(about.split.values, about.split.codes[sentence]),
        escaped=about.escaped,
    )
    sentences = Sentences(start, pd.Index(names.to_pandas()), pd.Index(words.to_pandas()))
    return _annotations(replace(raw, tasks=tasks, sentences=sentences), names, ids, findings)


def _without_second_test(about: RawTasks) -> tuple[RawTasks, list[Finding]]:
    assert about.split is not None
    names = [*about.split.values.to_pylist(), ""]
    second = np.array([name == SECOND_TEST for name in names])[about.split.codes]
    if not second.any():
        return about, []
    sentence = f"{plural(int(second.sum()), 'sentence')} of a second test split, {SECOND_TEST!r}, are not loaded"
    return about.take(np.flatnonzero(~second)), [Finding("second-test", "note", sentence, int(second.sum()))]


def _gold(about: RawTasks, lengths: IntArray, raw: Raw) -> tuple[Codes | None, list[Finding]]:
    """The gold tag of each token; unknown for sentences with another number of gold tags than tokens."""
    if about.gold is None:
        return None, []
    tags = _split(about.gold)
    given = np.append(np.diff(tags.start), 0)[about.gold.codes]
    wrong = np.flatnonzero((given != lengths) & ~about.gold.missing)
    fits = given == lengths
    codes = np.full(int(lengths.sum()), -1, np.int32)
    codes[np.repeat(fits, lengths)] = tags.codes.codes[rows_of(tags.start, about.gold.codes[fits])]
    gold = compact(tags.codes.values, codes)
    if not len(wrong):
        return gold, []
    what = f"{plural(len(wrong), 'sentence')} with another number of gold tags than tokens"
    return gold, [make_change("gold-length", what, "have no gold", wrong + 1, column=raw.roles.get("gold"))]


def _annotations(raw: Raw, names: Arrow, ids: Arrow, findings: list[Finding]) -> Raw:
    """One row for each tag; sequences that do not fit are left out and reported."""
    assert raw.sentences is not None
    tags = _split(raw.label)
    n_tags = np.append(np.diff(tags.start), 1)[raw.label.codes]  # a missing sequence is one missing label
    place = np.append(np.asarray(pc.index_in(raw.task.values, value_set=names).fill_null(-1)), -1)[raw.task.codes]
    listed = place >= 0
    fits = listed & (n_tags == np.append(raw.sentences.lengths, 0)[place])
    for code, wrong, what in (
        ("sentence-not-listed", ~listed, "of sentences that are not listed"),
        ("sequence-length", listed & ~fits, "with another number of tags than the sentence has tokens"),
    ):
        rows = np.flatnonzero(wrong)
        if len(rows):
            subject, n = f"{plural(len(rows), 'annotation')} {what}", int(n_tags[rows].sum())
            change = make_change(code, subject, "be left out", raw.row_numbers(rows), left_out=n)
            findings.append(replace(change, column=raw.roles.get("label")))
    rows = np.flatnonzero(fits)
    of_row = np.repeat(rows, n_tags[rows])
    token = rows_of(raw.sentences.start, place[rows], np.int32)
    label = gather(tags.codes.codes, rows_of(tags.start, raw.label.codes[rows]))
    extra, noticed = _extra(raw.extra, n_tags, rows)
    return replace(
        raw,
        task=compact(ids, token),
        worker=raw.worker.take(of_row),
        label=compact(tags.codes.values, label),
        n_rows=int(n_tags.sum()),
        rows=np.asarray(raw.row_numbers(of_row)),
        extra=extra,
        findings=(*findings, *noticed),
    )


def _extra(extra: Arrow | None, n_tags: IntArray, rows: IntArray) -> tuple[Arrow | None, list[Finding]]:
    """Further columns with as many words as tags, split among the tokens; others are about sentences."""
    if extra is None:
        return None, []
    kept: dict[str, AnyArray] = {}
    dropped: list[str] = []
    for name, column in zip(extra.column_names, extra.columns, strict=True):
        codes = encode(column) if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) else None
        words = None if codes is None else _split(codes)
        if codes is None or words is None or not _as_many(codes, words, n_tags)[rows].all():
            dropped.append(name)
            continue
        kept[name] = words.codes.values.take(pa.array(words.codes.codes[rows_of(words.start, codes.codes[rows])]))
    if not dropped:
        return pa.table(kept), []
    listed = ", ".join(map(repr, dropped[:5]))
    what, detail = "Columns about sentences, not about tokens,", f": {listed}"
    change = make_change("columns-left-out", what, "be left out", detail=detail, count=len(dropped))
    return (pa.table(kept) if kept else None), [change]


def _as_many(codes: Codes, words: _Words, n_tags: IntArray) -> BoolArray:
    return np.asarray(np.append(np.diff(words.start), 0)[codes.codes] == n_tags)


_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Han: no blanks between words
_TOKEN = re.compile(rf"[{_ALONE}]|(?:[^\W{_ALONE}][\u0300-\u036f]*)+|[^\w\s]")
_BLANKS = re.compile(r"\s+|\\n")  # a tool may write a line break as \n
_FIELDS = (("start", "end"), ("start_offset", "end_offset"))


class Span(NamedTuple):
    """A span as a tool writes it; ``text`` is its content, if the tool states it."""

    start: Any
    end: Any
    label: Any
    text: Any = None


class Fault(NamedTuple):
    """A span that tags cannot express: code, explanation with a correction, and the tokens that it touches."""

    code: str
    words: str
    tokens: range


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    """A text, and the first character and the one after the last of each of its tokens."""

    text: str
    start: array[int]
    end: array[int]

    @classmethod
    def of(cls, text: str, tokens: Sequence[tuple[int, int]] | None = None) -> Text:
        """A text with the tool's tokens, else words, signs, and single Chinese or Japanese characters."""
        cut = tokens or [match.span() for match in _TOKEN.finditer(text)]
        return cls(text, array("i", [start for start, _ in cut]), array("i", [end for _, end in cut]))

    def __len__(self) -> int:
        return len(self.start)

    def words(self) -> list[str]:
        """The tokens."""
        return [self.text[start:end] for start, end in zip(self.start, self.end, strict=True)]

    def touched(self, start: int, end: int) -> range:
        """The tokens that share a character with a span."""
        return range(bisect_right(self.end, start), bisect_left(self.start, end))


@dataclass(eq=False)
class Marked:
    """The spans that one worker marked in a text.

    Args:
        tags: for each token 0 outside, 1 + 2k begins and 2 + 2k continues a span of type k, -1 not known.
        faults: spans that are left out, with the number of tokens that are not tagged because of it.
        notes: code -> number of spans that were corrected.
    """

    tags: list[int]
    faults: list[tuple[Fault, int]] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)


def is_span(entry: object) -> bool:
    """Return whether an entry has a start and an end: doccano's ``[0, 4, "LOC"]``, or a record."""
    if isinstance(entry, list):
        return len(entry) >= 3
    return isinstance(entry, dict) and any(start in entry and end in entry for start, end in _FIELDS)


def read_spans(entries: Iterable[object]) -> list[Span]:
    """The spans of a list; other entries become spans without start and end."""
    spans = []
    for entry in entries:
        if isinstance(entry, list) and len(entry) >= 3:
            spans.append(Span(entry[0], entry[1], entry[2]))
            continue
        known = as_record(entry)
        start, end = next((names for names in _FIELDS if names[0] in known), _FIELDS[0])
        spans.append(Span(known.get(start), known.get(end), known.get("label"), known.get("text")))
    return spans


def tokens_of(given: object, text: str) -> list[tuple[int, int]] | None:
    """The tokens given by a tool, without blank ones; None if they do not fit the text."""
    cut: list[tuple[int, int]] = []
    for token in given if isinstance(given, list) else ():
        start, end = (token.get(name) for name in ("start", "end")) if isinstance(token, dict) else (None, None)
        if type(start) is not int or type(end) is not int or not (cut[-1][1] if cut else 0) <= start < end <= len(text):
            return None
        if text[start:end].strip():
            cut.append((start, end))
    return cut or None


def tag(text: Text, spans: Sequence[Span], types: dict[str, int]) -> Marked:
    """The tags of spans; ``types`` grows by their labels.

    Of overlapping spans the longest stays, of equal ones the first. The tokens of a span that is left out are not
    tagged, unless another one covers them: the tag "outside" would be wrong.
    """
    plain = _tags_in_order(text, spans, types)
    if plain is not None:
        return Marked(plain)
    marked, fitting, faults = Marked([0] * len(text)), [], []
    for place, span in enumerate(spans):
        extent = _place(text, span, marked.notes)
        if isinstance(extent, Fault):
            faults.append(extent)
        else:
            fitting.append((extent.start - extent.stop, place, extent, _type_of(str(text_of(span.label)))))
    by: dict[int, tuple[range, str]] = {}  # token -> the span that covers it
    for _, _, tokens, label in sorted(fitting, key=lambda one: one[:2]):
        other = next((by[token] for token in tokens if token in by), None)
        if other == (tokens, label):
            marked.notes["span-twice"] = marked.notes.get("span-twice", 0) + 1
        elif other is not None:
            words = f"{_quote_span(text, tokens, label)} overlaps {_quote_span(text, *other)}".removesuffix(",")
            faults.append(Fault("span-overlap", words, tokens))
        else:
            begin = 1 + 2 * types.setdefault(label, len(types))
            for token in tokens:
                marked.tags[token] = begin + (token > tokens.start)
                by[token] = tokens, label
    for fault in faults:
        lost = [token for token in fault.tokens if marked.tags[token] == 0]
        for token in lost:
            marked.tags[token] = -1
        marked.faults.append((fault, len(lost)))
    return marked


def _tags_in_order(text: Text, spans: Sequence[Span], types: dict[str, int]) -> list[int] | None:
    """The tags of spans that are sorted, disjoint and aligned with tokens, as most are; None for others."""
    words, starts, ends = text.text, text.start, text.end
    n, placed, stop = len(starts), [], 0
    for start, end, label, written in spans:
        if type(start) is not int or type(end) is not int or type(label) is not str or not (kind := _type_of(label)):
            return None
        first = bisect_left(starts, start, stop)
        stop = bisect_left(ends, end, first) + 1
        if stop > n or starts[first] != start or ends[stop - 1] != end:
            return None
        inside = words[start:end]
        if inside.strip() != inside or (written is not None and written != inside):
            return None
        placed.append((first, stop, kind))
    tags = [0] * n
    for first, stop, kind in placed:
        begin = 1 + 2 * types.setdefault(kind, len(types))
        tags[first:stop] = begin, *[begin + 1] * (stop - first - 1)
    return tags


@lru_cache(1 << 12)
def _type_of(label: str) -> str:
    """The type of a span by its label."""
    return unicodedata.normalize("NFC", " ".join(label.split()))


def _place(text: Text, span: Span, notes: dict[str, int]) -> range | Fault:
    """The tokens of a span, or the fault if it has none."""
    start, end, label = span.start, span.end, text_of(span.label)
    if type(start) is not int or type(end) is not int or not (label or "").strip():
        words = f"{label or 'a span'} from {_short(start)} to {_short(end)}"
        return Fault("span-malformed", f"{words} needs a label and whole numbers", range(0))
    size, what = len(text.text), f"{label} at {start}…{end}"
    if end <= start:
        tokens = text.touched(max(0, min(end, size)), max(0, min(start, size)))
        return Fault("span-empty", f"{what} must end after {start}", tokens)
    if isinstance(span.text, str) and not _same(text.text[max(0, start) : end], span.text):
        moved = _from_utf16(text.text, start, end)
        if moved is None or not _same(text.text[slice(*moved)], span.text):
            right = _nearest(text.text, span.text, start)
            there = f"{_short(text.text[max(0, start) : max(0, end)])} stands there, not {_short(span.text)}"
            return Fault("span-text", f"{what}: {there}{right}", text.touched(max(0, start), max(0, end)))
        start, end = moved
        notes["span-utf16"] = notes.get("span-utf16", 0) + 1
    if start < 0 or end > size:
        words = f"{what}: the text goes from 0 to {size}"
        return Fault("span-outside", words, text.touched(max(0, start), max(0, min(end, size))))
    inside = text.text[start:end]
    begin, after = start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())
    tokens = text.touched(begin, after)
    if not tokens:
        return Fault("span-empty", f"{what} holds only blanks", range(0))
    if (text.start[tokens.start], text.end[tokens.stop - 1]) != (begin, after):
        return Fault("span-in-token", f"{what}, {_short(inside)}, is a part of {_quote_span(text, tokens)}", tokens)
    if (begin, after) != (start, end):
        notes["span-blanks"] = notes.get("span-blanks", 0) + 1
    return tokens


def _quote_span(text: Text, tokens: range, label: str = "") -> str:
    start, end = text.start[tokens.start], text.end[tokens.stop - 1]
    words = _short(text.text[start:end])
    return f"{label} at {start}…{end}, {words}," if label else f"{words} at {start}…{end}"


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:36]} …{shown[-1]}"


def _same(one: str, other: str) -> bool:
    return one == other or _BLANKS.sub("", one) == _BLANKS.sub("", other)


def _from_utf16(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Convert offsets in UTF-16 units, as JavaScript counts, to characters; None where that changes nothing."""
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) == 2 * len(text) or not 0 <= start < end <= len(units) // 2:
        return None
    before, upto = (len(units[: 2 * at].decode("utf-16-le", "ignore")) for at in (start, end))
    return before, upto


def _nearest(text: str, wanted: str, start: int) -> str:
    """The place of a span's words nearest to its start, as the end of a sentence."""
    places = [match.start() for match in re.finditer(re.escape(wanted), text)] if wanted else []
    if not places:
        return ", which the text does not hold"
    begin = min(places, key=lambda place: abs(place - start))
    return f", which stands at {begin}…{begin + len(wanted)}"
