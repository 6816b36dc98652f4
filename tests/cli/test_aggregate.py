"""Aggregation from the command line, and names that stay hidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import crowdcore as cc
from crowdcore.data import read_dataset
from crowdcore.data.pseudonyms import hide_names, pseudonyms
from crowdcore.data.writers import write_folder
from crowdcore.learning.comparison.summary import recovered
from testkit.named_crowd import NAME, SIDE, named_crowd, names_in
from testkit.recorded_runs import invented
from tests.learning.helpers import featured_crowd


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


def test_compare_takes_the_aggregators_for_such_labels(crowdcore, tmp_path) -> None:
    file = tmp_path / "votes.csv"
    rows = "".join(f"{t},{w},{'xyz'[t % 3]},{'xyz'[t % 3]}\n" for t in range(9) for w in "abcd")
    file.write_text("task,worker,label,gold\n" + rows)
    compared = [row["method"] for row in crowdcore("compare", file)["aggregation"]]
    assert compared == cc.aggregation.fitting(cc.read_dataset(file))
    assert "crf-ma" not in compared


def test_what_is_printed_leaves_out_what_there_is_not(run, tmp_path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("task,worker,label\n1,a,x\n1,b,y\n2,a,x\n2,b,x\n")
    out = run("aggregate", file, "-m", "majority-vote").out
    assert "accuracy" not in out
    assert "None" not in out
    assert "labels: x" in out
    assert "--out FILE" in out


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
    result = cc.aggregation.get("item-response", max_iterations=3).fit(cc.load_dataset("demo"))
    table = pd.read_csv(out)
    assert table["difficulty"].to_numpy() == pytest.approx(result.difficulty[result.labels >= 0])
    assert table["foil"].notna().sum() == (result.foil >= 0).sum()


@pytest.mark.parametrize("ending", ["json", "md", "tex"])
def test_labels_are_written_as_text(ending: str, run, tmp_path) -> None:
    out = tmp_path / f"labels.{ending}"
    assert run("aggregate", "demo", "-m", "majority-vote", "--out", out).code == 0
    assert "digit-0001" in out.read_text() and "one" in out.read_text()


METHODS = ("-m", "conal", "-m", "crowd-layer")
QUICK = ("--seeds", "3", "--epochs", "2", "--device", "cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_folder(featured_crowd(120), tmp_path_factory.mktemp("crowds") / "small")


@pytest.fixture(scope="module")
def expected(folder):
    from crowdcore.learning import train

    ds = cc.read_dataset(folder)
    return {m: train(ds, m, seeds=3, epochs=2, device="cpu") for m in METHODS[1::2]}


def test_json_holds_the_results_numbers_and_the_tests_over_seeds(crowdcore, folder, expected):
    output = crowdcore("compare", folder, *METHODS, *QUICK)
    for row in output["learning"]:
        result = expected[row["method"]]
        for at in ("selected", "last", "best"):
            assert row[f"{at}_accuracy"] == pytest.approx(result.accuracy("test", at=at).tolist())
            assert row[f"{at}_std"] == pytest.approx(np.std(row[f"{at}_accuracy"], ddof=1))
        own, ds = row["recovered"], cc.read_dataset(folder)
        rows = slice(None) if own["seed"] is None else [result.seeds.index(own["seed"])]
        assert (own["seed"] is None) == (own["why"] == "")
        counted = np.stack([cc.analysis.confusion_of_counts(c) for c in result.worker_counts.astype(float)])
        skill = np.trace(counted[rows], axis1=2, axis2=3).mean(0) / 3
        assert list(own["worker_skill"].values()) == pytest.approx(skill.tolist())
        if row["method"] == "conal":
            assert np.array(own["common_confusion"]) == pytest.approx(result.common_confusion[rows].mean(0))
            ranking = cc.analysis.omega_ranking(ds, result.omega, "gold", seeds=result.seeds, seed=own["seed"])
            assert [c["top"] for c in own["omega"]] == ranking.top.tolist()
            assert [c["omega"] for c in own["omega"]] == pytest.approx(ranking.class_omega.tolist())
        else:
            assert own["common_confusion"] is own["omega"] is None
    reached = {m: r.accuracy("test") for m, r in expected.items()}
    assert output["learning"][0]["selected_by"] == "gold"
    for row in output["learning"]:
        mean = expected[row["method"]].probabilities["last"].mean(0)
        test = expected[row["method"]].split == 2
        together = (mean.argmax(1) == expected[row["method"]].gold)[test].mean()
        assert row["ensemble_last"] == pytest.approx(together)
    tests = cc.analysis.paired_tests(reached)
    assert [row["p_value"] for row in output["paired_tests"]] == pytest.approx(tests.p_value.tolist())
    assert {row["caveat"] for row in output["paired_tests"]} == {tests.caveat}
    [pair] = output["task_tests"]
    assert pair["difference"] == pytest.approx(reached["conal"].mean() - reached["crowd-layer"].mean())
    assert pair["low"] <= pair["difference"] <= pair["high"]
    assert [row["run"] for row in output["selection"]] == list(expected)
    last = expected["conal"].accuracy("test", at="last").mean()
    assert output["selection"][0]["to %"] == pytest.approx(100 * last)


def test_one_seed_of_one_method_without_a_test_split_says_what_it_cannot_say(crowdcore, run, folder, tmp_path):
    quick = ("--seeds", "1", "--epochs", "1", "--device", "cpu")
    alone = " ".join(run("compare", folder, "-m", "dl-mv", *quick).out.split())
    assert "one seed" in alone
    assert "±" not in alone and "standard deviation" not in alone and "nan" not in alone.lower()
    assert alone.count("at least two runs") == 1
    crowd = featured_crowd(120)
    without = write_folder(replace(crowd, split=np.where(crowd.split == 2, 0, crowd.split)), tmp_path / "without")
    text = " ".join(run("compare", without, *METHODS, *QUICK).out.split())
    assert text.count("has no test split") == 1
    assert "nan" not in text.lower()


def test_tables_fit_a_terminal_notes_come_once_and_all_goes_to_files(run, monkeypatch, folder, expected, tmp_path):
    monkeypatch.setattr(Console, "is_terminal", property(lambda self: True))
    monkeypatch.setenv("COLUMNS", "80")
    done = run("compare", folder, *METHODS, *QUICK, "--out", tmp_path)
    assert done.code == 0
    assert "…" not in done.out
    for method, result in expected.items():
        values = 100 * result.accuracy("test")
        assert f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" in done.out
        assert method in done.out
    text = " ".join((done.out + done.err).split())
    assert text.count("With 3 seeds") == 1
    assert text.count("seeds vary only") == 1
    assert "as trained" in text
    assert text.count("+ ensemble") == 2
    assert text.count("Epochs are selected on") == 1
    assert "caveat" not in text
    learning = pd.read_csv(tmp_path / "learning.csv")
    assert list(learning["method"]) == [f"{m}{kind}" for m in METHODS[1::2] for kind in ("", ", ensemble")]
    assert set(learning["selected by"]) == {"gold of the valid split"}
    assert {"dataset", "annotations/s", "seeds"} <= set(learning.columns)
    assert "With 3 seeds" in pd.read_csv(tmp_path / "paired-tests.csv")["caveat"][0]
    assert pd.read_csv(tmp_path / "task-tests.csv")["tasks"][0] == (featured_crowd(120).split == 2).sum()


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
def folder_of_hidden_names(tmp_path_factory) -> Path:
    return write_folder(named_crowd(), tmp_path_factory.mktemp("crowds") / "named")


def spoken(run, command: tuple[str, ...], folder_of_hidden_names: Path, *options: str) -> list[str]:
    place = 2 if command[0] == "show" else 1
    done = run(*command[:place], folder_of_hidden_names, *command[place:], *options)
    assert done.code == 0, done.err
    return names_in(f"{done.out}{done.err}".encode())


@pytest.mark.parametrize("command", SHOWN, ids=" ".join)
def test_names_are_printed_unless_hidden(command: tuple[str, ...], run, folder_of_hidden_names: Path) -> None:
    assert spoken(run, command, folder_of_hidden_names, "--json")
    for options in (("--hide-names",), ("--hide-names", "--json")):
        assert not spoken(run, command, folder_of_hidden_names, *options)


@pytest.mark.parametrize("command", [("mistakes",), ("aggregate",), ("compare", "-m", "majority-vote")], ids=" ".join)
def test_others_print_none(command: tuple[str, ...], run, folder_of_hidden_names: Path) -> None:
    assert not spoken(run, command, folder_of_hidden_names, "--json")


def test_files_hold_none(run, folder_of_hidden_names: Path, tmp_path: Path) -> None:
    assert run("report", folder_of_hidden_names, "--no-svg", "--out", tmp_path / "report").code == 0
    assert run("quality", folder_of_hidden_names, "--hide-names", "--out", tmp_path / "quality.csv").code == 0
    assert run("distances", folder_of_hidden_names, "--hide-names", "--figure", tmp_path / "distances.html").code == 0
    assert run("export", folder_of_hidden_names, tmp_path / "votes.csv", "--hide-names").code == 0
    assert run("export", folder_of_hidden_names, tmp_path / "votes.json", "--to", "lewidi", "--hide-names").code == 0
    plan = tmp_path.with_name("plan.csv")  # it names the workers
    assert run("next", folder_of_hidden_names, "--out", plan).code == 0 and names_in(plan.read_bytes())
    args = "export", folder_of_hidden_names, tmp_path / "next.json", "--to", "argilla", "--tasks", plan, "--hide-names"
    assert run(*args).code == 0 and '"workers": ' in (tmp_path / "next.json").read_text()
    names = {str(f): names_in(f.read_bytes()) for f in tmp_path.rglob("*") if f.is_file()}
    assert len(names) > 10
    assert not any(names.values())


def test_an_export_without_names_is_the_same_crowd(run, folder_of_hidden_names: Path, tmp_path: Path) -> None:
    assert run("export", folder_of_hidden_names, tmp_path / "out", "--hide-names").code == 0
    named, hidden = read_dataset(folder_of_hidden_names), read_dataset(tmp_path / "out")
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
