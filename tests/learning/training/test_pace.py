"""The time left of a run."""

from __future__ import annotations

import pytest

from crowdcore.learning.training import events


def test_what_was_done_before_a_run_went_on_does_not_make_it_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 2.0, 4.0, 6.0])
    monkeypatch.setattr(events.time, "perf_counter", lambda: next(now))
    resumed = events.Pace()  # at seven of ten epochs, of two seconds each
    assert [resumed.remaining(done, 0.1) for done in (0.8, 0.9, 1.0)] == pytest.approx([4, 2, 0])
