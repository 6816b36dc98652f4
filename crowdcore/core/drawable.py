"""Copies of results with other names of workers, or with names escaped for Plotly, which reads tags in them."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

import pandas as pd

T = TypeVar("T")


def escaped(text: object) -> str:
    """Escape a name, so that Plotly shows it literally."""
    return html.escape(str(text), quote=False)


def drawable(result: T, called: Sequence[str] | None = None) -> T:
    """Copy a result, and the results in it, with all names escaped: of classes, tasks, workers and of itself.

    Args:
        result: a frozen dataclass.
        called: (n_workers,) names of the workers; default: their ids.
    """
    return _with_names(result, called, escaped)


def renamed(result: T, called: Sequence[str]) -> T:
    """Copy a result, and the results in it, with these names of the workers."""
    return _with_names(result, called, str)


def _with_names(result: T, called: Sequence[str] | None, convert: Callable[[object], str]) -> T:
    changes: dict[str, Any] = {}
    for key, value in vars(result).items():
        if key == "worker_ids":
            changes[key] = pd.Index([convert(w) for w in (value if called is None else called)])
        elif key in ("task_ids", "names") and isinstance(value, pd.Index):
            changes[key] = pd.Index([convert(name) for name in value])
        elif key in ("classes", "names") and isinstance(value, tuple):
            changes[key] = tuple(map(convert, value))
        elif key == "name":
            changes[key] = convert(value)
        elif is_dataclass(value):
            changes[key] = _with_names(value, called, convert)
    return replace(result, **changes)  # type: ignore[type-var]
