"""Training on ratings: errors of results side by side, and whether they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import pandas as pd

from crowdcore.analysis.evaluation.method_tests import signed_rank
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
from crowdcore.exhibits.differences import none_of
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.learning.comparison.summary import AT, deviation
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.results.result import At

RatingResults: TypeAlias = Mapping[str, RatingsResult]

_MEASURES: Mapping[Literal["mae", "rmse", "r2"], str] = {"mae": "MAE", "rmse": "RMSE", "r2": "R²"}


def rating_errors(results: RatingResults) -> Exhibit:
    """Test errors in the unit of the ratings and R², in the three columns never mixed."""
    rows: list[dict[str, object]] = []
    for name, result in results.items():
        selected_by = result.validated_on or "the last epoch"
        for at in AT:
            row: dict[str, object] = {"run": name, "epoch": "best, optimistic" if at == "best" else at}
            for measure, words in _MEASURES.items():
                try:
                    found = result.score(measure, at=at)
                except DataError as refusal:
                    return none_of("rating-errors", "Test errors", str(refusal))
                row |= {words: found.mean(), f"{words} ±": deviation(found)}
            rows.append({**row, "seeds": len(result.seeds), "selected by": selected_by})
    notes = (
        "Mean absolute and root mean squared error in the unit of the ratings; R² is 1 for no error, and 0 for the "
        "mean true rating.",
        "The best epoch on the test split is optimistic: compare it only with papers that report it.",
    )
    table = pd.DataFrame(rows).dropna(axis=1, how="all")
    return Exhibit("rating-errors", "Test errors", None, table, notes)


def rating_differences(results: RatingResults, at: At = "selected") -> Exhibit:
    """Differences in RMSE from DL-MEAN, else from the first result, paired over the seeds that both have."""
    title = "Difference in RMSE, over seeds"
    if len(results) < 2:
        return none_of("rating-differences", title, "Choose a second run to compare with.")
    base = next((name for name, result in results.items() if result.method == "dl-mean"), next(iter(results)))
    rows = []
    for name, result in results.items():
        shared = sorted(set(result.seeds) & set(results[base].seeds))
        if name == base or not shared:
            continue
        first, second = (_rmse(results[one], shared, at) for one in (name, base))
        gap = first - second
        rows.append((name, base, len(shared), gap.mean(), deviation(gap), signed_rank(gap)))
    columns = ["first", "second", "seeds", "RMSE difference", "RMSE difference ±", "p"]
    notes = (
        "Below 0: nearer to the truth. p: Wilcoxon's signed-rank test, two-sided and exact, not corrected for the "
        "number of rows; with fewer than 6 seeds it cannot fall below 5 %.",
    )
    return Exhibit("rating-differences", title, None, pd.DataFrame(rows, columns=columns), notes)


def _rmse(result: RatingsResult, seeds: list[int], at: At) -> FloatArray:
    return result.score("rmse", at=at)[[result.seeds.index(seed) for seed in seeds]]
