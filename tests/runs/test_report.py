"""Reports: every number is the library's, every name is text, workers are hidden, files are safe and complete."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from dataclasses import replace
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.pseudonyms import pseudonyms
from crowdcore.figures import paper
from crowdcore.runs.report import DATA_PARTS, RUN_PARTS, Trained, build, command_line, to_archive, to_html, write_report
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up
from tests.runs.report_page import Page, trained
from tests.test_import_tiers import loaded_after

HOSTILE = ("<script>document.title='owned'</script>", "=1+1", '<img src=x onerror="alert(1)"> & "q"')


@pytest.fixture(scope="module")
def crowd():
    return simulate.synthetic(n_tasks=200, n_valid=30, n_test=60, n_workers=6)


@pytest.fixture(scope="module")
def report(crowd):
    return build(crowd, trained(crowd, "conal", "trace", "dl-mv"), command="crowdcore report x")


def test_every_part_of_a_simulated_crowd_has_something_to_show(report):
    assert [s.name for s in report.sections] == [
        *DATA_PARTS,
        *(part for part in RUN_PARTS if part != "sweeps"),  # nothing varies among these runs but their method
        "how",
    ]
    assert all(section.exhibits for section in report.sections)
    assert len({e.name for e in report.exhibits}) == len(report.exhibits)


def test_numbers_are_those_of_the_library(crowd, report):
    by = {e.name: e.table for e in report.exhibits}
    runs = {m: made_up(crowd, m) for m in ("conal", "trace", "dl-mv")}
    table = by["accuracy"].set_index("run")
    for name, result in runs.items():
        for column, at in (("selected", "selected"), ("last", "last"), ("best, optimistic", "best")):
            values = 100 * result.accuracy("test", at=at)
            assert table.loc[name, f"{column} %"] == pytest.approx(values.mean())
            assert table.loc[name, f"{column} ±"] == pytest.approx(values.std(ddof=1))
    mistakes = analysis.shared_mistakes(crowd, "gold")
    assert by["shared-mistakes"]["percent"].tolist() == pytest.approx(mistakes.frame()["percent"].tolist())
    settings = by["settings"].set_index("setting")
    assert settings.loc["lr", "trace"] == "0.001"
    assert by["commands"]["command"].tolist() == [f"crowdcore train x --method {m}" for m in runs]
    assert report.runs[0]["seeds"] == [0, 1, 2]


def test_runs_on_other_crowds_take_part_in_sweeps_only():
    crowds = [
        simulate.synthetic(n_tasks=120, n_valid=20, n_test=40, n_workers=5, common_strength=s) for s in (0.4, 0.8)
    ]
    here, there = (replace(crowd, name=f"crowd-{k}") for k, crowd in enumerate(crowds, 1))
    runs = [*trained(there, "conal"), *trained(here, "conal", "dl-mv")]
    report = build(here, runs, crowds=[there])
    by = {e.name: e for e in report.exhibits}
    assert by["accuracy"].table["run"].tolist() == ["conal", "conal, ensemble", "dl-mv", "dl-mv, ensemble"]
    along = by["along-common-strength"]
    assert len(along.notes) == 1 and "crowd-2" in along.notes[0]
    expected = {
        ("conal", 0.4): made_up(here, "conal"),
        ("conal", 0.8): made_up(there, "conal"),
        ("dl-mv", 0.4): made_up(here, "dl-mv"),
    }
    table = along.table.set_index(["run", "common strength"])
    assert sorted(table.index) == sorted(expected)
    for place, result in expected.items():
        assert table.loc[place, "accuracy mean"] == pytest.approx(result.accuracy("test").mean())
    assert [(r["name"], r["dataset"]) for r in report.runs] == [
        ("conal", "crowd-1"),
        ("dl-mv", "crowd-1"),
        ("conal, crowd-2", "crowd-2"),
    ]
    assert by["settings"].table.set_index("setting").loc["dataset"].tolist() == ["crowd-1", "crowd-1", "crowd-2"]
    for part, chosen in ((["accuracy"], runs), (None, runs[:1])):
        with pytest.raises(DataError, match="crowd-2, which"):
            build(here, chosen, part, crowds=[there])
    stale = replace(there, gold=(there.gold + 1) % there.n_classes)
    with pytest.raises(DataError, match=r"trained.*2"):
        build(here, runs, crowds=[stale])


def test_workers_go_by_the_app_s_pseudonyms_unless_asked(crowd):
    odd = replace(crowd, worker_ids=pd.Index([f"Name-{k}@secret" for k in range(6)]))
    hidden = build(odd, trained(odd, "conal"))
    page = to_html(hidden)
    assert "secret" not in page
    assert all(name in page for name in pseudonyms(odd))
    assert not any(
        e.table.astype(str).apply(lambda c: c.str.contains("secret")).any(axis=None) for e in hidden.exhibits
    )
    shown = build(odd, trained(odd, "conal"), show_names=True)
    assert "Name-3@secret" in to_html(shown)
    assert (hidden.pseudonymised, shown.pseudonymised) == (True, False)


@pytest.fixture(scope="module")
def hostile():
    crowd = featured_crowd(90, n_workers=3)
    odd = replace(
        crowd,
        name=HOSTILE[0],
        classes=HOSTILE,
        worker_ids=pd.Index([f"{name} w" for name in HOSTILE]),
        task_ids=pd.Index([f"{HOSTILE[n % 3]} {n}" for n in range(crowd.n_tasks)]),
    )
    runs = [Trained("1" * 32, made_up(odd, "conal"), f"train '{HOSTILE[2]}'")]
    return build(odd, runs, show_names=True, command=f"report '{HOSTILE[0]}'")


def test_names_are_text_and_the_policy_lets_nothing_else_run(hostile):
    page = Page(to_html(hostile))
    kinds = [tag for tag, _ in page.tags]
    assert "img" not in kinds
    assert not any(key.startswith("on") or key in ("src", "srcset") for _, attrs in page.tags for key in attrs)
    running = [attrs for tag, attrs in page.tags if tag == "script" and attrs.get("type") != "application/json"]
    assert len(running) == 2
    assert HOSTILE[0] in " ".join(page.text)
    [policy] = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert re.search(r"script-src ('sha256-[^']+' ?){2};", policy)
    for figure in (script for script in page.scripts if script.startswith("{")):
        assert "<img" not in json.dumps(json.loads(figure)["layout"])


def test_plotly_comes_once_and_nothing_from_elsewhere(report):
    page = to_html(report)
    assert page.count("plotly.js v") == 1
    assert not [a for tag, a in Page(page).tags if tag in ("link", "iframe", "object", "embed", "base")]
    drawn = [e for e in report.exhibits if e.figure is not None]
    assert page.count('class="plot"') == page.count('type="application/json"') == len(drawn) > 10
    assert "scattergl" not in page.split('<script type="application/json"', 1)[1].split("<script>", 1)[0]


def test_spreadsheets_find_no_formula(hostile, tmp_path):
    written, _ = write_report(hostile, tmp_path, svg=False)
    tables = [file for file in written if file.suffix == ".csv"]
    [alone] = [e for e in hostile.exhibits if e.table.empty]
    assert len(alone.notes) == 1 and "at least two runs" in alone.notes[0]
    assert len(tables) == len(hostile.exhibits) - 1
    short = [file for file in tables if len(file.read_text().splitlines()) <= 101]
    assert all("toprule" in file.with_suffix(".tex").read_text() for file in short)
    cells = [cell for file in tables for line in csv.reader(file.read_text().splitlines()) for cell in line]
    assert not [c for c in cells if re.match(r"[=@\t\r]|[+-](?![\d.])", c)]
    assert any(c.startswith("'=1+1") for c in cells)
    assert all(re.fullmatch(r"\d\d-[a-z0-9-]+\.csv", file.name) for file in tables)


def test_the_folder_holds_everything_and_an_older_report_makes_room(crowd, report, tmp_path):
    mine = tmp_path / "tables" / "mine.csv"
    mine.parent.mkdir()
    mine.write_text("x")
    write_report(report, tmp_path, svg=False)
    before = {p.name for p in (tmp_path / "tables").iterdir()}
    small = build(crowd, trained(crowd, "trace"), ["accuracy"])
    written, fault = write_report(small, tmp_path, svg=False)
    assert fault == ""
    now = {p.name for p in (tmp_path / "tables").iterdir()}
    assert now == {p.name for p in written if p.parent.name == "tables"} | {"mine.csv"}
    assert len(now) < len(before)
    facts = json.loads((tmp_path / "report.json").read_text())
    assert facts["fingerprint"] == crowd.fingerprint
    assert facts["runs"][0]["versions"]["crowdcore"] == "0.1.0"
    with pytest.raises(DataError, match="is a file"):
        write_report(small, mine)


def test_figures_are_drawn_or_it_is_said_why_not(crowd, monkeypatch, tmp_path):
    small = build(crowd, trained(crowd, "trace"), ["calibration"])
    drawn = []

    def draw(figures, on_progress):
        for file, figure in figures.items():
            file.write_text("<svg>")
            drawn.append(figure)
            on_progress(0.5, "half of it")

    monkeypatch.setattr(paper, "draw", draw)
    messages = []
    written, fault = write_report(small, tmp_path / "a", on_progress=lambda *words: messages.append(words))
    assert fault == ""
    assert [f.name for f in written if f.suffix == ".svg"] == ["01-calibration.svg"]
    assert drawn == [small.exhibits[0].figure]
    assert messages == [(0.5, "half of it")]

    def fail(figures, on_progress):
        next(iter(figures)).write_text("<svg")
        raise RuntimeError("no browser")

    monkeypatch.setattr(paper, "draw", fail)
    assert "drawing them failed: RuntimeError" in write_report(small, tmp_path / "b")[1]
    assert not list((tmp_path / "b" / "figures").iterdir())
    monkeypatch.setattr("crowdcore.core.errors.find_spec", lambda name: None)
    written, fault = write_report(small, tmp_path / "c")
    assert "crowdcore[export]" in fault
    assert json.loads((tmp_path / "c" / "report.json").read_text())["left out"] == fault
    with zipfile.ZipFile(BytesIO(to_archive(small))) as archive:
        assert {"report.html", "report.json", "tables/01-calibration.csv"} <= set(archive.namelist())


def test_a_part_that_cannot_be_made_says_why_and_the_others_stand(crowd):
    alone = featured_crowd(60, n_workers=4, per_task=1)
    report = build(alone, trained(alone, "conal"))
    assert {"overview", "accuracy", "omega"} <= {s.name for s in report.sections}
    for section in report.sections:
        assert section.exhibits or section.words


def test_a_dataset_alone_and_one_without_gold():
    crowd = featured_crowd(60)
    assert [s.name for s in build(crowd).sections] == list(DATA_PARTS)
    blind = replace(crowd, gold=np.full(60, -1))
    report = build(blind, trained(blind, "conal"), reference="majority-vote")
    assert report.reference == "majority-vote"
    assert "calibration" not in [s.name for s in report.sections]
    assert "majority-vote" in to_html(report)


def test_refusals(crowd):
    other = featured_crowd(60)
    with pytest.raises(DataError, match="simulated"):
        build(crowd, trained(other, "conal"))
    with pytest.raises(SettingError, match="`parts`"):
        build(crowd, trained(crowd, "conal"), ["nonsense"])
    with pytest.raises(SettingError, match="`runs`"):
        build(crowd, (), ["curves"])


def test_the_command_says_what_was_asked_for():
    words = command_line("a b", ["1"], ["curves"], "dawid-skene", True, "out")
    assert words == "crowdcore report 'a b' --run 1 --part curves --reference dawid-skene --names --accept --out out"


def test_neither_torch_nor_the_record_is_loaded_for_it():
    assert not {"torch", "mlflow", "streamlit", "kaleido"} & loaded_after("import crowdcore.runs.report")


def test_seeds_that_are_not_comparable_are_not_averaged(crowd):
    one = trained(crowd, "conal")[0]
    early = replace(one.result, selected_epoch=np.array([1, 2, 6]))
    by = {e.name: e for e in build(crowd, [replace(one, result=early)]).exhibits}
    for name in ("workers-conal", "omega-conal"):
        assert by[name].notes[0].startswith("Seed 0 is shown")


def test_a_report_of_one_seed_names_no_deviation_and_shows_no_empty_column(crowd):
    report = build(crowd, [Trained("1" * 32, made_up(crowd, m, (0,)), m) for m in ("conal", "trace")], [*RUN_PARTS])
    for exhibit in report.exhibits:
        assert not [c for c in exhibit.table.columns if "±" in str(c) or str(c).endswith("std")], exhibit.name
        assert not exhibit.table.isna().all().any() or exhibit.table.empty
        drawn = "" if exhibit.figure is None else exhibit.figure.to_json()
        assert "\\u00b1" not in drawn and "mean over seeds" not in drawn, exhibit.name
    assert "±" not in "".join(Page(to_html(report)).text)
