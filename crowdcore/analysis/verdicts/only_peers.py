"""Workers whom only one other could contradict: without gold nobody knows which of the two is wrong."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset


def only_peers(dataset: CrowdDataset) -> IntArray:
    """(n_workers,) the other worker where two share tasks with each other and, even through others, with nobody else.

    -1 for all other workers. Examples: a crowd of two, or teams of two with tasks of their own.
    """
    n_workers, n = dataset.n_workers, dataset.n_workers + dataset.n_tasks
    links = coo_array((np.ones(dataset.n_annotations), (dataset.worker, n_workers + dataset.task)), shape=(n, n))
    _, component = connected_components(links, directed=False)
    component = component[:n_workers]
    size = np.bincount(component, minlength=component.max(initial=0) + 1)
    workers = np.flatnonzero(size[component] == 2)
    pairs = workers[np.argsort(component[workers], kind="stable")].reshape(-1, 2)
    found = np.full(n_workers, -1)
    found[pairs] = pairs[:, ::-1]
    return found
