"""Variants of the kinds of files that people have: read as what they are, or asked about."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import shutil
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from tests.data.test_cases_containers import workbook

CLASSES = ("bird", "cat", "dog")
WORKERS = ("ann", "ben", "cem", "dee")


def crowd() -> list[tuple[str, str, str]]:
    """24 tasks, four workers who are right in seven of ten cases, and some gaps."""
    rng, rows = random.Random(1), []
    for task in (f"photo{i:02}" for i in range(1, 25)):
        truth = rng.choice(CLASSES)
        drawn = [(task, w, truth if rng.random() < 0.7 else rng.choice(CLASSES), rng.random()) for w in WORKERS]
        rows += [(task, w, label) for task, w, label, gap in drawn if gap > 0.06]
    return rows


ROWS = crowd()
TASKS = list(dict.fromkeys(task for task, _, _ in ROWS))
GIVEN = {(task, worker): label for task, worker, label in ROWS}
BY_TASK = {task: [(w, label) for t, w, label in ROWS if t == task] for task in TASKS}
BY_WORKER = {worker: [(t, label) for t, w, label in ROWS if w == worker] for worker in WORKERS}
NUMBERS = [(TASKS.index(t), WORKERS.index(w), CLASSES.index(label)) for t, w, label in ROWS]
WIDE = [[GIVEN.get((task, worker), "") for worker in WORKERS] for task in TASKS]
NAMED = [[task, *row] for task, row in zip(TASKS, WIDE, strict=True)]
GOLD = {task: max(CLASSES, key=[label for _, label in BY_TASK[task]].count) for task in TASKS}


def table(rows: Iterable[Sequence[Any]], *names: str, delimiter: str = ",") -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([*([names] if names else []), *rows])
    return out.getvalue()


def written(folder: Path, name: str, content: Any) -> Path:
    """A file; a folder, or a ``.zip``, of those of a dictionary; JSON of anything else that is no text."""
    path = folder / name
    if isinstance(content, dict) and path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for inner, text in content.items():
                archive.writestr(inner, text)
    elif isinstance(content, dict) and not path.suffix:
        for inner, text in content.items():
            (path / inner).parent.mkdir(parents=True, exist_ok=True)
            (path / inner).write_text(text, "utf-8")
    elif isinstance(content, str):
        path.write_text(content, "utf-8")
    else:
        lines = [json.dumps(record) for record in content] if path.suffix == ".jsonl" else [json.dumps(content)]
        path.write_text("\n".join(lines) + "\n")
    return path


def forms(*before: Sequence[str]) -> list[list[str]]:
    """A row for each worker: some cells, then the labels of all tasks."""
    return [[*cells, *labels] for cells, labels in zip(before, zip(*WIDE, strict=True), strict=True)]


ANIMALS = [f"Which animal is in {task}?" for task in TASKS]
PAIRS = [(task, [w for w, _ in given], [label for _, label in given]) for task, given in BY_TASK.items()]
MARKS = [(t, w, *(int(label == c) for c in CLASSES)) for t, w, label in ROWS]
FOUR = [  # of a row of four items each
    [worker, *(cell for task in TASKS[k : k + 4] for cell in (task, GIVEN.get((task, worker), "")))]
    for k in range(0, 24, 4)
    for worker in WORKERS
]
SAME_CROWD: dict[str, Any] = {
    "label-under-any-name.csv": table(ROWS, "item_id", "user_id", "sentiment"),
    "labels-in-the-plural.csv": table(ROWS, "image", "worker", "labels"),
    "text-is-the-task.csv": table(ROWS, "text", "annotator", "label"),
    "task-and-label-under-any-name.csv": table([(*r, "en") for r in ROWS], "uid", "annotator", "y", "lang"),
    "numbered-rows.csv": table([(i, *r) for i, r in enumerate(ROWS)], "id", "tweet", "annotator", "sentiment"),
    "task-with-other-columns.csv": table([("s1", *r) for r in ROWS], "session", "stimulus", "participant", "response"),
    "confidence-columns.csv": table(
        [(*row, 1, 2, 5, 3) for row in NAMED], "item", *WORKERS, *(f"{w}_conf" for w in WORKERS)
    ),
    "marks-of-a-worker.csv": table(MARKS, "image", "worker", *CLASSES),
    "flags-of-a-worker.csv": table(
        [(t, w, *map(bool, marks)) for t, w, *marks in MARKS], "image", "worker", *(f"is_{c}" for c in CLASSES)
    ),
    "items-beside-one-another.csv": table(FOUR, "worker", *(f"{n}{k}" for k in range(1, 5) for n in ("item", "label"))),
    "lists-as-python-prints-them.csv": table(
        [(t, str(w), str(v)) for t, w, v in PAIRS], "item", "worker_ids", "labels"
    ),
    "lists-as-json.csv": table(
        [(t, json.dumps(w), json.dumps(v)) for t, w, v in PAIRS], "item", "annotators", "labels"
    ),
    "joined-lists.csv": table([(t, "|".join(w), "|".join(v)) for t, w, v in PAIRS], "item", "annotators", "labels"),
    "records-in-cells.csv": table([(t, json.dumps(dict(v))) for t, v in BY_TASK.items()], "item", "annotations"),
    "form-in-french.csv": table(
        forms(*([f"2024/05/0{k} 3:11:05 PM GMT+2", f"{w}@uni.edu"] for k, w in enumerate(WORKERS, 1))),
        *("Horodateur", "Adresse e-mail", *ANIMALS),
    ),
    "form-with-nobody.csv": table(
        forms(*([str(k), "5/1/24 10:00", "5/1/24 10:10", "anonymous", ""] for k in range(1, 5))),
        *("ID", "Start time", "Completion time", "Email", "Name", *(f"Photo {k}" for k in range(1, 25))),
    ),
    "form-in-german.csv": table(
        forms(*([str(k), "2024-05-01", "en", "1234", w] for k, w in enumerate(WORKERS, 1))),
        *("Antwort ID", "Datum Abgeschickt", "Start-Sprache", "Zufallsstartwert", "Name", *ANIMALS),
        delimiter=";",
    ),
    "form-with-a-second-header.csv": table(
        [[*[""] * 3, *["Response"] * 24], *forms(*([str(11400 + k), "22", "2024-05-01 10:00"] for k in range(4)))],
        *("Respondent ID", "Collector ID", "Date Created", *ANIMALS),
    ),
    "annotation-as-a-record.jsonl": [
        {"id": t, "meta": {"source": "x"}, "annotation": {"worker": w, "label": label}} for t, w, label in ROWS
    ],
    "names-as-records.json": [
        {"item": {"id": t, "url": "x"}, "label": {"value": label}, "annotator": {"id": w, "name": w.title()}}
        for t, w, label in ROWS
    ],
    "records-of-workers.json": {w: [{"item": t, "label": v} for t, v in given] for w, given in BY_WORKER.items()},
    "records-of-tasks.json": {t: [{"annotator": w, "label": v} for w, v in given] for t, given in BY_TASK.items()},
    "folder-in-a.zip": {
        "README.md": "# hello",
        "__MACOSX/._x": "junk",
        **{f"annotations/{w}.csv": table(given, "image", "class") for w, given in BY_WORKER.items()},
    },
    "folder-of-each-worker.zip": {
        f"{w}/{k}.csv": table(given[k::2], "task", "label") for w, given in BY_WORKER.items() for k in (0, 1)
    },
    "items-beside": {
        "labels.csv": table(ROWS, "task", "worker", "label"),
        "items.csv": table([(t, f"text {t}") for t in TASKS], "task", "text"),
    },
    "people-beside": {
        "labels.csv": table(ROWS, "task", "worker", "label"),
        "workers.csv": table([(w, 30) for w in WORKERS], "worker", "age"),
    },
    "headerless-with-truth": {
        "labels.txt": table(ROWS, delimiter="\t"),
        "evaluation.txt": table(GOLD.items(), delimiter="\t"),
    },
    "headerless-with-gold.csv": table([(*row, GOLD[row[0]]) for row in ROWS]),
    "footer.csv": table([*NAMED, [""] * 5, ["kappa", ".41", "", "", ""]], "item", *WORKERS),
    "letters-of-workers.csv": table(
        [
            (t, *(cell for pair in zip(v, w, strict=True) for cell in pair), *[""] * (8 - 2 * len(v)))
            for t, w, v in PAIRS
        ],
        *("item", *(f"{name} {letter}" for letter in "ABCD" for name in ("rating", "by"))),
    ),
    "people-in-a-document.json": {
        "annotators": [
            {"name": w, "annotations": [{"item": t, "label": v} for t, v in given]} for w, given in BY_WORKER.items()
        ]
    },
    "trials.csv": table(
        [(w, TASKS.index(t), v, 300 + 7 * k) for k, (t, w, v) in enumerate(ROWS)],
        "participant",
        "trial",
        "choice",
        "rt",
    ),
    "carets.txt": table(ROWS, "task", "worker", "label", delimiter="^"),
    "start-of-heading.txt": table(NAMED, "item", *WORKERS, delimiter="\x01"),
    "group-above-the-names.csv": table([["item", *WORKERS], *NAMED], "", "Annotators", "", "", ""),
    "units-below-the-names.csv": table([["(id)", "(person)", "(class)"], *ROWS], "item", "worker", "label"),
    "form-without-a-name.csv": table(
        forms(*([f"2024/05/0{k} 3:11:05 PM"] for k in range(1, 5))), "Timestamp", *ANIMALS
    ),
    "form-with-your-name.csv": table(
        forms(*([f"2024/05/0{k} 3:11:05 PM", w] for k, w in enumerate(WORKERS, 1))), "Timestamp", "Your name", *ANIMALS
    ),
    "form-of-a-quiz.csv": table(
        [[f"{k}@x.org", *(c for cell in row for c in (cell, "1"))] for k, (row,) in enumerate(zip(forms(*[[]] * 4)))],
        *("Email", *(name for q in ANIMALS for name in (q, f"Points - {q}"))),
    ),
    "page-of-an-interface.json": {
        "count": 89,
        "next": None,
        "results": [{"id": k, "task": t, "worker": w, "label": v} for k, (t, w, v) in enumerate(ROWS)],
    },
    "below-one-name.json": {
        "labels": {f"-N{k}": {"item": t, "user": w, "label": v} for k, (t, w, v) in enumerate(ROWS)}
    },
    "records-by-task-and-worker.json": {
        t: {w: {"label": v, "secs": 3} for w, v in given} for t, given in BY_TASK.items()
    },
    "lists-by-task-and-worker.json": {t: {w: [v] for w, v in given} for t, given in BY_TASK.items()},
    "numbers-of-mongo.jsonl": [
        {"_id": {"$oid": f"a{k}"}, "item": t, "annotator": {"$oid": w}, "label": v} for k, (t, w, v) in enumerate(ROWS)
    ],
    "workers-by-uuid.csv": table([(t, w, "en", v) for t, w, v in ROWS], "sentence_id", "user_uuid", "lang", "label"),
    "packed-one-by-one.zip": {f"{w}.csv.gz": gzip.compress(table(g, "i", "l").encode()) for w, g in BY_WORKER.items()},
    # what must stay as it is
    "boxes-beside-workers.csv": table(
        [(t, '[{"x": 1, "label": "box"}, {"x": 3, "label": "ball"}]', *row) for t, *row in NAMED],
        *("item", "boxes", *WORKERS),
    ),
    "topics-beside-workers.csv": table(
        [(t, "a; b", "c; d", *row) for t, *row in NAMED], "item", "topics", "keywords", *WORKERS
    ),
    "two-languages.csv": table(
        [(t, "a cat, a dog", "un chat, un chien", w, v) for t, w, v in ROWS],
        "id",
        "source",
        "translation",
        "rater",
        "rating",
    ),
}


@pytest.mark.parametrize("name", SAME_CROWD)
def test_the_crowd_is_read(name: str, tmp_path: Path) -> None:
    found = examine(written(tmp_path, name, SAME_CROWD[name]))
    dataset = found.dataset(accept=True)
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (24, 4, len(ROWS))
    assert {*dataset.classes} == {*CLASSES}
    assert found.report.n_rows == dataset.n_annotations + found.report.n_left_out
    questions = {question.code for question in found.report.questions}
    assert questions == ({"total-row"} if name == "footer.csv" else set())
    assert found.report.n_gold == (24 if name.startswith("headerless") else 0)


@pytest.mark.parametrize("first", ["", f"{len(ROWS)} 4 24 3\n"])
def test_numbers_without_names_below_their_sizes(first: str, tmp_path: Path) -> None:
    dataset = examine(written(tmp_path, "data.txt", first + table(NUMBERS, delimiter=" "))).dataset()
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (24, 4, len(ROWS))


def test_numbers_without_names_beside_a_time_or_the_truth(tmp_path: Path) -> None:
    timed = [(*row, 1_700_000_000 + k) for k, row in enumerate(NUMBERS)]
    truth = [(TASKS.index(task), CLASSES.index(label)) for task, label in GOLD.items()]
    for content in (table(timed), {"responses.csv": table(NUMBERS), "ground_truth.csv": table(truth)}):
        name = "timed.csv" if isinstance(content, str) else "folder"
        dataset = examine(written(tmp_path, name, content)).dataset()
        assert (dataset.n_tasks, dataset.n_workers, dataset.classes) == (24, 4, ("0", "1", "2"))


ROWS_OF_COUNTS = [(t, c, v.count(c)) for t, _, v in PAIRS for c in CLASSES if c in v]
SHARES = [(t, f"{v.count('cat') / len(v):.1%}", f"{1 - v.count('cat') / len(v):.1%}", len(v)) for t, _, v in PAIRS]
MAPS = [(t, json.dumps({c: v.count(c) for c in CLASSES})) for t, _, v in PAIRS]
COUNTS: dict[str, Any] = {
    "rows-of-counts.csv": table(ROWS_OF_COUNTS, "image", "class", "n_annotators"),
    "how-many.csv": table(ROWS_OF_COUNTS, "image", "label", "how_many"),
    "with-a-total.csv": table(
        [(t, *(v.count(c) for c in CLASSES), len(v)) for t, _, v in PAIRS],
        "item",
        *(f"n_{c}" for c in CLASSES),
        "n_total",
    ),
    "maps-in-cells.csv": table(MAPS, "image", "votes"),
    "labels-in-a-cell.csv": table([(t, ",".join(v)) for t, _, v in PAIRS], "item", "labels"),
    "lists-by-task.json": {t: v for t, _, v in PAIRS},
}


@pytest.mark.parametrize("name", COUNTS)
def test_labels_without_workers(name: str, tmp_path: Path) -> None:
    found = examine(written(tmp_path, name, COUNTS[name]))
    dataset = found.dataset()
    assert (dataset.n_tasks, dataset.n_annotations, {*dataset.classes}) == (24, len(ROWS), {*CLASSES})
    assert "no-workers" in {finding.code for finding in found.report.findings}


@pytest.mark.parametrize("names", [("toxic", "insult", "threat"), ("fluency", "adequacy")])
def test_several_columns_that_may_be_the_label_are_asked(names: tuple[str, ...], tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [(t, w, *(rng.randint(0, 4) for _ in names)) for t, w, _ in ROWS]
    path = written(tmp_path, "answers.csv", table(rows, "comment_id", "annotator", *names))
    with pytest.raises(DataError) as refusal:
        examine(path)
    assert [remedy.value for remedy in refusal.value.remedies] == [*names]
    for name in names:
        assert examine(path, label=name).dataset().n_annotations == len(ROWS)


def test_a_row_with_several_marks_is_refused(tmp_path: Path) -> None:
    rows = [(t % 400, t // 400, *[int(t % 3 == k) for k in range(3)]) for t in range(1200)] + [(400, 0, 1, 1, 0)]
    with pytest.raises(DataError) as refusal:
        examine(written(tmp_path, "marks.csv", table(rows, "task", "worker", *CLASSES)))
    assert refusal.value.code == "several-marks"
    assert refusal.value.remedies[0].choices == tuple({"label": name} for name in CLASSES)


@pytest.mark.parametrize(
    ("names", "says"), [(("left", "right"), ("1", "2", "0")), (("model1", "model2"), (">", "<", "="))]
)
def test_sides_are_turned(names: tuple[str, str], says: tuple[str, str, str], tmp_path: Path) -> None:
    rng, rows = random.Random(4), []
    for task in range(24):
        a, b = (("m1", "m2"), ("m2", "m1"))[task % 2]
        rows += [(f"q{task // 2}", a, b, w, rng.choice(says)) for w in WORKERS]
    found = examine(written(tmp_path, "pairs.csv", table(rows, "id", *names, "worker", "choice")))
    assert found.report.format == "preferences"
    dataset = found.dataset()
    turned = dict(zip(says, (says[1], says[0], says[2]), strict=True))
    read = zip(dataset.task, dataset.worker, dataset.label, strict=True)
    labels = [(dataset.task_ids[t].split(" /")[0], dataset.worker_ids[w], dataset.classes[c]) for t, w, c in read]
    expected = [(q, w, v if a == "m1" else turned[v]) for q, a, _, w, v in rows]
    assert sorted(labels) == sorted(expected)


@pytest.mark.parametrize("joint", ["+", "/", " & "])
def test_combinations_of_known_classes_are_told(joint: str, tmp_path: Path) -> None:
    rows = [(t, w, v if k % 3 else joint.join(("cat", "dog"))) for k, (t, w, v) in enumerate(ROWS)]
    found = examine(written(tmp_path, "several.csv", table(rows, "task", "worker", "label")))
    assert "multi-select" in {finding.code for finding in found.report.findings}
    plain = [(t, w, {"bird": "c/c++", "cat": "and/or", "dog": "R&D"}[v]) for t, w, v in ROWS]
    assert not examine(written(tmp_path, "plain.csv", table(plain, "task", "worker", "label"))).report.findings


@pytest.mark.parametrize("code", ["999", "-99", "n.d.", "k.A.", "skip", "unlabeled"])
def test_codes_of_no_label_among_words_are_told(code: str, tmp_path: Path) -> None:
    rows = [(t, w, v if k % 9 else code) for k, (t, w, v) in enumerate(ROWS)]
    path = written(tmp_path, "codes.csv", table(rows, "task", "worker", "label"))
    (told,) = examine(path).report.findings
    assert (told.code, told.examples) == ("looks-missing", (code,))


@pytest.mark.parametrize("name", ["Musterlösung", "GS", "(blank)", "not-logged-in", "неизвестно"])
def test_workers_who_are_nobody_are_asked(name: str, tmp_path: Path) -> None:
    rows = [(t, name if w == "dee" else w, v) for t, w, v in ROWS]
    (question,) = examine(written(tmp_path, "people.csv", table(rows, "task", "worker", "label"))).report.questions
    assert question.code == ("gold-among-workers" if name in ("Musterlösung", "GS") else "unknown-workers")


def test_workbooks_in_an_archive_are_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "books.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ann.xlsx", b"PK\x03\x04[Content_Types].xml xl/workbook.xml")
        archive.writestr("labels.csv", table(ROWS, "task", "worker", "label"))
    assert examine(path).dataset().n_annotations == len(ROWS)


def test_a_number_of_labels_is_no_class(tmp_path: Path) -> None:
    found = examine(written(tmp_path, "shares.csv", table(SHARES, "item", "cat", "not cat", "n")))
    assert (found.report.n_annotations, {*found.dataset().classes}) == (len(ROWS), {"cat", "not cat"})


CONDITIONS = table([(*row, "ab"[TASKS.index(row[0]) % 2]) for row in ROWS], "stim", "subject", "rating", "condition")
FILMS = table([(t, *(f"{(7 * k + 3 * w) % 97 / 10}" for w in range(4))) for k, t in enumerate(TASKS)], "film", *WORKERS)
ROLES = {"task": "stim", "worker": "subject"}


@pytest.mark.parametrize(("content", "remedy"), [(CONDITIONS, ROLES), (FILMS, {"kind": "ratings"})])
def test_a_refusal_proposes_what_the_content_says(content: str, remedy: dict[str, str], tmp_path: Path) -> None:
    path = written(tmp_path, "columns.csv", content)
    with pytest.raises(DataError) as refusal:
        examine(path)
    assert refusal.value.remedies[0].choices == (remedy,)
    ratings = {"low": 0, "high": 10} if "kind" in remedy else {}
    assert examine(path, **remedy, **ratings).report.n_rows in (len(ROWS), 96)


def test_the_same_pair_in_both_orders_is_no_question(tmp_path: Path) -> None:
    rows = [(f"q{k}", *sides, w, "ab"[k % 2]) for k in range(12) for sides in ("xy", "yx") for w in WORKERS]
    path = written(tmp_path, "orders.csv", table(rows, "question_id", "model_a", "model_b", "judge", "winner"))
    assert not examine(path).report.questions


def test_parts_of_a_document_are_splits(tmp_path: Path) -> None:
    rows = [{"item": t, "rater": w, "label": v} for t, w, v in ROWS]
    dataset = examine(written(tmp_path, "parts.json", {"train": rows[:60], "test": rows[60:]})).dataset(accept=True)
    assert (dataset.n_tasks, dataset.n_annotations) == (24, len(ROWS))


@pytest.mark.parametrize("column", ["timestamp", "submitted_at", "token"])
def test_raters_beside_a_column_of_forms_are_workers(column: str, tmp_path: Path) -> None:
    rows = [(k, "2024-05-01", *row) for k, (_, *row) in enumerate(NAMED)]
    names = [f"rater {k}" for k in range(1, 5)]
    dataset = examine(written(tmp_path, "raters.csv", table(rows, "id", column, *names))).dataset(accept=True)
    assert (dataset.n_tasks, dataset.n_workers) == (24, 4)


def test_gold_where_no_row_has_a_task(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        examine(written(tmp_path, "void.csv", "task,worker,label,gold\n,a,,\n,b,,0\n")).dataset(accept=True)


ORDERED = [(f"q{k // 6}", w, *("xyz"[:: 1 - 2 * (k % 2)][k % 2 : k % 2 + 2])) for k in range(72) for w in WORKERS]


@pytest.mark.parametrize("names", [("winner", "loser"), ("chosen", "rejected")])
@pytest.mark.parametrize("asked", [True, False])
def test_the_better_answer_in_a_column_of_its_own(names: tuple[str, str], asked: bool, tmp_path: Path) -> None:
    rows = [row if asked else row[1:] for row in ORDERED]
    path = written(tmp_path, "better.csv", table(rows, *["prompt"] * asked, "judge", *names))
    dataset = examine(path).dataset()
    assert dataset.classes == ("first", "second")
    read = zip(dataset.task, dataset.worker, dataset.label, strict=True)
    found = [(dataset.task_ids[t], dataset.worker_ids[w], int(c)) for t, w, c in read]
    expected = [(f"{q} / " * asked + " | ".join(sorted((a, b))), w, int(a > b)) for q, w, a, b in ORDERED]
    assert sorted(found) == sorted(expected)
    with pytest.raises(DataError):  # without a judge these are no workers
        examine(written(tmp_path, "nobody.csv", table([row[-2:] for row in rows], *names)))


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("shift_jis", ("賛成", "反対", "中立")),
        ("shift_jis", ("ポジティブ", "ネガティブ", "ニュートラル")),
        ("euc_jp", ("そう思う", "そう思わない", "どちらともいえない")),
        ("euc_kr", ("긍정", "부정", "중립")),
        ("gb18030", ("正面", "负面", "中性")),
        ("big5", ("正面", "負面", "中立的")),
    ],
)
def test_the_likeliest_script_comes_first(encoding: str, words: tuple[str, str, str], tmp_path: Path) -> None:
    named = dict(zip(CLASSES, words, strict=True))
    (tmp_path / "words.csv").write_bytes(table([(t, w, named[v]) for t, w, v in ROWS]).encode(encoding))
    (question,) = (q for q in examine(tmp_path / "words.csv").report.questions if q.code == "encoding-guessed")
    assert question.remedies[0].value == encoding


@pytest.mark.parametrize("note", ["* 12 items were excluded", "Source: our study", "n = 24"])
def test_a_note_below_the_table_is_told(note: str, tmp_path: Path) -> None:
    told = examine(written(tmp_path, "note.csv", table([*NAMED, [note, *[""] * 4]], "item", *WORKERS))).report
    assert {f.code: f.examples for f in told.findings}["footnote"] == (note,)
    plain = examine(written(tmp_path, "plain.csv", table([*NAMED, ["photo25", *[""] * 4]], "item", *WORKERS))).report
    assert "footnote" not in {f.code for f in plain.findings}


@pytest.mark.parametrize("seed", range(5))
def test_classes_that_one_person_marks_are_no_workers(seed: int, tmp_path: Path) -> None:
    rng, shares = random.Random(seed), (0.1, 0.2, 0.3, 0.15, 0.5)
    for agree in (False, True):
        truth = [rng.random() < 0.4 for _ in range(200)]
        rows = [
            (k, *(int(t == (rng.random() < 0.75) if agree else rng.random() < share) for share in shares))
            for k, t in enumerate(truth)
        ]
        report = examine(written(tmp_path, "marks.csv", table(rows, "image", *"abcde"))).report
        assert [q.code for q in report.questions] == ([] if agree else ["classes-of-one-person"])


def test_parts_of_tasks_are_asked_about(tmp_path: Path) -> None:
    rows = [(f"d{k // 8}", WORKERS[k % 4], 7 * k, 7 * k + 5, "xy"[k % 3 > 0]) for k in range(80)]
    path = written(tmp_path, "spans.csv", table(rows, "doc_id", "annotator", "start", "end", "label"))
    (question,) = examine(path).report.questions
    assert question.code == "parts-of-tasks"
    assert examine(path, task=["doc_id", "start", "end"]).dataset().n_tasks == 80


def test_names_with_letters_of_no_width_are_one(tmp_path: Path) -> None:
    rows = [(t, w + "\u200b" * (k % 2), v) for k, (t, w, v) in enumerate(ROWS)]
    found = examine(written(tmp_path, "unseen.csv", table(rows, "task", "worker", "label"))).report
    assert (found.n_workers, [c.code for c in found.changes]) == (4, ["merged-workers"])


@pytest.mark.parametrize("name", ["people.xlsx", "books.zip", "books"])
def test_a_sheet_or_workbook_for_each_worker(name: str, tmp_path: Path) -> None:
    path, sheets = tmp_path / name, {w: table(given, "item", "label") for w, given in BY_WORKER.items()}
    if name == "people.xlsx":
        workbook(path, {"About": "x", **sheets})
    else:
        (tmp_path / "books").mkdir()
        for worker, sheet in sheets.items():
            workbook(tmp_path / "books" / f"{worker}.xlsx", {"Sheet1": sheet})
        shutil.make_archive(str(tmp_path / "books"), "zip", tmp_path / "books")
    dataset = examine(path).dataset()
    assert (dataset.n_tasks, [*dataset.worker_ids], dataset.n_annotations) == (24, [*WORKERS], len(ROWS))


def test_the_only_row_with_ratings_holds_no_totals(tmp_path: Path) -> None:
    path = written(tmp_path, "one.csv", "task,w0,w1\na,,\nb,,\nc,,\nd,0.5,\n")
    assert examine(path, low=0, high=1, workers=["w0", "w1"]).dataset(accept=True).rating.tolist() == [0.5]


def test_brat_without_workers_is_refused(tmp_path: Path) -> None:
    files = {"a.txt": "Rome is", "a.ann": "T1\tLOC 0 4\tRome\n"}
    with pytest.raises(DataError, match="brat"):
        examine(written(tmp_path, "brat", files))
