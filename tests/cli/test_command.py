"""A command's options come of what it is about and of what it shows."""

from __future__ import annotations

import inspect

import pandas as pd

import crowdcore as cc
from crowdcore.cli._command import Drawn, Shown, command
from crowdcore.cli._output import Printed
from crowdcore.data import CrowdDataset
from crowdcore.exhibits import View


def options(function) -> list[str]:
    return list(inspect.signature(command(function)).parameters)


def test_a_dataset_and_a_view_bring_the_options_that_open_them() -> None:
    def of_dataset(ds: CrowdDataset, target: str) -> None: ...

    def of_view(seen: View, limit: int = 3) -> Drawn: ...

    def of_neither(name: str = "") -> None: ...

    assert options(of_dataset) == ["dataset", "target", "read", "accept"]
    opened = ["dataset", "limit", "reference", "hide_names", "read", "accept"]
    assert options(of_view) == [*opened, "json", "out", "figure"]
    assert options(of_neither) == ["name"]


def test_what_is_opened_is_given_and_what_is_shown_is_printed_and_written(tmp_path, capsys) -> None:
    def count(ds: CrowdDataset, times: int = 1) -> Shown:
        table = pd.DataFrame({"tasks": [times * ds.n_tasks]})
        return Shown({"tasks": table}, [Printed(table, "Count")], table)

    run = command(count)
    given = {"dataset": "demo", "times": 2, "read": None, "accept": False}
    run(**given, json=False, out=tmp_path / "count.csv")
    assert pd.read_csv(tmp_path / "count.csv")["tasks"].tolist() == [3594]
    printed = capsys.readouterr().out
    assert "Count" in printed and "3594" in printed
    run(**given, json=True, out=None)
    assert '"tasks": 3594' in capsys.readouterr().out


def test_version_and_short_help(run) -> None:
    assert run("--version").out.strip() == cc.__version__
    assert run("aggregate", "-h").out == run("aggregate", "--help").out


def test_a_file_is_opened_in_the_app(run, tmp_path, monkeypatch) -> None:
    file, started = tmp_path / "votes.csv", []
    file.write_text("task,worker,label\n")
    monkeypatch.setattr("os.execv", lambda _, arguments: started.append(arguments[-1]))
    run(file)
    run("app", file)
    assert started == [str(file)] * 2
