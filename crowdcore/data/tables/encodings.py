"""Which encodings make letters of bytes that are no UTF-8."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

LOOKED_AT = 4 << 20  # bytes
_CELLS = 300  # with letters beyond ASCII that are decoded
_ENOUGH = 0.8  # share of cells that an encoding must make words of
_WESTERN = ("cp1252", "latin-1", "mac_roman")
_ALPHABETS = ("cp1250", "cp1251", "koi8-r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp866", "cp874")
_EAST = ("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr")
_PUNCTUATION = set("‘’“”„‚–—…€«»•§£©®™\xa0、。，；：？！（）《》「」")
_JAPANESE = {"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "CJK"}


def likely_encodings(path: Path) -> list[tuple[str, str]]:
    """Encodings that make words of a file's first cells beyond ASCII, the likeliest first, each with a word.

    Empty where Western European letters make sense, or nothing does. A word has letters of one script and no capital
    after a small letter; a Latin one is not mostly accents.
    """
    with path.open("rb") as file:
        start = file.read(LOOKED_AT)
    cells = [cell for cell in re.split(rb"[\t,;\r\n\"]+", start) if not cell.isascii()][:_CELLS]
    if not cells or any(_share(cells, name)[0] >= _ENOUGH for name in _WESTERN[:2]):
        return []
    scores = {name: _share(cells, name) for name in (*_ALPHABETS, *_EAST, _WESTERN[2])}
    likely = [name for name, (score, _) in scores.items() if score >= _ENOUGH]
    likely.sort(key=lambda name: (name not in _ALPHABETS, -scores[name][0] - scores[name][1] / 10))
    return [(name, _shown(cells, name)) for name in likely]


def _share(cells: list[bytes], encoding: str) -> tuple[float, float]:
    """Share of cells that are words, and of their letters that are small."""
    words = [text for cell in cells if (text := _decoded(cell, encoding)) is not None and _is_text(text)]
    letters = [c for text in words for c in text if c.isalpha() and not c.isascii()]
    return len(words) / len(cells), sum(map(str.islower, letters)) / max(len(letters), 1)


def _decoded(cell: bytes, encoding: str) -> str | None:
    try:
        return cell.decode(encoding)
    except UnicodeDecodeError:
        return None


def _is_text(text: str) -> bool:
    """Whether all runs of letters are words, and what is between them is usual."""
    if any(not c.isascii() and c not in _PUNCTUATION and unicodedata.category(c)[0] not in "LM" for c in text):
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


def _shown(cells: list[bytes], encoding: str) -> str:
    return next((text[:40] for cell in cells if (text := _decoded(cell, encoding)) is not None), "")
