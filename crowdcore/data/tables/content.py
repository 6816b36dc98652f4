"""Detect file type and text encoding from the content, not the name."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.report import Finding
from crowdcore.data.tables.encodings import likely_encodings

Kind = Literal["folder", "parquet", "text", "json", "json-lines", "container"]
SAMPLE = 1 << 18
CHUNK = 8 << 20
IOB2_TAG = re.compile(r"^(O|[BI]-\S+|[?_-])$")
_SHOWN = 5  # encodings to choose from
_LINES = 2000  # looked at to recognise CoNLL columns

COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
ZIP, OFFICE, NUMPY = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x93NUMPY"
_CONTAINERS = (*COMPRESSED, ZIP, OFFICE, NUMPY)  # first bytes of what `containers` opens

# First bytes -> what it is, and what to do instead.
_FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    (b"7z\xbc\xaf", "a 7z archive", "Unpack it first."),
    (b"Rar!", "a RAR archive", "Unpack it first."),
    (b"%PDF", "a PDF", "Give the table as CSV or Parquet."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV."),
    (b"\x89HDF", "an HDF5 file", "Give the table as CSV or Parquet."),
    (b"ARROW1", "an Arrow (Feather) file", "Save it as Parquet."),
    (b"\x89PNG", "a PNG image", "Give the table of its labels."),
    (b"\xff\xd8\xff", "a JPEG image", "Give the table of its labels."),
    *(
        (bytes([0x80, protocol]), "a pickle", "Pickles run code and are never opened: save the table as Parquet.")
        for protocol in (2, 3, 4, 5)
    ),
)
_MARKUP = (b"<?xml", b"<!doctype", b"<html")
_MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF8, "utf-8-sig"),
          (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


@dataclass(frozen=True)
class Content:
    """A file and its detected type.

    Args:
        path: the file.
        kind: folder, parquet, text (delimited), json, json-lines, or a container, which is to be opened before.
        encoding: of text, a Python codec name.
        sample: the first 256 KiB or the first line, decoded, cut after the last whole line (all of it if there is no
            more).
        findings: what had to be guessed.
    """

    path: Path
    kind: Kind
    encoding: str | None = None
    sample: str = ""
    findings: tuple[Finding, ...] = ()


def identify(path: Path, encoding: str | None = None) -> Content:
    """Detect the type and encoding of a file.

    Raises:
        DataError: not there, empty, or of a kind that holds no table we read; says which kind.
    """
    if path.is_dir():
        return Content(path, "folder")
    try:
        with path.open("rb") as file:
            start = file.read(SAMPLE)
            if b"\n" not in start and b"\r" not in start:
                start += file.read(CHUNK)  # a line of column names may be long
            more = bool(file.read(1))
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be opened ({error.strerror})"
        raise DataError(f"{path} {reason}") from None
    if not start:
        raise DataError("This file is empty", file=path)
    if start.startswith(b"PAR1"):
        return Content(path, "parquet")
    if start.startswith(_CONTAINERS):
        return Content(path, "container")
    if path.suffix.lower() in (".parquet", ".pq"):
        raise DataError("This is not a Parquet file: it does not begin like one", file=path)
    _refuse_foreign(path, start)
    if encoding is None:
        encoding, findings = _guess_encoding(path, start)
    else:
        findings = _check_encoding(path, encoding)
    sample = codecs.getincrementaldecoder(encoding)("replace").decode(start).removeprefix("\ufeff")
    if more and "\n" in sample:
        sample = sample[: sample.rindex("\n") + 1]
    if not sample.strip():
        raise DataError("This file contains only spaces", file=path)
    return Content(path, _text_kind(sample, path), encoding, sample, findings)


def _refuse_foreign(path: Path, start: bytes) -> None:
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:9].lower().startswith(_MARKUP):
        what = "This is an XML or HTML document, not a table of labels"
        raise DataError(what, "Export CSV, JSON or Parquet instead.", file=path)
    if start[257:262] == b"ustar":
        raise DataError("This is a tar archive, not a table of labels", "Pack the files as ZIP.", file=path)
    for magic, what, remedy in _FOREIGN:
        if start.startswith(magic):
            raise DataError(f"This is {what}, not a table of labels", remedy, file=path)


def is_spreadsheet(path: Path, start: bytes) -> bool:
    """Whether a ZIP archive that begins so is an Excel or OpenDocument workbook."""
    first = start[30 : 30 + int.from_bytes(start[26:28], "little")]  # the name of the first member
    excel = path.suffix.lower() in (".xlsx", ".xlsm", ".xlsb") or first.startswith(
        (b"[Content_Types", b"_rels/", b"xl/")
    )
    return excel or (first == b"mimetype" and b"opendocument.spreadsheet" in start[:400])


def _text_kind(sample: str, path: Path) -> Kind:
    first = sample.lstrip()
    if first.startswith("{"):
        return "json" if path.suffix.lower() == ".json" and "\n{" not in first else "json-lines"
    return "json" if first.startswith("[") and path.suffix.lower() not in (".csv", ".tsv", ".txt") else "text"


def _guess_encoding(path: Path, start: bytes) -> tuple[str, tuple[Finding, ...]]:
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name, _check_encoding(path, name)
    head = start[: 2 * (min(len(start), 4096) // 2)]
    for name, zeros, letters in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if head and zeros.count(0) > 0.6 * len(zeros) and letters.count(0) < 0.1 * len(letters):
            sentence = f"The encoding is not marked; {name} was taken because every other byte is zero"
            finding = Finding("encoding-guessed", "warning", sentence, remedies=(Remedy("encoding", when="not"),))
            return name, (finding, *_check_encoding(path, name))
    return _scan(path)


def _scan(path: Path) -> tuple[str, tuple[Finding, ...]]:
    """One pass over the bytes: refuse NUL, and tell UTF-8 from an 8-bit encoding."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    utf8, lines, offset, where = True, 0, 0, 0
    seen = np.zeros(256, bool)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if (at := chunk.find(0)) >= 0:
                row = lines + chunk.count(b"\n", 0, at)
                raise DataError(
                    f"Byte {offset + at:,} is NUL: this is not a text file, or a damaged one",
                    "Save it as UTF-8 text.",
                    file=path,
                    row=row,
                    remedies=(Remedy("encoding", when="it has another one"),),
                )
            if not chunk.isascii() or decoder.getstate()[0]:
                seen |= np.bincount(np.frombuffer(chunk, np.uint8), minlength=256) > 0
                if utf8:
                    try:
                        decoder.decode(chunk)
                    except UnicodeDecodeError as error:
                        utf8, where = False, lines + chunk.count(b"\n", 0, max(error.start, 0))
            lines += chunk.count(b"\n")
            offset += len(chunk)
    if utf8 and not decoder.getstate()[0]:
        return "utf-8", ()
    rows = (where,) if not utf8 else ()
    likely = [(name, word) for name, word in likely_encodings(path) if _decodes(path, name)][:_SHOWN]
    if likely:
        name, word = likely[0]
        choices = tuple(Remedy("encoding", name, effect=f"read {word!r}") for name, word in likely)
        sentence = f"The file is not UTF-8; it was read as {name}, in which a cell is {word!r}"
        return name, (Finding("encoding-guessed", "question", sentence, 1, rows, remedies=choices),)
    guess = "cp1252" if seen[0x80:0xA0].any() and not seen[_UNDEFINED].any() else "latin-1"
    sentence = f"The file is not UTF-8; it was read as {guess}"
    remedy, remedies = "Look at the names with accents.", (Remedy("encoding", when="they are wrong"),)
    return guess, (Finding("encoding-guessed", "warning", sentence, 1, rows, remedy=remedy, remedies=remedies),)


_UNDEFINED = [0x81, 0x8D, 0x8F, 0x90, 0x9D]  # bytes that windows-1252 leaves open


def _decodes(path: Path, encoding: str) -> bool:
    try:
        _check_encoding(path, encoding)
    except DataError:
        return False
    return True


def _check_encoding(path: Path, encoding: str) -> tuple[Finding, ...]:
    """Decode the whole file once, so that a wrong encoding is one clear sentence."""
    lines = 0
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                text = decoder.decode(chunk)
                if "\0" in text:
                    row = lines + text.count("\n", 0, text.index("\0"))
                    raise DataError("There is a NUL character: this is a damaged text file", file=path, row=row)
                lines += text.count("\n")
            decoder.decode(b"", final=True)
    except LookupError:
        raise DataError(f"There is no encoding called {encoding!r}", file=path) from None
    except UnicodeError as error:
        raise DataError(f"This is not {encoding} text ({error})", file=path, remedies=(Remedy("encoding"),)) from None
    return ()


def looks_like_conll(sample: str) -> bool:
    """Whether the start of a text is lines of a token and tags, with blank lines between some of them."""
    lines = sample.split("\n")[:_LINES]
    filled = [line.split() for line in lines if line.strip()]
    rows = filled[1:]
    tagged = all(
        all(map(IOB2_TAG.match, row[1:])) for row in rows
    )  # a line too long or short is for the reader to refuse
    return tagged and any("-" in tag[1:2] for row in rows for tag in row[1:])
