"""Runs on the command line: short ids, rows of a table."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdcore.core.errors import DataError

if TYPE_CHECKING:
    from crowdcore.runs import Run

__all__ = ["full_id", "row", "spread"]

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
