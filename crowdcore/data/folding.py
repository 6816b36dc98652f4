"""Which spellings are one name."""

from __future__ import annotations

import unicodedata


def fold_name(name: str) -> str:
    """One name without case, accents, width and needless blanks."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    return " ".join("".join(c for c in letters if not "\u0300" <= c <= "\u036f").split()) or name.strip()
