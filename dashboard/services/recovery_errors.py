"""How far recovered confusions are from the truth of a simulation, or from what the labels show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.panels import OBSERVED, TRUTH, has_truth, panel, side_by_side

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.core.types import FloatArray
    from dashboard.services.recovered import View

__all__ = ["error_in_words", "errors", "errors_in_words"]


@kept
def errors(opened: CrowdDataset, which: str, source: View) -> tuple[FloatArray, FloatArray]:
    """(R,) and (G,) errors of a source's matrices, from the truth where there is one, else from the observed ones."""
    from crowdcore import analysis

    basis = source._replace(run=TRUTH if has_truth(opened) else OBSERVED)
    shown, compared = panel(opened, which, source), panel(opened, which, basis)
    none = np.full(len(shown.matrices), np.nan)
    if source.run == basis.run:
        return none, none
    alike = source.part != "own" or OBSERVED not in {source.run, basis.run}  # labels show no worker's own part
    own = analysis.confusion_error(shown.matrices, compared.matrices) if alike else none
    if shown.common is None or compared.common is None or len(compared.common) > 1:  # groups have no order to go by
        return own, none
    if source.run == OBSERVED and has_truth(opened):  # labels show no common confusion by itself
        return own, none
    return own, analysis.confusion_error(shown.common, compared.common)


def error_in_words(name: str, which: str, source: View, at: int) -> str:
    """What stands beneath a matrix; empty where it has nothing to be compared with."""
    own, common = errors(name, which, source)
    if at < 0 and panel(name, which, source).common is None:
        return "no common confusion"
    value = float(own[at] if at >= 0 else common[-1 - at])
    return "" if value != value else f"{'error' if has_truth(name) else 'distance'} {value:.4f}"


def errors_in_words(name: str, which: str, view: View) -> str:
    """What the errors are, and their means over workers."""
    some = dataset(name).labels_per_worker > 0
    means = {}
    for source in side_by_side(name, view):
        own = errors(name, which, source)[0][some]
        if not np.isnan(own).all():
            means[panel(name, which, source).name] = float(np.nanmean(own))
    kind, basis = ("Error", "the simulation's truth") if has_truth(name) else ("Distance", "the observed one")
    listed = ", ".join(f"{words} {value:.4f}" for words, value in means.items())
    mean = f" Mean over {int(some.sum())} workers: {listed}." if listed else ""
    return f"{kind}: mean over the rows of the squared distance from {basis}.{mean}"
