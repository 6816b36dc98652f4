"""Cases of long and nested files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data import examine, examine_frame, read_dataset
from crowdcore.data.columns import MappingError
from tests.data.reading.read_case import ANIMALS, CASES, CROWD, path_of, read_case, refusal, summary


def choices(remedies: tuple[Remedy, ...]) -> list[tuple[Any, Any]]:
    return [(remedy.setting, remedy.value) for remedy in remedies]


def codes(found: Any, *levels: str) -> set[str]:
    return {finding.code for finding in found.report.findings if not levels or finding.level in levels}


@pytest.mark.parametrize(("question", "alpha"), [("toxic", -0.153284), ("spam", -0.12069)])
def test_several_questions_are_asked_and_each_can_be_read(question: str, alpha: float) -> None:
    (asked,) = read_case("several-questions-long").report.questions
    assert asked.code == "several-questions"
    both = ("task", ["item_id", "question"])
    assert choices(asked.remedies) == [("question", "toxic"), ("question", "spam"), both]
    found = read_case("several-questions-long", question=question)
    assert summary(found) == (24, 4, 96, alpha)
    assert found.report.n_left_out == 96 and not found.report.changes
    assert summary(read_case("several-questions-long", task=both[1]))[:3] == (48, 4, 192)


def test_a_question_that_is_not_there() -> None:
    assert refusal("several-questions-long", question="rude").code == "no-question"


def test_a_task_of_two_columns_is_asked() -> None:
    (asked,) = read_case("two-column-task-long").report.questions
    assert choices(asked.remedies) == [("task", ["doc_id", "sent_id"])]
    found = read_case("two-column-task-long", task=("doc_id", "sent_id"))
    assert summary(found)[:3] == (30, 4, 120)
    dataset = found.dataset()
    assert dataset.task_ids[0] == "d0 / 0"
    assert {*dataset.extra.columns} >= {"doc_id", "sent_id"}  # group='doc_id' keeps a document in one split


@pytest.mark.parametrize(
    ("task", "named"), [(("doc_id", "nothing"), "nothing"), (("doc_id",), "two or more"), (("doc_id", "doc_id"), "two")]
)
def test_a_task_of_columns_that_are_not_there(task: tuple[str, ...], named: str) -> None:
    with pytest.raises(DataError, match=named):
        read_case("two-column-task-long", task=task)


def test_a_task_of_two_columns_without_one_part_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "parts.csv"
    file.write_text("doc,sent,worker,label\n1,1.5,a,x\n1, 1.5 ,b,y\n,2,a,x\ndoc,sent,worker,label\n2,1,a,y\n")
    found = examine(file, task=("doc", "sent"))
    assert codes(found, "change") == {"missing-task", "repeated-header"}
    assert [*found.dataset(accept=True).task_ids] == ["1 / 1.5", "2 / 1"]


def test_answers_given_again_are_no_questions(tmp_path: Path) -> None:
    rows = [(t, w, a, "xy"[(t * w + a) % 2], f"2024-01-0{a}") for t in range(10) for w in range(4) for a in (1, 2)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "attempt", "label", "day given"])
    assert not examine_frame(frame).report.questions
    assert not examine_frame(frame.assign(attempt=range(len(frame)))).report.questions  # a row number


def test_the_question_comes_first_by_name_and_the_task_by_content() -> None:
    rows = [(q, f"p{t}", w, "yn"[(t + w) % 2]) for t in range(10) for w in range(3) for q in ("rude", "fun")]
    frame = pd.DataFrame(rows, columns=["question", "image", "annotator", "answer"])
    found = examine_frame(frame)
    assert found.report.roles["task"] == "image"
    (asked,) = found.report.questions
    assert {value for setting, value in choices(asked.remedies) if setting == "question"} == {"rude", "fun"}
    assert examine_frame(frame, question="fun").dataset().n_annotations == 30


def test_the_judged_text_is_no_label() -> None:
    error = refusal("response-is-the-judged-text")
    assert isinstance(error, MappingError) and error.code == "judged-text"
    assert ("label", "Q_overall") in choices(error.remedies)
    for remedy in error.remedies:
        assert read_case("response-is-the-judged-text", label=remedy.value).dataset().n_annotations == 120
    found = read_case("response-is-the-judged-text", label="Q_overall", gold="safety_gold")
    assert summary(found) == (20, 6, 120, -0.058993)
    assert found.report.n_gold == 20 and found.report.classes == ("No", "Unsure", "Yes")


def test_the_column_that_varies_within_tasks_is_the_label() -> None:
    found = read_case("question-answer-rating")
    assert found.report.roles == {"task": "question_id", "worker": "annotator", "label": "rating"}
    assert summary(found)[:3] == (20, 3, 60) and not found.report.changes
    (finding,) = [f for f in found.report.findings if f.code == "role-by-content"]
    assert choices(finding.remedies) == [("label", "answer")]
    assert read_case("question-answer-rating", label="answer").report.roles["label"] == "answer"


def crowd(**columns: Any) -> pd.DataFrame:
    """Four people on 24 items, and further columns of functions of item and person."""
    rows = [(t, w) for t in range(24) for w in range(4)]
    frame = {"item": [f"i{t}" for t, _ in rows], "person": [f"p{w}" for _, w in rows]}
    frame["mark"] = ["abc"[(t * 7 + w * t) % 3] for t, w in rows]
    return pd.DataFrame(frame | {name: [make(t, w) for t, w in rows] for name, make in columns.items()})


@pytest.mark.parametrize(
    ("column", "names", "role", "expected"),
    [
        ({"user_id": lambda t, w: w if t % 2 else None}, ("item", "user_name", "label"), "worker", "user_name"),
        ({"user": lambda t, w: f"author {t % 5}"}, ("item", "rater", "label"), "worker", "rater"),
        ({"unit_id": lambda t, w: 4 * t + w}, ("image_id", "worker", "label"), "task", "image_id"),
        ({"answer": lambda t, w: f"since {t * 4 + w} of them"}, ("item", "worker", "category"), "label", "category"),
    ],
    ids=["half empty", "the author of an item", "a row number", "free text"],
)
def test_a_column_gives_way_to_one_whose_content_fits_better(column, names, role, expected) -> None:
    frame = crowd(**column).rename(columns=dict(zip(("item", "person", "mark"), names, strict=True)))
    assert examine_frame(frame).report.roles[role] == expected


def test_labels_that_content_cannot_tell_apart_are_asked() -> None:
    frame = crowd(vote=lambda t, w: "yn"[(t + w * w) % 2]).rename(columns={"person": "worker", "mark": "category"})
    (asked,) = examine_frame(frame).report.questions
    assert asked.code == "which-label"
    assert choices(asked.remedies) == [("label", "category"), ("label", "vote")]
    for remedy in asked.remedies:
        assert not examine_frame(frame, label=remedy.value).report.questions


@pytest.mark.parametrize(
    ("item", "person", "mark"),
    [
        ("subject", "user_name", "verdict"),
        ("segment", "annotator_name", "label_name"),
        ("file_id", "annotator", "final answer"),
        ("image_name", "rater", "score"),
        ("trace_id", "evaluator", "target"),
    ],
)
def test_further_names(item: str, person: str, mark: str) -> None:
    frame = crowd().rename(columns={"item": item, "person": person, "mark": mark})
    found = examine_frame(frame)
    assert found.report.roles == {"task": item, "worker": person, "label": mark}
    assert not found.report.changes


def test_a_wide_table_with_a_column_of_such_a_name_stays_wide() -> None:
    wide = crowd().pivot(index="item", columns="person", values="mark").reset_index()
    found = examine_frame(wide.assign(reviewer=wide["p0"], target=wide["p1"]))
    assert found.report.format == "wide"


FRAME = pd.concat(pd.read_csv(f).assign(worker=f.stem) for f in sorted((CASES / "file-per-annotator/folder").iterdir()))
TASKS = [(task, list(zip(part.worker, part.label, strict=True))) for task, part in FRAME.groupby("task")]
WORKERS = ("ann", "ben", "cem", "dee")


@pytest.mark.parametrize("case", ["nested-annotations", "lists-in-parquet", "peerannot", "argilla-1"])
def test_cases(case: str) -> None:
    found = read_case(case)
    assert summary(found) == CROWD
    assert found.report.classes == (("0", "1", "2") if case == "peerannot" else ANIMALS)
    assert {f.code for f in found.report.changes} == ({"prediction"} if case == "argilla-1" else set())


def test_ids_that_a_spreadsheet_cut_short_are_asked_about(write) -> None:
    rows = [f"1.23E+12,{w},{'ab'[k % 2]}" for k in range(9) for w in "xyz"]
    assert [q.code for q in examine(write("\n".join(["task,worker,label", *rows]))).report.questions] == ["cut-numbers"]


def test_lists_of_which_one_is_longer_are_refused(tmp_path: Path) -> None:
    rows = [{"id": k, "annotators": list("xyz" + "w" * (k == 5)), "labels": list("aba")} for k in range(9)]
    pd.DataFrame(rows).to_parquet(tmp_path / "lists.parquet")
    with pytest.raises(DataError) as refused:
        examine(tmp_path / "lists.parquet")
    assert refused.value.code == "lengths"


def test_counter_of_labels() -> None:
    dataset = read_case("label-counter").dataset()
    assert (dataset.n_tasks, dataset.classes) == (24, ("e", "n", "c"))
    assert dataset.annotations.groupby(["task", "label"]).size().unstack().to_numpy().tolist()[0] == [60, 30, 10]


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


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    def write(document: Any, suffix: str = "json") -> Path:
        path = tmp_path / f"crowd.{suffix}"
        text = "\n".join(map(json.dumps, document)) if suffix == "jsonl" else json.dumps(document)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape: str, save: Callable[..., Path]) -> None:
    paths = [save(SHAPES[shape])]
    if isinstance(SHAPES[shape], list):
        paths.append(save(SHAPES[shape], "jsonl"))
        paths.append(paths[0].with_suffix(".parquet"))
        if shape != "pairs":
            pd.DataFrame(SHAPES[shape]).to_parquet(paths[-1])
        else:
            paths.pop()
    for path in paths:
        found = examine(path)
        assert summary(found) == CROWD
        assert not [f for f in found.report.findings if f.level in ("change", "question")]
        assert found.dataset().task_ids[0] == "photo01"
        assert tuple(found.dataset().worker_ids) == WORKERS


@pytest.mark.parametrize("shape", ["SNLI", "places", "places with gaps"])
def test_labels_without_workers(shape: str, save: Callable[..., Path]) -> None:
    records = {
        "SNLI": [{"annotator_labels": [c for _, c in x], "captionID": f"c{i // 3}", "pairID": t, "sentence1": "a",
                  "gold_label": x[0][1] if i else "-"} for i, (t, x) in enumerate(TASKS)],
        "places": [{"id": t, "text": f"about {t}", "labels": [c for _, c in x]} for t, x in TASKS],
        "places with gaps": [{"id": t, "labels": [dict(x).get(w) for w in WORKERS]} for t, x in TASKS],
    }[shape]  # fmt: skip
    found = examine(save(records, "jsonl"))
    assert summary(found) == CROWD
    assert "no-workers" in {f.code for f in found.report.findings}
    assert found.report.n_rows == (96 if shape == "places with gaps" else 90)
    if shape == "SNLI":
        assert (found.report.n_gold, found.report.classes) == (23, ANIMALS)


def test_maps_of_workers_are_turned_by_question(save: Callable[..., Path]) -> None:
    path = save({who: {t: dict(x)[who] for t, x in TASKS if who in dict(x)} for who in WORKERS})
    (asked,) = [f for f in examine(path).report.findings if f.level == "question"]
    assert asked.code == "turned"
    shapes = [summary(examine(path, **{r.setting: r.value}))[:2] for r in asked.remedies]
    assert shapes == [(24, 4), (4, 24)]
    assert not examine(path, turn=True).report.changes


def test_maps_that_may_count_are_asked_about(save: Callable[..., Path]) -> None:
    path = save([{"id": str(i), "given": {"x": 1 + i % 3, "y": 9 - i % 4, "z": i % 5}} for i in range(30)], "jsonl")
    (asked,) = [f for f in examine(path).report.findings if f.level == "question"]
    assert asked.code == "counts-or-workers"
    counts, workers = (read_dataset(path, **{r.setting: r.value}) for r in asked.remedies)
    assert (counts.classes, workers.worker_ids.tolist()) == (("x", "y", "z"), ["x", "y", "z"])


def test_questions_are_offered(save: Callable[..., Path]) -> None:
    path = save(
        [{"id": t, "annotations": [{"annotator": w, "tone": c, "topic": c < "c"} for w, c in x]} for t, x in TASKS]
    )
    with pytest.raises(DataError) as asked:
        examine(path)
    assert asked.value.code == "several-questions"
    classes = [examine(path, question=r.value).report.classes for r in asked.value.remedies]
    assert classes == [ANIMALS, ("False", "True")]


def test_lists_of_different_length(save: Callable[..., Path]) -> None:
    records = [{"id": t, "annotators": [w for w, _ in x], "labels": [c for _, c in x]} for t, x in TASKS * 60]
    records[1300]["labels"].pop()
    with pytest.raises(DataError) as refused:
        examine(save(records, "jsonl"))
    assert (refused.value.code, refused.value.row) == ("lengths", 1301)


@pytest.mark.parametrize(
    "more", [{"spans": [1, 2]}, {"tokens": ["a", "b", "a"]}, {"meta": {"x": 1, "y": 2}}, {"labels": ["cat", "dog"]}]
)
def test_long_records_beside_other_lists(more: dict[str, Any], save: Callable[..., Path]) -> None:
    found = examine(save([{**row, **more} for row in FRAME.to_dict("records")], "jsonl"))
    assert (summary(found), found.report.format) == (CROWD, "long")


class TestZooniverse:
    def test_case(self) -> None:
        found = read_case("zooniverse")
        tasks, workers, annotations, alpha = summary(found)
        assert (tasks, annotations, alpha) == (24, 90, 0.337748)
        named = [name for name in found.dataset(accept=True).worker_ids if not name.startswith("not-logged-in")]
        assert (workers, tuple(named)) == (27, WORKERS)
        levels = {f.code: f.level for f in found.report.findings}
        assert levels["several-questions"] == "question"
        assert levels["not-logged-in"] == "note"
        assert found.report.times == ("timestamp",)

    def test_each_question_opens(self) -> None:
        (asked,) = [f for f in read_case("zooniverse").report.findings if f.level == "question"]
        classes = [read_case("zooniverse", question=r.value).dataset().classes for r in asked.remedies]
        assert classes == [("Bird", "Cat", "Dog"), ("0", "1", "2")]

    def test_no_such_question(self) -> None:
        with pytest.raises(DataError) as refused:
            read_case("zooniverse", question="T7")
        assert [r.value for r in refused.value.remedies] == ["T0", "T1"]

    def test_a_damaged_cell(self, tmp_path: Path) -> None:
        frame = pd.read_csv(path_of("zooniverse"))
        frame.loc[3, "annotations"] = "[{"
        frame.to_csv(tmp_path / "z.csv", index=False)
        with pytest.raises(DataError, match="not JSON") as refused:
            examine(tmp_path / "z.csv")
        assert refused.value.row == 4


class TestWebAnno:
    HEAD = "#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Ent|value\n#T_RL=custom.Rel|kind|BT_custom.Ent\n\n"

    def project(self, folder: Path, files: dict[str, str]) -> Path:
        for name, tags in files.items():
            rows = [f"{1 + k // 3}-{1 + k % 3}\t0-1\ttoken{k}\t{tag}\t_\t_\t" for k, tag in enumerate(tags.split())]
            path = folder / "annotation" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.HEAD + "\n".join(rows) + "\n", encoding="utf-8")
        return folder

    def test_case(self) -> None:
        dataset = read_case("inception-folder").dataset()
        assert (dataset.n_tasks, tuple(dataset.worker_ids)) == (5, WORKERS)

    def test_spans_of_several_tokens_and_a_curator(self, tmp_path: Path) -> None:
        tags = {"d1/ann.tsv": "PER[1] PER[1] _ PER[1] LOC _", "d1/CURATION_USER.tsv": "PER[1] PER[1] _ _ LOC _",
                "d2/ben.tsv": "_ LOC LOC"}  # fmt: skip
        dataset = read_dataset(self.project(tmp_path, tags))
        names = [dataset.classes[c] for c in dataset.label]
        assert names == ["B-PER", "I-PER", "O", "B-PER", "B-LOC", "O", "O", "B-LOC", "B-LOC"]
        assert [dataset.classes[g] for g in dataset.gold[:6]] == ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
        assert len(dataset.sentences) == 3

    def test_other_tokens_are_refused(self, tmp_path: Path) -> None:
        folder = self.project(tmp_path, {"d1/ann.tsv": "_ LOC", "d1/ben.tsv": "_ LOC _"})
        with pytest.raises(DataError) as refused:
            examine(folder)
        assert refused.value.code == "tokens"
