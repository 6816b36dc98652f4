"""The results of several methods as one: the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from crowdcore.learning.results.result import TrainingResult

__all__ = ["blended"]


def blended(results: Sequence[TrainingResult], weights: Sequence[float]) -> TrainingResult:
    """Probabilities are the weighted mean, and the classifier is a `Blend`; the rest is the first result's.

    Args:
        results: of the same tasks and seeds.
        weights: of each, sum 1.
    """
    first = results[0]
    if len(results) == 1:
        return first
    model = {name: value for name, value in first.model.items() if not name.startswith("classifier.")}
    for k, result in enumerate(results):
        parts = {n.removeprefix("classifier."): v for n, v in result.model.items() if n.startswith("classifier.")}
        model |= {f"classifier.parts.{k}.{name}": value for name, value in parts.items()}
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
            at: np.average([r.probabilities[at] for r in results], axis=0, weights=weights).astype(np.float32)
            for at in first.probabilities
        },
        seconds=sum(result.seconds for result in results),
        notes=tuple(dict.fromkeys([note, *(line for result in results for line in result.notes)])),
    )
