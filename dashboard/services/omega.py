"""Where labels come from: ω of a run by task, class and worker, and against the truth of a simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from crowdcore.core.drawable import drawable
from dashboard.services._cache import dataset, kept
from dashboard.services.datasets import reference, workers
from dashboard.services.recovered import View, omega_at, recovering, seed_of
from dashboard.services.runs import result

if TYPE_CHECKING:
    from typing import Literal

    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import OmegaJudgement, OmegaRanking, OmegaSpread, OmegaTruth

__all__ = [
    "HALVES",
    "bar_clicked",
    "has_true_omega",
    "omega_halves_figure",
    "omega_in_numbers",
    "omega_judgement",
    "omega_ranking",
    "omega_ranking_figure",
    "omega_spread",
    "omega_spread_figure",
    "omega_spread_table",
    "omega_tasks",
    "omega_truth",
    "omega_truth_figure",
    "ranges",
    "without_omega",
]

HALVES = {"": "Any ω̄", "top": "Top half: more common noise", "bottom": "Bottom half: more individual noise"}


def without_omega(method: str) -> str:
    """What to say of a method that has no ω."""
    able = ", ".join(recovering("omega"))
    return f"{method} does not tell common from individual noise. Methods that do: {able}."


@kept
def omega_ranking(opened: CrowdDataset, which: str, view: View) -> OmegaRanking:
    """Tasks by ω̄, and what the halves of the ranking hold."""
    from crowdcore import analysis

    truth, seeds = reference(opened, which), result(view.run).seeds
    return analysis.omega_ranking(opened, omega_at(view), truth, seeds=seeds, seed=seed_of(opened, view))


@kept
def omega_spread(opened: CrowdDataset, which: str, view: View, by: Literal["class", "worker"]) -> OmegaSpread:
    """Distribution of ω per class or per worker."""
    from crowdcore import analysis

    truth, seeds = reference(opened, which), result(view.run).seeds
    return analysis.omega_spread(opened, omega_at(view), by, truth, seeds=seeds, seed=seed_of(opened, view))


def has_true_omega(name: str) -> bool:
    """Whether a simulation says which ω generated the labels."""
    truth = dataset(name).truth
    return truth is not None and truth.omega is not None


@kept
def omega_truth(opened: CrowdDataset, view: View) -> OmegaTruth:
    """Recovered against true ω."""
    from crowdcore import analysis

    return analysis.omega_truth(opened, omega_at(view), seeds=result(view.run).seeds, seed=seed_of(opened, view))


@kept
def omega_in_numbers(opened: CrowdDataset, view: View) -> dict[str, float]:
    """Mean ω of the annotations and its standard deviation among them."""
    values, one = omega_at(view), seed_of(opened, view)
    values = values if one is None else values[[result(view.run).seeds.index(one)]]
    means = values.astype(np.float64).mean(0)
    means = means[~np.isnan(means)]
    none = float("nan")
    return {
        "mean": float(means.mean()) if len(means) else none,
        "spread": float(means.std(ddof=1)) if len(means) > 1 else none,
        "n": float(len(means)),
        "without": float(opened.n_annotations - len(means)),
    }


def omega_judgement(name: str, which: str, view: View) -> OmegaJudgement:
    """Whether the ranking can be read."""
    from crowdcore import analysis

    spread = omega_in_numbers(name, view)["spread"]
    return analysis.judge_omega(spread, omega_ranking(name, which, view).seed_correlation)


def ranges(name: str, which: str, view: View) -> dict[str, str]:
    """Ranges of ω̄ that tasks can be listed by: the halves, then the bins of the figure that hold any."""
    from crowdcore.figures.omega import BINS

    edges, counts = omega_ranking(name, which, view).histogram(BINS)
    bins = {f"bin-{b}": f"{edges[b]:.2f} to {edges[b + 1]:.2f}" for b in np.flatnonzero(counts[-1])}
    return HALVES | bins


def bar_clicked(name: str, code: int) -> tuple[int | None, str]:
    """What a click on a bar of the figure means: class (None for any) and a key of `ranges`."""
    from crowdcore.figures.omega import BINS

    c, b = divmod(code, BINS)
    return (None if c == dataset(name).n_classes else c), f"bin-{b}"


def omega_ranking_figure(name: str, which: str, view: View, task: int | None) -> go.Figure:
    """How the tasks' ω̄ spreads, class by class."""
    from crowdcore import figures

    return figures.omega_ranking(drawable(omega_ranking(name, which, view)), highlight=task)


def omega_halves_figure(name: str, which: str, view: View) -> go.Figure:
    """Figure 10, and the annotation entropy."""
    from crowdcore import figures

    return figures.omega_halves(drawable(omega_ranking(name, which, view)))


def omega_tasks(name: str, which: str, view: View, part: str, true: int | None) -> pd.DataFrame:
    """Tasks of a part of the ranking (a key of `ranges`) and of a class, largest ω̄ first; index = task number."""
    from crowdcore.figures.omega import BINS

    found = omega_ranking(name, which, view)
    frame = found.frame()
    keep = np.ones(len(frame), bool)
    if part in HALVES and part:
        keep &= (frame["half"] == part).to_numpy()
    elif part:
        keep &= np.clip((found.omega * BINS).astype(np.int64), 0, BINS - 1) == int(part.removeprefix("bin-"))
    if true is not None:
        keep &= found.label == true
    names = {"omega": "mean ω", "omega_std": "mean ω ±"}
    return frame[keep].rename(columns=names)


def omega_spread_figure(
    name: str, which: str, view: View, by: Literal["class", "worker"], chosen: int | None, hidden: bool
) -> go.Figure:
    """ω per class, or per worker with the worker's accuracy."""
    import html

    import pandas as pd

    from crowdcore import analysis, figures

    found = omega_spread(name, which, view, by)
    names = workers(name, hidden) if by == "worker" else [str(c) for c in found.names]
    shown = replace(found, names=pd.Index([html.escape(n, quote=False) for n in names]))
    beside = analysis.worker_quality(dataset(name), reference(name, which)).accuracy if by == "worker" else None
    return figures.omega_spread(shown, beside=beside, beside_name=f"accuracy ({which})", highlight=chosen)


def omega_spread_table(name: str, which: str, view: View, by: Literal["class", "worker"], hidden: bool) -> pd.DataFrame:
    """The numbers of `omega_spread_figure`, largest mean first; index = class or worker."""
    from crowdcore import analysis

    found = omega_spread(name, which, view, by)
    frame = found.frame().rename(columns={"mean": "mean ω"})
    if by == "worker":
        frame["worker"] = workers(name, hidden)
        frame["accuracy"] = analysis.worker_quality(dataset(name), reference(name, which)).accuracy
    else:
        ranking = omega_ranking(name, which, view)
        frame["entropy (nats)"] = ranking.class_entropy
        frame["top"], frame["bottom"] = ranking.top, ranking.bottom
    return frame.sort_values("mean ω", ascending=False, kind="stable", na_position="last")


def omega_truth_figure(name: str, view: View) -> go.Figure:
    """How often a recovered ω goes with a true one."""
    from crowdcore import figures

    return figures.omega_truth(omega_truth(name, view))
