from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import crowdcore as cc
from crowdcore.core.errors import CrowdError
from crowdcore.runs import Run, estimate, estimation, get_run
from tests.learning.helpers import featured_crowd

Make, Train = Callable[..., Run], Callable[[Run], int]
TRIAL = {"seconds_per_epoch": 2.0, "bytes": 10**9, "epochs": 50, "share": 0.25, "startup_seconds": 3.0}


def test_earlier_runs_say_how_long(make: Make, train: Train) -> None:
    runs = [make(epochs=4, seeds=(0, 1)) for _ in range(3)]
    for run in runs:
        train(run)
    data, spec = cc.read_dataset(runs[0].spec.dataset), runs[0].spec
    scores = [get_run(r.id).scores for r in runs]
    startup, seconds = (sorted(s[k] for s in scores) for k in ("startup_seconds", "seconds"))
    same = estimate(spec, data)
    assert same.seconds == pytest.approx(sorted(s["startup_seconds"] + s["seconds"] for s in scores)[1])
    assert same.bytes == max(s["peak_bytes"] for s in scores)
    assert "3 earlier runs" in same.basis
    longer = estimate(spec.model_copy(update={"settings": {**spec.settings, "epochs": 400}, "seeds": (5, 6, 7)}), data)
    assert 150 * seconds[0] + startup[0] <= longer.seconds <= 150 * seconds[2] + startup[2]
    assert "in proportion" in longer.basis


def test_a_trial_says_it_once(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(estimation, "_try", lambda order, workspace: asked.append(order) or TRIAL)
    spec = make(epochs=10).spec
    data = cc.read_dataset(spec.dataset)
    found = estimate(spec, data)
    assert (found.seconds, found.bytes) == (23.0, 10**9)
    assert "on 25.0 %" in found.basis
    without = {k: v for k, v in spec.settings.items() if k != "epochs"}
    assert estimate(spec.model_copy(update={"settings": without}), data).seconds == 103.0
    assert len(asked) == 1
    estimate(spec.model_copy(update={"method": "trace"}), data)
    estimate(spec.model_copy(update={"seeds": (1,)}), data)
    estimate(spec, replace(data, name="renamed").where(data.label > 0))
    assert len(asked) == 4


def test_a_real_trial_and_a_refusal(make: Make) -> None:
    run = make(epochs=3)
    found = estimate(run.spec, cc.read_dataset(run.spec.dataset))
    assert 0.1 < found.seconds < 120
    assert 10**8 < found.bytes < 10**10
    assert "trial of two epochs" in found.basis and "%" not in found.basis
    with pytest.raises(CrowdError, match="lerning_rate"):
        estimate(make(lerning_rate=1).spec, cc.read_dataset(run.spec.dataset))


def test_a_large_dataset_is_tried_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "_FIRST", 100)
    monkeypatch.setattr(estimation, "_BUDGET", 0.0)
    crowd = featured_crowd(n_tasks=1000)
    found = estimation.measure(crowd, "dl-mv", {"backbone_settings": {"hidden": 4}}, 2, "cpu")
    assert found["share"] == 0.1
    assert found["epochs"] == 100
    monkeypatch.setattr(estimation, "_BUDGET", 100.0)
    assert estimation.measure(crowd, "dl-mv", {"epochs": 7, "backbone_settings": {"hidden": 4}}, 2, "cpu")["share"] == 1
    part = estimation._part(crowd, 100)
    assert part.features is not None
    assert part.features.present.sum() == 100
    assert part.n_annotations == crowd.n_annotations


def test_trials_of_candidates_take_their_time() -> None:
    parts = [{"seconds_per_epoch": s, "bytes": 10 * s, "epochs": 50, "share": 1 / s} for s in (2.0, 3.0, 1.0)]
    found = estimation._of_trials(parts, seeds=4)
    assert found == {"seconds_per_epoch": 3 * 6 + 6 * 4, "bytes": 30, "epochs": 50, "share": 1 / 3}


def test_a_trial_that_takes_too_long_says_that_the_run_can_be_started(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimation, "_PATIENCE", 0.01)
    spec = make(epochs=3).spec
    with pytest.raises(estimation.SlowTrialError, match="all the same"):
        estimate(spec, cc.read_dataset(spec.dataset))
