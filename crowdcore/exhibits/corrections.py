"""What a method changed in the workers' confusions: the corrections of CCC."""

from __future__ import annotations

import numpy as np

from crowdcore import figures
from crowdcore.core.drawable import escaped
from crowdcore.exhibits.exhibit import Exhibit, cells
from crowdcore.exhibits.recovered import RunView
from crowdcore.exhibits.view import cached


@cached
def confusion_correction(view: RunView, worker: int = 0, *, dark: bool = False) -> Exhibit | None:
    """A worker's confusion minus the one without the correction of the worker's group.

    None for methods without corrections, and at epochs of which none are kept. A click chooses the cell.

    Args:
        worker: number of the worker.
    """
    of_seeds = view.result.correction if view.at == "selected" else view.result.last.get("correction")
    if of_seeds is None or view.at not in ("selected", "last"):
        return None
    seeds = view.result.seeds
    shown = slice(None) if view.shown_seed is None else [seeds.index(view.shown_seed)]
    corrected, correction = (np.mean(part[shown], 0)[worker] for part in (view.own, of_seeds))
    called = view.workers[worker]
    figure = figures.confusion(
        [corrected, corrected - correction],
        [escaped(c) for c in view.classes],
        difference="only",
        dark=dark,
        title="Correction",
        subtitle=escaped(f"{called}: with the group's correction − without"),
    )
    table = cells(view.classes, share=corrected, correction=correction)
    alt = f"What the correction of the group of {called} changes in the confusion"
    return Exhibit("confusion-correction", "Correction", figure, table, (), alt, view.clicked)
