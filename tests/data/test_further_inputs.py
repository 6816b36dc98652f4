"""Further variants of the kinds of files that people have: read correctly, or asked about."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.data.reading.read_case import check, chosen, examined, placed, refusal, table, written
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
)

PLAIN = ("task", "worker", "label")
NO_DOUBT: dict[str, Any] = {"questions": ()}
ALL: dict[str, Any] = {"size": (24, 4, len(ROWS))}
RNG = random.Random(5)
STARS = [{"id": t, "labels": [RNG.randint(1, 5) for _ in range(3)]} for t in TASKS]
SHARES = [(t, f"{v.count('cat') / len(v):.1%}", f"{1 - v.count('cat') / len(v):.1%}", len(v)) for t, _, v in PAIRS]
TURNED = [[w, *labels] for w, labels in zip(WORKERS, zip(*(row[1:] for row in NAMED), strict=True), strict=True)]
BOTH = [(c, *(k + 3 * (c == d) for k, d in enumerate(CLASSES))) for c in CLASSES]
LISTS = [{"task": t, "worker": w, "label": [*{v, GOLD[t]}]} for t, w, v in ROWS]
MARKS = [(t % 400, t // 400, *[int(t % 3 == k) for k in range(3)]) for t in range(1200)] + [(400, 0, 1, 1, 0)]
SPANS = [(f"d{k // 8}", WORKERS[k % 4], 7 * k, 7 * k + 5, "xy"[k % 3 > 0]) for k in range(80)]
OF_BUGS = [[sum(v == c for _, v in given) for c in CLASSES] for given in BY_TASK.values()]
PIVOT = [*((f"d{k}", *row, sum(row)) for k, row in enumerate(OF_BUGS)),
         ("Grand Total", *map(sum, zip(*OF_BUGS, strict=True)), sum(map(sum, OF_BUGS)))]  # fmt: skip
HATE = [(3, 0, 0), (0, 3, 0), (1, 2, 0), (0, 2, 1), (2, 4, 0)] * 5
TWO_ROWS = [("", "label", "sure", "label", "sure"),
            *((str(k), a, k % 3, b, k % 2) for k, (a, b, *_) in enumerate(WIDE) if a and b)]  # fmt: skip
BOTH_ORDERS = [(f"q{k}", *sides, w, "ab"[k % 2]) for k in range(12) for sides in ("xy", "yx") for w in WORKERS]
CONDITIONS = table([(*row, "ab"[TASKS.index(row[0]) % 2]) for row in ROWS], "stim", "subject", "rating", "condition")
FILMS = table([(t, *(f"{(7 * k + 3 * w) % 97 / 10}" for w in range(4))) for k, t in enumerate(TASKS)], "film", *WORKERS)
MODELS = ("gpt-4o", "claude-3-5-sonnet", "llama-3-70b", "human")
NUMBERED = [(TASKS.index(t), w, 1 + CLASSES.index(label)) for t, w, label in ROWS]
SECONDS = [(t, w, label, k * 37 % 101 / 100, k * 13 % 90) for k, (t, w, label) in enumerate(ROWS)]
JUDGED = [(t, w, "v1", label, f"because of {k}") for k, (t, w, label) in enumerate(ROWS)]


def several(*names: str) -> str:
    rng = random.Random(3)
    return table([(t, w, *(rng.randint(0, 4) for _ in names)) for t, w, _ in ROWS], "comment_id", "annotator", *names)


def said(names: Any, label: Any = lambda k, v: v, encoding: str = "utf-8", delimiter: str = ",") -> tuple[str, bytes]:
    """The crowd's votes in other words."""
    rows = [(t, w, label(k, v)) for k, (t, w, v) in enumerate(ROWS)]
    return "words.csv", table(rows, *names, delimiter=delimiter).encode(encoding)


def units(*names: str) -> str:
    """Tasks that several columns name together."""
    parts = [(f"d{k // 6}", *((k % 6,) if len(names) == 2 else (k % 6 // 2, k % 2))) for k in range(24)]
    rows = [(*unit, w, CLASSES[k % 3]) for k, unit in enumerate(parts) for w in WORKERS]
    return table(rows, *names, "annotator", "label")


CASES: dict[str, tuple[Any, ...]] = {
    **{f"several columns that may be the label: {names}": (
        several(*names), {"refused": None, "choices": [{"label": name} for name in names]},
        *(({"label": name}, {"changes": {}, "n_annotations": len(ROWS)}) for name in names))
       for names in (("toxic", "insult", "threat"), ("fluency", "adequacy"))},
    "a row with several marks": (
        table(MARKS, "task", "worker", *CLASSES),
        {"refused": "several-marks", "choices": [{"label": c} for c in CLASSES]}),
    **{f"classes joined by {joint!r}": (
        said(PLAIN, lambda k, v, joint=joint: v if k % 3 else joint.join(("cat", "dog"))), {"has": {"multi-select"}})
       for joint in ("+", "/", " & ")},
    "classes with such letters": (
        said(PLAIN, lambda k, v: {"bird": "c/c++", "cat": "and/or", "dog": "R&D"}[v]), {"findings": ()}),
    **{f"{code} is no label": (
        said(PLAIN, lambda k, v, code=code: v if k % 9 else code),
        {"lacks": {"alias"}, "findings": {"looks-missing": {"level": "warning", "examples": (code,)}}})
       for code in ("999", "-99", "n.d.", "k.A.", "skip", "unlabeled")},
    **{f"{name} is nobody, or gold": (
        table([(t, name if w == "dee" else w, v) for t, w, v in ROWS], *PLAIN), {"changes": {code: ()}})
       for name, code in (("Musterlösung", "gold-among-workers"), ("GS", "gold-among-workers"),
                          ("(blank)", "unknown-workers"), ("not-logged-in", "unknown-workers"),
                          ("неизвестно", "unknown-workers"))},
    "a number of labels is no class": (
        table(SHARES, "item", "cat", "not cat", "n"), {"n_annotations": len(ROWS), "classes": {"cat", "not cat"}}),
    "roles that the content says": (
        CONDITIONS, {"refused": "columns", "choices": [{"task": "stim", "worker": "subject"}]},
        ({"task": "stim", "worker": "subject"}, {"n_rows": len(ROWS)})),
    "numbers that the content says": (
        FILMS, {"refused": None, "choices": [{"kind": "ratings"}, {"header": False}]},
        ({"kind": "ratings", "low": 0, "high": 10}, {"n_rows": 96})),
    "the same pair in both orders is no question": (
        table(BOTH_ORDERS, "question_id", "model_a", "model_b", "judge", "winner"), NO_DOUBT),
    "parts of a document are splits": (
        ("parts.json", {"train": [{"item": t, "rater": w, "label": v} for t, w, v in ROWS[:60]],
                        "test": [{"item": t, "rater": w, "label": v} for t, w, v in ROWS[60:]]}), ALL),
    **{f"raters beside {column} are workers": (
        table([(k, "2024-05-01", *row) for k, (_, *row) in enumerate(NAMED)], "id", column,
              *(f"rater {k}" for k in range(1, 5))), {"n_tasks": 24, "n_workers": 4})
       for column in ("timestamp", "submitted_at", "token")},
    "gold where no row has a task": ("task,worker,label,gold\n,a,,\n,b,,0\n", {"refused": None}),
    **{f"the likeliest script is {encoding}, of {words}": (
        said((), lambda k, v, words=words: words[CLASSES.index(v)], encoding), {"first": {"encoding": encoding}})
       for encoding, *words in (
           ("shift_jis", "賛成", "反対", "中立"), ("shift_jis", "ポジティブ", "ネガティブ", "ニュートラル"),
           ("euc_jp", "そう思う", "そう思わない", "どちらともいえない"), ("euc_kr", "긍정", "부정", "중립"),
           ("gb18030", "正面", "负面", "中性"), ("big5", "正面", "負面", "中立的"))},
    **{f"{words} in {encoding} is asked about": (
        said(PLAIN, lambda k, v, words=words: words[CLASSES.index(v)], encoding), {"proposed": {"encoding": encoding}},
        ({"encoding": encoding}, {"changes": {}, "classes": {*words}}))
       for encoding, *words in (
           ("cp1250", "záporný", "střední", "kladný"), ("cp1250", "rossz", "közepes időnként", "jó és kitűnő"),
           ("cp1254", "değil", "nötr şık", "ışıklı"), ("cp1257", "blogas", "vidutiniškas", "gerąžė"),
           ("cp1255", "שלילי", "ניטרלי", "חיובי"), ("cp850", "größer", "süß", "Äpfel"), ("cp850", "où", "là", "ici"),
           ("cp850", "für", "dafür", "café"), ("cp852", "záporný", "střední", "kladný"))},
    **{f"{words} are western": (said(PLAIN, lambda k, v, words=words: words[v == "cat"], "cp1252"), NO_DOUBT)
       for words in (("très bien", "négatif"), ("größer", "süß"), ("não", "opções"), ("rød grød", "blå"),
                     ("più", "perché"), ("niño", "día"), ("«oui»", "„ja“ – doch…"))},
    **{f"a note: {note}": (
        table([*NAMED, [note, *[""] * 4]], "item", *WORKERS), {"findings": {"footnote": {"examples": (note,)}}})
       for note in ("* 12 items were excluded", "Source: our study", "n = 24")},
    "a last task is no note": (table([*NAMED, ["photo25", *[""] * 4]], "item", *WORKERS), {"lacks": {"footnote"}}),
    "parts of tasks": (
        table(SPANS, "doc_id", "annotator", "start", "end", "label"), {"changes": {"parts-of-tasks": ()}},
        ({"task": ["doc_id", "start", "end"]}, {"changes": {}, "n_tasks": 80})),
    "names with letters of no width are one": (
        table([(t, w + "\u200b" * (k % 2), v) for k, (t, w, v) in enumerate(ROWS)], *PLAIN),
        {"n_workers": 4, "has": {"merged-workers"}, "questions": ()}),
    "the only row with ratings holds no totals": (
        "task,w0,w1\na,,\nb,,\nc,,\nd,0.5,\n", ({"low": 0, "high": 1, "workers": ["w0", "w1"]}, {"rating": [0.5]})),
    "brat without workers": (
        ("brat", {"a.txt": "Rome is", "a.ann": "T1\tLOC 0 4\tRome\n"}), {"refused": None, "match": "brat"}),
    **{f"lists of numbers of classes: {name}": (
        (f"{name}.jsonl", [{"id": t, name: [v.count(c) / n(v) for c in CLASSES]} for t, _, v in PAIRS]),
        {"refused": None, "match": "named"}) for name, n in (("probs", len), ("label_count", lambda _: 1))},
    "lists of stars": (("stars.jsonl", STARS), {"changes": {}, "n_annotations": 72}),
    "a turned table": (
        table(TURNED, "", *TASKS), {"changes": {"orientation": ()}}, ({"turn": True}, {"changes": {}, "n_tasks": 24})),
    **{f"what describes people beside {answers}": (
        table([(k, 1 + k % 2, 20 + k, *(1 + (k + j) % 5 for j in range(4))) for k in range(24)],
              "id", "sex", "age", *(f"{answers}{j}" for j in range(4))),
        {"changes": dict.fromkeys(codes, ())},
        ({"turn": turn}, {"n_tasks": n, "n_workers": 28 - n, "classes": ("1", "2", "3", "4", "5")}))
       for answers, codes, turn, n in (("v", ("columns-left-out", "orientation"), True, 4),
                                       ("rater", ("columns-left-out",), None, 24))},
    **{f"a form's column {column!r} holds no task": (
        table([(f"2024-05-0{k} 10:00", f"w{k}@x.org", *("cat", "dog", "cat")[k % 2:][:2], "dog", c)
               for k, c in enumerate([*cells, *cells[:2]])],
              "Timestamp", "Email", *(f"Image {k}" for k in range(1, 4)), column),
        {"changes": {"columns-left-out": ()}, "n_tasks": 3, "classes": ("cat", "dog")})
       for column, *cells in (("Any comments?", "nice", "", "", ""), ("Anything else?", "", "", "too long", ""),
                              ("Your age", "31", "40", "22", "31"), ("Years at work", "3", "4", "20", "11"))},
    "a table of pairs": (table(BOTH, "ann / ben", *CLASSES), {"changes": {"rows-as-columns": ()}}),
    **{f"sides {sides} by {question} beside a reviewer": (
        table([(f"q{k // 4}", *("xy"[:: 1 - 2 * (k % 2)]), WORKERS[k % 4], says[k % 3 == 0]) for k in range(80)],
              question, *sides, "evaluator", "preference"), {"format": "preferences", "n_tasks": 20, "n_workers": 4})
       for question in ("prompt_id", "trial") for sides, says in (
           (("system_a", "system_b"), "AB"), (("left_image", "right_image"), ("left", "right")),
           (("answer1_model", "answer2_model"), "12"))},
    **{f"columns that name a task together: {names}": (
        units(*names), {"refused": None, "choices": [{"task": [*names]}, {"task": names[0]}]},
        ({"task": [*names]}, {"changes": {}, "n_tasks": 24}))
        for names in (("dialogue_id", "turn"), ("book", "chapter", "verse"))},
    "lists of one class": (
        ("single.jsonl", [{"task": t, "worker": w, "label": [v]} for t, w, v in ROWS]),
        {"classes": CLASSES, "findings": ()}),
    "lists of classes": (
        ("lists.jsonl", LISTS),
        {"classes": {*CLASSES, *(json.dumps(x["label"]) for x in LISTS if len(x["label"]) > 1)},
         "findings": {"multi-select": {"count": sum(len(x["label"]) > 1 for x in LISTS)}}}),
    **{f"lists in cells: {write([])} {more}": (
        table([(t, w, write([v, *["none"] * (more and k % 5 == 0)])) for k, (t, w, v) in enumerate(ROWS)],
              "text_id", "annotator", "labels"),
        {"classes": {*CLASSES, *(f'["{c}", "none"]' for c in CLASSES if more)}},
        ({"multi_select": "yes-no"}, {"n_tasks": 24 * (3 + more)})) for write in (json.dumps, str) for more in (0, 1)},
    **{f"what holds a label, and nothing else, is that label: {name}": (
        (f"{name}.json", [{"id": t, "labels": [{"author": {"email": w}, "answer": {"job": wrap(v)}} for w, v in given]}
                          for t, given in BY_TASK.items()]), {"size": (24, 4, len(ROWS)), "classes": CLASSES})
       for name, wrap in (("categories", lambda v: {"categories": [{"name": v, "confidence": len(v)}]}),
                          ("choice", lambda v: [{"value": v}]))},
    "records in cells": (
        table([(t, w, json.dumps({"job": {"label": v}})) for t, w, v in ROWS], "object_id", "worker_id", "answer"),
        {"classes": CLASSES}),
    "the task in a record of its own": (
        ("meta.jsonl", [{"meta": {"task_id": t, "of": "x"}, "annotation": {"label": v, "annotator": w}}
                        for t, w, v in ROWS]), {"size": (24, 4, len(ROWS)), "roles": {"task": "meta.task_id"}}),
    **{f"lists of labels in cells, of nobody: {write([])}": (
        table([(t, write([v for _, v in given])) for t, given in BY_TASK.items()], "task", "labels"),
        {"has": {"no-workers"}, "size": (24, 4, len(ROWS)), "classes": CLASSES})
       for write in (json.dumps, str, ",".join)},
    "people are no questions": (
        table([(k, f"p{w}", t, v, GOLD[t]) for k, (t, w, v) in enumerate(ROWS)],
              "Event Index", "Participant Private ID", "image", "Response", "Answer"),
        {"refused": "columns", "proposed": {"worker": "Participant Private ID"}}),
    "an empty column of labels beside marks": (
        table([(w, t, *(1 if v == c else "" for c in CLASSES), "") for t, w, v in ROWS], "user", "instance_id",
              *CLASSES, "label"), {"size": (24, 4, len(ROWS)), "classes": {*CLASSES}}),
    "an empty column of labels alone": (
        table([(t, w, "") for t, w, _ in ROWS], *PLAIN), {"refused": "columns", "match": "'label' is empty"}),
    "boxes of nobody": (
        ("boxes.json", {"images": [{"id": k, "file_name": f"{k}.jpg"} for k in range(5)],
                        "annotations": [{"id": k, "image_id": k % 5, "category_id": 1 + k % 2} for k in range(10)]}),
        {"refused": None, "choices": []}),
    "only gold names several classes": (
        table([(*row, "bird|cat" if k % 8 < 2 else GOLD[row[0]]) for k, row in enumerate(ROWS)], *PLAIN, "gold"),
        {"lacks": {"multi-select"}}),
    "scores of translations by several systems": (
        table([(s, k, w, (7 * k + 13 * len(w) + 29 * i) % 101) for i, s in enumerate("AB") for k in range(24)
               for w in WORKERS], "system", "seg_id", "rater", "score"),
        {"refused": "columns", "choices": [{"kind": "ratings"}, {"task": ["system", "seg_id"]}, {"task": "system"}]},
        ({"kind": "ratings", "low": 0, "high": 100, "task": ["system", "seg_id"]}, {"n_tasks": 48, "n_workers": 4})),
    **{f"a record is no map of workers: {name}": (
        (f"{name}.json", [{"id": t, "response": fields(k)} for k, t in enumerate(TASKS)]), {"refused": "columns"})
       for name, fields in (("category", lambda k: {"category": CLASSES[k % 3]}),
                            ("evaluation", lambda k: {"right": k % 2 > 0, "picked": "AB"[k % 5 > 2]}))},
    **{f"{low} is a number": (
        table([(t, w, low + k % (1 - 2 * low)) for k, (t, w, _) in enumerate(ROWS)], "item", "rater", "score"),
        {"lacks": {"looks-missing"}}) for low in (-2, -3)},
    "one of two answers is -1": (said(PLAIN, lambda k, v: "-1" if v == "cat" else "1"), {"lacks": {"looks-missing"}}),
    "percents are numbers": (
        said(("item", "rater", "rating"), lambda k, v: f"{7 * k % 101}%"), {"refused": "many-numbers"},
        ({"kind": "ratings", "low": 0, "high": 100}, {"rating": [7 * k % 101 for k in range(len(ROWS))]})),
    "lists and a record": (
        ("records.jsonl", [*LISTS, {"task": "t", "worker": "w", "label": {"a": [1]}}]),
        {"refused": None, "match": "record"}),
    "halves with decimal commas are no choices": (
        said(("item", "rater", "rating"), lambda k, v: ("1", "1,5", "2", "2,5")[k % 4], delimiter=";"),
        {"changes": {}, "classes": ("1", "1.5", "2", "2.5")}),
    "an empty cell in the first row is no name": (
        table([(t, w, k % 3, "" if k % 5 == 0 else k % 2) for k, (t, w, _) in enumerate(ROWS)]),
        ({"label": "3", "task": "1", "worker": "2"}, {"header": False})),
    **{f"roles of {names} are proposed by content": (
        table(rows, *names), {"refused": "columns", "proposed": roles}, (roles, {**ALL, "n_classes": 3}))
       for rows, names, roles in (
           (NUMBERED, ("case", "reader", "BIRADS"), {"task": "case", "worker": "reader", "label": "BIRADS"}),
           (NUMBERED, ("Aufgabe", "Bewerter", "Note"), {"task": "Aufgabe", "worker": "Bewerter", "label": "Note"}),
           ([(t, WORKERS.index(w), n) for t, w, n in NUMBERED], ("i", "j", "y"),
           {"task": "i", "worker": "j", "label": "y"}),
           (ROWS, ("item", "model", "verdict"), {"worker": "model", "label": "verdict"}),
           ([(w, t, label) for t, w, label in ROWS], ("who", "what", "said"),
           {"task": "what", "worker": "who", "label": "said"}))},
    "places are not proposed as workers": (
        table([(t, WORKERS.index(w), v) for t, w, v in ROWS], "item", "no", "vote"), {"refused": None, "choices": []}),
    **{f"the index is named below the columns of a pivot table: {len(above)}": (
        table([*above, ("annotator", *WORKERS), ("item", *[""] * 4), *NAMED]),
        {**ALL, "format": "wide", "roles": {"task": "item"}}) for above in ((), (("", *["label"] * 4),))},
    "a first task without a label is a task": (
        table([("photo00", *[""] * 4), *NAMED], "item", *WORKERS), {"n_tasks": 25, "n_workers": 4}),
    "a class with the name of tasks is a class": (
        table(PIVOT, "Row Labels", "bug", "feature", "question", "Grand Total"),
        {"findings": {"counts-or-workers": {"level": "question"}}},
        ({"format": "counts"}, {"n_tasks": 24, "n_annotations": len(ROWS), "classes": {"bug", "feature", "question"}})),
    "a panel beside its answers and a person": (
        table([(k, f"Is it {k}?", f"It is {k * k}", *row) for k, row in enumerate(WIDE)], "id", "prompt", "response",
        *MODELS),
        {"format": "wide", "n_tasks": 24, "n_workers": 4, "findings": {"gold-among-workers": {"level": "question"}}}),
    "several columns of one worker": (
        table([(t, w, v, CLASSES[k % 3], v) for k, (t, w, v) in enumerate(ROWS)], "patient", "observer", "obs1",
        "obs2", "obs3"),
        {"refused": "which-label", "choices": [{"label": f"obs{k}"} for k in (1, 2, 3)]}),
    "a column that counts the labels": (
        table([(k, sum(c), *c, c.index(max(c)), f"text {k}") for k, c in enumerate(HATE)],
              "", "count", "hate", "offensive", "neither", "class", "tweet"),
        {"changes": {}, "n_tasks": 25, "n_annotations": sum(map(sum, HATE)),
        "classes": {"hate", "offensive", "neither"}}),
    "numbered texts beside numbered labels": (
        table([(GOLD[t], f"premise {t}", f"claim {t}", *row) for t, row in zip(TASKS, WIDE, strict=True)],
              "gold_label", "sentence1", "sentence2", *(f"label{k}" for k in range(1, 5))), {"format": "wide", **ALL}),
    "a name in the upper of two rows of names": (
        table(TWO_ROWS, "Item", "Annotator 1", "", "Annotator 2", ""),
        {"format": "wide", "roles": {"task": "Item", "worker": "2 columns"}, "n_tasks": len(TWO_ROWS) - 1,
        "n_workers": 2}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    path = placed(tmp_path, content)
    check(path, *steps)


@pytest.mark.parametrize(
    ("rows", "names"),
    [(SECONDS, ("ticket_id", "agent", "category", "confidence", "seconds_spent")),
     (JUDGED, ("example_id", "model", "prompt_version", "verdict", "rationale"))],
)  # fmt: skip
def test_roles_among_many_columns_are_proposed_by_content(rows: Any, names: tuple[str, ...], tmp_path: Path) -> None:
    path = placed(tmp_path, table(rows, *names))
    check(path, (chosen(refusal(path).remedies)[0], {**ALL, "n_classes": 3}))


@pytest.mark.parametrize(
    ("names", "says"), [(("left", "right"), ("1", "2", "0")), (("model1", "model2"), (">", "<", "="))]
)
def test_sides_are_turned(names: tuple[str, str], says: tuple[str, str, str], tmp_path: Path) -> None:
    rng, rows = random.Random(4), []
    for task in range(24):
        a, b = (("m1", "m2"), ("m2", "m1"))[task % 2]
        rows += [(f"q{task // 2}", a, b, w, rng.choice(says)) for w in WORKERS]
    found = examined(placed(tmp_path, table(rows, "id", *names, "worker", "choice")))
    assert found.report.format == "preferences"
    read = found.dataset().annotations.astype(str).to_numpy()
    turned = dict(zip(says, (says[1], says[0], says[2]), strict=True))
    expected = [(q, w, v if a == "m1" else turned[v]) for q, a, _, w, v in rows]
    assert sorted((t.split(" /")[0], w, c) for t, w, c, *_ in read) == sorted(expected)


ORDERED = [(f"q{k // 6}", w, *("xyz"[:: 1 - 2 * (k % 2)][k % 2 : k % 2 + 2])) for k in range(72) for w in WORKERS]


@pytest.mark.parametrize("names", [("winner", "loser"), ("chosen", "rejected")])
@pytest.mark.parametrize("asked", [True, False])
def test_the_better_answer_in_a_column_of_its_own(names: tuple[str, str], asked: bool, tmp_path: Path) -> None:
    rows = [row if asked else row[1:] for row in ORDERED]
    expected = [
        (f"{q} / " * asked + " | ".join(sorted((a, b))), w, ("first", "second")[a > b]) for q, w, a, b in ORDERED
    ]
    path = placed(tmp_path, table(rows, *["prompt"] * asked, "judge", *names))
    dataset = examined(path).dataset()
    assert dataset.classes == ("first", "second")
    assert sorted((t, w, c) for t, w, c, *_ in dataset.annotations.astype(str).to_numpy()) == sorted(expected)
    check(written(tmp_path, "nobody.csv", table([row[-2:] for row in rows], *names)), {"refused": None})  # no judge


@pytest.mark.parametrize("seed", range(5))
def test_classes_that_one_person_marks_are_no_workers(seed: int, tmp_path: Path) -> None:
    rng, shares = random.Random(seed), (0.1, 0.2, 0.3, 0.15, 0.5)
    for agree in (False, True):
        truth = [rng.random() < 0.4 for _ in range(200)]
        rows = [
            (k, *(int(t == (rng.random() < 0.75) if agree else rng.random() < share) for share in shares))
            for k, t in enumerate(truth)
        ]
        report = examined(placed(tmp_path, table(rows, "image", *"abcde"))).report
        assert [q.code for q in report.questions] == ([] if agree else ["classes-of-one-person"])
