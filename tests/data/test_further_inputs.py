"""Further variants of the kinds of files that people have, among them those that were once misread in silence."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine
from tests.data.test_odd_inputs import (
    BY_TASK,
    CLASSES,
    GOLD,
    NAMED,
    PAIRS,
    ROWS,
    TASKS,
    WIDE,
    WORKERS,
    table,
    written,
)

PAIRED = [(t, *(cell for pair in given for cell in pair), *[""] * (8 - 2 * len(given))) for t, given in BY_TASK.items()]
ORDINALS = ("first", "second", "third", "fourth")
SAME: dict[str, Any] = {
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


@pytest.mark.parametrize("name", SAME)
def test_the_crowd_is_read_without_a_question(name: str, tmp_path: Path) -> None:
    found = examine(written(tmp_path, name, SAME[name]))
    dataset = found.dataset(accept=True)
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (24, 4, len(ROWS))
    assert ({*dataset.classes}, found.report.questions) == ({*CLASSES}, ())


SHARES = [{"id": t, "probs": [v.count(c) / len(v) for c in CLASSES]} for t, _, v in PAIRS]
COUNTS = [{"id": t, "label_count": [v.count(c) for c in CLASSES]} for t, _, v in PAIRS]


@pytest.mark.parametrize("records", [SHARES, COUNTS])
def test_lists_of_numbers_of_classes_are_no_labels(records: list[dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="named"):
        examine(written(tmp_path, "numbers.jsonl", records))
    rng = random.Random(5)
    stars = [{"id": t, "labels": [rng.randint(1, 5) for _ in range(3)]} for t in TASKS]
    assert examine(written(tmp_path, "stars.jsonl", stars)).dataset().n_annotations == 72


def test_turned_tables_and_tables_of_pairs_are_asked_about(tmp_path: Path) -> None:
    turned = [[w, *labels] for w, labels in zip(WORKERS, zip(*(row[1:] for row in NAMED), strict=True), strict=True)]
    path = written(tmp_path, "turned.csv", table(turned, "", *TASKS))
    assert [q.code for q in examine(path).report.questions] == ["orientation"]
    assert examine(path, turn=True).dataset().n_tasks == 24
    both = [(c, *(k + 3 * (c == d) for k, d in enumerate(CLASSES))) for c in CLASSES]
    found = examine(written(tmp_path, "pairs.csv", table(both, "ann / ben", *CLASSES)))
    assert [q.code for q in found.report.questions] == ["rows-as-columns"]


SIDES = (("system_a", "system_b"), ("left_image", "right_image"), ("answer1_model", "answer2_model"))


@pytest.mark.parametrize(("sides", "says"), [*zip(SIDES, (("A", "B"), ("left", "right"), ("1", "2")), strict=True)])
@pytest.mark.parametrize("question", ["prompt_id", "trial"])
def test_sides_beside_a_reviewer_are_no_workers(sides, says, question, tmp_path):
    rows = [(f"q{k // 4}", *("xy"[:: 1 - 2 * (k % 2)]), WORKERS[k % 4], says[k % 3 == 0]) for k in range(80)]
    report = examine(written(tmp_path, "sides.csv", table(rows, question, *sides, "evaluator", "preference"))).report
    assert (report.format, report.n_tasks, report.n_workers) == ("preferences", 20, 4)


@pytest.mark.parametrize("names", [("dialogue_id", "turn"), ("book", "chapter", "verse")])
def test_columns_that_name_a_task_together_are_proposed(names: tuple[str, ...], tmp_path: Path) -> None:
    units = [(f"d{k // 6}", *((k % 6,) if len(names) == 2 else (k % 6 // 2, k % 2))) for k in range(24)]
    rows = [(*unit, w, CLASSES[k % 3]) for k, unit in enumerate(units) for w in WORKERS]
    path = written(tmp_path, "parts.csv", table(rows, *names, "annotator", "label"))
    with pytest.raises(DataError) as refusal:
        examine(path)
    together, first = refusal.value.remedies[0].choices
    assert (together, first) == ({"task": [*names]}, {"task": names[0]})
    assert examine(path, **together).dataset().n_tasks == 24


def test_lists_of_classes_of_one_answer_are_told(tmp_path: Path) -> None:
    single = [{"task": t, "worker": w, "label": [v]} for t, w, v in ROWS]
    report = examine(written(tmp_path, "single.jsonl", single)).report
    assert (report.classes, report.findings) == (CLASSES, ())
    rows = [{"task": t, "worker": w, "label": [*{v, GOLD[t]}]} for t, w, v in ROWS]
    report = examine(written(tmp_path, "lists.jsonl", rows)).report
    assert "multi-select" in {finding.code for finding in report.findings}
    with pytest.raises(DataError, match="record"):
        examine(written(tmp_path, "records.jsonl", [*rows, {"task": "t", "worker": "w", "label": {"a": [1]}}]))


def test_halves_with_decimal_commas_are_no_choices(tmp_path: Path) -> None:
    halves = [(t, w, ("1", "1,5", "2", "2,5")[k % 4]) for k, (t, w, _) in enumerate(ROWS)]
    dataset = examine(
        written(tmp_path, "halves.csv", table(halves, "item", "rater", "rating", delimiter=";"))
    ).dataset()
    assert dataset.classes == ("1", "1.5", "2", "2.5")


EAST = [
    ("cp1250", ("záporný", "střední", "kladný")),
    ("cp1250", ("rossz", "közepes időnként", "jó és kitűnő")),
    ("cp1254", ("değil", "nötr şık", "ışıklı")),
    ("cp1257", ("blogas", "vidutiniškas", "gerąžė")),
    ("cp1255", ("שלילי", "ניטרלי", "חיובי")),
    ("cp850", ("größer", "süß", "Äpfel")),
    ("cp850", ("où", "là", "ici")),
    ("cp850", ("für", "dafür", "café")),
    ("cp852", ("záporný", "střední", "kladný")),
]


@pytest.mark.parametrize(("encoding", "words"), EAST)
def test_letters_that_no_western_language_has_are_asked_about(encoding, words, tmp_path):
    named = dict(zip(CLASSES, words, strict=True))
    path = tmp_path / "words.csv"
    path.write_bytes(table([(t, w, named[v]) for t, w, v in ROWS], "task", "worker", "label").encode(encoding))
    (question,) = (q for q in examine(path).report.questions if q.code == "encoding-guessed")
    assert encoding in {remedy.value for remedy in question.remedies}
    assert {*examine(path, encoding=encoding).dataset().classes} == {*words}


WEST = [
    ("très bien", "négatif"),
    ("größer", "süß"),
    ("não", "opções"),
    ("rød grød", "blå"),
    ("più", "perché"),
    ("niño", "día"),
    ("«oui»", "„ja“ – doch…"),
]


@pytest.mark.parametrize("words", WEST)
def test_western_languages_are_no_question(words: tuple[str, str], tmp_path: Path) -> None:
    rows = [(t, w, words[v == "cat"]) for t, w, v in ROWS]
    (tmp_path / "west.csv").write_bytes(table(rows, "task", "worker", "label").encode("cp1252"))
    assert not examine(tmp_path / "west.csv").report.questions


def test_an_empty_cell_in_the_first_row_is_no_name(tmp_path: Path) -> None:
    rows = [(t, w, k % 3, "" if k % 5 == 0 else k % 2) for k, (t, w, _) in enumerate(ROWS)]
    assert not examine(written(tmp_path, "rows.csv", table(rows)), label="3", task="1", worker="2").report.header


NUMBERED = [(TASKS.index(t), w, 1 + CLASSES.index(label)) for t, w, label in ROWS]
SECONDS = [(t, w, label, k * 37 % 101 / 100, k * 13 % 90) for k, (t, w, label) in enumerate(ROWS)]
JUDGED = [(t, w, "v1", label, f"because of {k}") for k, (t, w, label) in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (NUMBERED, ("case", "reader", "BIRADS")),
        (NUMBERED, ("Aufgabe", "Bewerter", "Note")),
        ([(t, WORKERS.index(w), n) for t, w, n in NUMBERED], ("i", "j", "y")),
        (SECONDS, ("ticket_id", "agent", "category", "confidence", "seconds_spent")),
        (JUDGED, ("example_id", "model", "prompt_version", "verdict", "rationale")),
        (ROWS, ("item", "model", "verdict")),
        ([(w, t, label) for t, w, label in ROWS], ("who", "what", "said")),
    ],
)
def test_roles_that_names_do_not_tell_are_proposed_by_content(
    rows: list[tuple[Any, ...]], names: tuple[str, ...], tmp_path: Path
) -> None:
    path = written(tmp_path, "unknown.csv", table(rows, *names))
    with pytest.raises(DataError) as refusal:
        examine(path)
    proposed = refusal.value.remedies[0].choices[0]
    dataset = examine(path, **proposed).dataset(accept=True)
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (24, 4, len(ROWS))
    assert dataset.n_classes == 3


def test_places_are_not_proposed_as_workers(tmp_path: Path) -> None:
    path = written(tmp_path, "places.csv", table([(t, WORKERS.index(w), v) for t, w, v in ROWS], "item", "no", "vote"))
    with pytest.raises(DataError) as refusal:
        examine(path)
    assert not any(remedy.choices for remedy in refusal.value.remedies)


def test_a_class_with_the_name_of_tasks_is_a_class(tmp_path: Path) -> None:
    counts = [[sum(v == c for _, v in given) for c in CLASSES] for given in BY_TASK.values()]
    rows = [(f"d{k}", *row, sum(row)) for k, row in enumerate(counts)]
    rows.append(("Grand Total", *(sum(row[k] for row in rows) for k in range(1, 5))))
    path = written(tmp_path, "pivot.csv", table(rows, "Row Labels", "bug", "feature", "question", "Grand Total"))
    assert "counts-or-workers" in {question.code for question in examine(path).report.questions}
    dataset = examine(path, format="counts").dataset(accept=True)
    assert (dataset.n_tasks, dataset.n_annotations) == (24, len(ROWS))
    assert {*dataset.classes} == {"bug", "feature", "question"}


def test_a_panel_beside_its_answers_and_a_person_opens(tmp_path: Path) -> None:
    models = ("gpt-4o", "claude-3-5-sonnet", "llama-3-70b", "human")
    rows = [(k, f"Is it {k}?", f"It is {k * k}", *row) for k, row in enumerate(WIDE)]
    path = written(tmp_path, "panel.csv", table(rows, "id", "prompt", "response", *models))
    report = examine(path).report
    assert (report.format, report.n_tasks, report.n_workers) == ("wide", 24, 4)
    assert "gold-among-workers" in {question.code for question in report.questions}


def test_several_columns_of_one_worker_are_asked_about(tmp_path: Path) -> None:
    rows = [(t, w, v, CLASSES[k % 3], v) for k, (t, w, v) in enumerate(ROWS)]
    with pytest.raises(DataError) as refusal:
        examine(written(tmp_path, "again.csv", table(rows, "patient", "observer", "obs1", "obs2", "obs3")))
    assert {choice["label"] for r in refusal.value.remedies for choice in r.choices} == {"obs1", "obs2", "obs3"}


def test_a_column_that_counts_the_labels_is_the_sum_of_counts(tmp_path: Path) -> None:
    counts = [(3, 0, 0), (0, 3, 0), (1, 2, 0), (0, 2, 1), (2, 4, 0)]
    rows = [(k, sum(c), *c, c.index(max(c)), f"text {k}") for k, c in enumerate(counts * 5)]
    names = ("", "count", "hate", "offensive", "neither", "class", "tweet")
    dataset = examine(written(tmp_path, "counts.csv", table(rows, *names))).dataset()
    assert (dataset.n_tasks, dataset.n_annotations) == (25, sum(map(sum, counts)) * 5)
    assert {*dataset.classes} == {"hate", "offensive", "neither"}


def test_numbered_texts_beside_numbered_labels_are_no_labels(tmp_path: Path) -> None:
    rows = [(GOLD[t], f"premise {t}", f"claim {t}", *row) for t, row in zip(TASKS, WIDE, strict=True)]
    names = ("gold_label", "sentence1", "sentence2", *(f"label{k}" for k in range(1, 5)))
    report = examine(written(tmp_path, "nli.csv", table(rows, *names))).report
    assert (report.format, report.n_tasks, report.n_workers, report.n_annotations) == ("wide", 24, 4, len(ROWS))


def test_a_name_in_the_upper_of_two_rows_of_names_is_joined_to_nothing(tmp_path: Path) -> None:
    rows = [
        ("", "label", "sure", "label", "sure"),
        *((t, a, k % 3, b, k % 2) for k, (t, a, b, *_) in enumerate(NAMED) if a and b),
    ]
    path = written(tmp_path, "two-rows.csv", table(rows, "Item", "Annotator 1", "", "Annotator 2", ""))
    report = examine(path).report
    assert (report.format, report.roles["task"], report.n_tasks, report.n_workers) == ("wide", "Item", len(rows) - 1, 2)
