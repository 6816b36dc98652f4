"""Commands that analyse a dataset print, write and refuse what the library says."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import crowdcore as cc
from crowdcore.data.writers import write_folder
from testkit.named_crowd import NAME, named_crowd, names_in


def test_mistakes_gives_the_published_percentages(crowdcore, data_folder) -> None:
    result = crowdcore("mistakes", "labelme")["mistakes"]
    row, column = result["classes"].index("street"), result["classes"].index("insidecity")
    assert result["percent"][row][column] == pytest.approx(61.017, abs=5e-4)
    assert result["reference"] == "gold"


def test_info_gives_the_published_noise_rates(crowdcore, data_folder) -> None:
    noise = crowdcore("info", "labelme")["summary"]["noise"]
    assert 100 * noise["tasks_without_truth"] == pytest.approx(11.10, abs=5e-3)
    assert 100 * noise["wrong_annotations"] == pytest.approx(25.95, abs=5e-3)


def test_mistakes_writes_table_and_figure(run, tmp_path) -> None:
    done = run("mistakes", "demo", "--out", tmp_path / "m.csv", "--figure", tmp_path / "m.html")
    assert done.code == 0, done.err
    assert {"true", "given", "percent", "q_value"} <= set(pd.read_csv(tmp_path / "m.csv").columns)
    assert "plotly" in (tmp_path / "m.html").read_text(encoding="utf-8").lower()


@pytest.mark.parametrize(
    ("option", "place", "said"),
    [
        ("--figure", "absent/m.html", "The folder {.parent} of --figure does not exist. Create it first."),
        ("--figure", "folder.html", "{} of --figure is a folder. Choose another file."),
        ("--out", "absent/m.csv", "The folder {.parent} of --out does not exist. Create it first."),
        ("--out", "folder.csv", "{} of --out is a folder. Choose another file."),
    ],
)
def test_a_file_that_cannot_be_written_is_named(refused, tmp_path, option, place, said) -> None:
    for folder in ("folder.html", "folder.csv"):
        (tmp_path / folder).mkdir()
    assert str(refused("mistakes", "unheard-of", option, tmp_path / place)) == said.format(tmp_path / place)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        ("mistakes unheard-of", "--out"),
        ("show unheard-of", "--figure"),
        ("ratings workers unheard-of", "--figure"),
        ("topics unheard-of", "--out"),
        ("aggregate unheard-of", "--new"),
        ("marks unheard-of", "--training"),
        ("runs predictions unheard-of", "--out"),
        ("simulate unheard-of", "--figure"),
    ],
)
def test_a_wrong_ending_is_refused_before_anything_else(refused, arguments, option) -> None:
    error = refused(*arguments.split(), option, "x.foo")
    assert (error.argument, error.got) == (option, "x.foo")


@pytest.mark.parametrize("command", ["train", "compare", "ratings train", "report", "reproduce conal/table-2"])
def test_a_folder_that_is_called_as_a_file_is_refused_before_anything_else(refused, tmp_path, command) -> None:
    words = [*command.split(), *([] if "/" in command else ["unheard-of"]), "--out"]
    error = refused(*words, "result.csv")
    assert (error.argument, error.got) == ("--out", "result.csv")
    (tmp_path / "taken").touch()
    assert str(tmp_path / "taken") in str(refused(*words, tmp_path / "taken"))


@pytest.mark.parametrize("option", ["--junit", "--html"])
def test_a_missing_folder_of_check_is_refused_before_anything_else(refused, tmp_path, option) -> None:
    assert f"{tmp_path}/no of {option}" in str(refused("check", "unheard-of", option, tmp_path / "no" / "file"))


def test_a_table_alone_is_not_written_where_a_figure_is_refused(refused, tmp_path) -> None:
    error = refused("show", "tasks", "demo", "--out", tmp_path / "t.csv", "--figure", tmp_path / "f.html")
    assert error.argument == "--figure"
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize("command", ["rounds votes.csv --by halves", "show worker votes.csv -s worker=ben"])
def test_a_refusal_without_gold_comes_alone(refused, run, tmp_path, monkeypatch, command) -> None:
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,ann,a\n2,ann,b\n")
    monkeypatch.chdir(tmp_path)
    refused(*command.split())
    assert run("mistakes", "votes.csv", "--json").err.count("has no gold") == 1


def test_without_gold_commands_take_the_reference_of_the_pages_and_say_so(run, tmp_path) -> None:
    ds = cc.load_dataset("demo")
    rows = ds.annotations[["task", "worker", "label"]].head(400)
    rows.to_csv(tmp_path / "votes.csv", index=False)
    done = run("mistakes", tmp_path / "votes.csv", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["mistakes"]["reference"] == "auto"
    assert "'auto'" in done.err and "--reference" in done.err
    assert run("mistakes", tmp_path / "votes.csv", "--json", "--reference", "majority-vote").err == ""


def test_the_copier_of_the_demo_is_named_with_the_labels_that_change(crowdcore, run, tmp_path) -> None:
    output = crowdcore("coordinated", "demo", "--out", tmp_path / "groups.csv", "--figure", tmp_path / "groups.html")
    assert [group["workers"] for group in output["groups"]] == ["w04, w05"]
    assert len(output["changed labels"]) == output["groups"][0]["labels changed"]
    assert output["notes"][0].startswith("Group 1: w04 and w05")
    assert pd.read_csv(tmp_path / "groups.csv")["workers"].tolist() == ["w04, w05"]
    assert "become right" in (tmp_path / "groups.html").read_text()
    printed = run("coordinated", "demo").out
    assert "w04, w05" in printed and "look before you accuse" in printed


def test_hidden_names_are_nowhere_and_no_reference_is_refused_in_a_line(run, refused) -> None:
    printed = run("coordinated", "demo", "--hide-names", "--reference", "majority-vote").out
    assert "w04" not in printed and "worker " in printed
    assert refused("coordinated", "demo", "--reference", "oracle").got == "oracle"


def test_two_datasets_and_halves_of_one(crowdcore, run, tmp_path) -> None:
    same = crowdcore("rounds", "demo", "demo", "--hide-names", "--out", tmp_path / "workers.csv")
    assert same["notes"][0] == "Nothing changed beyond noise."
    assert not {"w01", "w02"} & set(pd.read_csv(tmp_path / "workers.csv")["worker"])
    halves = crowdcore("rounds", "demo", "--by", "halves")
    assert halves["rounds"].startswith("Chance check")
    assert "changed" not in halves["notes"][0]
    assert halves["reference"] == "gold"
    assert all(row["first %"] is None for row in halves["workers"])
    assert run("rounds", "demo", "--by", "halves", "--figure", tmp_path / "none.html").code == 2


def test_assignments_keep_the_limits_and_hide_names(crowdcore, run, refused, tmp_path: Path) -> None:
    ds = named_crowd()
    folder = write_folder(ds.where(ds.task % 3 != ds.worker % 3), tmp_path / "named")
    out = tmp_path / "assignments.csv"
    command = ("next", folder, "--budget", 40, "--capacity", 9, "--out", out)
    output = crowdcore(*command)
    assigned = pd.read_csv(out)
    assert len(assigned) == len(output["assignments"]) == 40
    assert assigned["worker"].value_counts().max() <= 9
    assert names_in(out.read_bytes())
    hidden = run(*command, "--hide-names")
    assert hidden.code == 0
    assert not names_in(f"{hidden.out}{hidden.err}".encode() + out.read_bytes())
    assert crowdcore("next", folder, "--worker", f"{NAME}02", "--budget", 5)["workers"][0]["labels"] == 5
    assert "nobody" in str(refused("next", folder, "--worker", "nobody"))


def test_next_labels_go_back_to_a_tool(run, crowdcore, refused, tmp_path: Path) -> None:
    plan, file = tmp_path / "next.csv", tmp_path / "tasks.json"
    crowdcore("next", "demo", "--budget", 5, "--out", plan)
    written = crowdcore("export", "demo", file, "--to", "label-studio", "--tasks", plan, "--reference", "majority-vote")
    tasks = json.loads(file.read_text())
    assert [task["data"]["task"] for task in tasks] == list(dict.fromkeys(pd.read_csv(plan)["task"]))
    assert all(task["data"]["workers"] and task["predictions"] for task in tasks)
    assert written == {"dataset": "demo", "written": str(file), "to": "label-studio"}
    assert "label-studio" in run("export", "demo", file, "--to", "labelstudio").err
    assert refused("export", "demo", file, "--tasks", plan).argument == "--tasks"


def test_probabilities_that_are_too_high_are_not_handed_on_unsaid(run, data_folder, tmp_path: Path) -> None:
    for dataset, too_high in (("labelme", True), ("rte", False)):
        done = run("export", dataset, tmp_path / "t.jsonl", "--to", "prodigy", "--reference", "dawid-skene")
        assert done.code == 0
        assert done.err.endswith("The file holds them as they are.\n") is too_high
        assert "Tasks are shown" not in done.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_folder(named_crowd(), tmp_path_factory.mktemp("crowds") / "named")


@pytest.fixture
def rules(tmp_path: Path):
    def written(text: str) -> Path:
        (tmp_path / "rules.yaml").write_text(text)
        return tmp_path / "rules.yaml"

    return written


def test_exit_codes(run, rules, folder: Path) -> None:
    assert run("check", folder, "--rules", rules("max_tasks_with_few_labels_percent: 100")).code == 0
    failed = run("check", folder, "--rules", rules("max_tasks_with_few_labels_percent: 0\nlabels_per_task: 99"))
    assert failed.code == 1
    assert "1 of 1 rules failed" in failed.out
    blind = rules("max_fast_labels_percent: 5\n")
    nameless = run("export", folder, blind.with_name("votes.csv"), "--hide-names")
    assert nameless.code == 0
    assert run("check", blind.with_name("votes.csv"), "--rules", blind).code == 0
    assert run("check", blind.with_name("votes.csv"), "--rules", blind, "--strict").code == 1


def test_bad_input_and_bad_rules_are_refused(refused, rules, folder: Path, tmp_path: Path) -> None:
    assert refused("check", folder, "--rules", rules("label_per_task: 3")).got == "label_per_task"
    fine = rules("max_tasks_with_few_labels_percent: 100")
    refused("check", tmp_path / "none.csv", "--rules", fine)
    refused("check", folder, "--rules", fine, "--junit", tmp_path / "no" / "junit.xml")
    refused("check")


def test_the_example_can_be_used(run, rules, folder: Path) -> None:
    done = run("check", "--example-rules")
    assert done.code == 0
    assert run("check", folder, "--rules", rules(done.out)).code in (0, 1)


def test_hidden_names_are_nowhere(run, folder: Path, rules, tmp_path: Path) -> None:
    some = rules("max_spamming_workers_percent: 0\nmax_fast_labels_percent: 0\nfast_below_seconds: 100000\n")
    files = tmp_path / "junit.xml", tmp_path / "check.html"
    options = "check", folder, "--rules", some, "--junit", files[0], "--html", files[1]
    for json_too in ((), ("--json",)):
        named = run(*options, *json_too)
        assert named.code == 1
        assert names_in(named.out.encode())
        assert all(names_in(file.read_bytes()) for file in files)
        hidden = run(*options, *json_too, "--hide-names")
        assert not names_in(f"{hidden.out}{hidden.err}".encode())
        assert not any(names_in(file.read_bytes()) for file in files)
    assert json.loads(hidden.out)["failed"]
