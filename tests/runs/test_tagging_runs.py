"""Runs on crowds that tag tokens: the network that reads words is recorded, and spans are scored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.data.simulate import tags
from crowdcore.data.writers import write_folder
from crowdcore.learning import tagged_spans
from crowdcore.runs import Run, RunSpec, Workspace, curves, estimation, get_run, predictions, result, store
from crowdcore.runs.locks import Ending

FINISHED = Ending.FINISHED.code

SMALL = {"embedding": 8, "filters": 8, "hidden": 8}
FAST = {"epochs": 2, "batch_size": 8, "lr": 1e-2, "backbone_settings": SMALL}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    crowd = tags(n_sentences=40, n_valid=8, n_test=12, n_workers=4, length=6, seed=1)
    return write_folder(crowd, tmp_path / "tagged")


def test_a_run_records_the_tagger_and_how_many_spans_it_finds(
    folder: Path, workspace: Workspace, train: Callable[[Run], int]
) -> None:
    spec = RunSpec(dataset=str(folder), method="crowd-layer", settings=FAST, seeds=(0, 1), device="cpu")
    run = store.create(spec, workspace=workspace)
    assert train(run) == FINISHED
    found, dataset = get_run(run.id), cc.read_dataset(folder)
    assert found.parameters["backbone"] == "tagger"
    spans = tagged_spans(dataset, result(run.id))
    for measure in ("precision", "recall", "f1"):
        assert found.scores[f"test_span_{measure}_selected"] == pytest.approx(spans[measure].mean())
        assert found.scores[f"test_span_{measure}_selected_std"] == pytest.approx(spans[measure].std())
    valid = tagged_spans(dataset, result(run.id), "valid")
    assert found.scores["valid_span_f1_selected"] == pytest.approx(valid["f1"].mean())
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
    found = estimation.measure(crowd, "crowd-layer", {k: v for k, v in FAST.items() if k != "epochs"}, 1, "cpu")
    assert found["seconds_per_epoch"] > 0 and np.isfinite(list(found.values())).all()
