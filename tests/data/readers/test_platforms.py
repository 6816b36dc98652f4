"""Exports of Toloka, Appen and Mechanical Turk."""

from __future__ import annotations

import json

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import MappingError, examine, read_dataset
from testkit import export_tables as exports

SENTIMENT = exports.MTURK_HEADER.index("Answer.sentiment")


@pytest.fixture
def write_batch(tmp_path):
    """Writes answers under some columns ``Answer.*``."""

    def write_batch(answers=exports.MTURK_ANSWERS, columns=("Answer.sentiment",), inputs=("Input.text",)):
        header = [*exports.MTURK_HEADER[: SENTIMENT - 1], *inputs, *columns, "Approve", "Reject"]
        path = tmp_path / "Batch_1_batch_results.csv"
        path.write_text(exports.mturk(answers, header), encoding="utf-8", newline="")
        return path

    return write_batch


def test_roles_times_and_texts(write_batch):
    found = examine(write_batch())
    assert found.report.roles == {
        "task": "HITId", "worker": "WorkerId", "label": "Answer.sentiment", "text": "Input.text"
    }  # fmt: skip
    data = found.dataset(accept=True)
    assert data.extra["timestamp"].tolist() == ["2011-06-16T19:59:33Z"] * 5
    assert data.extra["seconds"].tolist() == [30, 31, 33, 34, 35]
    assert data.extra["AssignmentStatus"].tolist()[-1] == "Rejected"
    assert data.media.columns["text"].tolist() == ["great film", "dull plot"]


def test_the_columns_of_a_review_have_cells_only_after_it(write_batch, tmp_path):
    assert "unfilled-columns" in {f.code for f in examine(write_batch()).report.findings}
    path = tmp_path / "reviewed.csv"
    path.write_text(exports.mturk(reviewed=True), encoding="utf-8", newline="")
    reviewed = examine(path)
    assert reviewed.report.columns[-2:] == ("Approve", "Reject")
    assert "unfilled-columns" not in {f.code for f in reviewed.report.findings}
    own, other = (found.dataset(accept=True).label.tolist() for found in (reviewed, examine(write_batch())))
    assert own == other
    lines = exports.mturk().splitlines(keepends=True)
    path.write_text("".join([*lines[:3], lines[3].rstrip() + ",x,\r\n", *lines[4:]]), encoding="utf-8", newline="")
    with pytest.raises(DataError, match=r"\d+ cells.* \d+ columns \(reviewed.csv, row 1 "):
        examine(path)


def test_rejected_assignments_are_told_and_can_be_left_out(write_batch):
    found = examine(write_batch())
    (told,) = [f for f in found.report.findings if f.level == "warning"]
    assert (told.code, told.count, told.rows) == ("flagged", 1, (6,))
    report = examine(write_batch(), flagged="drop").report
    assert (report.n_annotations, report.n_rows) == (4, 7)
    assert {f.code: (f.left_out, f.rows) for f in report.changes} == {
        "flagged": (1, (6,)), "several-choices": (1, (3,)), "no-choice": (1, (7,)), "workers-without-labels": (0, ())
    }  # fmt: skip


def test_several_questions_are_asked_for(write_batch):
    both = [("1", w, {"Answer.tone": t, "Answer.topic": "film"}, "Approved") for w, t in (("A", "calm"), ("B", "loud"))]
    path = write_batch(both, ("Answer.tone", "Answer.topic"))
    with pytest.raises(MappingError, match=r"'Answer.tone'.*'Answer.topic'.*label=") as e:
        examine(path)
    assert e.value.roles == {"task": "HITId", "worker": "WorkerId", "text": "Input.text"}
    report = examine(path, label="Answer.tone").report
    assert report.classes == ("calm", "loud")
    assert [f.code for f in report.findings if "'Answer.topic'" in f.sentence] == ["other-questions"]
    with pytest.raises(MappingError, match="'tone'"):
        examine(path, label="tone")


def test_a_form_of_crowd_html_elements(write_batch):
    given = [
        {"animal": {"label": "cat"}, "sure": {"yes": True, "no": False}, "box": {"boxes": []}},
        {"animal": {"label": "dog"}, "sure": {"yes": False, "no": True}},
        {"animal": {"labels": ["cat", "dog"]}, "sure": {"yes": False, "no": False}},
    ]
    rows = [("1", f"A{n}", {"Answer.taskAnswers": json.dumps([form])}, "Approved") for n, form in enumerate(given)]
    path = write_batch([*rows, ("2", "A9", {"Answer.taskAnswers": "[{"}, "Approved")], ("Answer.taskAnswers",))
    with pytest.raises(MappingError, match="'animal', 'sure'"):
        examine(path)
    report = examine(path, label="animal").report
    assert report.roles["label"] == "animal"
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (3,), "no-choice": (4,)}
    assert read_dataset(path, label="sure", accept=True).classes == ("no", "yes")


def test_gold_and_image_among_the_inputs(write_batch):
    inputs = {"Input.image_url": "https://example.org/a.png", "Input.gold": "neg"}
    rows = [("1", w, {**inputs, "Answer.sentiment": label}, "Approved") for w, label in (("A", "pos"), ("B", "neg"))]
    found = examine(write_batch(rows, inputs=tuple(inputs)))
    assert (found.report.roles["image"], found.report.roles["gold"]) == ("Input.image_url", "Input.gold")
    assert found.dataset().gold.tolist() == [0]
    assert found.dataset().media.columns["image"].tolist() == ["https://example.org/a.png"]


def test_a_batch_without_answers(write_batch):
    with pytest.raises(DataError, match="results"):
        examine(write_batch(columns=()))


def test_a_batch_without_its_status_is_known_by_its_answers(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_text("HITId,WorkerId,Answer.output\n3A,W1,B\n3A,W2,C\n3B,W1,B\n", encoding="utf-8")
    found = examine(path)
    assert (found.report.format, found.report.n_annotations) == ("mturk", 3)


# Buttons with names of their own, as crowd-radio-group and crowd-checkbox answer them (Crowd HTML Elements).
PRESSED = [("cat",), ("dog",), ("cat", "dog"), ()]


def buttons(*names):
    return {name: {"on": name in names} for name in ("cat", "dog")}


def test_buttons_with_names_of_their_own(write_batch):
    rows = [
        ("1", f"A{n}", {"Answer.taskAnswers": json.dumps([buttons(*names)])}, "Approved")
        for n, names in enumerate(PRESSED)
    ]
    path = write_batch(rows, ("Answer.taskAnswers",))
    with pytest.raises(MappingError, match="'cat', 'dog', 'buttons'"):
        examine(path)
    report = examine(path, label="buttons").report
    assert report.classes == ("cat", "dog")
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (3,), "no-choice": (4,)}
    assert read_dataset(path, label="dog").label.tolist() == [0, 1, 1, 0]
    assert read_dataset(path, label="dog").classes == ("false", "true")


def test_buttons_spread_over_columns(write_batch):
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
    path = write_batch(rows, columns)
    with pytest.raises(MappingError, match=r"'Answer.animal.label', 'Answer.note.text', 'cat', 'dog', 'buttons'"):
        examine(path)
    report = examine(path, label="buttons").report
    assert (report.classes, report.roles["label"]) == (("cat", "dog"), "buttons")
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (3,), "no-choice": (4,)}
    assert read_dataset(path, label="buttons", accept=True).label.tolist() == [0, 1]
    assert read_dataset(path, label="Answer.animal.label").classes == ("cow",)


def test_answers_that_differ_by_a_blank_are_merged_only_when_that_is_accepted(write_batch):
    answers = [("1", "A1", "pos", "Approved"), ("1", "A2", "pos ", "Approved"), ("2", "A1", "neg", "Approved")]
    found = examine(write_batch(answers))
    (finding,) = found.report.changes
    assert (finding.code, finding.rows, finding.examples) == ("merged-labels", (2,), ("pos ",))
    assert found.dataset(accept=True).classes == ("neg", "pos")


@pytest.fixture
def write_toloka(write):
    return lambda *replacements: write(exports.replaced(exports.TOLOKA, replacements), "assignments.tsv")


def test_gold_status_and_times(write_toloka):
    data = examine(write_toloka()).dataset(accept=True)
    assert data.gold.tolist() == [1, -1]
    assert data.extra["timestamp"].tolist() == ["2023-01-05T11:44:27.393000"] * 4
    assert data.extra["ASSIGNMENT:status"].tolist() == ["APPROVED"] * 3 + ["REJECTED"]
    report = examine(write_toloka(), flagged="drop").report
    assert {f.code: f.rows for f in report.changes} == {
        "flagged": (4,), "no-choice": (5,), "workers-without-labels": ()
    }  # fmt: skip


def test_the_file_of_the_web_page_has_only_the_start(write_toloka):
    """It lacks ``submitted`` and what follows; only the interface for programs gives them."""
    data = examine(write_toloka(("ASSIGNMENT:submitted", "ACCEPT:comment"))).dataset(accept=True)
    assert data.extra["timestamp"].tolist() == ["2023-01-05T11:44:01.123000"] * 4


def test_the_only_input_is_the_task_where_no_task_is_named(write_toloka):
    assert examine(write_toloka(("ASSIGNMENT:task_id", "ASSIGNMENT:other"))).report.roles["task"] == "INPUT:text"
    path = write_toloka(("ASSIGNMENT:task_id", "INPUT:more"))
    with pytest.raises(MappingError, match=r"'INPUT:text'.*'INPUT:more'"):
        examine(path)
    assert examine(path, task="INPUT:text").report.n_tasks == 2


def test_several_outputs_are_asked_for(write_toloka):
    path = write_toloka(("HINT:text", "OUTPUT:sure"))
    with pytest.raises(MappingError, match="'OUTPUT:result', 'OUTPUT:sure'"):
        examine(path)
    assert examine(path, label="OUTPUT:result").report.roles["gold"] == "GOLDEN:result"


def test_lists_of_choices(write_toloka):
    report = examine(
        write_toloka(("\tpos\tpos", '\t"[""pos"", ""neg""]"\tpos'), ("\tneg\tpos", '\t"[""neg""]"\tpos'))
    ).report
    assert {f.code: f.rows for f in report.changes if f.left_out} == {"several-choices": (1,), "no-choice": (5,)}
    assert report.classes == ("neg", "pos")


@pytest.fixture
def write_appen(write):
    return lambda *replacements: write(exports.replaced(exports.APPEN, replacements), "f123.csv")


def test_gold_of_test_questions_trust_and_times(write_appen):
    found = examine(write_appen())
    assert found.report.roles["gold"] == "sentiment_gold"
    data = found.dataset(accept=True)
    assert data.gold.tolist() == [1, -1]
    assert data.extra["_trust"].tolist() == [0.9167] * 4
    assert data.extra["timestamp"].tolist() == ["2014-06-30T14:28:16"] * 4
    (told,) = [f for f in found.report.findings if f.level == "warning"]
    assert (told.code, told.rows) == ("flagged", (2,))
    assert examine(write_appen(), flagged="drop").report.n_annotations == 3


def test_several_accepted_answers_are_no_gold(write_appen):
    report = examine(write_appen((",,,pos,,great", ',,,"pos\nneg",,great'))).report
    (finding,) = [f for f in report.changes if f.code == "several-gold"]
    assert (finding.count, finding.column, report.n_gold) == (3, "sentiment_gold", 0)


def test_fields_without_gold_are_asked_for(write_appen):
    path = write_appen(("sentiment_gold,", "orig_x,"))
    with pytest.raises(MappingError, match=r"'sentiment'.*'comment'"):
        examine(path)
    assert examine(path, label="sentiment").report.n_annotations == 4
    named = examine(write_appen(("sentiment_gold,", "orig_x,"), (",sentiment,", ",category,"))).report
    assert (named.roles["label"], named.n_gold) == ("category", 0)


def test_a_cut_report_is_known_by_its_gold(tmp_path):
    path = tmp_path / "cut.csv"
    path.write_text(
        "_unit_id,_worker_id,category,category_gold\n1,a,cat,dog\n1,b,dog,dog\n2,a,cat,\n", encoding="utf-8"
    )
    data = examine(path).dataset()
    assert data.gold.tolist() == [1, -1]


def test_the_aggregated_report_is_refused(tmp_path):
    path = tmp_path / "a123.csv"
    path.write_text("_unit_id,_golden,_unit_state,_trusted_judgments,sentiment\n1,FALSE,finalized,3,pos\n", "utf-8")
    with pytest.raises(DataError, match="aggregated"):
        examine(path)


def test_answers_of_appen_that_differ_by_a_blank_are_merged_only_when_that_is_accepted(tmp_path):
    path = tmp_path / "f124.csv"
    rows = "1,a,1.0,cat,cat\n1,b,1.0,cat ,cat \n2,a,1.0,dog,\n"
    path.write_text("_unit_id,_worker_id,_trust,kind,kind_gold\n" + rows, encoding="utf-8")
    report = examine(path).report
    assert {f.code: f.rows for f in report.changes} == {"merged-labels": (2,), "merged-golds": (2,)}
    assert examine(path).dataset(accept=True).classes == ("cat", "dog")


def test_a_report_made_from_an_older_report(tmp_path):
    """Its columns of the older one (``_trusted_judgments``, ``_unit_state``) make it no aggregated report."""
    path = tmp_path / "f125.csv"
    header = "_unit_id,_created_at,_golden,_canary,_tainted,_trust,_worker_id,kind,_trusted_judgments,_unit_state,text"
    line = "7{},8/24/2013 20:28:31,true,,false,0.9211,{},Yes,1,finalized,sunny\n"
    rows = "".join(line.format(unit, who) for unit in (1, 2) for who in "ab")
    path.write_text(f"{header}\n{rows}", encoding="utf-8")
    report = examine(path).report
    assert (report.format, report.roles["label"], report.n_annotations) == ("appen", "kind", 4)


def test_choices_that_a_script_wrote_as_a_list(tmp_path):
    """As in the tutorial of https://github.com/CrowdTruth/CrowdTruth-core."""
    path = tmp_path / "f126.csv"
    rows = '1,a,1,"[""Other""]"\n1,b,1,"[""Other"",""Artist""]"\n2,a,1,"[""Artist""]"\n2,b,1,[IS_A]\n'
    path.write_text("_unit_id,_worker_id,_trust,answer\n" + rows, encoding="utf-8")
    report = examine(path).report
    assert report.classes == ("Artist", "Other", "[IS_A]")
    assert {f.code: f.rows for f in report.changes} == {"several-choices": (2,)}
