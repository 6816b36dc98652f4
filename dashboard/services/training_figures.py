"""Curves of training, live and finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crowdcore import exhibits
from dashboard.services.runs import curves, run_names

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.exhibits import Exhibit
    from crowdcore.runs import Run

_ONCE = ("_selected", "_last", "_best", "seconds", "_second", "_bytes")  # ends of scores that are no curves


def curve_metrics(shown: Sequence[Run]) -> dict[str, str]:
    """Metric -> what it is, of all that any of these runs has measured, the most telling first."""
    from crowdcore.learning.results import curve_metrics as measured
    from crowdcore.runs.run import is_spread

    return measured.curve_metrics(
        m for run in shown for m in run.scores if not (is_spread(m, run.scores) or m.endswith(_ONCE))
    )


def training_curves(shown: Sequence[Run], metric: str, smooth: int = 1, axes: Sequence[str] = ()) -> Exhibit:
    """One metric of these runs by epoch, as far as they are; see `crowdcore.exhibits.training.training_curves`."""
    names, training = run_names(shown), exhibits.training
    parts = [
        training.Measured(names[run.id], run.spec.method, curves(run.id, run.ended, metric), len(run.spec.seeds))
        for run in shown
    ]
    live = not all(run.has_ended for run in shown)
    until = max(run.epochs for run in shown) if live else 0
    return training.training_curves(parts, metric, smooth, axes, until=until, table=lambda: _every_metric(shown))


def _every_metric(shown: Sequence[Run]) -> pd.DataFrame:
    import pandas as pd

    frames = [curves(run.id, run.ended).assign(run=run.id, method=run.spec.method) for run in shown]
    frame = pd.concat(frames, ignore_index=True)
    return frame[["run", "method", "epoch", "metric", "mean", "std"]]
