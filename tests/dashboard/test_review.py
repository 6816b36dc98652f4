"""Marking labels on Review, and taking the marks for the truth on every page."""

from __future__ import annotations

import pytest

from crowdcore import load_dataset
from crowdcore.marks import add_mark, current_marks
from tests.dashboard.app_page import button, open_page, table, words


def test_labels_behind_a_cell_are_marked_commented_and_unmarked() -> None:
    demo = load_dataset("demo")
    test = open_page("review", dataset="demo", true="one", given="seven", names="shown")
    assert not test.exception
    assert not test.error
    listed = table(test, "label")
    assert set(listed["label"]) == {"seven"}
    assert set(listed["gold"]) == {"one"}
    task, worker = listed["task"].iloc[0], listed["worker"].iloc[0]
    next(box for box in test.text_input if box.label == "Comment").input("no foot")
    button(test, "one").click().run()
    mark = current_marks(demo)[task]
    assert (mark.says, mark.truth, mark.worker, mark.comment) == ("wrong", "one", worker, "no foot")
    assert (table(test, "label")["mark"] == "wrong").any()
    assert test.query_params["task"] != task
    button(test, "Right").click().run()
    button(test, "Unclear").click().run()
    assert sorted(m.says for m in current_marks(demo).values()) == ["right", "unclear", "wrong"]
    button(test, "Undo").click().run()
    assert len(current_marks(demo)) == 2
    button(test, "Undo").click().run()
    button(test, "Undo").click().run()
    button(test, "Undo").click().run()  # nothing is left to undo
    assert not test.exception
    assert current_marks(demo) == {}


def test_marks_become_the_reference_of_every_page() -> None:
    demo = load_dataset("demo")
    for number in range(30):
        add_mark(demo, str(demo.task_ids[number]), demo.classes[demo.gold[number]])
    test = open_page("review", dataset="demo", by="task", names="hidden")
    assert "Marked tasks: 30" in words(test)
    assert not any(worker in table(test, "most given").to_csv() for worker in demo.worker_ids)
    button(test, "Use as reference").click().run()
    assert next(box for box in test.sidebar.selectbox if box.label == "Reference").value == "reviewed"


@pytest.mark.parametrize("page", ["overview", "annotators"])
def test_pages_draw_with_reviewed_gold(page: str) -> None:
    demo = load_dataset("demo")
    for number in range(30):
        add_mark(demo, str(demo.task_ids[number]), demo.classes[demo.gold[number]])
    test = open_page(page, dataset="demo", reference="reviewed")
    assert not test.exception
    assert not test.error
    assert not test.warning or "no reference" not in words(test)


def test_a_gone_class_in_the_address_and_no_labels_are_told() -> None:
    test = open_page("review", dataset="demo", true="nine", given="one", show="marked")
    assert "No label matches" in words(test)
    assert not test.exception


def test_the_glossary_lists_what_tooltips_say() -> None:
    test = open_page("glossary", dataset="demo")
    assert not test.exception
    assert "κ low" in table(test, "meaning")["column"].tolist()


def test_marks_are_taken_from_a_file_and_its_faults_are_listed() -> None:
    test = open_page("review", dataset="demo", names="shown")
    content = b"task,right class,comment\ndigit-0001,seven,a bar\nno-task,one,\n"
    test.get("file_uploader")[0].upload("marks.csv", content, "text/csv").run()
    assert not test.exception
    assert table(test, "fault")["column"].tolist() == ["task"]
    button(test, "Take 1 mark").click().run()
    assert current_marks(load_dataset("demo"))["digit-0001"].comment == "a bar"
