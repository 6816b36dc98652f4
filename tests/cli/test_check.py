"""`crowdcore check`: exit codes for continuous integration, files, and no names where they are hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crowdcore.data.writers import write_folder
from testkit.named_crowd import named_crowd, names_in


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
