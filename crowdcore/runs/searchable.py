"""What a search can vary, and between which values it usually does: the papers', else around the default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdcore.learning.drafts import read_method
from crowdcore.learning.learners import Kind, about_method, training_schema
from crowdcore.runs.space import Choice, Range

# Settings that say how to judge or where to compute, not what to learn.
_FIXED = {"backbone", "backbone_settings", "select_on", "holdout", "holdout_seed", "feed", "stack", "record"}
_FIXED |= {"deterministic", "precision", "epochs", "patience"}
_OF_CLASSES = {"names", "augment"}
_PAPERS = {"embedding": (20, 80), "regularisation": (1e-6, 1e-4), "strength": (1e-3, 1e-1), "lr": (1e-4, 1e-2)}


def searchable(line: str, kind: Kind = "classes") -> dict[str, Range | Choice]:
    """Settings of the method and the trainer that can be varied, the method's first."""
    method, _ = read_method(line, kind)
    fixed = _FIXED | (_OF_CLASSES if kind == "ratings" else set())
    properties = {
        **about_method(method, kind)["schema"].get("properties", {}),
        **{k: v for k, v in training_schema()["properties"].items() if k not in fixed},
    }
    found = {name: _field(name, described) for name, described in properties.items()}
    return {name: field for name, field in found.items() if field is not None}


def usually_searched(line: str, kind: Kind = "classes") -> dict[str, Range | Choice]:
    """Those of `searchable` that the papers choose on the validation split."""
    return {name: values for name, values in searchable(line, kind).items() if name in _PAPERS}


def _field(name: str, described: Mapping[str, Any]) -> Range | Choice | None:
    kind = described.get("type")
    if "enum" in described:
        return Choice(values=tuple(described["enum"]))
    if kind == "boolean":
        return Choice(values=(False, True))
    if kind not in {"integer", "number"}:
        return None
    default = float(described["default"])
    low, high = _PAPERS.get(name, (default, default))
    if not low <= default <= high or low == high:  # another setting of that name, or one of ratings
        low, high = _around(default, described)
    return Range(low=low, high=high, log=low > 0 and high >= 20 * low, integer=kind == "integer")


def _around(value: float, described: Mapping[str, Any]) -> tuple[float, float]:
    """A tenth to ten times the default, within its bounds."""
    smallest = described.get("minimum", described.get("exclusiveMinimum", 0.0))
    largest = described.get("maximum", described.get("exclusiveMaximum"))
    if described.get("type") == "integer":
        return max(smallest, value // 4), max(value * 4, smallest + 1)
    if largest is not None:
        return smallest + 0.05 * (largest - smallest), smallest + 0.95 * (largest - smallest)
    return (value / 10, value * 10) if value else (1e-5, 1e-1)
