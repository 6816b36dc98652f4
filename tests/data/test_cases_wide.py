"""Wide tables, counts and ranks, and where the names of columns are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from crowdcore.analysis import agreement
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, from_frame, read_dataset
from crowdcore.data.tables import delimited
from tests.data.reading.read_case import ANIMALS, CROWD, path_of, read_case, refusal, summary


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


FLEISS = 0.209931  # of Fleiss (1971), table 1


@pytest.mark.parametrize(
    ("case", "tasks", "places", "annotations", "classes"),
    [
        ("counts-per-class", 10, 14, 140, ("1", "2", "3", "4", "5")),
        ("counts-per-class-n", *CROWD[:3], ANIMALS),
        ("winner-one-hot", 40, 1, 40, ("model_a", "model_b", "tie")),
    ],
)
def test_counts_become_labels_of_places(case, tasks, places, annotations, classes):
    found = read_case(case)
    dataset = found.dataset()
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (tasks, places, annotations)
    assert (found.report.format, dataset.classes) == ("counts", classes)
    assert [f.level for f in found.report.findings if f.code == "no-workers"] == ["warning"]
    assert any("No worker is named" in note for note in dataset.notes)


def test_agreement_is_that_of_the_counts():
    assert round(agreement(read_case("counts-per-class").dataset()).fleiss.value, 6) == FLEISS
    assert summary(read_case("counts-per-class-n")) == CROWD


def test_shares_without_their_number_are_refused():
    error = refusal("percent-per-class")
    assert error.code == "shares"
    assert [(r.setting, r.value) for r in error.remedies] == [("workers", list(ANIMALS))]
    assert read_case("percent-per-class", workers=ANIMALS).report.n_workers == 3


def test_shares_with_their_number_are_counts():
    counts = np.array([[1, 2, 1], [2, 0, 2], [3, 0, 0], [0, 1, 2], [2, 2, 0]])
    frame = pd.DataFrame(counts / counts.sum(1, keepdims=True), columns=ANIMALS).round(3)
    frame.insert(0, "item", [f"t{i}" for i in range(5)])
    assert from_frame(frame.assign(n_annotators=counts.sum(1))).n_annotations == counts.sum()
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert caught.value.code == "shares"


def test_ranks_are_no_labels():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame([rng.permutation(4) + 1 for _ in range(12)], columns=["gpt", "llama", "qwen", "yi"])
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert caught.value.code == "ranks"
    assert from_frame(frame, workers=list(frame.columns)).n_workers == 4


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_workers_are_no_counts(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 60)
    answers = np.where(rng.random((60, 5)) < 0.7, truth[:, None], rng.integers(0, 4, (60, 5)))
    for low in (0, 1):
        for people in (["ann", "ben", "cem", "dee", "eve"], ["1", "2", "3", "4", "5"]):
            dataset = from_frame(pd.DataFrame(answers + low, columns=people))
            assert (dataset.n_workers, dataset.n_annotations) == (5, 300)
    binary = from_frame(pd.DataFrame((answers > 1).astype(int), columns=list("abcde")))
    assert binary.n_workers == 5


def test_a_count_that_is_none_is_named_with_its_row(write):
    lines = "".join(f"t{i},{i % 3},{5 - i % 3},0\n" for i in range(1100))
    path = write(f"task,n_a,n_b,n_c\n{lines}t-last,1.5,2,3\n")
    with pytest.raises(DataError) as caught:
        examine(path)
    assert (caught.value.code, caught.value.row, caught.value.column) == ("not-counts", 1101, "n_a")


def test_rows_of_task_label_and_count(write):
    path = write("task,label,count\nt1,cat,2\nt1,dog,1\nt2,cat,3\n")
    found = examine(path)
    assert summary(found)[:3] == (2, 3, 6)
    assert found.report.roles["count"] == "count"
    with pytest.raises(DataError) as caught:
        examine(write("task,label,count\nt1,cat,2\nt1,dog,\nt2,,3\n"))
    assert caught.value.code == "not-counts"


def test_counts_of_ten_thousand_images(data_folder):
    found = examine(data_folder / "cifar10h_counts" / "counts.parquet")
    assert (found.report.n_tasks, found.report.n_annotations, found.report.n_workers) == (10_000, 511_000, 63)


def test_numbers_that_rule_each_other_out_are_asked_about():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.5] * 3, 60)
    numbers = np.array([rng.multinomial(n, share) for n, share in zip(rng.integers(2, 7, 60), shares, strict=True)])
    frame = pd.DataFrame(numbers, columns=["negative", "neutral", "positive"])
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert [r.settings for r in caught.value.remedies][:2] == [("format",), ("workers",)]
    dataset = from_frame(frame, format="counts")
    assert (dataset.classes, dataset.n_annotations) == (tuple(frame), numbers.sum())
    assert from_frame(frame, workers=list(frame)).n_workers == 3


@pytest.mark.parametrize("seed", range(4))
def test_workers_who_guess_are_not_asked_about(seed):
    rng = np.random.default_rng(seed)
    for n_classes in (2, 5):
        assert from_frame(pd.DataFrame(rng.integers(0, n_classes, (40, 4)), columns=list("abcd"))).n_workers == 4


def test_a_map_of_nothing_is_refused(write):
    with pytest.raises(DataError) as caught:
        examine(write('{"id": {"id": null}}', "map.json"), format="counts")
    assert caught.value.code == "no-label"


@pytest.mark.parametrize(
    ("case", "crowd", "code", "remedy"),
    [
        ("no-header-long", CROWD, "no-header", ("header", True)),
        ("no-header-numbers", CROWD, "no-header", ("header", True)),
        ("no-header-wide", CROWD, "no-header", ("header", True)),
        ("pandas-columns-0-1-2", (30, 6, 103, 0.07455), "counted-columns", ("header", False)),
        ("title-rows", CROWD, "title-rows", ("skip", 0)),
    ],
)
def test_the_first_row_is_what_its_content_says(case, crowd, code, remedy):
    found = read_case(case)
    assert found.report.changes == ()
    assert summary(found) == crowd
    assert remedy in remedies(found, code)


@pytest.mark.parametrize("case", ["no-header-long", "no-header-numbers"])
def test_roles_by_content_can_be_named(case):
    found = read_case(case, task="1", worker="2", label="3")
    assert (found.report.format, summary(found)) == ("long", CROWD)
    turned = read_case(case, task="2", worker="1")
    assert (turned.report.n_tasks, turned.report.n_workers) == (4, 24)


def test_whole_numbers_under_names_nobody_knows_are_asked_about():
    error = refusal("long-of-numbers")
    assert error.code == "columns"
    assert {r.setting for r in error.remedies} == {("task", "worker", "label"), "header"}
    assert summary(read_case("long-of-numbers", task="q", worker="p", label="r")) == CROWD


def test_decimal_commas_are_points():
    found = read_case("decimal-comma", kind="ratings", low=1, high=5)
    ratings = found.dataset()
    assert (found.report.changes, ratings.n_annotations) == ((), 96)
    assert ratings.rating[:3].tolist() == [1.6, 3.7, 3.6]
    assert refusal("decimal-comma").code == "many-numbers"


def test_codes_of_several_classes_are_no_decimal_commas(write):
    text = "task;worker;label\n" + "".join(f"t{i};{w};{'1,3' if i % 2 else '1,2'}\n" for i in range(8) for w in "ab")
    assert read_dataset(write(text)).classes == ("1,2", "1,3")


@pytest.mark.parametrize(
    "text",
    [
        "task,worker,label\na,b,c\nb,c,a\n",
        "item;a;b\nx1;a;b\nx2;b;b\nx3;a;a\n",
        ",a,b,c\nx,a,b,c\ny,b,c,c\nz,c,c,c\n",
        "doc,1,2,3\nd1,cat,dog,cat\nd2,dog,dog,dog\nd3,cat,cat,cat\n",
        "unit,v1,v2\nq1,2,3\nq2,3,3\nq3,2,2\n",
    ],
)
def test_names_of_columns_stay_names(write, text):
    report = examine(write(text)).report
    assert report.header
    assert not {f.code for f in report.findings} & {"no-header", "title-rows", "counted-columns", "extra-headers"}


@pytest.mark.parametrize("n", [2, 7])
def test_numbers_above_words_are_names(write, n):
    header = ",".join(str(i + 101) for i in range(n))
    rows = "\n".join(",".join("ab"[(i * t) % 2] for i in range(n)) for t in range(12))
    assert read_dataset(write(f"{header}\n{rows}\n")).n_workers == n


@pytest.mark.parametrize("lines", [["Round 2"], ["Round 2", ""], ["Round 2", "by ann, ben", ""]])
def test_titles_of_one_cell(write, lines):
    rows = "".join(f"t{t};{w};{'xy'[(t + i) % 2]}\n" for t in range(6) for i, w in enumerate("abc"))
    path = write("\n".join([*lines, "task;worker;label", rows]))
    assert (read_dataset(path).n_annotations, read_dataset(path, skip=len(lines)).n_annotations) == (18, 18)


def test_a_sparse_first_row_is_no_title(write):
    rows = ["cat,,,", "dog,cat,,", "cat,cat,dog,", ",dog,dog,cat", "cat,dog,,cat"] * 3
    dataset = read_dataset(write("\n".join(rows) + "\n"))
    assert (dataset.n_tasks, dataset.n_annotations, dataset.classes) == (15, 3 * 12, ANIMALS[1:])


def test_the_first_row_below_a_title_is_row_1(write):
    text = path_of("title-rows").read_text().replace("photo01,ben,dog", "photo01,ben,")
    (change,) = examine(write(text)).report.changes
    assert (change.code, change.rows) == ("missing-label", (2,))


def test_merged_cells_are_filled_down():
    found = read_case("merged-cells")
    assert [f.code for f in found.report.changes] == ["merged-cells"]
    assert summary(found) == CROWD
    assert remedies(found, "merged-cells") == [("fill", ["task"]), ("fill", [])]
    filled = read_case("merged-cells", fill=["task"])
    assert (filled.report.changes, filled.dataset().fingerprint) == ((), found.dataset(accept=True).fingerprint)
    assert next(f for f in read_case("merged-cells", fill=[]).report.changes if f.code == "missing-task").count == 66
    with pytest.raises(SettingError):
        read_case("merged-cells", fill=["tsk"])


def test_merged_cells_reach_over_pieces(tmp_path, monkeypatch):
    rows = "".join(f"{f'task {i // 3}' if i % 3 == 0 else ''},w{i % 3},{'ab'[i % 2]}\n" for i in range(3000))
    path = tmp_path / "merged.csv"
    path.write_text("unit,worker,label\n" + rows)
    monkeypatch.setattr(delimited, "BLOCK", 1 << 10)
    dataset = read_dataset(path, fill=["unit"], task="unit")
    assert (dataset.n_tasks, dataset.n_annotations) == (1000, 3000)


def test_a_last_row_of_totals_is_asked_about():
    found = read_case("total-row")
    assert [(f.code, f.examples) for f in found.report.questions] == [("total-row", ("20", "21", "22"))]
    assert (summary(found), found.report.classes) == (CROWD, ANIMALS)
    assert read_case("total-row", totals=True).report.changes == ()
    kept = read_case("total-row", totals=False).report
    assert (kept.n_tasks, kept.n_annotations, kept.questions) == (25, 94, ())


@pytest.mark.parametrize("last", ["t9,lynx,lynx,lynx", "t9,5,cat,cat", "t9,,,"])
def test_a_last_row_that_is_a_task(write, last):
    path = write("task,ann,ben,cem\n" + "".join(f"t{i},cat,dog,cat\n" for i in range(8)) + last + "\n")
    assert examine(path).report.questions == ()


def test_a_second_header_in_another_order_is_refused(write):
    path = write("task,worker,label\nt1,ann,cat\nt2,ben,dog\nworker,task,label\nann,t3,cat\n")
    with pytest.raises(DataError) as caught:
        examine(path)
    assert (caught.value.code, caught.value.row) == ("header-in-another-order", 3)
