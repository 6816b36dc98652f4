"""WebAnno's and INCEpTION's exports of a project: a folder for each document, in it a TSV 3 file for each worker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.readers.conll import GOLD, read_lines
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import identify

FORMAT = "#FORMAT=WebAnno TSV 3"
_CURATOR, _NOBODY = "CURATION_USER", "INITIAL_CAS"
_VALUE = re.compile(r"(.*?)(?:\[(\d+)\])?$", re.DOTALL)
_EMPTY = "_"


class _Document(NamedTuple):
    """What a worker tagged in a document.

    Args:
        tokens: of all sentences.
        first: whether each begins a sentence.
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
    found = []
    for begins, token, *given in zip(first.first, first.tokens, *tags, strict=True):
        found += ["", " ".join([token, *given])] if begins else [" ".join([token, *given])]
    return found


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
    """The IOB2 tag of a cell, of stacked annotations the first; and its value and number, to go on with."""
    if cell == _EMPTY:
        return "O", ("", None)
    found = _VALUE.match(re.split(r"(?<!\\)\|", cell)[0])
    assert found is not None
    value, number = re.sub(r"\s", "_", found[1].replace("\\", "")) or "*", found[2]
    inside = number is not None and before == (value, number)
    return f"{'I' if inside else 'B'}-{value}", (value, number)
