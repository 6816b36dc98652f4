"""``--hide-names``: no command prints or writes a worker's name, or what stands in further columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crowdcore.data import read_dataset
from crowdcore.data.pseudonyms import hide_names, pseudonyms
from crowdcore.data.writers import write_folder
from crowdcore.learning.comparison.summary import recovered
from testkit.named_crowd import NAME, SIDE, named_crowd, names_in
from testkit.recorded_runs import invented

SHOWN = (
    ("info",),
    ("overview",),
    ("quality",),
    ("distances",),
    ("show", "overview"),
    ("show", "worker-groups"),
    ("show", "task-labels", "-s", "task=t00007"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_folder(named_crowd(), tmp_path_factory.mktemp("crowds") / "named")


def spoken(run, command: tuple[str, ...], folder: Path, *options: str) -> list[str]:
    place = 2 if command[0] == "show" else 1
    done = run(*command[:place], folder, *command[place:], *options)
    assert done.code == 0, done.err
    return names_in(f"{done.out}{done.err}".encode())


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_names_are_printed_unless_hidden(command: tuple[str, ...], run, folder: Path) -> None:
    assert spoken(run, command, folder, "--json")
    for options in (("--hide-names",), ("--hide-names", "--json")):
        assert not spoken(run, command, folder, *options)


@pytest.mark.parametrize("command", [("mistakes",), ("aggregate",), ("compare", "-m", "majority-vote")], ids=" ".join)
def test_others_print_none(command: tuple[str, ...], run, folder: Path) -> None:
    assert not spoken(run, command, folder, "--json")


def test_files_hold_none(run, folder: Path, tmp_path: Path) -> None:
    assert run("report", folder, "--no-svg", "--out", tmp_path / "report").code == 0
    assert run("quality", folder, "--hide-names", "--out", tmp_path / "quality.csv").code == 0
    assert run("distances", folder, "--hide-names", "--figure", tmp_path / "distances.html").code == 0
    assert run("export", folder, tmp_path / "votes.csv", "--hide-names").code == 0
    assert run("export", folder, tmp_path / "votes.json", "--to", "lewidi", "--hide-names").code == 0
    plan = tmp_path.with_name("plan.csv")  # it names the workers
    assert run("next", folder, "--out", plan).code == 0 and names_in(plan.read_bytes())
    asked = "export", folder, tmp_path / "next.json", "--to", "argilla", "--tasks", plan, "--hide-names"
    assert run(*asked).code == 0 and '"workers": ' in (tmp_path / "next.json").read_text()
    found = {str(f): names_in(f.read_bytes()) for f in tmp_path.rglob("*") if f.is_file()}
    assert len(found) > 10
    assert not any(found.values())


def test_an_export_without_names_is_the_same_crowd(run, folder: Path, tmp_path: Path) -> None:
    assert run("export", folder, tmp_path / "out", "--hide-names").code == 0
    named, hidden = read_dataset(folder), read_dataset(tmp_path / "out")
    assert hidden.worker_ids.tolist() == sorted(pseudonyms(named))
    assert not list((tmp_path / "out").glob("workers.*")), "the order of the names is gone"
    number = hidden.worker_ids.get_indexer(pd.Index(pseudonyms(named)))
    rows = np.lexsort((number[named.worker], named.task))
    assert np.array_equal(hidden.worker, number[named.worker][rows])
    assert np.array_equal(hidden.label, named.label[rows])
    assert np.array_equal(hidden.truth.worker_confusion[number], named.truth.worker_confusion)
    assert np.array_equal(hidden.truth.omega, named.truth.omega[rows])
    assert not {NAME, SIDE} & set(" ".join([*hidden.notes, *hidden.annotations.columns]).split())
    assert hidden.extra is None


def test_what_methods_recovered_goes_by_pseudonyms() -> None:
    crowd = named_crowd()
    result = invented(crowd, "trace")
    skills = [recovered(result, shown)["worker_skill"] for shown in (crowd, hide_names(crowd))]
    assert list(skills[0]) == crowd.worker_ids.tolist()
    assert list(skills[1]) == pseudonyms(crowd)
    assert np.array_equal([*skills[0].values()], [*skills[1].values()], equal_nan=True)
