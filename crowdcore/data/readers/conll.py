"""CoNLL columns: a token a line, a column of tags for each worker, a blank line between sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.memory import release_memory
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dictionary import Codes, compact, strings
from crowdcore.data.lookups import gather
from crowdcore.data.readers._tokens import token_ids
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.report import plural
from crowdcore.data.sentences import Sentences
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow
from crowdcore.data.tables.content import IOB2_TAG, looks_like_conll

GOLD = "gold"
TOKEN = "token"
MISSING = ("?", "_", "-")
BLOCK = 1 << 20  # letters that are split at once


class CoNLL(Reader):
    """``token tag tag …`` with blanks or tabs; the first line may name the columns: ``token``, ``gold``, the workers.

    Workers without names are called ``worker-1``, ``worker-2`` ….

    ``?``, ``_`` and ``-`` say that a worker did not tag a token.
    """

    name: ClassVar[str] = "conll"
    title: ClassVar[str] = "CoNLL columns (a token a line, a column a worker)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Lines of a token and IOB2 tags, or a file called so: all tags may be O."""
        content = source.content
        if content is None or content.kind != "text":
            return 0.0
        return 0.95 if content.path.suffix.lower() == ".conll" or looks_like_conll(content.sample) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every tag of every worker, block by block."""
        if source.content is None or source.content.encoding is None:
            raise DataError("This is not a text with CoNLL columns", file=source.path)
        read = _Read(source, settings)
        for first, lines in _blocks(source.content.path, source.content.encoding):
            read.add(first, lines)
        return read.raw(self.name)


def read_lines(lines: list[str], source: Source, settings: ReadSettings, form: str) -> Raw:
    """Read lines that stand in several files: the first names the columns."""
    read = _Read(source, settings.model_copy(update={"header": True}))
    read.add(0, lines)
    return read.raw(form)


def _blocks(path: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Lines of a text, each block with the number of its first."""
    number = 1
    with path.open(encoding=encoding) as file:
        while text := file.read(BLOCK) + file.readline():
            lines = text.removeprefix("\ufeff" if number == 1 else "").removesuffix("\n").split("\n")
            yield number, lines
            number += len(lines)


class _Read:
    """What the lines said so far: tokens as numbers, tags as codes of those seen."""

    def __init__(self, source: Source, settings: ReadSettings) -> None:
        self.source, self.settings = source, settings
        self.missing = settings.missing or MISSING
        self.names: list[str] = []
        self.gold_column: int | None = None
        self.tags: dict[str, int] = {}
        self.n_tokens = 0
        self.words: list[Arrow] = []
        self.lines, self.gold, self.token, self.worker, self.label = (
            bytearray() for _ in range(5)
        )  # int32, grow in place

    def add(self, first: int, text: list[str]) -> None:
        """Take the next lines, of which the first has this number."""
        lines = pc.utf8_trim_whitespace(pa.array(text, pa.large_string()))
        filled = np.asarray(pc.greater(pc.binary_length(lines), 0))
        number = np.flatnonzero(filled).astype(np.int32) + np.int32(first)
        if not len(number):
            return
        cells = pc.ascii_split_whitespace(lines.filter(pa.array(filled)))
        width = np.diff(np.asarray(cells.offsets, np.int64))
        header = not self.names and self._begin(cells[0].as_py())
        n_columns = len(self.names)
        other = np.flatnonzero(width != n_columns)
        if len(other) or n_columns < 2:
            at = int(other[0]) if len(other) else 0
            said = f"This line has {width[at]} columns, the first one has {n_columns}"
            remedy = "A line holds a token and one tag for each worker, ? where there is none."
            raise DataError(said, remedy, file=self.source.path, row=int(number[at]))
        flat = cells.flatten()[n_columns if header else 0 :]
        number = number[header:]
        if not len(number):
            return
        place = np.arange(len(flat)).reshape(-1, n_columns)
        given = self._codes(flat.take(pa.array(place[:, 1:].ravel())), number)
        self.words.append(flat.take(pa.array(place[:, 0])))
        self.lines += number.data
        if self.gold_column is not None:
            self.gold += given[:, self.gold_column].copy().data
            given = np.delete(given, self.gold_column, 1)
        token, worker = np.nonzero(given >= 0)
        self.label += given[token, worker].data
        self.token += (token + self.n_tokens).astype(np.int32).data
        self.worker += worker.astype(np.int32).data
        self.n_tokens += len(number)

    def _begin(self, cells: list[str]) -> bool:
        """Name the columns by the cells of the first line; whether it holds names."""
        header = self.settings.header
        header = not all(map(IOB2_TAG.match, cells[1:])) if header is None else header
        self.names = cells if header else [f"worker-{k}" for k in range(len(cells))]
        gold, tagged = self.settings.gold or GOLD, self.names[1:]
        twice = next((name for name in tagged if tagged.count(name) > 1), None)
        if twice is not None:
            raise DataError(f"Two columns are called {twice!r}", "Rename one.", file=self.source.path, column=twice)
        self.gold_column = tagged.index(gold) if gold in tagged else None
        return header

    def _codes(self, cells: Arrow, number: IntArray) -> IntArray:
        """(n_tokens, n_columns - 1) int32 tags, -1 where there is none."""
        encoded = cells.dictionary_encode()
        indices = np.asarray(encoded.indices).reshape(len(number), -1)
        codes = np.full(len(encoded.dictionary), -1, np.int32)
        for index, tag in enumerate(encoded.dictionary.to_pylist()):
            if tag in self.missing:
                continue
            if not IOB2_TAG.match(tag):
                line, column = (int(at[0]) for at in np.nonzero(indices == index))
                row, name = int(number[line]), self.names[1 + column]
                remedy = "Tags are O, B-… and I-…; ? means no tag."
                raise DataError(f"{tag!r} is not an IOB2 tag", remedy, file=self.source.path, row=row, column=name)
            codes[index] = self.tags.setdefault(tag, len(self.tags))
        return np.asarray(codes[indices])

    def raw(self, form: str) -> Raw:
        """All of it as the validation takes it; what was read is not kept a second time."""
        if not self.n_tokens:
            raise DataError("There are columns, but no tokens", file=self.source.path)
        release_memory()
        number, token = np.frombuffer(self.lines, np.int32), np.frombuffer(self.token, np.int32)
        begins: BoolArray = np.diff(number, prepend=number[0] - 2) > 1  # a blank line before
        start = np.append(np.flatnonzero(begins), len(number))
        ids = strings(f"s{k}" for k in range(1, len(start)))
        tokens = token_ids(ids, np.cumsum(begins) - 1, start)
        words, self.words = pa.chunked_array(self.words, pa.large_string()).combine_chunks(), []
        workers = [name for at, name in enumerate(self.names[1:]) if at != self.gold_column]
        tags = strings(self.tags)
        every = Codes(tokens, np.arange(len(tokens), dtype=np.int32))
        gold = None if self.gold_column is None else compact(tags, np.frombuffer(self.gold, np.int32))
        types = sorted({tag[2:] for tag in self.tags} - {""})
        label, self.label = compact(tags, np.frombuffer(self.label, np.int32)), bytearray()
        worker, self.worker = compact(strings(workers), np.frombuffer(self.worker, np.int32)), bytearray()
        return Raw(
            form,
            compact(tokens, token),
            worker,
            label,
            columns=tuple(self.names),
            roles={"worker": plural(len(workers), "column")} | ({"gold": self.settings.gold or GOLD} if gold else {}),
            n_rows=len(token),
            rows=gather(number, token),
            encoding=self.source.content.encoding if self.source.content else None,
            tasks=RawTasks(every, True, gold),
            workers=tuple(workers),
            classes=("O", *(f"{part}-{kind}" for kind in types for part in "BI")),
            sentences=Sentences(start, pd.Index(ids.to_pandas()), pd.Index(words.to_pandas())),
        )
