"""Which labels to ask for next, and of whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.exhibits._verdict_words import listed
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.verdicts import workers_judged
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    from crowdcore.analysis import NextLabels

__all__ = ["next_labels", "next_labels_per_worker", "together"]

BUDGET = 100
MODEL = (
    "The gain is the information that the label is expected to give, in bits, by pooled Dawid–Skene on the labels that "
    "there are; it assumes that workers err independently."
)


def next_labels(
    view: View, budget: int = BUDGET, capacity: int = 0, explore: float = 0.0, workers: tuple[str, ...] = ()
) -> Exhibit:
    """Which task to give to which worker next, the most telling labels first; index = task number.

    Args:
        view: whose labels.
        budget: labels to ask for.
        capacity: most labels of each worker; 0 = no limit.
        explore: weight of what is learnt about the workers.
        workers: those who are available; default: all.
    """
    found = _found(view, budget, capacity, explore, workers)
    table = pd.DataFrame(
        {"task": found.task_ids[found.task], "worker": view.names_of(found.worker), "gain_bits": found.gain},
        index=found.task,
    )

    def click(number: int) -> dict[str, str]:
        return {"task": str(found.task_ids[number])}

    told = (
        f"{len(found.task):,} labels are expected to give {found.gain.sum():,.0f} of {found.entropy.sum():,.0f} bits."
    )
    doubt = together(view, found)
    short = (f"No more than {len(found.task):,} labels can be asked for.",) if len(found.task) < budget else ()
    return Exhibit(
        "next-labels", "Next labels", None, table, (told, *([doubt] if doubt else []), *short, MODEL), click=click
    )


def together(view: View, found: NextLabels) -> str:
    """A warning if labels are to be asked of workers who act together; empty without any."""
    asked = np.unique(found.worker[workers_judged(view).together[found.worker]])
    if not len(asked):
        return ""
    names = listed(sorted(view.names_of(asked)))
    return (
        f"{names} {'acts' if len(asked) == 1 else 'act'} with others, as Overview says: labels that confirm each other "
        "tell less than is expected here. Ask the other workers instead."
    )


def next_labels_per_worker(
    view: View, budget: int = BUDGET, capacity: int = 0, explore: float = 0.0, workers: tuple[str, ...] = ()
) -> Exhibit:
    """How many labels each worker gets, and what they are expected to tell.

    Args:
        view: whose labels.
        budget: labels to ask for.
        capacity: most labels of each worker; 0 = no limit.
        explore: weight of what is learnt about the workers.
        workers: those who are available; default: all.
    """
    table = _found(view, budget, capacity, explore, workers).per_worker()
    table["worker"] = view.names_of(table.index.to_numpy())
    table = table.sort_values(["labels", "worker"], ascending=[False, True])
    return Exhibit("next-labels-per-worker", "Next labels of each worker", None, table)


@cached
def _found(view: View, budget: int, capacity: int, explore: float, workers: tuple[str, ...]) -> NextLabels:
    ids = [str(view.dataset.worker_ids[view.worker_number(name)]) for name in workers] or None
    return analysis.next_labels(view.dataset, budget, workers=ids, capacity=capacity or None, explore=explore)
