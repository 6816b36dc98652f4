"""Simulated spans: errors come at the planted rates."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore import analysis
from crowdcore.analysis import SPAN_ERRORS
from crowdcore.core.errors import SettingError
from crowdcore.data import simulate


def test_types_are_confused_by_all_alike_and_the_careless_miss_spans() -> None:
    crowd = simulate.spans(n_sentences=1_500, n_workers=4, boundary=0, confused=0, spurious=0, missed=0)
    found = analysis.span_scores(crowd, n_resamples=0)
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
    found = analysis.span_scores(crowd, n_resamples=0)
    wrong = found.outcomes[:, SPAN_ERRORS.index("boundary")].sum() / found.n_true.sum()
    assert 0.2 < wrong < 0.8
    assert found.outcomes[:, SPAN_ERRORS.index("missed")].sum() == 0
    assert found.invalid.sum() == 0
    planned = simulate.spans(boundary=0, missed=0, confused=0, shared_confusion=0, careless=0, spurious=0, seed=seed)
    np.testing.assert_array_equal(planned.label, planned.gold[planned.task])


def test_spammers_mark_by_chance_and_copiers_take_on_the_tags_of_worker_1() -> None:
    crowd = simulate.spans(n_sentences=400, n_workers=7, careless=1, spammers=1, copiers=1, copied=1.0)
    assert crowd.truth.worker_role == ("", "", "", "", "misses spans", "spammer", "copier of w1")
    first, copier = (crowd.worker == worker for worker in (0, 6))
    assert np.array_equal(crowd.task[first], crowd.task[copier])
    assert np.array_equal(crowd.label[first], crowd.label[copier])
    assert np.array_equal(crowd.truth.worker_confusion[0], crowd.truth.worker_confusion[6])
    spammer = crowd.worker == 5
    marked = crowd.label[spammer] > 0
    in_spans = crowd.gold[crowd.task[spammer]] > 0
    assert marked[in_spans].mean() == pytest.approx(marked[~in_spans].mean(), abs=0.05)
    with pytest.raises(SettingError, match="exceed the number of spammers and copiers"):
        simulate.spans(n_workers=3, spammers=2, copiers=1)
