"""Fits of aggregators side by side: their labels and confusions, their quality and their differences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.aggregation._confidence import confidence, flattened
from crowdcore.analysis import Reference
from crowdcore.analysis.labels.disagreement import p_in_words
from crowdcore.analysis.method_tests import LEVEL
from crowdcore.core.errors import DataError
from crowdcore.data.report import plural
from crowdcore.data.tags import scheme_of
from crowdcore.exhibits.exhibit import Exhibit, cells, escaped
from crowdcore.exhibits.fits import SUGGESTED, describe_intervals, fitted, read_fit, sampled, shown_gold
from crowdcore.exhibits.view import View, cached, named

if TYPE_CHECKING:
    from crowdcore.aggregation import AggregationResult
    from crowdcore.analysis import Calibration, Judgement, LabelDisagreement, ReferenceLike, TaggingScores
    from crowdcore.core.types import FloatArray, IntArray
    from crowdcore.data.dataset import CrowdDataset


GOLD = "gold"
Fits = tuple[str, ...]


@cached
def judgement(dataset: CrowdDataset, fit: str) -> Judgement:
    """Accuracy, calibration error and warnings of a fit, by gold hidden from it."""
    known, judging = shown_gold(dataset, read_fit(fit)[2])
    return analysis.judge(dataset, fitted(dataset, fit), judging, known=known)


@cached
def probabilities(dataset: CrowdDataset, fit: str) -> FloatArray:
    """(n_tasks, C) probabilities of a fit, tempered if it is too sure, by gold hidden from it or without gold."""
    result, (known, judging) = fitted(dataset, fit), shown_gold(dataset, read_fit(fit)[2])
    sure = confidence(dataset, result, judging, known=known)
    if sure is None or not sure.too_sure:
        return result.posterior
    return flattened(result.posterior, dataset.annotated & (known < 0), sure.right)


@cached
def span_judgement(dataset: CrowdDataset, fit: str) -> TaggingScores:
    """Precision, recall and F1 of the spans in a fit's labels, by gold hidden from it."""
    hidden = Reference(GOLD, shown_gold(dataset, read_fit(fit)[2])[1])
    return analysis.tagging_scores(dataset, fitted(dataset, fit).labels, hidden)


@cached
def aggregators(view: View, fits: tuple[str, ...] = SUGGESTED) -> Exhibit:
    """Aggregators side by side: accuracy, of tags also that of spans, calibration error, objective, time, warnings.

    ``gained`` and ``lost`` are the tasks that the fit alone, or majority vote alone, has right.

    Args:
        fits: names of fits, such as ``dawid-skene smoothing=0.1``.
    """
    results = [fitted(view.dataset, fit) for fit in fits]
    judged = [judgement(view.dataset, fit) for fit in fits]
    columns: dict[str, Any] = {"method": fits}
    most = max(j.n_judged for j in judged)
    if most:
        columns["accuracy"] = [j.accuracy for j in judged]
        columns["gained"] = [j.gained for j in judged]
        columns["lost"] = [j.lost for j in judged]
        columns["calibration error"] = [j.calibration_error for j in judged]
        note = (
            f"Accuracy on the {most:,} task{'' if most == 1 else 's'} with hidden gold. Gained / lost: tasks right "
            "here but wrong by majority vote, and the reverse. Log-likelihoods of different models are not comparable."
        )
    else:
        note = "No gold that the methods were not given: accuracy and calibration cannot be measured."
    if most and scheme_of(view.dataset) is not None:
        spans = [span_judgement(view.dataset, fit) for fit in fits]
        columns |= {name: [getattr(s, name) for s in spans] for name in ("precision", "recall", "f1")}
        note += " Precision, recall and F1 are of the spans that the labels make."
    columns["log-likelihood"] = [f.log_likelihood[-1] if len(f.log_likelihood) else np.nan for f in results]
    columns["iterations"] = pd.array([len(f.log_likelihood) or None for f in results], "Int64")
    columns["seconds"] = [f.seconds for f in results]
    columns["converged"] = pd.array([f.converged for f in results], "boolean")
    columns["stopped"] = [f.stopped for f in results]
    columns["warnings"] = [" ".join(j.warnings) for j in judged]

    def click(row: int) -> dict[str, str]:
        return {"result": fits[row]}

    return Exhibit("aggregators", "Aggregators", None, pd.DataFrame(columns), (note,), click=click)


@cached
def disagreement(dataset: CrowdDataset, fits: Fits) -> LabelDisagreement:
    """Differences between fits in pairs; gold comes first, if some is hidden from all."""
    judging = _judging(dataset, fits)
    gold = {GOLD: Reference(GOLD, judging)} if (judging >= 0).any() else {}
    return analysis.label_disagreement(dataset, gold | {fit: named(dataset, fit) for fit in fits}, judging)


@cached
def label_disagreement(view: View, fits: tuple[str, ...] = SUGGESTED) -> Exhibit:
    """Share of tasks that each pair of aggregators labels differently, gold among them."""
    pairs = disagreement(view.dataset, fits)
    figure = figures.label_disagreement(view.drawable(pairs))

    def click(row: int, column: int) -> dict[str, str]:
        return {"first": pairs.names[row], "second": pairs.names[column]}

    alt = "Share of tasks that each pair of aggregators labels differently"
    return Exhibit("label-disagreement", "Where the labels differ", figure, pairs.frame(), (), alt, click)


def most_different(pairs: LabelDisagreement) -> tuple[int, int]:
    """Return the two fits that differ on most tasks; gold is one of them only beside a single fit."""
    first = 1 if pairs.names[0] == GOLD and len(pairs.names) > 2 else 0
    differ = np.triu(pairs.differ[first:, first:], 1)
    one, other = np.unravel_index(int(differ.argmax()), differ.shape) if differ.any() else (0, 1)
    return int(one) + first, int(other) + first


def pair_in_words(pairs: LabelDisagreement, first: int, second: int) -> str:
    """Sentence about which of two is right more often where they differ, as far as gold tells."""
    names = pairs.names
    if GOLD in (names[first], names[second]):
        return "Tasks that the method has wrong, most confident first."
    if not (pairs.n_judged[first] and pairs.n_judged[second]):
        return "Tasks are listed most confident first."
    one, other, p = (table[first, second] for table in (pairs.row_right, pairs.row_right.T, pairs.p_value))
    verdict = "" if p != p else f" Such a gap is {'' if p <= LEVEL else 'not '}significant ({p_in_words(p)})."
    right = f"By gold, the first is right on {one:,} of them, the second on {other:,}."
    return f"{right}{verdict} Tasks are listed most confident first."


@cached
def differing_tasks(view: View, first: str, second: str, fits: tuple[str, ...] = ()) -> Exhibit:
    """The tasks that two fits (or a fit and gold) label differently, most confident first; index = task number.

    Args:
        first: a fit, or gold.
        second: another one.
        fits: all compared fits: gold shown to any of them does not judge; default: the two.
    """
    dataset, both = view.dataset, (first, second)
    judging = _judging(dataset, fits or tuple(name for name in both if name != GOLD))
    one, other = (
        Reference(GOLD, judging)
        if name == GOLD
        else replace(named(dataset, name), posterior=probabilities(dataset, name))
        for name in both
    )
    table = difference_table(dataset, both, (one, other), judging)
    numbers = disagreement(dataset, fits or tuple(name for name in both if name != GOLD))
    words = pair_in_words(numbers, numbers.names.index(first), numbers.names.index(second))
    return Exhibit(f"{first}-or-{second}", f"Tasks where {first} and {second} differ", None, table, (words,))


def difference_table(
    dataset: CrowdDataset, names: tuple[str, str], two: tuple[ReferenceLike, ReferenceLike], gold: IntArray
) -> pd.DataFrame:
    """Tasks that two labellings, one of which may be gold, label differently; without empty columns."""
    table = analysis.label_difference(dataset, *two, gold)
    sure = [f"{side}_probability" for side, name in zip(("first", "second"), names, strict=True) if name == GOLD]
    return table.drop(columns=[GOLD, *sure] if sure or not (gold >= 0).any() else [])


@cached
def aggregator_calibration(view: View, fits: tuple[str, ...] = SUGGESTED) -> Exhibit | None:
    """Reliability curves of aggregators: share of right labels by probability. None where no gold judges them."""
    judging = _judging(view.dataset, fits)
    if not (judging >= 0).any():
        return None
    curves: dict[str, Calibration] = {fit: analysis.calibration(fitted(view.dataset, fit), judging) for fit in fits}
    figure = figures.calibration({escaped(fit): curve for fit, curve in curves.items()})
    table = pd.concat([curve.frame().assign(method=fit) for fit, curve in curves.items()], ignore_index=True)
    alt = "Share of right labels by their probability, one curve per aggregator"
    return Exhibit("calibration", "Calibration", figure, table[["method", *table.columns.drop("method")]], (), alt)


@cached
def objective(view: View, fits: tuple[str, ...] = SUGGESTED, gap: bool = True) -> Exhibit | None:
    """The objective of each fit by iteration, or its distance to the end; None where no fit has one."""
    results = {fit: fitted(view.dataset, fit) for fit in fits}
    values = {fit: result.log_likelihood for fit, result in results.items()}
    if not any(len(v) for v in values.values()):
        return None
    shown = {escaped(fit): result for fit, result in results.items()}
    figure = figures.log_likelihood(shown, view.dataset.n_annotations, gap=gap)
    table = pd.DataFrame(
        {
            "method": np.repeat(list(values), [len(v) for v in values.values()]),
            "iteration": np.concatenate([np.arange(1, len(v) + 1) for v in values.values()]),
            "log_likelihood": np.concatenate(list(values.values())),
        }
    )
    return Exhibit(
        "objective", "Objective by iteration", figure, table, (), "Objective by iteration, one curve per aggregator"
    )


def _judging(dataset: CrowdDataset, fits: Fits) -> IntArray:
    """Gold hidden from all fits; a larger percentage of shown gold contains the smaller ones."""
    return shown_gold(dataset, max(read_fit(fit)[2] for fit in fits))[1]


SAMPLED = "dawid-skene"
"""The fit whose intervals are drawn together with the true labels."""


def common_names(dataset: CrowdDataset, fit: str) -> list[str]:
    """Names of the common confusions of a fit."""
    common = fitted(dataset, fit).common_confusion
    if common is None:
        return []
    return ["Common"] if common.ndim == 2 else [f"Common of group {g + 1}" for g in range(len(common))]


@cached
def fit_common_confusion(view: View, fit: str, group: int = 0) -> Exhibit:
    """Common confusion of the workers by an aggregator.

    Args:
        fit: name of the fit.
        group: number of the group, from 0, where the fit has several.

    Raises:
        DataError: the method estimates none.
    """
    names, confusions = common_names(view.dataset, fit), fitted(view.dataset, fit).common_confusion
    if confusions is None:
        raise DataError(f"{fit} estimates no common confusion", "Choose another method, such as conal-em.")
    common = confusions if confusions.ndim == 2 else confusions[group]
    classes = [escaped(c) for c in view.classes]
    figure = figures.confusion(common, classes, title="Common confusion", subtitle=escaped(fit))
    table = cells(view.classes, percent=100 * common)
    return Exhibit(f"{fit}-{names[group]}", names[group], figure, table, (), "The confusion that workers share")


@cached
def fit_worker_confusion(view: View, fit: str, worker: str) -> Exhibit:
    """Confusion of a worker by an aggregator, each cell with a credible interval.

    Args:
        fit: name of the fit.
        worker: name of the worker.

    Raises:
        DataError: the method estimates none.
    """
    number, result = view.worker_number(worker), fitted(view.dataset, fit)
    if result.counts is None or result.confusion is None:
        raise DataError(f"{fit} estimates no confusions", "Choose another method, such as dawid-skene.")
    counts = result.counts[number]
    one = replace(result, counts=result.counts[[number]], confusion=result.confusion[[number]])
    intervals = analysis.credible_intervals(one)
    if fit == SAMPLED:
        every = sampled(view.dataset)
        intervals = replace(every, **{name: getattr(every, name)[[number]] for name in ("estimate", "low", "high")})
    figure = figures.confusion_intervals(
        replace(intervals, reference=escaped(fit)),
        0,
        [escaped(c) for c in view.classes],
        counts,
        title=f"{escaped(worker)} ({plural(view.dataset.labels_per_worker[number], 'label')})",
    )
    true, given = np.nonzero(np.isfinite(intervals.estimate[0]))
    names = np.array(view.classes, object)
    table = pd.DataFrame(
        {
            "true": names[true],
            "given": names[given],
            "percent": 100 * intervals.estimate[0, true, given],
            "low": 100 * intervals.low[0, true, given],
            "high": 100 * intervals.high[0, true, given],
            "expected labels": counts[true, given],
        }
    )
    alt = "One worker's confusion with credible intervals"
    return Exhibit(f"{fit}-{worker}", worker, figure, table, (describe_intervals(intervals),), alt)


def estimates_difficulty(dataset: CrowdDataset, fit: str) -> bool:
    """Return whether a fit estimates how hard each task is."""
    return fitted(dataset, fit).difficulty is not None


def of_tasks(fit: str) -> str:
    """Explain a fit's difficulties and foils in a sentence."""
    from crowdcore import aggregation

    return aggregation.aggregators.find(read_fit(fit)[0]).of_tasks


def with_difficulty(view: View, fit: AggregationResult | Reference, tasks: IntArray) -> dict[str, Any]:
    """Columns ``difficulty`` and ``foil`` of some tasks (n,), if the fit estimates them."""
    columns: dict[str, Any] = {}
    if fit.difficulty is not None:
        columns["difficulty"] = fit.difficulty[tasks]
    if fit.foil is not None:
        columns["foil"] = np.array([*view.classes, None], object)[fit.foil[tasks]]
    return columns


@cached
def hard_tasks(view: View, fit: str) -> Exhibit:
    """Tasks by a fit's difficulty, hardest first, and the class that each misleads to; index = task number.

    Args:
        fit: name of the fit.

    Raises:
        DataError: the method estimates no difficulties.
    """
    dataset, result = view.dataset, fitted(view.dataset, fit)
    if result.difficulty is None:
        raise DataError(f"{fit} estimates no difficulties", "Choose another method, such as item-response.")
    known = np.flatnonzero(dataset.annotated)
    known = known[np.argsort(-result.difficulty[known], kind="stable")]
    table = pd.DataFrame(
        {
            "task": dataset.task_ids[known],
            "label": np.array(view.classes, object)[result.labels[known]],
            "probability": probabilities(dataset, fit)[known].max(1),
            **with_difficulty(view, result, known),
        },
        index=known,
    )
    return Exhibit(f"{fit}-tasks", "Hard tasks", None, table, (of_tasks(fit),))
