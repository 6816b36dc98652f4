"""Every exhibit there is, by name: the public functions of this folder that make one of a view or of results.

Other packages add functions of their own by entry points of the group ``crowdcore.exhibits``.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
from collections.abc import Callable
from typing import Any

from crowdcore import exhibits
from crowdcore.core.errors import PluginError
from crowdcore.core.registry import load_plugin, plugged_in

_log = logging.getLogger("crowdcore")

MADE_OF = (
    *("View", "TaggedView", "RatingView", "RunView", "Sequence[RunView]", "Results", "AnyResults", "TrainingResult"),
    *("Mapping[str, TrainingResult]", "RatingDataset", "RatingResults"),
)
"""Types of the first argument of an exhibit's function."""


def catalogue() -> dict[str, Callable[..., Any]]:
    """Name -> function; the name is the function's, with dashes, of exhibits of ratings after ``ratings-``.

    >>> from crowdcore.exhibits.catalogue import catalogue
    >>> "shared-mistakes" in catalogue()
    True
    """
    functions: dict[str, Callable[..., Any]] = {}
    for info in pkgutil.iter_modules(exhibits.__path__):
        module = importlib.import_module(f"{exhibits.__name__}.{info.name}")
        for name, function in vars(module).items():
            if not name.startswith("_") and _makes_exhibits(inspect.unwrap(function), module.__name__):
                of_ratings = inspect.unwrap(function).__annotations__.get("view") == "RatingView"
                called = f"{'ratings-' * of_ratings}{name.replace('_', '-')}"
                assert called not in functions, f"two exhibits are called {called!r}"
                functions[called] = function
    return dict(sorted({**added(), **functions}.items()))


def added() -> dict[str, Callable[..., Any]]:
    """The exhibits of other packages; one that cannot be used is left out, and the log names it."""
    functions = {}
    for name, entry in plugged_in("crowdcore.exhibits").items():
        try:
            functions[name] = load_plugin("exhibit", entry, _problem_of)
        except PluginError as error:
            _log.warning("%s", error)
    return functions


def _problem_of(function: Any) -> str:
    fits = inspect.isfunction(function) and _made_of(function) in MADE_OF
    must = "is no function of a `view: View` that returns an `Exhibit`, in a file with postponed annotations"
    return "" if fits else must


def _made_of(function: Any) -> str:
    """The type of the first argument of a function that returns an exhibit."""
    kinds = list(inspect.unwrap(function).__annotations__.items())
    return str(kinds[0][1]) if len(kinds) > 1 and "Exhibit" in str(kinds[-1][1]) else ""


def _makes_exhibits(function: Any, module: str) -> bool:
    return inspect.isfunction(function) and function.__module__ == module and _made_of(function) in MADE_OF
