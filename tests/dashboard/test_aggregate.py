"""The aggregate page in-process: its numbers are the library's, its links reopen it, refusals are sentences."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import crowdcore as cc
from crowdcore.data.writers import write_folder
from testkit.crowds import simulate_crowd
from tests.dashboard import app_page
from tests.dashboard.app_page import table, words

THREE = ["majority-vote", "dawid-skene", "one-coin"]


@pytest.fixture
def crowd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cc.CrowdDataset:
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    write_folder(simulate_crowd(), folder / "crowd")
    blind = replace(simulate_crowd(seed=1), gold=np.full(300, -1))
    write_folder(blind, folder / "blind")
    return cc.load_dataset("crowd")


def open_page(methods: list[str], **address: str) -> AppTest:
    """The page when all its fits have ended."""
    return finish(app_page.open_page("aggregate", **{"dataset": "crowd", "methods": methods, **address}))


def finish(test: AppTest) -> AppTest:
    test.run()
    end = time.monotonic() + 60
    while any("running" in str(part.value) or "waiting" in str(part.value) for part in test.markdown):
        assert time.monotonic() < end
        test.run()
    assert not test.exception
    return test


def click(test: AppTest, label: str) -> AppTest:
    next(button for button in test.button if button.label == label).click()
    return finish(test)


def test_it_begins_with_a_suggestion_and_runs_it(crowd: cc.CrowdDataset) -> None:
    test = open_page([])
    assert test.multiselect[0].value == ["auto", "majority-vote", "dawid-skene", "conal-em"]
    assert list(table(test, "log-likelihood")["method"]) == ["auto", "majority-vote", "dawid-skene", "conal-em"]
    test = click(test, "Run")
    assert test.query_params["methods"] == ["auto", "majority-vote", "dawid-skene", "conal-em"]
    assert list(table(test, "log-likelihood")["method"]) == ["auto", "majority-vote", "dawid-skene", "conal-em"]


def test_the_table_holds_the_library_s_numbers(crowd: cc.CrowdDataset) -> None:
    frame = table(open_page(THREE), "log-likelihood").set_index("method")
    for name in THREE:
        result = cc.aggregation.get(name).fit(crowd)
        row, judged = frame.loc[name], cc.analysis.judge(crowd, result)
        assert row["accuracy"] == pytest.approx(100 * (result.labels == crowd.gold).mean())
        assert row["calibration error"] == pytest.approx(100 * cc.analysis.calibration(result, crowd.gold).error)
        assert (row["gained"], row["lost"]) == (judged.gained, judged.lost)
        assert row["warnings"] == " ".join(judged.warnings)
        assert row["stopped"] == result.stopped
        if len(result.log_likelihood):
            assert row["log-likelihood"] == pytest.approx(result.log_likelihood[-1])
            assert row["iterations"] == len(result.log_likelihood)


def test_a_refusal_is_told_at_its_method_and_the_others_go_on(crowd: cc.CrowdDataset) -> None:
    test = open_page(["kos", "majority-vote", "dawid-skeen"])
    assert "but crowd has 4" in words(test)
    assert "**dawid-skeen**" in words(test)
    assert "'dawid-skene'?" in words(test)
    assert list(table(test, "stopped")["method"]) == ["majority-vote"]
    assert not test.error


def test_warnings_are_listed_in_words(data_folder: Path) -> None:
    test = open_page(["dawid-skene", "one-coin"], dataset="labelme")
    assert "76.7 % right against 76.9 %" in words(test)


def test_a_pair_shows_the_tasks_where_it_differs(crowd: cc.CrowdDataset) -> None:
    test = open_page(THREE, first="majority-vote", second="one-coin")
    one, other = (cc.aggregation.get(name).fit(crowd) for name in ("majority-vote", "one-coin"))
    unlike = np.flatnonzero(one.labels != other.labels)
    assert f"**{len(unlike)} tasks** of 300" in words(test)
    first = int((one.labels == crowd.gold)[unlike].sum())
    assert f"right on {first} of them" in words(test)
    frame = table(test, "first_probability")
    assert sorted(frame["task"]) == sorted(crowd.task_ids[unlike])


def test_shown_gold_is_not_judged(crowd: cc.CrowdDataset) -> None:
    test = open_page(["dawid-skene"], gold="20")
    known, _ = cc.analysis.show_gold(crowd, 20)
    result = cc.aggregation.get("dawid-skene").fit(crowd, known=known)
    row = table(test, "log-likelihood").iloc[0]
    assert row["method"] == "dawid-skene gold=20%"
    assert row["accuracy"] == pytest.approx(100 * (result.labels == crowd.gold)[known < 0].mean())
    assert "240 tasks with hidden gold" in words(test)
    nothing = open_page(["dawid-skene"], gold="100")
    assert "accuracy" not in table(nothing, "log-likelihood").columns
    assert "cannot be measured" in words(nothing)


def test_without_gold_nothing_is_said_of_accuracy(crowd: cc.CrowdDataset) -> None:
    test = open_page(THREE, dataset="blind")
    assert "accuracy" not in table(test, "log-likelihood").columns
    assert "right on" not in words(test)
    assert all(box.label != "Gold labels the method may use" for box in test.selectbox)
    assert not test.info, "no place is kept for what needs gold"


def test_settings_run_instead_of_or_beside_the_present_ones(crowd: cc.CrowdDataset) -> None:
    test = open_page(["dawid-skene"])
    next(field for field in test.number_input if field.label.startswith("Smoothing of confusions")).set_value(2.0)
    test = click(test, "Run beside it")
    assert test.query_params["methods"] == ["dawid-skene", "dawid-skene smoothing=2.0"]
    frame = table(test, "log-likelihood").set_index("method")
    direct = cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd)
    expected = 100 * (direct.labels == crowd.gold).mean()
    assert frame.loc["dawid-skene smoothing=2.0", "accuracy"] == pytest.approx(expected)
    test = open_page(["dawid-skene"])
    next(field for field in test.number_input if field.label == "Iterations at most").set_value(2)
    test = click(test, "Run with these")
    assert test.query_params["methods"] == "dawid-skene max_iterations=2"
    assert "cap of 2 iterations" in words(test)


def test_a_result_becomes_the_reference_of_every_page(crowd: cc.CrowdDataset) -> None:
    name = "dawid-skene smoothing=2.0"
    test = click(open_page(["majority-vote", name], result=name), "Use as reference")
    assert test.query_params["reference"] == name
    picker = next(box for box in test.sidebar.selectbox if box.label == "Reference")
    assert picker.value == name
    test.switch_page("views/mistakes.py")
    test.run()
    assert not test.exception
    assert not test.error
    result = cc.aggregation.get("dawid-skene", smoothing=2.0).fit(crowd)
    percent = np.array(cc.analysis.shared_mistakes(crowd, result).percent)
    np.fill_diagonal(percent, 0)
    assert f"{percent.max():.1f} % of the workers" in words(test)
    assert "smoothing" in next(box for box in test.sidebar.selectbox if box.label == "Reference").value


def test_a_worker_s_confusion_with_intervals(crowd: cc.CrowdDataset) -> None:
    test = open_page(THREE, result="dawid-skene", worker="w003")
    result = cc.aggregation.get("dawid-skene").fit(crowd)
    confusion = cc.analysis.sampled_confusion(crowd, n_samples=400, burn_in=150)
    frame = table(test, "expected labels").set_index(["true", "given"])
    for a, true in enumerate(crowd.classes):
        for b, given in enumerate(crowd.classes):
            row = frame.loc[true, given]
            assert row["percent"] == pytest.approx(100 * result.confusion[3, a, b])
            assert row["low"] == pytest.approx(100 * confusion.low[3, a, b])
            assert row["high"] == pytest.approx(100 * confusion.high[3, a, b])
    assert "95 % intervals" in words(test)
    assert "estimates no confusions" in words(open_page(THREE, result="majority-vote"))


def test_common_confusions_come_before_the_workers(crowd: cc.CrowdDataset) -> None:
    test = open_page(["conal-em groups=2"], worker="Common of group 2")
    box = next(box for box in test.selectbox if box.label == "Worker")
    assert box.options[:3] == ["Common of group 1", "Common of group 2", "w000"]


def test_hard_tasks_are_listed_with_what_difficulty_and_foil_mean(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("CROWDCORE_DATA", str(tmp_path))
    crowd = cc.read_dataset(write_folder(simulate_crowd(60), tmp_path / "crowd"))
    test = open_page(["item-response"], result="item-response")
    shown = table(test, "difficulty")
    result = cc.aggregation.get("item-response").fit(crowd)
    assert shown["task"].tolist() == crowd.task_ids[np.argsort(-result.difficulty, kind="stable")].tolist()
    assert "misleads workers to" in words(test)
    one = app_page.open_page("tasks", dataset="crowd", reference="item-response", task=crowd.task_ids[0])
    shown = {metric.label: metric.value for metric in one.run().metric}
    assert float(shown["Difficulty"]) == pytest.approx(result.difficulty[0], rel=0.01)
    assert shown["Foil"] == ([*crowd.classes, "none"][result.foil[0]])
    assert "Hard tasks" not in words(open_page(["majority-vote"], result="majority-vote"))


def test_what_others_wrote_in_the_address_is_survived(crowd: cc.CrowdDataset) -> None:
    test = open_page(["majority-vote", "majority-vote", "dawid-skene x"], gold="17", first="nobody", result="<b>")
    assert list(table(test, "stopped")["method"]) == ["majority-vote"]
    assert not test.error


def test_what_is_shown_keeps_its_place_while_further_fits_end(
    crowd: cc.CrowdDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that is open closes when its value changes or moves."""
    open_page(["majority-vote", "dawid-skene"])
    go_on, fit = threading.Event(), cc.aggregation.OneCoin.fit
    monkeypatch.setattr(cc.aggregation.OneCoin, "fit", lambda *args, **kwargs: go_on.wait(60) and fit(*args, **kwargs))
    methods = ["one-coin", "majority-vote", "dawid-skene"]
    test = app_page.open_page("aggregate", dataset="crowd", methods=methods)
    boxes = ("First", "Second", "Result", "Worker")
    before = {label: picked(test, label) for label in boxes}
    assert before["Result"] == (["majority-vote", "dawid-skene"], "dawid-skene")
    go_on.set()
    test = finish(test)
    for label, (options, value) in before.items():
        now, shown = picked(test, label)
        assert (now[: len(options)], shown) == (options, value)
    assert picked(test, "Result")[0] == ["majority-vote", "dawid-skene", "one-coin"]
    assert list(table(open_page(methods), "log-likelihood")["method"]) == methods  # as its address says


def picked(test: AppTest, label: str) -> tuple[list[str], str]:
    """Options of a select box, and what it shows."""
    box = next(box for box in test.selectbox if box.label == label)
    return list(box.options), box.value
