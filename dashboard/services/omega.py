"""Where labels come from: ω of a run by task, class and worker, and against the truth of a simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.annotators import quality
from dashboard.services.datasets import drawable, reference, workers
from dashboard.services.recovered import recovering, seed_of
from dashboard.services.runs import result

if TYPE_CHECKING:
    from typing import Literal

    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import OmegaRanking, OmegaSpread, OmegaTruth

__all__ = [
    "HALVES",
    "has_true_omega",
    "omega_halves_figure",
    "omega_in_numbers",
    "omega_ranking",
    "omega_ranking_figure",
    "omega_spread",
    "omega_spread_figure",
    "omega_spread_table",
    "omega_tasks",
    "omega_truth",
    "omega_truth_figure",
    "without_omega",
]

HALVES = {"": "All tasks", "top": "Top half: more common noise", "bottom": "Bottom half: more individual noise"}


def without_omega(method: str) -> str:
    """What to say of a method that has no ω."""
    able = ", ".join(recovering("omega"))
    return f"{method} does not tell common from individual noise. Methods that do: {able}."


@kept
def omega_ranking(opened: CrowdDataset, which: str, run_id: str, seed: str) -> OmegaRanking:
    """Tasks by ω̄, and what the halves of the ranking hold."""
    from crowdcore import analysis

    found = result(run_id)
    assert found.omega is not None, "asked for ω of a run without"
    truth = reference(opened, which)
    return analysis.omega_ranking(opened, found.omega, truth, seeds=found.seeds, seed=seed_of(run_id, seed))


@kept
def omega_spread(
    opened: CrowdDataset, which: str, run_id: str, seed: str, by: Literal["class", "worker"]
) -> OmegaSpread:
    """Distribution of ω per class or per worker."""
    from crowdcore import analysis

    found = result(run_id)
    assert found.omega is not None, "asked for ω of a run without"
    truth = reference(opened, which)
    return analysis.omega_spread(opened, found.omega, by, truth, seeds=found.seeds, seed=seed_of(run_id, seed))


def has_true_omega(name: str) -> bool:
    """Whether a simulation says which ω generated the labels."""
    truth = dataset(name).truth
    return truth is not None and truth.omega is not None


@kept
def omega_truth(opened: CrowdDataset, run_id: str, seed: str) -> OmegaTruth:
    """Recovered against true ω."""
    from crowdcore import analysis

    found = result(run_id)
    assert found.omega is not None, "asked for ω of a run without"
    return analysis.omega_truth(opened, found.omega, seeds=found.seeds, seed=seed_of(run_id, seed))


@kept
def omega_in_numbers(opened: CrowdDataset, run_id: str, seed: str) -> dict[str, float]:
    """Mean ω of the annotations and its standard deviation among them."""
    found, one = result(run_id), seed_of(run_id, seed)
    assert found.omega is not None, "asked for ω of a run without"
    values = found.omega if one is None else found.omega[[found.seeds.index(one)]]
    means = values.astype(np.float64).mean(0)
    means = means[~np.isnan(means)]
    none = float("nan")
    return {
        "mean": float(means.mean()) if len(means) else none,
        "spread": float(means.std(ddof=1)) if len(means) > 1 else none,
        "n": float(len(means)),
        "without": float(opened.n_annotations - len(means)),
    }


def _for_figure(found: OmegaRanking) -> OmegaRanking:
    """Names escaped, those of tasks too."""
    import html

    import pandas as pd

    shown = drawable(found)
    return replace(shown, task_ids=pd.Index([html.escape(str(t), quote=False) for t in shown.task_ids]))


def omega_ranking_figure(name: str, which: str, run_id: str, seed: str, task: int | None) -> go.Figure:
    """Every task by its rank."""
    from crowdcore import figures

    return figures.omega_ranking(_for_figure(omega_ranking(name, which, run_id, seed)), highlight=task)


def omega_halves_figure(name: str, which: str, run_id: str, seed: str) -> go.Figure:
    """Figure 10, and the annotation entropy."""
    from crowdcore import figures

    return figures.omega_halves(_for_figure(omega_ranking(name, which, run_id, seed)))


def omega_tasks(name: str, which: str, run_id: str, seed: str, half: str, true: int | None) -> pd.DataFrame:
    """Tasks of a half and of a class, largest ω̄ first; index = task number."""
    found = omega_ranking(name, which, run_id, seed)
    frame = found.frame()
    keep = np.ones(len(frame), bool)
    if half:
        keep &= (frame["half"] == half).to_numpy()
    if true is not None:
        keep &= found.label == true
    names = {"omega": "mean ω", "omega_std": "mean ω ±"}
    return frame[keep].rename(columns=names)


def omega_spread_figure(
    name: str, which: str, run_id: str, seed: str, by: Literal["class", "worker"], chosen: int | None, hidden: bool
) -> go.Figure:
    """ω per class, or per worker with the worker's accuracy."""
    import html

    import pandas as pd

    from crowdcore import figures

    found = omega_spread(name, which, run_id, seed, by)
    names = workers(name, hidden) if by == "worker" else [str(c) for c in found.names]
    shown = replace(found, names=pd.Index([html.escape(n, quote=False) for n in names]))
    beside = quality(name, which).accuracy if by == "worker" else None
    return figures.omega_spread(shown, beside=beside, beside_name=f"accuracy ({which})", highlight=chosen)


def omega_spread_table(
    name: str, which: str, run_id: str, seed: str, by: Literal["class", "worker"], hidden: bool
) -> pd.DataFrame:
    """The numbers of `omega_spread_figure`, largest mean first; index = class or worker."""
    found = omega_spread(name, which, run_id, seed, by)
    frame = found.frame().rename(columns={"mean": "mean ω"})
    if by == "worker":
        frame["worker"] = workers(name, hidden)
        frame["accuracy"] = quality(name, which).accuracy
    else:
        ranking = omega_ranking(name, which, run_id, seed)
        frame["entropy (nats)"] = ranking.class_entropy
        frame["top"], frame["bottom"] = ranking.top, ranking.bottom
    return frame.sort_values("mean ω", ascending=False, kind="stable", na_position="last")


def omega_truth_figure(name: str, run_id: str, seed: str) -> go.Figure:
    """How often a recovered ω goes with a true one."""
    from crowdcore import figures

    return figures.omega_truth(omega_truth(name, run_id, seed))
