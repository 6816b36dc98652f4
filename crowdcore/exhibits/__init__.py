"""View -> `Exhibit`: figure, table, notes, alternative text and what a click selects, for every figure and table.

Pages, reports, the command line and Python show the same exhibit. Names are hidden and escaped here, once.

    >>> import crowdcore as cc
    >>> seen = cc.exhibits.view(cc.load_dataset("demo"), "gold")
    >>> cc.exhibits.mistakes.shared_mistakes(seen).table.columns[:3].tolist()
    ['true', 'given', 'percent']
"""

import warnings
from typing import Any

import lazy_loader

from crowdcore.exhibits.view import View, view  # noqa: F401  # at once: a module has the same name

_MOVED = {
    "check": "overview",
    "confusion_sources": "confusions",
    "contradicted": "recovered",
    "corrections": "recovered",
    "found_spans": "comparison",
    "label_differences": "differences",
    "next_labels": "review",
    "one_fit": "aggregation",
    "planted_ratings": "planted",
    "planted_tags": "planted",
    "rating_biases": "ratings",
    "rating_results": "comparison",
    "rating_tasks": "ratings",
    "recovery_study": "planted",
    "spans": "mistakes",
    "training": "comparison",
    "tried": "comparison",
}
"""Module of crowdcore 0.3 -> where its functions are now; the old names go with the next release."""
_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in _MOVED:
        now = f"crowdcore.exhibits.{_MOVED[name]}"
        warnings.warn(f"crowdcore.exhibits.{name} is now in {now}", DeprecationWarning, stacklevel=2)
        return _load(_MOVED[name])
    return _load(name)
