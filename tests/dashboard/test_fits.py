"""Fits run once, out of the way, and refusals are words."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.data.writers import write_folder
from crowdcore.exhibits.fits import fitted
from dashboard.services import datasets, opening
from dashboard.services.fits import labels_csv, start_fits, wait_for
from dashboard.services.jobs import Job
from testkit.crowds import simulate_crowd


@pytest.fixture
def crowd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cc.CrowdDataset:
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    write_folder(simulate_crowd(), folder / "crowd")
    return opening.dataset("crowd")


def ended(names: list[str], again: bool = False) -> dict[str, Job]:
    fits = start_fits("crowd", names, again)
    wait_for(fits.values(), 60)
    return fits


def test_a_refusal_stops_nobody_else(crowd: cc.CrowdDataset) -> None:
    fits = ended(["majority-vote", "kos", "dawid-skeen", "dawid-skene smoothing=2.0"])
    assert [fit.state for fit in fits.values()] == ["done", "refused", "refused", "done"]
    assert "but crowd has 4" in str(fits["kos"].refusal)
    assert "'dawid-skene'?" in str(fits["dawid-skeen"].refusal)
    direct = cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd)
    assert np.array_equal(fitted(crowd, "dawid-skene smoothing=2.0").posterior, direct.posterior)


def test_each_fit_is_run_once(crowd: cc.CrowdDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run = []
    slow = threading.Event()
    fit = cc.aggregation.MajorityVote.fit

    def counted(self, *args, **kwargs):
        run.append(self)
        slow.wait(10)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(cc.aggregation.MajorityVote, "fit", counted)
    first = start_fits("crowd", ["majority-vote"])["majority-vote"]
    second = start_fits("crowd", ["majority-vote"])["majority-vote"]
    wait_for([first], 0.05)
    assert first is second
    assert not first.ended.is_set()
    slow.set()
    wait_for([first], 10)
    assert first.state == "done"
    assert datasets.reference("crowd", "majority-vote").name == "majority-vote"
    assert len(run) == 1


def test_a_fault_is_logged_and_tried_again_when_asked(
    crowd: cc.CrowdDataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(cc.aggregation.MajorityVote, "fit", lambda *_, **__: 1 / 0)
        assert ended(["majority-vote"])["majority-vote"].state == "failed"
    assert "ZeroDivisionError" in caplog.text
    assert ended(["majority-vote"])["majority-vote"].state == "failed"
    assert ended(["majority-vote"], again=True)["majority-vote"].state == "done"


def test_a_fit_with_settings_is_a_reference(crowd: cc.CrowdDataset) -> None:
    name = "dawid-skene smoothing=2.0"
    assert name in datasets.references("crowd", name)
    assert "dawid-skeen" not in datasets.references("crowd", "dawid-skeen")
    reference = datasets.reference("crowd", name)
    assert reference.name == name
    assert np.array_equal(reference.labels, cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd).labels)


def test_labels_to_take_along(crowd: cc.CrowdDataset, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes(labels_csv("crowd", "dawid-skene"))
    import pandas as pd

    frame = pd.read_csv(tmp_path / "labels.csv")
    result = cc.aggregation.get("dawid-skene").fit(crowd)
    assert list(frame["task"]) == list(crowd.task_ids)
    assert list(frame["label"]) == [crowd.classes[c] for c in result.labels]
    posterior = frame[[f"p({name})" for name in crowd.classes]].to_numpy()
    assert np.allclose(posterior, result.posterior)
    (tmp_path / "hard.csv").write_bytes(labels_csv("crowd", "item-response"))
    hard = pd.read_csv(tmp_path / "hard.csv")
    assert np.allclose(hard["difficulty"], cc.aggregation.get("item-response").fit(crowd).difficulty)
    assert "foil" in hard
