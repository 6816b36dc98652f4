"""The page Runs in-process: runs listed and left out, and actions on the chosen rows."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from crowdcore import runs
from crowdcore.data import load_dataset
from crowdcore.runs import RunSpec, Workspace, store
from crowdcore.runs.record import client_of
from dashboard.components.run_choice import run_label
from dashboard.components.run_chosen import app_dataset
from tests.dashboard.app_page import button, open_page, words

pytestmark = pytest.mark.usefixtures("trainable_crowd")


def finished(dataset: str = "crowd", valid: float = 0.5, std: float | None = 0.01, **spec: Any) -> str:
    """A run whose record says that it has ended with a result."""
    run_spec = RunSpec(dataset=dataset, fingerprint=load_dataset(dataset).fingerprint, **{"method": "conal", **spec})
    run = store.create(run_spec)
    client = client_of(Workspace.open())
    scores = {"valid_accuracy_selected": valid, "test_accuracy_selected": 1 - valid, "test_accuracy_last": 0.25}
    for name, value in (scores | ({} if std is None else {"test_accuracy_selected_std": std})).items():
        client.log_metric(run.id, name, value)
    client.set_tag(run.id, "crowdcore.result", "yes")
    store.set_state(run.id, "finished")
    return run.id


def page(**address: str | list[str]) -> AppTest:
    test = open_page("train", **{"dataset": "crowd", **address})
    assert not [error.value for error in test.error]
    return test


def test_runs_of_all_datasets_with_the_best_on_validation() -> None:
    first = finished(valid=0.6, seeds=(0, 1))
    better = finished(valid=0.8, std=None, settings={"embedding": 40})
    alone = finished("bare", valid=0.9, method="dl-mv", seeds=(0, 1))
    finished(valid=0.99, parent=first)
    frame = page(datasets=["crowd", "bare"]).dataframe[0].value
    assert frame["name"].tolist() == [alone[:8], better[:8], first[:8]]
    assert frame["best"].tolist() == ["", "★", ""]
    assert frame["dataset"].tolist() == ["bare", "crowd", "crowd"]
    assert frame["settings"].tolist() == ["", "Embedding size 40", ""]
    assert frame["test_selected"].tolist() == pytest.approx([10.0, 20.0, 40.0])
    assert frame["test_selected_std"].notna().tolist() == [True, False, True]
    assert len(page(trials="yes", datasets=["crowd", "bare"]).dataframe[0].value) == 4


def test_filters_are_in_the_address() -> None:
    tagged, other = finished(), finished("bare", method="dl-mv")
    runs.change_tags([tagged], ["paper"])
    runs.set_note(other, "A note")
    for address in ({"tags": ["paper"]}, {"method": ["conal"]}, {"datasets": ["crowd"]}):
        assert page(**address).dataframe[0].value["name"].tolist() == [tagged[:8]]
    assert page(find="NOTE", datasets=["bare"]).dataframe[0].value["name"].tolist() == [other[:8]]
    nothing = page(find="nothing like it", datasets=["crowd", "bare"])
    assert "None of the 2 runs" in words(nothing)
    nothing.multiselect(key="train-states").select("finished").run()
    assert "finished" in nothing.query_params["states"]


def test_one_run_is_named_noted_and_tagged() -> None:
    run = finished(settings={"embedding": 40})
    test = page(runs=[run])
    test.text_input(key=f"mark-name-{run}").input("Wide")
    test.text_area(key=f"mark-note-{run}").input("Forty\ndimensions")
    button(test, "Save").click().run()
    record = runs.get_run(run)
    assert (record.name, record.note, record.tags) == ("Wide", "Forty\ndimensions", ())
    assert test.dataframe[0].value["name"].tolist() == ["Wide"]
    assert run_label(record).startswith("Wide · conal · Embedding size 40 · 1 seed")


def test_several_runs_differ_and_are_tagged_cancelled_and_deleted_together() -> None:
    waiting = store.create(RunSpec(dataset="crowd", method="trace"))
    done = [finished(settings={"embedding": k}) for k in (10, 20)]
    test = page(runs=[waiting.id, *done])
    difference = test.dataframe[1].value.set_index("setting")
    assert difference.loc["Embedding size"].tolist() == ["", "10", "20"]
    assert "conal · Embedding size 10" in difference.columns
    test.multiselect(key="tags-chosen").set_value(["sweep"])
    button(test, "Put on all").click().run()
    assert {listed.tags for listed in runs.list_runs()} == {("sweep",)}
    assert "1 of these still" in words(test)
    assert not [b for b in test.button if b.key == "delete-chosen"]
    test = page(runs=done)
    assert "This cannot be undone" in words(test)
    assert "conal · Embedding size 10, crowd" in words(test)
    test.button(key="delete-chosen").click().run()
    assert [listed.id for listed in runs.list_runs()] == [waiting.id]


def test_cancelling_the_chosen_ones_asks_each_that_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [store.create(RunSpec(dataset="crowd", method="trace")).id for _ in range(2)]
    cancelled: list[str] = []
    monkeypatch.setattr(runs, "cancel", cancelled.append, raising=False)
    test = page(runs=[*waiting, finished()])
    button(test, "Cancel 2").click().run()
    assert cancelled == waiting


def test_links_lead_to_the_datasets_of_the_runs() -> None:
    pair, other = [finished(), finished(method="trace")], finished("bare", method="dl-mv")
    chosen = [run for run in runs.list_runs() if run.id in {*pair, other}]
    assert [app_dataset(run) for run in chosen] == ["bare", "crowd", "crowd"]
    links = {link.proto.label: link.proto.query_string for link in page(runs=[*pair, other]).get("page_link")}
    assert all(f"runs={run}" in links["Compare 2 on crowd"] for run in pair) and "Open on bare" in links
    elsewhere = store.create(RunSpec(dataset="/somewhere/votes.csv", method="trace"))
    test = page(runs=[elsewhere.id])
    assert "opened: 1 run" in words(test)


def test_without_runs_the_page_says_what_to_do() -> None:
    assert "Nothing has been trained on crowd yet" in words(page())
