"""Wide tables and their kin: who is a worker, which way round a table stands, what stands beside what."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, from_frame
from tests.data.reading.read_case import CROWD, read_case, summary


def remedies(found, code):
    """The remedies of the findings of a code, as (setting, value)."""
    return [(r.setting, r.value) for f in found.report.findings if f.code == code for r in f.remedies]


@pytest.mark.parametrize(
    ("case", "form", "crowd"),
    [
        ("google-form", "turned", CROWD),
        ("qualtrics-three-headers", "turned", CROWD),
        ("raters-in-rows-respondent", "turned", (12, 3, 36, 0.756381)),
        ("annotator-label-pairs", "pairs", CROWD),
        ("slots", "wide", CROWD),
        ("int-and-float-columns", "wide", (24, 4, 91, 0.339867)),
        ("number-id-as-worker", "wide", (48, 3, 144, 0.064907)),
        ("pseudo-label", "wide", (30, 3, 90, -0.011364)),
        ("expert-and-amateurs", "wide", (40, 9, 173, -0.015833)),
        ("model-columns", "wide", (24, 5, 114, 0.429968)),
    ],
)
def test_the_crowd_is_found(case, form, crowd):
    found = read_case(case)
    assert (found.report.format, summary(found)) == (form, crowd)


@pytest.mark.parametrize("case", ["google-form", "qualtrics-three-headers", "raters-in-rows-respondent"])
def test_a_turned_table_can_be_turned_back(case):
    found = read_case(case)
    assert ("turn", False) in remedies(found, "turned")
    assert read_case(case, turn=False).report.n_tasks == found.report.n_workers
    assert read_case(case, turn=True).dataset().fingerprint == found.dataset().fingerprint


def test_an_orientation_that_cannot_be_seen_is_said():
    found = read_case("raters-in-rows-no-header")
    assert (found.report.n_tasks, found.report.n_workers) == (3, 12)
    assert set(remedies(found, "orientation")) == {("turn", True), ("turn", False)}
    turned = read_case("raters-in-rows-no-header", turn=True)
    assert (turned.report.n_tasks, turned.report.n_workers, turned.report.n_annotations) == (12, 3, 36)
    assert not remedies(read_case("raters-in-rows-no-header", turn=False), "orientation")


def test_places_are_no_workers():
    found = read_case("slots")
    assert [f.level for f in found.report.findings if f.code == "no-workers"] == ["warning"]
    assert any("No worker is named" in note for note in found.dataset().notes)
    (named,) = remedies(found, "no-workers")
    assert not remedies(read_case("slots", **dict([named])), "no-workers")


@pytest.mark.parametrize(
    ("case", "column", "n"),
    [
        ("pseudo-label", "pseudo_label", 3),
        ("expert-and-amateurs", "Expert", 9),
        ("model-columns", "model_prediction", 5),
    ],
)
def test_a_model_or_an_expert_among_people_is_asked_about(case, column, n):
    found = read_case(case)
    assert [f.code for f in found.report.changes] == ["columns-left-out"]
    offered = remedies(found, "columns-left-out")
    assert ("gold", column) in offered
    with_gold = read_case(case, gold=column)
    assert (with_gold.report.n_workers, with_gold.report.n_gold) == (n, with_gold.report.n_tasks)
    (workers,) = [value for setting, value in offered if setting == "workers" and value]
    assert read_case(case, workers=workers).report.n_workers == n + 1
    listed = next(f for f in found.report.findings if f.code == "worker-columns")
    assert len(listed.examples) == n


def test_ids_are_no_workers():
    assert read_case("number-id-as-worker").report.roles["worker"] == "3 columns"
    assert read_case("number-id-as-worker", format="wide").report.n_workers == 3
    assert read_case("pseudo-label").report.roles["task"] == "source_id"


def test_pairs_under_other_names():
    rows = [("d1", "w3", 1, "w1", 2), ("d2", "w1", 2, "w2", 2), ("d3", "w2", 1, "w3", 1), ("d4", "w1", 1, "w2", 1)] * 3
    frame = pd.DataFrame(rows, columns=["doc", "x_1", "y_1", "x_2", "y_2"])
    frame["doc"] = [f"d{i}" for i in range(len(frame))]
    dataset = from_frame(frame)
    assert (dataset.n_tasks, sorted(dataset.worker_ids), dataset.classes) == (12, ["w1", "w2", "w3"], ("1", "2"))


@pytest.mark.parametrize(
    "text",
    [
        "task,w1,w2,w3\nt1,a,b,a\nt2,b,b,a\nt3,a,a,a\n",
        "participant,x1,x2,x3\np1,a,b,a\np1,b,b,b\np2,a,a,b\n",
        "item,ann,ben,cem\nq1,yes,no,yes\nq2,no,no,yes\n",
        "name,ann,ben\nfoo,1,2\nbar,2,2\nbaz,1,1\n",
    ],
)
def test_tables_that_stand_upright(write, text):
    report = examine(write(text)).report
    assert (report.format, report.n_tasks) == ("wide", text.count("\n") - 1)
    assert not {f.code for f in report.findings} & {"turned", "orientation", "pairs", "no-workers"}


def test_answers_of_people_without_names(write):
    rows = "".join(f"2024/05/0{i} 10:00,{'yes' if i % 2 else 'no'},yes,no\n" for i in range(1, 7))
    path = write("Timestamp,Is picture 1 a cat?,Is picture 2 a cat?,Is picture 3 a cat?\n" + rows)
    report = examine(path).report
    assert (report.format, report.n_tasks, report.n_workers) == ("turned", 3, 6)


@pytest.mark.parametrize(
    ("case", "questions", "n"),
    [("question-by-annotator", ("sentiment", "toxic"), 40), ("several-fields-wide", ("tone", "accuracy"), 72)],
)
def test_one_of_several_questions_is_read(case, questions, n):
    found = read_case(case)
    assert [f.code for f in found.report.questions] == ["several-questions"]
    assert [value for setting, value in remedies(found, "several-questions") if setting == "question"] == list(
        questions
    )
    for question in questions:
        chosen = read_case(case, question=question)
        assert chosen.report.questions == ()
        assert (chosen.report.n_annotations, chosen.report.n_left_out) == (n, n)
    assert (
        read_case(case, question=questions[0]).dataset(accept=True).fingerprint
        == found.dataset(accept=True).fingerprint
    )
    with pytest.raises(SettingError):
        read_case(case, question="another")


def test_questions_of_one_scale(write):
    cells = ["1,2,5,5", "3,3,1,1", "4,4,2,2", "5,5,3,4", "2,2,4,4", "1,1,2,2"]
    header = "doc,fluency_ann,fluency_ben,adequacy_ann,adequacy_ben\n"
    path = write(header + "".join(f"d{i},{row}\n" for i, row in enumerate(cells)))
    assert ("question", "adequacy") in remedies(examine(path), "several-questions")
    assert examine(path, question="adequacy").dataset().label.tolist() == [4, 4, 0, 0, 1, 1, 2, 3, 3, 3, 1, 1]


def test_items_of_a_hit_are_tasks():
    found = read_case("mturk-five-items")
    dataset = found.dataset()
    assert (dataset.n_tasks, dataset.n_annotations) == (40, 120)
    assert (
        len({tuple(pair) for pair in zip(dataset.annotations["task"], dataset.annotations["worker"], strict=True)})
        == 120
    )
    assert dataset.media.columns["text"].notna().all()
    assert dataset.file_row.max() == 24
    assert remedies(found, "items-of-a-hit") == [("label", None)]
    assert read_case("mturk-five-items", label="Answer.Choice3").report.n_annotations == 24


def test_a_worker_whose_name_is_a_word_for_numbers_is_one_by_content(tmp_path: Path) -> None:
    rows = [
        f"t{i},{'cat' if i % 2 else 'dog'},{'cat' if i % 3 else 'dog'},{'cat' if i % 5 else 'dog'}" for i in range(12)
    ]
    (tmp_path / "w.csv").write_text("\n".join(["item,lea,max,tom", *rows]))
    assert examine(tmp_path / "w.csv").dataset().worker_ids.tolist() == ["lea", "max", "tom"]


def test_three_columns_whose_names_say_nothing_are_asked_for_with_a_proposal_by_content(tmp_path: Path) -> None:
    rows = [(f"doc{i}", who, "yes" if (i + k) % 3 else "no") for i in range(12) for k, who in enumerate(("lea", "tom"))]
    (tmp_path / "w.csv").write_text("\n".join(["foo,who,says", *(",".join(row) for row in rows)]))
    with pytest.raises(DataError) as refused:
        examine(tmp_path / "w.csv")
    (choice,) = refused.value.remedies[0].choices
    assert choice == {"task": "foo", "worker": "who", "label": "says"}
    report = examine(tmp_path / "w.csv", **choice).report
    assert (report.n_tasks, report.n_workers, report.n_annotations, report.classes) == (12, 2, 24, ("no", "yes"))
