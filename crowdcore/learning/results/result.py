"""`Result` of training on labels of any kind; `TrainingResult` on classes and tags."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.seeds import Band, band, seeds_comparable
from crowdcore.analysis.reference import Reference
from crowdcore.core.counts import most_probable
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.by_name import names_of
from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.learning.curve_metrics import curve_table
from crowdcore.learning.training import metrics
from crowdcore.learning.training.inputs import Preparation

At = Literal["selected", "last", "best"]

_KEPT = ("worker_confusion", "common_confusion", "omega")
_SPLITS = ("train", "valid", "test", "unlabelled")


class RecoveredAt(NamedTuple):
    """Parts that S replicas recovered at one epoch; a part the method does not have is None.

    Attributes:
        worker_confusion: (S, R, C, C) float64.
        common_confusion: (S, C, C), or (S, G, C, C) for groups of workers.
        omega: (S, n_annotations) aligned with the dataset; NaN where the model has none.
    """

    worker_confusion: FloatArray | None
    common_confusion: FloatArray | None
    omega: FloatArray | None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Shown):
    """Result of S replicas, one per seed: the fields for labels of every kind.

    Args:
        dataset: its name.
        fingerprint: its content hash.
        method: registered name.
        settings: the method's settings.
        training: the trainer's settings, as used.
        seeds: (S,).
        task: (n,) dataset task number behind each row of the predictions; tasks without input are left out.
        split: (n,) index into train, valid, test, unlabelled: the role of each task in this run.
        gold: (n,) true label; -1, or NaN for numbers, where it is unknown.
        validated_on: labels that selected the epoch, in words; "" without selection: the last epoch counts.
        curves: metric -> (epochs, S); NaN after an early stop.
        selected_epoch: (S,) from 1.
        last_epoch: (S,) from 1.
        model: name -> (S, ...) tensors of the selected model.
        seconds: wall time, all replicas together.
        annotations_per_second: annotations × replicas × epochs over that time.
        device: training device.
        versions: package -> version.
        notes: notes for readers, one sentence each.
        crowd: the dataset itself, unless the result was read from a file.
    """

    FORMAT: ClassVar[int | str]
    numeric: ClassVar[bool] = False
    ARRAYS: ClassVar[tuple[str, ...]] = ("task", "split", "gold", "selected_epoch", "last_epoch")
    TABLES: ClassVar[tuple[str, ...]]

    dataset: str
    fingerprint: str
    method: str
    settings: dict[str, Any]
    training: dict[str, Any]
    seeds: tuple[int, ...]
    task: IntArray
    split: IntArray
    gold: AnyArray
    validated_on: str
    curves: dict[str, FloatArray]
    selected_epoch: IntArray
    last_epoch: IntArray
    model: dict[str, AnyArray]
    seconds: float = 0.0
    annotations_per_second: float = 0.0
    device: str = "cpu"
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    crowd: Labelled | None = field(default=None, repr=False)

    def dataset_of(self, given: Labelled | None = None) -> Any:
        """The training dataset: the given one, its own, or the one of that name; gold may differ.

        Raises:
            SettingError: it is another dataset, or there is none.
        """
        own = self.crowd
        data = own if given is None else given
        if data is None:
            with suppress(CrowdError):
                data = open_labels(self.dataset)
        if data is None or not (data is own or data.fingerprint == self.fingerprint or _same(data, own)):
            must = f"be {self.dataset} as this result of {self.method} was trained on it"
            raise SettingError("dataset", must, getattr(data, "name", None), "Pass it before the result.")
        return data

    @property
    def title(self) -> str:
        """Title: the method, and the settings that distinguish it."""
        return self.method

    @property
    def known(self) -> BoolArray:
        """(n,) True where the true label is known."""
        return np.asarray(self.gold >= 0)

    @property
    def history(self) -> pd.DataFrame:
        """The curves as a long table: seed, epoch (from 1), split, metric, value."""
        return curve_table(self.curves, self.seeds)

    def compared(self, at: At = "selected") -> FloatArray:
        """(S,) score that compares results on the test split: accuracy, RMSE for ratings; NaN without gold."""
        known = (self.known & (self.split == _SPLITS.index("test"))).any()
        return self._compared_score(at) if known else np.full(len(self.seeds), np.nan)

    def _compared_score(self, at: At) -> FloatArray:
        raise NotImplementedError

    def predicted(self, dataset: Labelled) -> pd.DataFrame:
        """A row for each task: task, split, gold, and predictions, the mean over seeds of the selected epochs."""
        tasks = {"task": np.asarray(dataset.task_ids)[self.task], "split": np.array(_SPLITS)[self.split]}
        return pd.DataFrame({**tasks, **self._predicted()})

    def _predicted(self) -> dict[str, AnyArray]:
        """Column -> (n,) gold and predictions."""
        raise NotImplementedError

    def on_test(self) -> Iterator[tuple[str, Callable[[], FloatArray]]]:
        """Name of each score on the test split, and a function that computes it, (S,)."""
        raise NotImplementedError

    def curve(self, metric: str) -> Band:
        """A metric over epochs.

        Raises:
            SettingError: no such metric.
        """
        if metric not in self.curves:
            raise SettingError("metric", f"be one of {', '.join(self.curves)}", metric)
        return band(self.title, self.method, np.arange(1, len(self.curves[metric]) + 1), self.curves[metric])

    def save(self, folder: Path | str) -> Path:
        """Write the result to a folder as JSON, Parquet and safetensors; return the folder."""
        return _save(self, Path(folder))

    def _rows(self, split: str) -> BoolArray:
        if split not in _SPLITS:
            raise SettingError("split", f"be one of {', '.join(_SPLITS)}", split)
        return np.asarray(self.split == _SPLITS.index(split))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TrainingResult(Result):
    """Result of S replicas on classes or tags; None for parts that the method does not have.

    Args:
        inputs: content hash of its features or images, which the fingerprint leaves out.
        valid_label: (n_valid,) labels that selection compared with, -1 = none.
        probabilities: "selected" and "last" -> (S, n, C) float32.
        worker_confusion: (S, R, C, C) float64 of the selected model, row = true class, column = given label.
        worker_counts: (S, R, C, C) labels of each worker by class, each counted against a posterior that leaves it out.
        common_confusion: (S, C, C), or (S, G, C, C) for groups of workers.
        omega: (S, n_annotations) aligned with the dataset; NaN where the model has none.
        worker_weight: (S, R); NaN for workers who labelled no training task.
        group: (S, R) group of each worker.
        correction: (S, R, C, C) part of ``worker_confusion`` that is a correction (CCC); rows sum to 0.
        difficulty: (S, n_train) in the order of ``task``.
        q: (S, n_train, C) float32 posterior of the training tasks' classes given features and labels, in that order.
        last: the same parts of the last epoch's model.
        kept_epochs: (K,) further epochs for `recovered_at`; 0 is the start, before training.
        kept: part -> (K, S, ...) float32 at those epochs.
        names: "selected" and "last" -> (S, C) the latent class behind each class; 0, 1, … as trained.
        start: (S,) start of the noise layers, "" for methods without.
        start_loss: start -> (S,) final training loss of each start that was tried; empty unless several were.
        preparation: conversion of stored rows to the network's input.
        input_shape: shape of one prepared input.
        n_workers: R.
        sentence: (n,) sentence of each task, of a crowd that tags tokens.
        tried: candidates of a method that chooses, a row each; see `candidates`.
        dataset, fingerprint, …: see `Result`.
    """

    FORMAT: ClassVar[int | str] = 1
    ARRAYS: ClassVar[tuple[str, ...]] = (
        *Result.ARRAYS,
        *("valid_label", "sentence", "worker_confusion", "common_confusion", "omega", "worker_weight", "group"),
        *("correction", "difficulty", "q", "kept_epochs", "worker_counts"),
    )
    TABLES: ClassVar[tuple[str, ...]] = ("probabilities", "last", "kept", "names", "start_loss")

    classes: tuple[str, ...]
    valid_label: IntArray
    probabilities: dict[str, FloatArray]
    preparation: Preparation
    input_shape: tuple[int, ...]
    n_workers: int
    inputs: str = ""
    sentence: IntArray | None = None
    worker_confusion: FloatArray | None = None
    worker_counts: FloatArray | None = None
    common_confusion: FloatArray | None = None
    omega: FloatArray | None = None
    worker_weight: FloatArray | None = None
    group: IntArray | None = None
    correction: FloatArray | None = None
    difficulty: FloatArray | None = None
    q: FloatArray | None = None
    last: dict[str, AnyArray] = field(default_factory=dict)
    kept_epochs: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    kept: dict[str, AnyArray] = field(default_factory=dict)
    names: dict[str, IntArray] = field(default_factory=dict)
    start: tuple[str, ...] = ()
    start_loss: dict[str, FloatArray] = field(default_factory=dict)
    tried: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if not self.names:  # written before classes could be named by gold
            order = np.tile(np.arange(len(self.classes)), (len(self.seeds), 1))
            self.names.update({"selected": order, "last": order})

    @cached_property
    def shown_seed(self) -> tuple[int | None, str]:
        """None for the mean over seeds, or the first seed if seeds are not comparable; and the reason, a sentence."""
        confusion = self.worker_confusion if self.worker_confusion is not None else self.common_confusion
        if confusion is None:
            return None, ""
        comparable = seeds_comparable(
            confusion if confusion.ndim == 4 else confusion[:, None],
            self.selected_epoch,
            seeds=self.seeds,
            classes=self.classes,
            at_last=not self.validated_on,
        )
        seed = self.seeds[0]
        why = f"Seed {seed} is shown, not the mean over seeds: {comparable.reason}."
        return (None, "") if comparable else (seed, why)

    @property
    def candidates(self) -> pd.DataFrame:
        """Candidates of a method that chooses: their scores out of fold, and how often resamples choose them.

        Columns: candidate, accuracy (of validation tasks with gold), likelihood (mean log-likelihood of the labels of a
        training task; NaN for those left out before the last fold), weight (in the mean of probabilities; NaN in
        results of earlier versions), chosen_in (share of resamples in which it is the likeliest); empty for other
        methods.
        """
        return pd.DataFrame(list(self.tried), columns=["candidate", "accuracy", "likelihood", "weight", "chosen_in"])

    def recovered_at(self, at: Literal["selected", "last"] | int = "selected") -> RecoveredAt:
        """Confusions and ω of the selected or the last epoch's model, or of one of ``kept_epochs``.

        Raises:
            SettingError: that epoch was not kept.
        """
        if at == "selected":
            return RecoveredAt(self.worker_confusion, self.common_confusion, self.omega)
        written_before = not self.last and any(getattr(self, part) is not None for part in _KEPT)
        if at == "last" and not written_before:
            return RecoveredAt(*(self.last.get(part) for part in _KEPT))
        if at not in self.kept_epochs:
            known = ", ".join(["selected", *([] if written_before else ["last"]), *map(str, self.kept_epochs)])
            raise SettingError("at", f"be one of {known}", at)
        k = int(np.searchsorted(self.kept_epochs, at))
        matrices = {part: np.asarray(v[k], np.float64) for part, v in self.kept.items()}
        return RecoveredAt(*(matrices.get(part) for part in _KEPT))

    def moved(
        self, part: Literal["worker_confusion", "common_confusion"], at: Literal["selected", "last"] | int = "selected"
    ) -> FloatArray | None:
        """Distance of confusions from their start: mean over rows of half the sum of absolute differences, 0 to 1.

        Returns:
            (S, R) for the workers' confusions, (S,) or (S, G) for the common one; None where the method learns none
            or the start was not kept.
        """
        if part not in self.kept or 0 not in self.kept_epochs:
            return None
        start, now = self.recovered_at(0), self.recovered_at(at)
        end = getattr(now, part)
        if at == "last":  # named by the last epoch's predictions; the start by the selected epoch's
            end = metrics.reorder_classes(
                metrics.restore_classes(end, self.names["last"], -2), self.names["selected"], -2
            )
        return np.asarray(np.abs(end - getattr(start, part)).sum(-1).mean(-1) / 2)

    def accuracy(self, split: str = "test", at: At = "selected", ensemble: bool = False) -> FloatArray:
        """(S,) accuracy on a split.

        Args:
            split: train, valid, test or unlabelled, against gold.
            at: the epoch selected on validation, the last one, or the best on this very split (optimistic: only to
                compare with papers that report it).
            ensemble: take the mean of all replicas' probabilities instead, (1,).

        Raises:
            DataError: no gold there.
            SettingError: no such split, no curve to take the best of, or the best epoch of an ensemble.
        """
        if at == "best":
            if ensemble:
                raise SettingError("at", "be 'selected' or 'last' for the mean of the replicas", at)
            name = f"{split}_accuracy"
            if split != "test" or name not in self.curves:
                raise SettingError("at", "be 'selected' or 'last' for a split that is not followed", at)
            return np.asarray(np.nanmax(self.curves[name], 0))
        probabilities, truth = self._test_predictions(split, at)
        if ensemble:
            probabilities = probabilities.astype(np.float64).mean(0, keepdims=True)
        return metrics.accuracy(probabilities, truth)

    def _compared_score(self, at: At) -> FloatArray:
        return self.accuracy("test", at)

    def _predicted(self) -> dict[str, AnyArray]:
        mean = self.mean_posterior(int(self.task.max(initial=-1)) + 1)[self.task]
        names = np.array([*self.classes, None], dtype=object)
        columns = {f"p_{c}": mean[:, k] for k, c in enumerate(self.classes)}
        return {"gold": names[self.gold], "label": names[mean.argmax(1)], **columns}

    def on_test(self) -> Iterator[tuple[str, Callable[[], FloatArray]]]:
        """Accuracies at three epochs, of tags also precision, recall and F1 of spans."""
        from crowdcore.learning.results.predictions import span_scores

        yield from ((f"accuracy_{at}", partial(self.accuracy, "test", at)) for at in get_args(At))
        for at in ("selected", "last") if self.sentence is not None else ():
            with suppress(DataError):
                spans = span_scores(self, "test", at)
                yield from ((f"span_{score}_{at}", spans[score].to_numpy) for score in ("precision", "recall", "f1"))

    def scores(self, split: str = "test", at: Literal["selected", "last"] = "selected") -> pd.DataFrame:
        """One row per seed: accuracy, macro F1, NLL, calibration error, then the accuracy of each class."""
        probabilities, truth = self._test_predictions(split, at)
        per_class = metrics.class_accuracy(probabilities, truth)
        return pd.DataFrame(
            {
                "seed": self.seeds,
                "accuracy": metrics.accuracy(probabilities, truth),
                "macro_f1": metrics.macro_f1(probabilities, truth),
                "nll": metrics.negative_log_likelihood(probabilities, truth),
                "calibration_error": metrics.calibration_error(probabilities, truth),
                **{f"accuracy of {c}": per_class[:, k] for k, c in enumerate(self.classes)},
            }
        )

    def posterior(self, split: str = "test", at: Literal["selected", "last"] = "selected") -> FloatArray:
        """(S, n, C) class probabilities of a split's tasks, in the order of ``task[split == …]``."""
        return self.probabilities[at][:, self._rows(split)]

    def mean_posterior(self, n_tasks: int) -> FloatArray:
        """(n_tasks, C) float64 mean over seeds for all tasks of the dataset; NaN for tasks without input."""
        out = np.full((n_tasks, len(self.classes)), np.nan)
        out[self.task] = self.probabilities["selected"].astype(np.float64).mean(0)
        out /= out.sum(1, keepdims=True)
        return out

    def as_reference(self, dataset: CrowdDataset) -> Reference:
        """Predictions as a reference, the mean over seeds; tasks without input are unknown.

        Raises:
            SettingError: it was trained on another dataset.
        """
        posterior = self.mean_posterior(self.dataset_of(dataset).n_tasks)
        known = ~np.isnan(posterior[:, 0])
        labels = np.where(known, most_probable(posterior), -1)
        return Reference(f"run:{self.title}", labels.astype(np.int32), posterior)

    def frame(self) -> pd.DataFrame:
        """A row for each task that was learnt from or predicted: task, split, label (mean over seeds), probability.

        Raises:
            SettingError: its dataset, which names the tasks, is not found; see `dataset_of`.
        """
        dataset = self.dataset_of()
        truth = self.as_reference(dataset)
        assert truth.posterior is not None
        of = {"split": names_of(_SPLITS, self.split), "label": names_of(self.classes, truth.labels[self.task])}
        return pd.DataFrame(
            {"task": dataset.task_ids[self.task], **of, "probability": truth.posterior[self.task].max(1)}
        )

    def predict_proba(self, features: AnyArray) -> FloatArray:
        """(S, n, C) class probabilities of other tasks, from rows like those of the dataset.

        Raises:
            SettingError: rows of another shape.
        """
        from crowdcore.learning.results.classifiers import predict_proba

        return predict_proba(self, features)

    def _test_predictions(self, split: str, at: str) -> tuple[FloatArray, IntArray]:
        rows = self._rows(split)
        truth = self.gold[rows]
        if not (truth >= 0).any():
            raise DataError(
                f"{self.dataset} has no gold labels in split {split!r}", "No accuracy can be measured there."
            )
        if at not in self.probabilities:
            raise SettingError("at", "be 'selected' or 'last' here", at)
        return self.probabilities[at][:, rows], truth


def _same(one: Labelled, other: Labelled | None) -> bool:
    """Return True if two datasets have the same tasks and labels, whatever their gold."""
    return other is not None and one.task_ids.equals(other.task_ids) and one.annotations.equals(other.annotations)


def _save(result: Result, folder: Path) -> Path:
    """Write a result; nothing is pickled."""
    from safetensors.numpy import save_file  # describing a result must not need this package

    arrays = {name: array for name in result.ARRAYS if (array := getattr(result, name)) is not None}
    arrays |= {key: array for table in result.TABLES for key, array in _flat(table, getattr(result, table))}
    apart = {"crowd", "curves", "model", "preparation", *result.ARRAYS, *result.TABLES}
    head = {"format": result.FORMAT} | {f.name: getattr(result, f.name) for f in fields(result) if f.name not in apart}
    if isinstance(result, TrainingResult):
        head["image"] = result.preparation.image
        arrays |= {"preparation.mean": result.preparation.mean, "preparation.scale": result.preparation.scale}
    folder.mkdir(parents=True, exist_ok=True)
    for named, file in ((arrays, "arrays"), (result.model, "model")):
        save_file({k: np.ascontiguousarray(v) for k, v in named.items()}, folder / f"{file}.safetensors")
    columns = {f"{name}/{s}": rows[:, s] for name, rows in result.curves.items() for s in range(rows.shape[1])}
    pd.DataFrame(columns).to_parquet(folder / "history.parquet")
    (folder / "result.json").write_text(json.dumps(head, indent=1), encoding="utf-8")
    return folder


def _flat(name: str, table: Mapping[str, Any] | AnyArray) -> Iterator[tuple[str, AnyArray]]:
    """Path with dots -> array, of tables within tables."""
    if not isinstance(table, Mapping):
        yield name, table
        return
    for key, value in table.items():
        yield from _flat(f"{name}.{key}", value)
