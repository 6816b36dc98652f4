"""The rows of the crowd layer's table on ratings, compared over seeds (Rodrigues & Pereira 2018, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from crowdcore.analysis.method_tests import signed_rank
from crowdcore.core.errors import SettingError
from crowdcore.learning.ratings.result import RatingsResult

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
"""What the paper calls a row -> method and settings."""
_METRICS: Sequence[Literal["mae", "rmse", "r2"]] = ("mae", "rmse", "r2")


def compare_ratings(
    results: Mapping[str, RatingsResult],
    at: Literal["selected", "last", "best"] = "selected",
    against: str = "DL-MEAN",
) -> pd.DataFrame:
    """Test errors of several results on the same seeds, and their difference from one of them.

    Args:
        results: what to call each -> result.
        at: epoch, as in `RatingsResult.score`.
        against: the one to compare with, if it is there.

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
        scores = {metric: result.score(metric, at=at) for metric in _METRICS}
        for metric, values in scores.items():
            row |= {metric: values.mean(), f"{metric} std": values.std(ddof=1) if len(values) > 1 else np.nan}
        gap = np.full(1, np.nan) if base is None or name == against else scores["rmse"] - base
        p = signed_rank(gap) if len(gap) > 1 else float("nan")
        rows.append(row | {f"rmse − {against}": gap.mean(), "p": p})
    return pd.DataFrame(rows)
