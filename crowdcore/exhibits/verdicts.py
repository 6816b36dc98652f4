"""What this crowd did, and what to do about it: a verdict on every worker and task, with its reason in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.reference import REVIEWED
from crowdcore.analysis.verdicts import CONFUSED as CONFUSED, REMOVE as REMOVE, SURE as SURE, TRUST as TRUST
from crowdcore.analysis.verdicts.peers import peer_beliefs
from crowdcore.analysis.verdicts.tasks import REASONS, TASK_VERDICTS
from crowdcore.analysis.verdicts.workers import WORKER_VERDICTS
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.tasks import tasks_judged, with_context, with_words
from crowdcore.exhibits.view import View, cached, copy_evidence

if TYPE_CHECKING:
    from crowdcore.analysis import SharedMistakes, WorkerVerdicts
    from crowdcore.analysis.coordinated.groups import Group
    from crowdcore.core.types import AnyArray, BoolArray


LEVEL = 0.05


@cached
def workers_judged(
    view: View, remove: float = REMOVE, trust: float = TRUST, confused: float = CONFUSED
) -> WorkerVerdicts:
    """Verdicts at these thresholds, of evidence and pairs that are computed once."""
    pairs = copy_evidence(view) if view.dataset.sentences is None else None
    evidence = view.of(analysis.worker_evidence, pairs, view.of(peer_beliefs), level=LEVEL)
    return evidence.verdicts(remove=remove, trust=trust, confused=confused)


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
    workers, tasks = workers_judged(view, remove, trust, confused), tasks_judged(view, sure)
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
        f"The typical worker's skill is {found.typical:.2f} (0: guessing, 1: perfect). The verdict is remove on "
        f"workers surely below {found.remove_below:.2f} whose labels show no knowledge, and trust on those surely "
        f"above {found.trust_above:.2f} of whom nothing else was found."
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
    """A verdict on every labelled task, the likeliest wrong label first; index = task number.

    Args:
        view: whose tasks.
        sure: probability from which a task's label is taken.
        verdict: only tasks with this one.
    """
    found = tasks_judged(view, sure)
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
    order = np.flatnonzero(found.n_annotations == 0) if verdict == "unlabelled" else found.order
    keep = (found.verdict[order] == verdict) if verdict else np.ones(len(order), bool)

    def click(number: int) -> dict[str, str]:
        return {"task": str(found.task_ids[number])}

    return Exhibit("task-verdicts", "Verdicts on tasks", None, table.iloc[order[keep]], (found.truth,), click=click)


@cached
def mistakes_in_words(view: View, most: int = 5) -> Exhibit:
    """The mistakes that workers share, one sentence each; those beyond chance first.

    Args:
        view: whose mistakes.
        most: how many to tell of.
    """
    found, by = shared(view), workers_judged(view).guideline
    wrong = ~np.eye(len(view.classes), dtype=bool) & (found.workers >= 2)
    beyond = wrong & guideline_cells(view)
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
            "repeated by": by.carriers.sum(0)[at],
            "shared": beyond[at],
        }
    )
    table["sentence"] = [
        f"{workers} of {of} workers call “{a}” “{b}”: {plural(tasks, view.dataset.task_noun)}.{_how_sure(*sure)}"
        for a, b, workers, of, tasks, *sure in table.to_numpy(object)
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


def _how_sure(q: float, repeated_by: int, is_shared: bool) -> str:
    if is_shared:
        by = f" {repeated_by} of them make it again and again." if repeated_by else ""
        return f"{by} More than chance explains: the guideline may be unclear here."
    return " Too few to be tested." if np.isnan(q) else " Chance explains as many."


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
    tasks, mistakes = tasks[tasks["verdict"] != "fine"], mistakes[mistakes["shared"]]
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
                    "how sure": [
                        f"q = {q:.2g}" if q <= LEVEL else f"{n} workers, each surely"
                        for q, n in zip(mistakes["q_value"], mistakes["repeated by"], strict=True)
                    ],
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


@cached
def guideline_cells(view: View) -> BoolArray:
    """(C, C) mistakes that are the guideline's: shared beyond chance, or made again and again by several workers."""
    return np.asarray(is_shared(shared(view)) | workers_judged(view).guideline.cells)


def _truth_in_words(view: View) -> str:
    return view.reference if view.truth.checked else f"the most probable one by {view.reference}"


_SINGLE = 0.8  # share of one label from which it is worth saying


class SharedConfusion(NamedTuple):
    """A worker's confusion of ``true`` with ``given``, ``times`` of ``of`` labels, that ``workers`` of all make."""

    true: str
    given: str
    times: float
    of: float
    workers: int
    n_workers: int

    @property
    def reason(self) -> str:
        """The confusion in a sentence."""
        return (
            f"Calls “{self.true}” “{self.given}” on {self.times:.0f} of {self.of:.0f} tasks, a mistake that "
            f"{self.workers} of {self.n_workers} workers share."
        )


def reasons(found: WorkerVerdicts) -> list[str]:
    """(n_workers,) why each worker got the verdict; workers go by ``worker_ids``."""
    return [" ".join(_reason(found, worker)) for worker in range(len(found.verdict))]


def _reason(found: WorkerVerdicts, r: int) -> list[str]:
    verdict, words = found.verdict[r], []
    if found.n_annotations[r] == 0:
        return ["Gave no label."]
    if not found.judged[r]:
        return ["None of the labels can be judged: no truth is known for their tasks."]
    between = f"skill between {found.low[r]:z.2f} and {found.high[r]:z.2f}"
    if verdict == "remove":
        words.append(f"The labels show no knowledge: {between}, the typical worker has {found.typical:.2f}.")
        if found.favourite_share[r] >= _SINGLE:
            words.append(f"{_percent(found.favourite_share[r])} of them are “{found.classes[found.favourite[r]]}”.")
    if found.copies.partner[r] >= 0:
        pair = found.copies
        words.append(
            f"Agrees with {found.worker_ids[pair.partner[r]]} on {pair.agreed[r]:,} of {pair.both[r]:,} tasks, where "
            f"the others' labels explain {pair.expected[r]:.0f}; labels do not show which of the two copies."
        )
    words += [_group(found, group) for group in found.groups if r in group.members and len(group.members) > 2]
    if found.drifts[r]:
        words.append(_fall(found, r, "Worse than before"))
    if found.train[r] and verdict != "remove":
        cells = found.confused
        true, given = found.classes[cells.true[r]], found.classes[cells.given[r]]
        back = f", and “{given}” “{true}”: {cells.back[r]:.0f} of {cells.back_of[r]:.0f}"
        words.append(
            f"Calls “{true}” “{given}”: about {cells.times[r]:.0f} of "
            f"{cells.of[r]:.0f} times ({_percent(cells.times[r] / cells.of[r])}, surely above "
            f"{_percent(cells.low[r])}; the others {_percent(cells.others[r])}){back if cells.back[r] > 0 else ''}."
        )
    if words:
        return words + _speed(found, r)
    if verdict == "underpowered":
        more = found.needed[r] - found.judged[r]
        enough = f" About {plural(max(round(more), 1), 'more label')} would decide." if np.isfinite(more) else ""
        told = "Too few labels to estimate a skill."
        if found.only_peer[r] >= 0 and len(found.classes) > 1:
            told = (
                f"Only {found.worker_ids[found.only_peer[r]]} labelled the same tasks. Where the two differ, labels do "
                "not tell who is wrong: gold would, or a third worker."
            )
        elif np.isfinite(found.low[r]):
            told = f"Too few labels to decide: {between}."
        elif len(found.classes) == 1:
            told = "With only one class, no label can be wrong."
        return [f"{told}{enough}", *_speed(found, r)]
    if verdict == "trust":
        n = plural(int(found.n_annotations[r]), "label")
        return [f"Nothing found among {n}: {between}, the typical worker has {found.typical:.2f}.", *_speed(found, r)]
    if verdict == "watch":
        words = [_fall(found, r, "May be getting worse")] if found.may_fall[r] else []
        words += ["Agrees with another worker more than the others' labels explain."] if found.may_copy[r] else []
        return [*words, f"Chance explains it, too; more labels would tell ({between}).", *_speed(found, r)]
    weak = "Weak, and perhaps guessing" if found.low[r] <= 0 else "Weak"
    return [f"{weak}: {between}, the typical worker has {found.typical:.2f}.", *_speed(found, r)]


def _fall(found: WorkerVerdicts, r: int, words: str) -> str:
    assert found.drift is not None
    of = found.drift
    how = "steadily, from" if of.steady[r] else f"after the first {of.at[r]:,} labels, from"
    right = "right" if _by_gold(found) else "likely right by the others' labels"
    return (
        f"{words}: {how} {_percent(of.before[r])} to {_percent(of.after[r])} {right}, more than tasks and the other "
        f"workers explain (p = {of.p_value[r]:.2g})."
    )


def _by_gold(found: WorkerVerdicts) -> bool:
    return found.reference in {"gold", *REVIEWED}


def _group(found: WorkerVerdicts, group: Group) -> str:
    names = listed(sorted(map(str, found.worker_ids[group.members])))
    return f"One of {len(group.members)} workers who {' and '.join(group.found_by)}: {names}."


def listed(names: list[str], most: int = 8) -> str:
    """Names in a sentence, the first ones of many."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _speed(found: WorkerVerdicts, r: int) -> list[str]:
    speed = found.speed
    if speed is None or not speed.too_fast[r]:
        return []
    share = _percent(speed.fast[r])
    return [f"{share} of {speed.n[r]} answers took less than a fifth of what their tasks usually take."]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def changes_without(found: WorkerVerdicts) -> AnyArray:
    """(n_workers,) what a majority vote is like without each worker."""
    words, of = [], found.without
    for changed, lost, points in zip(of.changed, of.unlabelled, 100 * of.accuracy_change, strict=True):
        gold = f" ({points:+z.2f} points right)" if points == points and _by_gold(found) else ""
        gone = f", {lost:,} task{' loses its' if lost == 1 else 's lose their'} only label" if lost else ""
        words.append(f"{changed:,} label{' changes' if changed == 1 else 's change'}{gone} without{gold}")
    return np.array(words, object)


def message(found: WorkerVerdicts, r: int, common: SharedConfusion | None = None) -> str:
    """What one could write to the worker; it accuses nobody. A confusion that many share is the guideline's fault."""
    thanks = f"Thank you for your {plural(found.n_annotations[r], 'label')}."
    verdict, cells = found.verdict[r], found.confused
    if found.train[r] and verdict != "remove":
        a, b = found.classes[cells.true[r]], found.classes[cells.given[r]]
        back = f", and {cells.back[r]:.0f} of {cells.back_of[r]:.0f} the other way round" if cells.back[r] > 0 else ""
        return (
            f"{thanks} Please read again what the guideline says about “{a}” and “{b}”: about "
            f"{cells.times[r]:.0f} of {cells.of[r]:.0f} tasks that seem to be “{a}” you called “{b}”{back}. "
            "Do you see a reason that we have missed? Then tell us."
        )
    if found.together[r]:
        return (
            f"{thanks} Please answer every task alone: on some tasks two people gave the same answer unusually often."
        )
    if verdict == "remove":
        return (
            f"{thanks} Your labels differ from what we expected so often that we would like to understand why. Was the "
            "task clear, did the page work? Until we know, please pause."
        )
    if found.drifts[r]:
        less = "are less often right" if _by_gold(found) else "agree less often with the others'"
        return f"{thanks} Your later labels {less} than your first ones. Please take breaks."
    if verdict == "watch":
        return f"{thanks} We look at the next ones before we say how well they fit."
    if verdict == "check":
        return f"{thanks} Please read the guideline again, and ask where it is unclear: your labels often differ."
    if common is not None and verdict in ("trust", "watch", "underpowered"):
        return (
            f"{thanks} {common.times:.0f} of {common.of:.0f} tasks that seem to be “{common.true}” you called "
            f"“{common.given}”. Many workers do ({common.workers} of "
            f"{common.n_workers}), so our guideline may be unclear there. What made you choose so?"
        )
    if verdict == "trust":
        return f"{thanks} They agree well with what we know. Please go on."
    if not found.judged[r]:
        return f"{thanks} To tell you how well they fit, we need other opinions on your tasks."
    if found.only_peer[r] >= 0:
        return f"{thanks} To tell you how well they fit, we need a third opinion on your tasks."
    return f"{thanks} A few more would help us to tell you how well they fit."
