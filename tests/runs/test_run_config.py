"""What is recorded of a run: its configuration, schema and marks."""

from __future__ import annotations

import json
import multiprocessing
import shlex
import shutil
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from crowdcore.cli._command import settings
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.runs import RunSpec, Workspace, change_tags, command_line, get_run, list_runs, rename, set_note, store
from crowdcore.runs.record import client_of, experiment_name, make_database

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
specs = st.builds(
    RunSpec,
    dataset=st.text(min_size=1),
    fingerprint=st.text("0123456789abcdef", max_size=32),
    method=st.text(min_size=1),
    settings=st.dictionaries(st.text(), plain, max_size=4),
    seeds=st.lists(st.integers(0, 2**40), min_size=1, max_size=5, unique=True).map(tuple),
    device=st.sampled_from(["auto", "cpu", "cuda:1"]),
    priority=st.integers(-9, 9),
    group=st.text(max_size=5),
    parent=st.text(max_size=5),
)


@given(specs)
def test_a_spec_survives_its_record(spec: RunSpec) -> None:
    assert RunSpec(**json.loads(spec.model_dump_json())) == spec


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


@pytest.mark.parametrize("value", [1, 0.5, True, None, "mw", "true", "3", "a b", "", {"hidden": 4}, [1, "x"], "ü'\""])
def test_the_command_line_reads_what_is_written(value: object) -> None:
    words = shlex.split(command_line(RunSpec(dataset="d", method="m", settings={"x": value})))
    assert settings([words[words.index("--set") + 1]]) == {"x": value}


def _start(folder: str, gate: Any, said: Any) -> None:
    gate.wait()
    place = Workspace(Path(folder), f"sqlite:///{folder}/mlflow.db?timeout=30")
    said.put(store.create(RunSpec(dataset="small", method="conal"), workspace=place).id)


def test_eight_processes_start_together_on_an_empty_workspace(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # the children have nothing to do with ours
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["crowdcore.runs.store", "mlflow", "mlflow.store.tracking.sqlalchemy_store"])
    folder, gate, said = tmp_path / "new", context.Barrier(8), context.Queue()
    started = [context.Process(target=_start, args=(str(folder), gate, said)) for _ in range(8)]
    for process in started:
        process.start()
    created = {said.get(timeout=200) for _ in started}
    for process in started:
        process.join()
    assert [p.exitcode for p in started] == [0] * 8
    place = Workspace(folder, f"sqlite:///{folder}/mlflow.db?timeout=30")
    assert len(created) == 8
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
    with pytest.raises(CrowdError, match="mlflow db upgrade"):
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


@pytest.mark.parametrize(
    ("dataset", "name"), [("labelme", "labelme"), ("/a/b/votes.csv", "votes"), ("/a/b/uploaded/", "uploaded")]
)
def test_an_experiment_is_called_as_the_dataset(dataset: str, name: str) -> None:
    assert experiment_name(dataset) == name


def test_name_note_and_tags_are_what_mlflow_shows(workspace: Workspace) -> None:
    run = store.create(RunSpec(dataset="demo", method="conal", settings={"lr": 0.1}, seeds=(0, 1)))
    assert (run.name, run.note, run.tags, run.title) == ("", "", (), "conal · lr 0.1")
    rename(run.id, " Best so far ")
    set_note(run.id, "two lines\nof *text*")
    change_tags([run.id], ["paper", "labelme 10 seeds"])
    found = get_run(run.id)
    assert (found.name, found.title) == ("Best so far", "Best so far")
    assert found.note == "two lines\nof *text*"
    assert found.tags == ("paper", "labelme 10 seeds")
    entry = client_of(workspace).get_run(run.id)
    assert entry.info.run_name == "Best so far"
    assert entry.data.tags["mlflow.note.content"] == found.note
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
