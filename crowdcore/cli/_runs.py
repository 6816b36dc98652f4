"""Runs on the command line: short ids, rows of a table."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdcore import aggregation
from crowdcore.analysis.reference import ReferenceLike
from crowdcore.cli._options import settings
from crowdcore.core.errors import DataError
from crowdcore.data import CrowdDataset

if TYPE_CHECKING:
    from crowdcore.runs import Run

__all__ = ["full_id", "reference_named", "row", "spread"]

_SHORT = 8  # digits shown


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


def reference_named(name: str, dataset: CrowdDataset) -> ReferenceLike:
    """What ``--reference`` names: gold, an aggregator (``dawid-skene smoothing=0.1`` sets it), or ``run:ID``.

    An empty name means gold, or the majority vote where there is none.
    """
    kind, _, run_id = name.partition(":")
    if kind == "run":
        from crowdcore.runs import reference

        return reference(full_id(run_id), dataset)
    method, *pairs = name.split() or ["gold" if dataset.has_gold else "majority-vote"]
    return aggregation.get(method, **settings(pairs)).fit(dataset) if pairs else method


def row(run: Run) -> dict[str, Any]:
    """A run in a table."""
    return {
        "id": run.id[:_SHORT],
        "dataset": run.spec.dataset,
        "method": run.spec.method,
        "seeds": len(run.spec.seeds),
        "state": run.state,
        "epoch": f"{run.epoch}/{run.epochs}" if run.epochs else str(run.epoch),
        "selected": spread(run, "selected"),
        "last": spread(run, "last"),
        "best": spread(run, "best"),
        "created": local(run.created),
        "message": run.message.splitlines()[0][:60] if run.message else "",
    }


def spread(run: Run, at: str) -> str:
    """Test accuracy in %, mean ± standard deviation over seeds."""
    mean = 100 * run.scores.get(f"test_accuracy_{at}", np.nan)
    std = 100 * run.scores.get(f"test_accuracy_{at}_std", np.nan)
    return "–" if np.isnan(mean) else f"{mean:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")


def local(moment: datetime | None) -> str:
    """A time on this machine's clock."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else ""
