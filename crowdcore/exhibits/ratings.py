"""Ratings: who is off by how much, what the crowd has in common, and what the true ratings are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from crowdcore import aggregation, analysis, figures
from crowdcore.analysis.ratings.workers import RatingTruth
from crowdcore.core.drawable import drawable, renamed
from crowdcore.data.pseudonyms import hidden_in, pseudonyms
from crowdcore.data.ratings import RatingDataset
from crowdcore.exhibits._intervals import ends
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import cached
from crowdcore.figures.ratings import pairs_drawn

__all__ = [
    "RatingView",
    "aggregators",
    "agreement",
    "errors_alike",
    "rating_view",
    "shared_bias",
    "summary",
    "worker_bias",
]


@dataclass(frozen=True)
class RatingView:
    """Ratings to look at; `rating_view` makes one.

    Args:
        dataset: the ratings.
        truth: what they are compared with.
        hidden: show pseudonyms instead of worker ids.
    """

    dataset: RatingDataset
    truth: RatingTruth
    hidden: bool = False

    @property
    def workers(self) -> tuple[str, ...]:
        """(n_workers,) what to call each worker."""
        return _names(self.dataset, self.hidden)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noticed while reading, with the names that may be read, and what the reference means."""
        read = hidden_in(self.dataset.notes, self.dataset) if self.hidden else self.dataset.notes
        return (*read, *((self.truth.note,) if self.truth.note else ()))

    def in_order(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table by worker; where names are hidden in the order of pseudonyms, as that of names would tell them."""
        return table.sort_values("worker", kind="stable") if self.hidden else table


def rating_view(dataset: RatingDataset, reference: str = "", *, hidden: bool = False) -> RatingView:
    """A view of ratings.

    Args:
        reference: ``"gold"`` or an aggregator of ratings; default: gold, else the mean of the other workers.
        hidden: show pseudonyms instead of worker ids.

    Raises:
        DataError: gold asked for, but there is none.
        SettingError: no such reference.
    """
    return RatingView(dataset, _truth(dataset, reference or ("gold" if dataset.has_gold else "mean")), hidden)


@cached
def _truth(dataset: RatingDataset, reference: str) -> RatingTruth:
    return analysis.rating_truth(dataset, reference)


@cached
def _names(dataset: RatingDataset, hidden: bool) -> tuple[str, ...]:
    return tuple(pseudonyms(dataset)) if hidden else tuple(map(str, dataset.worker_ids))


def summary(view: RatingView) -> Exhibit:
    """How many, in which range, and how far from the truth."""
    of, error = view.dataset, view.dataset.rating - view.truth.compared
    error = error[~np.isnan(error)]
    per_task, per_worker = of.labels_per_task[of.annotated], of.labels_per_worker[of.labels_per_worker > 0]
    rows: dict[str, str | float] = {
        "ratings": of.n_annotations,
        "tasks": of.n_tasks,
        "tasks with ratings": int(of.annotated.sum()),
        "workers": of.n_workers,
        "tasks with gold": int((~np.isnan(of.gold)).sum()),
        "range": f"{of.low:g} to {of.high:g}",
        "ratings per rated task": float(per_task.mean()) if len(per_task) else np.nan,
        "ratings per worker, median": float(np.median(per_worker)) if len(per_worker) else np.nan,
        f"bias against {view.truth.name}": float(error.mean()) if len(error) else np.nan,
        f"mean absolute error against {view.truth.name}": float(np.abs(error).mean()) if len(error) else np.nan,
        f"RMSE against {view.truth.name}": float(np.sqrt((error**2).mean())) if len(error) else np.nan,
    }
    said = [value if isinstance(value, str) else _said(value) for value in rows.values()]
    table = pd.DataFrame({"measure": rows.keys(), "value": said})
    return Exhibit("ratings-summary", "Ratings in numbers", None, table, view.notes)


def _said(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else "–" if np.isnan(value) else f"{value:.4g}"


@cached
def agreement(view: RatingView) -> Exhibit:
    """How well do ratings agree?"""
    found = analysis.rating_agreement(view.dataset)
    notes = (
        f"On {found.tasks:,} tasks with ratings by at least two workers; 95 % intervals from a bootstrap over tasks "
        f"({found.resamples} resamples).",
    )
    table = pd.DataFrame(
        {
            "coefficient": [c.name for c in found.coefficients],
            "value": [c.value for c in found.coefficients],
            "95 % interval": [ends(c.low, c.high, c.state) for c in found.coefficients],
        }
    )
    return Exhibit("ratings-agreement", "Agreement of ratings", None, table, notes)


@cached
def worker_bias(view: RatingView) -> Exhibit:
    """Who rates too high or too low? Bias, spread, scale and error of each worker, with intervals."""
    found = analysis.rating_workers(view.dataset, view.truth)
    notes = (
        *_reference(view),
        "Scale: slope of a worker's ratings on the truth; below 1 the worker avoids the ends of the range.",
        "95 % intervals treat a worker's ratings as independent, and are not corrected for the number of workers: of "
        "workers without any bias, one in 20 has an interval that excludes 0. If a few tasks cause most of the error, "
        "the intervals of correlation and RMSE are too narrow.",
    )
    table = view.in_order(renamed(found, view.workers).frame())
    figure = figures.rating_bias(drawable(found, view.workers))

    def click(number: int) -> dict[str, str]:
        return {"worker": view.workers[number]}

    return Exhibit("ratings-workers", "Bias of each worker", figure, table, notes, click=click)


@cached
def shared_bias(view: RatingView, bins: int = 10) -> Exhibit:
    """Where in the range of the truth does the whole crowd overrate or underrate?

    Args:
        bins: equal parts of the range.
    """
    found = analysis.shared_bias(view.dataset, view.truth, bins)
    notes = (found.sentence(), *_reference(view))
    figure = figures.rating_shared_bias(found)
    return Exhibit("ratings-shared-bias", "Shared bias", figure, found.frame(), notes, click=lambda n: {"part": str(n)})


@cached
def errors_alike(view: RatingView) -> Exhibit:
    """Which workers err alike? Distances, weighted kappa and error correlation of pairs, most alike first."""
    found = analysis.rating_pairs(view.dataset, view.truth)
    table = renamed(found, view.workers).frame().sort_values("error correlation", ascending=False, kind="stable")
    if view.hidden:  # which of two comes first would tell the order of names
        pair = np.sort(table[["worker", "other"]].to_numpy(str), axis=1)
        table[["worker", "other"]] = pair
    figure = figures.rating_errors_alike(drawable(found, view.workers)) if len(table) else None
    notes = ("Pairs with at least 10 common tasks whose truth is known.", *_reference(view))
    if not view.truth.checked:
        notes = (
            "Pairs with at least 10 common tasks. Without gold, errors are relative to the mean of a task's three or "
            "more workers and without each worker's bias; the correlation that this mean gives independent workers is "
            "subtracted. Workers with similar scales err alike, too; with five workers or fewer, one pair of copies "
            "makes others look alike.",
        )
    names = [view.workers[n] for n in pairs_drawn(found)]

    def click(row: int, column: int) -> dict[str, str]:
        return {"worker": names[row], "other": names[column]}

    return Exhibit("ratings-pairs", "Workers who err alike", figure, table, notes, click=click)


@cached
def aggregators(view: RatingView) -> Exhibit:
    """What are the true ratings? Each aggregator's error against gold, where there is gold."""
    of, rows = view.dataset, []
    judged = of.annotated & ~np.isnan(of.gold)
    gold = of.gold[judged]
    for name in aggregation.ratings.names():
        found = aggregation.ratings.get(name).fit(of)
        error = found.rating[judged] - gold
        square = float((error**2).mean()) if judged.any() else np.nan
        variance = float(gold.var()) if judged.any() and np.ptp(gold) > of.rounding else np.nan
        rows.append(
            {
                "method": name,
                "RMSE": np.sqrt(square),
                "MAE": float(np.abs(error).mean()) if judged.any() else np.nan,
                "R²": 1 - square / variance,
                "iterations": len(found.log_likelihood),
            }
        )
    about = f"Against gold of {int(judged.sum()):,} rated tasks." if judged.any() else "There is no gold to judge by."
    return Exhibit("ratings-aggregation", "Aggregated ratings", None, pd.DataFrame(rows), (about,))


def _reference(view: RatingView) -> tuple[str, ...]:
    return (f"Reference: {view.truth.name}.", *((view.truth.note,) if view.truth.note else ()))
