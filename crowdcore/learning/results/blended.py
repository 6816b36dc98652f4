"""The results of several methods as one: the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import softmax

from crowdcore.core.spelling import Part
from crowdcore.core.types import FloatArray
from crowdcore.learning.results.result import TrainingResult

_SMALLEST = 1e-30


def raised(p: FloatArray, power: float) -> FloatArray:
    """Probabilities to a power, rows (the last axis) sum to 1."""
    found: FloatArray = softmax(power * np.log(np.maximum(p, _SMALLEST)), axis=-1)
    return found


def blended(results: Sequence[TrainingResult], parts: Sequence[Part]) -> TrainingResult:
    """Probabilities are the mean of the parts, and the classifier is a `Blend`; the rest is the first result's.

    Args:
        results: of the same tasks and seeds.
        parts: weight and power of each, weights with sum 1.
    """
    first = results[0]
    if len(results) == 1:
        return first
    model = {name: value for name, value in first.model.items() if not name.startswith("classifier.")}
    for k, result in enumerate(results):
        own = {n.removeprefix("classifier."): v for n, v in result.model.items() if n.startswith("classifier.")}
        model |= {f"classifier.parts.{k}.{name}": value for name, value in own.items()}
    model["classifier.order"] = np.stack([result.names["selected"] for result in results], 1)
    as_named = np.broadcast_to(np.arange(len(first.classes)), first.names["selected"].shape).copy()
    note = (
        f"Probabilities are the weighted mean of {len(results)} methods'; curves, confusions, ω and the posterior of "
        f"training tasks are those of {first.method}."
    )
    return replace(
        first,
        model=model,
        names=dict.fromkeys(first.names, as_named),
        probabilities={
            at: np.sum(
                [p.weight * raised(r.probabilities[at], p.power) for p, r in zip(parts, results, strict=True)], axis=0
            ).astype(np.float32)
            for at in first.probabilities
        },
        seconds=sum(result.seconds for result in results),
        notes=tuple(dict.fromkeys([note, *(line for result in results for line in result.notes)])),
    )
