"""Records of runs: writing, listing and reading them."""

from __future__ import annotations

import multiprocessing
import shlex
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from crowdcore.cli._command import settings
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.runs import (
    STATES,
    Run,
    RunSpec,
    SearchPlan,
    Workspace,
    best_runs,
    change_tags,
    command_line,
    curves,
    dataset_names,
    delete,
    differing,
    get_run,
    list_runs,
    matching,
    rename,
    result,
    run_table,
    set_note,
    set_priority,
    settings_table,
    short_names,
    store,
)
from crowdcore.runs.locks import leased
from crowdcore.runs.record import client_of, experiment_name, make_database
from crowdcore.runs.run import STATUS


def queued(dataset: str = "demo", **fields: object) -> Run:
    return store.create(RunSpec(dataset=dataset, method="conal", **fields))


def test_a_run_is_read_as_it_was_made(workspace: Workspace) -> None:
    odd = {"ü'\"\n": [None, True, 2**53, 1e-300, {"": []}]}
    settings = {"epochs": 7, "lr": 0.1, "odd": odd}
    spec = RunSpec(dataset="demo", method="trace", settings=settings, seeds=(3, 2**40), priority=-9, group="g")
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


def test_mlflow_shows_the_same_state(workspace: Workspace) -> None:
    run = queued()
    for state in STATES:
        store.set_state(run.id, state, "because")
        record = get_run(run.id)
        assert (record.state, record.message) == (state, "because")
        assert client_of(workspace).get_run(run.id).info.status == STATUS[state]
        assert record.has_ended == (record.ended is not None)
        store.set_state(run.id, "queued")
        assert (get_run(run.id).state, get_run(run.id).ended, get_run(run.id).message) == ("queued", None, "because")


def test_a_priority_can_change(workspace: Workspace, no_engine: list[Workspace]) -> None:
    run = queued(priority=1)
    set_priority(run.id, 5)
    assert no_engine == [workspace], "it looks at the queue anew"
    assert get_run(run.id).spec.priority == 5


def test_an_unknown_run_is_a_sentence(workspace: Workspace) -> None:
    for run_id in ("f" * 32, "", "../x"):
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
        with pytest.raises(DataError, match="crowdcore"):
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


def run(
    number: int,
    method: str = "conal",
    dataset: str = "labelme",
    valid: float | None = None,
    spec: dict[str, Any] | None = None,
    **facts: Any,
) -> Run:
    scores = {} if valid is None else {"valid_accuracy_selected": valid, "test_accuracy_selected": 1 - valid}
    run_spec = RunSpec(dataset=dataset, fingerprint="f", method=method, **(spec or {}))
    given = {"state": "finished", "has_result": valid is not None, "scores": scores, "validated_on": "gold", **facts}
    return Run(f"{number:032x}", run_spec, **given)


def ids(listed: list[Run]) -> list[int]:
    return [int(one.id, 16) for one in listed]


def test_filters_join() -> None:
    runs = [
        run(1, tags=("paper", "old"), note="Ten seeds, Table 2"),
        run(2, "trace", state="failed", message="The disk is full.", name="Baseline"),
        run(3, dataset="music", tags=("paper",), spec={"settings": {"learning_rate": 0.5}}),
        run(4, spec={"parent": "0" * 32}),
    ]
    assert ids(matching(runs)) == [1, 2, 3]
    assert ids(matching(runs, trials=True)) == [1, 2, 3, 4]
    assert ids(matching(runs, datasets=["labelme"], methods=["conal", "trace"])) == [1, 2]
    assert ids(matching(runs, states=["failed"])) == [2]
    assert ids(matching(runs, tags=["paper"])) == [1, 3]
    assert ids(matching(runs, tags=["paper", "old"])) == [1]
    assert ids(matching(runs, words="TABLE seeds")) == [1]
    assert ids(matching(runs, words="baseline")) == ids(matching(runs, words="disk full")) == [2]
    assert ids(matching(runs, words="learning rate 0.5")) == [3]
    assert matching(runs, words="table baseline") == []


def test_runs_differ_in_what_training_used_not_in_how_it_was_asked() -> None:
    runs = [
        run(1, spec={"settings": {"lr": 0.01}}, parameters={"lr": "0.01", "epochs": "100", "embedding": "20"}),
        run(2, parameters={"lr": "0.010", "epochs": "50", "embedding": "20"}),
        run(3, "trace", parameters={"lr": "0.01", "epochs": "100", "strength": "0.1"}),
    ]
    assert differing(runs) == {
        runs[0].id: {"epochs": "100"},
        runs[1].id: {"epochs": "50"},
        runs[2].id: {"epochs": "100"},
    }
    assert list(short_names(runs).values()) == ["conal · epochs 100", "conal · epochs 50", "trace"]


def test_a_run_that_waits_differs_in_what_it_was_asked() -> None:
    plain, run_id = run(1, state="queued"), run(2, state="queued", spec={"settings": {"embedding": 40}})
    ran = run(3, parameters={"embedding": "20", "lr": "0.1"})
    assert list(differing([plain, run_id]).values()) == [{}, {"embedding": "40"}]
    assert list(differing([plain, run_id, ran]).values()) == [{}, {"embedding": "40"}, {"embedding": "20"}]
    assert list(differing([plain, ran]).values()) == [{}, {}]


def test_the_best_is_chosen_on_validation_among_runs_that_may_be_compared() -> None:
    runs = [
        run(1, valid=0.8),
        run(2, valid=0.9),
        run(3, valid=0.95, validated_on="majority vote"),
        run(4, dataset="music", valid=0.7),
        run(8, valid=0.96, parameters={"names": "validation-gold"}),
        run(5, valid=0.99, has_result=False),
        run(6, valid=0.99, spec={"search": SearchPlan(space={"lr": {"values": (0.1,)}}, trials=1)}),
    ]
    assert best_runs(runs) == {runs[1].id}
    assert best_runs([*runs, run(7, valid=0.9)]) == {runs[1].id, f"{7:032x}"}
    assert best_runs(runs[:1]) == set()


def test_the_table_holds_what_the_record_says() -> None:
    began = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    scores = {"test_accuracy_selected": 0.87, "test_accuracy_selected_std": 0.01, "test_accuracy_last": 0.85}
    scores |= {"valid_accuracy_selected": 0.8, "seconds": 12.5}
    done = run(1, has_result=True, scores=scores, started=began, note="n", tags=("a", "b"), name="mine")
    alone = run(2, valid=0.7, spec={"seeds": (0, 1)}, parameters={"backbone_settings": "{'hidden': 8}"})
    other = run(3, parameters={"backbone_settings": "{}", "patience": "None"})
    live = run(4, "trace", state="running", scores=scores)
    frame = run_table([done, alone, other, live])
    first = frame.iloc[0]
    assert first[["name", "seeds", "state", "note", "tags", "best"]].tolist() == [
        "mine", 1, "finished", "n", "a, b", True,
    ]  # fmt: skip
    shown = first[["test_selected", "test_selected_std", "test_last", "validation", "seconds"]]
    assert shown.tolist() == [0.87, 0.01, 0.85, 0.8, 12.5]
    assert first["started"] == began
    assert np.isnan(frame.loc[1, "test_selected_std"])
    assert frame.loc[1, "settings"] == "backbone settings hidden 8"
    assert frame.loc[2, "settings"] == "backbone settings none"
    assert np.isnan(frame.loc[3, "test_selected"]), "what a live run had before it went on is no result"
    assert run_table([]).columns.tolist() == frame.columns.tolist()


def test_a_dataset_is_called_by_the_end_of_its_path_where_that_is_enough() -> None:
    runs = [run(1, dataset="/data/one/votes.csv"), run(2, dataset="/data/two/votes.csv"), run(3, dataset="/data/crowd")]
    assert list(dataset_names(runs).values()) == ["/data/one/votes.csv", "/data/two/votes.csv", "crowd"]


def test_a_column_for_each_run_and_a_row_for_each_difference() -> None:
    runs = [
        run(1, name="mine", spec={"seeds": (0, 1)}, parameters={"lr": "0.1", "epochs": "5"}),
        run(2, "trace", spec={"seeds": (0, 1)}, parameters={"lr": "0.2", "epochs": "5"}),
        run(3, "trace", spec={"seeds": (3,)}, parameters={"lr": "0.2", "epochs": "5"}),
    ]
    frame = settings_table(runs).set_index("setting")
    assert frame.columns.tolist() == ["mine", "trace (00000000)", "trace (00000000)"]
    assert frame.loc["lr"].tolist() == ["0.1", "0.2", "0.2"]
    assert frame.loc["seeds"].tolist() == ["0, 1", "0, 1", "3"]
    assert frame.loc["method"].tolist() == ["conal", "trace", "trace"]
    assert frame.index.tolist() == ["method", "seeds", "lr"]


@pytest.mark.parametrize("runs", [[], [run(1)]])
def test_nothing_differs_from_nothing(runs: list[Run]) -> None:
    assert settings_table(runs).empty
    assert best_runs(runs) == set()


@pytest.mark.parametrize("seeds", [(), (1, 1), (-1,)])
def test_seeds_are_different_numbers(seeds: tuple[int, ...]) -> None:
    with pytest.raises(SettingError, match="seeds"):
        RunSpec(dataset="demo", method="conal", seeds=seeds)


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(SettingError, match="sedes"):
        RunSpec(dataset="demo", method="conal", sedes=(1,))


def test_the_usual_seeds_are_a_number() -> None:
    spec = RunSpec(dataset="labelme", method="conal", settings={"epochs": 20, "lr": 0.01}, seeds=(0, 1, 2))
    assert command_line(spec) == "crowdcore train labelme --method conal --seeds 3 --epochs 20 --set lr=0.01 --accept"


def test_other_seeds_and_a_device_are_named() -> None:
    spec = RunSpec(dataset="/a b/c", method="trace", seeds=(4, 2), device="cuda:1")
    words = shlex.split(command_line(spec))
    assert words[2:] == ["/a b/c", "--method", "trace", "--seed", "4", "--seed", "2", "--device", "cuda:1", "--accept"]


def test_the_command_line_reads_what_is_written() -> None:
    for value in (1, 0.5, True, None, "mw", "true", "3", "a b", "", {"hidden": 4}, [1, "x"], "ü'\""):
        words = shlex.split(command_line(RunSpec(dataset="d", method="m", settings={"x": value})))
        assert settings([words[words.index("--set") + 1]]) == {"x": value}


def _start(folder: str, gate: Any, said: Any) -> None:
    gate.wait()
    place = Workspace(Path(folder), f"sqlite:///{folder}/mlflow.db?timeout=30")
    said.put(store.create(RunSpec(dataset="small", method="conal"), workspace=place).id)


def test_processes_start_together_on_an_empty_workspace(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # the children have nothing to do with ours
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crowdcore.runs.store", "mlflow", "mlflow.store.tracking.sqlalchemy_store"])
    folder, gate, queue = tmp_path / "new", context.Barrier(4), context.Queue()
    started = [context.Process(target=_start, args=(str(folder), gate, queue)) for _ in range(4)]
    for process in started:
        process.start()
    created = {queue.get(timeout=200) for _ in started}
    for process in started:
        process.join()
    assert [p.exitcode for p in started] == [0] * 4
    place = Workspace(folder, f"sqlite:///{folder}/mlflow.db?timeout=30")
    assert len(created) == 4
    assert {r.id for r in list_runs(workspace=place)} == created
    with sqlite3.connect(place.database) as database:  # type: ignore[arg-type]
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("SELECT count(*) FROM experiments WHERE name = 'small'").fetchone() == (1,)
    database.close()
    assert not list(place.folder.glob(".mlflow.db*")), "drafts are left behind"


def test_two_threads_make_the_records_of_two_workspaces_at_once(tmp_path: Path) -> None:
    workspaces = [Workspace.open(tmp_path / name) for name in ("one", "other")]
    with ThreadPoolExecutor(2) as both:
        list(both.map(make_database, workspaces))
    assert [client_of(workspace).search_experiments()[0].name for workspace in workspaces] == ["Default", "Default"]


def test_a_record_of_another_mlflow_is_not_touched(workspace: Workspace) -> None:
    with sqlite3.connect(workspace.database) as database:  # type: ignore[arg-type]
        database.execute("UPDATE alembic_version SET version_num = 'older'")
    database.close()
    with pytest.raises(CrowdError, match="upgrade"):
        client_of(workspace)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mlflow.db").write_text("not a database, but long enough to be looked at as one" * 50)
    with pytest.raises(CrowdError, match="`crowdcore workspace check --repair`"):
        client_of(Workspace(tmp_path, f"sqlite:///{tmp_path / 'mlflow.db'}"))


def test_another_sqlite_record(tmp_path: Path, workspace: Workspace, monkeypatch) -> None:
    other = tmp_path / "elsewhere.db"
    shutil.copy(workspace.folder / "mlflow.db", other)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other}")
    run = store.create(RunSpec(dataset="demo", method="conal"))
    assert [r.id for r in list_runs()] == [run.id]
    assert list_runs(workspace=workspace) == []


def test_an_experiment_is_called_as_the_dataset() -> None:
    assert [experiment_name(n) for n in ("labelme", "/a/votes.csv", "/a/up/")] == ["labelme", "votes", "up"]


def test_name_note_and_tags_are_what_mlflow_shows(workspace: Workspace) -> None:
    run = store.create(RunSpec(dataset="demo", method="conal", settings={"lr": 0.1}, seeds=(0, 1)))
    assert (run.name, run.note, run.tags, run.title) == ("", "", (), "conal · lr 0.1")
    rename(run.id, " Best so far ")
    set_note(run.id, "two lines\nof *text*")
    change_tags([run.id], ["paper", "labelme 10 seeds"])
    record = get_run(run.id)
    assert (record.name, record.title) == ("Best so far", "Best so far")
    assert record.note == "two lines\nof *text*"
    assert record.tags == ("paper", "labelme 10 seeds")
    entry = client_of(workspace).get_run(run.id)
    assert entry.info.run_name == "Best so far"
    assert entry.data.tags["mlflow.note.content"] == record.note
    rename(run.id, "")
    set_note(run.id, "")
    assert get_run(run.id).title == "conal · lr 0.1"
    assert get_run(run.id).note == ""
    assert client_of(workspace).get_run(run.id).info.run_name == "conal, 2 seeds"


def test_tags_are_put_on_and_taken_off_several_runs(workspace: Workspace) -> None:
    one, two = (store.create(RunSpec(dataset="demo", method="conal")).id for _ in range(2))
    change_tags([one], ["a"])
    change_tags([one, two], ["b", "a"], ["c"])
    assert [get_run(run).tags for run in (one, two)] == [("a", "b"), ("b", "a")]
    change_tags([one, two], remove=["a"])
    assert [get_run(run).tags for run in (one, two)] == [("b",), ("b",)]


def test_refusals_change_nothing(workspace: Workspace) -> None:
    run = store.create(RunSpec(dataset="demo", method="conal")).id
    for wrong in ("x" * 121, "two\nlines"):
        with pytest.raises(SettingError, match="at most 120"):
            rename(run, wrong)
    with pytest.raises(SettingError, match="4,000"):
        set_note(run, "x" * 4001)
    for tag in ("a, b", " ", "x" * 41):
        with pytest.raises(SettingError, match="tag"):
            change_tags([run], [tag])
    with pytest.raises(DataError, match="There is no run"):
        change_tags([run, "0" * 32], ["a"])
    assert get_run(run).tags == ()
    assert get_run(run).title == "conal"
