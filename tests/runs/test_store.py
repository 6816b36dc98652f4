from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from crowdcore.core.errors import DataError
from crowdcore.runs import (
    STATES,
    Run,
    RunSpec,
    Workspace,
    curves,
    delete,
    get_run,
    list_runs,
    result,
    set_priority,
    store,
)
from crowdcore.runs.locks import leased
from crowdcore.runs.record import client_of
from crowdcore.runs.run import STATUS


def queued(dataset: str = "demo", **fields: object) -> Run:
    return store.create(RunSpec(dataset=dataset, method="conal", **fields))


def test_a_run_is_read_as_it_was_made(workspace: Workspace) -> None:
    spec = RunSpec(dataset="demo", method="trace", settings={"epochs": 7, "lr": 0.1}, seeds=(3, 1), group="g")
    run = store.create(spec)
    assert get_run(run.id) == run
    assert run.spec == spec
    assert (run.state, run.message, run.epoch, run.epochs, run.done) == ("queued", "", 0, 7, 0.0)
    assert run.created is not None
    assert run.created.tzinfo is not None
    assert run.started is None
    assert workspace.run_folder(run.id).is_dir()
    assert curves(run.id).columns.tolist() == ["epoch", "metric", "mean", "std"]
    assert curves(run.id).empty


def test_runs_are_listed_newest_first_and_by_what_they_are(workspace: Workspace) -> None:
    a, b, c = queued(), queued("other"), queued(parent="0" * 32)
    store.set_state(b.id, "running")
    assert [r.id for r in list_runs()] == [c.id, b.id, a.id]
    assert [r.id for r in list_runs("demo")] == [c.id, a.id]
    assert [r.id for r in list_runs(states=["running"])] == [b.id]
    assert [r.id for r in list_runs(states=["running", "queued"], dataset="other")] == [b.id]
    assert [r.id for r in list_runs(parent="0" * 32)] == [c.id]
    assert list_runs("nothing") == list_runs(parent="1" * 32) == list_runs(parent="a' or '1'='1") == []


def test_listing_the_runs_of_a_new_workspace_makes_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(store, "client_of", lambda _: pytest.fail("MLflow takes seconds to make an empty record"))
    new = Workspace.open(tmp_path / "new")
    assert store.list_runs("demo", workspace=new) == []
    assert not new.folder.exists()


def test_a_path_is_kept_absolute(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").touch()
    run = queued("./votes.csv")
    assert run.spec.dataset == str(tmp_path / "votes.csv")
    assert [r.id for r in list_runs("votes.csv")] == [run.id]
    assert list_runs("votes") == []


@pytest.mark.parametrize("state", STATES)
def test_mlflow_shows_the_same_state(workspace: Workspace, state: store.State) -> None:
    run = queued()
    store.set_state(run.id, state, "because")
    found = get_run(run.id)
    assert (found.state, found.message) == (state, "because")
    assert client_of(workspace).get_run(run.id).info.status == STATUS[state]
    assert found.has_ended == (found.ended is not None)
    store.set_state(run.id, "queued")
    assert (get_run(run.id).state, get_run(run.id).ended, get_run(run.id).message) == ("queued", None, "because")


def test_a_priority_can_change(workspace: Workspace, no_engine: list[Workspace]) -> None:
    run = queued(priority=1)
    set_priority(run.id, 5)
    assert no_engine == [workspace], "it looks at the queue anew"
    assert get_run(run.id).spec.priority == 5


@pytest.mark.parametrize("run_id", ["f" * 32, "", "../x"])
def test_an_unknown_run_is_a_sentence(workspace: Workspace, run_id: str) -> None:
    for ask in (get_run, curves, result):
        with pytest.raises(DataError, match="There is no run"):
            ask(run_id)


def test_runs_of_others_are_left_alone(workspace: Workspace) -> None:
    client = client_of(workspace)
    foreign = client.create_run("0").info.run_id
    broken = queued()
    client.set_tag(broken.id, "crowdcore.spec", "{")
    assert list_runs() == []
    for run_id in (foreign, broken.id):
        with pytest.raises(DataError, match="not made by crowdcore"):
            get_run(run_id)


def test_what_waits_or_runs_is_not_deleted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_LEAVING", 0.1)
    done, waiting = queued(), queued()
    store.set_state(done.id, "failed")
    with pytest.raises(DataError, match="is queued"):
        delete([done.id, waiting.id])
    assert len(list_runs()) == 2
    with leased(workspace.run_folder(done.id)), pytest.raises(DataError, match="Cancel it"):
        delete([done.id])


def test_a_run_that_has_just_said_that_it_ended_is_deleted(workspace: Workspace) -> None:
    """Its process takes a moment more to leave: refusing to delete would leave the user with a row that stays."""
    done, here, leave = queued(), threading.Event(), threading.Event()
    store.set_state(done.id, "cancelled")

    def end() -> None:
        with leased(workspace.run_folder(done.id)):
            here.set()
            leave.wait()

    threading.Thread(target=end).start()
    here.wait()
    threading.Timer(0.5, leave.set).start()
    delete([done.id])
    assert leave.is_set() and list_runs() == []


def test_nothing_stays_of_a_deleted_run(make: Callable[..., Run], train, workspace: Workspace) -> None:
    gone, kept = make(seeds=(0,), epochs=1), make(seeds=(0,), epochs=1)
    train(gone), train(kept)
    delete([gone.id])
    assert [r.id for r in list_runs()] == [kept.id]
    assert {p.name for p in workspace.folder.rglob("*") if p.name in {gone.id, kept.id}} == {kept.id}
    assert result(kept.id).method == "crowd-layer"


def test_messages_hold_no_secrets(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "hunter2-hunter2")
    run = queued()
    store.set_state(run.id, "failed", "cannot reach http://me:pa55word@server/x with hunter2-hunter2")
    assert get_run(run.id).message == "cannot reach http://…@server/x with <DEPLOY_TOKEN>"
