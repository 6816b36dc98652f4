"""Which labels to ask for next, and of whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.tasks import with_words
from crowdcore.exhibits.verdicts import listed, workers_judged
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    from crowdcore.analysis import NextLabels
    from crowdcore.core.types import BoolArray

BUDGET = 100
MODEL = (
    "The gain is the information expected from the label, in bits, by pooled Dawid–Skene on the existing labels. It "
    "assumes that workers err independently."
)

WHOLE = "A row is about one token; a worker tags its whole sentence, which gives more information than the row says."


def next_labels(
    view: View,
    budget: int = BUDGET,
    capacity: int = 0,
    explore: float = 0.0,
    workers: tuple[str, ...] = (),
    flagged: bool = False,
    per: Literal["label", "worker"] = "label",
) -> Exhibit:
    """Which task to give to which worker next, the most telling labels first; index = task number.

    Or how many labels each worker gets, and what they are expected to tell; index = worker number.

    Args:
        view: whose labels.
        budget: labels to ask for.
        capacity: most labels of each worker; 0 = no limit.
        explore: weight of what is learnt about the workers.
        workers: those who are available; default: all.
        flagged: whether those are asked, too, whom Overview says to guess, to act with others, or to drift.
        per: what a row is.
    """
    found = _found(view, budget, capacity, explore, workers, flagged)
    if per == "worker":
        each = found.per_worker()
        each["worker"] = view.names_of(each.index.to_numpy())
        each = each.sort_values(["labels", "worker"], ascending=[False, True])
        return Exhibit("next-labels-per-worker", "Next labels of each worker", None, each)
    table = pd.DataFrame(
        {"task": found.task_ids[found.task], "worker": view.names_of(found.worker), "gain_bits": found.gain},
        index=found.task,
    )

    def click(number: int) -> dict[str, str]:
        return {"task": str(found.task_ids[number])}

    told = (
        f"By the model, {plural(len(found.task), 'label')} would bring {found.gain.sum():,.0f} of the "
        f"{np.nansum(found.entropy):,.0f} bits missing for certainty about every task that may be labelled. The model "
        "is overconfident, so its sums can be far off: use the gains to rank labels."
    )
    doubt = acting_together(view, found) if flagged else left_out(view, workers)
    short = f"No more than {plural(len(found.task), 'label')} can be asked for." if len(found.task) < budget else ""
    model = MODEL if view.dataset.sentences is None else f"{MODEL} {WHOLE}"
    notes = tuple(note for note in (told, doubt, short, _known_in_words(view), model) if note)
    return Exhibit("next-labels", "Next labels", None, with_words(view.dataset, table), notes, click=click)


def left_out(view: View, workers: tuple[str, ...] = ()) -> str:
    """Which of the available workers are asked for nothing, and why; empty without any."""
    found, available = workers_judged(view), np.isin(view.workers, workers or view.workers)
    why = {
        "no better than guessing": found.verdict == "remove",
        "copy or act with others": found.together,
        "worse than before": found.drifts,
    }
    named, told = ~available, []
    for reason, these in why.items():
        if (new := these & ~named).any():
            told.append(f"{listed(sorted(view.names_of(np.flatnonzero(new))))} ({reason})")
        named = named | these
    n = int((found.accused & available).sum())
    return f"Overview flags {n:,} of the available workers; they get no tasks: {'; '.join(told)}." if n else ""


def acting_together(view: View, found: NextLabels) -> str:
    """A warning if labels are to be asked of workers who act together; empty without any."""
    asked = np.unique(found.worker[workers_judged(view).together[found.worker]])
    if not len(asked):
        return ""
    names = listed(sorted(view.names_of(asked)))
    return (
        f"{names} {'acts' if len(asked) == 1 else 'act'} with others, as Overview says: labels that confirm each other "
        "give less information than is expected here."
    )


@cached
def _found(
    view: View, budget: int, capacity: int, explore: float, workers: tuple[str, ...], flagged: bool
) -> NextLabels:
    asked = np.isin(np.arange(len(view.workers)), [view.worker_number(name) for name in workers or view.workers])
    if not flagged:
        asked &= ~workers_judged(view).accused
    ids = None if asked.all() else [str(name) for name in view.dataset.worker_ids[asked]]
    return analysis.next_labels(
        view.dataset, budget, workers=ids, capacity=capacity or None, explore=explore, settled=_settled(view)
    )


def _settled(view: View) -> BoolArray:
    """(n_tasks,) tasks whose gold is known; none where it is known of all, so that it judges labels to come."""
    known = view.dataset.gold >= 0
    return known & bool((view.dataset.annotated & ~known).any())


def _known_in_words(view: View) -> str:
    noun, known, settled = view.dataset.task_noun, (view.dataset.gold >= 0).sum(), _settled(view).sum()
    if not known:
        return ""
    if settled:
        return f"No label is asked for the {settled:,} {noun}s whose gold is known."
    return f"Gold is known of every labelled {noun}, and is not used: labels are asked for as if it were not."
