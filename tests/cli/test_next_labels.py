"""`crowdcore next`: assignments for a budget, as a table, as JSON and as a file."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from crowdcore.data.writers import write_folder
from testkit.named_crowd import NAME, named_crowd, names_in


def test_assignments_keep_the_limits_and_hide_names(crowdcore, run, refused, tmp_path: Path) -> None:
    ds = named_crowd()
    folder = write_folder(ds.where(ds.task % 3 != ds.worker % 3), tmp_path / "named")
    out = tmp_path / "assignments.csv"
    command = ("next", folder, "--budget", 40, "--capacity", 9, "--out", out)
    found = crowdcore(*command)
    assigned = pd.read_csv(out)
    assert len(assigned) == len(found["assignments"]) == 40
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
