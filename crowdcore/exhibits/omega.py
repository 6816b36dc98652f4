"""Sources of labels: ω of a run by task, class and worker, and against the truth of a simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis import OmegaRanking, OmegaSpread, OmegaTruth
from crowdcore.exhibits.exhibit import Exhibit, drawable, escaped
from crowdcore.exhibits.recovered import RunView
from crowdcore.exhibits.shared import omega_use
from crowdcore.exhibits.view import View, cached
from crowdcore.figures.omega import BINS

MEANING = (
    "ω is the model's probability that a label came from the confusion that all workers share instead of the worker's "
    "own. Labels that both explain equally well, such as right ones, do not determine it: crowds without any shared "
    "mistake get an ω, too, and seeds may agree on it."
)
HALVES = {"": "Any ω̄", "top": "Top half: more common noise", "bottom": "Bottom half: more individual noise"}
By = Literal["class", "worker"]


class OmegaNumbers(NamedTuple):
    """Summary of ω of a run.

    Attributes:
        mean: of ω over annotations.
        spread: its standard deviation over annotations.
        task_correlation: Spearman's, of the tasks' ω̄ with the entropy of their labels.
        seed_correlation: mean rank correlation of the tasks' ω̄ between seeds.
        agreement: of the seeds: "good", "moderate", "poor", or "" for a single one.
        words: warnings that the ranking is unreliable, or that a high ω goes with right labels; empty without any.
    """

    mean: float
    spread: float
    task_correlation: float
    seed_correlation: float
    agreement: str
    words: str


@cached
def ranked(view: RunView) -> OmegaRanking:
    """Tasks by ω̄, and the halves of their ranking."""
    return analysis.omega_ranking(view.dataset, view.omega, view.truth, seeds=view.result.seeds, seed=view.shown_seed)


@cached
def spread_by(view: RunView, by: By) -> OmegaSpread:
    """Distribution of ω per class or per worker."""
    run_seeds = view.result.seeds
    return analysis.omega_spread(view.dataset, view.omega, by, view.truth, seeds=run_seeds, seed=view.shown_seed)


@cached
def against_truth(view: RunView) -> OmegaTruth:
    """Recovered against true ω."""
    return analysis.omega_truth(view.dataset, view.omega, seeds=view.result.seeds, seed=view.shown_seed)


def has_true_omega(view: View) -> bool:
    """Return whether a simulation states the ω that generated the labels."""
    return view.dataset.truth is not None and view.dataset.truth.omega is not None


@cached
def numbers(view: RunView) -> OmegaNumbers:
    """Mean and spread of ω, and the reliability of its ranking of tasks."""
    values, one = view.omega, view.shown_seed
    values = values if one is None else values[[view.result.seeds.index(one)]]
    means = values.astype(np.float64).mean(0)
    means = means[~np.isnan(means)]
    mean = float(means.mean()) if len(means) else float("nan")
    around = float(means.std(ddof=1)) if len(means) > 1 else float("nan")
    ranking = ranked(view)
    agreement, words = analysis.judge_omega(around, ranking.seed_correlation)
    words = " ".join(filter(None, (words, omega_use(view).sentence)))
    return OmegaNumbers(mean, around, ranking.task_correlation, ranking.seed_correlation, agreement, words)


def omega_ranking(view: RunView, task: int | None = None) -> Exhibit:
    """Distribution of the tasks' ω̄, class by class; a click on a bar chooses its tasks.

    Args:
        task: number of a task to mark.
    """
    ranking = ranked(view)

    def click(code: int) -> dict[str, str]:
        true, part = divmod(code, BINS)
        return {"half": f"bin-{part}", "true": view.classes[true] if true < len(view.classes) else ""}

    return Exhibit(
        "omega-ranking",
        "Tasks by ω̄",
        figures.omega_ranking(view.drawable(ranking), highlight=task),
        ranking.frame,
        tuple(filter(None, [numbers(view).words, MEANING])),
        "How the mean ω of tasks spreads, one strip for each true class",
        click,
    )


def omega_halves(view: RunView) -> Exhibit:
    """Figure 10 of the CoNAL paper, and the annotation entropy."""
    ranking = ranked(view)
    alt = "Tasks of each true class in the top and the bottom half, and the entropy of their labels"
    figure = figures.omega_halves(view.drawable(ranking))
    return Exhibit("omega-halves", "True classes in the halves", figure, ranking.halves, (), alt)


def ranges(view: RunView) -> dict[str, str]:
    """Ranges of ω̄ that tasks can be listed by: the halves, then the bins of the figure that hold any."""
    edges, counts = ranked(view).histogram(BINS)
    return HALVES | {f"bin-{b}": f"{edges[b]:.2f} to {edges[b + 1]:.2f}" for b in np.flatnonzero(counts[-1])}


def omega_tasks(view: RunView, part: str = "", true: int | None = None) -> Exhibit:
    """Tasks of a part of the ranking (a key of `ranges`) and of a class; index = task number; a click chooses one.

    Largest ω̄ first, of the bottom half the smallest.
    """
    ranking = ranked(view)
    keep = np.ones(len(ranking.task), bool)
    frame = ranking.frame().rename(columns={"omega": "mean ω", "omega_std": "mean ω ±"})
    if part in HALVES and part:
        keep &= (frame["half"] == part).to_numpy()
    elif part:
        keep &= np.clip((ranking.omega * BINS).astype(np.int64), 0, BINS - 1) == int(part.removeprefix("bin-"))
    if true is not None:
        keep &= ranking.label == true
    table = frame[keep] if part != "bottom" else frame[keep][::-1]
    title = f"Tasks by ω̄: {ranges(view).get(part, part)}"
    return Exhibit("omega-tasks", title, None, table, (), "", view.to_task)


def omega_spread(view: RunView, by: By, chosen: int | None = None) -> Exhibit:
    """ω per true class beside the entropy of its labels, or per worker beside the worker's accuracy.

    The table has the largest mean first; index = class or worker.

    Args:
        by: class or worker.
        chosen: number of the class or worker to mark.
    """
    spread = spread_by(view, by)
    table = spread.frame().rename(columns={"mean": "mean ω"})
    names = view.workers if by == "worker" else view.classes
    beside = None
    if by == "worker":
        beside = view.of(analysis.worker_quality).accuracy
        table = table.assign(worker=list(names), accuracy=beside)
    else:
        of = ranked(view)
        table = table.assign(**{"entropy (nats)": of.class_entropy, "top": of.top, "bottom": of.bottom})
    figure = figures.omega_spread(
        replace(spread, names=pd.Index([escaped(name) for name in names])),
        beside=beside,
        beside_name=escaped(f"accuracy ({view.reference})"),
        highlight=chosen,
    )
    return Exhibit(
        f"omega-by-{by}",
        f"ω per {'true class' if by == 'class' else by}",
        figure,
        table.sort_values("mean ω", ascending=False, kind="stable", na_position="last"),
        (),
        f"Distribution of ω for each {by}",
    )


def omega_truth(view: RunView) -> Exhibit:
    """Recovered ω against the true one of a simulation."""
    comparison = against_truth(view)
    figure = figures.omega_truth(drawable(comparison))
    alt = "Recovered ω against the true ω of the simulation"
    return Exhibit("omega-truth", "Recovered ω against the true one", figure, comparison.frame, (), alt)
