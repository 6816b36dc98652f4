"""True biases of raters beside those that a run learnt."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pandas as pd

from crowdcore import figures
from crowdcore.analysis.recovery.ratings import rating_biases as compared
from crowdcore.core.drawable import escaped
from crowdcore.core.errors import DataError
from crowdcore.data.pseudonyms import pseudonyms
from crowdcore.data.ratings import RatingDataset
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.learning.ratings.result import RatingsResult


def rating_biases(
    dataset: RatingDataset,
    result: RatingsResult,
    *,
    at: Literal["selected", "last"] = "selected",
    least: int = 10,
    hidden: bool = False,
) -> Exhibit:
    """Biases of the workers, learnt and true, as a figure and a table.

    Args:
        dataset: that the run learnt from, with gold.
        result: of a method that learns biases.
        at: the selected epoch's, or the last one's.
        least: ratings of tasks with gold from which a worker is drawn and counts in the correlation.
        hidden: pseudonyms instead of worker ids.

    Raises:
        DataError: the method learns no biases, the data are others, or no rated task has gold.
    """
    if result.fingerprint != dataset.fingerprint:
        raise DataError(f"The run was trained on other data than the present {dataset.name}", "Train again.")
    learnt = result.workers[at].get("bias")
    if learnt is None:
        raise DataError(f"{result.title} learns no biases of workers", "Train crowd-layer with connection=b.")
    found = compared(dataset, learnt, least)
    names = pd.Index(pseudonyms(dataset) if hidden else list(map(str, dataset.worker_ids)))
    about = f"{result.title} on {dataset.name}"
    drawn = figures.rating_biases(replace(found, worker_ids=pd.Index(map(escaped, names))), subtitle=escaped(about))
    table = replace(found, worker_ids=names).frame()
    spread = ", ".join(f"{r:z.3f}" for r in found.correlation)
    notes = (
        f"Pearson's r over workers with {least} ratings or more: {found.mean_correlation:z.3f} of the mean over seeds; "
        f"by seed {spread}.",
        "Learnt bias: how far a worker's ratings lie above the network's on average over the training tasks.",
    )
    return Exhibit("rating-biases", f"Learnt and true biases: {about}", drawn, table.reset_index(drop=True), notes)
