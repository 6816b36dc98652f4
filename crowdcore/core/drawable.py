"""Results as they may be shown: by which names workers go, and escaped for figures, as Plotly reads tags in names."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

import pandas as pd

T = TypeVar("T")


def escaped(text: object) -> str:
    """A name that Plotly shows as it is."""
    return html.escape(str(text), quote=False)


def drawable(result: T, called: Sequence[str] | None = None) -> T:
    """A copy of a result whose names of classes, tasks, workers and of itself are escaped.

    Works through the results that a result holds.

    Args:
        result: a frozen dataclass.
        called: (n_workers,) what to call the workers; default: their ids.
    """
    return _with_names(result, called, escaped)


def renamed(result: T, called: Sequence[str]) -> T:
    """A copy of a result, and of the results that it holds, in which workers go by these names."""
    return _with_names(result, called, str)


def _with_names(result: T, called: Sequence[str] | None, said: Callable[[object], str]) -> T:
    changes: dict[str, Any] = {}
    for key, value in vars(result).items():
        if key == "worker_ids":
            changes[key] = pd.Index([said(w) for w in (value if called is None else called)])
        elif key in ("task_ids", "names") and isinstance(value, pd.Index):
            changes[key] = pd.Index([said(name) for name in value])
        elif key in ("classes", "names") and isinstance(value, tuple):
            changes[key] = tuple(map(said, value))
        elif key == "name":
            changes[key] = said(value)
        elif is_dataclass(value):
            changes[key] = _with_names(value, called, said)
    return replace(result, **changes)  # type: ignore[type-var]
