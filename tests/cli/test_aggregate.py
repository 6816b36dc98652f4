from __future__ import annotations

import pandas as pd
import pytest

import crowdcore as cc


def test_aggregate_agrees_with_the_library_and_writes_labels(crowdcore, tmp_path) -> None:
    out = tmp_path / "labels.csv"
    facts = crowdcore("aggregate", "demo", "-m", "dawid-skene", "--set", "smoothing=0.5", "--out", out)
    ds = cc.load_dataset("demo")
    result = cc.aggregation.DawidSkene(smoothing=0.5).fit(ds)
    assert facts["log_likelihood"] == pytest.approx(result.log_likelihood[-1])
    assert facts["settings"]["smoothing"] == 0.5
    labels = pd.read_csv(out, dtype=str).set_index("task")["label"]
    known = result.labels >= 0
    assert len(labels) == known.sum()
    assert (labels[ds.task_ids[known]].to_numpy() == pd.Index(ds.classes)[result.labels[known]]).all()


def test_with_gold_the_accuracy_is_not_claimed(crowdcore) -> None:
    assert crowdcore("aggregate", "demo", "-m", "majority-vote", "--with-gold")["accuracy"] is None


def test_an_unknown_method_is_refused(refused) -> None:
    error = refused("aggregate", "demo", "-m", "dawid-skeen")
    assert (error.argument, error.got) == ("aggregator", "dawid-skeen")


def test_a_setting_out_of_bounds_is_refused(refused) -> None:
    assert refused("aggregate", "demo", "-m", "dawid-skene", "--set", "smoothing=-1").argument == "smoothing"


def test_a_setting_without_value_is_refused(refused) -> None:
    assert refused("aggregate", "demo", "--set", "smoothing").argument == "--set"


def test_compare_takes_several_datasets_and_says_why_a_method_cannot(crowdcore, data_folder) -> None:
    rows = crowdcore("compare", "sentiment_amt", "labelme", "-m", "majority-vote", "-m", "kos")
    by = {(r["dataset"], r["method"]): r for r in rows["aggregation"]}
    assert by["labelme", "majority-vote"]["accuracy"] == pytest.approx(0.769, abs=5e-4)
    assert by["sentiment_amt", "kos"]["accuracy"] > 0.8
    assert by["labelme", "kos"]["accuracy"] is None
    assert by["labelme", "kos"]["notes"]


def test_compare_tells_datasets_of_one_name_apart(run, crowdcore, tmp_path) -> None:
    files = []
    for label in "xy":
        (tmp_path / label).mkdir()
        files.append(tmp_path / label / "votes.csv")
        files[-1].write_text(f"task,worker,label,gold\n1,a,x,{label}\n1,b,x,{label}\n2,a,y,y\n")
    given = "compare", *files, files[0], "-m", "majority-vote", "-m", "majority-vote"
    rows = crowdcore(*given)["aggregation"]
    assert [(row["dataset"], row["accuracy"]) for row in rows] == [("votes", 1.0), ("votes (2)", 0.5)]
    assert "votes (2)" in run(*given).out


def test_compare_takes_the_aggregators_for_such_labels(crowdcore) -> None:
    compared = [row["method"] for row in crowdcore("compare", "demo")["aggregation"]]
    assert compared == cc.aggregation.fitting(cc.load_dataset("demo"))
    assert "crf-ma" not in compared


def test_what_is_printed_leaves_out_what_there_is_not(run, tmp_path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("task,worker,label\n1,a,x\n1,b,y\n2,a,x\n2,b,x\n")
    said = run("aggregate", file, "-m", "majority-vote").out
    assert "accuracy" not in said
    assert "None" not in said
    assert "labels: x" in said
    assert "--out FILE" in said


def test_auto_is_the_default_and_its_posterior_can_be_tempered(crowdcore, tmp_path) -> None:
    out = tmp_path / "labels.csv"
    facts = crowdcore("aggregate", "demo", "--temper", "gold", "--out", out)
    assert facts["method"] == "auto"
    assert facts["accuracy"] is None, "the gold calibrated it"
    assert facts["notes"][0].startswith("Weights: ")
    assert facts["notes"][-1].startswith("Calibrated on ")


def test_difficulty_and_foil_of_each_task_are_written(crowdcore, tmp_path) -> None:
    out = tmp_path / "labels.csv"
    crowdcore("aggregate", "demo", "-m", "item-response", "--set", "max_iterations=3", "--out", out)
    found = cc.aggregation.get("item-response", max_iterations=3).fit(cc.load_dataset("demo"))
    table = pd.read_csv(out)
    assert table["difficulty"].to_numpy() == pytest.approx(found.difficulty[found.labels >= 0])
    assert table["foil"].notna().sum() == (found.foil >= 0).sum()


@pytest.mark.parametrize("ending", ["json", "md", "tex"])
def test_labels_are_written_as_text(ending: str, run, tmp_path) -> None:
    out = tmp_path / f"labels.{ending}"
    assert run("aggregate", "demo", "-m", "majority-vote", "--out", out).code == 0
    assert "digit-0001" in out.read_text() and "one" in out.read_text()
