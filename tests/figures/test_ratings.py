"""Figures of ratings: colour only where a test bears it out."""

from __future__ import annotations

import numpy as np

from crowdcore import analysis, figures
from tests.rated_crowd import rated_crowd


def test_pairs_that_chance_explains_have_no_colour_but_their_numbers():
    crowd, _ = rated_crowd(200, 8, 5)
    found = analysis.rating_pairs(crowd, analysis.rating_truth(crowd))
    cells = figures.rating_errors_alike(found).data[0]
    sure = found.q_value <= 0.05
    assert not sure.all()
    assert np.abs(found.error_correlation).min() > 0
    np.testing.assert_array_equal(cells.z[found.worker_a, found.worker_b], np.where(sure, found.error_correlation, 0.0))
    told = cells.customdata[found.worker_a, found.worker_b]
    np.testing.assert_array_equal(told, np.stack([found.error_correlation, found.q_value, found.tasks], 1))
    assert np.isnan(np.diag(cells.z)).all()
