"""Predicted labels of several results, to compare with each other and with gold, and counts of labels by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import softmax

from crowdcore.analysis.reference import Reference
from crowdcore.analysis.spans import compare_tags
from crowdcore.core.counts import soft_confusion_counts
from crowdcore.core.errors import DataError
from crowdcore.core.spelling import Part
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.tags import TagScheme

if TYPE_CHECKING:
    from crowdcore.learning.results.result import TrainingResult

GOLD = "gold"
_SPLITS = ("train", "valid", "test", "unlabelled")


def labellings(
    results: Mapping[str, TrainingResult], dataset: CrowdDataset, split: str = "all"
) -> dict[str, Reference]:
    """Gold, where there is some, and each result's most probable classes (mean over seeds) on the tasks of a split.

    Args:
        results: name -> result on this dataset.
        dataset: their dataset.
        split: train, valid, test: the role of the tasks in the first result; or all.
    """
    inside, gold = _tasks(results, dataset, split), gold_of(results, dataset, split)
    references = {GOLD: Reference(GOLD, gold)} if (gold >= 0).any() else {}
    for name, result in results.items():
        posterior = result.mean_posterior(dataset.n_tasks)
        known = inside & ~np.isnan(posterior[:, 0])
        labels = np.full(dataset.n_tasks, -1, np.int32)
        labels[known] = posterior[known].argmax(1)
        references[name] = Reference(name, labels, posterior)
    return references


def gold_of(results: Mapping[str, TrainingResult], dataset: CrowdDataset, split: str = "all") -> IntArray:
    """(n_tasks,) gold of the tasks of a split, -1 elsewhere."""
    return np.where(_tasks(results, dataset, split), dataset.gold, -1)


def _tasks(results: Mapping[str, TrainingResult], dataset: CrowdDataset, split: str) -> BoolArray:
    first = next(iter(results.values()))
    inside = np.zeros(dataset.n_tasks, bool)
    inside[first.task if split == "all" else first.task[first.split == _SPLITS.index(split)]] = True
    return inside


def tagged_spans(
    dataset: CrowdDataset, result: TrainingResult, split: str = "test", at: Literal["selected", "last"] = "selected"
) -> pd.DataFrame:
    """Agreement of the spans of the most probable tags with the true ones.

    Args:
        dataset: dataset of the run.
        result: result on a crowd that tags tokens.
        split: train, valid, test or unlabelled.
        at: epoch.

    Returns:
        One row per seed: seed, precision, recall, f1 (of spans, as seqeval counts them) and token_accuracy.

    Raises:
        DataError: the crowd does not tag tokens, the dataset is another one, or no gold is known there.
    """
    if result.fingerprint != dataset.fingerprint:
        raise DataError(f"The run was trained on other data than the present {dataset.name}", "Train again.")
    sentence = None if dataset.sentences is None else dataset.sentences.of_task[result.task]
    return span_scores(replace(result, sentence=sentence), split, at)


def span_scores(
    result: TrainingResult, split: str = "test", at: Literal["selected", "last"] = "selected"
) -> pd.DataFrame:
    """`tagged_spans` of a result alone."""
    scheme = TagScheme.of(result.classes)
    if result.sentence is None or scheme is None:
        raise DataError(f"The labels of {result.dataset} are not tags of tokens", "Spans are of sentences only.")
    rows = result.split == _SPLITS.index(split)
    truth, tags = result.gold[rows], result.posterior(split, at).argmax(-1)
    known = truth >= 0
    if not known.any():
        raise DataError(f"{result.dataset} has no gold labels in split {split!r}", "No span can be judged there.")
    truth, task, sentence = truth[known], result.task[rows][known], result.sentence[rows][known]
    table = []
    for seed, given in zip(result.seeds, tags, strict=True):
        spans = compare_tags(truth, given[known], task, sentence, scheme)
        table.append((seed, spans.precision, spans.recall, spans.f1, spans.token_accuracy))
    return pd.DataFrame(table, columns=["seed", "precision", "recall", "f1", "token_accuracy"])


_SMALLEST = 1e-30


def raised(p: FloatArray, power: float) -> FloatArray:
    """Raise probabilities to a power; rows (the last axis) sum to 1."""
    powered: FloatArray = softmax(power * np.log(np.maximum(p, _SMALLEST)), axis=-1)
    return powered


def blended(results: Sequence[TrainingResult], parts: Sequence[Part]) -> TrainingResult:
    """Blend results: probabilities are their mean, the classifier is a `Blend`; the rest is the first result's.

    Args:
        results: results on the same tasks and seeds.
        parts: weight and power of each; weights sum to 1.
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


def worker_counts(
    result: TrainingResult, dataset: CrowdDataset, at: Literal["selected", "last"] | int = "selected"
) -> FloatArray | None:
    """(S, R, C, C) labels of each worker by class, each counted against the run's posterior without it.

    Results of earlier versions hold none: their labels are counted against the run's posterior as it is, or without one
    by its classifier.

    Args:
        result: result of a run on this dataset.
        dataset: the dataset.
        at: epoch; the result is None for other ones than selected and last, whose predictions are not kept.
    """
    if at not in ("selected", "last"):
        return None
    parts = {"worker_counts": result.worker_counts, "q": result.q} if at == "selected" else result.last
    if (kept := parts.get("worker_counts")) is not None:
        return np.asarray(kept, np.float64)
    rows = result.split == 0
    train = result.task[rows]
    position = np.full(dataset.n_tasks, -1, np.int32)
    position[train] = np.arange(len(train))
    used = position[dataset.task] >= 0
    columns = position[dataset.task][used], dataset.worker[used], dataset.label[used]
    if (q := parts.get("q")) is not None:
        soft = [one.astype(np.float64) for one in q]
        return np.stack([soft_confusion_counts(*columns, one, dataset.n_workers) for one in soft])
    from crowdcore.learning.counted import counts_of_seeds  # loads torch, which stored counts do not need

    p = result.probabilities[at][:, rows].astype(np.float64)
    return counts_of_seeds(columns, np.log(np.maximum(p, 1e-12)), dataset.n_workers)
