"""`RatingsResult`: errors, predictions and recovered workers of networks that learnt ratings."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.learning.results.curve_metrics import curve_table
from crowdcore.learning.results.parts import Parts

_SPLITS = ("train", "valid", "test", "unlabelled")
_METRICS = ("mae", "rmse", "r2")
_ARRAYS = ("task", "split", "gold", "selected_epoch", "last_epoch")
_TABLES = ("predictions", "workers", "model")
_AT = ("selected", "last")
_FORMAT = "ratings 1"


def rating_scores(mu: FloatArray, truth: FloatArray, unit: float = 1.0) -> dict[str, FloatArray]:
    """How far predictions are from the truth, over the tasks where it is known.

    Args:
        mu: (S, n).
        truth: (n,) NaN = unknown.
        unit: what errors are multiplied by.

    Returns:
        (S,) each: ``mae`` mean absolute error, ``rmse`` root mean squared error, ``r2 = 1 - Σ (μ - z)² / Σ (z - z̄)²``;
        NaN where no truth is known.

    Examples:
        >>> import numpy as np
        >>> rating_scores(np.array([[1.0, 3.0]]), np.array([1.0, 2.0]))["mae"]
        array([0.5])
    """
    known = ~np.isnan(truth)
    if not known.any():
        return {metric: np.full(len(mu), np.nan) for metric in _METRICS}
    z = truth[known].astype(np.float64)
    error = mu[:, known] - z
    square, spread = (error**2).mean(1), z.var()
    r2 = 1 - square / spread if np.ptp(z) > 1e-9 * unit else np.full(len(mu), np.nan)
    return {"mae": unit * np.abs(error).mean(1), "rmse": unit * np.sqrt(square), "r2": r2}


@dataclass(frozen=True, eq=False)
class RatingsResult:
    """Result of S replicas, one per seed.

    Args:
        dataset: its name.
        fingerprint: its content hash.
        method: registered name.
        settings: the method's settings.
        training: the trainer's settings.
        seeds: (S,).
        low: lowest rating that can be given.
        high: highest rating that can be given.
        task: (n,) dataset task number behind each column of the predictions.
        split: (n,) index into train, valid, test, unlabelled: the role each task had.
        gold: (n,) true rating, NaN = unknown.
        validated_on: what selected the epoch, in words; "" where the last one counts.
        curves: loss and its terms (on a scale from 0 to 1), and ``{train,valid,test}_{mae,rmse,r2}`` in the dataset's
            unit -> (epochs, S); valid is against what selects, train and test against gold; NaN after an early stop.
        selected_epoch: (S,) from 1: the lowest validation RMSE.
        last_epoch: (S,) from 1.
        predictions: "selected" and "last" -> (S, n) in the dataset's unit.
        workers: "selected" and "last" -> part -> (S, R): ``bias`` how far a worker's ratings lie above the network's
            on average, ``scale``, ``noise`` the standard deviation around the true rating, ``weight``; as
            far as the method has them.
        model: name -> (S, ...) tensors of the selected model.
        seconds: wall time, all replicas together.
        annotations_per_second: ratings × replicas × epochs over that time.
        device: where it ran.
        versions: package -> version.
        notes: what one should know, one sentence each.
    """

    dataset: str
    fingerprint: str
    method: str
    settings: dict[str, Any]
    training: dict[str, Any]
    seeds: tuple[int, ...]
    low: float
    high: float
    task: IntArray
    split: IntArray
    gold: FloatArray
    validated_on: str
    curves: dict[str, FloatArray]
    selected_epoch: IntArray
    last_epoch: IntArray
    predictions: dict[str, FloatArray]
    workers: dict[str, dict[str, AnyArray]]
    model: dict[str, AnyArray]
    seconds: float = 0.0
    annotations_per_second: float = 0.0
    device: str = "cpu"
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The method, and what sets it apart from its other forms: ``crowd-layer (s+b)``."""
        form = self.settings.get("connection") or self.settings.get("combine")
        return f"{self.method} ({form})" if form else self.method

    def score(
        self,
        metric: Literal["mae", "rmse", "r2"] = "rmse",
        split: Literal["train", "valid", "test"] = "test",
        at: Literal["selected", "last", "best"] = "selected",
    ) -> FloatArray:
        """(S,) mean absolute error, root mean squared error or R² against gold on a split.

        Args:
            metric: which; errors are in the dataset's unit.
            split: where.
            at: the epoch selected on validation, the last one, or the best on this very split (optimistic: only to
                compare with papers that report it).

        Raises:
            DataError: no gold there.
            SettingError: no such metric, split or epoch.
        """
        for name, value, known in (("metric", metric, _METRICS), ("split", split, _SPLITS[:3])):
            if value not in known:
                raise SettingError(name, f"be one of {', '.join(known)}", value)
        rows = self.split == _SPLITS.index(split)
        if np.isnan(self.gold[rows]).all():
            raise DataError(f"{self.dataset} has no gold in split {split!r}", "No error can be measured there.")
        if at == "best" and split != "valid":
            best = np.nanmax if metric == "r2" else np.nanmin
            return np.asarray(best(self.curves[f"{split}_{metric}"], 0))
        if at not in _AT:
            raise SettingError("at", "be selected, last, or (on train and test) best", at)
        return rating_scores(self.predictions[at][:, rows], self.gold[rows])[metric]

    @property
    def history(self) -> pd.DataFrame:
        """The curves as a long table: seed, epoch (from 1), split, metric, value."""
        return curve_table(self.curves, self.seeds)

    def save(self, folder: Path | str) -> Path:
        """Write the result to a folder as JSON, Parquet and safetensors; returns the folder."""
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"predictions.{at}": value for at, value in self.predictions.items()}
        arrays |= {f"workers.{at}.{part}": v for at, parts in self.workers.items() for part, v in parts.items()}
        apart = {"curves", *_ARRAYS, *_TABLES}
        head = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in apart}
        return Parts({"format": _FORMAT, **head}, arrays, self.model, self.curves).write(Path(folder))

    def __repr__(self) -> str:
        return f"RatingsResult({self.title} on {self.dataset}: {len(self.seeds)} seeds, {self.seconds:.1f} s)"


def is_ratings_result(folder: Path) -> bool:
    """Whether `RatingsResult.save` wrote this folder."""
    return Parts.format_of(folder) == _FORMAT


def load_ratings_result(folder: Path | str) -> RatingsResult:
    """Read what `RatingsResult.save` wrote.

    Raises:
        DataError: no result there, or broken files.
    """
    folder = Path(folder)
    head, arrays, model, curves = Parts.read(folder, "result of ratings")
    if head.pop("format") != _FORMAT:
        raise DataError("This is not a result of ratings that this version of crowdcore can read", file=folder)
    parts: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in head.items()}
    parts |= {name: arrays[name] for name in _ARRAYS}
    workers: dict[str, dict[str, AnyArray]] = {at: {} for at in _AT}
    for name, value in arrays.items():
        if name.startswith("workers."):
            _, at, part = name.split(".")
            workers[at][part] = value
    return RatingsResult(
        **parts,
        curves=curves,
        predictions={at: arrays[f"predictions.{at}"] for at in _AT},
        workers=workers,
        model=model,
    )
