"""Mechanical Turk's batch results."""

from __future__ import annotations

import json

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine, read_dataset
from testkit import export_tables as exports

SENTIMENT = exports.MTURK_HEADER.index("Answer.sentiment")


@pytest.fixture
def write(tmp_path):
    """Writes answers under some columns ``Answer.*``."""

    def write(answers=exports.MTURK_ANSWERS, columns=("Answer.sentiment",), inputs=("Input.text",)):
        header = [*exports.MTURK_HEADER[: SENTIMENT - 1], *inputs, *columns, "Approve", "Reject"]
        path = tmp_path / "Batch_1_batch_results.csv"
        path.write_text(exports.mturk(answers, header), encoding="utf-8", newline="")
        return path

    return write


def test_roles_times_and_texts(write):
    found = examine(write())
    assert found.report.roles == {
        "task": "HITId", "worker": "WorkerId", "label": "Answer.sentiment", "text": "Input.text"
    }  # fmt: skip
    data = found.dataset(accept=True)
    assert data.extra["timestamp"].tolist() == ["2011-06-16T19:59:33Z"] * 5
    assert data.extra["seconds"].tolist() == [30, 31, 33, 34, 35]
    assert data.extra["AssignmentStatus"].tolist()[-1] == "Rejected"
    assert data.media.columns["text"].tolist() == ["great film", "dull plot"]


def test_the_columns_of_a_review_have_cells_only_after_it(write, tmp_path):
    assert "unfilled-columns" in {f.code for f in examine(write()).report.findings}
    path = tmp_path / "reviewed.csv"
    path.write_text(exports.mturk(reviewed=True), encoding="utf-8", newline="")
    reviewed = examine(path)
    assert reviewed.report.columns[-2:] == ("Approve", "Reject")
    assert "unfilled-columns" not in {f.code for f in reviewed.report.findings}
    own, other = (found.dataset(accept=True).label.tolist() for found in (reviewed, examine(write())))
    assert own == other
    lines = exports.mturk().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], lines[3].rstrip() + ",x,\r\n", *lines[4:]]), encoding="utf-8", newline="")
    with pytest.raises(
        DataError, match=r"This row has \d+ cells, but there are \d+ columns \(reviewed.csv, row 1 below the header\)"
    ):
        examine(path)


def test_rejected_assignments_are_told_and_can_be_left_out(write):
    found = examine(write())
    (told,) = [f for f in found.report.findings if f.level == "warning"]
    assert told.sentence == "1 annotation kept although AssignmentStatus says Rejected"
    assert (told.code, told.rows) == ("flagged", (6,))
    report = examine(write(), flagged="drop").report
    assert (report.n_annotations, report.n_rows) == (4, 7)
    assert {f.code: (f.left_out, f.rows) for f in report.changes} == {
        "flagged": (1, (6,)), "several-choices": (1, (3,)), "no-choice": (1, (7,)), "workers-without-labels": (0, ())
    }  # fmt: skip


def test_several_questions_are_asked_for(write):
    both = [("1", w, {"Answer.tone": t, "Answer.topic": "film"}, "Approved") for w, t in (("A", "calm"), ("B", "loud"))]
    path = write(both, ("Answer.tone", "Answer.topic"))
    with pytest.raises(MappingError, match=r"There are several questions .*'Answer.tone', 'Answer.topic'.*label=") as e:
        examine(path)
    assert e.value.roles == {"task": "HITId", "worker": "WorkerId", "text": "Input.text"}
    report = examine(path, label="Answer.tone").report
    assert report.classes == ("calm", "loud")
    assert "'Answer.tone' is read; the answers to 'Answer.topic' are not" in report.text()
    with pytest.raises(MappingError, match="There is no question 'tone'"):
        examine(path, label="tone")


def test_a_form_of_crowd_html_elements(write):
    given = [
        {"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}, "box": {"boxes": []}},
        {"animal": {"label": "dog"}, "sure": {"yes": False, "no": True}},
        {"animal": {"labels": ["cat", "dog"]}, "sure": {"yes": False, "no": False}},
    ]
    rows = [("1", f"A{n}", {"Answer.taskAnswers": json.dumps([form])}, "Approved") for n, form in enumerate(given)]
    path = write([*rows, ("2", "A9", {"Answer.taskAnswers": "[{"}, "Approved")], ("Answer.taskAnswers",))
    with pytest.raises(MappingError, match="'animal', 'sure'"):
        examine(path)
    report = examine(path, label="animal").report
    assert report.roles["label"] == "animal"
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (3,), "no-choice": (4,)}
    assert read_dataset(path, label="sure", accept=True).classes == ("no", "yes")


def test_gold_and_image_among_the_inputs(write):
    inputs = {"Input.image_url": "https://example.org/a.png", "Input.gold": "neg"}
    rows = [("1", w, {**inputs, "Answer.sentiment": label}, "Approved") for w, label in (("A", "pos"), ("B", "neg"))]
    found = examine(write(rows, inputs=tuple(inputs)))
    assert (found.report.roles["image"], found.report.roles["gold"]) == ("Input.image_url", "Input.gold")
    assert found.dataset().gold.tolist() == [0]
    assert found.dataset().media.columns["image"].tolist() == ["https://example.org/a.png"]


def test_a_batch_without_answers(write):
    with pytest.raises(DataError, match=r"^There is no answer that is a choice or a text .*Give the batch's results"):
        examine(write(columns=()))


def test_a_batch_without_its_status_is_known_by_its_answers(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_text("HITId,WorkerId,Answer.output\n3A,W1,B\n3A,W2,C\n3B,W1,B\n", encoding="utf-8")
    found = examine(path)
    assert (found.report.format, found.report.n_annotations) == ("mturk", 3)


# Buttons with names of their own, as crowd-radio-group and crowd-checkbox answer them (Crowd HTML Elements).
PRESSED = [("cat",), ("dog",), ("cat", "dog"), ()]


def buttons(*names):
    return {name: {"on": name in names} for name in ("cat", "dog")}


def test_buttons_with_names_of_their_own(write):
    rows = [
        ("1", f"A{n}", {"Answer.taskAnswers": json.dumps([buttons(*names)])}, "Approved")
        for n, names in enumerate(PRESSED)
    ]
    path = write(rows, ("Answer.taskAnswers",))
    with pytest.raises(MappingError, match="'cat', 'dog', 'buttons'"):
        examine(path)
    report = examine(path, label="buttons").report
    assert report.classes == ("cat", "dog")
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (3,), "no-choice": (4,)}
    assert read_dataset(path, label="dog").label.tolist() == [0, 1, 1, 0]
    assert read_dataset(path, label="dog").classes == ("false", "true")


def test_buttons_spread_over_columns(write):
    """What ``<crowd-form answer-format="flatten-objects">`` gives, beside a classifier's ``Answer.animal.label``."""
    columns = ("Answer.cat.on", "Answer.dog.on", "Answer.animal.label", "Answer.note.text")
    rows = [
        (
            "1",
            f"A{n}",
            {f"Answer.{name}.on": str(name in names).lower() for name in ("cat", "dog")}
            | {"Answer.animal.label": "cow"},
            "Approved",
        )
        for n, names in enumerate(PRESSED)
    ]
    path = write(rows, columns)
    with pytest.raises(MappingError, match=r"'Answer.animal.label', 'Answer.note.text', 'cat', 'dog', 'buttons'"):
        examine(path)
    report = examine(path, label="buttons").report
    assert (report.classes, report.roles["label"]) == (("cat", "dog"), "buttons")
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (3,), "no-choice": (4,)}
    assert read_dataset(path, label="buttons", accept=True).label.tolist() == [0, 1]
    assert read_dataset(path, label="Answer.animal.label").classes == ("cow",)


def test_answers_that_differ_by_a_blank_are_merged_only_when_that_is_accepted(write):
    answers = [("1", "A1", "pos", "Approved"), ("1", "A2", "pos ", "Approved"), ("2", "A1", "neg", "Approved")]
    found = examine(write(answers))
    (finding,) = found.report.changes
    assert (finding.code, finding.rows, finding.examples) == ("merged-labels", (2,), ("pos ",))
    assert found.dataset(accept=True).classes == ("neg", "pos")
