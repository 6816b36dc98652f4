"""Results as figures may show them: Plotly reads tags in names."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

import pandas as pd

__all__ = ["drawable", "escaped"]

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
    changes: dict[str, Any] = {}
    for key, value in vars(result).items():
        if key == "worker_ids":
            changes[key] = pd.Index([escaped(w) for w in (value if called is None else called)])
        elif key in ("task_ids", "names") and isinstance(value, pd.Index):
            changes[key] = pd.Index([escaped(name) for name in value])
        elif key in ("classes", "names") and isinstance(value, tuple):
            changes[key] = tuple(map(escaped, value))
        elif key == "name":
            changes[key] = escaped(value)
        elif is_dataclass(value):
            changes[key] = drawable(value, called)
    return replace(result, **changes)  # type: ignore[type-var]
