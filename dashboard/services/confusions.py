"""Confusions that runs recovered, beside what the labels say, the truth of a simulation, or another run."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import dataset
from dashboard.services.datasets import drawable, workers
from dashboard.services.panels import OBSERVED, TRUTH, Panel, order_of, panel
from dashboard.services.recovered import recovered, recovering, skill_comparison
from dashboard.services.runs import result, run_title
from dashboard.services.runs import run as run_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore.core.types import FloatArray

__all__ = [
    "confusion_cell",
    "confusion_grid",
    "confusion_grid_table",
    "one_confusion",
    "one_confusion_table",
    "one_difference",
    "one_difference_table",
    "recovered_workers",
    "skills_figure",
    "skills_table",
    "without_confusions",
]


def _columns(panels: list[Panel], who: list[int]) -> list[int]:
    """The matrices of a row of the grid: -1 - g is a common one, others are workers."""
    n = [0 if p.common is None else len(p.common) for p in panels]
    return [*(-1 - g for g in range(n[0] or min(1, sum(n[1:])))), *who]


def _pick(of: Panel, at: int, common: str, own: str) -> FloatArray | None:
    """A matrix of a panel, or its spread, or its counts."""
    values = getattr(of, common if at < 0 else own)
    if values is None or (at < 0 and -1 - at >= len(values)):
        return None
    return np.asarray(values[-1 - at if at < 0 else at], np.float64)


def _stack(panels: list[Panel], columns: list[int], common: str, own: str, n: int) -> FloatArray:
    none = np.full((n, n), np.nan)
    return np.stack(
        [np.stack([none if (m := _pick(p, at, common, own)) is None else m for at in columns]) for p in panels]
    )


def _panels(name: str, which: str, run_id: str, beside: str, seed: str) -> list[Panel]:
    return [panel(name, which, source, seed) for source in (run_id, beside) if source]


def _called(of: Panel, at: int, names: list[str]) -> str:
    if at >= 0:
        return names[at]
    several = of.common is not None and len(of.common) > 1
    return f"{of.common_title} {-at}" if several else of.common_title


def confusion_grid(
    name: str, which: str, run_id: str, beside: str, seed: str, who: tuple[int, ...], hidden: bool, diagonal: bool
) -> go.Figure:
    """The common confusion and those of some workers; below, the same of what is beside."""
    from crowdcore import figures

    panels = _panels(name, which, run_id, beside, seed)
    columns, n = _columns(panels, list(who)), dataset(name).n_classes
    names = [html.escape(w, quote=False) for w in workers(name, hidden)]
    classes = [html.escape(c, quote=False) for c in dataset(name).classes]
    return figures.confusion_grid(
        _stack(panels, columns, "common", "matrices", n),
        classes,
        names=[[_called(p, at, names) for at in columns] for p in panels],
        rows=[html.escape(p.title, quote=False) for p in panels],
        spread=_stack(panels, columns, "common_spread", "spread", n),
        counts=_stack(panels, columns, "common_counts", "counts", n),
        diagonal=diagonal,
        subtitle="share of each row" + ("" if diagonal else ", mistakes only"),
    )


def confusion_grid_table(
    name: str, which: str, run_id: str, beside: str, seed: str, who: tuple[int, ...], hidden: bool
) -> pd.DataFrame:
    """The numbers of `confusion_grid`: source, who, true, given, share, share_std."""
    import pandas as pd

    panels = _panels(name, which, run_id, beside, seed)
    names, columns = workers(name, hidden), _columns(panels, list(who))
    frames = [_cells(p, at, _called(p, at, names), dataset(name).classes) for p in panels for at in columns]
    return pd.concat([frame for frame in frames if frame is not None], ignore_index=True)


def _cells(of: Panel, at: int, who: str, classes: Sequence[str]) -> pd.DataFrame | None:
    import pandas as pd

    matrix = _pick(of, at, "common", "matrices")
    if matrix is None:
        return None
    n = len(classes)
    true, given = np.indices((n, n)).reshape(2, -1)
    called = np.array(classes, dtype=object)
    columns = {"source": of.title, "who": who, "true": called[true], "given": called[given], "share": matrix.ravel()}
    spread, counts = (_pick(of, at, f"common_{key}", key) for key in ("spread", "counts"))
    if spread is not None and np.isfinite(spread).any():
        columns["share_std"] = spread.ravel()
    if counts is not None:
        columns["annotations"] = counts.ravel()
    return pd.DataFrame(columns)


def confusion_cell(
    name: str, which: str, run_id: str, beside: str, seed: str, who: tuple[int, ...], row: int, column: int
) -> tuple[int, int, int] | None:
    """What a click on `confusion_grid` means: matrix (-1 - g is a common one), true class, given label."""
    from crowdcore import figures

    columns = _columns(_panels(name, which, run_id, beside, seed), list(who))
    place = figures.grid_cell(row, column, dataset(name).n_classes)
    return None if place is None or place[1] >= len(columns) else (columns[place[1]], place[2], place[3])


def one_confusion(name: str, which: str, source: str, seed: str, at: int, called: str) -> go.Figure | None:
    """One matrix with its numbers, or None where the source has none."""
    from crowdcore import figures

    shown = panel(name, which, source, seed)
    matrix = _pick(shown, at, "common", "matrices")
    if matrix is None:
        return None
    return figures.confusion(
        matrix,
        [html.escape(c, quote=False) for c in dataset(name).classes],
        counts=_pick(shown, at, "common_counts", "counts"),
        spread=_pick(shown, at, "common_spread", "spread"),
        scale_max=1.0,
        title=html.escape(called if at >= 0 or source != OBSERVED else "All workers", quote=False),
        subtitle=html.escape(shown.title, quote=False),
    )


def one_difference(name: str, which: str, run_id: str, beside: str, seed: str, at: int) -> go.Figure | None:
    """A matrix of the run minus that of what is beside; rows that either lacks stay empty."""
    from crowdcore import figures

    panels = _panels(name, which, run_id, beside, seed)
    both = [_pick(p, at, "common", "matrices") for p in panels]
    if len(both) < 2 or both[0] is None or both[1] is None:
        return None
    return figures.confusion(
        [both[0], both[1]],
        [html.escape(c, quote=False) for c in dataset(name).classes],
        difference="only",
        title="Difference",
        subtitle=html.escape(" − ".join(p.title for p in panels), quote=False),
    )


def one_difference_table(name: str, which: str, run_id: str, beside: str, seed: str, at: int) -> pd.DataFrame:
    """The numbers of `one_difference`: true, given, both shares, difference."""
    first, second = (one_confusion_table(name, which, source, seed, at, "") for source in (run_id, beside))
    frame = first[["true", "given"]].assign(share=first["share"], beside=second["share"])
    return frame.assign(difference=frame["share"] - frame["beside"])


def one_confusion_table(name: str, which: str, source: str, seed: str, at: int, called: str) -> pd.DataFrame:
    """The numbers of `one_confusion`."""
    cells = _cells(panel(name, which, source, seed), at, called, dataset(name).classes)
    assert cells is not None
    return cells


def recovered_workers(
    name: str, which: str, run_id: str, beside: str, seed: str, sort: str, hidden: bool
) -> pd.DataFrame:
    """One row per worker in the order of ``sort``: skills, distance from common, common noise; index = worker."""
    import pandas as pd

    found, compared = recovered(name, run_id, seed), skill_comparison(name, which, run_id, seed)
    columns: dict[str, object] = {
        "worker": workers(name, hidden),
        "annotations": found.n_annotations,
        "observed skill": compared.observed,
    }
    for words, values, spread in (
        ("skill", found.skill, found.skill_spread),
        ("distance from common", found.distance, found.distance_spread),
        ("common noise", found.common_share, found.common_share_spread),
    ):
        if values is not None:
            columns[words] = values
            if len(found.seeds) > 1:
                columns[f"{words} ±"] = spread
    if found.group is not None:
        columns["group"] = found.group + 1
    if beside not in {"", OBSERVED, TRUTH}:
        columns["skill beside"] = recovered(name, beside, seed).skill
    truth = dataset(name).truth
    if truth is not None and truth.worker_confusion is not None:
        columns["true skill"] = np.trace(truth.worker_confusion, axis1=1, axis2=2) / len(found.classes)
    return pd.DataFrame(columns).iloc[order_of(name, run_id, seed, sort)]


def skills_figure(
    name: str, which: str, run_id: str, beside: str, seed: str, worker: int | None, hidden: bool
) -> go.Figure:
    """Learnt skills of one run, or of two, on those that the labels show."""
    from crowdcore import figures
    from crowdcore.figures.theme import PALETTE, method_color

    shown = [run_id, *([beside] if beside not in {"", OBSERVED, TRUTH} else [])]
    called = workers(name, hidden)
    titles = [html.escape(run_title(run_of(one)), quote=False) for one in shown]
    if len(set(titles)) < len(titles):
        titles = [f"{title} ({one[:4]})" for title, one in zip(titles, shown, strict=True)]
    colors = [method_color(result(one).method) for one in shown]
    if len(set(colors)) < len(colors):
        colors[1] = next(color for color in PALETTE if color != colors[0])
    runs = {
        title: drawable(skill_comparison(name, which, one, seed), called)
        for title, one in zip(titles, shown, strict=True)
    }
    return figures.skills(runs, colors=colors, highlight=worker)


def skills_table(name: str, which: str, run_id: str, seed: str, hidden: bool) -> pd.DataFrame:
    """The numbers of `skills_figure` for one run."""
    return skill_comparison(name, which, run_id, seed).frame().assign(worker=workers(name, hidden))


def without_confusions(method: str) -> str:
    """What to say of a method that recovers no confusions."""
    able = ", ".join(recovering("worker_confusion"))
    return f"{method} recovers no confusions. Methods that do: {able}."
