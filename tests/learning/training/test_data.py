"""Data of training, and checkpoints from which it continues."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import Rows
from crowdcore.learning import EpochEvent
from crowdcore.learning.settings import TrainSettings, executing
from crowdcore.learning.training.data import Data, Feed
from crowdcore.learning.training.problem import make_problem
from testkit.training import train_as
from tests.learning.helpers import CPU, featured_crowd
from tests.learning.ratings.crowd import rated_crowd


@pytest.fixture
def crowd():
    """60 tasks of which some have one annotation, some three."""
    whole = featured_crowd(per_task=3)
    keep = np.random.default_rng(0).random(whole.n_annotations) < 0.6
    return whole.where(keep | (np.diff(whole.task, prepend=-1) > 0))


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("resident", [True, False])
def test_an_epoch_is_every_task_with_its_annotations_once(crowd, fixed, resident):
    problem = make_problem(crowd, TrainSettings())
    data = Data(problem, CPU, resident, targets=problem.votes())
    feed = Feed(data, (7, 8), 10, fixed)
    n = problem.n_train_annotations
    expected = sorted(zip(problem.task[:n], problem.worker[:n], problem.label[:n], strict=True))
    x = torch.from_numpy(np.asarray(crowd.features)[problem.order])
    for epoch in range(2):
        drawn: list[list[tuple[int, ...]]] = [[], []]
        orders = []
        for index in feed.epoch(epoch):
            batch = data.batch(index)
            assert torch.equal(batch.features, x[batch.task])
            torch.testing.assert_close(batch.target, torch.from_numpy(problem.votes())[batch.task])
            orders.append(batch.task)
            for s in range(2):
                real = batch.weight[s] == 1
                assert ((batch.weight[s] == 0) | real).all()
                task = batch.task[s][batch.row[s]][real]
                drawn[s] += zip(
                    task.tolist(), batch.worker[s][real].tolist(), batch.label[s][real].tolist(), strict=True
                )
        assert sorted(drawn[0]) == sorted(drawn[1]) == expected
        order = torch.cat(orders, 1)
        assert (order.sort(1).values == torch.arange(problem.n_train)).all()
        assert not torch.equal(order[0], order[1])


def test_a_replicas_order_is_its_own_and_changes_with_the_epoch(crowd):
    data = Data(make_problem(crowd, TrainSettings()), CPU)
    alone = next(Feed(data, (8,), 10).epoch(3)).task[0]
    among = next(Feed(data, (1, 8, 5), 10).epoch(3)).task[1]
    assert torch.equal(alone, among)
    assert not torch.equal(alone, next(Feed(data, (8,), 10).epoch(4)).task[0])


def test_recorded_steps_get_one_width_per_epoch_at_least(crowd):
    data = Data(make_problem(crowd, TrainSettings()), CPU)
    feed = Feed(data, (0, 1), 7, fixed_width=True)
    widths = [{i.entry.shape[1] for i in feed.epoch(e)} for e in range(5)]
    assert all(len(w) == 1 for w in widths)
    assert widths == sorted(widths, key=max), "never narrower again"


def test_a_stretch_is_consecutive_tasks(crowd):
    problem = make_problem(crowd, TrainSettings())
    batch = Data(problem, CPU).stretch(slice(5, 9))
    inside = (problem.task >= 5) & (problem.task < 9)
    assert batch.task.tolist() == [5, 6, 7, 8]
    assert (batch.row + 5).tolist() == problem.task[inside].tolist()
    assert batch.worker.tolist() == problem.worker[inside].tolist()
    assert batch.mean(torch.arange(float(inside.sum()))).item() == pytest.approx((inside.sum() - 1) / 2)


def test_nan_is_found_and_its_task_named(crowd):
    features = np.array(crowd.features)
    problem = make_problem(crowd, TrainSettings(standardise=False))
    features[problem.order[problem.splits["test"]][2], 1] = np.nan
    problem = make_problem(replace(crowd, features=Rows.from_array(features)), TrainSettings(standardise=False))
    task = crowd.task_ids[problem.order[problem.splits["test"]][2]]
    with pytest.raises(DataError, match=f"'{task}'"):
        Data(problem, CPU)
    features[problem.order[0]] = np.inf
    with pytest.raises(DataError, match="infinite"):
        make_problem(replace(crowd, features=Rows.from_array(features)), TrainSettings())


@pytest.mark.parametrize(
    ("features", "said"),
    [(np.arange(60.0), r"Features have the shape \(60,\)"), (np.full((60, 2), 1e200), "hold values beyond 3.4e38")],
)
def test_features_that_no_network_takes_are_refused(crowd, features, said):
    with pytest.raises(DataError, match=said):
        make_problem(replace(crowd, features=Rows.from_array(features)), TrainSettings())


def test_images_become_standardised_channels_first(crowd):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (60, 8, 8, 3), dtype=np.uint8)
    problem = make_problem(replace(crowd, features=Rows.from_array(pictures)), TrainSettings())
    assert problem.input_shape == (3, 8, 8)
    data = Data(problem, CPU)
    x = data.inputs(slice(0, problem.n_train))
    assert x.shape == (problem.n_train, 3, 8, 8)
    torch.testing.assert_close(x.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.std((0, 2, 3), correction=0), torch.ones(3), atol=1e-4, rtol=0)
    table = data.inputs(torch.tensor([[3, 1]]))
    assert torch.equal(table[0, 1], x[1])
    grey = make_problem(replace(crowd, features=Rows.from_array(pictures[..., 0])), TrainSettings())
    assert grey.input_shape == (1, 8, 8)
    assert Data(grey, CPU).inputs(slice(0, 2)).shape == (2, 1, 8, 8)


def test_tasks_are_renumbered_train_valid_test_unlabelled():
    crowd = featured_crowd()
    lonely = np.flatnonzero(crowd.split == 0)[3]
    crowd = crowd.where(crowd.task != lonely)
    problem = make_problem(crowd, TrainSettings())
    assert problem.n_train == 35
    for name, code in [("train", 0), ("valid", 1), ("test", 2)]:
        tasks = problem.order[problem.splits[name]]
        expected = np.flatnonzero((crowd.split == code) & (np.arange(60) != lonely))
        assert np.array_equal(tasks, expected)
    assert problem.order[problem.splits["unlabelled"]].tolist() == [lonely]
    assert np.array_equal(problem.order[problem.task], crowd.task[problem.annotation])
    assert np.array_equal(problem.label, crowd.label[problem.annotation])
    assert np.all(np.diff(problem.task) >= 0)
    assert np.array_equal(problem.gold, crowd.gold[problem.order])
    assert problem.validated_on == "gold labels of the valid split"
    assert np.array_equal(problem.valid_label, crowd.gold[crowd.split == 1])


def test_annotations_of_other_splits_are_not_learnt_from():
    crowd = featured_crowd()
    everywhere = replace(featured_crowd(splits=(1.0, 0.0)), split=crowd.split)
    problem = make_problem(everywhere, TrainSettings())
    assert problem.n_train_annotations == 2 * problem.n_train == 72
    assert len(problem.annotation) == 120
    votes = problem.votes()
    assert votes.shape == (36, 3)
    np.testing.assert_allclose(votes.sum(1), 1)


def test_without_valid_split_a_tenth_is_held_out_by_seed():
    crowd = featured_crowd()
    crowd = replace(crowd, split=np.where(crowd.split == 1, 2, crowd.split))
    problem = make_problem(crowd, TrainSettings())
    assert problem.validated_on == "gold labels of 4 training tasks held out (seed 0)"
    assert problem.n_train == 32
    order = problem.order[problem.splits["valid"]]
    assert not np.intersect1d(order, problem.order[: problem.n_train]).size
    assert (crowd.split[order] == 0).all()
    with executing(holdout_seed=1):
        other = make_problem(crowd, TrainSettings())
    assert not np.array_equal(order, other.order[other.splits["valid"]])
    without_gold = make_problem(replace(crowd, gold=None), TrainSettings())
    assert without_gold.validated_on == "majority vote of 4 training tasks held out (seed 0)"
    assert (without_gold.valid_label >= 0).all()


def test_consensus_validates_where_there_is_no_gold():
    everywhere = replace(featured_crowd(splits=(1.0, 0.0)), split=featured_crowd().split)
    gold = np.where(everywhere.split == 1, -1, everywhere.gold)
    problem = make_problem(replace(everywhere, gold=gold), TrainSettings())
    assert problem.validated_on == "majority vote of the valid split"
    explicit = make_problem(everywhere, TrainSettings(select_on="consensus"))
    assert np.array_equal(explicit.valid_label, problem.valid_label)


def test_refusals_are_sentences():
    crowd = featured_crowd()
    with pytest.raises(DataError, match="features"):
        make_problem(replace(crowd, features=None), TrainSettings())
    with pytest.raises(DataError, match="annotations"):
        make_problem(crowd.where(np.zeros(crowd.n_annotations, bool)), TrainSettings())
    no_gold = replace(crowd, gold=np.where(crowd.split == 1, -1, crowd.gold))
    with pytest.raises(DataError, match="neither"):
        make_problem(no_gold, TrainSettings())
    with pytest.raises(DataError, match="gold"):
        make_problem(no_gold, TrainSettings(select_on="gold"))
    with pytest.raises(DataError, match="no annotations"):
        make_problem(crowd, TrainSettings(select_on="consensus"))
    assert make_problem(no_gold, TrainSettings(select_on="none")).validated_on == ""
    few = crowd.where(crowd.task < 2)
    with pytest.raises(DataError, match="2 annotated"):
        make_problem(few, TrainSettings())
    with pytest.raises(SettingError, match="5 workers"):
        make_problem(crowd, TrainSettings(), worker_features=np.zeros((4, 2)))
    with pytest.raises(DataError, match="NaN"):
        make_problem(crowd, TrainSettings(), worker_features=np.full((5, 2), np.nan))


def test_a_class_nobody_named_is_noted():
    crowd = featured_crowd()
    problem = make_problem(crowd.where(crowd.label != 1), TrainSettings())
    assert any("'class 1'" in note for note in problem.notes)


def test_features_are_standardised_when_their_scales_differ_wildly():
    crowd = featured_crowd()
    assert not make_problem(crowd, TrainSettings()).preparation.changes
    assert make_problem(crowd, TrainSettings(standardise=True)).preparation.changes
    wild = np.asarray(crowd.features) * np.logspace(0, 4, 6, dtype=np.float32)
    problem = make_problem(replace(crowd, features=type(crowd.features).from_array(wild)), TrainSettings())
    train = wild[problem.order[: problem.n_train]]
    np.testing.assert_allclose(problem.preparation.mean, train.mean(0), rtol=1e-5)
    np.testing.assert_allclose(problem.preparation.scale, train.std(0), rtol=1e-5)


def test_crowd_labels_can_select_where_gold_is_known():
    problem = make_problem(featured_crowd(), TrainSettings(select_on="crowd", holdout=0.2))
    assert "majority vote of" in problem.validated_on and "held out" in problem.validated_on
    assert (problem.valid_label >= 0).all()
    gold = problem.gold[problem.splits["valid"]]
    assert (problem.valid_label != gold).any(), "workers' labels, not gold"


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


@pytest.mark.parametrize(("stop_after", "vote_epochs"), [(3, 0), (1, 0.2)])
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
