"""Text that came from data, shown as the text it is."""

from __future__ import annotations

import re

__all__ = ["as_text", "count", "number", "percent"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# What Streamlit rewrites after Markdown has been parsed: icons, addresses, arrows, dashes.
_LATE = re.compile(r"(?<=:)(?=\w|//)|(?<=www)(?=\.)|(?<=\w)(?=@)|(?<=[-<])(?=[->])", re.IGNORECASE)
_JOINER = "\u2060"  # an invisible character of no width


def as_text(text: object) -> str:
    """Markdown that shows ``text`` literally: no markup, links, icons or HTML, all on one line."""
    joined = _LATE.sub(_JOINER, " ".join(str(text).split()))
    return _PUNCTUATION.sub(r"\\\1", joined)


def count(n: float, one: str, many: str | None = None) -> str:
    """``36 workers``, ``1 worker``: a whole number with thousands separators and its noun."""
    return f"{n:,.0f} {one if n == 1 else many or one + 's'}"


def percent(share: float, digits: int = 1) -> str:
    """``61.0 %`` of a share between 0 and 1; a dash where there is none."""
    return "–" if share != share else f"{100 * share:.{digits}f} %"


def number(value: float, digits: int = 3) -> str:
    """A plain number with ``digits`` decimals; a dash where there is none."""
    return "–" if value != value else f"{value:.{digits}f}"
