"""Every exhibit there is, by name: the public functions of this folder that make one of a view or of results."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

from crowdcore import exhibits

MADE_OF = (
    *("View", "TaggedView", "RatingView", "RunView", "Sequence[RunView]", "Results", "AnyResults", "TrainingResult"),
    *("Mapping[str, TrainingResult]", "RatingDataset", "RatingResults"),
)
"""What the first argument of an exhibit's function may be."""


def catalogue() -> dict[str, Callable[..., Any]]:
    """Name -> function; the name is the function's, with dashes, of exhibits of ratings after ``ratings-``.

    >>> from crowdcore.exhibits.catalogue import catalogue
    >>> "shared-mistakes" in catalogue()
    True
    """
    found: dict[str, Callable[..., Any]] = {}
    for info in pkgutil.iter_modules(exhibits.__path__):
        module = importlib.import_module(f"{exhibits.__name__}.{info.name}")
        for name, function in vars(module).items():
            if not name.startswith("_") and _makes_exhibits(inspect.unwrap(function), module.__name__):
                of_ratings = inspect.unwrap(function).__annotations__.get("view") == "RatingView"
                called = f"{'ratings-' * of_ratings}{name.replace('_', '-')}"
                assert called not in found, f"two exhibits are called {called!r}"
                found[called] = function
    return dict(sorted(found.items()))


def _makes_exhibits(function: Any, module: str) -> bool:
    if not inspect.isfunction(function) or function.__module__ != module:
        return False
    kinds = list(function.__annotations__.items())
    return len(kinds) > 1 and kinds[0][1] in MADE_OF and "Exhibit" in str(kinds[-1][1])
