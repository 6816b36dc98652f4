"""Variants of the kinds of files that people have: read correctly, or asked about."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crowdcore.data import examine
from tests.data.reading.read_case import Told, check, table, written
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


PAIRED = [(t, *(cell for pair in given for cell in pair), *[""] * (8 - 2 * len(given))) for t, given in BY_TASK.items()]
ORDINALS = ("first", "second", "third", "fourth")


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
        *("id", "source", "translation", "rater", "rating"),
    ),
    "ordinals.csv": table(PAIRED, "doc", *(f"{k}_{role}" for k in ORDINALS for role in ("annotator", "label"))),
    "the-same-names.csv": table(PAIRED, "doc", *["rater", "score"] * 4),
    "one-name-above-the-names.csv": table([["item", *WORKERS], *NAMED], "", *["Annotator"] * 4),
    "titles-with-a-delimiter.csv": "My project\nBy admin;in 2024\n\n"
    + table(ROWS, "Text", "Coder", "Code", delimiter=";"),
    "who-wrote-it.csv": table(
        [(k, *row, "x") for k, row in enumerate(ROWS)], "ID", "File", "Created by", "Codes", "Quote"
    ),
    "days.csv": table(NAMED, "item", *(f"2024-05-0{k}" for k in range(1, 5))),
}


@pytest.mark.parametrize("name", SAME_CROWD)
def test_the_crowd_is_read(name: str, tmp_path: Path) -> None:
    found = Told(examine(written(tmp_path, name, SAME_CROWD[name])))
    assert (found.size, {*found.classes}) == ((24, 4, len(ROWS)), {*CLASSES})
    assert found.n_rows == found.n_annotations + found.n_left_out
    assert [*found.asked] == ["total-row"] * (name == "footer.csv")
    assert found.n_gold == (24 if name.startswith("headerless") else 0)


ROWS_OF_COUNTS = [(t, c, v.count(c)) for t, _, v in PAIRS for c in CLASSES if c in v]
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
    facts = {"changes": {}, "n_tasks": 24, "n_annotations": len(ROWS), "classes": {*CLASSES}, "has": {"no-workers"}}
    check(written(tmp_path, name, COUNTS[name]), facts)


TRUTH = [(TASKS.index(task), CLASSES.index(label)) for task, label in GOLD.items()]
NUMBERS_ONLY: dict[str, Any] = {
    "plain.txt": table(NUMBERS, delimiter=" "),
    "below-their-sizes.txt": f"{len(ROWS)} 4 24 3\n" + table(NUMBERS, delimiter=" "),
    "beside-a-time.csv": table([(*row, 1_700_000_000 + k) for k, row in enumerate(NUMBERS)]),
    "beside-the-truth": {"responses.csv": table(NUMBERS), "ground_truth.csv": table(TRUTH)},
}


@pytest.mark.parametrize("name", NUMBERS_ONLY)
def test_numbers_without_names(name: str, tmp_path: Path) -> None:
    facts = {"changes": {}, "size": (24, 4, len(ROWS)), "classes": ("0", "1", "2")}
    check(written(tmp_path, name, NUMBERS_ONLY[name]), facts)


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
    check(path, {"changes": {}, "size": (24, 4, len(ROWS)), "worker_ids": [*WORKERS]})


def test_workbooks_in_an_archive_are_no_workbook(tmp_path: Path) -> None:
    book = b"PK\x03\x04[Content_Types].xml xl/workbook.xml"
    path = written(tmp_path, "books.zip", {"ann.xlsx": book, "labels.csv": table(ROWS, "task", "worker", "label")})
    check(path, {"changes": {}, "n_annotations": len(ROWS)})
