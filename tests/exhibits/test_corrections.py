"""What a method changed in the workers' confusions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdcore.exhibits import view
from crowdcore.exhibits.recovered import confusion_correction, of_run
from crowdcore.exhibits.worker_skills import recovered_workers
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented


def test_a_workers_correction_is_shown_for_the_seed_and_epoch_that_are_looked_at():
    crowd = simulate_crowd()
    result = invented(crowd, "crowd-layer")
    assert confusion_correction(of_run(view(crowd), result)) is None
    rng = np.random.default_rng(0)
    selected, last = rng.normal(0, 0.1, (2, *result.worker_confusion.shape))
    group = rng.integers(3, size=result.worker_confusion.shape[:2])
    own = {"worker_confusion": result.worker_confusion, "correction": last}
    result = replace(result, correction=selected, group=group, last=own)
    for settings, expected in (
        ({}, selected[:, 2].mean(0)),
        ({"seed": 1}, selected[1, 2]),
        ({"seed": 1, "at": "last"}, last[1, 2]),
    ):
        seen = of_run(view(crowd), result, **settings)
        shown = confusion_correction(seen, 2)
        np.testing.assert_allclose(shown.table["correction"], expected.ravel(), atol=1e-12)
        share = result.worker_confusion[1, 2] if settings else result.worker_confusion[:, 2].mean(0)
        np.testing.assert_allclose(shown.table["share"], share.ravel())
    np.testing.assert_array_equal(recovered_workers(seen).table["group"].sort_index(), group[1] + 1)
