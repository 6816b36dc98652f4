"""Comparability of results: selection, features seen, shared test tasks; warnings about differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from crowdcore.core import spelling
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.learning.results.result import Result, TrainingResult
from crowdcore.learning.validation import WAYS, selected_by

NAMES = {"as-trained": "as trained", "validation-gold": "matched on validation gold"}
"""Ways to name latent classes, in words."""
SELECTION = "what selected their epoch"


def names_by(result: TrainingResult) -> str:
    """Way in which a result's latent classes were named: a key of `NAMES`."""
    return str(result.training.get("names", "as-trained"))


def common_seeds(results: Sequence[TrainingResult]) -> tuple[int, ...]:
    """Seeds that all results have, in the order of the first."""
    return tuple(s for s in results[0].seeds if all(s in r.seeds for r in results)) if results else ()


def warnings(results: Mapping[str, TrainingResult]) -> list[str]:
    """Differences between results that limit their comparison, one sentence each."""
    sentences = []
    properties: dict[str, Callable[[TrainingResult], str]] = {
        "their data": lambda r: f"{r.dataset} {r.fingerprint[:8]}",
        "the features": lambda r: r.inputs[:8] or "not recorded",
        "the features they saw without labels": lambda r: SEEN[features_seen(r)],
        SELECTION: lambda r: WAYS[selected_by(r.validated_on)],
        "how their classes got their names": lambda r: NAMES.get(names_by(r), names_by(r)),
        "the network": lambda r: f"{r.training.get('backbone')} {r.training.get('backbone_settings') or ''}".rstrip(),
        "crowdcore's version": lambda r: r.versions.get("crowdcore", ""),
    }
    for name, value in properties.items():
        groups = _group_by(results, value)
        if len(groups) > 1:
            remedy = " Compare them at their last epoch." if name == SELECTION else ""
            sentences.append(f"These runs differ in {name}: {_list_groups(groups)}.{remedy}")
    for way in WAYS:
        members = {name: r for name, r in results.items() if selected_by(r.validated_on) == way}
        groups = _group_by(members, lambda r: r.validated_on)
        if len(groups) > 1:
            sentences.append(f"These runs were not validated on the same tasks: {_list_groups(groups)}.")
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


def _group_by(results: Mapping[str, TrainingResult], value: Callable[[TrainingResult], str]) -> dict[str, list[str]]:
    """Value -> names of the results with it."""
    groups: dict[str, list[str]] = {}
    for name, r in results.items():
        groups.setdefault(value(r), []).append(name)
    return groups


def _list_groups(groups: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{value}: {' · '.join(names)}" for value, names in groups.items())


Seen = Literal["no", "validation", "all"]
SEEN: Mapping[Seen, str] = {"no": "none", "validation": "validation features", "all": "the test features themselves"}
"""Value of the setting ``unlabelled`` -> features without labels that a method saw, in words."""


def features_seen(result: TrainingResult) -> Seen:
    """Features without labels that a run saw, or any part of the mean that it chose; most methods see none."""
    parts = spelling.read_mean(result.settings.get("chosen") or result.method)
    own = [result.settings, *(spelling.read(part.line)[1] for part in parts)]
    return max((settings.get("unlabelled", "no") for settings in own), key=list(SEEN).index)


def explain_incomparable(results: Iterable[TrainingResult]) -> str:
    """Reason why results must not be tested against each other, one sentence; "" if all saw the same features."""
    kinds = {features_seen(r) for r in results}
    words = "; ".join(SEEN[kind] for kind in SEEN if kind in kinds)
    if len(kinds) < 2:
        return ""
    return (
        f"These runs saw different features without labels ({words}), so they cannot be tested against each other. "
        "Compare runs of one kind."
    )


TEST = 2
"""The test split among the splits of a result."""
Kept = Literal["selected", "last"]


@dataclass(frozen=True, eq=False)
class JudgedTasks:
    """Results on the same n test tasks with gold.

    Attributes:
        task: (n,) task numbers of the dataset.
        right: name -> (S, n) True where a seed is right.
        ensemble: name -> (n,) True where the mean of the seeds' probabilities is right.
    """

    task: IntArray
    right: Mapping[str, BoolArray]
    ensemble: Mapping[str, BoolArray]


def ensemble(posterior: FloatArray) -> FloatArray:
    """(S, n, C) class probabilities -> (n, C) float64 mean over seeds, the prediction of all replicas together."""
    return np.asarray(posterior.mean(0, dtype=np.float64))


def judge_tasks(results: Mapping[str, TrainingResult], at: Kept | Mapping[str, Kept] = "selected") -> JudgedTasks:
    """Judge results by gold on shared test tasks; there are none if the datasets differ.

    Args:
        results: name -> result.
        at: the epoch, of all or by name.
    """
    same = len({r.fingerprint for r in results.values()}) == 1
    tasks = (r.task[(r.split == TEST) & (r.gold >= 0)] for r in results.values())
    shared = reduce(np.intersect1d, tasks) if same else np.empty(0, np.int64)
    right: dict[str, BoolArray] = {}
    together: dict[str, BoolArray] = {}
    for name, r in results.items():
        rows = np.flatnonzero(np.isin(r.task, shared) & (r.split == TEST))
        rows = rows[np.argsort(r.task[rows])]
        epoch = at if isinstance(at, str) else at[name]
        posterior = r.probabilities[epoch][:, rows]
        right[name] = posterior.argmax(-1) == r.gold[rows]
        together[name] = ensemble(posterior).argmax(-1) == r.gold[rows]
    return JudgedTasks(shared, right, together)


def gold_on_test(result: Result) -> IntArray | FloatArray:
    """(n,) gold of the test tasks with gold."""
    return np.asarray(result.gold[(result.split == TEST) & result.known])


def explain_missing_gold(results: Sequence[Result]) -> str:
    """Reason why test accuracy or error cannot be measured, one sentence; "" if it can."""
    if any(len(gold_on_test(r)) for r in results):
        return ""
    names = ", ".join(dict.fromkeys(r.dataset for r in results))
    score = "error" if any(r.numeric for r in results) else "accuracy"
    if any((r.split == TEST).any() for r in results):
        return f"The test split of {names} has no gold labels, so {score} cannot be measured."
    return f"{names} has no test split, so {score} cannot be measured. Give some tasks with gold the split 'test'."
