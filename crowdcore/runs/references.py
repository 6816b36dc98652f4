"""A run's predictions as the truth of the analysis: the reference ``run:<id>``."""

from __future__ import annotations

import numpy as np

from crowdcore.analysis.reference import Reference
from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.runs.artefacts import result
from crowdcore.runs.workspace import Workspace


def reference(run_id: str, dataset: CrowdDataset, *, workspace: Workspace | None = None) -> Reference:
    """What a run's classifier takes for the truth, the mean over its seeds at their selected epochs.

    Args:
        run_id: of a run with a result.
        dataset: the one it was trained on.

    Returns:
        Named ``run:<id>``; tasks without input are unknown.

    Raises:
        DataError: no such run, no result, or another dataset.
    """
    found = result(run_id, workspace=workspace)
    if found.fingerprint != dataset.fingerprint:
        raise DataError(
            f"Run {run_id} was trained on {found.dataset} with other annotations than those of {dataset.name}",
            "Choose a run on this dataset as it is now.",
        )
    posterior = found.mean_posterior(dataset.n_tasks)
    labels = np.full(dataset.n_tasks, -1, np.int32)
    known = ~np.isnan(posterior[:, 0])
    labels[known] = posterior[known].argmax(1)
    return Reference(f"run:{run_id}", labels, posterior)
