"""What this crowd did, and what to do about it: a verdict on every worker and task, with its reason in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.tasks import REASONS, TASK_VERDICTS
from crowdcore.analysis.verdicts.workers import WORKER_VERDICTS
from crowdcore.data.report import plural
from crowdcore.exhibits._copy_evidence import copy_evidence
from crowdcore.exhibits._verdict_words import changes_without, reasons
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.tasks import with_context, with_words
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    from crowdcore.analysis import SharedMistakes, TaskVerdicts, WorkerVerdicts
    from crowdcore.core.types import BoolArray

__all__ = ["actions", "mistakes_in_words", "task_verdicts", "verdicts", "worker_verdicts"]

REMOVE, TRUST, CONFUSED, SURE = 1 / 3, 1 / 2, 0.2, 0.9
LEVEL = 0.05
_NO_MORE = " Chance may explain it."


@cached
def workers_judged(
    view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED
) -> WorkerVerdicts:
    """Verdicts at these thresholds, of evidence and pairs that are computed once."""
    pairs = copy_evidence(view) if view.dataset.sentences is None else None
    evidence = view.of(analysis.worker_evidence, pairs, view.of(peer_beliefs), level=LEVEL)
    return evidence.verdicts(remove=remove, trust=trust, confused=confused)


def _tasks_judged(view: View, sure: float) -> TaskVerdicts:
    return view.of(analysis.task_verdicts, sure=sure, peers=view.of(peer_beliefs))


@cached
def verdicts(
    view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED, sure: float = SURE
) -> Exhibit:
    """How many workers and tasks got which verdict.

    Args:
        view: whose workers and tasks.
        remove: share of the typical worker's skill below which a worker is removed.
        trust: share of the typical skill above which a worker is trusted.
        confused: share of a class from which a confusion is worth training.
        sure: probability from which a task's label is taken.
    """
    workers, tasks = workers_judged(view, remove, trust, confused), _tasks_judged(view, sure)
    rows: list[tuple[str, str, int, str]] = []
    rows += [("worker", name, int((workers.verdict == name).sum()), words) for name, words in WORKER_VERDICTS.items()]
    rows += [("task", name, int((tasks.verdict == name).sum()), words) for name, words in TASK_VERDICTS.items()]
    table = pd.DataFrame(rows, columns=["of", "verdict", "number", "meaning"])
    typical = _typical(workers)
    judged, noun = (tasks.gold >= 0) & (tasks.label >= 0), view.dataset.task_noun
    against, labelled = (judged & (tasks.label != tasks.gold)).sum(), (tasks.n_annotations > 0).sum()
    wrong = (
        f"What the workers say together, weighed by their mistakes on the other {noun}s, contradicts {view.reference} "
        f"on {against:,} of {plural(judged.sum(), noun)}."
        if view.truth.checked
        else f"What the workers say together is wrong on about {tasks.in_doubt:,.0f} of {plural(labelled, noun)}, as "
        f"far as their labels tell (dependence η = {tasks.dependence:.2f}). Mistakes that most workers of a {noun} "
        "make alike look right without gold and come on top; on most real crowds with gold they were the larger part."
    )
    return Exhibit("verdicts", "Verdicts", None, table, (workers.truth, typical, wrong, workers.control))


def _typical(found: WorkerVerdicts) -> str:
    """The typical worker's skill and the limits that follow from it, in words."""
    if (found.only_peer >= 0).any() and (found.only_peer[found.n_annotations > 0] >= 0).all():
        return (
            "Nobody can be accused: every worker shares tasks with one other worker only, and where the two differ, "
            "labels do not tell who is wrong. Gold would, or a third worker."
        )
    if np.isnan(found.typical):
        return "No worker can be judged: no gold and no other worker's label could contradict theirs."
    if found.remove_below <= 0:
        return (
            "These workers' labels agree with the truth no more than guesses do, so no worker can be told from others."
        )
    return (
        f"The typical worker's skill is {found.typical:.2f} (0: guessing, 1: perfect). The verdict on workers surely "
        f"below {found.remove_below:.2f} is remove, on those surely above {found.trust_above:.2f} trust."
    )


@cached
def worker_verdicts(view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED) -> Exhibit:
    """A verdict on every worker with its reason, the most urgent first; index = worker number.

    Within a verdict those with most labels come first; of workers to train, those with most labels confused beyond the
    others' rate.

    Args:
        view: whose workers.
        remove: share of the typical worker's skill below which a worker is removed.
        trust: share of the typical skill above which a worker is trusted.
        confused: share of a class from which a confusion is worth training.
    """
    found = workers_judged(view, remove, trust, confused)
    shown = view.renamed(found)
    table = pd.DataFrame(
        {
            "worker": list(view.workers),
            "verdict": found.verdict,
            "reason": reasons(shown),
            "skill κ": found.skill,
            "κ low": found.low,
            "κ high": found.high,
            "labels": found.n_annotations,
            "labels changed without": found.without.changed,
            **({"accuracy without": found.without.accuracy_change} if view.truth.checked else {}),
        }
    )
    urgency = np.array([list(WORKER_VERDICTS).index(verdict) for verdict in found.verdict], int)
    cells = found.confused
    extra = np.where(found.verdict == "train", cells.times - cells.others * cells.of, found.n_annotations)
    order = np.lexsort((table["worker"].to_numpy(str), -extra, urgency))

    def click(number: int) -> dict[str, str]:
        return {"worker": view.workers[number]}

    notes = (found.truth, found.control)
    return Exhibit("worker-verdicts", "Verdicts on workers", None, table.iloc[order], notes, click=click)


@cached
def task_verdicts(view: View, sure: float = SURE, verdict: str = "") -> Exhibit:
    """A verdict on every labelled task, those with most to gain first; index = task number.

    Args:
        view: whose tasks.
        sure: probability from which a task's label is taken.
        verdict: only tasks with this one.
    """
    found = _tasks_judged(view, sure)
    names = np.array([*view.classes, ""], object)
    columns: dict[str, object] = {
        "task": found.task_ids,
        "verdict": found.verdict,
        "label": names[found.label],
        "probability": found.sure,
        "second label": names[found.second],
        "its share": found.dissent,
        "labels": found.n_annotations,
        "reason": np.array(REASONS, object)[found.reason],
    }
    columns[view.reference] = names[view.truth.labels]
    table = with_context(view.dataset, with_words(view.dataset, pd.DataFrame(columns)))
    urgency = np.select([found.verdict == name for name in TASK_VERDICTS], range(len(TASK_VERDICTS)))
    order = np.lexsort((-np.nan_to_num(found.sure), -found.gain, urgency))  # the surest contradiction of gold first
    keep = (found.verdict == verdict) if verdict else (found.n_annotations > 0)

    def click(number: int) -> dict[str, str]:
        return {"task": str(found.task_ids[number])}

    return Exhibit(
        "task-verdicts", "Verdicts on tasks", None, table.iloc[order[keep[order]]], (found.truth,), click=click
    )


@cached
def mistakes_in_words(view: View, most: int = 5) -> Exhibit:
    """The mistakes that workers share, one sentence each; those beyond chance first.

    Args:
        view: whose mistakes.
        most: how many to tell of.
    """
    found = shared(view)
    wrong = ~np.eye(len(view.classes), dtype=bool) & (found.workers >= 2)
    beyond = wrong & is_shared(found)
    true, given = np.nonzero(beyond if beyond.any() else wrong)
    order = np.lexsort((-found.tasks[true, given], -found.workers[true, given]))[:most]
    true, given = true[order], given[order]
    names = np.array(view.classes, object)
    at = true, given
    table = pd.DataFrame(
        {
            "true": names[true],
            "given": names[given],
            "workers": found.workers[at].astype(int),
            "of": int((view.dataset.labels_per_worker > 0).sum()),
            "tasks": found.tasks[at].astype(int),
            "q_value": found.q_value[at],
        }
    )
    table["sentence"] = [
        f"{workers} of {of} workers call “{a}” “{b}”: {plural(tasks, view.dataset.task_noun)}."
        + (" More than chance explains: the guideline may be unclear here." if q <= LEVEL else _NO_MORE)
        for a, b, workers, of, tasks, q in table.to_numpy(object)
    ]
    none = (
        () if beyond.any() else ("No mistake is shared by more workers than chance explains, as far as it is tested.",)
    )
    n_beyond = int(beyond.sum())
    some = (f"These are {most:,} of {n_beyond:,} mistakes that are shared beyond chance.",) if n_beyond > most else ()
    notes = (*none, *some, f"A task's true class: {_truth_in_words(view)}.", found.null, *found.notes)

    def click(row: int) -> dict[str, str]:
        return {"true": str(table["true"][row]), "given": str(table["given"][row])}

    return Exhibit("mistakes-in-words", "Mistakes that workers share", None, table, notes, click=click)


def actions(
    view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED, sure: float = SURE
) -> Exhibit:
    """All that there is to do, in one list: workers, shared mistakes, tasks; the rest is trusted or fine.

    Args:
        view: whose workers and tasks.
        remove: share of the typical worker's skill below which a worker is removed.
        trust: share of the typical skill above which a worker is trusted.
        confused: share of a class from which a confusion is worth training.
        sure: probability from which a task's label is taken.
    """
    found = workers_judged(view, remove, trust, confused)
    workers = worker_verdicts(view, remove, trust, confused).table
    workers = workers[~workers["verdict"].isin(["trust"])]
    mistakes, tasks = mistakes_in_words(view).table, task_verdicts(view, sure).table
    tasks, mistakes = tasks[tasks["verdict"] != "fine"], mistakes[mistakes["q_value"] <= LEVEL]
    some = workers.index.to_numpy()
    interval = [f"{low:z.2f} – {high:z.2f}" for low, high in zip(found.low[some], found.high[some], strict=True)]
    table = pd.concat(
        [
            pd.DataFrame(
                {
                    "what": "worker",
                    "name": workers["worker"],
                    "action": workers["verdict"],
                    "reason": workers["reason"],
                    "how sure": [f"skill {text}" if "nan" not in text else "no evidence" for text in interval],
                    "effect": changes_without(found)[some],
                }
            ),
            pd.DataFrame(
                {
                    "what": "guideline",
                    "name": mistakes["true"] + " → " + mistakes["given"],
                    "action": "clarify",
                    "reason": mistakes["sentence"],
                    "how sure": [f"q = {q:.2g}" for q in mistakes["q_value"]],
                    "effect": [plural(n, "task") for n in mistakes["tasks"]],
                }
            ),
            pd.DataFrame(
                {
                    "what": "task",
                    "name": tasks["task"],
                    "action": tasks["verdict"],
                    "reason": tasks["reason"],
                    "how sure": [f"probability {p:.2f}" for p in tasks["probability"]],
                    "effect": "now " + tasks["label"].astype(str),
                }
            ),
        ],
        ignore_index=True,
    )
    return Exhibit("actions", "What to do", None, table, (found.truth, found.control))


@cached
def shared(view: View) -> SharedMistakes:
    """Whole workers and tasks: by the most probable class where the reference is soft."""
    return analysis.shared_mistakes(view.dataset, replace(view.truth, posterior=None))


def is_shared(found: SharedMistakes) -> BoolArray:
    """(C, C) cells that more workers share than chance explains; a test over tasks belongs here as well."""
    return np.asarray(np.nan_to_num(found.q_value, nan=1.0) <= LEVEL)


def _truth_in_words(view: View) -> str:
    return view.reference if view.truth.checked else f"the most probable one by {view.reference}"
