"""View -> `Exhibit`: figure, table, notes, alternative text and what a click selects, for every figure and table.

Pages, reports, the command line and Python show the same exhibit. Names are hidden and escaped here, once.

    >>> import crowdcore as cc
    >>> seen = cc.exhibits.view(cc.load_dataset("demo"), "gold")
    >>> cc.exhibits.mistakes.shared_mistakes(seen).table.columns[:3].tolist()
    ['true', 'given', 'percent']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import View, view

if TYPE_CHECKING:
    from crowdcore.exhibits import (
        aggregation,
        comparison,
        confusion_sources,
        confusions,
        contradicted,
        fits,
        label_differences,
        mistakes,
        omega,
        one_fit,
        overview,
        planted,
        recovered,
        recovery_study,
        tasks,
        training,
        worker_skills,
        workers,
    )

__all__ = [
    "Exhibit",
    "View",
    "aggregation",
    "comparison",
    "confusion_sources",
    "confusions",
    "contradicted",
    "fits",
    "label_differences",
    "mistakes",
    "omega",
    "one_fit",
    "overview",
    "planted",
    "recovered",
    "recovery_study",
    "tasks",
    "training",
    "view",
    "worker_skills",
    "workers",
]


def __getattr__(name: str) -> Any:
    """Import modules of exhibits on first use, so that pages begin to draw before figures can be."""
    if name in __all__:
        return importlib.import_module(f"crowdcore.exhibits.{name}")
    raise AttributeError(f"module 'crowdcore.exhibits' has no attribute {name!r}")
