"""What methods that choose another one have tried."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.learning.results.result import TrainingResult


def candidates(results: Mapping[str, TrainingResult]) -> Exhibit | None:
    """What methods that choose tried, and how well it did on tasks it was not fitted on; None where none chose."""
    tables = [r.candidates.assign(run=name) for name, r in results.items() if r.tried]
    if not tables:
        return None
    found = pd.concat(tables, ignore_index=True)
    table = pd.DataFrame(
        {
            "run": found["run"],
            "candidate": found["candidate"],
            "validation %": 100 * found["accuracy"].astype(float),
            "log-likelihood of a task's labels": found["likelihood"].astype(float),
            "weight in the mean": found["weight"].astype(float),
            "likeliest in %": 100 * found["chosen_in"],
        }
    )
    notes = (
        "Measured on tasks that the candidate was not fitted on. Predictions are the mean of the candidates' "
        "probabilities with these weights. Likeliest in: share of resamples of these tasks in which it is the most "
        "likely of the remaining candidates. It does not account for mistakes that all candidates make.",
    )
    return Exhibit("candidates", "Candidates that were tried", None, table.dropna(axis=1, how="all"), notes)
