"""Tasks with ratings: which to look at, and what the workers said about one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.ratings.workers import RatingSurprise
from crowdcore.core.drawable import escaped
from crowdcore.core.errors import DataError, did_you_mean
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.ratings import RatingView
from crowdcore.exhibits.tasks import task_number
from crowdcore.exhibits.view import cached

Sort: TypeAlias = Literal["surprise", "spread", "error"]
SORTS: Mapping[Sort, str] = {
    "surprise": "The most surprising rating first",
    "spread": "The most disputed first",
    "error": "The mean farthest from the reference first",
}
"""In which order, in words."""
ESTIMATE = "raykar-em"
"""The aggregator whose ratings, with their intervals, stand beside the reference."""
LEVEL = 0.01
"""A rating whose p-value is below is called surprising."""


@dataclass(frozen=True)
class RatedTask:
    """What is said of one task; NaN: nothing.

    Args:
        reference: what is taken for its true rating.
        estimate: the rating that `ESTIMATE` infers.
        low, high: its 95 % interval by the model.
        mean, spread: of its ratings.
        n_ratings: how many it has.
    """

    reference: float
    estimate: float
    low: float
    high: float
    mean: float
    spread: float
    n_ratings: int


def rated_tasks(view: RatingView, sort: Sort = "surprise", worker: str = "", other: str = "") -> Exhibit:
    """Tasks with ratings; index = task number.

    Args:
        view: whose tasks.
        sort: in which order; those of one worker, where ``surprise``, by that worker's rating.
        worker: only those that this worker rated, and what it said.
        other: only those that this worker rated, too.

    Raises:
        DataError: no such worker.
    """
    dataset, found = view.dataset, cached(analysis.rating_surprise)(view.dataset, view.truth)
    mean, spread = _moments(dataset)
    table = pd.DataFrame(
        {
            "task": np.asarray(dataset.task_ids),
            view.truth.name: view.truth.rating,
            "mean rating": mean,
            **({} if view.truth.name == "mean" else {f"mean − {view.truth.name}": mean - view.truth.rating}),
            "spread of ratings": spread,
            "ratings": dataset.labels_per_task,
            "smallest p": _smallest(dataset, found.p_value),
        }
    )
    keep = dataset.annotated.copy()
    for name in filter(None, dict.fromkeys((worker, other))):
        rows = _rows(view, name)
        keep &= np.bincount(dataset.task[rows], minlength=dataset.n_tasks) > 0
        p, given = np.full((2, dataset.n_tasks), np.nan)
        given[dataset.task[rows]], p[dataset.task[rows]] = dataset.rating[rows], found.p_value[rows]
        table.insert(1, f"rating of {name}", given)
        if name == worker:
            table["its p value"] = p
    by = {"surprise": "its p value" if worker else "smallest p", "spread": "spread of ratings"}.get(sort)
    key = (mean - view.truth.rating if by is None else table[by].to_numpy())[keep]
    table = table[keep].iloc[np.argsort(key if sort == "surprise" else -np.abs(key), kind="stable")]

    def click(number: int) -> dict[str, str]:
        return {"task": str(dataset.task_ids[number])}

    return Exhibit("rated-tasks", SORTS[sort], None, table, _words(view, found), click=click)


def rated_task(view: RatingView, task: str) -> RatedTask:
    """One task in numbers.

    Raises:
        DataError: no such task.
    """
    dataset, number = view.dataset, task_number(view.dataset, task)
    estimate, low, high = (float(values[number]) for values in _estimates(dataset))
    mean, spread = (float(values[number]) for values in _moments(dataset))
    n = int(dataset.labels_per_task[number])
    return RatedTask(float(view.truth.rating[number]), estimate, low, high, mean, spread, n)


@cached
def task_ratings(view: RatingView, task: str) -> Exhibit:
    """Every worker's rating of one task, beside what this worker is usually off by; index = worker number.

    Raises:
        DataError: no such task.
    """
    dataset, number = view.dataset, task_number(view.dataset, task)
    found, of = cached(analysis.rating_surprise)(dataset, view.truth), rated_task(view, task)
    rows = slice(*dataset.task_start[number : number + 2])
    who = dataset.worker[rows]
    table = pd.DataFrame(
        {
            "worker": np.array(view.workers, object)[who],
            "rating": dataset.rating[rows],
            f"rating − {view.truth.name}": found.error[rows],
            "usual bias": found.usual[rows],
            "without it": np.clip(dataset.rating[rows] - found.usual[rows], dataset.low, dataset.high),
            "p value": found.p_value[rows],
            "surprising": np.where(found.p_value[rows] < LEVEL, "yes", ""),
        },
        index=who,
    )
    if dataset.file_row is not None:
        table["row of the file"] = dataset.file_row[rows]
    table = view.in_order(table)
    drawn = table.assign(worker=[escaped(name) for name in table["worker"]])
    figure = None
    if len(table):
        figure = figures.task_ratings(
            drawn,
            (dataset.low, dataset.high),
            of.reference,
            (of.estimate, of.low, of.high),
            reference=view.truth.name,
            estimated_by=ESTIMATE,
            title=f"Ratings of {escaped(task)}",
        )
        if dataset.levels:
            at = np.linspace(dataset.low, dataset.high, len(dataset.levels))
            figure.update_xaxes(tickvals=at, ticktext=[escaped(word) for word in dataset.levels])
    others = ("Each rating is compared with the mean of the others of its task.",) * (view.truth.name == "mean")
    notes = (_held(dataset), *_words(view, found), *others, *((view.truth.note,) if view.truth.note else ()))
    click = {int(n): {"task": "", "worker": view.workers[n], "other": ""} for n in who}
    return Exhibit(f"{task}-ratings", f"Ratings of {task}", figure, table, notes, click=lambda n: click[n])


def _rows(view: RatingView, worker: str) -> BoolArray:
    """(n_annotations,) the ratings of a worker, by the name that is shown."""
    if worker not in view.workers:
        remedy = f"{did_you_mean(worker, view.workers)}Workers are called {', '.join(view.workers[:3])} …"
        raise DataError(f"{view.dataset.name} has no worker {worker!r}", remedy)
    return np.asarray(view.dataset.worker == view.workers.index(worker))


@cached
def _moments(dataset: RatingDataset) -> tuple[FloatArray, FloatArray]:
    """(n_tasks,) mean and standard deviation of each task's ratings."""
    n, of = dataset.labels_per_task.astype(float), (dataset.task, dataset.n_tasks)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(of[0], dataset.rating, of[1]) / n
        squares = np.bincount(of[0], (dataset.rating - mean[dataset.task]) ** 2, of[1])
        return mean, np.sqrt(squares / np.where(n > 1, n - 1, np.nan))


@cached
def _estimates(dataset: RatingDataset) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n_tasks,) inferred ratings and the ends of their 95 % intervals, within the range."""
    from crowdcore.aggregation.ratings import get

    found = get(ESTIMATE).fit(dataset)
    assert found.sd is not None
    low, high = (np.clip(found.rating + sign * 1.96 * found.sd, dataset.low, dataset.high) for sign in (-1, 1))
    return found.rating, low, high


def _held(dataset: RatingDataset) -> str:
    """What the intervals leave out, and how often they hold gold where it is known."""
    _, low, high = _estimates(dataset)
    known = dataset.annotated & ~np.isnan(dataset.gold)
    words = f"The 95 % interval of {ESTIMATE} is the model's; it does not include a bias that all workers share."
    if not known.any():
        return words
    share = float(((dataset.gold >= low) & (dataset.gold <= high))[known].mean())
    return f"{words} Of the {known.sum():,} rated tasks with gold, such intervals contain gold in {100 * share:.1f} %."


def _words(view: RatingView, found: RatingSurprise) -> tuple[str, ...]:
    tested = ~np.isnan(found.p_value)
    small = int((found.p_value[tested] < LEVEL).sum())
    return (
        f"p value: the probability of such a distance from {view.truth.name}, given the errors of the worker's other "
        f"ratings. Below {LEVEL:g} a rating is called surprising: {small:,} of {tested.sum():,} ratings are, where "
        f"chance alone would give {LEVEL * tested.sum():,.0f}.",
    )


def _smallest(dataset: RatingDataset, p: FloatArray) -> FloatArray:
    """(n_tasks,) the smallest p-value of each task's ratings, NaN where none has any."""
    least = np.full(dataset.n_tasks, np.inf)
    known = ~np.isnan(p)
    np.minimum.at(least, dataset.task[known], p[known])
    return np.where(np.isinf(least), np.nan, least)
