"""Texts and numbers as pages show them; texts from data are shown literally."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

import streamlit as st

from crowdcore.data.report import plural_of

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# What Streamlit rewrites after Markdown has been parsed: icons, addresses, arrows, dashes.
_LATE = re.compile(r"(?<=:)(?=\w|//)|(?<=www)(?=\.)|(?<=\w)(?=@)|(?<=[-<])(?=[->])", re.IGNORECASE)
_JOINER = "\u2060"  # an invisible character of no width


def as_text(text: object) -> str:
    """Markdown that shows ``text`` literally: no markup, links, icons or HTML, all on one line."""
    joined = _LATE.sub(_JOINER, " ".join(str(text).split()))
    return _PUNCTUATION.sub(r"\\\1", joined)


def listed(what: str, items: Iterable[object], remedy: str = "") -> str:
    """Markdown: a sentence, its items as a list, and the remedy."""
    lines = "\n".join(f"- {as_text(item)}" for item in items)
    return f"{as_text(what)}:\n\n{lines}\n\n{as_text(remedy)}"


def count(n: float, one: str, many: str = "") -> str:
    """``36 workers``, ``1 worker``: a whole number with thousands separators and its noun."""
    return f"{n:,.0f} {one if n == 1 else many or plural_of(one)}"


def percent(share: float, digits: int = 1) -> str:
    """``61.0 %`` of a share between 0 and 1; a dash where there is none."""
    return "–" if share != share else f"{100 * share:.{digits}f} %"


def number(value: float, digits: int = 3) -> str:
    """A plain number with ``digits`` decimals; a dash where there is none."""
    return "–" if value != value else f"{value:z.{digits}f}"


def duration(seconds: float) -> str:
    """``40 s``, ``3 min``, ``2 h 5 min``: rounded to what one cares about."""
    if seconds < 99.5:
        return f"{max(seconds, 1):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60:,} h {minutes % 60} min"


def size(n_bytes: float) -> str:
    """``1 kB``, ``310 MB``, ``2.4 GB``."""
    if n_bytes < 1e6:
        return f"{max(n_bytes / 1e3, 1):.0f} kB"
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"


def viewer_zone() -> str:
    """The time zone of whoever looks."""
    try:
        return ZoneInfo(st.context.timezone or "UTC").key
    except (KeyError, ValueError):
        return "UTC"


def when(moment: datetime) -> str:
    """A moment on the clock of whoever looks."""
    return f"{moment.astimezone(ZoneInfo(viewer_zone())):%-d %b %Y, %H:%M}"
