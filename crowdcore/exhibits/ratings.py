"""Ratings: biases of single workers, the bias that all share, and the true ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import aggregation, analysis, figures
from crowdcore.analysis.ratings.workers import RatingSurprise, RatingTruth
from crowdcore.analysis.recovery.planted import rating_biases as compared
from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.exhibits.exhibit import Exhibit, coefficients, escaped
from crowdcore.exhibits.tasks import task_number
from crowdcore.exhibits.view import View, cached, view as make_view, worker_names
from crowdcore.figures.ratings import pairs_drawn
from crowdcore.learning.ratings.result import RatingsResult

RatingView: TypeAlias = View[RatingDataset, RatingTruth]
_LISTED = 5  # workers in a sentence


def rating_view(dataset: RatingDataset, reference: str = "", *, hidden: bool = False) -> RatingView:
    """Make a `view` of ratings."""
    return make_view(dataset, reference, hidden=hidden)


def summary(view: RatingView) -> Exhibit:
    """Counts and range of the ratings, and their error."""
    of, error = view.dataset, view.dataset.rating - view.truth.compared
    error = error[~np.isnan(error)]
    per_task, per_worker = of.labels_per_task[of.annotated], of.labels_per_worker[of.labels_per_worker > 0]
    rows: dict[str, str | float] = {
        "ratings": of.n_annotations,
        "tasks": of.n_tasks,
        "tasks with ratings": int(of.annotated.sum()),
        "workers": of.n_workers,
        "tasks with gold": int(of.known.sum()),
        "range": f"{of.low:g} to {of.high:g}",
        "ratings per rated task": float(per_task.mean()) if len(per_task) else np.nan,
        "ratings per worker, median": float(np.median(per_worker)) if len(per_worker) else np.nan,
        f"bias against {view.truth.name}": float(error.mean()) if len(error) and view.truth.checked else np.nan,
        f"mean absolute error against {view.truth.name}": float(np.abs(error).mean()) if len(error) else np.nan,
        f"RMSE against {view.truth.name}": float(np.sqrt((error**2).mean())) if len(error) else np.nan,
    }
    values = [value if isinstance(value, str) else _formatted(value) for value in rows.values()]
    table = pd.DataFrame({"measure": rows.keys(), "value": values})
    return Exhibit("ratings-summary", "Ratings in numbers", None, table, (*view.notes, *_note(view)))


def _formatted(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else "–" if np.isnan(value) else f"{value:.4g}"


@cached
def agreement(view: RatingView) -> Exhibit:
    """Coefficients of agreement of ratings."""
    stats = analysis.rating_agreement(view.dataset)
    notes = (
        f"On {stats.tasks:,} tasks with ratings by at least two workers; 95 % intervals from a bootstrap over tasks "
        f"({stats.resamples} resamples).",
    )
    return Exhibit("ratings-agreement", "Agreement of ratings", None, coefficients(stats.coefficients), notes)


@cached
def worker_bias(view: RatingView) -> Exhibit:
    """Bias of each worker, with spread, scale and error, and intervals."""
    biases = view.of(analysis.rating_workers)
    notes = (
        *_not_following(view),
        *_reference(view),
        "Scale: slope of a worker's ratings on the truth; below 1 the worker avoids the ends of the range.",
        "95 % intervals treat a worker's ratings as independent, and are not corrected for the number of workers: of "
        "workers without any bias, one in 20 has an interval that excludes 0. If a few tasks cause most of the error, "
        "the intervals of correlation, MAE and RMSE are too narrow.",
    )
    table = view.in_order(view.renamed(biases).frame())
    figure = figures.rating_bias(view.drawable(biases))
    return Exhibit("ratings-workers", "Bias of each worker", figure, table, notes, click=view.to_worker)


@cached
def shared_bias(view: RatingView, bins: int = 10) -> Exhibit:
    """Bias of the whole crowd over the range of the truth.

    Args:
        bins: equal parts of the range.
    """
    bias = view.of(analysis.shared_bias, bins)
    notes, table, figure = (bias.sentence(), *_reference(view)), bias.frame(), None
    if bias.checked:
        figure = figures.rating_shared_bias(bias)
    else:  # errors cancel: only rounding would be shown
        table = table[["truth from", "truth to", "ratings", "tasks", "workers"]]
    return Exhibit("ratings-shared-bias", "Shared bias", figure, table, notes, click=lambda n: {"part": str(n)})


@cached
def errors_alike(view: RatingView) -> Exhibit:
    """Workers who err alike: distance, weighted kappa and error correlation of pairs, most alike first."""
    pairs_of_workers = view.of(analysis.rating_pairs)
    table = view.renamed(pairs_of_workers).frame().sort_values("error correlation", ascending=False, kind="stable")
    if view.hidden:  # the order of two would reveal that of their names
        pair = np.sort(table[["worker", "other"]].to_numpy(str), axis=1)
        table[["worker", "other"]] = pair
    figure = figures.rating_errors_alike(view.drawable(pairs_of_workers)) if len(table) else None
    errors = "An error is what is left beside the worker's own curve over the truth, so like scales are not alike."
    notes = ("Pairs with at least 10 common tasks whose truth is known.", errors, *_reference(view))
    if not view.truth.checked:
        notes = (
            "Pairs with at least 10 common tasks. Without gold, an error is what is left beside the worker's own line "
            "over the weighted mean of a task's three or more workers; the correlation that this mean gives "
            "independent workers is subtracted. One of each group of copies stands for all when others are compared.",
        )
    notes = (*_not_following(view), *notes)
    names = [view.workers[n] for n in pairs_drawn(pairs_of_workers)]

    def click(row: int, column: int) -> dict[str, str]:
        return {"worker": names[row], "other": names[column]}

    return Exhibit("ratings-pairs", "Workers who err alike", figure, table, notes, click=click)


@cached
def aggregators(view: RatingView) -> Exhibit:
    """True ratings by aggregators: each one's error against gold, where there is gold."""
    dataset, rows = view.dataset, []
    judged = dataset.annotated & dataset.known
    gold = dataset.gold[judged]
    for name in aggregation.ratings.names():
        result = aggregation.ratings.get(name).fit(dataset)
        error = result.rating[judged] - gold
        square = float((error**2).mean()) if judged.any() else np.nan
        variance = float(gold.var()) if judged.any() and np.ptp(gold) > dataset.rounding else np.nan
        rows.append(
            {
                "method": name,
                "RMSE": np.sqrt(square),
                "MAE": float(np.abs(error).mean()) if judged.any() else np.nan,
                "R²": 1 - square / variance,
                "iterations": len(result.log_likelihood),
            }
        )
    about = f"Against gold of {int(judged.sum()):,} rated tasks." if judged.any() else "There is no gold to judge by."
    return Exhibit("ratings-aggregation", "Aggregated ratings", None, pd.DataFrame(rows), (about,))


def _not_following(view: RatingView) -> tuple[str, ...]:
    """Sentence about workers who rate alike whatever the task, the other way round, or on a scale of their own."""
    result, dataset = view.of(analysis.rating_workers), view.dataset
    rated = pd.Series(dataset.rating).groupby(dataset.worker).agg(["mean", "std"])
    kinds = result.ignores, result.reverses, result.shrinks, result.unclear
    ignores, reverses, shrinks, unclear = ([*np.flatnonzero(rows)] for rows in kinds)
    words = []
    if ignores:
        listed = _those(ignores, view, lambda r: f"{rated['mean'][r]:.3g} ± {rated['std'][r]:.2g} whatever the task, ")
        words.append(f"{listed} {'does' if len(ignores) == 1 else 'do'} not follow the tasks")
    if reverses:
        verb = "rates" if len(reverses) == 1 else "rate"
        words.append(f"{_those(reverses, view)} {verb} high what is low by {view.truth.name}: the scale may be turned")
    if shrinks:
        verb = "follows" if len(shrinks) == 1 else "follow"
        words.append(f"{_those(shrinks, view)} {verb} the tasks in steps of another size: the range may be another")
    if unclear:
        words.append(f"{_those(unclear, view)} may not follow the tasks: the interval of the scale holds 0")
    return (f"{'; '.join(words)}. The typical scale is {np.nanmedian(result.scale):.2f}.",) if words else ()


def _those(workers: list[int], view: RatingView, about: Callable[[int], str] = lambda _: "") -> str:
    """List some workers by name, each with a remark and the scale."""
    scale = view.of(analysis.rating_workers).scale
    each = [
        f"{view.workers[r]} ({about(r)}scale {scale[r]:z.2f})" for r in sorted(workers, key=view.workers.__getitem__)
    ]
    return ", ".join(each[:_LISTED]) + (f" and {len(each) - _LISTED} more" if len(each) > _LISTED else "")


def _note(view: RatingView) -> tuple[str, ...]:
    return (view.truth.note,) if view.truth.note else ()


def _reference(view: RatingView) -> tuple[str, ...]:
    return (f"Reference: {view.truth.name}.", *_note(view))


Sort: TypeAlias = Literal["surprise", "spread", "error"]
SORTS: Mapping[Sort, str] = {
    "surprise": "The most surprising rating first",
    "spread": "The most disputed first",
    "error": "The mean farthest from the reference first",
}
"""Orders of tasks -> words."""
ESTIMATE = "raykar-em"
"""Aggregator whose ratings, with their intervals, are shown beside the reference."""
LEVEL = 0.01
"""p-value below which a rating is called surprising."""


@dataclass(frozen=True)
class RatedTask:
    """Estimates of one task; NaN where unknown.

    Args:
        reference: its true rating by the reference.
        estimate: its rating by `ESTIMATE`.
        low, high: 95 % interval of the estimate by the model.
        mean, spread: of its ratings.
        n_ratings: number of its ratings.
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
        sort: order of the tasks; ``surprise`` with a worker: by that worker's rating.
        worker: only tasks that this worker rated, with the worker's rating.
        other: only tasks that this worker rated, too.

    Raises:
        SettingError: no such worker.
    """
    dataset, surprise = view.dataset, view.of(analysis.rating_surprise)
    mean, spread = _moments(dataset)
    table = pd.DataFrame(
        {
            "task": np.asarray(dataset.task_ids),
            view.truth.name: view.truth.rating,
            "mean rating": mean,
            **({} if view.truth.name == "mean" else {f"mean − {view.truth.name}": mean - view.truth.rating}),
            "spread of ratings": spread,
            "ratings": dataset.labels_per_task,
            "smallest p": _smallest(dataset, surprise.p_value),
        }
    )
    keep = dataset.annotated.copy()
    for name in filter(None, dict.fromkeys((worker, other))):
        rows = _rows(view, name)
        keep &= np.bincount(dataset.task[rows], minlength=dataset.n_tasks) > 0
        p, given = np.full((2, dataset.n_tasks), np.nan)
        given[dataset.task[rows]], p[dataset.task[rows]] = dataset.rating[rows], surprise.p_value[rows]
        table.insert(1, f"rating of {name}", given)
        if name == worker:
            table["its p value"] = p
    by = {"surprise": "its p value" if worker else "smallest p", "spread": "spread of ratings"}.get(sort)
    key = (mean - view.truth.rating if by is None else table[by].to_numpy())[keep]
    table = table[keep].iloc[np.argsort(key if sort == "surprise" else -np.abs(key), kind="stable")]
    return Exhibit("rated-tasks", SORTS[sort], None, table, _words(view, surprise), click=view.to_task)


def rated_task(view: RatingView, task: str) -> RatedTask:
    """Numbers of one task.

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
    """Ratings of one task by all workers, beside their usual biases; index = worker number.

    Raises:
        DataError: no such task.
    """
    dataset, number = view.dataset, task_number(view.dataset, task)
    surprise, of = view.of(analysis.rating_surprise), rated_task(view, task)
    rows = slice(*dataset.task_start[number : number + 2])
    worker = dataset.worker[rows]
    table = pd.DataFrame(
        {
            "worker": view.names_of(worker),
            "rating": dataset.rating[rows],
            f"rating − {view.truth.name}": surprise.error[rows],
            "usual bias": surprise.usual[rows],
            "without it": np.clip(dataset.rating[rows] - surprise.usual[rows], dataset.low, dataset.high),
            "p value": surprise.p_value[rows],
            "surprising": np.where(surprise.p_value[rows] < LEVEL, "yes", ""),
        },
        index=worker,
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
    notes = (_about_interval(dataset), *_words(view, surprise), *others, *_note(view))
    click = {int(n): {"task": "", "worker": view.workers[n], "other": ""} for n in worker}
    return Exhibit(f"{task}-ratings", f"Ratings of {task}", figure, table, notes, click=lambda n: click[n])


def _rows(view: RatingView, worker: str) -> BoolArray:
    """(n_annotations,) ratings of a worker, by the shown name."""
    return np.asarray(view.dataset.worker == view.worker_number(worker))


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

    fit = get(ESTIMATE).fit(dataset)
    assert fit.sd is not None
    low, high = (np.clip(fit.rating + sign * 1.96 * fit.sd, dataset.low, dataset.high) for sign in (-1, 1))
    return fit.rating, low, high


def _about_interval(dataset: RatingDataset) -> str:
    """Sentences about the bias that intervals leave out, and their coverage of gold where it is known."""
    _, low, high = _estimates(dataset)
    known = dataset.annotated & dataset.known
    words = f"The 95 % interval of {ESTIMATE} is the model's; it does not include a bias that all workers share."
    if not known.any():
        return words
    share = float(((dataset.gold >= low) & (dataset.gold <= high))[known].mean())
    return f"{words} Of the {known.sum():,} rated tasks with gold, such intervals contain gold in {100 * share:.1f} %."


def _words(view: RatingView, surprise: RatingSurprise) -> tuple[str, ...]:
    tested = ~np.isnan(surprise.p_value)
    small = int((surprise.p_value[tested] < LEVEL).sum())
    return (
        f"p value: the probability of such a distance from {view.truth.name}, given the errors of the worker's other "
        f"ratings. Below {LEVEL:g} a rating is called surprising: {small:,} of {tested.sum():,} ratings are, where "
        f"chance alone would give {LEVEL * tested.sum():,.0f}.",
    )


def _smallest(dataset: RatingDataset, p: FloatArray) -> FloatArray:
    """(n_tasks,) smallest p-value of each task's ratings, NaN without any."""
    least = np.full(dataset.n_tasks, np.inf)
    known = ~np.isnan(p)
    np.minimum.at(least, dataset.task[known], p[known])
    return np.where(np.isinf(least), np.nan, least)


def rating_biases(
    dataset: RatingDataset,
    result: RatingsResult,
    *,
    at: Literal["selected", "last"] = "selected",
    least: int = 10,
    hidden: bool = False,
) -> Exhibit:
    """Biases of the workers, learnt and true, as a figure and a table.

    Args:
        dataset: of the training, with gold.
        result: of a method that learns biases.
        at: epoch of the biases.
        least: ratings of tasks with gold from which a worker is drawn and counts in the correlation.
        hidden: pseudonyms instead of worker ids.

    Raises:
        DataError: the method learns no biases, the data are others, or no rated task has gold.
    """
    if result.fingerprint != dataset.fingerprint:
        raise DataError(f"The run was trained on other data than the present {dataset.name}", "Train again.")
    learnt = result.workers[at].get("bias")
    if learnt is None:
        raise DataError(f"{result.title} learns no biases of workers", "Train crowd-layer with connection=b.")
    bias = compared(dataset, learnt, least)
    names = pd.Index(worker_names(dataset, hidden))
    about = f"{result.title} on {dataset.name}"
    drawn = figures.rating_biases(replace(bias, worker_ids=pd.Index(map(escaped, names))), subtitle=escaped(about))
    table = replace(bias, worker_ids=names).frame()
    spread = ", ".join(f"{r:z.3f}" for r in bias.correlation)
    notes = (
        f"Pearson's r over workers with {least} ratings or more: {bias.mean_correlation:z.3f} of the mean over seeds; "
        f"by seed {spread}.",
        "Learnt bias: how far a worker's ratings lie above the network's on average over the training tasks.",
    )
    return Exhibit("rating-biases", f"Learnt and true biases: {about}", drawn, table.reset_index(drop=True), notes)
