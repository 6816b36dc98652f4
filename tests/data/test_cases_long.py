"""Cases of long and nested files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from crowdcore.data import examine, examine_frame, read_dataset
from crowdcore.data.columns import MappingError
from tests.data.reading.read_case import (
    ANIMALS,
    CASES,
    CROWD,
    Told,
    check,
    path_of,
    placed,
    read_case,
    refusal,
    written,
)


def crowd(**columns: Any) -> pd.DataFrame:
    """Four people on 24 items, and further columns of functions of item and person."""
    rows = [(t, w) for t in range(24) for w in range(4)]
    frame = {"item": [f"i{t}" for t, _ in rows], "person": [f"p{w}" for _, w in rows]}
    frame["mark"] = ["abc"[(t * 7 + w * t) % 3] for t, w in rows]
    return pd.DataFrame(frame | {name: [make(t, w) for t, w in rows] for name, make in columns.items()})


def called(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    return frame.rename(columns=dict(zip(("item", "person", "mark"), names, strict=True)))


FRAME = pd.concat(pd.read_csv(f).assign(worker=f.stem) for f in sorted((CASES / "file-per-annotator/folder").iterdir()))
TASKS = [(task, list(zip(part.worker, part.label, strict=True))) for task, part in FRAME.groupby("task")]
WORKERS = ("ann", "ben", "cem", "dee")
PARTS = "doc,sent,worker,label\n1,1.5,a,x\n1, 1.5 ,b,y\n,2,a,x\ndoc,sent,worker,label\n2,1,a,y\n"
AGAIN = pd.DataFrame(
    [(t, w, a, "xy"[(t * w + a) % 2], f"2024-01-0{a}") for t in range(10) for w in range(4) for a in (1, 2)],
    columns=["task", "worker", "attempt", "label", "day given"],
)
IMAGES = pd.DataFrame(
    [(q, f"p{t}", w, "yn"[(t + w) % 2]) for t in range(10) for w in range(3) for q in ("rude", "fun")],
    columns=["question", "image", "annotator", "answer"],
)
TWO_LABELS = called(crowd(vote=lambda t, w: "yn"[(t + w * w) % 2]), "item", "worker", "category")
CUT = [f"1.23E+12,{w},{'ab'[k % 2]}" for k in range(9) for w in "xyz"]
COUNTED = [{"id": str(i), "given": {"x": 1 + i % 3, "y": 9 - i % 4, "z": i % 5}} for i in range(30)]
SEVERAL = [{"id": t, "annotations": [{"annotator": w, "tone": c, "topic": c < "c"} for w, c in x]} for t, x in TASKS]
SHORTER: list[Any] = [
    {"id": t, "annotators": [w for w, _ in x], "labels": [c for _, c in x]} for t, x in TASKS * 60
]  # fmt: skip
SHORTER[1300]["labels"].pop()
DAMAGED = pd.read_csv(path_of("zooniverse"))
DAMAGED.loc[3, "annotations"] = "[{"
WIDE = crowd().pivot(index="item", columns="person", values="mark").reset_index()

TABLE: dict[str, tuple[Any, ...]] = {
    "several questions": (
        "several-questions-long",
        {"asked": {"several-questions": [{"question": "toxic"}, {"question": "spam"},
        {"task": ["item_id", "question"]}]}},
        *(({"question": q}, {"crowd": (24, 4, 96, alpha), "n_left_out": 96, "changes": {}})
          for q, alpha in (("toxic", -0.153284), ("spam", -0.12069))),
        ({"task": ["item_id", "question"]}, {"size": (48, 4, 192)}),
        ({"question": "rude"}, {"refused": "no-question"})),
    "a task of two columns": (  # group='doc_id' keeps a document in one split
        "two-column-task-long", {"asked": {"task-of-columns": [{"task": ["doc_id", "sent_id"]}]}},
        ({"task": ("doc_id", "sent_id")}, {"size": (30, 4, 120), "changes": {}}),
        *(({"task": task}, {"refused": None, "match": named}) for task, named in (
            (("doc_id", "nothing"), "nothing"), (("doc_id",), "two or more"), (("doc_id", "doc_id"), "two")))),
    "a task without one part is left out": (
        PARTS, ({"task": ("doc", "sent")},
                {"changes": {"missing-task": (3,), "repeated-header": (4,)}, "task_ids": ["1 / 1.5", "2 / 1"]})),
    "labels that were taken back": (
        called(crowd(status=lambda t, w: "Deleted" if w == t % 8 else "submitted"), "item", "worker", "label"),
        {"findings": {"flagged": {"level": "warning", "count": 12}}, "n_annotations": 96},
        ({"flagged": "drop"}, {"n_annotations": 84, "lost": {"flagged": 12}})),
    "a status of records is none of labels": (
        called(crowd(status=lambda t, w: {"by": w}), "item", "worker", "label"), {"lacks": {"flagged"}}),
    "answers given again are no questions": (AGAIN, {"questions": ()}),
    "a row number is no question": (AGAIN.assign(attempt=range(len(AGAIN))), {"questions": ()}),
    "the question comes first by name and the task by content": (
        IMAGES, {"roles": {"task": "image", "worker": "annotator", "label": "answer"},
        "changes": {"several-questions": ()}},
        *(({"question": q}, {"n_annotations": 30}) for q in ("rude", "fun"))),
    "the judged text is no label": (
        "response-is-the-judged-text", {"refused": "judged-text"},
        ({"label": "Q_overall", "gold": "safety_gold"},
         {"crowd": (20, 6, 120, -0.058993), "n_gold": 20, "classes": ("No", "Unsure", "Yes")})),
    "the column that varies within tasks is the label": (
        "question-answer-rating", {"roles": {"task": "question_id", "worker": "annotator", "label": "rating"},
        "size": (20, 3, 60), "changes": {}, "findings": {"role-by-content": {"choices": [{"label": "answer"}]}}},
        ({"label": "answer"}, {"roles": {"task": "question_id", "worker": "annotator", "label": "answer"}})),
    "labels that content cannot tell apart": (
        TWO_LABELS, {"asked": {"which-label": [{"label": "category"}, {"label": "vote"}]}},
        *(({"label": name}, {"questions": ()}) for name in ("category", "vote"))),
    "a wide table with a column of such a name stays wide": (
        WIDE.assign(reviewer=WIDE["p0"], target=WIDE["p1"]), {"format": "wide"}),
    "ids that a spreadsheet cut short": (
        "\n".join(["task,worker,label", *CUT]), {"changes": {"cut-numbers": ()}}),
    "maps that may count": (
        ("maps.jsonl", COUNTED),
        {"asked": {"counts-or-workers": [{"format": "counts"}, {"format": "nested"}]}},
        ({"format": "counts"}, {"classes": ("x", "y", "z")}),
        ({"format": "nested"}, {"worker_ids": ["x", "y", "z"]})),
    "maps of workers are turned by question": (
        ("maps.json", {who: {t: dict(x)[who] for t, x in TASKS if who in dict(x)} for who in WORKERS}),
        {"asked": {"turned": [{"turn": True}, {"turn": False}]}},
        ({"turn": True}, {"size": (24, 4, 90), "changes": {}}), ({"turn": False}, {"size": (4, 24, 90)})),
    "questions of nested records": (
        ("questions.json", SEVERAL), {"refused": "several-questions",
        "choices": [{"question": "annotations.tone"}, {"question": "annotations.topic"}]},
        ({"question": "annotations.tone"}, {"classes": ANIMALS}),
        ({"question": "annotations.topic"}, {"classes": ("False", "True")})),
    "lists of different length": (("lists.jsonl", SHORTER), {"refused": "lengths", "row": 1301}),
    "a counter of labels": ("label-counter", {"n_tasks": 24, "classes": ("e", "n", "c")}),
    "questions of zooniverse": (
        "zooniverse", {"findings": {"several-questions": {"level": "question"}, "not-logged-in": {"level": "note"}},
                       "crowd": (24, 27, 90, 0.337748), "times": ("timestamp",)},
        ({"question": "T0"}, {"classes": ("Bird", "Cat", "Dog")}), ({"question": "T1"}, {"classes": ("0", "1", "2")}),
        ({"question": "T7"}, {"refused": None, "choices": [{"question": "T0"}, {"question": "T1"}]})),
    "a damaged cell of zooniverse": (
        DAMAGED.to_csv(index=False), {"refused": None, "match": "not JSON", "row": 4}),
    **{case: (case, {"crowd": CROWD, "classes": ("0", "1", "2") if case == "peerannot" else ANIMALS,
                     "changes": {"prediction": (1, 2, 3, 4, 5)} if case == "argilla-1" else {}})
       for case in ("nested-annotations", "lists-in-parquet", "peerannot", "argilla-1")},
    **{f"{role} by content, not {[*column]}": (called(crowd(**column), *names), {"roles": roles}) for column, names,
        role, roles in (
        ({"user_id": lambda t, w: w if t % 2 else None}, ("item", "user_name", "label"), "worker",  # half empty
         {"task": "item", "worker": "user_name", "label": "label"}),
        ({"user": lambda t, w: f"author {t % 5}"}, ("item", "rater", "label"), "worker",  # the author of an item
         {"task": "item", "worker": "rater", "label": "label"}),
        ({"unit_id": lambda t, w: 4 * t + w}, ("image_id", "worker", "label"), "task",  # a row number
         {"task": "image_id", "worker": "worker", "label": "label"}),
        ({"answer": lambda t, w: f"since {t * 4 + w} of them"}, ("item", "worker", "category"), "label",  # free text
         {"task": "item", "worker": "worker", "label": "category"}))},
    **{f"further names: {names}": (
        called(crowd(), *names), {"roles": dict(zip(("task", "worker", "label"), names, strict=True)), "changes": {}})
       for names in (("subject", "user_name", "verdict"), ("segment", "annotator_name", "label_name"),
                     ("file_id", "annotator", "final answer"), ("image_name", "rater", "score"),
                     ("trace_id", "evaluator", "target"))},
    **{f"long records beside {more}": (
        ("long.jsonl", [{**row, **more} for row in FRAME.to_dict("records")]), {"crowd": CROWD, "format": "long"})
       for more in ({"spans": [1, 2]}, {"tokens": ["a", "b", "a"]}, {"meta": {"x": 1, "y": 2}},
       {"labels": ["cat", "dog"]})},
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = TABLE[name]
    check(placed(tmp_path, content), *steps)


def test_what_stands_beside_the_labels_of_a_case() -> None:
    found = Told(read_case("two-column-task-long", task=("doc_id", "sent_id")))
    assert found.task_ids[0] == "d0 / 0" and {*found.extra.columns} >= {"doc_id", "sent_id"}
    error = refusal("response-is-the-judged-text")
    assert isinstance(error, MappingError)
    for remedy in error.remedies:
        assert read_case("response-is-the-judged-text", label=remedy.value).dataset().n_annotations == 120
    assert "Q_overall" in [remedy.value for remedy in error.remedies]
    counts = read_case("label-counter").dataset().annotations.groupby(["task", "label"]).size().unstack()
    assert counts.to_numpy().tolist()[0] == [60, 30, 10]
    named = [name for name in Told(read_case("zooniverse")).worker_ids if not name.startswith("not-logged-in")]
    assert tuple(named) == WORKERS
    assert examine_frame(IMAGES).report.questions[0].remedies[0].value in ("rude", "fun")


def test_lists_of_which_one_is_longer_are_refused(tmp_path: Path) -> None:
    rows = [{"id": k, "annotators": list("xyz" + "w" * (k == 5)), "labels": list("aba")} for k in range(9)]
    pd.DataFrame(rows).to_parquet(tmp_path / "lists.parquet")
    check(tmp_path / "lists.parquet", {"refused": "lengths"})


# Name -> the records or document of the same crowd in another shape.
SHAPES: dict[str, Any] = {
    "by worker in a field": [{"id": t, "annotations": {w: {"label": c, "s": 1} for w, c in x}} for t, x in TASKS],
    "unknown names": [
        {"nr": t, "judgements": [{"by": w, "verdict": c, "secs": i + k / 7} for k, (w, c) in enumerate(x)]}
        for i, (t, x) in enumerate(TASKS)
    ],
    "pairs": [{"doc": t, "votes": [[w, c] for w, c in x]} for t, x in TASKS],
    "workers as records": [{"id": t, "labels": [{"user": {"id": w}, "label": c} for w, c in x]} for t, x in TASKS],
    "HateXplain": {
        t: {"post_id": t, "annotators": [{"label": c, "annotator_id": w, "target": ["None"]} for w, c in x],
            "post_tokens": ["a", "b"]} for t, x in TASKS
    },
    "record of lists": [{"id": t, "annotators": {"label": [c for _, c in x], "annotator_id": [w for w, _ in x]}}
                        for t, x in TASKS],
    "map": {t: dict(x) for t, x in TASKS},
    "map in a field": [{"id": t, "text": "hi", "labels": dict(x)} for t, x in TASKS],
    "map of numbers": [{"id": t, "labels": {w: 20 * ANIMALS.index(c) for w, c in x}} for t, x in TASKS],
    "lists": [{"id": t, "annotator_ids": [w for w, _ in x], "ratings": [c for _, c in x], "tokens": ["a", "b"]}
              for t, x in TASKS],
    "lists of unknown names": [{"id": t, "who": [w for w, _ in x], "said": [c for _, c in x]} for t, x in TASKS],
    "pandas": json.loads(FRAME.reset_index(drop=True).to_json()),
    "columns": {name: list(column) for name, column in FRAME.items()},
    "inside of a document": {"version": 1, "data": FRAME.to_dict("records")},
    "records inside of a document": {
        "version": "1",
        "data": [{"item": t, "annotations": [{"annotator": w, "label": c} for w, c in x]} for t, x in TASKS]
    },
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str, tmp_path: Path) -> None:
    content = SHAPES[shape]
    paths = [written(tmp_path, "crowd.json", content)]
    if isinstance(content, list):
        paths.append(written(tmp_path, "crowd.jsonl", content))
    if isinstance(content, list) and shape != "pairs":
        pd.DataFrame(content).to_parquet(tmp_path / "crowd.parquet")
        paths.append(tmp_path / "crowd.parquet")
    for path in paths:
        check(path, {"crowd": CROWD, "changes": {}, "worker_ids": [*WORKERS]})
        assert read_dataset(path).task_ids[0] == "photo01"


@pytest.mark.parametrize("shape", ["SNLI", "places", "places with gaps"])
def test_labels_without_workers(shape: str, tmp_path: Path) -> None:
    records = {
        "SNLI": [{"annotator_labels": [c for _, c in x], "captionID": f"c{i // 3}", "pairID": t, "sentence1": "a",
                  "gold_label": x[0][1] if i else "-"} for i, (t, x) in enumerate(TASKS)],
        "places": [{"id": t, "text": f"about {t}", "labels": [c for _, c in x]} for t, x in TASKS],
        "places with gaps": [{"id": t, "labels": [dict(x).get(w) for w in WORKERS]} for t, x in TASKS],
    }[shape]  # fmt: skip
    gold = {"n_gold": 23, "classes": ANIMALS} if shape == "SNLI" else {}
    rows = 96 if shape == "places with gaps" else 90
    check(written(tmp_path, "crowd.jsonl", records), {"crowd": CROWD, "has": {"no-workers"}, "n_rows": rows, **gold})


HEAD = "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Ent|value\n#T_RL=custom.Rel|kind|BT_custom.Ent\n\n"


def webanno(folder: Path, files: dict[str, str]) -> Path:
    for name, tags in files.items():
        rows = [f"{1 + k // 3}-{1 + k % 3}\t0-1\ttoken{k}\t{tag}\t_\t_\t" for k, tag in enumerate(tags.split())]
        (folder / "annotation" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "annotation" / name).write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    return folder


def test_webanno_spans_of_several_tokens_and_a_curator(tmp_path: Path) -> None:
    check("inception-folder", {"n_tasks": 5, "worker_ids": [*WORKERS]})
    tags = {"d1/ann.tsv": "PER[1] PER[1] _ PER[1] LOC _", "d1/CURATION_USER.tsv": "PER[1] PER[1] _ _ LOC _",
            "d2/ben.tsv": "_ LOC LOC"}  # fmt: skip
    found = Told(examine(webanno(tmp_path / "one", tags)))
    assert found.labels == ["B-PER", "I-PER", "O", "B-PER", "B-LOC", "O", "O", "B-LOC", "B-LOC"]
    assert found.golds[:6] == ["B-PER", "I-PER", "O", "O", "B-LOC", "O"] and len(found.sentences) == 3
    check(webanno(tmp_path / "two", {"d1/ann.tsv": "_ LOC", "d1/ben.tsv": "_ LOC _"}), {"refused": "tokens"})
