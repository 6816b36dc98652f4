"""Runs on all datasets as a table: which there are, which pass the filters, how they look on screen."""

from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from crowdcore import runs
from crowdcore.core.errors import CrowdError
from crowdcore.core.places import workspace
from crowdcore.runs import Run
from crowdcore.runs.listing import REACHED
from dashboard.services.learners import settings_in_words
from dashboard.services.runs import readable, viewer_zone

_SHORT = 8  # digits of an id


def run_choices(listed: Sequence[Run]) -> dict[str, dict[str, str]]:
    """What the filters offer: datasets, methods, states and tags that occur -> words."""
    methods = sorted({run.spec.method for run in listed})
    tags = sorted({tag for run in listed for tag in run.tags}, key=str.casefold)
    states = [state for state in runs.STATES if any(run.state == state for run in listed)]
    datasets = runs.dataset_names(listed)
    return {
        "datasets": dict(sorted(datasets.items(), key=lambda one: one[1].casefold())),
        "methods": dict(zip(methods, methods, strict=True)),
        "states": {state: state for state in states},
        "tags": dict(zip(tags, tags, strict=True)),
    }


def runs_on_screen(shown: Sequence[Run]) -> pd.DataFrame:
    """`crowdcore.runs.run_table` for reading: percentages, the viewer's clock, a star, no column without content."""
    frame = runs.run_table(shown, settings_in_words)
    of_share = ("test_", "span_", "valid_span_", "validation")
    accuracies = [name for name in frame if str(name).startswith(of_share)]
    started = frame["started"].dt.tz_convert(ZoneInfo(viewer_zone())).dt.tz_localize(None)
    frame = frame.assign(
        best=np.where(frame["best"], "★", ""),
        name=frame["name"].where(frame["name"] != "", frame["id"].str[:_SHORT]),
        started=started,
        **{str(name): 100 * frame[name] for name in accuracies},
    )
    maybe = ("best", "settings", *REACHED.values(), "note", "tags")
    empty = [name for name in maybe if not frame[name].replace("", np.nan).notna().any()]
    return frame.drop(columns=["id", "validated_on", *empty])


def app_dataset(run: Run) -> str:
    """What the app calls the dataset of a run; "" where the app cannot open it."""
    path = Path(run.spec.dataset)
    if not path.is_absolute():
        return run.spec.dataset
    return path.name if path.parent == workspace() / "datasets" else ""


def comparable(chosen: Sequence[Run]) -> dict[str, list[str]]:
    """Dataset -> those of the runs that can be compared on it; datasets with fewer than two are left out."""
    found: dict[str, list[str]] = {}
    for run in chosen:
        name = app_dataset(run)
        try:
            fits = bool(name) and not run.spec.parent and run.spec.search is None and readable(run, name)
        except CrowdError:  # its dataset cannot be opened any more
            continue
        if fits:
            found.setdefault(name, []).append(run.id)
    return {name: runs for name, runs in found.items() if len(runs) > 1}
