"""Uploads: stored, unpacked within bounds, examined, taken in."""

from __future__ import annotations

import io
import json
import re
import resource
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from crowdcore import aggregation
from crowdcore.core import memory
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.core.files import workspace
from crowdcore.data.catalogue import upload_folder
from dashboard.components.reading_form import button_of
from dashboard.services import datasets, opening, uploads
from testkit import bombs
from testkit.crowds import simulate_crowd
from testkit.exports import STUDIO

CSV = b"task,worker,label\nt1,ann,cat\nt1,bob,dog\nt2,ann,cat\n"


def packed(**files: bytes) -> io.BytesIO:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content


def test_a_file_is_stored_once_inside_the_workspace(workspace: Path) -> None:
    first = uploads.receive("../../a b;c.csv", io.BytesIO(CSV))
    again = uploads.receive("../../a b;c.csv", io.BytesIO(CSV))
    assert first == again
    assert Path(first).is_relative_to(workspace)
    assert Path(first).read_bytes() == CSV
    assert uploads.receive("a.csv", io.BytesIO(CSV + b"t2,bob,cat\n")) != first


def test_a_file_is_examined_accepted_and_opened(workspace: Path) -> None:
    imported = uploads.examine(uploads.receive("my crowd.csv", io.BytesIO(CSV + b"t3,ann,\n")), ())
    assert imported.report.n_annotations == 3
    name = uploads.accept(imported)
    assert name.startswith("my-crowd-")
    assert upload_folder(name) is not None
    assert name in datasets.names()
    opened = opening.dataset(name)
    assert (opened.n_tasks, opened.n_workers, opened.n_annotations) == (3, 2, 3)
    assert uploads.accept(imported) == name


def test_a_dataset_folder_comes_as_a_zip() -> None:
    from crowdcore.data.writers import write_folder

    crowd = simulate_crowd(30)
    folder = workspace() / "made"
    folder.parent.mkdir(parents=True)
    write_folder(crowd, folder)
    files = {f"made/{f.name}": f.read_bytes() for f in folder.iterdir()}
    path = uploads.receive("made.zip", packed(**files))
    imported = uploads.examine(path, ())
    opened = opening.dataset(uploads.accept(imported))
    assert np.array_equal(opened.label, crowd.label)
    assert np.array_equal(opened.gold, crowd.gold)


def test_a_workbook_is_not_unpacked_and_its_refusal_says_what_to_do() -> None:
    path = uploads.receive("votes.xlsx", packed(**{"[Content_Types].xml": b"", "xl/workbook.xml": b""}))
    with pytest.raises(DataError, match=r"^This workbook cannot be read .* \(votes.xlsx\). Save the sheet as CSV"):
        uploads.examine(path, ())


def test_a_class_for_every_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"t{n},ann,text {n}\n" for n in range(400))
    imported = uploads.examine(uploads.receive("texts.csv", io.BytesIO(f"task,worker,label\n{lines}".encode())), ())
    monkeypatch.setattr(memory, "available_memory", lambda: 4 << 20)
    with pytest.raises(CrowdError) as by_app:
        uploads.accept(imported)
    with pytest.raises(CrowdError) as in_python:
        aggregation.get("majority-vote").fit(imported.dataset(accept=True))
    assert str(by_app.value) == str(in_python.value)
    assert [remedy.settings for remedy in by_app.value.remedies] == [("label",), ("merge_classes",)]


def test_classes_that_only_a_model_would_multiply_by_tasks_open_with_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"t{n},ann,{n % 200},{n % 200}\n" for n in range(4000))
    path = uploads.receive("texts.csv", io.BytesIO(f"task,worker,label,gold\n{lines}".encode()))
    imported = uploads.examine(path, (("kind", "classes"),))
    monkeypatch.setattr(memory, "available_memory", lambda: 4 << 20)
    assert opening.dataset(uploads.accept(imported)).n_classes == 200


@pytest.mark.parametrize("make", [bombs.parquet_of_many_rows, bombs.parquet_of_long_cells, bombs.csv_of_many_columns])
def test_a_bomb_is_refused_in_one_sentence(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROWDCORE_EXAMINE_MEMORY", "0.3")
    file = make(tmp_path / "bomb")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with file.open("rb") as content, pytest.raises(CrowdError) as refused:
        uploads.examine(uploads.receive("bomb", content), ())
    assert len(str(refused.value)) < 400
    assert str(tmp_path) not in str(refused.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10  # KiB: nothing unfolded here


@pytest.mark.parametrize("name", ["..", ".", "", "../uploads", "a/b", "nothing-here"])
def test_a_name_never_leads_out_of_the_workspace(name: str, workspace: Path) -> None:
    (workspace / "datasets").mkdir(parents=True)
    assert upload_folder(name) is None


def open_a_file() -> None:
    from dashboard import state
    from dashboard.components.importer import importer

    state.enter("overview")
    importer()
    state.publish()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bytes], AppTest]:
    """``opened(name, content)`` is the page with that file."""

    def run(name: str, content: bytes) -> AppTest:
        file = io.BytesIO(content)
        file.name, file.file_id = name, "1"
        monkeypatch.setattr("streamlit.file_uploader", lambda *_, **__: file)
        return AppTest.from_function(open_a_file, default_timeout=60).run()

    return run


def labelled(page: AppTest, kind: str, label: str) -> Any:
    """The first control of a kind with that label."""
    return next(element for element in page.get(kind) if plain(element.label) == label)


def plain(label: str) -> str:
    return re.sub(r"\\(.)", r"\1", label).replace("\u2060", "")


def mapping(page: AppTest) -> dict[str, Any]:
    (value,) = page.session_state["mapping"].values()
    return value


def words(page: AppTest) -> str:
    return " ".join(element.value for element in (*page.markdown, *page.error, *page.caption))


def test_a_finding_is_answered_by_its_own_control(opened: Callable[[str, bytes], AppTest]) -> None:
    page = opened("export.json", json.dumps(STUDIO).encode())
    assert "1 annotation with several choices would be left out" in words(page)
    labelled(page, "button", "Make each combination a class").click().run()
    assert mapping(page) == {"multi_select": "keep"}
    assert "several choices would be left out" not in words(page)


def test_a_choice_that_a_tool_leaves_no_room_for_is_undone(opened: Callable[[str, bytes], AppTest]) -> None:
    page = opened("export.json", json.dumps(STUDIO).encode())
    labelled(page, "selectbox", "Gold").select("id").run()
    assert "columns are fixed" in page.error[0].value
    labelled(page, "button", "Undo the choices").click().run()
    assert not page.error and mapping(page) == {}
    assert not page.exception


def test_some_of_several_spellings_are_merged_and_kept_apart_again(opened: Callable[[str, bytes], AppTest]) -> None:
    rows = (
        f"{n},{who},{label}" for n in range(4) for who, label in zip("abcd", ("cat", "Cat", "dog", "DOG"), strict=True)
    )
    test = opened("pets.csv", "\n".join(["task,worker,label", *rows]).encode())
    assert "Merge them" in [button.label for button in test.button]
    several = next(box for box in test.multiselect if box.label == "Merge only some classes")
    several.select(next(name for name in several.options if name.lower().startswith("dog"))).run()
    assert [m.value for m in test.metric if m.label == "Classes"] == ["3"]
    next(button for button in test.button if button.label == "Keep classes apart again").click().run()
    assert [m.value for m in test.metric if m.label == "Classes"] == ["4"]


def test_no_selector_vanishes_while_columns_are_chosen(opened: Callable[[str, bytes], AppTest]) -> None:
    """Three columns of whole numbers under names that say nothing, the task chosen first."""
    rows = "".join(f"{n},{w},{(n + w) % 3}\n" for n in range(20) for w in range(4))
    page = opened("numbers.csv", f"q,p,r\n{rows}".encode())
    for setting, column in (("Task", "q"), ("Worker", "p"), ("Label", "r")):
        box = labelled(page, "multiselect" if setting == "Task" else "selectbox", setting)
        box.select(column).run()
        assert {box.label for box in page.selectbox} >= {"Worker", "Label", "Gold", "Delimiter", "Encoding", "Format"}
        assert not page.exception
    assert mapping(page) == {"task": "q", "worker": "p"}  # then content leaves one column for the label
    assert {"20", "4", "80"} <= {metric.value for metric in page.metric}


def test_columns_that_say_nothing_are_chosen_in_the_refusal(opened: Callable[[str, bytes], AppTest]) -> None:
    page = opened("odd.csv", b"foo,who,says\n1,ann,cat\n2,bob,dog\n1,bob,cat\n")
    assert len(page.error) == 1 and len(page.dataframe[0].value) == 3
    labelled(page, "multiselect", "Task").select("foo").run()
    labelled(page, "selectbox", "Worker").select("who").run()
    labelled(page, "selectbox", "Label").select("says").run()
    assert not page.error and "bob** says **1** is **cat" in words(page)
    # A value that the script sets replaces the browser's, also where the user has chosen meanwhile.
    assert not labelled(page, "selectbox", "Worker").proto.set_value


def test_a_task_of_two_columns_is_chosen(opened: Callable[[str, bytes], AppTest]) -> None:
    page = opened("votes.csv", b"task,worker,label,doc\n1,ann,cat,a\n1,bob,dog,a\n1,ann,cat,b\n")
    labelled(page, "multiselect", "Task").select("doc").run()
    assert mapping(page) == {"task": ("task", "doc")}


def test_the_workers_of_a_wide_table_are_all_seen_and_chosen(opened: Callable[[str, bytes], AppTest]) -> None:
    names = [f"w{n}" for n in range(8)]
    rows = "".join(f"t{n},{','.join('01'[(n * k) % 2] for k in range(8))}\n" for n in range(9))
    page = opened("wide.csv", f"task,{','.join(names)}\n{rows}".encode())
    assert labelled(page, "multiselect", "Worker columns (wide table)").value == names
    labelled(page, "multiselect", "Worker columns (wide table)").unselect("w7").run()
    assert mapping(page) == {"workers": tuple(names[:-1])}


def test_any_text_may_mean_that_there_is_no_label(opened: Callable[[str, bytes], AppTest]) -> None:
    page = opened("votes.csv", b"task,worker,label\n1,ann,cat\n1,bob,99\n2,ann,dog\n2,bob,cat\n")
    labelled(page, "multiselect", "Cells that mean “no label”").select("99").run()
    assert mapping(page) == {"missing": ("99",)} and "2" in {metric.value for metric in page.metric}


def test_everything_can_be_set_whatever_state_the_file_is_in(opened: Callable[[str, bytes], AppTest]) -> None:
    for name, content in {"fine.csv": CSV, "odd.csv": b"a,b\n1,2\n", "cut.csv": b'a,b\n"1,2\n'}.items():
        page = opened(name, content)
        labels = {
            e.label for kind in ("selectbox", "multiselect", "number_input", "text_input") for e in page.get(kind)
        }
        assert labels >= {
            *("Task", "Worker", "Label", "Gold", "Time of the label", "Worker columns (wide table)", "Repeats"),
            *("Cells that mean “no label”", "Question to read", "The first row holds the column names"),
            *("Lines above the column names", "Rows below them that explain", "Rows are workers, columns are tasks"),
            *("Fill empty cells from above", "Delimiter", "Encoding", "Sheet", "Format"),
        }


def test_an_encoding_is_chosen_by_how_names_read(opened: Callable[[str, bytes], AppTest]) -> None:
    page = opened("votes.csv", "task,worker,label\n1,ann,кошка\n1,bob,собака\n2,ann,кошка\n".encode("cp1251"))
    path = next(iter(page.session_state["mapping"]))
    assert uploads.decoded(path)["cp1251"] == ("кошка", "собака")
    labelled(page, "selectbox", "Encoding").select("cp1251").run()
    assert mapping(page) == {"encoding": "cp1251"} and "**кошка**" in words(page)


def test_many_numbers_are_asked_about_and_read_as_the_user_says(opened: Callable[[str, bytes], AppTest]) -> None:
    page = opened(
        "scores.csv", b"task,worker,rating\n" + b"".join(b"t%d,w%d,%d\n" % (i, i % 3, 3 * i) for i in range(30))
    )
    assert "different numbers from 0 to 87" in page.error[0].value
    assert page.radio[0].value is None
    page.radio[0].set_value("classes").run()
    assert "30" in {metric.value for metric in page.metric}
    page.radio[0].set_value("ratings").run()
    assert [box.label for box in page.number_input][:2] == [
        "Lowest rating that can be given",
        "Highest rating that can be given",
    ]


def ask_a_question() -> None:
    from dataclasses import replace

    import streamlit as st

    from crowdcore.core.errors import Remedy
    from crowdcore.data import Finding, examine
    from dashboard.components.findings import findings
    from dashboard.components.reading_form import Known

    finding = Finding("doubt", "question", "Is it so", remedies=(Remedy("task", ["task", "doc"]), Remedy("turn", True)))
    report = replace(examine(st.session_state["path"]).report, findings=(finding,))
    mapping = st.session_state.setdefault("mapping", {"": {}})[""]
    accepted = st.session_state.setdefault("accepted", set())
    st.text(str(findings(report, Known("x"), mapping, accepted)))


def test_a_question_is_answered_by_a_setting_or_by_consent(tmp_path: Path) -> None:
    page = AppTest.from_function(ask_a_question)
    page.session_state["path"] = tmp_path / "votes.csv"
    (tmp_path / "votes.csv").write_bytes(CSV)
    page.run()
    assert [plain(b.label) for b in page.button][1:] == ["Rows are workers: turn the table", "It is right as it is"]
    assert page.text[0].value == "False"
    page.button[0].click().run()
    assert mapping(page) == {"task": ("task", "doc")} and page.text[0].value == "False"
    page.button[2].click().run()
    assert page.text[0].value == "True"
    page.button[2].click().run()
    assert page.text[0].value == "False"


@pytest.mark.parametrize(
    ("choice", "label"),
    [
        ({"task": ["doc_id", "sent_id"]}, "Read the task from “doc_id” + “sent_id”"),
        ({"task": "q", "worker": "p"}, "Read the task from “q”, read the worker from “p”"),
        ({"header": False}, "The first row is data"),
        ({"missing": ["NA", "."]}, "Treat “NA”, “.” as missing"),
        ({"missing": []}, "Treat no cell as missing"),
        ({"repeats": "last"}, "Keep the last"),
        ({"kind": "ratings"}, "They are ratings"),
        ({"delimiter": ";"}, "Delimiter: Semicolon"),
        ({"skip": 2}, "Skip 2 lines above the column names"),
        ({"merge_classes": "variants"}, "Merge them"),
        ({"merge_classes": {"yes": ["1", "ja"], "no": ["0"]}}, "Read “1”, “ja” as “yes”, “0” as “no”"),
        ({"low": 1}, "low: “1”"),
    ],
)
def test_a_choice_as_a_button(choice: dict[str, Any], label: str) -> None:
    assert button_of(choice) == label
