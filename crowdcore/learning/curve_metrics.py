"""The metrics measured after every epoch: names, tables, and the score on validation that chooses runs and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import SPLITS
from crowdcore.data.ratings import Labelled
from crowdcore.data.tags import scheme_of

T = TypeVar("T", float, FloatArray)


@dataclass(frozen=True)
class SelectionScore:
    """A number of the validation split.

    Args:
        metric: name of its curve.
        measure: what it measures, in words.
        lowest: whether a lower one is better.
    """

    metric: str
    measure: str
    lowest: bool = False

    @property
    def words(self) -> str:
        """Name in sentences."""
        return f"validation {self.measure}"

    @property
    def on_test(self) -> str:
        """Name of the curve of the same on the test split."""
        return self.metric.replace("valid_", "test_")

    @property
    def recorded(self) -> str:
        """Name among the scores of a run, at the selected epoch."""
        return f"{self.metric}_selected"

    @property
    def column(self) -> str:
        """Name in tables of trials."""
        return self.metric.replace("valid_", "validation_")

    def better(self, value: T) -> T:
        """Change the sign where lower is better."""
        return -value if self.lowest else value


ACCURACY = SelectionScore("valid_accuracy", "accuracy")
SPAN_F1 = SelectionScore("valid_span_f1", "F1 of spans")
RMSE = SelectionScore("valid_rmse", "RMSE", lowest=True)
SCORES: Mapping[str, SelectionScore] = {score.metric: score for score in (SPAN_F1, RMSE, ACCURACY)}
"""Name of the curve -> score; of several in a run, the first counts."""


def selection_score(dataset: Labelled) -> SelectionScore:
    """Score that chooses results on a dataset; F1 of spans for taggers, as nearly all tokens are outside of spans.

    Examples:
        >>> import crowdcore as cc
        >>> selection_score(cc.data.simulate.tags(n_sentences=5)).words
        'validation F1 of spans'
    """
    if dataset.kind.numeric:
        return RMSE
    return ACCURACY if scheme_of(dataset) is None else SPAN_F1


def recorded_score(scores: Mapping[str, float]) -> SelectionScore | None:
    """The score that a run was chosen by; None where nothing was validated."""
    return next((score for score in SCORES.values() if score.recorded in scores), None)


def selecting(metrics: Mapping[str, FloatArray]) -> tuple[FloatArray | None, FloatArray | None]:
    """Values that select an epoch, (S,) higher is better, and that break ties, (S,) lower is better.

    None where nothing was validated.
    """
    score = next((score for score in SCORES.values() if score.metric in metrics), None)
    if score is None:
        return None, None
    value = score.better(metrics[score.metric])
    return value, metrics.get("valid_nll", -value)


_WORDS = {
    "test_span_f1": "F1 of spans, test",
    "valid_span_f1": "F1 of spans, validation",
    "test_rmse": "Root mean squared error, test",
    "valid_rmse": "Root mean squared error, validation",
    "test_mae": "Mean absolute error, test",
    "valid_mae": "Mean absolute error, validation",
    "test_r2": "R², test",
    "valid_r2": "R², validation",
    "test_accuracy": "Accuracy, test",
    "valid_accuracy": "Accuracy, validation",
    "train_accuracy": "Accuracy, training",
    "loss": "Loss",
    "worker_recovery_error": "Error of the workers' confusions",
    "common_recovery_error": "Error of the common confusion",
    "worker_moved": "How far the workers' confusions moved from their start",
    "common_moved": "How far the common confusion moved from its start",
    "omega_std": "Spread of ω over annotations",
    "test_nll": "Negative log-likelihood, test",
    "valid_nll": "Negative log-likelihood, validation",
    "train_rmse": "Root mean squared error, training",
    "train_mae": "Mean absolute error, training",
    "train_r2": "R², training",
    "train_nll": "Negative log-likelihood, training",
    "squared_error": "Squared error of the ratings",
    "mixing": "Squared error of what the other workers make of them",
    "cross_entropy": "Cross-entropy of the labels",
    "likelihood": "Negative log-likelihood of the labels",
    "distance": "Penalty on distances between confusions",
    "trace": "Penalty on the trace of the confusions",
    **{f"best_{score.metric}": f"Best {score.words} so far" for score in SCORES.values()},
}


def curve_metrics(metrics: Iterable[str]) -> dict[str, str]:
    """Metric -> its title, the most informative first."""
    names = dict.fromkeys(metrics)
    return {name: in_words(name) for name in {**_WORDS, **names} if name in names}


def in_words(metric: str) -> str:
    """Title of a metric; one that a method names itself keeps its name."""
    return _WORDS.get(metric, metric.replace("_", " ").capitalize())


def is_share(metric: str) -> bool:
    """Return True for a metric that is a share of tasks, written as a percentage."""
    return metric.endswith(("_accuracy", "_f1"))


def curve_table(curves: Mapping[str, FloatArray], seeds: Sequence[int]) -> pd.DataFrame:
    """(epochs, S) curves as a long table: seed, epoch (from 1), split, metric, value."""
    frames = []
    for name, rows in curves.items():
        head, _, tail = name.partition("_")
        split, metric = (head, tail) if head in SPLITS else ("train", name)
        epoch, s = (index.ravel() for index in np.indices(rows.shape))
        of = {"seed": np.asarray(seeds)[s], "epoch": epoch + 1, "split": split, "metric": metric}
        frames.append(pd.DataFrame({**of, "value": rows.ravel()}))
    return pd.concat(frames, ignore_index=True).dropna(subset="value", ignore_index=True)
