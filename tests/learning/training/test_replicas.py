"""A replica is the same alone, among others, recorded, eager, and after a resume."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from crowdcore.learning import methods, sweep
from testkit.training import train_as
from tests.learning.helpers import featured_crowd

MODELS = [name for name in methods.names() if not methods.get(name).candidates]
RUN = {"epochs": 4, "batch_size": 13, "select_on": "gold", "lr": 0.01}


def run(crowd, method, seeds, **settings):
    return train_as(crowd, method, seeds=seeds, device="cpu", **{"stack": "all", **RUN, **settings})


@cache
def two(method):
    """Two replicas side by side, in eager steps."""
    return run(featured_crowd(), method, [3, 1], record=False)


@pytest.mark.parametrize("method", MODELS)
def test_alone_and_among_others(method):
    together, alone = two(method), run(featured_crowd(), method, [1], record=False)
    for name, rows in alone.curves.items():
        np.testing.assert_allclose(together.curves[name][:, 1], rows[:, 0], rtol=2e-4, atol=2e-5, err_msg=name)
    np.testing.assert_allclose(together.probabilities["last"][1], alone.probabilities["last"][0], rtol=1e-3, atol=1e-4)
    assert together.selected_epoch[1] == alone.selected_epoch[0]


@pytest.mark.parametrize("method", MODELS)
def test_recorded_steps_compute_the_same_numbers(method, monkeypatch):
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    recorded, eager = run(featured_crowd(), method, [3, 1]), two(method)
    for name, rows in recorded.curves.items():
        np.testing.assert_allclose(rows, eager.curves[name], rtol=1e-5, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(recorded.probabilities["last"], eager.probabilities["last"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_recorded_steps_follow_the_learning_rate(optimizer, monkeypatch):
    crowd, settings = featured_crowd(), {"optimizer": optimizer, "schedule": "cosine", "weight_decay": 0.01}
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    recorded = run(crowd, "conal", 2, **settings)
    eager = run(crowd, "conal", 2, record=False, **settings)
    np.testing.assert_allclose(recorded.curves["loss"], eager.curves["loss"], rtol=1e-5)


def test_seeds_differ_and_repeat():
    crowd = featured_crowd()
    result, again = run(crowd, "conal", 2), run(crowd, "conal", 2)
    assert not np.allclose(result.probabilities["last"][0], result.probabilities["last"][1])
    assert np.array_equal(result.probabilities["last"], again.probabilities["last"])


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("batch_size", [13, 1000])
def test_batches_of_all_tasks_and_batch_norm_stack_too(batch_size, batch_norm):
    crowd = featured_crowd()
    settings = {"batch_size": batch_size, "backbone_settings": {"batch_norm": batch_norm}}
    together, alone = run(crowd, "crowd-layer", 3, **settings), run(crowd, "crowd-layer", [2], **settings)
    np.testing.assert_allclose(together.curves["loss"][:, 2], alone.curves["loss"][:, 0], rtol=1e-4)


def test_swept_settings_share_a_pass_and_give_what_separate_runs_give():
    crowd = featured_crowd()
    passes = []
    results = sweep(
        crowd,
        "trace",
        {"strength": [0.0, 0.1]},
        seeds=2,
        device="cpu",
        on_event=lambda e: passes.append(getattr(e, "seeds", None)),
        **RUN,
    )
    assert set(passes) - {None} == {(0, 1, 0, 1)}, "one stack of four"
    for strength, result in zip([0.0, 0.1], results, strict=True):
        separate = run(crowd, "trace", 2, strength=strength)
        assert result.settings["strength"] == strength
        np.testing.assert_allclose(result.curves["loss"], separate.curves["loss"], rtol=1e-5)


def test_other_settings_are_swept_one_after_another():
    results = sweep(featured_crowd(), "conal", {"lr": [0.01, 0.02], "embedding": [4, 8]}, seeds=1, epochs=2)
    assert [(r.training["lr"], r.settings["embedding"]) for r in results] == [
        (0.01, 4),
        (0.01, 8),
        (0.02, 4),
        (0.02, 8),
    ]


def test_streaming_from_the_host_is_the_same_run():
    crowd = featured_crowd()
    resident, stream = run(crowd, "conal", 2), run(crowd, "conal", 2, feed="stream")
    np.testing.assert_allclose(resident.curves["loss"], stream.curves["loss"], rtol=1e-6)
