"""Training while it goes on: metrics by epoch, trials of a search, and which settings matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from crowdcore import figures
from crowdcore.analysis import Band
from crowdcore.core.drawable import escaped
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.learning import curve_metrics as measured
from crowdcore.learning.curve_metrics import ACCURACY, SelectionScore
from crowdcore.learning.results.result import TrainingResult


class Measured(NamedTuple):
    """A metric of a run so far.

    Args:
        name: what to call the run.
        method: registered name.
        curve: columns epoch, mean and std over seeds.
        n_seeds: how many.
    """

    name: str
    method: str
    curve: pd.DataFrame
    n_seeds: int


def training_curves(
    runs: Sequence[Measured],
    metric: str,
    smooth: int = 1,
    axes: Sequence[str] = (),
    *,
    until: int = 0,
    table: Callable[[], pd.DataFrame] | None = None,
) -> Exhibit:
    """One metric of runs by epoch, as far as they are.

    Args:
        runs: what was measured.
        metric: which metric it is.
        smooth: epochs that a line takes the mean of.
        axes: ``log_epochs``, ``log_values`` and ``all_values`` of `figures.learning_curves`, as wanted.
        until: epoch at which they will end, to show how much is to come.
        table: makes the numbers; default: those that are drawn.
    """
    bands = []
    for run in runs:
        part = run.curve.sort_values("epoch")
        mean, std = part["mean"].to_numpy(float), part["std"].to_numpy(float)
        seeds = np.full(len(part), run.n_seeds)
        bands.append(Band(escaped(run.name), run.method, part["epoch"].to_numpy(), mean, std, seeds))
    words = measured.in_words(metric)
    figure = figures.learning_curves(
        bands,
        words,
        percent=measured.is_share(metric),
        smooth=smooth,
        until=until,
        title=words,
        log_epochs="log_epochs" in axes,
        log_values="log_values" in axes,
        all_values="all_values" in axes,
    )
    figure.update_layout(uirevision=f"{metric} {tuple(axes)}")

    def drawn() -> pd.DataFrame:
        return pd.concat([run.curve.assign(run=run.name, method=run.method) for run in runs], ignore_index=True)

    alt = f"{words} by epoch, one curve per run"
    return Exhibit(f"training-{metric}", f"{words} by epoch", figure, table or drawn, (), alt)


def search_history(trials: pd.DataFrame, method: str, score: SelectionScore = ACCURACY) -> Exhibit:
    """Validation score by trial, and the best so far.

    Args:
        trials: of `runs.search_trials`.
        method: registered name.
        score: what the trials were compared by.
    """
    figure = figures.search_history(trials, method, score.column, score.words)
    title = f"{score.words[0].upper()}{score.words[1:]} by trial, and the best so far"
    return Exhibit("search-history", title, figure, trials)


def search_importance(shares: Mapping[str, float], method: str) -> Exhibit | None:
    """Share of the variance that each setting explains; None where nothing is known of any.

    Args:
        shares: of `runs.search_importances`.
        method: registered name.
    """
    if not shares:
        return None
    table = pd.DataFrame({"setting": list(shares), "importance": list(shares.values())})
    title = "Share of the variance that each setting explains"
    return Exhibit("search-importance", title, figures.search_importance(shares, method), table)


def candidates(results: Mapping[str, TrainingResult]) -> Exhibit | None:
    """What methods that choose tried, and how well it did on tasks it was not fitted on; None where none chose."""
    tables = [r.candidates.assign(run=name) for name, r in results.items() if r.tried]
    if not tables:
        return None
    found = pd.concat(tables, ignore_index=True)
    table = pd.DataFrame(
        {
            "run": found["run"],
            "candidate": found["candidate"],
            "validation %": 100 * found["accuracy"].astype(float),
            "log-likelihood of a task's labels": found["likelihood"].astype(float),
            "weight in the mean": found["weight"].astype(float),
            "likeliest in %": 100 * found["chosen_in"],
        }
    )
    notes = (
        "Measured on tasks that the candidate was not fitted on. Predictions are the mean of the candidates' "
        "probabilities with these weights. Likeliest in: share of resamples of these tasks in which it is the most "
        "likely of the remaining candidates. It does not account for mistakes that all candidates make.",
    )
    return Exhibit("candidates", "Candidates that were tried", None, table.dropna(axis=1, how="all"), notes)
