"""Confusions that runs recovered, beside the truth of a simulation, what the labels say, or another run."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import dataset
from dashboard.services.panels import OBSERVED, TRUTH, has_truth, panel, pick, side_by_side
from dashboard.services.recovered import View, recovering
from dashboard.services.recovery_errors import error_in_words
from dashboard.services.runs import run as run_of, run_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore.analysis import LargestConfusions
    from crowdcore.core.types import FloatArray
    from crowdcore.figures.colors import Scale
    from dashboard.services.panels import Panel

__all__ = [
    "difference",
    "difference_table",
    "largest",
    "most_frequent_mistake",
    "one_confusion",
    "planted",
    "small_cell",
    "small_confusions",
    "table_of",
    "without_confusions",
]


def most_frequent_mistake(name: str, which: str, view: View, beside: str, shown: Sequence[int]) -> float:
    """The largest share off the diagonal of these matrices from all sources: where their colours end without it."""
    panels = [panel(name, which, of) for of in side_by_side(name, view, beside)]
    found = [m for at in shown for of in panels if (m := pick(of, at)) is not None]
    off = ~np.eye(dataset(name).n_classes, dtype=bool)
    return max((float(np.nan_to_num(m[off]).max()) for m in found), default=1.0) or 1.0


def small_confusions(
    name: str,
    which: str,
    view: View,
    beside: str,
    at: int,
    called: str,
    scale: Scale = "linear",
    without_diagonal: float | None = None,
) -> go.Figure:
    """One worker's confusion, or (-1 - g) a common one: truth, learnt and observed side by side, errors beneath.

    ``without_diagonal`` leaves the diagonal out, and is the share at which the colours end then.
    """
    from crowdcore import figures

    sources = side_by_side(name, view, beside)
    panels = [panel(name, which, of) for of in sources]
    n = dataset(name).n_classes
    subtitle = "" if at < 0 else count_words(int(dataset(name).labels_per_worker[at]))
    return figures.confusion_grid(
        _stack(panels, at, "common", "matrices", n),
        _classes(name),
        names=[html.escape(_called(p, of, at, beside), quote=False) for p, of in zip(panels, sources, strict=True)],
        below=[error_in_words(name, which, of, at) for of in sources],
        columns=columns_of(len(sources)),
        spread=_stack(panels, at, "common_spread", "spread", n),
        counts=_stack(panels, at, "common_counts", "counts", n),
        diagonal=without_diagonal is None,
        scale=scale,
        scale_max=1.0 if without_diagonal is None else without_diagonal,
        title=html.escape(called, quote=False),
        subtitle=subtitle,
    )


def count_words(n: int) -> str:
    """``53 labels``."""
    return f"{n:,} label{'' if n == 1 else 's'}"


def columns_of(n: int) -> int:
    """How many matrices stand in a row."""
    return 2 if n in {2, 4} else 3


def small_cell(name: str, view: View, beside: str, row: int, column: int) -> tuple[int, int] | None:
    """What a click on `small_confusions` means: true class and given label."""
    from crowdcore import figures

    n = len(side_by_side(name, view, beside))
    place = figures.grid_cell(row, column, dataset(name).n_classes, columns_of(n))
    return None if place is None or place[0] >= n else place[1:]


def _classes(name: str) -> list[str]:
    return [html.escape(c, quote=False) for c in dataset(name).classes]


def _called(of: Panel, source: View, at: int, beside: str) -> str:
    """A panel's name; of the labels, the common matrix is that of all workers; two runs go by their titles."""
    if source.run == OBSERVED and at < 0:
        return "observed, all workers"
    if beside and source.run not in {OBSERVED, TRUTH}:
        return run_title(run_of(source.run)) + ("" if of.name == "learnt" else f", {of.name}")
    return of.name


def _stack(panels: Sequence[Panel], at: int, common: str, own: str, n: int) -> FloatArray:
    found = [pick(p, at, common, own) for p in panels]
    return np.stack([np.full((n, n), np.nan) if m is None else m for m in found])


def table_of(name: str, which: str, sources: Sequence[View], at: int, called: str) -> pd.DataFrame:
    """The numbers of matrices side by side: source, who, true, given, share, share_std, annotations."""
    import pandas as pd

    frames = [_cells(panel(name, which, of), at, called, dataset(name).classes) for of in sources]
    return pd.concat([frame for frame in frames if frame is not None], ignore_index=True)


def _cells(of: Panel, at: int, who: str, classes: Sequence[str]) -> pd.DataFrame | None:
    import pandas as pd

    matrix = pick(of, at)
    if matrix is None:
        return None
    n = len(classes)
    true, given = np.indices((n, n)).reshape(2, -1)
    called = np.array(classes, dtype=object)
    columns = {"source": of.title, "who": who, "true": called[true], "given": called[given], "share": matrix.ravel()}
    spread, counts = (pick(of, at, f"common_{key}", key) for key in ("spread", "counts"))
    if spread is not None and np.isfinite(spread).any():
        columns["share_std"] = spread.ravel()
    if counts is not None:
        columns["annotations"] = counts.ravel()
    return pd.DataFrame(columns)


def one_confusion(
    name: str, which: str, source: View, beside: str, at: int, called: str, scale: Scale = "linear"
) -> go.Figure | None:
    """One matrix with its numbers, or None where the source has none."""
    from crowdcore import figures

    shown = panel(name, which, source)
    matrix = pick(shown, at)
    if matrix is None:
        return None
    words = filter(None, [shown.title, error_in_words(name, which, source, at)])
    return figures.confusion(
        matrix,
        _classes(name),
        counts=pick(shown, at, "common_counts", "counts"),
        spread=pick(shown, at, "common_spread", "spread"),
        scale_max=1.0,
        scale=scale,
        title=html.escape(f"{called}: {_called(shown, source, at, beside)}", quote=False),
        subtitle=html.escape(" · ".join(words), quote=False),
    )


def difference(name: str, which: str, first: View, second: View, at: int, dark: bool) -> go.Figure | None:
    """A matrix minus the same of another source; rows that either lacks stay empty."""
    from crowdcore import figures

    panels = [panel(name, which, of) for of in (first, second)]
    both = [pick(p, at) for p in panels]
    if both[0] is None or both[1] is None:
        return None
    return figures.confusion(
        [both[0], both[1]],
        _classes(name),
        difference="only",
        dark=dark,
        title="Difference",
        subtitle=html.escape(" − ".join(p.title for p in panels), quote=False),
    )


def difference_table(name: str, which: str, first: View, second: View, at: int) -> pd.DataFrame:
    """The numbers of `difference`: true, given, both shares, difference."""
    one, other = (table_of(name, which, [of], at, "") for of in (first, second))
    frame = one[["true", "given"]].assign(share=one["share"], beside=other["share"])
    return frame.assign(difference=frame["share"] - frame["beside"])


def largest(name: str, which: str, view: View) -> LargestConfusions:
    """The largest confusions that a run recovered for all workers, beside those of the labels.

    The run's common confusion, or where it has none the mean over workers by their labels.
    """
    from crowdcore import analysis

    learnt = panel(name, which, view)
    if learnt.common is not None and len(learnt.common) == 1:
        shared = learnt.common[0]
    else:
        shared = np.average(learnt.matrices, axis=0, weights=dataset(name).labels_per_worker)
    observed = panel(name, which, view._replace(run=OBSERVED)).common
    assert observed is not None
    return analysis.largest_confusions(shared, observed[0], dataset(name).classes)


def planted(name: str, view: View, true: int, given: int) -> float:
    """The same cell of a simulation's common confusion; NaN where there is none."""
    common = panel(name, "gold", view._replace(run=TRUTH)).common if has_truth(name) else None
    return float(common[0][true, given]) if common is not None and len(common) == 1 else float("nan")


def without_confusions(method: str) -> str:
    """What to say of a method that recovers no confusions."""
    able = ", ".join(recovering("worker_confusion"))
    return f"{method} recovers no confusions. Methods that do: {able}."
