"""Detect file type and text encoding from the content, not the name."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.report import Finding

Kind = Literal["folder", "parquet", "text", "json", "json-lines", "container"]
SAMPLE = 1 << 18
CHUNK = 8 << 20
IOB2_TAG = re.compile(r"^(O|[BI]-\S+|[?_-])$")
_SHOWN = 5  # encodings to choose from
_LINES = 2000  # lines in which CoNLL columns are recognised

COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
ZIP, OFFICE, NUMPY = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x93NUMPY"
_CONTAINERS = (*COMPRESSED, ZIP, OFFICE, NUMPY)  # first bytes of files that `containers` opens

# First bytes -> the format, and what to do instead.
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
        kind: folder, parquet, text (delimited), json, json-lines, or a container, which has to be opened first.
        encoding: of text, a Python codec name.
        sample: the first 256 KiB or the first line, decoded, up to the last whole line (or the end of the file).
        findings: guesses.
    """

    path: Path
    kind: Kind
    encoding: str | None = None
    sample: str = ""
    findings: tuple[Finding, ...] = ()


def identify(path: Path, encoding: str | None = None) -> Content:
    """Detect the type and encoding of a file; refuse a missing or empty one, and one without a readable table."""
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
    """Return whether a ZIP archive that begins so is an Excel or OpenDocument workbook."""
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
    """Distinguish UTF-8 from other encodings; NUL is refused."""
    try:
        return "utf-8", _check_encoding(path, "utf-8")
    except DataError as error:
        if error.code != "encoding":
            raise
        rows = () if error.row is None else (error.row,)
    likely = [(name, word) for name, word in likely_encodings(path) if _decodes(path, name)][:_SHOWN]
    if likely:
        name, word = likely[0]
        choices = tuple(Remedy("encoding", name, effect=f"read {word!r}") for name, word in likely)
        sentence = f"The file is not UTF-8; it was read as {name}, in which a cell is {word!r}"
        return name, (Finding("encoding-guessed", "question", sentence, 1, rows, remedies=choices),)
    with path.open("rb") as file:
        beyond = any(re.search(rb"[\x80-\x9f]", chunk) for chunk in iter(lambda: file.read(CHUNK), b""))
    guess = "cp1252" if beyond and _decodes(path, "cp1252") else "latin-1"
    sentence = f"The file is not UTF-8; it was read as {guess}"
    remedy, remedies = "Look at the names with accents.", (Remedy("encoding", when="they are wrong"),)
    return guess, (Finding("encoding-guessed", "warning", sentence, 1, rows, remedy=remedy, remedies=remedies),)


def _decodes(path: Path, encoding: str) -> bool:
    try:
        _check_encoding(path, encoding)
    except DataError:
        return False
    return True


def _check_encoding(path: Path, encoding: str) -> tuple[Finding, ...]:
    """Decode the whole file once, so that a wrong encoding gives one clear error."""
    lines, offset, chunk = 0, 0, b""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                text = decoder.decode(chunk)
                if (at := text.find("\0")) >= 0:
                    what = f"Byte {offset + chunk.find(0):,} is NUL: this is not a text file, or a damaged one"
                    remedies = (Remedy("encoding", when="it has another one"),)
                    row = lines + text.count("\n", 0, at)
                    raise DataError(what, "Save it as UTF-8 text.", file=path, row=row, remedies=remedies)
                lines += text.count("\n")
                offset += len(chunk)
            decoder.decode(b"", final=True)
    except LookupError:
        raise DataError(f"There is no encoding called {encoding!r}", file=path) from None
    except UnicodeError as error:
        row = lines + chunk.count(b"\n", 0, max(getattr(error, "start", 0), 0))
        what, remedies = f"This is not {encoding} text ({error})", (Remedy("encoding"),)
        refusal = DataError(what, file=path, code="encoding", remedies=remedies)
        refusal.row = row
        raise refusal from None
    return ()


def looks_like_conll(sample: str) -> bool:
    """Return whether a text begins with lines of a token and tags, some of them separated by blank lines."""
    lines = sample.split("\n")[:_LINES]
    filled = [line.split() for line in lines if line.strip()]
    rows = filled[1:]
    tagged = all(IOB2_TAG.match(tag) for row in rows for tag in row[1:])  # the reader refuses wrong numbers of tags
    return tagged and any("-" in tag[1:2] for row in rows for tag in row[1:])


LOOKED_AT = 4 << 20  # bytes
_CELLS = 300  # with letters beyond ASCII that are decoded
_ENOUGH = 0.8  # least share of cells that are words in an encoding
_WESTERN = ("cp1252", "latin-1", "mac_roman")
_ALPHABETS = ("cp1250", "cp1251", "koi8-r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp866", "cp874")
_EAST = {  # encoding -> that of its usual characters, and the first bytes of the frequent ones
    "shift_jis": ("shift_jis", 0x81, 0x98),
    "euc_kr": ("euc_kr", 0xB0, 0xC8),
    "gb18030": ("gb2312", 0xB0, 0xD7),
    "euc_jp": ("euc_jp", 0xA4, 0xCF),  # behind two that are as likely without kana
    "big5": ("big5", 0xA4, 0xC6),
}
_SPELLED = {  # encoding -> letters beyond ASCII of a language each
    "cp1252": (
        *("àâæçéèêëîïôœùûüÿ", "äöüßéèà", "áéíñóúü", "áâãàçéêíóôõúü", "àèéìíîòóùú", "æøåéèêóòôâäöü", "éèëïóöüáí"),
        *("àçéèíïóòúü", "õäöü"),
    ),
    "cp1250": ("áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "ąćęłńóśźż", "áéíóöőúüű", "čćđšž", "ăâîşţ"),
    "cp1254": ("çğıöşüâîû",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž"),
}
_SPELLED |= {"cp850": _SPELLED["cp1252"], "cp852": _SPELLED["cp1250"]}  # of DOS, and of Excel's "CSV (MS-DOS)"
_UNQUOTED = re.compile(  # a word with quotes or dashes as no word has them
    r"[^\W\d_]([„‚]|[–—]$|[“”«»•§£©®™…\xa0][^\W\d_])|^[^“”]*„[^“”]*$|^[^‘’]*‚[^‘’]*$"
)
_PUNCTUATION = set("‘’“”„‚–—…€«»•§£©®™\xa0、。，；：？！（）《》「」")
_JAPANESE = {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "CJK"}


def likely_encodings(path: Path) -> list[tuple[str, str]]:
    """Encodings in which a file's first cells beyond ASCII are words, the likeliest first, each with a word.

    Empty where a Western European encoding gives words, or none does. A word has letters of one script and no capital
    after a small letter; a Latin one is not mostly accents.
    """
    with path.open("rb") as file:
        start = file.read(LOOKED_AT)
    cells = [cell for cell in re.split(rb"[\t,;\r\n\"]+", start) if not cell.isascii()][:_CELLS]
    if not cells or any(_share(cells, name)[0] >= _ENOUGH for name in _WESTERN[:2]):
        if all(_is_spelled([cell], "cp1252") for cell in cells):
            return []
        spelled = [name for name in ("cp1250", "cp1254", "cp1257") if _is_spelled(cells, name)]
        return [(name, _decoded_sample(cells, name)) for name in (*spelled, *(["latin-1"] if spelled else []))]
    scores = {name: _share(cells, name) for name in (*_ALPHABETS, *_EAST, _WESTERN[2])}
    dos = [name for name in ("cp850", "cp852") if _is_spelled(cells, name) and _share(cells, name)[0] >= _ENOUGH]
    likely = [name for name, (score, _) in scores.items() if score >= _ENOUGH]
    likely.sort(key=lambda name: (name not in _ALPHABETS, *([-x for x in scores[name][:: 1 - 2 * (name in _EAST)]])))
    every = [*dos[: "cp850" in dos], *likely, *dos["cp850" in dos :], *(_WESTERN[:1] if dos else ())]
    return [(name, _decoded_sample(cells, name)) for name in every]


def _is_spelled(cells: list[bytes], encoding: str) -> bool:
    """Return whether one of an encoding's languages has all letters."""
    text = b" ".join(cells).decode(encoding, "replace").lower()
    letters = {c for c in text if not c.isascii() and (c.isalpha() or c == "\ufffd")}
    return any(letters <= {*alphabet} for alphabet in _SPELLED[encoding])


def _share(cells: list[bytes], encoding: str) -> tuple[float, float]:
    """Share of cells that are words; share of their letters that are small, or (East Asian) frequent."""
    words = [text for cell in cells if (text := _decoded(cell, encoding)) is not None and _is_written(text)]
    letters = [c for text in words for c in text if c.isalpha() and not c.isascii()]
    if encoding in _EAST:
        usual, first, last = _EAST[encoding]
        frequent = sum(first <= (c.encode(usual, "ignore") or b" ")[0] <= last for c in letters)
        return len(words) / len(cells), frequent / max(len(letters), 1)
    return len(words) / len(cells), sum(map(str.islower, letters)) / max(len(letters), 1)


def _decoded(cell: bytes, encoding: str) -> str | None:
    try:
        return cell.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_written(text: str) -> bool:
    """Return whether all runs of letters are words, with usual characters between them."""
    odd = (c for c in text if not c.isascii() and c not in _PUNCTUATION and unicodedata.category(c)[0] not in "LM")
    if _UNQUOTED.search(text) or any(odd):
        return False
    return all(map(_is_word, re.findall(r"[^\W\d_]+", text)))


def _is_word(word: str) -> bool:
    if word.isascii():
        return True
    scripts = {unicodedata.name(c, "").split(" ")[0] for c in word if unicodedata.category(c)[0] == "L"}
    regular = word in (word.lower(), word.upper(), word.capitalize())
    if scripts == {"LATIN"}:
        accents = sum(not c.isascii() for c in word)
        return regular and (accents <= 1 or 3 * accents <= 2 * len(word))
    return regular and (len(scripts) == 1 or scripts <= _JAPANESE)


def _decoded_sample(cells: list[bytes], encoding: str) -> str:
    return next((text[:40] for cell in cells if (text := _decoded(cell, encoding)) is not None), "")
