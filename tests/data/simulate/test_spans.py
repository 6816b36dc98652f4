"""Simulated spans: errors come at the planted rates."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis import SPAN_ERRORS
from crowdcore.data import simulate


def test_types_are_confused_by_all_alike_and_the_careless_miss_spans() -> None:
    crowd = simulate.spans(n_sentences=1_500, n_workers=4, boundary=0, confused=0, spurious=0, missed=0)
    found = analysis.span_scores(crowd, resamples=0)
    missed = found.outcomes[:, SPAN_ERRORS.index("missed")] / found.n_true
    np.testing.assert_allclose(missed, [0, 0, 0, 0.6], atol=0.03)
    assert crowd.truth is not None and crowd.truth.worker_role == ("", "", "", "misses spans")
    types = analysis.worker_confusion(analysis.span_crowd(crowd, of="type"))
    given = types.matrices[:3, 0, :2]  # LOC as LOC and as ORG, where nothing is missed
    np.testing.assert_allclose(given, [[0.7, 0.3]] * 3, atol=0.05)
    assert found.spurious.sum() == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_boundaries_move_by_one_token_and_spans_stay_in_their_sentence(seed: int) -> None:
    crowd = simulate.spans(boundary=0.5, missed=0, confused=0, shared_confusion=0, careless=0, spurious=0, seed=seed)
    found = analysis.span_scores(crowd, resamples=0)
    wrong = found.outcomes[:, SPAN_ERRORS.index("boundary")].sum() / found.n_true.sum()
    assert 0.2 < wrong < 0.8
    assert found.outcomes[:, SPAN_ERRORS.index("missed")].sum() == 0
    assert found.invalid.sum() == 0
    planned = simulate.spans(boundary=0, missed=0, confused=0, shared_confusion=0, careless=0, spurious=0, seed=seed)
    np.testing.assert_array_equal(planned.label, planned.gold[planned.task])
