"""A dataset at a glance: counts, noise, balance, agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.reference import note_on_confidence, note_on_inferred, notes_on_unjudged
from crowdcore.exhibits.exhibit import Exhibit, coefficients
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    from crowdcore.analysis import Check, Rules


def overview(view: View) -> Exhibit:
    """Counts and noise rates, one a row."""
    stats = view.of(analysis.summary)
    numbers = {
        "tasks": stats.n_tasks,
        "tasks labelled": stats.n_annotated,
        "workers": stats.n_active,
        "annotations": stats.n_annotations,
        "classes": stats.n_classes,
        "labels per task": stats.n_annotations / max(stats.n_annotated, 1),
        "wrong annotations": stats.noise.wrong_annotations,
        "tasks nobody got right": stats.noise.tasks_without_truth,
        "mean worker accuracy": stats.worker_accuracy,
        "majority vote is right": stats.majority_vote_accuracy,
    }
    table = pd.DataFrame({"what": list(numbers), "value": [float(v) for v in numbers.values()]})
    about = filter(None, (note_on_inferred(view.truth), note_on_confidence(view.dataset, view.truth)))
    notes = (*view.notes, *about, *notes_on_unjudged(view.dataset, view.truth))
    return Exhibit("overview", f"At a glance (reference: {view.reference})", None, table, notes)


@cached
def annotations_per_worker(view: View) -> Exhibit:
    """Labels by each worker; index of the table = worker number, most first."""
    total = view.dataset.labels_per_worker
    order = np.argsort(-total, kind="stable")
    table = pd.DataFrame({"worker": view.names_of(order), "annotations": total[order]}, index=order)
    figure = figures.labels_per_worker(view.drawable(view.of(analysis.summary)))
    return Exhibit("annotations-per-worker", "Annotations per worker", figure, table)


@cached
def annotations_per_task(view: View) -> Exhibit:
    """Number of tasks with 0, 1, 2, … labels."""
    stats = view.of(analysis.summary)
    tasks = stats.tasks_by_annotations
    table = pd.DataFrame({"annotations": np.arange(len(tasks)), "tasks": tasks})
    return Exhibit("annotations-per-task", "Annotations per task", figures.labels_per_task(view.drawable(stats)), table)


@cached
def class_balance(view: View) -> Exhibit:
    """Share of each class among true classes and among given labels."""
    figure = figures.class_balance(view.drawable(view.of(analysis.summary).balance))
    return Exhibit("class-balance", "Class balance", figure, class_table(view).table)


@cached
def annotation_entropy(view: View) -> Exhibit:
    """Entropy of the labels that the tasks of each class get, in nats."""
    figure = figures.annotation_entropy(view.drawable(view.of(analysis.summary).entropy))
    return Exhibit("annotation-entropy", "Entropy of the labels of each class", figure, class_table(view).table)


def class_table(view: View) -> Exhibit:
    """Shares of each class among true and given labels, and the entropy of the labels of its tasks."""
    stats = view.of(analysis.summary)
    balance = stats.balance.frame().round({"tasks": 1})  # expected numbers have decimals
    table = balance.assign(**{"entropy (nats)": stats.entropy.entropy})
    return Exhibit("classes", "Classes", None, table)


@cached
def agreement(view: View) -> Exhibit:
    """Agreement of workers: each coefficient with its interval."""
    coefficients = cached(analysis.agreement)(view.dataset)
    alt = "Agreement coefficients with their intervals"
    notes = (coefficients.sentence,) if coefficients.sentence else ()
    figure = figures.agreement(view.drawable(coefficients))
    return Exhibit("agreement", "Agreement between workers", figure, coefficients.frame(), notes, alt)


def agreement_coefficients(view: View) -> Exhibit:
    """Coefficient, value, 95 % interval and the overlap it rests on."""
    agreement = cached(analysis.agreement)(view.dataset)
    table = coefficients(agreement.coefficients).assign(tasks=[c.tasks for c in agreement.coefficients])
    notes = (agreement.sentence,) if agreement.sentence else ()
    return Exhibit("agreement-coefficients", "Agreement between workers", None, table, notes)


def check(view: View, rules: str = "") -> Exhibit:
    """Verdict on every rule: pass, fail, or underpowered.

    Args:
        rules: a file of rules; default: all rules at recommended limits.
    """
    report = checked(view, analysis.read_rules(rules) if rules else None)
    return Exhibit("check", f"Rules (reference: {view.reference})", None, report.frame())


@cached
def checked(view: View, rules: Rules | None = None) -> Check:
    """Check of the rules, with the view's names of workers."""
    return view.renamed(analysis.check(view.dataset, rules, reference=view.truth))
