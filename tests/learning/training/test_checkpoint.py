"""A run that was interrupted and resumed is the uninterrupted run, bit for bit."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from crowdcore.core.errors import SettingError
from crowdcore.data import Rows
from crowdcore.learning import EpochEvent
from testkit.training import train_as
from tests.learning.helpers import featured_crowd
from tests.learning.ratings.crowd import rated_crowd

RUN = {"seeds": 2, "epochs": 9, "batch_size": 13, "lr": 0.01, "device": "cpu"}


def same(a, b):
    for name, rows in a.curves.items():
        assert np.array_equal(rows, b.curves[name], equal_nan=True), name
    rated = hasattr(a, "predictions")
    for at in ("selected", "last"):
        part = "predictions" if rated else "probabilities"
        assert np.array_equal(getattr(a, part)[at], getattr(b, part)[at])
        assert all(np.array_equal(v, b.workers[at][k]) for k, v in (a.workers[at] if rated else {}).items())
    assert np.array_equal(a.selected_epoch, b.selected_epoch)
    assert all(np.array_equal(v, b.model[k]) for k, v in a.model.items())


@pytest.mark.parametrize(
    ("labels", "method", "stack", "record"),
    [
        ("classes", "conal", "all", True),
        ("classes", "conal", "none", False),
        ("classes", "dl-em", "none", True),
        ("classes", "crowd-layer", "all", False),
        ("classes", "ccc", "all", False),
        ("ratings", "crowd-layer", "all", True),
        ("ratings", "dl-em", "none", True),
        ("ratings", "wdn", "all", False),
    ],
)
def test_resume_is_bit_for_bit(tmp_path, monkeypatch, labels, method, stack, record):
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    crowd = featured_crowd() if labels == "classes" else rated_crowd(n_tasks=60)[0]
    run = {**RUN, "epochs": 6, "stack": stack, "record": record}
    whole = train_as(crowd, method, **run)
    seen = []

    def stop():
        return len(seen) == 4

    def count(event):
        seen.extend([event] if isinstance(event, EpochEvent) and event.epoch else [])

    partial = train_as(crowd, method, **run, checkpoint=tmp_path, checkpoint_every=3, on_event=count, should_stop=stop)
    assert len(partial.curves["loss"]) == 4
    resumed = train_as(crowd, method, **run, checkpoint=tmp_path, checkpoint_every=3)
    same(whole, resumed)
    same(whole, train_as(crowd, method, **run, checkpoint=tmp_path))


@cache
def undisturbed(method, **settings):
    return train_as(featured_crowd(), method, **RUN, **settings)


@pytest.mark.parametrize(("stop_after", "vote_epochs"), [(1, 0), (3, 0), (1, 0.2), (3, 0.2)])
def test_a_first_stage_is_resumed_bit_for_bit(tmp_path, stop_after, vote_epochs):
    crowd, run = featured_crowd(), {"start": "best-of", "start_epochs": 0.5, "vote_epochs": vote_epochs}
    whole, seen = undisturbed("conal", **run), []

    def count(event):
        seen.extend([event] if isinstance(event, EpochEvent) else [])

    run_here = {**RUN, **run, "checkpoint": tmp_path, "checkpoint_every": 1}
    partial = train_as(crowd, "conal", **run_here, on_event=count, should_stop=lambda: len(seen) >= stop_after)
    assert len(seen) == stop_after, "nothing is trained after the request"
    assert partial.seconds == 0 and len(partial.curves["loss"]) == 1, "what the first stage learnt is the result"
    assert np.isfinite(partial.curves["loss"]).all() and np.isfinite(partial.curves["test_accuracy"]).all()
    same(partial, train_as(crowd, "conal", **run_here, on_event=count, should_stop=lambda: True))
    assert len(seen) == stop_after
    same(whole, train_as(crowd, "conal", **run_here))


def test_patience_survives_a_resume(tmp_path):
    crowd, run = featured_crowd(), {**RUN, "epochs": 30, "patience": 2, "select_on": "gold"}
    whole = train_as(crowd, "vanilla", **run)
    assert (whole.last_epoch < 30).any()
    assert (whole.last_epoch - whole.selected_epoch)[whole.last_epoch < 30].tolist() == [2] * (
        whole.last_epoch < 30
    ).sum()
    seen = []
    train_as(crowd, "vanilla", **run, checkpoint=tmp_path, on_event=seen.append, should_stop=lambda: len(seen) > 3)
    same(whole, train_as(crowd, "vanilla", **run, checkpoint=tmp_path))


def test_a_stack_ignores_what_happens_after_a_replica_stopped():
    crowd, run = featured_crowd(), {**RUN, "epochs": 30, "patience": 2, "stack": "all", "seeds": 4}
    together = train_as(crowd, "vanilla", **run)
    for s in range(4):
        alone = train_as(crowd, "vanilla", **{**run, "seeds": [s]})
        assert alone.last_epoch[0] == together.last_epoch[s]
        np.testing.assert_allclose(alone.probabilities["last"][0], together.probabilities["last"][s], atol=1e-5)
        assert np.isnan(together.curves["loss"][together.last_epoch[s] :, s]).all()


def test_another_runs_checkpoint_is_refused(tmp_path):
    crowd = featured_crowd()
    train_as(crowd, "vanilla", **RUN, checkpoint=tmp_path)
    with pytest.raises(SettingError, match="training differ"):
        train_as(crowd, "vanilla", **{**RUN, "lr": 0.02}, checkpoint=tmp_path)
    with pytest.raises(SettingError, match="dataset"):
        train_as(featured_crowd(seed=1), "vanilla", **RUN, checkpoint=tmp_path)
    changed = Rows.from_array(np.asarray(crowd.features) + 1)
    with pytest.raises(SettingError, match="features differ"):
        train_as(replace(crowd, features=changed), "vanilla", **RUN, checkpoint=tmp_path)
    longer = train_as(crowd, "vanilla", **{**RUN, "epochs": 12}, checkpoint=tmp_path)
    assert len(longer.curves["loss"]) == 12


def _cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[-100] ^= 1  # in the numbers of the last tensor
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [_cut, _flip, lambda path: path.write_bytes(b"")])
def test_a_broken_checkpoint_gives_way_to_the_one_before_it(tmp_path, damage):
    crowd, run = featured_crowd(), {**RUN, "checkpoint": tmp_path, "checkpoint_every": 2}
    whole, seen = undisturbed("vanilla"), []

    def count(event):
        seen.extend([event.epoch] if isinstance(event, EpochEvent) else [])

    train_as(crowd, "vanilla", **run, on_event=count, should_stop=lambda: len(seen) == 7)
    one, two = sorted(tmp_path.rglob("*.safetensors"))
    assert (one.name, two.name) == ("epoch-000005.safetensors", "epoch-000006.safetensors")
    damage(two)
    seen.clear()
    resumed = train_as(crowd, "vanilla", **run, on_event=count)
    assert seen == [7, 8, 9]
    assert any("epoch-000006.safetensors" in n and "after epoch 6" in n for n in resumed.notes)
    same(whole, resumed)
    for path in tmp_path.rglob("*.safetensors"):
        damage(path)
    anew = train_as(crowd, "vanilla", **run)
    assert sum("training begins again" in note for note in anew.notes) == 2
    same(whole, anew)


def test_a_checkpoint_is_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    done, flush, rename = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append("fsync"), flush(handle)))
    monkeypatch.setattr(os, "replace", lambda *names: (done.append("replace"), rename(*names)))
    train_as(featured_crowd(), "vanilla", **{**RUN, "epochs": 1, "checkpoint": tmp_path})
    assert done == ["fsync", "replace", "fsync"], "the file, its name, the folder"


@pytest.mark.parametrize("stack", ["all", "none"])
def test_asked_to_stop_at_once_its_state_is_the_result(tmp_path, stack):
    crowd, run = featured_crowd(), {**RUN, "seeds": 3, "stack": stack}
    seen = []

    def stop():  # in the second seed, where they train one after another
        return len(seen) == (4 if stack == "all" else 13)

    def count(event):
        seen.extend([event] if isinstance(event, EpochEvent) else [])

    partial = train_as(crowd, "trace", **run, checkpoint=tmp_path, on_event=count, should_stop=stop)
    seen.clear()
    same(partial, train_as(crowd, "trace", **run, checkpoint=tmp_path, on_event=count, should_stop=lambda: True))
    assert not seen
    same(train_as(crowd, "trace", **run), train_as(crowd, "trace", **run, checkpoint=tmp_path))


def test_long_epochs_write_a_checkpoint_each(tmp_path, monkeypatch):
    crowd, seen = featured_crowd(), []
    folder = tmp_path / "0-0"

    def look(event):
        seen.extend([folder.exists()] if isinstance(event, EpochEvent) else [])

    train_as(crowd, "vanilla", **RUN, checkpoint=tmp_path / "rare", checkpoint_every=100, on_event=look)
    monkeypatch.setattr("crowdcore.learning.training.loop._CHECKPOINT_SECONDS", 0.0)
    train_as(crowd, "vanilla", **RUN, checkpoint=tmp_path, checkpoint_every=100, on_event=look)
    assert seen == [False] * 9 + [False] + [True] * 8
