"""CoNLL columns: a token a line, a column of tags for each worker, a blank line between sentences."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dictionary import Codes, distinct, encode, strings
from crowdcore.data.readers._sentences import token_ids
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.sentences import Sentences
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow

__all__ = ["CoNLL", "looks_like_conll"]

GOLD = "gold"
TOKEN = "token"
MISSING = ("?", "_", "-")
_TAG = re.compile(r"^(O|[BI]-\S+|[?_-])$")
_LINES = 2000  # looked at to recognise the format


def looks_like_conll(sample: str) -> bool:
    """Whether the start of a text is lines of a token and tags, with blank lines between some of them."""
    lines = sample.split("\n")[:_LINES]
    filled = [line.split() for line in lines if line.strip()]
    rows = filled[1:]
    tagged = all(all(map(_TAG.match, row[1:])) for row in rows)  # a line too long or short is for the reader to refuse
    return tagged and any("-" in tag[1:2] for row in rows for tag in row[1:])


class CoNLL(Reader):
    """``token tag tag …`` with blanks or tabs; the first line may name the columns: ``token``, ``gold``, the workers.

    ``?``, ``_`` and ``-`` say that a worker did not tag a token.
    """

    name: ClassVar[str] = "conll"
    title: ClassVar[str] = "CoNLL columns (a token a line, a column a worker)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Lines of a token and IOB2 tags."""
        content = source.content
        return 0.95 if content is not None and content.kind == "text" and looks_like_conll(content.sample) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every tag of every worker."""
        content = source.content
        if content is None or content.encoding is None:
            raise DataError("This is not a text of CoNLL columns", file=source.path)
        text = content.path.read_text(content.encoding).removeprefix("\ufeff")
        lines = pc.utf8_trim_whitespace(pa.array(text.split("\n"), pa.large_string()))
        filled = np.asarray(pc.greater(pc.binary_length(lines), 0))
        cells = pc.ascii_split_whitespace(lines.filter(pa.array(filled)))
        number = np.flatnonzero(filled) + 1
        width = np.diff(np.asarray(cells.offsets, np.int64))
        n_columns = int(width[0]) if len(width) else 0
        other = np.flatnonzero(width != n_columns)
        if len(other) or n_columns < 2:
            at = int(other[0]) if len(other) else 0
            said = f"This line has {width[at] if len(width) else 0} columns, the first one has {n_columns}"
            remedy = "A line holds a token and one tag for each worker, ? where there is none."
            raise DataError(said, remedy, file=source.path, row=int(number[at]) if len(number) else 1)
        flat = cells.flatten()
        columns = [flat.take(pa.array(np.arange(k, len(flat), n_columns))) for k in range(n_columns)]
        names = [f"worker {k}" for k in range(n_columns)]
        if settings.header or (settings.header is None and not all(_TAG.match(c[0].as_py()) for c in columns[1:])):
            names = [column[0].as_py() for column in columns]
            columns, number = [column[1:] for column in columns], number[1:]
        return _raw(self.name, source, settings, names, columns, number)


def _raw(
    form: str, source: Source, settings: ReadSettings, names: list[str], columns: list[Arrow], number: IntArray
) -> Raw:
    if not len(number):
        raise DataError("There are columns, but no tokens", file=source.path)
    begins: BoolArray = np.diff(number, prepend=number[0] - 2) > 1  # a blank line before
    sentence = np.cumsum(begins) - 1
    start = np.append(np.flatnonzero(begins), len(number))
    ids = strings(f"s{k}" for k in range(1, len(start)))
    missing = settings.missing or MISSING
    gold_column = settings.gold or GOLD
    codes = {name: _given(column, missing) for name, column in zip(names[1:], columns[1:], strict=True)}
    gold = codes.pop(gold_column, None)
    for name, given in (*codes.items(), *([(gold_column, gold)] if gold else [])):
        _refuse_others(name, given, number, source)
    workers = list(codes)
    rows = [np.flatnonzero(~given.missing) for given in codes.values()]
    row = np.concatenate([*rows, np.empty(0, np.int64)])
    worker = np.repeat(np.arange(len(workers)), [len(part) for part in rows])
    tags = [given.values.take(pa.array(given.codes[at])) for given, at in zip(codes.values(), rows, strict=True)]
    label = encode(pa.chunked_array(tags, pa.large_string()))
    order = np.lexsort((worker, row))
    tokens = token_ids(ids, sentence, start)
    every = Codes(tokens, np.arange(len(tokens), dtype=np.int32))
    return Raw(
        form,
        every.take(row[order]),
        encode(strings(workers).take(pa.array(worker[order]))),
        label.take(order),
        tuple(names),
        {"worker": f"{len(workers)} columns"} | ({"gold": gold_column} if gold else {}),
        n_rows=len(row),
        rows=number[row[order]],
        encoding=source.content.encoding if source.content else None,
        tasks=RawTasks(every, True, gold),
        workers=tuple(workers),
        classes=_classes([label, *([gold] if gold else [])]),
        sentences=Sentences(start, pd.Index(ids.to_pandas()), pd.Index(columns[0].to_pandas())),
    )


def _given(column: Arrow, missing: tuple[str, ...]) -> Codes:
    void = pc.is_in(column, value_set=strings(missing))
    codes = column.dictionary_encode()
    kept = np.where(np.asarray(void), -1, np.asarray(codes.indices, np.int32)).astype(np.int32)
    return distinct(codes.dictionary, kept).take(np.arange(len(kept)))


def _refuse_others(name: str, given: Codes, number: IntArray, source: Source) -> None:
    """Refuse what is no IOB2 tag."""
    for code, tag in enumerate(given.values.to_pylist()):
        if not _TAG.match(tag):
            at = int(np.argmax(given.codes == code))
            remedy = "Tags are O, B-… and I-…; ? says that there is none."
            raise DataError(f"{tag!r} is no IOB2 tag", remedy, file=source.path, row=int(number[at]), column=name)


def _classes(given: list[Codes]) -> tuple[str, ...]:
    """``O``, then ``B-`` and ``I-`` of each type, in alphabetical order."""
    types = sorted({tag[2:] for codes in given for tag in codes.values.to_pylist()} - {""})
    return ("O", *(f"{part}-{kind}" for kind in types for part in "BI"))
