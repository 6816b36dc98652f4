"""Files of tokens: CoNLL, WebAnno's TSV, and brat's texts with marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.memory import release_memory
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dictionary import Codes, compact, gather, strings
from crowdcore.data.readers._marked_texts import MarkedTexts
from crowdcore.data.readers._tokens import Span, token_ids
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.report import plural
from crowdcore.data.sentences import Sentences
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import identify
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
        """Lines of a token and IOB2 tags, or a file with this ending, as all tags may be O."""
        content = source.content
        if content is None or content.kind != "text":
            return 0.0
        return 0.95 if content.path.suffix.lower() == ".conll" or looks_like_conll(content.sample) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read every tag of every worker, block by block."""
        if source.content is None or source.content.encoding is None:
            raise DataError("This is not a text with CoNLL columns", file=source.path)
        read = _Lines(source, settings)
        for first, lines in _blocks(source.content.path, source.content.encoding):
            read.add(first, lines)
        return read.raw(self.name)


def read_lines(lines: list[str], source: Source, settings: ReadSettings, form: str) -> Raw:
    """Read lines gathered from several files; the first names the columns."""
    read = _Lines(source, settings.model_copy(update={"header": True}))
    read.add(0, lines)
    return read.raw(form)


def _blocks(path: Path, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """Blocks of lines of a text, each with the number of its first line."""
    number = 1
    with path.open(encoding=encoding) as file:
        while text := file.read(BLOCK) + file.readline():
            lines = text.removeprefix("\ufeff" if number == 1 else "").removesuffix("\n").split("\n")
            yield number, lines
            number += len(lines)


class _Lines:
    """Contents of the lines read so far: tokens as numbers, tags as codes."""

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
        """Add lines, the first of which has this number."""
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
            what = f"This line has {width[at]} columns, the first one has {n_columns}"
            remedy = "A line holds a token and one tag for each worker, ? where there is none."
            raise DataError(what, remedy, file=self.source.path, row=int(number[at]))
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
        """Name the columns by the cells of the first line, or number them; return whether it holds names."""
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
        """Everything as `Raw`, without a second copy in memory."""
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


FORMAT = "#FORMAT=WebAnno TSV 3"
_CURATOR, _NOBODY = "CURATION_USER", "INITIAL_CAS"
_VALUE = re.compile(r"(.*?)(?:\[(\d+)\])?$", re.DOTALL)
_EMPTY = "_"


class _Document(NamedTuple):
    """A worker's tags in a document.

    Args:
        tokens: of all sentences.
        first: flags of those that begin a sentence.
        tags: name of a feature -> an IOB2 tag for each token.
    """

    tokens: list[str]
    first: list[bool]
    tags: dict[str, list[str]]


class WebAnno(Reader):
    """``annotation/DOCUMENT/WORKER.tsv``; spans of one feature become IOB2 tags, those of the curator gold."""

    name: ClassVar[str] = "webanno"
    title: ClassVar[str] = "WebAnno, INCEpTION (a TSV 3 file for each document and worker)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Files begin as WebAnno writes them."""
        return 0.95 if any(map(_is_ours, _files(source)[:3])) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the tags of every worker in every document."""
        documents: dict[str, dict[str, _Document]] = {}
        for file in filter(_is_ours, _files(source)):
            documents.setdefault(file.parent.name, {})[file.stem] = _read(file, settings)
        features = list(dict.fromkeys(n for users in documents.values() for d in users.values() for n in d.tags))
        named = settings.question or settings.label
        chosen = [name for name in features if named in (None, name)]
        if len(chosen) != 1:
            what = f"There are {len(features)} features: {', '.join(features[:8])}" if features else "No span has a tag"
            remedies = tuple(Remedy("question", name) for name in features[:8])
            raise DataError(what, file=source.path, code="several-questions", remedies=remedies)
        workers = sorted({user for users in documents.values() for user in users} - {_CURATOR})
        curated = any(_CURATOR in users for users in documents.values())
        columns = [*workers, *([_CURATOR] if curated else [])]
        names = ["token", *(re.sub(r"\s", "_", name) for name in workers), *([GOLD] if curated else [])]
        lines = [" ".join(names)]
        for name, users in documents.items():
            lines += _lines(name, users, columns, chosen[0], source)
        return read_lines(lines, source, settings, self.name)


def _files(source: Source) -> list[Path]:
    return [file for file in source.inside("*/*.tsv", "*/*/*.tsv") if file.stem != _NOBODY]


def _is_ours(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(FORMAT)) == FORMAT.encode()


def _lines(name: str, users: Mapping[str, _Document], columns: list[str], feature: str, source: Source) -> list[str]:
    """A line for each token, an empty one before each sentence."""
    first = next(iter(users.values()))
    if any(document.tokens != first.tokens for document in users.values()):
        raise DataError(f"The tokens of {name!r} differ between workers", file=source.path, code="tokens")
    unknown = ["?"] * len(first.tokens)
    outside = ["O"] * len(first.tokens)
    tags = [users[user].tags.get(feature, outside) if user in users else unknown for user in columns]
    lines = []
    for begins, token, *given in zip(first.first, first.tokens, *tags, strict=True):
        lines += ["", " ".join([token, *given])] if begins else [" ".join([token, *given])]
    return lines


def _read(file: Path, settings: ReadSettings) -> _Document:
    """The tokens and tags of a file."""
    content = identify(file, settings.encoding)
    names: list[str | None] = []  # of the columns after the token; None: of a relation or chain
    document, previous, sentence = _Document([], [], {}), dict[str, tuple[str, str | None]](), ""
    for number, line in enumerate(file.read_text(content.encoding).splitlines(), 1):
        if line.startswith("#T_"):
            kind, _, what = line.partition("=")
            layer, *features = what.split("|")
            width = max(len(features), 1)
            short = layer.rpartition(".")[2]
            spans = [f"{short}|{feature}" for feature in features or [""]]
            names += spans if kind == "#T_SP" else [None] * (2 if kind == "#T_CH" else width + 1)
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if "." in cells[0]:
            continue  # part of a token
        if len(cells) < 3 + len(names) or "-" not in cells[0]:
            raise DataError(f"This line has {len(cells)} columns, not {3 + len(names)}", file=file, row=number)
        begins = cells[0].partition("-")[0] != sentence
        sentence = cells[0].partition("-")[0]
        document.tokens.append(re.sub(r"\s", "_", cells[2]) or "_")
        document.first.append(begins)
        for name, cell in zip(names, cells[3:], strict=False):
            if name is not None:
                tag, previous[name] = _tag(cell, None if begins else previous.get(name))
                document.tags.setdefault(name, []).append(tag)
    return document


def _tag(cell: str, before: tuple[str, str | None] | None) -> tuple[str, tuple[str, str | None]]:
    """The IOB2 tag of a cell (of stacked annotations, the first); and value and number for the next cell."""
    if cell == _EMPTY:
        return "O", ("", None)
    match = _VALUE.match(re.split(r"(?<!\\)\|", cell)[0])
    assert match is not None
    value, number = re.sub(r"\s", "_", match[1].replace("\\", "")) or "*", match[2]
    inside = number is not None and before == (value, number)
    return f"{'I' if inside else 'B'}-{value}", (value, number)


_SPAN = re.compile(r"^T\d+\t(\S+) (\d+) (?:\d+;\d+ )*(\d+)\t(.*)$", re.MULTILINE)


class Brat(Reader):
    """``WORKER/TEXT.ann`` beside ``WORKER/TEXT.txt``, or below ``TEXT.txt``; several parts of a span are one."""

    name: ClassVar[str] = "brat"
    title: ClassVar[str] = "brat (a folder of .ann files for each worker)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are ``.ann`` files."""
        return 0.9 if source.inside("**/*.ann") else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the spans of every worker."""
        files, folder = source.inside("**/*.ann"), source.folder
        if folder is None or len({file.parent for file in files}) < 2:
            what = "brat's files do not say who marked them"
            raise DataError(what, "Give a folder that holds a folder for each worker.", file=source.path)
        answers = MarkedTexts(source, settings, {"task": "text", "worker": "folder", "label": "spans"})
        for number, file in enumerate(files, 1):
            texts = (parent / f"{file.stem}.txt" for parent in file.parents if parent.is_relative_to(folder))
            text = next((matches for matches in texts if matches.is_file()), None)
            if text is None:
                raise DataError("The text beside this file is not there", "Give the .txt files, too.", file=file)
            matches = _SPAN.findall(_text_of(file))
            spans = [Span(int(start), int(end), label, words) for label, start, end, words in matches]
            answers.mark(number, file.stem, file.parent.name, _text_of(text), spans)
        return answers.raw(self.name)


def _text_of(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "replace")  # line ends count as they are
