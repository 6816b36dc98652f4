"""What runs are called, and when they were, for whoever looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import streamlit as st

from crowdcore import runs
from crowdcore.learning.learners import setting_title, settings_in_words
from crowdcore.runs import Run
from crowdcore.runs.run import described


def run_title(found: Run) -> str:
    """What it is called, else its method and what differs from its defaults."""
    return found.name or run_asked(found)


def run_asked(found: Run) -> str:
    """Its method and what differs from its defaults, whatever it is called."""
    return described(found.spec, settings_in_words, setting_title)


def run_label(found: Run) -> str:
    """A run for people: its name, method, what differs from its defaults, seeds, when; other runs never change it."""
    n = len(found.spec.seeds)
    words = [*([found.name] if found.name else []), run_asked(found), f"{n} seed{'s' if n != 1 else ''}"]
    return " · ".join([*words, *([when(found.created)] if found.created else [])])


def run_labels(listed: Sequence[Run]) -> dict[str, str]:
    """Id -> label of each of all the runs of a dataset; of several that read alike, the later ones have their id."""
    seen: set[str] = set()
    labels = {}
    for found in reversed(listed):
        label = run_label(found)
        labels[found.id] = f"{label} · {found.id[:4]}" if label in seen else label
        seen.add(label)
    return {found.id: labels[found.id] for found in listed}


def run_names(shown: Sequence[Run]) -> dict[str, str]:
    """Id -> what tells each of these runs from the others, as short as can be."""
    names = runs.short_names(shown, settings_in_words)
    times = Counter(names.values())
    return {run_id: name if times[name] == 1 else f"{name} · {run_id[:8]}" for run_id, name in names.items()}


def viewer_zone() -> str:
    """The time zone of whoever looks."""
    try:
        return ZoneInfo(st.context.timezone or "UTC").key
    except (KeyError, ValueError):
        return "UTC"


def when(moment: datetime) -> str:
    """A moment on the clock of whoever looks."""
    return f"{moment.astimezone(ZoneInfo(viewer_zone())):%-d %b %Y, %H:%M}"
