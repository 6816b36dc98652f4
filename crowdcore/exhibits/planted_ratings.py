"""Ratings whose biases are known: what was planted, and which aggregators find truth and biases again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore import aggregation, analysis, figures
from crowdcore.analysis import RatingRecovery, RatingTruth
from crowdcore.analysis.recovery.ratings import RatingBiases, bias_correlation
from crowdcore.core.drawable import escaped
from crowdcore.core.types import BoolArray
from crowdcore.data.ratings import RatingDataset
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.fits import read_fit
from crowdcore.exhibits.view import cached

COMPARED = ("mean", "median", "raykar-em", "raykar-em gold=20%", "gold")
"""Aggregators to begin with, one of them shown the gold of 20 % of the rated tasks; gold is the best there can be."""
_MEASURES = {
    "truth error": "true ratings",
    "bias error": "biases",
    "own bias error": "own biases",
    "shared bias error": "shared bias",
}
_NOTES = (
    "Root mean square errors in the unit of the ratings. True ratings: rated tasks whose gold the aggregator was not "
    "given. Biases: each worker's mean of rating − recovered truth, compared with the planted bias; own biases: "
    "without the mean over workers. Shared bias: the crowd's, over the range of the truth. The row gold uses the true "
    "ratings, so its errors are only chance.",
    "Without gold, a bias that all workers share cannot be distinguished from the truth: it shifts the recovered "
    "truth.",
)


_ALIKE = (
    "Errs like: the worker whose errors are most correlated with this one's, among those with at least 10 tasks in "
    "common. A copier errs like the worker who was copied."
)


@cached
def planted_ratings(crowd: RatingDataset) -> Exhibit:
    """The workers' lines as they were planted, and the bias that all share as the ratings show it."""
    found, truth = _recovered(crowd, "gold"), crowd.truth
    assert truth is not None
    figure = figures.rating_shared_bias(found.shared, planted=found.planted_shared, title="What is planted")
    table = pd.DataFrame(
        {
            "worker": crowd.worker_ids,
            "role": found.worker_role,
            "ratings": found.n_ratings,
            "planted bias": truth.worker_bias,
            "planted scale": truth.worker_scale,
            "planted noise": truth.worker_noise,
        }
    )
    notes = (
        *crowd.notes,
        "A worker's bias in the middle of the range and slope on the truth, including the shared bias, and the "
        "standard deviation around that line.",
    )
    alt = "Bias of the crowd over the range of the truth, as planted and as the ratings show it"
    return Exhibit("planted", f"{crowd.name}: what was planted", figure, table, notes, alt)


def rating_recovery(crowd: RatingDataset, compared: tuple[str, ...] = COMPARED) -> Exhibit:
    """How near aggregators come to truth and biases.

    Args:
        crowd: simulated, with its truth.
        compared: names of fits such as ``raykar-em gold=20%``, or gold.
    """
    found = {name: _recovered(crowd, name) for name in compared}
    table = pd.DataFrame(
        {
            "method": list(found),
            "truth error": [one.rmse for one in found.values()],
            "bias error": [one.bias_error for one in found.values()],
            "own bias error": [one.own_bias_error for one in found.values()],
            "shared bias error": [one.shared_error for one in found.values()],
            "scale error": [one.scale_error for one in found.values()],
        }
    )
    figure = figures.recovery_errors(
        table.assign(method=table["method"].map(escaped), crowd=0, seed=0),
        _MEASURES,
        methods={escaped(name): name for name in found},
        title="Errors (further left is better)",
        subtitle=escaped(crowd.name),
    )
    alt = "Errors of truth and biases, a row per aggregator"
    return Exhibit("rating-recovery", "Who recovered what", figure, table, _NOTES, alt)


def recovered_biases(crowd: RatingDataset, name: str) -> Exhibit:
    """The workers' biases as an aggregator leads to them, against the planted ones."""
    found = _recovered(crowd, name)
    known = ~np.isnan(found.bias) & ~np.isnan(found.planted_bias)
    r = bias_correlation(crowd, found.planted_bias[known], found.bias[known])
    ids = pd.Index(map(escaped, map(str, found.worker_ids)))
    drawn = RatingBiases(ids, found.n_ratings, found.planted_bias, found.bias[None], 1, np.array([r]), r)
    figure = figures.rating_biases(drawn, title="Recovered and planted biases", subtitle=escaped(name))
    figure.update_xaxes(title="planted bias").update_yaxes(title="recovered bias: mean of rating − recovered truth")
    alt = f"Biases of the workers, planted and recovered by {name}"
    return Exhibit(
        "recovered-biases", "Recovered and planted biases", figure, _with_most_alike(crowd, found), (_ALIKE,), alt
    )


def recovered_shared_bias(crowd: RatingDataset, name: str) -> Exhibit:
    """The shared bias over the range of what an aggregator takes for the truth, beside the planted one."""
    found = _recovered(crowd, name)
    figure = figures.rating_shared_bias(found.shared, planted=found.planted_shared)
    table = found.shared.frame().assign(**{"planted bias": found.planted_shared})
    alt = f"Bias of the crowd over the range of the truth, planted and recovered by {name}"
    return Exhibit("recovered-shared-bias", "Recovered and planted shared bias", figure, table, (), alt)


def _with_most_alike(crowd: RatingDataset, found: RatingRecovery) -> pd.DataFrame:
    """A row per worker, with the other one whose errors are most alike."""
    pairs = found.pairs
    ends = np.r_[pairs.worker_a, pairs.worker_b], np.r_[pairs.worker_b, pairs.worker_a]
    every = pd.DataFrame({"worker": crowd.worker_ids[ends[0]], "errs like": crowd.worker_ids[ends[1]]})
    every["error correlation"] = np.tile(pairs.error_correlation, 2)
    most = every.sort_values("error correlation", ascending=False, kind="stable").drop_duplicates("worker")
    return found.frame().merge(most, on="worker", how="left")


@cached
def _recovered(crowd: RatingDataset, name: str) -> RatingRecovery:
    method, settings, percent = read_fit(name)
    if method in ("gold", "mean"):  # the mean of the others, as the page Ratings has it
        return analysis.rating_recovery(crowd, analysis.rating_truth(crowd, method))
    shown = _shown(crowd, percent)
    known = np.where(shown, crowd.gold, np.nan) if percent else None
    fitted = aggregation.ratings.get(method, **settings).fit(crowd, known=known).rating
    judging = crowd.annotated & ~np.isnan(crowd.gold) & ~shown
    return analysis.rating_recovery(crowd, RatingTruth(name, fitted, fitted[crowd.task]), judging)


def _shown(crowd: RatingDataset, percent: int) -> BoolArray:
    """The rated tasks with gold whose gold is shown."""
    rated = np.flatnonzero(crowd.annotated & ~np.isnan(crowd.gold))
    shown = np.zeros(crowd.n_tasks, bool)
    shown[np.random.default_rng(0).permutation(rated)[: round(len(rated) * percent / 100)]] = True
    return shown
