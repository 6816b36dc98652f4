"""Tag sequences of whole sentences as one annotation per token."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, IntArray
from crowdcore.data.dictionary import Codes, NumberColumn, compact, strings
from crowdcore.data.encoder import encode
from crowdcore.data.formulas import unescape
from crowdcore.data.lookups import BLOCK, gather
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.sentences import Sentences, rows_of
from crowdcore.data.tables.base import Arrow

SECOND_TEST = "testb"
"""Split of a second test set, as CoNLL-2003 has one: not loaded."""


def are_tag_sequences(label: Codes, classes: tuple[str, ...] | None) -> bool:
    """Whether at least half of the labels are several classes with blanks between them."""
    if classes is None or not len(label) or isinstance(label, NumberColumn):
        return False
    words = _split(label)
    known = np.append(np.asarray(pc.is_in(words.codes.values, value_set=strings(classes))), False)
    foreign = np.add.reduceat(~known[words.codes.codes], words.start[:-1]) if len(words) else np.empty(0, int)
    several = np.append((foreign == 0) & (np.diff(words.start) > 1), False)
    return bool(several[label.codes].mean() >= 0.5)


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
    """The same annotations with tokens as tasks, called ``<sentence>:<position>`` from 1 on, and tags as labels.

    A row whose number of tags is not the number of the sentence's tokens is left out, and reported.

    Raises:
        DataError: there is no list of sentences, or it has no text.
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
    said = f"{plural(int(second.sum()), 'sentence')} of a second test split, {SECOND_TEST!r}, are not loaded"
    return about.take(np.flatnonzero(~second)), [Finding("second-test", "note", said, int(second.sum()))]


def _gold(about: RawTasks, lengths: IntArray, raw: Raw) -> tuple[Codes | None, list[Finding]]:
    """The gold tag of each token; unknown for sentences that have another number of gold tags than tokens."""
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
    """One row for each tag: the sentences that do not fit are left out and reported."""
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
            subject, where = f"{plural(len(rows), 'annotation')} {what}", raw.row_numbers(rows)

            findings.append(
                make_change(
                    code, subject, "be left out", where, column=raw.roles.get("label"), left_out=int(n_tags[rows].sum())
                )
            )
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
    """Further columns that hold as many words as tags, split among the tokens; others are about sentences."""
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
