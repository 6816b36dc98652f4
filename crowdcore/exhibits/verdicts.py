"""Verdicts on every worker and task with their reasons, and the actions that follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.mistakes.significance import guideline_cells as cells_of, guideline_mistakes
from crowdcore.analysis.statistics import holm
from crowdcore.analysis.verdicts import (
    CONFUSED as CONFUSED,
    LEVEL as LEVEL,
    REMOVE as REMOVE,
    SURE as SURE,
    TRUST as TRUST,
)
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.tasks import REASONS, TASK_VERDICTS
from crowdcore.analysis.verdicts.workers import WORKER_VERDICTS
from crowdcore.analysis.workers.lean import places
from crowdcore.data.report import UNNAMED, plural
from crowdcore.exhibits.exhibit import Exhibit, cell_of
from crowdcore.exhibits.tasks import tasks_judged, with_context, with_words
from crowdcore.exhibits.view import View, cached, copy_evidence
from crowdcore.exhibits.worker_words import (
    SharedConfusion,
    changes_without,
    how_sure,
    in_crowds,
    leans_in_words,
    reasons,
)

if TYPE_CHECKING:
    from crowdcore.analysis import SharedMistakes, WorkerVerdicts
    from crowdcore.analysis.mistakes.significance import GuidelineMistakes
    from crowdcore.core.types import BoolArray

POSSIBLE = 0.2
"""Corrected p-value, the share of honest crowds with one, up to which a possible fall is on the list of actions."""
_AGAIN = 3  # labels from which a worker's part in a common confusion is named


@cached
def workers_judged(
    view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED
) -> WorkerVerdicts:
    """Verdicts on workers at these thresholds; their evidence and pairs are computed once."""
    pairs = copy_evidence(view) if view.dataset.sentences is None else None
    evidence = view.of(analysis.worker_evidence, pairs, view.of(peer_beliefs), repeated(view), level=LEVEL)
    return evidence.verdicts(remove=remove, trust=trust, confused=confused)


@cached
def verdicts(
    view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED, sure: float = SURE
) -> Exhibit:
    """Number of workers and tasks with each verdict.

    Args:
        remove: share of the typical worker's skill below which a worker is removed.
        trust: share of the typical skill above which a worker is trusted.
        confused: share of a class from which a confusion is worth training.
        sure: probability from which a task's label is taken.
    """
    workers, tasks = workers_judged(view, remove, trust, confused), tasks_judged(view, sure)
    rows: list[tuple[str, str, int, str]] = []
    rows += [("worker", name, int((workers.verdict == name).sum()), words) for name, words in WORKER_VERDICTS.items()]
    rows += [("task", name, int((tasks.verdict == name).sum()), words) for name, words in TASK_VERDICTS.items()]
    table = pd.DataFrame(rows, columns=["of", "verdict", "number", "meaning"])
    judged, noun = (tasks.gold >= 0) & (tasks.label >= 0), view.dataset.task_noun
    against, labelled = (judged & (tasks.label != tasks.gold)).sum(), (tasks.n_annotations > 0).sum()
    doubted, wrong = int((tasks.verdict == "check").sum()), tasks.in_doubt
    wrong_labels = (
        f"Together, the workers contradict {view.reference} on {against:,} of {plural(judged.sum(), noun)}"
        f"{f', on {doubted:,} of them more than their known mistakes explain: look at those' if doubted else ''}."
        if view.truth.checked
        else f"About {wrong:,.0f} of {plural(labelled, 'label')} are expected to be wrong. Mistakes that most workers "
        f"of a {noun} make come on top: without gold they look right; on most real crowds they were the larger part."
    )
    untested = "" if workers.drift is not None else " Falls were not tested: the labels have no times."
    unnamed = [note for note in view.dataset.notes if note.startswith(UNNAMED)]
    notes = (workers.truth, *(unnamed or _typical(workers)), wrong_labels, f"{workers.control}{untested}")
    return Exhibit("verdicts", "Verdicts", None, table, notes)


def _typical(verdicts: WorkerVerdicts) -> tuple[str, ...]:
    """Sentences about the typical worker's skill, and the limits that follow from it."""
    if (verdicts.only_peer >= 0).any() and (verdicts.only_peer[verdicts.n_annotations > 0] >= 0).all():
        return (
            "Nobody can be accused: every worker shares tasks with one other worker only, and where the two differ, "
            "labels do not tell who is wrong. Gold would, or a third worker.",
        )
    if np.isnan(verdicts.typical):
        return ("No worker can be judged: no gold and no other worker's label could contradict theirs.",)
    if verdicts.remove_below <= 0:
        return (
            "These workers' labels agree with the truth no more than guesses do, so no worker can be told from others.",
        )
    typical, below, above = (100 * skill for skill in (verdicts.typical, verdicts.remove_below, verdicts.trust_above))
    return (
        f"The typical worker knows the answer on {typical:.0f} % of the tasks and guesses on the others.",
        f"Remove: those who show no knowledge and clearly know less than {below:.0f} %. Trust: those who clearly know "
        f"more than {above:.0f} % and of whom nothing else was found.",
    )


@cached
def worker_verdicts(view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED) -> Exhibit:
    """Verdict on every worker with its reason, the most urgent first; index = worker number.

    Within a verdict, workers with most labels come first; of workers to train, those with most labels confused beyond
    the others' rate.

    Args:
        remove: share of the typical worker's skill below which a worker is removed.
        trust: share of the typical skill above which a worker is trusted.
        confused: share of a class from which a confusion is worth training.
    """
    verdicts = workers_judged(view, remove, trust, confused)
    table = pd.DataFrame(
        {
            "worker": list(view.workers),
            "verdict": verdicts.verdict,
            "reason": reasons(view.renamed(verdicts), common_confusions(view), leans_in_words(view.dataset)),
            "skill κ": verdicts.skill,
            "κ low": verdicts.low,
            "κ high": verdicts.high,
            "labels": verdicts.n_annotations,
            "labels changed without": verdicts.without.changed,
            **({"accuracy without": verdicts.without.accuracy_change} if view.truth.checked else {}),
        }
    )
    urgency = np.array([list(WORKER_VERDICTS).index(verdict) for verdict in verdicts.verdict], int)
    cells = verdicts.confused
    extra = np.where(verdicts.verdict == "train", cells.times - cells.others * cells.of, verdicts.n_annotations)
    order = np.lexsort((table["worker"].to_numpy(str), -extra, urgency))

    notes = (verdicts.truth, verdicts.control)
    return Exhibit("worker-verdicts", "Verdicts on workers", None, table.iloc[order], notes, click=view.to_worker)


@cached
def task_verdicts(view: View, sure: float = SURE, verdict: str = "") -> Exhibit:
    """Verdict on every labelled task, the likeliest wrong label first; index = task number.

    Args:
        sure: probability from which a task's label is taken.
        verdict: only tasks with this verdict.
    """
    tasks = tasks_judged(view, sure)
    names = np.array([*view.classes, ""], object)
    columns: dict[str, object] = {
        "task": tasks.task_ids,
        "verdict": tasks.verdict,
        "label": names[tasks.label],
        "probability": tasks.sure,
        "second label": names[tasks.second],
        "its share": tasks.dissent,
        "labels": tasks.n_annotations,
        "reason": np.array(REASONS, object)[tasks.reason],
    }
    for i in np.flatnonzero(tasks.verdict == "check"):
        columns["reason"][i] = (  # type: ignore[index]
            f"{view.reference.capitalize()} says “{names[tasks.gold[i]]}”; the labels contradict it more than the "
            f"workers' known mistakes explain. It is {100 * tasks.wrong_gold[i]:.0f} % likely to be wrong: look at it."
        )
    columns[view.reference] = names[view.truth.labels]
    table = with_context(view.dataset, with_words(view.dataset, pd.DataFrame(columns)))
    order = np.flatnonzero(tasks.n_annotations == 0) if verdict == "unlabelled" else tasks.order
    listed = table.iloc[order[tasks.verdict[order] == verdict] if verdict else order]
    return Exhibit("task-verdicts", "Verdicts on tasks", None, listed, (tasks.truth,), click=view.to_task)


@cached
def mistakes_in_words(view: View, most: int = 5) -> Exhibit:
    """Mistakes that workers share, one sentence each; those beyond chance first.

    Args:
        most: number of mistakes.
    """
    mistakes, by = shared(view), repeated(view)
    wrong = ~np.eye(len(view.classes), dtype=bool) & (mistakes.workers >= 2)
    beyond = wrong & guideline_cells(view)
    true, given = np.nonzero(beyond if beyond.any() else wrong)
    order = np.lexsort((-mistakes.tasks[true, given], -mistakes.workers[true, given]))[:most]
    true, given = true[order], given[order]
    names = np.array(view.classes, object)
    at = true, given
    table = pd.DataFrame(
        {
            "true": names[true],
            "given": names[given],
            "workers": mistakes.workers[at].astype(int),
            "of": int((view.dataset.labels_per_worker > 0).sum()),
            "tasks": mistakes.tasks[at].astype(int),
            "q_value": mistakes.q_value[at],
            "adjusted p": holm(mistakes.p_value.ravel()).reshape(mistakes.p_value.shape)[at],
            "repeated by": by.carriers.sum(0)[at],
            "shared": beyond[at],
        }
    )
    labels = view.truth.labels[view.dataset.annotated]
    of_class = np.bincount(labels[labels >= 0], minlength=len(view.classes))[true]
    judged = workers_judged(view)
    trained, cells = judged.train & (judged.verdict != "remove"), judged.confused
    own = [int((trained & (cells.true == a) & (cells.given == b)).sum()) for a, b in zip(true, given, strict=True)]
    doubt = f", and see whether {view.reference} is right" if view.truth.checked else ""  # where nobody agrees with it
    table["sentence"] = [
        f"{workers} of {of} workers call “{a}” “{b}” on {tasks:,} of {n:,} such {view.dataset.task_noun}s"
        f"{_how_sure(q, repeated, is_shared, len(names), alone)}"
        f"{doubt if is_shared and workers == of else ''}."
        for (a, b, workers, of, tasks, q, _, repeated, is_shared), n, alone in zip(
            table.to_numpy(object), of_class, own, strict=True
        )
    ]
    alike, tested = plural(int(wrong.sum()), "mistake"), not np.isnan(mistakes.q_value[wrong]).all()
    if not wrong.any():
        nothing = "No two workers make the same mistake."
    elif len(names) < 3 or not tested:
        nothing = (
            f"{'Two classes' if len(names) < 3 else 'These labels'} do not tell which mistakes are the guideline's."
        )
    else:
        nothing = f"No mistake of the guideline was found among the {alike} that two workers or more make."
    none = () if beyond.any() else (nothing,)
    n_beyond = int(beyond.sum())
    some = (f"These are {most:,} of {n_beyond:,} such mistakes.",) if n_beyond > most else ()
    mirror = () if view.truth.checked else (_WITHOUT_GOLD,)
    truth = view.reference if view.truth.checked else f"the most probable one by {view.reference}"
    notes = (*none, *some, f"A {view.dataset.task_noun}'s true class: {truth}.", *mirror)
    return Exhibit("mistakes-in-words", "Mistakes that workers share", None, table, notes, click=cell_of(table))


_WITHOUT_GOLD = (
    "Without gold, a mistake that most workers of a task make looks right, and those who are right look wrong."
)


def _how_sure(q: float, repeated_by: int, is_shared: bool, n_classes: int, alone: int) -> str:
    """Second part of a sentence on a mistake: evidence, and the number ``alone`` of workers to train on it."""
    if is_shared:
        by = f"{repeated_by} of them again and again" if repeated_by else "more workers than chance explains"
        return f", {by}: make the guideline clear here"
    own = f"; {plural(alone, 'worker')} make{'s' * (alone == 1)} it again and again" if alone else ""
    if np.isnan(q):
        return f"{own}; not tested: " + (
            "with two classes every mistake on a class is the same" if n_classes == 2 else "too few"
        )
    return f"{own}; chance explains {'the others' if alone else 'as many workers'}"


def actions(
    view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED, sure: float = SURE
) -> Exhibit:
    """List of actions: workers, shared mistakes and tasks that need one.

    Args:
        remove: share of the typical worker's skill below which a worker is removed.
        trust: share of the typical skill above which a worker is trusted.
        confused: share of a class from which a confusion is worth training.
        sure: probability from which a task's label is taken.
    """
    judged, tasks = workers_judged(view, remove, trust, confused), tasks_judged(view, sure)
    workers = worker_verdicts(view, remove, trust, confused).table
    workers = workers.loc[to_do(judged)[workers.index]]
    mistakes, listed = mistakes_in_words(view, len(view.classes) ** 2).table, task_verdicts(view, sure).table
    listed, mistakes = listed[listed["verdict"] != "fine"], mistakes[mistakes["shared"]]
    index, now = workers.index.to_numpy(), listed[view.reference if view.truth.checked else "label"].astype(str)
    of_worker = workers.rename(columns={"worker": "name", "verdict": "action"})[["name", "action", "reason"]]
    of_worker = of_worker.assign(what="worker", sure=[how_sure(judged, r) for r in index])
    of_task = listed.rename(columns={"task": "name", "verdict": "action"})[["name", "action", "reason"]]
    of_task = of_task.assign(what="task", sure=[f"{100 * p:.0f} % likely wrong" for p in tasks.gain[listed.index]])
    again = zip(mistakes["adjusted p"], mistakes["repeated by"], strict=True)
    of_guideline = pd.DataFrame(
        {
            "what": "guideline",
            "name": mistakes["true"] + " → " + mistakes["given"],
            "action": "clarify",
            "reason": mistakes["sentence"],
            "sure": [f"clearly by {n} workers" if n else in_crowds(p) for p, n in again],
            "effect": [plural(n, "task") for n in mistakes["tasks"]],
        }
    )
    parts = [of_worker.assign(effect=changes_without(judged)[index]), of_guideline, of_task.assign(effect="now " + now)]
    table = pd.concat(parts, ignore_index=True)[[*of_guideline.columns]].rename(columns={"sure": "how sure"})
    return Exhibit("actions", "What to do", None, table, (judged.truth, judged.control))


def to_do(judged: WorkerVerdicts) -> BoolArray:
    """(n_workers,) workers who need an action: those flagged or weak, and those whose labels likely get worse.

    Others with the verdict ``watch`` do not: nearly every crowd has some, as one honest worker in twenty looks so by
    chance.
    """
    flagged = np.isin(judged.verdict, ["remove", "check", "train"])
    if judged.drift is None:
        return flagged
    return np.asarray(flagged | ((judged.verdict == "watch") & judged.may_fall & (judged.drift.adjusted <= POSSIBLE)))


@cached
def shared(view: View) -> SharedMistakes:
    """Shared mistakes in whole numbers of workers and tasks, by the most probable class of a soft reference."""
    return analysis.shared_mistakes(view.dataset, replace(view.truth, posterior=None))


@cached
def guideline_cells(view: View) -> BoolArray:
    """(C, C) mistakes of the guideline, for all pages, reports and checks."""
    return cells_of(shared(view).p_value, repeated(view), checked=view.truth.checked)


@cached
def repeated(view: View) -> GuidelineMistakes:
    """Mistakes that several workers make again and again, as in the verdicts on workers."""
    return guideline_mistakes(view.of(peer_beliefs), places(view.dataset), checked=view.truth.checked, level=LEVEL)


@cached
def common_confusions(view: View) -> dict[int, SharedConfusion]:
    """Worker -> the most frequent of the worker's confusions that are the guideline's, if frequent enough."""
    confusions, every, judged = view.of(analysis.worker_confusion), shared(view), workers_judged(view)
    own = np.where(guideline_cells(view) & (confusions.matrices >= CONFUSED), confusions.counts, 0.0)
    taught = np.flatnonzero(judged.train)  # the reason names it, with the others' rate
    a, b = judged.confused.true[taught], judged.confused.given[taught]
    own[taught, a, b] = own[taught, b, a] = 0
    n_workers, names = int((view.dataset.labels_per_worker > 0).sum()), view.classes
    carriers, common = repeated(view).carriers.sum(0), {}
    for r in np.flatnonzero(own.max((1, 2)) >= _AGAIN):
        a, b = np.unravel_index(own[r].argmax(), own[r].shape)
        of = float(confusions.counts[r, a].sum())
        times = float(own[r, a, b])
        by = int(every.workers[a, b]), int(carriers[a, b]), n_workers
        common[int(r)] = SharedConfusion(names[a], names[b], times, of, *by)
    return common
