from __future__ import annotations

import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.runs import RunSpec, Workspace, change_tags, get_run, rename, set_note, store
from crowdcore.runs.record import client_of


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
