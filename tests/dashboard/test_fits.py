"""Names of fits are read back as they were spelled; fits run once, out of the way, and refusals are words."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import crowdcore as cc
from crowdcore.core.errors import SettingError
from crowdcore.data.writers import write_folder
from dashboard import services
from dashboard.services import fits
from tests.conftest import simulate_crowd

VALUES = st.one_of(st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


@pytest.fixture
def crowd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cc.CrowdDataset:
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    write_folder(simulate_crowd(), folder / "crowd")
    return services.dataset("crowd")


@given(st.dictionaries(st.sampled_from(["smoothing", "odd", "other"]), VALUES), st.integers(0, 100))
def test_a_name_is_read_back(settings: dict[str, object], gold: int) -> None:
    name = services.spell_fit("dawid-skene", settings, gold)
    method, found, shown = services.read_fit(name)
    assert (method, shown) == ("dawid-skene", gold)
    assert found == {key: value for key, value in settings.items() if (key, value) != ("smoothing", 0.01)}
    assert {key: type(value) for key, value in found.items()} == {key: type(settings[key]) for key in found}
    assert len(name.split()) == 1 + len(found) + bool(gold)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dawid-skene", "dawid-skene"),
        ("dawid-skene smoothing=0.01 gold=0%", "dawid-skene"),
        ("dawid-skene  restarts=2 smoothing=1", "dawid-skene restarts=2 smoothing=1.0"),
        ("mace inference=em gold=20%", "mace inference=em gold=20%"),
        ("conal-em rename=false", "conal-em rename=false"),
    ],
)
def test_one_spelling_for_each_fit(name: str, expected: str) -> None:
    assert services.canonical(name) == expected
    assert services.canonical(expected) == expected


WRONG = ("smoothing", "smoothing=-1", "self=1", "name=x", "gold=20", "gold=120%", "gold=true", "=1")


@pytest.mark.parametrize("name", ["", "gold", "dawid-skeen", *(f"dawid-skene {word}" for word in WRONG)])
def test_what_cannot_be_run_is_refused(name: str) -> None:
    with pytest.raises(SettingError):
        services.canonical(name)
    assert not fits.is_fit(name)


def ended(names: list[str], again: bool = False) -> dict[str, services.Fit]:
    found = services.start_fits("crowd", names, again)
    services.wait_for(found.values(), 60)
    return found


def test_a_refusal_stops_nobody_else(crowd: cc.CrowdDataset) -> None:
    found = ended(["majority-vote", "kos", "dawid-skeen", "dawid-skene smoothing=2.0"])
    assert [fit.state for fit in found.values()] == ["done", "refused", "refused", "done"]
    assert "two classes only, but crowd has 4" in found["kos"].words
    assert "Did you mean 'dawid-skene'?" in found["dawid-skeen"].words
    direct = cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd)
    assert np.array_equal(services.fitted("crowd", "dawid-skene smoothing=2.0").posterior, direct.posterior)


def test_each_fit_is_run_once(crowd: cc.CrowdDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    run = []
    slow = threading.Event()
    fit = cc.aggregation.MajorityVote.fit

    def counted(self, *args, **kwargs):
        run.append(self)
        slow.wait(10)
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(cc.aggregation.MajorityVote, "fit", counted)
    first = services.start_fits("crowd", ["majority-vote"])["majority-vote"]
    second = services.start_fits("crowd", ["majority-vote"])["majority-vote"]
    services.wait_for([first], 0.05)
    assert first is second
    assert not first.ended.is_set()
    slow.set()
    services.wait_for([first], 10)
    assert first.state == "done"
    assert services.reference("crowd", "majority-vote").name == "majority-vote"
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


def test_shown_gold_is_clamped_and_the_rest_judges(crowd: cc.CrowdDataset) -> None:
    known, judging = cc.analysis.show_gold(crowd, 20)
    result = services.fitted("crowd", "dawid-skene gold=20%")
    shown = known >= 0
    assert (result.labels[shown] == crowd.gold[shown]).all()
    judged = services.judgement("crowd", "dawid-skene gold=20%")
    assert judged.n_judged == (judging >= 0).sum() == crowd.n_tasks - shown.sum()
    assert judged.accuracy == (result.labels == crowd.gold)[~shown].mean()


def test_a_fit_with_settings_is_a_reference(crowd: cc.CrowdDataset) -> None:
    name = "dawid-skene smoothing=2.0"
    assert name in services.references("crowd", name)
    assert "dawid-skeen" not in services.references("crowd", "dawid-skeen")
    found = services.reference("crowd", name)
    assert found.name == name
    assert np.array_equal(found.labels, cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd).labels)


def test_labels_to_take_along(crowd: cc.CrowdDataset, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes(services.labels_csv("crowd", "dawid-skene"))
    import pandas as pd

    frame = pd.read_csv(tmp_path / "labels.csv")
    result = cc.aggregation.get("dawid-skene").fit(crowd)
    assert list(frame["task"]) == list(crowd.task_ids)
    assert list(frame["label"]) == [crowd.classes[c] for c in result.labels]
    posterior = frame[[f"p({name})" for name in crowd.classes]].to_numpy()
    assert np.allclose(posterior, result.posterior)
