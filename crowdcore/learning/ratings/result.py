"""`RatingsResult`: errors, predictions and recovered workers of networks that learnt ratings.

`compare_ratings` compares the rows of the crowd layer's table on ratings (Rodrigues & Pereira 2018, Table 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd

from crowdcore.analysis.method_tests import signed_rank
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray
from crowdcore.learning.results.result import At, Result

METRICS: Sequence[Literal["mae", "rmse", "r2"]] = ("mae", "rmse", "r2")
_AT = ("selected", "last")


def rating_scores(mu: FloatArray, truth: FloatArray, unit: float = 1.0) -> dict[str, FloatArray]:
    """Errors of predictions over the tasks whose truth is known.

    Args:
        mu: (S, n).
        truth: (n,) NaN = unknown.
        unit: factor of the errors.

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
        return {metric: np.full(len(mu), np.nan) for metric in METRICS}
    z = truth[known].astype(np.float64)
    error = mu[:, known] - z
    square, spread = (error**2).mean(1), z.var()
    r2 = 1 - square / spread if np.ptp(z) > 1e-9 * unit else np.full(len(mu), np.nan)
    return {"mae": unit * np.abs(error).mean(1), "rmse": unit * np.sqrt(square), "r2": r2}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RatingsResult(Result):
    """Result of S replicas on ratings.

    Its curves are the loss and its terms on a scale from 0 to 1, and ``{train,valid,test}_{mae,rmse,r2}`` in the
    dataset's unit: valid against the labels that select (the lowest RMSE), train and test against gold.

    Args:
        low: lowest rating that can be given.
        high: highest rating that can be given.
        predictions: "selected" and "last" -> (S, n) in the dataset's unit.
        workers: "selected" and "last" -> part -> (S, R): ``bias``, by which a worker's ratings exceed the network's on
            average, ``scale``, ``noise``, the standard deviation around the true rating, ``weight``; as far as the
            method has them.
        dataset, fingerprint, …: see `Result`.
    """

    FORMAT: ClassVar[int | str] = "ratings 1"
    numeric: ClassVar[bool] = True
    TABLES: ClassVar[tuple[str, ...]] = ("predictions", "workers")

    low: float
    high: float
    predictions: dict[str, FloatArray]
    workers: dict[str, dict[str, AnyArray]]

    def __post_init__(self) -> None:
        for at in _AT:
            self.workers.setdefault(at, {})

    @property
    def known(self) -> BoolArray:
        """(n,) True where the true rating is known."""
        return np.asarray(~np.isnan(self.gold))

    @property
    def title(self) -> str:
        """Title: the method and its form, such as ``crowd-layer (s+b)``."""
        form = self.settings.get("connection") or self.settings.get("combine")
        return f"{self.method} ({form})" if form else self.method

    def score(
        self,
        metric: Literal["mae", "rmse", "r2"] = "rmse",
        split: Literal["train", "valid", "test"] = "test",
        at: At = "selected",
    ) -> FloatArray:
        """(S,) mean absolute error, root mean squared error or R² against gold on a split.

        Args:
            metric: one of `METRICS`; errors are in the dataset's unit.
            split: the split.
            at: the epoch selected on validation, the last one, or the best on this very split (optimistic: only to
                compare with papers that report it).

        Raises:
            DataError: no gold there.
            SettingError: no such metric, split or epoch.
        """
        if metric not in METRICS:
            raise SettingError("metric", f"be one of {', '.join(METRICS)}", metric)
        rows = self._rows(split)
        if not self.known[rows].any():
            raise DataError(f"{self.dataset} has no gold in split {split!r}", "No error can be measured there.")
        if at == "best" and split != "valid":
            best = np.nanmax if metric == "r2" else np.nanmin
            return np.asarray(best(self.curves[f"{split}_{metric}"], 0))
        if at not in _AT:
            raise SettingError("at", "be selected, last, or (on train and test) best", at)
        return rating_scores(self.predictions[at][:, rows], self.gold[rows])[metric]

    def _compared_score(self, at: At) -> FloatArray:
        return self.score("rmse", at=at)

    def _predicted(self) -> dict[str, AnyArray]:
        return {"gold": self.gold, "rating": self.predictions["selected"].mean(0)}

    def on_test(self) -> Iterator[tuple[str, Callable[[], FloatArray]]]:
        """MAE, RMSE and R² at three epochs."""
        for at in get_args(At):
            yield from ((f"{metric}_{at}", partial(self.score, metric, at=at)) for metric in METRICS)


RATING_ROWS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "DL-MEAN": ("dl-mean", {}),
    "DL-EM": ("dl-em", {}),
    "DL-DN": ("doctor-net", {}),
    "DL-WDN (bias)": ("wdn", {"combine": "bias"}),
    "DL-WDN (weight+bias)": ("wdn", {"combine": "weight+bias"}),
    "DL-CL (S)": ("crowd-layer", {"connection": "s"}),
    "DL-CL (S+B)": ("crowd-layer", {"connection": "s+b"}),
    "DL-CL (B)": ("crowd-layer", {"connection": "b"}),
    "DL-TRUE": ("dl-true", {}),
}
"""Row of the paper's table -> method and settings."""


def compare_ratings(
    results: Mapping[str, RatingsResult], at: At = "selected", against: str = "DL-MEAN"
) -> pd.DataFrame:
    """Test errors of several results on the same seeds, and their difference from one of them.

    Args:
        results: name -> result.
        at: epoch, as in `RatingsResult.score`.
        against: name of the result to compare with, if there is one.

    Returns:
        A row each: method; mean and standard deviation over seeds of mae, rmse and r2 (``mae``, ``mae std``, …); the
        mean difference in rmse from ``against``, and the p-value of Wilcoxon's signed-rank test over seeds, two-sided
        and not corrected for the number of rows.

    Raises:
        SettingError: results of different seeds.
    """
    if len({result.seeds for result in results.values()}) > 1:
        raise SettingError("results", "have the same seeds", sorted({result.seeds for result in results.values()}))
    base = results[against].score("rmse", at=at) if against in results else None
    rows = []
    for name, result in results.items():
        row: dict[str, Any] = {"method": name}
        scores = {metric: result.score(metric, at=at) for metric in METRICS}
        for metric, values in scores.items():
            row |= {metric: values.mean(), f"{metric} std": values.std(ddof=1) if len(values) > 1 else np.nan}
        gap = np.full(1, np.nan) if base is None or name == against else scores["rmse"] - base
        p = signed_rank(gap) if len(gap) > 1 else float("nan")
        rows.append(row | {f"rmse − {against}": gap.mean(), "p": p})
    return pd.DataFrame(rows)
