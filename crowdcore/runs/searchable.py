"""What a search can vary, and between which values it usually does: the papers', else around the default."""

from __future__ import annotations

from crowdcore.core.settings import FormField, form_fields
from crowdcore.learning.learners import Kind, about_method, read_method
from crowdcore.learning.settings import TrainSettings
from crowdcore.runs.space import Choice, Range

# Settings that say how to judge or where to compute, not what to learn.
_FIXED = {"backbone", "backbone_settings", "select_on", "holdout"}
_FIXED |= {"standardise", "deterministic", "precision", "epochs", "patience"}
_OF_CLASSES = {"names", "augment"}
_PAPERS = {"embedding": (20, 80), "regularisation": (1e-6, 1e-4), "strength": (1e-3, 1e-1), "lr": (1e-4, 1e-2)}


def searchable(line: str, kind: Kind = "classes") -> dict[str, Range | Choice]:
    """Settings of the method and the trainer that can be varied, the method's first."""
    method, _ = read_method(line, kind)
    fixed = _FIXED | (_OF_CLASSES if kind == "ratings" else set())
    trained = {name: field for name, field in form_fields(TrainSettings).items() if name not in fixed}
    ranges = {name: _range(field) for name, field in {**about_method(method, kind).fields, **trained}.items()}
    return {name: values for name, values in ranges.items() if values is not None}


def usually_searched(line: str, kind: Kind = "classes") -> dict[str, Range | Choice]:
    """Those of `searchable` that the papers choose on the validation split."""
    return {name: values for name, values in searchable(line, kind).items() if name in _PAPERS}


def _range(field: FormField) -> Range | Choice | None:
    """Values to try, or None for a setting that is text, a list, or empty by default."""
    if field.choices:
        return Choice(values=field.choices)
    if field.kind == "boolean":
        return Choice(values=(False, True))
    if field.kind not in {"integer", "number"} or field.optional:
        return None
    default, integer = float(field.default), field.kind == "integer"
    low, high = _PAPERS.get(field.name, (default, default))
    if not low <= default <= high or low == high:  # another setting of that name, or one of ratings
        low, high = _around(default, field)
    return Range(low=low, high=high, log=low > 0 and high >= 20 * low, integer=integer)


def _around(value: float, field: FormField) -> tuple[float, float]:
    """A tenth to ten times the default, within its bounds."""
    smallest, largest = field.low or 0.0, field.high
    if field.kind == "integer":
        return max(smallest, value // 4), max(value * 4, smallest + 1)
    if largest is not None:
        return smallest + 0.05 * (largest - smallest), smallest + 0.95 * (largest - smallest)
    return (value / 10, value * 10) if value else (1e-5, 1e-1)
