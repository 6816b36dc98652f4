"""Warnings about differences between results that are compared, one sentence each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from crowdcore.analysis.recovery.seeds import seeds_comparable
from crowdcore.learning.comparison.features_seen import SEEN, features_seen
from crowdcore.learning.comparison.judged import gold_on_test
from crowdcore.learning.comparison.selected_by import WAYS, selected_by
from crowdcore.learning.results.result import TrainingResult

NAMES = {"as-trained": "as trained", "validation-gold": "matched on validation gold"}
"""How latent classes were matched to labels, in words."""
SELECTION = "what selected their epoch"


def names_by(result: TrainingResult) -> str:
    """How a result's latent classes got their names: a key of `NAMES`."""
    return str(result.training.get("names", "as-trained"))


def common_seeds(results: Sequence[TrainingResult]) -> tuple[int, ...]:
    """Seeds that all results have, in the order of the first."""
    return tuple(s for s in results[0].seeds if all(s in r.seeds for r in results)) if results else ()


def warnings(results: Mapping[str, TrainingResult]) -> list[str]:
    """What to bear in mind when these results stand side by side, one sentence each."""
    sentences = []
    telling: dict[str, Callable[[TrainingResult], str]] = {
        "their data": lambda r: f"{r.dataset} {r.fingerprint[:8]}",
        "the features": lambda r: r.inputs[:8] or "not recorded",
        "the features they saw without labels": lambda r: SEEN[features_seen(r)],
        SELECTION: lambda r: WAYS[selected_by(r.validated_on)],
        "how their classes got their names": lambda r: NAMES.get(names_by(r), names_by(r)),
        "the network": lambda r: f"{r.training.get('backbone')} {r.training.get('backbone_settings') or ''}".rstrip(),
        "crowdcore's version": lambda r: r.versions.get("crowdcore", ""),
    }
    for what, value in telling.items():
        groups = _groups(results, value)
        if len(groups) > 1:
            remedy = " Compare them at their last epoch." if what == SELECTION else ""
            sentences.append(f"These runs differ in {what}: {_listed(groups)}.{remedy}")
    for way in WAYS:
        groups = _groups({n: r for n, r in results.items() if selected_by(r.validated_on) == way}, _validated_on)
        if len(groups) > 1:
            sentences.append(f"These runs were not validated on the same tasks: {_listed(groups)}.")
    shared = common_seeds(list(results.values()))
    if any(len(r.seeds) != len(shared) for r in results.values()):
        sentences.append(
            f"The runs have different seeds; {len(shared)} are in all, and tests over seeds rest on those alone."
        )
    for dataset, r in {r.dataset: r for r in results.values()}.items():
        classes = np.unique(gold_on_test(r))
        if len(classes) == 1:
            sentences.append(
                f"All test tasks of {dataset} with gold are of the class {r.classes[classes[0]]!r}: accuracy measures "
                "only how often this class is predicted."
            )
    return sentences


def _validated_on(result: TrainingResult) -> str:
    return result.validated_on


def _groups(results: Mapping[str, TrainingResult], value: Callable[[TrainingResult], str]) -> dict[str, list[str]]:
    """Value -> the results that have it."""
    groups: dict[str, list[str]] = {}
    for name, r in results.items():
        groups.setdefault(value(r), []).append(name)
    return groups


def _listed(groups: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{value}: {' · '.join(who)}" for value, who in groups.items())


def shown_seed(result: TrainingResult) -> tuple[int | None, str]:
    """None for the mean over seeds, or the first seed where they are not comparable; and why, as a sentence."""
    confusion = result.worker_confusion if result.worker_confusion is not None else result.common_confusion
    if confusion is None:
        return None, ""
    judged = seeds_comparable(
        confusion if confusion.ndim == 4 else confusion[:, None],
        result.selected_epoch,
        seeds=result.seeds,
        classes=result.classes,
        at_last=not result.validated_on,
    )
    seed = result.seeds[0]
    return (None, "") if judged else (seed, f"Seed {seed} is shown, not the mean over seeds: {judged.reason}.")
