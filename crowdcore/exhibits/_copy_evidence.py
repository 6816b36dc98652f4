"""Pairs of workers, judged as copying is: by gold or marks, and without any by the majority vote."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crowdcore import analysis
from crowdcore.analysis.coordinated.pairs import copy_reference
from crowdcore.exhibits.view import View, named

if TYPE_CHECKING:
    from crowdcore.analysis import PairMistakes


def copy_evidence(view: View) -> PairMistakes:
    """The pairs by `copy_reference`, computed once for all views that it judges alike."""
    by = copy_reference(view.truth)
    judged = replace(view, truth=named(view.dataset, by)) if isinstance(by, str) else view
    return judged.of(analysis.pair_mistakes)
