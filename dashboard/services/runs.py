"""Training runs as every page sees them: which there are, how far they are, what they came to."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore.core.errors import CrowdError
from dashboard.services._cache import dataset, upload_folder

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd

    from crowdcore.learning.result import TrainingResult
    from crowdcore.runs import Run

__all__ = ["curves", "missing_extras", "readable", "result", "run", "run_label", "runs_of", "spelled", "when"]

_FRESH = 1.0  # seconds for which what was read of a run is good enough
_NEEDED = {"torch": "learning", "mlflow": "runs", "distributed": "runs", "optuna": "runs"}


def missing_extras() -> tuple[str, ...]:
    """The extras of crowdcore that training needs and that are not installed."""
    return tuple(dict.fromkeys(e for package, e in _NEEDED.items() if importlib.util.find_spec(package) is None))


def spelled(name: str) -> str:
    """What a run calls a dataset: its name, or the folder of an uploaded one."""
    return str(upload_folder(name) or name)


@st.cache_resource(ttl=_FRESH, show_spinner=False, max_entries=32)
def _listed(which: str) -> tuple[Run, ...]:
    from crowdcore import runs

    return tuple(runs.list_runs(dataset=which))


def runs_of(name: str) -> list[Run]:
    """All runs of a dataset, finished and live, newest first; at most a second old."""
    return [] if missing_extras() else list(_listed(spelled(name)))


def run(run_id: str) -> Run:
    """One run as it stands now.

    Raises:
        DataError: there is none of that id.
    """
    from crowdcore import runs

    return runs.get_run(run_id)


def readable(found: Run, name: str) -> bool:
    """Whether a run came to a result that belongs to the dataset as it is now."""
    return found.state == "finished" and found.spec.fingerprint in {"", dataset(name).fingerprint}


@st.cache_resource(show_spinner=False, max_entries=24)
def result(run_id: str) -> TrainingResult:
    """What a finished run came to; shared, never copied: nobody may change it.

    Raises:
        DataError: it has no result (yet).
    """
    from crowdcore import runs

    return runs.result(run_id)


@st.cache_resource(ttl=_FRESH, show_spinner=False, max_entries=64)
def curves(run_id: str) -> pd.DataFrame:
    """(epoch, metric, mean, std) over seeds, live while it trains; at most a second old."""
    from crowdcore import runs

    return runs.curves(run_id)


def run_label(found: Run) -> str:
    """A run for people: method, what differs from its defaults, seeds, when."""
    spec = found.spec
    words = [f"{key.replace('_', ' ')} {value}" for key, value in spec.settings.items()]
    seeds = f"{len(spec.seeds)} seed{'s' if len(spec.seeds) != 1 else ''}"
    return " · ".join([spec.method, *words, seeds, *([when(found.created)] if found.created else [])])


def when(moment: datetime) -> str:
    """A moment on the clock of whoever looks: the time, with its day unless that is today."""
    from datetime import UTC, datetime
    from zoneinfo import ZoneInfo

    try:
        zone = ZoneInfo(st.context.timezone or "UTC")
    except (CrowdError, KeyError, ValueError):
        zone = ZoneInfo("UTC")
    there = moment.astimezone(zone)
    today = datetime.now(UTC).astimezone(zone).date()
    return f"{there:%H:%M}" if there.date() == today else f"{there:%-d %b %Y, %H:%M}"
