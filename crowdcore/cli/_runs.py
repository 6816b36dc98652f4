"""Runs on the command line: short ids, rows of a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.data import CrowdDataset
from crowdcore.exhibits.fits import canonical
from crowdcore.exhibits.view import named
from crowdcore.runs.measures import leading

if TYPE_CHECKING:
    from crowdcore.analysis.reference import Reference
    from crowdcore.runs import Run

BEST = (
    "* highest validation accuracy (of tags: F1 of spans; of ratings: lowest error) among the runs listed with the "
    "same data and validation labels; test has no say."
)
_SHORT = 8  # digits shown
_NO_GOLD = "{dataset} has no gold: the truth is what the aggregator {name!r} says; --reference takes another."

_unsaid: list[str] = []


def full_id(given: str) -> str:
    """The id of the only run that begins so.

    Raises:
        DataError: there is none, or there are several.
    """
    from crowdcore import runs

    if len(given) == 32:
        return given
    found = [r.id for r in runs.list_runs() if given and r.id.startswith(given)]
    if len(found) != 1:
        what = "There is no run" if not found else f"There are {len(found)} runs"
        raise DataError(f"{what} whose id begins with {given!r}", "`crowdcore runs list` shows those there are.")
    return found[0]


def say_reference(found: bool) -> None:
    """Say on standard error which reference was taken where none was named; nothing where a command ``found`` nothing.

    A refusal comes alone.
    """
    for sentence in _unsaid if found else ():
        print(sentence, file=sys.stderr)
    _unsaid.clear()


def reference_named(name: str, dataset: CrowdDataset) -> Reference:
    """What ``--reference`` names: gold, an aggregator (``dawid-skene smoothing=0.1`` sets it), or ``run:ID``.

    An empty name means gold or, where there is none, the model that the app's pages take (`default_reference`), which
    `say_reference` says.
    """
    from crowdcore import aggregation
    from crowdcore.analysis import default_reference
    from crowdcore.analysis.reference import REVIEWED

    if not name and not dataset.has_gold:
        name = default_reference(dataset)
        if dataset.n_annotations:
            _unsaid.append(_NO_GOLD.format(dataset=dataset.name, name=name))
    kind, _, run_id = name.partition(":")
    if kind == "run":
        from crowdcore.runs import reference

        return reference(full_id(run_id), dataset)
    try:
        return named(dataset, name or "gold")
    except SettingError as error:
        if error.argument != "aggregator":
            raise
        if name.split(" ")[0] in aggregation.aggregators:
            canonical(name)  # says which of its settings is wrong
        others = ["gold", *REVIEWED]
        near = did_you_mean(name.lower(), [*others, *aggregation.names()])
        kinds = f"be {', '.join(others)}, an aggregator or run:ID"
        raise SettingError(
            "--reference", kinds, name, f"{near}Aggregators: {', '.join(aggregation.names())}."
        ) from None


def rows(found: Sequence[Run]) -> pd.DataFrame:
    """Runs as people read them; columns that say nothing of any are left out."""
    from crowdcore.runs import run_table

    frame = run_table(found)
    shown = pd.DataFrame(
        {
            "id": frame["id"].str[:_SHORT],
            "name": frame["name"],
            "dataset": frame["dataset"],
            "method": frame["method"],
            "settings": frame["settings"],
            "seeds": frame["seeds"],
            "state": [_state(run) for run in found],
            "test selected": [_reached(run, "test", "selected") for run in found],
            "test last": [_reached(run, "test", "last") for run in found],
            "validation": np.where(frame["best"], "* ", "") + [_reached(run, "valid", "selected") for run in found],
            "seconds": frame["seconds"].round(1),
            "started": [local(run.started) for run in found],
            "tags": frame["tags"],
            "note": [_first_line(run.note or run.message) for run in found],
        }
    )
    empty = [name for name in ("name", "settings", "tags", "note") if not shown[name].any()]
    return shown.drop(columns=empty)


def _state(run: Run) -> str:
    return f"running, {run.at}" if run.state == "running" else run.state


def _first_line(text: str) -> str:
    return text.splitlines()[0][:60] if text else ""


def _reached(run: Run, split: str, at: str) -> str:
    """Accuracy in %; of tags and ratings what they are judged by, with its name, where the record has it."""
    measure = leading(run.scores)
    score = f"{split}_{measure.name}_{at}" if measure else ""
    if measure is None or measure.name == "accuracy" or score not in run.scores or not run.has_result:
        return spread(run, f"{split}_accuracy_{at}")
    return f"{measure.words} {measure.told(run.scores, score)}"


def spread(run: Run, score: str) -> str:
    """A score of a run's result in %, mean ± standard deviation over seeds."""
    mean, std = (100 * run.scores.get(name, np.nan) for name in (score, f"{score}_std"))
    if np.isnan(mean) or not (run.has_ended and run.has_result):
        return "–"
    return f"{mean:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")


def local(moment: datetime | None) -> str:
    """A time on this machine's clock."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""
