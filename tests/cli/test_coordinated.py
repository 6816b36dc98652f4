"""`crowdcore coordinated`: groups, what changes, files, pseudonyms."""

from __future__ import annotations

import pandas as pd


def test_the_copier_of_the_demo_is_named_with_the_labels_that_change(crowdcore, run, tmp_path) -> None:
    found = crowdcore("coordinated", "demo", "--out", tmp_path / "groups.csv", "--figure", tmp_path / "groups.html")
    assert [group["workers"] for group in found["groups"]] == ["w04, w05"]
    assert len(found["changed labels"]) == found["groups"][0]["labels changed"]
    assert found["notes"][0].startswith("Group 1: w04 and w05")
    assert pd.read_csv(tmp_path / "groups.csv")["workers"].tolist() == ["w04, w05"]
    assert "become right" in (tmp_path / "groups.html").read_text()
    printed = run("coordinated", "demo").out
    assert "w04, w05" in printed and "look before you accuse" in printed


def test_hidden_names_are_nowhere_and_no_reference_is_refused_in_a_line(run, refused) -> None:
    printed = run("coordinated", "demo", "--hide-names", "--reference", "majority-vote").out
    assert "w04" not in printed and "worker " in printed
    assert refused("coordinated", "demo", "--reference", "oracle").got == "oracle"
