"""The training program, its metrics and its replicas."""

from __future__ import annotations

import sys
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from sklearn.metrics import accuracy_score, f1_score, log_loss
from torch import nn
from torch.nn import functional

from crowdcore.analysis import names_at_risk
from crowdcore.core.errors import SettingError
from crowdcore.learning import methods, sweep, train
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training import events, metrics, steps
from crowdcore.learning.training.device import UnrecordableError
from crowdcore.learning.training.metrics import match_names, match_names_without_task, reorder_classes, restore_classes
from crowdcore.learning.training.program import Program, _Recorder
from crowdcore.learning.training.schedule import _name_notes
from testkit.training import train_as
from tests.learning.helpers import featured_crowd


def record(function, *inputs, state=(), memory=None):
    """The program, and a function that runs it on other inputs."""
    static = tuple(i.clone() for i in inputs)
    return Program(lambda: function(*static), static, state, [] if memory is None else memory)


def views(x):
    y = x.t().reshape(-1)[3:].unsqueeze(0)
    a, b = y.split([4, y.shape[1] - 4], 1)
    return torch.cat([b, a.expand(3, 4).sum(0, keepdim=True)], 1).squeeze(0)


def in_place(x):
    y = torch.arange(x.shape[1], dtype=x.dtype).mul_(3)  # a constant that is written to
    table = torch.zeros(4, x.shape[1]).index_add_(0, torch.tensor([1, 3, 1, 0, 0]), x)
    return (table + y).masked_fill_(table > 1, -1.0).clamp_min_(-2)


def several_results(x):
    values, index = x.max(1)
    top = x.topk(2, dim=1)
    return torch.cat([values, index.to(x.dtype), top.values.flatten(), functional.logsigmoid(x).flatten()])


def kinds_of_numbers(x):
    bits = (x * 100).to(torch.int32)
    h = (bits ^ (bits >> 3)).view(torch.uint8).to(torch.float32)
    return torch.where(h > 7, h / 3, torch.full_like(h, 0.5)) + x.double().sum().to(torch.float32)


def gradients(x):
    w = torch.linspace(-1, 1, 4 * x.shape[1]).view(x.shape[1], 4).requires_grad_()
    loss = functional.cross_entropy(torch.relu(x @ w), torch.arange(len(x)) % 4)
    return torch.autograd.grad(loss, w)[0]


@pytest.mark.parametrize("function", [views, in_place, several_results, kinds_of_numbers, gradients])
def test_a_program_computes_what_its_function_computes(function):
    generator = torch.Generator().manual_seed(0)
    program = record(function, torch.randn(5, 6, generator=generator))
    for _ in range(3):
        x = torch.randn(5, 6, generator=generator)
        assert torch.equal(program((x,)), function(x))


def change_by_value(x):
    return x * x.sum().item()


def change_by_numpy(x):
    return x + torch.from_numpy((x * 2).numpy())


@pytest.mark.parametrize("function", [change_by_value, change_by_numpy])
def test_what_a_recording_could_not_repeat_is_refused(function):
    total = torch.zeros(3)
    with pytest.raises(UnrecordableError):
        record(lambda x: total.add_(function(x)), torch.ones(3), state=[total])
    assert total.tolist() == [0, 0, 0]


def without_recorder(monkeypatch):
    monkeypatch.setitem(sys.modules, "crowdcore.learning.training.program", None)


def untested_torch(monkeypatch):
    monkeypatch.setattr(steps, "TESTED_TORCH", ((1, 0), (1, 13)))


def changed_internal(monkeypatch):
    monkeypatch.delattr(_Recorder, "node")


def test_steps_are_eager_where_they_cannot_be_recorded(monkeypatch):
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    calls = []
    replay = Program.__call__
    monkeypatch.setattr(Program, "__call__", lambda self, inputs: calls.append(1) or replay(self, inputs))
    run = {"seeds": 2, "epochs": 2, "batch_size": 13, "device": "cpu", "select_on": "none"}
    recorded = train(featured_crowd(), "conal", **run)
    assert calls
    for change in (without_recorder, untested_torch, changed_internal):
        calls.clear()
        with monkeypatch.context() as patch:
            change(patch)
            eager = train(featured_crowd(), "conal", **run)
        assert not calls, change.__name__
        np.testing.assert_allclose(eager.curves["loss"], recorded.curves["loss"], rtol=1e-6)


def test_a_recording_holds_no_value_that_its_function_has_let_go():
    hits = []

    def function(x):
        values = []
        for _ in range(20):
            x = x + 1
            values.append(weakref.ref(x))
            hits.append(sum(value() is not None for value in values))
        return x

    record(function, torch.ones(3))
    assert max(hits) == 1


def test_recording_leaves_the_state_as_it_was_and_runs_change_it():
    norm, x = nn.BatchNorm1d(6), torch.randn(5, 6)
    own, total = nn.BatchNorm1d(6), torch.ones(6)
    state = [*own.buffers(), total]

    def step(batch):
        total.add_(own(batch).square().sum(0))
        return total * 1

    program = record(step, x, state=state)
    assert torch.equal(total, torch.ones(6))
    assert own.num_batches_tracked == 0
    expected = torch.ones(6)
    for _ in range(3):
        x = torch.randn(5, 6)
        expected += norm(x).detach().square().sum(0)
        torch.testing.assert_close(program((x,)), expected)
    assert torch.equal(own.running_mean, norm.running_mean)
    assert own.num_batches_tracked == 3


def test_random_numbers_are_fresh_in_every_run_and_constants_are_computed_once():
    program = record(lambda x: x + torch.rand(4) + torch.arange(4) * torch.ones(4), torch.zeros(4))
    first, second = program((torch.zeros(4),)).clone(), program((torch.zeros(4),)).clone()
    assert not torch.equal(first, second)
    assert len(program.calls) == 3, "random numbers, two sums"


def test_memory_is_used_again_by_later_values_and_by_other_programs():
    def function(x):
        for k in range(20):
            x = (x + k).sin()
        return x

    memory = []
    programs = [record(function, torch.randn(100), memory=memory) for _ in range(2)]
    assert sum(block.numel() for block in memory) <= 3 * 400
    for program in (*programs, *programs):
        x = torch.randn(100)
        assert torch.equal(program((x,)), function(x))


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4) * 0.5, (3, 50)).astype(np.float32)
    truth = rng.integers(-1, 4, 50)
    return p, truth


def test_accuracy_f1_and_nll_are_scikit_learns(case):
    p, truth = case
    known = truth >= 0
    for s in range(3):
        given = p[s, known].argmax(1)
        assert metrics.accuracy(p, truth)[s] == pytest.approx(accuracy_score(truth[known], given))
        assert metrics.macro_f1(p, truth)[s] == pytest.approx(f1_score(truth[known], given, average="macro"))
        q = p[s, known].astype(float)
        expected = log_loss(truth[known], q / q.sum(1, keepdims=True), labels=range(4))
        assert metrics.negative_log_likelihood(p, truth)[s] == pytest.approx(expected, rel=1e-5)
        for c in range(4):
            of = truth == c
            assert metrics.class_accuracy(p, truth)[s, c] == pytest.approx((p[s, of].argmax(1) == c).mean())


def test_a_class_without_tasks_has_no_accuracy_and_does_not_count():
    p = np.eye(3)[[0, 1, 1]]
    truth = np.array([0, 1, 0])
    assert np.isnan(metrics.class_accuracy(p, truth)[2])
    assert metrics.macro_f1(p, truth) == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert np.isnan(metrics.accuracy(p, np.array([-1, -1, -1])))


def test_calibration_error_by_hand():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    truth = np.array([0, 1, 0, 1])
    # bins of 1/10: 0.9 twice, half of them right; 0.6 right; 0.7 right
    assert metrics.calibration_error(p, truth, bins=10) == pytest.approx((2 * 0.4 + 0.4 + 0.3) / 4)


def test_recovery_error_is_tannos():
    rng = np.random.default_rng(1)
    true, confusions = rng.dirichlet(np.ones(3), (4, 3)), rng.dirichlet(np.ones(3), (2, 4, 3))
    loops = [
        sum((confusions[s, r, a, b] - true[r, a, b]) ** 2 for r in range(4) for a in range(3) for b in range(3)) / 12
        for s in range(2)
    ]
    np.testing.assert_allclose(metrics.recovery_error(true, confusions), loops)
    weighted = metrics.recovery_error(true, confusions, np.array([1, 0, 0, 0]))
    np.testing.assert_allclose(weighted, ((confusions[:, 0] - true[0]) ** 2).sum((1, 2)) / 3)
    confusions[:, 1, 0] = np.nan
    np.testing.assert_allclose(
        metrics.recovery_error(true, confusions), metrics.recovery_error(true[[0, 2, 3]], confusions[:, [0, 2, 3]])
    )


def test_correlations_are_numpys():
    rng = np.random.default_rng(2)
    true, confusions = rng.dirichlet(np.ones(3), (6, 3)), rng.dirichlet(np.ones(3), (2, 6, 3))
    for s in range(2):
        a, b = (np.array([np.trace(m) / 3 for m in ms]) for ms in (true, confusions[s]))
        assert metrics.skill_correlation(true, confusions)[s] == pytest.approx(np.corrcoef(a, b)[0, 1])
    omega, estimate = rng.random(20), rng.random((1, 20))
    estimate[0, :5] = np.nan
    assert metrics.omega_correlation(omega, estimate)[0] == pytest.approx(np.corrcoef(omega[5:], estimate[0, 5:])[0, 1])
    assert np.isnan(metrics.omega_correlation(np.ones(4), np.ones((1, 4)))).all()


@given(st.permutations(range(5)), st.integers(0, 2**16))
def test_a_renamed_prediction_is_matched(order, seed):
    rng = np.random.default_rng(seed)
    gold = np.concatenate([np.arange(5), rng.integers(5, size=40)])
    sure = 0.6 * np.eye(5)[gold] + 0.4 * rng.dirichlet(np.ones(5), len(gold))
    latent = reorder_classes(sure[None], np.argsort(order)[None], -1)
    names = match_names(latent, gold)
    np.testing.assert_array_equal(names, [order])
    np.testing.assert_allclose(reorder_classes(latent, names, -1)[0], sure)
    np.testing.assert_allclose(restore_classes(reorder_classes(latent, names, -1), names, -1), latent)


def test_classes_that_gold_does_not_hold_stay_where_they_are():
    gold = np.array([0, 1, 0, 1, -1])
    p = np.full((1, 5, 4), 0.05)
    p[0, np.arange(5), [1, 0, 1, 0, 3]] = 0.85
    np.testing.assert_array_equal(match_names(p, gold), [[1, 0, 2, 3]])


def flipped(crowd):
    """A crowd that calls every class by the next one's name, but for a few labels."""
    rng = np.random.default_rng(0)
    label = np.where(rng.random(crowd.n_annotations) < 0.9, (crowd.gold[crowd.task] + 1) % 3, crowd.label)
    return replace(crowd, label=label.astype(crowd.label.dtype))


def test_gold_of_validation_names_what_labels_cannot():
    crowd = flipped(featured_crowd(n_tasks=300, n_workers=8))
    run = {"seeds": 2, "epochs": 15, "batch_size": 32, "lr": 0.01, "select_on": "gold"}
    left, named = train(crowd, "crowd-layer", **run), train(crowd, "crowd-layer", **run, names="validation-gold")
    assert left.accuracy("test").max() < 0.2
    assert named.accuracy("test").min() > 0.8
    assert named.accuracy("test", at="last").min() > 0.8
    np.testing.assert_allclose(named.curves["valid_accuracy"][-1], named.accuracy("valid", at="last"), atol=1e-6)
    assert (named.names["selected"] != np.arange(3)).any(1).all()
    next_class = np.roll(np.eye(3), 1, 1)
    assert np.abs(named.worker_confusion.mean((0, 1)) - next_class).max() < 0.5
    rows = crowd.features[named.task[:20]]
    np.testing.assert_allclose(named.predict_proba(rows), named.probabilities["selected"][:, :20], atol=1e-5)


def test_a_result_warns_where_labels_cannot_name_the_classes():
    crowd = flipped(featured_crowd(n_tasks=300, n_workers=8))
    run = {"seeds": 1, "epochs": 15, "batch_size": 32, "lr": 0.01, "select_on": "gold"}

    def warned(result):
        return [note for note in result.notes if "Labels alone cannot name" in note]

    # started near the right names, the confusions say so; started from the votes they cannot know
    noted = train(crowd, "crowd-layer", **run, start="identity", names="validation-gold")
    assert not warned(noted), "gold has named the classes"
    moved = replace(crowd, label=crowd.gold[crowd.task].astype(crowd.label.dtype))
    assert not warned(train(moved, "crowd-layer", **run))
    risks = names_at_risk(crowd, noted.worker_confusion)
    assert risks == [(0, 1), (1, 2), (2, 0)]
    parts = {"worker_confusion": noted.worker_confusion, "worker_counts": 20 * noted.worker_confusion}
    [note] = _name_notes(crowd, parts, TrainSettings())
    assert f"{crowd.classes[0]!r} (most often {crowd.classes[1]!r})" in note


def test_names_do_not_count_as_distance_from_the_start():
    crowd = flipped(featured_crowd(n_tasks=120))
    run = {"seeds": 1, "epochs": 4, "batch_size": 32, "lr": 0.01, "select_on": "gold"}
    left, named = train(crowd, "crowd-layer", **run), train(crowd, "crowd-layer", **run, names="validation-gold")
    for at in ("last", 4):
        np.testing.assert_allclose(left.moved("worker_confusion", at), named.moved("worker_confusion", at), atol=1e-6)
    np.testing.assert_allclose(left.moved("worker_confusion", 0), 0)


@pytest.mark.parametrize("select_on", ["none", "crowd"])
def test_names_need_gold(select_on):
    with pytest.raises(SettingError, match="`names`"):
        train(featured_crowd(), "crowd-layer", epochs=1, seeds=1, select_on=select_on, names="validation-gold")


def test_the_gold_of_a_task_does_not_name_its_own_row():
    rng = np.random.default_rng(5)
    p, gold = rng.dirichlet(np.ones(3), 9), rng.integers(3, size=9)
    task = match_names_without_task(p, gold)
    for i in range(9):
        rest = np.arange(9) != i
        np.testing.assert_array_equal(task[i], p[i][match_names(p[None, rest], gold[rest])[0]])


def test_what_was_done_before_a_run_went_on_does_not_make_it_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 2.0, 4.0, 6.0])
    monkeypatch.setattr(events.time, "perf_counter", lambda: next(now))
    resumed = events.Pace()  # at seven of ten epochs, of two seconds each
    assert [resumed.remaining(done, 0.1) for done in (0.8, 0.9, 1.0)] == pytest.approx([4, 2, 0])


MODELS = [name for name in methods.names() if not methods.get(name).candidates]
RUN = {"epochs": 3, "batch_size": 13, "select_on": "gold", "lr": 0.01}


def run(crowd, method, seeds, **settings):
    return train_as(crowd, method, seeds=seeds, device="cpu", **{"stack": "all", **RUN, **settings})


@pytest.mark.parametrize("method", MODELS)
def test_a_seed_alone_among_others_and_in_recorded_steps_comes_to_the_same(method, monkeypatch):
    crowd = featured_crowd()
    eager, alone = run(crowd, method, [3, 1], record=False), run(crowd, method, [1], record=False)
    for name, rows in alone.curves.items():
        np.testing.assert_allclose(eager.curves[name][:, 1], rows[:, 0], rtol=2e-4, atol=2e-5, err_msg=name)
    np.testing.assert_allclose(eager.probabilities["last"][1], alone.probabilities["last"][0], rtol=1e-3, atol=1e-4)
    assert eager.selected_epoch[1] == alone.selected_epoch[0]
    monkeypatch.setattr("crowdcore.learning.training.loop._WORTH_RECORDING", 1)
    recorded = run(crowd, method, [3, 1])
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
