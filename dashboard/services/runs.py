"""Training runs as every page sees them: which there are, how far they are, what they came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import streamlit as st

from crowdcore import runs
from crowdcore.core.errors import SystemNotSupportedError, missing_extra, need_posix
from crowdcore.exhibits.view import cached
from dashboard.services.learners import setting_title, settings_in_words
from dashboard.services.opening import labelled, upload_folder, version

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from crowdcore.learning.labels import Learnt
    from crowdcore.learning.results.result import TrainingResult
    from crowdcore.runs import Run

_FRESH = 1.0  # seconds for which what was read is good enough; what is older is shown once more while it is read anew


def training_fault() -> str:
    """Why nothing can be trained or opened here, and what would help; empty if nothing stands in the way."""
    try:
        need_posix("Training")
    except SystemNotSupportedError as fault:
        return str(fault)
    return str(missing_extra("Training", "torch", "mlflow", "distributed", "optuna") or "")


def spelled(name: str) -> str:
    """What a run calls a dataset: its name, or the folder of an uploaded one."""
    return str(upload_folder(name) or name)


@st.cache_resource(ttl=_FRESH, refresh_mode="background", show_spinner=False, max_entries=32)
def _listed(which: str | None) -> tuple[Run, ...]:
    return tuple(runs.list_runs(dataset=which))


def runs_of(name: str) -> list[Run]:
    """All runs of a dataset, finished and live, newest first, without the trials of searches; about a second old."""
    return [] if training_fault() else [found for found in _listed(spelled(name)) if not found.spec.parent]


def all_runs() -> list[Run]:
    """All runs of the workspace, on any dataset, with the trials of searches; newest first, about a second old."""
    return [] if training_fault() else list(_listed(None))


def trials(name: str, search: str) -> list[Run]:
    """The runs of a search, newest first."""
    return [found for found in _listed(spelled(name)) if found.spec.parent == search]


@st.cache_resource(ttl=_FRESH, refresh_mode="background", show_spinner=False)
def live_runs() -> tuple[Run, ...]:
    """All that run or wait in this workspace, whatever their dataset; about a second old."""
    return tuple(runs.list_runs(states=("queued", "running")))


def forget() -> None:
    """Look again at once: something was started, stopped or changed."""
    _listed.clear()
    live_runs.clear()


def readable(found: Run, name: str) -> bool:
    """Whether a run came to a result that belongs to the dataset as it is now; a cancelled one may have, too."""
    return found.has_ended and found.has_result and found.spec.fingerprint in {"", labelled(name).fingerprint}


def result(run_id: str) -> TrainingResult:
    """What a finished run learnt from classes or tags; shared, never copied: nobody may change it.

    Raises:
        DataError: it has no result (yet), or learnt from ratings.
    """
    from crowdcore.learning.results.result import TrainingResult

    found = learnt(run_id)
    return found if isinstance(found, TrainingResult) else runs.result(run_id)  # which refuses, and says why


def learnt(run_id: str) -> Learnt:
    """What a finished run learnt from labels of whatever kind.

    Raises:
        DataError: it has no result (yet).
    """
    return _learnt(run_id, version(run_id))


@cached
def _learnt(run_id: str, version: int) -> Learnt:
    return runs.learnt(run_id)


def curves(run_id: str, ended: datetime | None = None, metric: str = "") -> pd.DataFrame:
    """What was measured after every epoch, about a second old.

    Args:
        ended: when it ended, if it has: then nothing more will come.
        metric: the only one to read; empty for all.

    Returns:
        epoch, metric, mean and std over seeds.
    """
    return _growing(run_id, metric) if ended is None else _grown(run_id, metric, ended)


@st.cache_resource(ttl=_FRESH, refresh_mode="background", show_spinner=False, max_entries=64)
def _growing(run_id: str, metric: str) -> pd.DataFrame:
    return runs.curves(run_id, [metric] if metric else None)


@st.cache_resource(show_spinner=False, max_entries=64)
def _grown(run_id: str, metric: str, ended: datetime) -> pd.DataFrame:
    return runs.curves(run_id, [metric] if metric else None)


def run_title(found: Run) -> str:
    """What it is called, else its method and what differs from its defaults."""
    return found.name or run_asked(found)


def run_asked(found: Run) -> str:
    """Its method and what differs from its defaults, whatever it is called."""
    words = settings_in_words(found.spec.settings, found.spec.method)
    if found.spec.search is not None:
        titles = [setting_title(name, found.spec.method) for name in found.spec.search.space]
        words.insert(0, f"search of {', '.join(titles)}")
    return " · ".join([found.spec.method, *words])


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
