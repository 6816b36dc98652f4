"""The metrics measured after every epoch: their names, and a table of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import SPLITS
from crowdcore.learning.selection_score import SCORES

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


def curve_metrics(found: Iterable[str]) -> dict[str, str]:
    """Metric -> what it is, of those found, the most telling first."""
    names = dict.fromkeys(found)
    return {
        name: in_words(name) for name in [*(n for n in _WORDS if n in names), *(n for n in names if n not in _WORDS)]
    }


def in_words(metric: str) -> str:
    """What a metric is called where people read it; one that a method has named itself goes by its name."""
    return _WORDS.get(metric, metric.replace("_", " ").capitalize())


def is_share(metric: str) -> bool:
    """Whether a metric is a share of tasks, written as a percentage."""
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
