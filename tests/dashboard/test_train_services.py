"""Services of the page Train: lines of methods, labels of runs, ranges of searches, estimates."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from crowdcore import runs
from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.learning import learners, methods, presets, split_settings
from crowdcore.learning.curve_metrics import curve_metrics
from crowdcore.runs import Estimate, Run, RunSpec
from crowdcore.runs.searching import searchable, usually_searched
from dashboard.components.run_choice import run_label, run_labels, run_names
from dashboard.services import train
from testkit.crowds import simulate_crowd

BEGAN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def run(number: int, minutes: float = 0, **changes: object) -> Run:
    spec = RunSpec(dataset="crowd", method="conal", seeds=(0, 1)).model_copy(update=changes)
    return Run(id=f"{number:032x}"[::-1], spec=spec, state="queued", created=BEGAN + timedelta(minutes=minutes))


def test_a_line_leaves_out_defaults_and_refuses_what_a_method_lacks() -> None:
    assert learners.spell_method("conal", {"regularisation": 1e-5, "embedding": 40}) == "conal embedding=40"
    assert learners.read_method("conal embedding=40") == ("conal", {"embedding": 40})
    assert learners.read_method("conal lr=0.01 epochs=3") == ("conal", {"lr": 0.01, "epochs": 3})
    wrongs = ("conall", "conal lr=0", "conal embedding=0", "conal embedding=2.5", "conal variant=best", "conal lr=NaN")
    for wrong in (*wrongs, "conal backbone=os:system", "conal backbone_settings={}", "conal embedding", "conal lr=yes"):
        with pytest.raises(SettingError):
            learners.read_method(wrong)


@pytest.mark.usefixtures("trainable_crowd")
@pytest.mark.parametrize("name", presets.PRESETS)
def test_the_form_asks_for_the_very_runs_of_a_preset(name: str) -> None:
    draft, _ = train.draft_of_preset(name)
    again = train.read_draft("crowd", train.spell_draft("crowd", draft))
    specs = train.specs("crowd", {**again, "methods": draft["methods"]})
    wanted = presets.get(name)
    assert [spec.method for spec in specs] == [method for method, _ in wanted.runs]
    for spec, (method, settings) in zip(specs, wanted.runs, strict=True):
        assert split_settings(methods.get(method), spec.settings) == split_settings(methods.get(method), settings)
        assert spec.seeds == wanted.seeds


def test_labels_of_runs_tell_them_apart_and_stay_as_they_are() -> None:
    first, other, later = run(1), run(2, settings={"embedding": 40}), run(3)
    before = run_labels([other, first])
    after = run_labels([later, other, first])
    assert len(set(after.values())) == 3
    assert {name: after[name] for name in before} == before
    assert before[first.id] == "conal · 2 seeds · 2 Jan 2026, 03:04"
    embedding = learners.setting_title("embedding", "conal")
    assert run_names([first, other]) == {first.id: "conal", other.id: f"conal · {embedding} 40"}
    assert len(set(run_names([later, first]).values())) == 2
    assert run_label(replace(first, state="running", epoch=3)) == before[first.id]


@pytest.mark.parametrize("method", methods.names())
def test_every_setting_offered_to_a_search_can_be_searched_and_trained(method: str) -> None:
    fields = searchable(method)
    assert {"lr", "batch_size", "weight_decay"} <= fields.keys()
    assert usually_searched(method).keys() <= fields.keys()
    for name, field in fields.items():
        if isinstance(field, runs.Choice):
            tried = field.values
        else:
            tried = tuple(int(p) if field.integer else p for p in field.points())
        for value in tried:
            training, own = split_settings(methods.get(method), {name: value})
            assert getattr(own if name in type(own).model_fields else training, name) == value


def test_curves_are_offered_by_name_without_the_scores_that_are_none() -> None:
    scores = dict.fromkeys(["loss", "loss_std", "test_accuracy", "test_accuracy_best", "test_accuracy_best_std"], 0.5)
    scores |= dict.fromkeys(["seconds", "startup_seconds", "annotations_per_second", "peak_bytes", "my_term"], 1.0)
    scores |= dict.fromkeys(["omega_std", "omega_std_std"], 0.1)
    metrics = curve_metrics(replace(run(1), scores=scores).curve_metrics)
    assert metrics == {
        "test_accuracy": "Accuracy, test",
        "loss": "Loss",
        "omega_std": "Spread of ω over annotations",
        "my_term": "My term",
    }


class _Slow:
    """Estimates that wait until a test releases them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.nod = threading.Event()
        monkeypatch.setattr(train, "_SETTLED", 0.1)
        monkeypatch.setattr(train, "_FORGOTTEN", 0.5)
        monkeypatch.setattr(runs, "estimate", self.look, raising=False)
        self.opened = simulate_crowd()

    def look(self, spec: RunSpec, dataset: object) -> Estimate:
        self.asked.append(spec.method)
        self.nod.wait(10)
        if spec.method == "broken":
            raise CrowdError("No.")
        return Estimate(1.0, 2, "Three.")

    def ask(self, *names: str) -> list[object]:
        specs = [RunSpec(dataset="crowd", method=name) for name in names]
        jobs = [train._estimate_job(spec, self.opened) for spec in specs]
        return [job.result or job.refusal for job in jobs]

    def ask_until_known(self, *names: str) -> list[object]:
        for _ in itertools.takewhile(lambda _: None in self.ask(*names), range(200)):
            time.sleep(0.05)
        return self.ask(*names)


def test_estimates_come_one_after_another_and_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _Slow(monkeypatch)
    assert slow.ask("one", "two") == [None, None]
    slow.nod.set()
    assert slow.ask_until_known("one", "two") == [Estimate(1.0, 2, "Three.")] * 2
    assert slow.ask_until_known("two", "one") == [Estimate(1.0, 2, "Three.")] * 2
    assert slow.asked == ["one", "two"]
    (refusal,) = slow.ask_until_known("broken")
    assert isinstance(refusal, CrowdError)


def test_an_estimate_that_nobody_waits_for_any_more_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = _Slow(monkeypatch)
    slow.ask("one", "left")
    time.sleep(0.3)  # the first is being looked at
    assert slow.asked == ["one"]
    time.sleep(0.5)
    slow.nod.set()
    slow.ask_until_known("wanted")
    assert slow.asked == ["one", "wanted"]
