"""The page Train in-process: its display of runs, and its actions on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.util import calc_hash

from crowdcore import runs
from crowdcore.core.errors import DataError
from crowdcore.runs import Workspace, engine, store
from crowdcore.runs.record import client_of
from dashboard.services.runs import curves
from tests.dashboard.app_page import button, words
from tests.dashboard.train_page import asked, page

pytestmark = pytest.mark.usefixtures("trainable_crowd")


def test_again_fills_the_form_and_starts_the_same() -> None:
    settings = {"epochs": 7, "lr": 0.01, "embedding": 40, "backbone": "linear"}
    asked(settings=settings, device="cpu")
    test = page()
    button(test, "Run again with …").click().run()
    assert test.multiselect(key="train-methods").value == ["conal embedding=40"]
    button(test, "Start 1 run").click().run()
    newest, oldest = runs.list_runs("crowd")
    assert newest.spec.model_copy(update={"group": ""}).model_dump() == oldest.spec.model_dump()
    assert newest.spec.settings == settings


def test_a_failed_run_says_why_and_can_go_on(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> None:
    run = asked()
    store.set_state(run.id, "failed", "The disk is **full**.")
    (Workspace.open().run_folder(run.id) / "log.txt").write_text("line one\n<b>line</b> two\n")
    resumed: list[str] = []
    monkeypatch.setattr(runs, "resume", resumed.append, raising=False)
    test = page()
    assert "The disk is **full**." in test.error[0].value.replace("\\", "")
    assert r"\*\*full" in test.error[0].value
    assert "line one\n<b>line</b> two" in words(test)
    test.button(key=f"Resume-{run.id}").click().run()
    assert resumed == [run.id]


def test_a_queue_can_be_put_in_order_and_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(run_id: str) -> None:
        raise DataError(f"Run {run_id[:3]} has just ended")

    first, second = asked(method="trace", group="a"), asked(method="conal", group="a")
    monkeypatch.setattr(runs, "cancel", refused, raising=False)
    monkeypatch.setattr(engine, "ensure_engine", lambda **_: None)
    test = page()
    test.button(key=f"First-{second.id}").click().run()
    assert runs.get_run(second.id).spec.priority > runs.get_run(first.id).spec.priority
    test.button(key=f"Last-{second.id}").click().run()
    assert runs.get_run(second.id).spec.priority < runs.get_run(first.id).spec.priority
    test.button(key=f"Cancel-{first.id}").click().run()
    assert f"Run {first.id[:3]} has just ended" in words(test)


def test_a_run_that_stops_is_waited_for_or_stopped_now(monkeypatch: pytest.MonkeyPatch) -> None:
    run = asked()
    store.set_state(run.id, "running")
    Workspace.open().request_cancel(run.id)
    names: list[tuple[str, bool]] = []
    monkeypatch.setattr(runs, "cancel", lambda name, now: names.append((name, now)), raising=False)
    test = page()
    assert "stopping after this epoch" in next(part.proto.text for part in test.get("progress"))
    assert not [b for b in test.button if b.key == f"Cancel-{run.id}"]
    test.button(key=f"Stop now-{run.id}").click().run()
    assert names == [(run.id, True)]


def test_deleting_asks_first() -> None:
    run = asked()
    store.set_state(run.id, "cancelled", "Cancelled before it began.")
    test = page()
    assert runs.list_runs("crowd")
    test.button(key="delete-chosen").click().run()
    assert runs.list_runs("crowd") == []
    assert not test.exception


def test_a_link_shows_its_runs_and_tells_of_those_that_are_gone() -> None:
    one, _ = asked(method="trace"), asked(method="conal")
    test = page(runs=[one.id, "0" * 32])
    assert test.dataframe[0].value["method"].tolist() == ["conal", "trace"]
    assert test.header[0].value == "trace"
    assert "1 chosen run left out" in words(test)


def test_a_run_that_trains_shows_how_far_it_is() -> None:
    run = asked()
    store.set_state(run.id, "running")
    client = client_of(Workspace.open())
    client.set_tag(run.id, "crowdcore.progress", '{"epoch": 30, "epochs": 120, "done": 0.25, "remaining": 90.0}')
    client.set_tag(run.id, "crowdcore.device", "cpu")
    for epoch, value in ((1, 0.5), (2, 0.75)):
        client.log_metric(run.id, "test_accuracy", value, step=epoch)
    test = page()
    shown = next(part.proto.text for part in test.get("progress"))
    assert shown.replace("\\", "") == "epoch 30 of 120 · 90 s left · test accuracy 75.0 % · cpu"
    assert [b.label for b in test.button if b.key == f"Cancel-{run.id}"] == ["Cancel"]
    assert test.multiselect(key="train-metric").options == ["Accuracy, test"]
    table = curves(run.id)
    assert table[["epoch", "mean"]].to_numpy().tolist() == [[1, 0.5], [2, 0.75]]


def test_a_run_that_went_on_between_two_looks_keeps_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    run = asked()
    store.set_state(run.id, "running")
    monkeypatch.setattr("dashboard.services.runs.runs_of", lambda _: [replace(run, epoch=run.epoch + 1)])
    assert f"Cancel-{run.id}" in [b.key for b in page(runs=[run.id]).button]


def test_a_run_in_its_first_stage_shows_how_far_it_is() -> None:
    run = asked()
    store.set_state(run.id, "running")
    client = client_of(Workspace.open())
    client.set_tag(run.id, "crowdcore.progress", '{"epoch": 0, "epochs": 120, "first_stage": [3, 10], "done": 0.02}')
    client.set_tag(run.id, "crowdcore.device", "cpu")
    shown = next(part.proto.text for part in page().get("progress"))
    assert shown.replace("\\", "") == "first stage, epoch 3 of 10 · cpu"


def test_what_comes_and_goes_above_moves_no_fragment(monkeypatch: pytest.MonkeyPatch, workspace: Path) -> None:
    """Streamlit knows a fragment by its place: were it moved, a click that is on its way to it would be lost."""
    places: set[str] = set()

    def noted(text: str) -> str:
        if any(part in text for part in ("watch", "run_chosen")):
            places.add(text)
        return calc_hash(text)

    monkeypatch.setattr("streamlit.runtime.fragment.calc_hash", noted)
    run = asked()
    page(runs=run.id)
    assert len(places) == 2  # the live rows, the log of the one that is shown
    client_of(Workspace.open()).set_tag(run.id, "crowdcore.result", "yes")
    store.set_state(run.id, "finished")
    assert "1 chosen run left out" in words(page(runs=[run.id, "f" * 32]))
    assert len(places) == 2
