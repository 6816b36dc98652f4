"""Workers' confusions shrunken to the crowd's: the more, the less the workers' labels can tell them apart."""

from __future__ import annotations

import numpy as np

from crowdcore.analysis.workers.confusion import WorkerConfusion
from crowdcore.core.types import FloatArray


def shrunken_confusion(confusion: WorkerConfusion) -> FloatArray:
    """Posterior means of the workers' confusions, by empirical Bayes.

    Rows of a class a are taken for draws from one Dirichlet distribution around the crowd's row p_a, whose spread
    ρ_a = 1 / (1 + κ_a) comes from the labels (`spread_of_workers`):

    ``E[π^r_a | n^r_a] = (n^r_a π̂^r_a + κ_a p_a) / (n^r_a + κ_a)``

    so a worker with few labels lies near the crowd, not far from everybody, and where the workers differ by no more
    than chance (ρ_a = 0) all rows are the crowd's.

    Returns:
        (n_workers, C, C) float64, rows sum to 1; zero rows for classes without any annotation.
    """
    spread, evidence = spread_of_workers(confusion), confusion.evidence
    heard = evidence * spread  # n / (n + κ), without the infinite κ of no spread
    share = (heard / (heard + 1 - spread + (heard == 0)))[..., None]
    out: FloatArray = share * np.nan_to_num(confusion.matrices) + (1 - share) * np.nan_to_num(confusion.crowd)
    return out


def spread_of_workers(confusion: WorkerConfusion) -> FloatArray:
    """How far workers differ beyond chance, class by class: 0 = by chance only, 1 = each always gives one label.

    The intraclass correlation of labels within workers, by moments (Weir and Hill 2002): with the mean squares between
    workers, MSB, and within them, MSW, and n_c the effective labels per worker,
    ``ρ_a = max(0, MSB - MSW) / (MSB + (n_c - 1) MSW)``.

    Returns:
        (C,) float64 in [0, 1]; 0 for classes that fewer than two workers labelled, or none twice.
    """
    n, shares, crowd = confusion.evidence, np.nan_to_num(confusion.matrices), np.nan_to_num(confusion.crowd)
    total, between = n.sum(0), np.maximum((n > 0).sum(0) - 1, 0)  # (C,) labels, degrees of freedom between workers
    within = np.maximum(n - 1, 0).sum(0)
    squares_between = (n[..., None] * (shares - crowd) ** 2).sum((0, 2))
    squares_within = (n[..., None] * shares * (1 - shares)).sum((0, 2))
    known = (between > 0) & (within > 0)
    b, w = (
        np.where(known, s / np.where(known, f, 1), 0.0)
        for s, f in ((squares_between, between), (squares_within, within))
    )
    per_worker = (total - (n**2).sum(0) / np.where(known, total, 1)) / np.where(known, between, 1)
    whole = b + (per_worker - 1) * w
    out: FloatArray = np.divide(np.maximum(b - w, 0), whole, out=np.zeros(len(whole)), where=known & (whole > 0))
    return np.clip(out, 0, 1)
