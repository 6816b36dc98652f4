"""Runs on all kinds of data, several starts, and estimates of their time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.core.errors import CrowdError
from crowdcore.data.catalogue import full_name, open_labels
from crowdcore.data.dataset import Media
from crowdcore.data.simulate import tags
from crowdcore.data.writers import write_folder
from crowdcore.learning import tagged_spans
from crowdcore.runs import Run, RunSpec, Workspace, curves, estimate, estimation, get_run, predictions, result, store
from crowdcore.runs.locks import Ending
from tests.learning.helpers import featured_crowd


def test_names_uploads_and_paths(workspace: Workspace, crowd_folder: Path) -> None:
    assert open_labels("demo", accept=True, home=workspace.folder).name == "demo"
    assert open_labels(str(crowd_folder), accept=True, home=workspace.folder).n_tasks == 60
    shutil.copytree(crowd_folder, workspace.folder / "datasets" / "mine")
    assert open_labels("mine", accept=True, home=workspace.folder).n_tasks == 60
    shutil.copytree(crowd_folder, workspace.folder / "datasets" / "demo")
    assert open_labels("demo", accept=True, home=workspace.folder).n_tasks == 60, "what was uploaded comes first"


@pytest.mark.parametrize("name", ["nothing", ".", "..", "", "/nowhere/at/all"])
def test_what_is_not_there_is_a_sentence(workspace: Workspace, monkeypatch, name: str) -> None:
    (workspace.folder / "datasets").mkdir()
    monkeypatch.chdir(workspace.folder / "datasets")
    with pytest.raises(CrowdError):
        open_labels(name, accept=True, home=workspace.folder)


def test_rows_that_were_left_out_on_acceptance_are_left_out_again(workspace: Workspace, tmp_path: Path) -> None:
    folder = workspace.folder / "datasets" / "mine"
    folder.mkdir(parents=True)
    (folder / "annotations.csv").write_text("task,worker,label\nt1,w1,a\nt1,w2,\nt2,w1,b\n", encoding="utf-8")
    for name in ("mine", str(folder)):
        assert open_labels(name, accept=True, home=workspace.folder).n_annotations == 2


def test_spelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").touch()
    assert full_name("labelme") == "labelme"
    assert full_name("v1.5") == "v1.5"
    assert full_name("votes.csv") == full_name("./votes.csv") == str(tmp_path / "votes.csv")
    assert full_name("a/../b") == str(tmp_path / "b")


def test_a_run_leaves_out_empty_texts_where_that_was_accepted(workspace, train, tmp_path):
    crowd = featured_crowd()
    words = [f"{('red', 'green', 'blue')[g]} and more" for g in crowd.gold[:-1]]
    columns = pd.DataFrame({"text": [*words, " "]}, index=range(crowd.n_tasks))
    folder = write_folder(replace(crowd, features=None, media=Media(columns=columns)), tmp_path / "texts")
    spec = RunSpec(dataset=str(folder), method="dl-mv", settings={"epochs": 2}, device="cpu")
    for accept in (False, True):
        run = store.create(spec.model_copy(update={"accept": accept}), workspace=workspace)
        train(run)
        ended = store.get_run(run.id, workspace=workspace)
        if accept:
            kept = result(run.id, workspace=workspace)
            assert "Left out: 1 of 60 tasks" in " ".join(kept.notes) and len(kept.task) == 59
        else:
            assert ended.state == "failed" and "the text is empty" in ended.message


FINISHED = Ending.FINISHED.code

Make, Train = Callable[..., Run], Callable[[Run], int]


def test_of_two_starts_the_record_has_the_curves_of_the_one_that_is_kept(make: Make, train: Train) -> None:
    run = make("conal", seeds=(0, 3), epochs=3, embedding=4, start="best-of")
    assert train(run) == FINISHED
    data = cc.read_dataset(run.spec.dataset)
    expected = cc.learning.train(data, "conal", seeds=run.spec.seeds, device="cpu", **run.spec.settings)
    table = curves(run.id)
    assert len(expected.start_loss) == 2
    losses = table[table["metric"] == "loss"]
    np.testing.assert_allclose(losses["mean"], expected.curves["loss"].mean(1))
    np.testing.assert_allclose(losses["std"], expected.curves["loss"].std(1, ddof=1))


def test_of_several_candidates_the_record_has_the_curves_of_the_one_that_was_chosen(make, train) -> None:
    run = make("auto", seeds=(0, 3), epochs=2)
    assert train(run) == FINISHED
    record, expected = get_run(run.id), result(run.id)
    assert record.message.startswith(f"Chosen: {expected.settings['chosen']}")
    assert (record.epoch, record.done) == (2, 1.0)
    table = curves(run.id)
    losses = table[table["metric"] == "loss"]
    np.testing.assert_allclose(losses["mean"], expected.curves["loss"].mean(1))


SMALL = {"embedding": 8, "filters": 8, "hidden": 8}
FAST = {"epochs": 2, "batch_size": 8, "lr": 1e-2, "backbone_settings": SMALL}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    crowd = tags(n_sentences=40, n_valid=8, n_test=12, n_workers=4, length=6, seed=1)
    return write_folder(crowd, tmp_path / "tagged")


def test_a_run_records_the_tagger_and_how_many_spans_it_finds(folder, workspace, train):
    spec = RunSpec(dataset=str(folder), method="crowd-layer", settings=FAST, seeds=(0, 1), device="cpu")
    run = store.create(spec, workspace=workspace)
    assert train(run) == FINISHED
    record, dataset = get_run(run.id), cc.read_dataset(folder)
    assert record.parameters["backbone"] == "tagger"
    spans = tagged_spans(dataset, result(run.id))
    for measure in ("precision", "recall", "f1"):
        assert record.scores[f"test_span_{measure}_selected"] == pytest.approx(spans[measure].mean())
        assert record.scores[f"test_span_{measure}_selected_std"] == pytest.approx(spans[measure].std())
    valid = tagged_spans(dataset, result(run.id), "valid")
    assert record.scores["valid_span_f1_selected"] == pytest.approx(valid["f1"].mean())
    last = tagged_spans(dataset, result(run.id), at="last")
    followed = curves(run.id, ["test_span_f1"])
    assert followed["epoch"].tolist() == [1, 2]
    assert followed["mean"].iloc[-1] == pytest.approx(last["f1"].mean())
    assert len(predictions(run.id)) == dataset.n_tasks


def test_a_trial_takes_whole_sentences(folder: Path) -> None:
    crowd = cc.read_dataset(folder)
    part = estimation._part(crowd, 50)
    assert part.sentences is not None and crowd.sentences is not None
    assert 0 < len(part.sentences) < len(crowd.sentences)
    whole = dict(zip(crowd.sentences.ids, crowd.sentences.lengths, strict=True))
    assert part.sentences.lengths.tolist() == [whole[name] for name in part.sentences.ids]
    cost = estimation.measure(crowd, "crowd-layer", {k: v for k, v in FAST.items() if k != "epochs"}, 1, "cpu")
    assert cost["seconds_per_epoch"] > 0 and np.isfinite(list(cost.values())).all()


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


def test_a_trial_says_it_once(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    orders: list[object] = []
    monkeypatch.setattr(estimation, "_try", lambda order, workspace: orders.append(order) or TRIAL)
    spec = make(epochs=10).spec
    data = cc.read_dataset(spec.dataset)
    costs = estimate(spec, data)
    assert (costs.seconds, costs.bytes) == (23.0, 10**9)
    assert "on 25.0 %" in costs.basis
    without = {k: v for k, v in spec.settings.items() if k != "epochs"}
    assert estimate(spec.model_copy(update={"settings": without}), data).seconds == 103.0
    assert len(orders) == 1
    estimate(spec.model_copy(update={"method": "trace"}), data)
    estimate(spec.model_copy(update={"seeds": (1,)}), data)
    estimate(spec, replace(data, name="renamed").where(data.label > 0))
    assert len(orders) == 4
    fresh = Workspace.open(tmp_path / "nobody" / "was" / "here")
    assert [estimate(spec, data, workspace=fresh).seconds for _ in range(2)] == [23.0] * 2
    assert len(orders) == 5


def test_a_real_trial_and_a_refusal(make: Make) -> None:
    run = make(epochs=3)
    costs = estimate(run.spec, cc.read_dataset(run.spec.dataset))
    assert 0.1 < costs.seconds < 120
    assert 10**8 < costs.bytes < 10**10
    assert "trial of two epochs" in costs.basis and "%" not in costs.basis
    with pytest.raises(CrowdError, match="lerning_rate"):
        estimate(make(lerning_rate=1).spec, cc.read_dataset(run.spec.dataset))


def test_a_large_dataset_is_tried_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimation, "_FIRST", 100)
    monkeypatch.setattr(estimation, "_BUDGET", 0.0)
    crowd = featured_crowd(n_tasks=1000)
    cost = estimation.measure(crowd, "dl-mv", {"backbone_settings": {"hidden": 4}}, 2, "cpu")
    assert cost["share"] == 0.1
    assert cost["epochs"] == 100
    monkeypatch.setattr(estimation, "_BUDGET", 100.0)
    assert estimation.measure(crowd, "dl-mv", {"epochs": 7, "backbone_settings": {"hidden": 4}}, 2, "cpu")["share"] == 1
    part = estimation._part(crowd, 100)
    assert part.features is not None
    assert part.features.present.sum() == 100
    assert part.n_annotations == crowd.n_annotations


def test_trials_of_candidates_take_their_time() -> None:
    parts = [{"seconds_per_epoch": s, "bytes": 10 * s, "epochs": 50, "share": 1 / s} for s in (2.0, 3.0, 1.0)]
    trials = estimation._of_trials(parts, seeds=4)
    assert trials == {"seconds_per_epoch": 3 * 6 + 6 * 4, "bytes": 30, "epochs": 50, "share": 1 / 3}


def test_a_trial_that_takes_too_long_says_that_the_run_can_be_started(make, monkeypatch):
    monkeypatch.setattr(estimation, "_PATIENCE", 0.01)
    spec = make(epochs=3).spec
    with pytest.raises(estimation.SlowTrialError, match="all the same"):
        estimate(spec, cc.read_dataset(spec.dataset))
