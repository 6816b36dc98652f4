"""`CrowdClassifier`: the methods behind scikit-learn's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError, need_extra
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning.api import train

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise need_extra("CrowdClassifier", "sklearn") from error


class CrowdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier trained on the labels of many workers.

    Args:
        method: one of `crowdcore.learning.methods.names`.
        backbone: name of the network.
        epochs: passes over the tasks.
        batch_size: tasks per step.
        lr: learning rate; None = the method's default.
        seed: of initialisation, order and dropout.
        device: "auto", "cpu", "cuda".
        settings: further settings of trainer and method.

    Attributes:
        classes_: the labels in the order of `predict_proba`'s columns.
        workers_: the workers in the order of the recovered confusions.
        result_: the `TrainingResult`.
        n_features_in_: features of a task.
    """

    def __init__(
        self,
        method: str = "conal",
        backbone: str = "mlp",
        epochs: int = 100,
        batch_size: int = 64,
        lr: float | None = None,
        seed: int = 0,
        device: str = "auto",
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.backbone = backbone
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.seed = seed
        self.device = device
        self.settings = settings

    def fit(self, X: AnyArray, y: pd.DataFrame | AnyArray) -> CrowdClassifier:
        """Train.

        Args:
            X: (n_tasks, n_features), or images (n_tasks, H, W[, channels]).
            y: annotations; a frame with the columns task (row of X), worker, label; or, so that cross-validation
                can split it with X, a matrix (n_tasks, n_workers) in which -1, NaN or None means no label, or the
                labels (n_tasks,) of a single worker.

        Raises:
            DataError: annotations of tasks that X does not have, NaN in X, no annotations.
        """
        if (rows := np.asarray(X)).ndim == 1:
            raise SettingError("X", "have one row per task", rows.shape)
        X = self._check_features(X)
        task, worker, label, workers, classes = _annotations(y, len(X))
        dataset = CrowdDataset(
            "X",
            tuple(map(str, classes)),
            pd.Index(np.arange(len(X)).astype(str)),
            pd.Index(workers.astype(str)),
            task,
            worker,
            label,
            features=Rows.from_array(X),
        )
        given = {"epochs": self.epochs, "batch_size": self.batch_size, "backbone": self.backbone}
        given |= {} if self.lr is None else {"lr": self.lr}
        self.result_ = train(
            dataset, self.method, seeds=[self.seed], device=self.device, **{**given, **(self.settings or {})}
        )
        self.classes_, self.workers_ = classes, workers
        return self

    def _check_features(self, X: AnyArray, first: bool = True) -> AnyArray:
        """(n_tasks, …) numbers, with the features of the first fit; NaN is refused where tasks are named."""
        rows: AnyArray = validate_data(self, X, reset=first, allow_nd=True, ensure_all_finite=not first)
        return rows

    def predict_proba(self, X: AnyArray) -> FloatArray:
        """(n_tasks, C) class probabilities, columns in the order of ``classes_``."""
        check_is_fitted(self)
        probabilities: FloatArray = self.result_.predict_proba(self._check_features(X, first=False))[0]
        return probabilities

    def predict(self, X: AnyArray) -> AnyArray:
        """(n_tasks,) most probable labels."""
        best = self.predict_proba(X).argmax(1)
        labels: AnyArray = self.classes_[best]
        return labels

    def score(self, X: AnyArray, y: pd.DataFrame | AnyArray, sample_weight: None = None) -> float:
        """Accuracy against true labels (n_tasks,), or the share of annotations (frame, matrix) that agree."""
        predicted = self.predict(X)
        if not isinstance(y, pd.DataFrame) and np.asarray(y).ndim == 1:
            return float((predicted == np.asarray(y)).mean())
        task, _, label, _, classes = _annotations(y, len(predicted))
        return float((predicted[task] == classes[label]).mean())


def _annotations(y: pd.DataFrame | AnyArray, n_tasks: int) -> tuple[IntArray, IntArray, IntArray, AnyArray, AnyArray]:
    """Sorted task, worker and label numbers, the workers and the classes."""
    if isinstance(y, pd.DataFrame):
        missing = {"task", "worker", "label"} - set(y.columns)
        if missing:
            raise DataError(f"The annotations lack the column(s) {', '.join(sorted(missing))}")
        for column in ("task", "worker", "label"):
            gone = np.flatnonzero(y[column].isna())
            if len(gone):
                sentence = f"{len(gone)} of {len(y)} annotations have no {column}"
                raise DataError(sentence, "Drop those rows.", row=int(gone[0]) + 1, column=column)
        task, names, labels = _task_numbers(y["task"]), y["worker"].to_numpy(), y["label"].to_numpy()
    else:
        table = np.asarray(y)
        alone = table.ndim == 1
        table = table[:, None] if alone else table
        if table.ndim != 2 or len(table) != n_tasks:
            raise SettingError("y", f"be a frame, or a matrix with one row for each of {n_tasks} tasks", table.shape)
        present = ~(pd.isna(table) | ((table == -1) & (not alone)))
        task, names = np.nonzero(present)
        labels = table[present]
    if len(task) == 0:
        raise DataError("There are no annotations to learn from")
    if task.min() < 0 or task.max() >= n_tasks:
        raise DataError(
            f"The annotations name task {task.max() if task.min() >= 0 else task.min()}, but X has {n_tasks} rows",
            "`task` is the row of X, from 0.",
        )
    order = np.argsort(task, kind="stable")
    workers, worker = np.unique(names[order], return_inverse=True)
    classes, label = np.unique(_whole(labels[order]), return_inverse=True)
    return task[order], worker, label, workers, classes


def _task_numbers(task: pd.Series) -> IntArray:
    """Rows of X.

    Raises:
        DataError: they are no whole numbers.
    """
    numbers = pd.to_numeric(task, errors="coerce").to_numpy(np.float64)
    odd = np.flatnonzero(~(numbers == np.round(numbers)))
    if len(odd):
        sentence = f"{task.iloc[int(odd[0])]!r} is no row of X"
        raise DataError(sentence, "`task` is the row of X, from 0.", row=int(odd[0]) + 1, column="task")
    return numbers.astype(np.int64)


def _whole(labels: AnyArray) -> AnyArray:
    """Labels as integers where all are whole numbers, as a matrix with NaN needs floats; others as they are."""
    is_whole = labels.dtype.kind == "f" and bool((np.isfinite(labels) & (labels == np.round(labels))).all())
    return labels.astype(np.int64) if is_whole else labels
