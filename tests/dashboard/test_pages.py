"""Every page in-process: it draws, its numbers are the library's, its choices are in the address."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs

import numpy as np
import pytest
from _plotly_utils import basevalidators

from crowdcore import analysis, load_dataset
from crowdcore.core.errors import SettingError
from crowdcore.data.tour import DEMO, TOUR
from crowdcore.data.writers import write_folder
from crowdcore.exhibits import between, tasks, view
from dashboard.pages import PATHS, TITLES
from testkit.crowds import simulate_crowd
from tests.dashboard.app_page import open_page, table, words


@pytest.fixture
def crowd_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Named datasets: a small crowd."""
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    write_folder(simulate_crowd(), folder / "crowd")
    return folder


@pytest.mark.parametrize(
    ("page", "address", "shown"),
    [
        ("mistakes", "reference=majority-vote&true=three&given=nine&beside=gold", "gave **nine** to a task"),
        ("annotators", "reference=gold&view=One worker&worker=w02", "w02"),
        ("annotators", "reference=gold&view=Ranking&without=w02&without=w03", "by lower end of accuracy"),
        ("tasks", "reference=gold&show=misled&true=three", "likeliest wrong label first"),
        ("overview", "reference=gold&view=Open a file", "a row for each label"),
    ],
)
def test_an_address_reopens_its_view(page: str, address: str, shown: str) -> None:
    given = parse_qs(f"dataset=demo&names=shown&{address}")
    by_key = {key: values if len(values) > 1 else values[0] for key, values in given.items()}
    test = open_page(page, **by_key)
    assert not test.error
    assert {key: test.query_params[key] for key in by_key} == by_key
    assert shown in words(test)


@pytest.mark.parametrize("page", ["overview", "tasks"])
def test_an_unknown_dataset_is_refused_in_a_sentence(page: str, crowd_folder: Path) -> None:
    test = open_page(page, dataset="crowds")
    assert "Did you mean 'crowd'?" in test.error[0].value.replace("\\", "")


def test_an_unknown_reference_gives_way_with_a_warning(crowd_folder: Path) -> None:
    test = open_page("mistakes", dataset="crowd", reference="oracle")
    assert "'oracle'; showing 'gold'" in words(test)
    assert not test.error


@pytest.mark.parametrize(
    ("page", "address", "told"),
    [
        ("mistakes", {"true": "nonsense"}, "crowd has no class 'nonsense'"),
        ("annotators", {"view": "One worker", "worker": "nobody"}, "crowd has no worker 'nobody'"),
        ("tasks", {"given": "nonsense"}, "crowd has no class 'nonsense'"),
    ],
)
def test_a_name_in_a_link_that_is_not_there_is_told(
    page: str, address: dict[str, str], told: str, crowd_folder: Path
) -> None:
    test = open_page(page, dataset="crowd", **address)
    assert told in words(test)
    assert not test.error
    assert not open_page(page, dataset="crowd").warning


def test_a_fault_is_logged_and_never_shown_as_a_traceback(
    crowd_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("crowdcore.exhibits.mistakes.shared_mistakes", lambda *_: 1 / 0)
    test = open_page("mistakes", dataset="crowd")
    assert "could not be drawn" in test.error[0].value
    assert "ZeroDivisionError" in caplog.text


def test_home_shows_the_library_s_numbers(data_folder: Path) -> None:
    test = open_page("overview", dataset="labelme", view="Numbers")
    shown = {metric.label: metric.value for metric in test.metric}
    assert shown["Annotations"] == "2,547"
    assert shown["Wrong labels"] == "25.95 %"
    assert shown["Tasks nobody got right"] == "11.10 %"
    assert shown["Mean worker accuracy"] == "69.16 %"
    assert shown["Majority vote is right"] == "76.90 %"


@pytest.mark.parametrize(
    ("dataset", "true", "given", "expected"),
    [
        ("labelme", "street", "insidecity", "36 workers** of 59 (61.0 %)"),
        ("labelme", "opencountry", "forest", "26 workers** of 59 (44.1 %)"),
        ("music", "metal", "rock", "28 workers** of 44 (63.6 %)"),
        ("music", "disco", "pop", "17 workers** of 44 (38.6 %)"),
    ],
)
def test_a_cell_of_shared_mistakes_is_the_published_one(
    dataset: str, true: str, given: str, expected: str, data_folder: Path
) -> None:
    test = open_page("mistakes", dataset=dataset, true=true, given=given)
    assert expected in words(test)


def test_the_most_shared_mistake_is_shown_first(crowd_folder: Path) -> None:
    percent = np.array(analysis.shared_mistakes(load_dataset("crowd")).percent)
    np.fill_diagonal(percent, -1)
    true, given = np.unravel_index(percent.argmax(), percent.shape)
    test = open_page("mistakes", dataset="crowd")
    assert f"gave **class {given}** to a task that is **class {true}**" in words(test)
    assert f"{percent.max():.1f} %" in words(test)


def test_filters_of_tasks_narrow_the_list(crowd_folder: Path) -> None:
    crowd = load_dataset("crowd")
    test = open_page("tasks", dataset="crowd")
    assert f"{crowd.n_tasks} tasks" in words(test)
    cell = (crowd.label == 2) & (crowd.gold[crowd.task] == 1)
    test = open_page("tasks", dataset="crowd", true="class 1", given="class 2")
    assert f"{len(np.unique(crowd.task[cell]))} tasks" in words(test)
    cell &= crowd.worker == 3
    test = open_page("tasks", dataset="crowd", true="class 1", given="class 2", worker="w003")
    assert f"{len(np.unique(crowd.task[cell]))} task" in words(test)
    disputed = sum(len(set(crowd.label[crowd.task == i])) > 1 for i in range(crowd.n_tasks))
    assert f"{disputed} tasks" in words(open_page("tasks", dataset="crowd", show="disputed"))


def test_the_filter_of_items_goes_along_from_look_to_review_and_back(crowd_folder: Path) -> None:
    chosen = {"true": "class 1", "given": "class 2"}
    for here, there, own in (
        ("tasks", "Review", {"worker": "w003"}),
        ("review", "Look", {"workers": "w003"}),
    ):
        test = open_page(here, dataset="crowd", **chosen, **own)
        link = next(link.proto for link in test.get("page_link") if link.proto.label == there)
        query = parse_qs(link.query_string)
        assert {key: query[key] for key in chosen} == {key: [value] for key, value in chosen.items()}
        assert query["workers" if there == "Review" else "worker"] == ["w003"]


def test_one_task_shows_its_labels(crowd_folder: Path) -> None:
    crowd = load_dataset("crowd")
    test = open_page("tasks", dataset="crowd", task="t00007")
    assert test.title[0].value == "t00007"
    labels = test.dataframe[1].value
    assert list(labels["label"]) == [crowd.classes[c] for c in crowd.label[crowd.task == 7]]
    assert list(labels["worker"]) == [f"w{r:03d}" for r in crowd.worker[crowd.task == 7]]


def test_a_picture_needs_no_file_that_may_be_gone_when_the_browser_asks_for_it() -> None:
    test = open_page("tasks", dataset="demo", task=str(load_dataset("demo").task_ids[0]))
    (shown,) = test.get("image")
    assert [picture.url.split(",")[0] for picture in shown.proto.imgs] == ["data:image/jpeg;base64"]


def test_leaving_workers_out_shows_what_changes(crowd_folder: Path) -> None:
    test = open_page("annotators", dataset="crowd", view="Ranking", without="w003")
    vote = analysis.what_if(load_dataset("crowd"), ["w003"])
    shown = {metric.label: metric.value for metric in test.metric}
    assert shown["Annotations left out"] == str(vote.n_annotations)
    assert shown["Labels changed"] == str(len(vote.changed))
    assert shown["Majority vote is right"] == f"{100 * vote.accuracy_after:.2f} %"


def test_coordinated_workers_are_named_with_what_changes_without_them() -> None:
    test = open_page("annotators", dataset="demo", view="Together", reference="gold")
    assert "**1 group**" in test.warning[0].value
    assert any("w04 and w05 agree" in caption.value for caption in test.caption)
    changed = table(test, "before")
    assert list(changed.columns) == ["task", "before", "after"]
    assert len(changed) == table(test, "labels changed")["labels changed"].iloc[0]


def test_no_dataset_at_all_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.services.datasets.names", list)
    monkeypatch.setattr("dashboard.services.datasets.default_dataset", str)
    assert "Open a file" in words(open_page("mistakes"))
    assert not open_page("overview").exception


def test_mistakes_on_two_classes_are_counted(crowd_folder: Path) -> None:
    write_folder(simulate_crowd(n_classes=2), crowd_folder / "two")
    test = open_page("mistakes", dataset="two", reference="dawid-skene", true="class 0", given="class 1")
    assert next(box for box in test.selectbox if box.label == "Show").value == "annotations"
    assert not any(switch.label.startswith("Mark mistakes") for switch in test.main.toggle), "none is tested"
    assert not any(said in words(test) for said in ("The test", "not tested: the same labels", "no cell is tested"))
    makers, of, share = map(float, re.findall(r"(\d+) workers\*\* of (\d+) \(([\d.]+) %\)", words(test))[0])
    assert share == pytest.approx(100 * makers / of, abs=0.05), "also where the reference is a posterior"
    assert "Two classes do not tell" in words(open_page("overview", dataset="two"))


def test_a_session_that_begins_while_another_one_imports_pandas(monkeypatch):
    names = []

    def half_of_it(name: str, should_load: bool = True) -> ModuleType:
        names.append(name)
        return ModuleType(name)

    monkeypatch.setattr(basevalidators, "get_module", half_of_it)
    test = open_page("glossary", dataset="demo")
    assert "pandas" in names
    assert [title.value for title in test.title] == ["Glossary"]


@pytest.mark.parametrize("step", TOUR, ids=lambda step: step.path)
def test_every_step_is_a_page_of_the_app(step) -> None:
    assert step.view in TITLES
    assert PATHS.get(step.view, step.view) == step.path
    if step.tab:
        test = open_page(step.view, dataset=DEMO, view=step.tab)
        assert step.tab in [link.proto.label for link in test.get("page_link")]


def test_budget_capacity_and_workers_come_from_the_address() -> None:
    address = {"budget": "30", "capacity": "12", "available": ["w01", "w02", "w03"]}
    test = open_page("next", dataset="demo", names="shown", **address)
    assert not test.error
    assert "30 labels" in words(test)
    each, assigned = table(test, "labels"), table(test, "task")
    assert each["labels"].sum() == len(assigned) == 30
    assert each["labels"].max() <= 12
    assert set(assigned["worker"]) <= {"w01", "w02", "w03"}
    hidden = open_page("next", dataset="demo", names="hidden", budget="30")
    assert table(hidden, "task")["worker"].str.startswith("worker ").all()
    assert table(hidden, "labels")["labels"].max() <= 3  # thrice an equal share of 30 labels among 40 workers


def test_without_rounds_the_page_asks_and_concludes_nothing() -> None:
    test = open_page("rounds", dataset="demo")
    assert "Which labels are of the second round?" in words(test)
    assert "beyond noise" not in words(test)
    assert not test.dataframe


def test_halves_of_the_crowd_are_a_chance_check_without_a_headline() -> None:
    test = open_page("rounds", dataset="demo", by="halves", at="1")
    assert not test.error
    assert "chance check" in words(test)
    assert "Nothing changed" not in words(test)
    assert table(test, "what")["what"].iloc[0] == "labels that are right"


@pytest.mark.usefixtures("trainable_crowd")
def test_a_broken_record_is_said_where_runs_are_shown(workspace: Path) -> None:
    with (workspace / "mlflow.db").open("r+b") as file:
        file.truncate(8192)
    test = open_page("train", dataset="crowd")
    [said] = [one for one in words(test).splitlines() if "mlflow.db" in one]
    assert "`crowdcore workspace check --repair`" in said
    assert "SQL" not in said and "Traceback" not in said
    assert not open_page("annotators", dataset="crowd").error


def test_limits_come_from_the_address_in_the_unit_that_is_shown() -> None:
    test = open_page("tasks", dataset="demo", column="share", least="40", most="60", sort="gain")
    assert not test.error
    tests = table(test, "share")
    assert len(tests)
    assert tests["share"].between(40, 60).all()
    assert tests["gain"].is_monotonic_decreasing
    next(box for box in test.number_input if box.label == "At most (%)").set_value(50.0).run()
    assert table(test, "share")["share"].between(40, 50).all()
    assert test.query_params["most"] == "50.0"


def test_a_column_without_numbers_is_refused() -> None:
    table = tasks.tasks(view(simulate_crowd(60)), sort="gain").table
    assert between(table, "annotations", 3, None).equals(table)
    with pytest.raises(SettingError, match="one with numbers"):
        between(table, "task", 0)
