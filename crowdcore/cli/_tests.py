"""What `crowdcore compare` says of differences: tests over test tasks and over seeds, and what selects the epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

if TYPE_CHECKING:
    from crowdcore.learning import TrainingResult

    Results: TypeAlias = Mapping[str, TrainingResult]


@dataclass(frozen=True, eq=False)
class Told:
    """A table for files and machines, and how people read it.

    Args:
        frame: all columns.
        shown: those that a terminal has room for, in words; empty where there is nothing to show.
        title: of what is shown.
        notes: what to bear in mind, or why there is nothing to show.
    """

    frame: pd.DataFrame
    shown: pd.DataFrame
    title: str
    notes: tuple[str, ...] = ()


def tests(results: Sequence[TrainingResult]) -> dict[str, Told]:
    """Name -> table, of the methods on each dataset."""
    by_dataset: dict[str, dict[str, TrainingResult]] = {}
    for r in results:
        by_dataset.setdefault(r.dataset, {})[r.method] = r
    makers: dict[str, tuple[str, Callable[[Results], list[Told]]]] = {
        "task-tests": ("Tests over test tasks: difference in points [95 % interval], p after Holm", _over_tasks),
        "paired-tests": ("Tests over seeds (Wilcoxon): difference in points, p after Holm", _over_seeds),
        "selection": ("What selects the epoch: test accuracy in %, p after Holm", _selection),
    }
    return {name: _joined(title, by_dataset, make) for name, (title, make) in makers.items()}


def _joined(title: str, by_dataset: Mapping[str, Results], make: Callable[[Results], list[Told]]) -> Told:
    """One table of all datasets, each note once."""
    told = [(dataset, one) for dataset, results in by_dataset.items() for one in make(results)]
    frames = [one.frame.assign(dataset=dataset, caveat=" ".join(one.notes)) for dataset, one in told if len(one.frame)]
    shown = [one.shown.assign(dataset=dataset) for dataset, one in told if len(one.shown)]
    notes = dict.fromkeys(note for _, one in told for note in one.notes)
    empty = pd.DataFrame()
    return Told(
        pd.concat(frames, ignore_index=True) if frames else empty,
        (pd.concat(shown, ignore_index=True) if len(by_dataset) > 1 else shown[0].drop(columns="dataset"))
        if shown
        else empty,
        title,
        tuple(notes),
    )


def _over_tasks(results: Results) -> list[Told]:
    from crowdcore.analysis.method_tests import SEEDS_AND_TASKS
    from crowdcore.learning.comparison import significance

    found = significance.over_tasks(results)
    if isinstance(found, str):
        return [_nothing(found)]
    reach = zip(100 * found.difference, 100 * found.low, 100 * found.high, strict=True)
    shown = {
        "first": found.first,
        "second": found.second,
        "difference": [f"{d:+z.1f} [{low:z.1f}, {high:z.1f}]" for d, low, high in reach],
        "p": found.adjusted,
        "McNemar p": found.mcnemar_adjusted,
    }
    words = "p: paired bootstrap of the mean accuracy over seeds (at least 0.0001). McNemar p: of the ensembles."
    return [Told(found.frame(), pd.DataFrame(shown), "", (f"{found.caveat} {words}", SEEDS_AND_TASKS))]


def _over_seeds(results: Results) -> list[Told]:
    from crowdcore.learning.comparison import significance

    found = significance.over_seeds(results)
    if isinstance(found, str):
        return [_nothing(found)]
    names = {"first": found.first, "second": found.second}
    shown = {**names, "difference": [f"{100 * d:+z.2f}" for d in found.difference], "p": found.adjusted}
    return [Told(found.frame(), pd.DataFrame(shown), "", (found.caveat,))]


def _selection(results: Results) -> list[Told]:
    from crowdcore.learning.comparison.significance import rank_changes

    told = []
    for found in rank_changes(results):
        frame = found.frame()
        shown = {
            "run": frame["run"],
            "from": frame["from %"].round(2),
            "to": frame["to %"].round(2),
            "change": [f"{c:+z.2f}" for c in frame["change (points)"]],
            "p tasks": found.over_tasks,
            "p seeds": found.over_seeds,
            "rank": [f"{a} → {b}" for a, b in found.rank.tolist()],
        }
        told.append(Told(frame, pd.DataFrame(shown), "", (found.sentence,)))
    return told


def _nothing(why: str) -> Told:
    return Told(pd.DataFrame(), pd.DataFrame(), "", (why,))
