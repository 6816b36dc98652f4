"""`crowdcore rounds`: two datasets, or parts of one."""

from __future__ import annotations

import pandas as pd


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


def test_what_the_rounds_are_must_be_said_once(refused) -> None:
    assert refused("rounds", "demo").argument == "by"
    assert refused("rounds", "demo", "demo", "--by", "halves").argument == "rounds"
    assert refused("rounds", "demo", "--by", "shift").got == "shift"
    assert refused("rounds", "demo", "--by", "shift", "--hide-names").got == "shift"
