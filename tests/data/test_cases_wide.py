"""Wide tables, counts and ranks, and where the names of columns are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crowdcore.analysis import agreement
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, from_frame, read_dataset
from crowdcore.data.tables import delimited
from tests.data.reading.read_case import ANIMALS, CROWD, Told, check, path_of, placed, read_case, table

WORKERS = ("ann", "ben", "cem")
UPRIGHT: dict[str, Any] = {"format": "wide", "lacks": {"turned", "orientation", "pairs", "no-workers"}}
NAMED: dict[str, Any] = {"header": True, "lacks": {"no-header", "title-rows", "counted-columns", "extra-headers"}}
FORM = "Timestamp,Is picture 1 a cat?,Is picture 2 a cat?,Is picture 3 a cat?\n"
SCALES = ["1,2,5,5", "3,3,1,1", "4,4,2,2", "5,5,3,4", "2,2,4,4", "1,1,2,2"]
PAIRS = [("d1", "w3", 1, "w1", 2), ("d2", "w1", 2, "w2", 2), ("d3", "w2", 1, "w3", 1), ("d4", "w1", 1, "w2", 1)] * 3
PROPOSED = {"task": "foo", "worker": "who", "label": "says"}
VOTES = [(f"doc{i}", who, "yes" if (i + k) % 3 else "no") for i in range(12) for k, who in enumerate(("lea", "tom"))]
RANKS = pd.DataFrame([np.random.default_rng(k).permutation(4) + 1 for k in range(12)], columns=[*"gpqy"])
COUNTS = np.array([[1, 2, 1], [2, 0, 2], [3, 0, 0], [0, 1, 2], [2, 2, 0]])
SHARES = pd.DataFrame(COUNTS / COUNTS.sum(1, keepdims=True), columns=[*ANIMALS]).round(3).assign(item=[*"abcde"])
MANY = "".join(f"t{i},{i % 3},{5 - i % 3},0\n" for i in range(1100))
CODES = "".join(f"t{i};{w};{'1,3' if i % 2 else '1,2'}\n" for i in range(8) for w in "ab")
EIGHT = "task,ann,ben,cem\n" + "".join(f"t{i},cat,dog,cat\n" for i in range(8))
FEW_CELLS = ["cat,,,", "dog,cat,,", "cat,cat,dog,", ",dog,dog,cat", "cat,dog,,cat"] * 3
TITLED = "".join(f"t{t};{w};{'xy'[(t + i) % 2]}\n" for t in range(6) for i, w in enumerate("abc"))
NO_NAME = {"asked": {}, "findings": {"no-header": {"level": "note"}}, "crowd": CROWD}

CASES: dict[str, tuple[Any, ...]] = {
    **{case: (case, {"format": form, "crowd": crowd}) for case, form, crowd in (
        ("annotator-label-pairs", "pairs", CROWD), ("slots", "wide", CROWD),
        ("int-and-float-columns", "wide", (24, 4, 91, 0.339867)),
        ("number-id-as-worker", "wide", (48, 3, 144, 0.064907)), ("pseudo-label", "wide", (30, 3, 90, -0.011364)),
        ("expert-and-amateurs", "wide", (40, 9, 173, -0.015833)), ("model-columns", "wide", (24, 5, 114, 0.429968)))},
    **{case: (case, {"format": "turned", "crowd": crowd, "findings": {"turned": {"choices": [{"turn": False}]}}},
              ({"turn": False}, {"n_tasks": crowd[1]}), ({"turn": True}, {"crowd": crowd}))
       for case, crowd in (("google-form", CROWD), ("qualtrics-three-headers", CROWD),
                           ("raters-in-rows-respondent", (12, 3, 36, 0.756381)))},
    "an orientation that cannot be seen": (
        "raters-in-rows-no-header",
        {"n_tasks": 3, "n_workers": 12, "findings": {"orientation": {"choices": [{"turn": True}, {"turn": False}]}}},
        ({"turn": True}, {"size": (12, 3, 36)}), ({"turn": False}, {"lacks": {"orientation"}})),
    "ids are no workers": (
        "number-id-as-worker", {"roles": {"worker": "3 columns"}},
            ({"format": "wide"}, {"n_workers": 3})),
    "pairs under other names": (
        pd.DataFrame([(f"d{i}", *row[1:]) for i, row in enumerate(PAIRS)], columns=["doc", "x_1", "y_1", "x_2", "y_2"]),
        {"n_tasks": 12, "worker_ids": {"w1", "w2", "w3"}, "classes": ("1", "2")}),
    **{text.partition("\n")[0]: (text, {**UPRIGHT, "n_tasks": text.count("\n") - 1}) for text in (
        "task,w1,w2,w3\nt1,a,b,a\nt2,b,b,a\nt3,a,a,a\n", "participant,x1,x2,x3\np1,a,b,a\np1,b,b,b\np2,a,a,b\n",
        "item,ann,ben,cem\nq1,yes,no,yes\nq2,no,no,yes\n", "name,ann,ben\nfoo,1,2\nbar,2,2\nbaz,1,1\n")},
    "answers of people without names": (
        FORM + "".join(f"2024/05/0{i} 10:00,{'yes' if i % 2 else 'no'},yes,no\n" for i in range(1, 7)),
        {"format": "turned", "n_tasks": 3, "n_workers": 6}),
    **{f"one of several questions of {case}": (
        case, {"doubts": ["several-questions"]},
        *(({"question": q}, {"questions": (), "n_annotations": n, "n_left_out": n}) for q in questions),
        ({"question": "another"}, {"refused": SettingError}))
       for case, questions, n in (("question-by-annotator", ("sentiment", "toxic"), 40),
                                  ("several-fields-wide", ("tone", "accuracy"), 72))},
    "questions of one scale": (
        "doc,fluency_ann,fluency_ben,adequacy_ann,adequacy_ben\n" + "".join(f"d{i},{r}\n" for i,
            r in enumerate(SCALES)),
        {"changes": {"several-questions": ()}},
        ({"question": "adequacy"}, {"label": [4, 4, 0, 0, 1, 1, 2, 3, 3, 3, 1, 1]})),
    "a worker whose name is a word for numbers": (
        table([(f"t{i}", *("cat" if i % k else "dog" for k in (2, 3, 5))) for i in range(12)], "item", "lea", "max",
        "tom"),
        {"worker_ids": ["lea", "max", "tom"]}),
    "three columns whose names say nothing": (
        table(VOTES, "foo", "who", "says"), {"refused": "columns", "first": PROPOSED},
        (PROPOSED, {"size": (12, 2, 24), "classes": ("no", "yes")})),
    **{f"counts of {case}": (
        case, {"size": size, "format": "counts", "classes": classes, "findings": {"no-workers": {"level": "warning"}}})
       for case, size, classes in (("counts-per-class", (10, 14, 140), ("1", "2", "3", "4", "5")),
                                   ("counts-per-class-n", CROWD[:3], ANIMALS),
                                   ("winner-one-hot", (40, 1, 40), ("model_a", "model_b", "tie")))},
    "agreement is that of the counts": ("counts-per-class-n", {"crowd": CROWD}),
    "shares without their number": (
        "percent-per-class", {"refused": "shares", "choices": [{"workers": [*ANIMALS]}]},
        ({"workers": ANIMALS}, {"n_workers": 3})),
    "shares of a frame without their number": (SHARES, {"refused": "shares"}),
    "shares with their number": (SHARES.assign(n_annotators=COUNTS.sum(1)), {"n_annotations": COUNTS.sum()}),
    "ranks are no labels": (RANKS, {"refused": "ranks"}, ({"workers": [*"gpqy"]}, {"n_workers": 4})),
    "a count that is none": (
        f"task,n_a,n_b,n_c\n{MANY}t-last,1.5,2,3\n", {"refused": "not-counts", "row": 1101, "column": "n_a"}),
    "rows of task, label and count": (
        "task,label,count\nt1,cat,2\nt1,dog,1\nt2,cat,3\n",
        {"size": (2, 3, 6), "roles": {"task": "task", "label": "label", "count": "count"}}),
    "a count that is missing": ("task,label,count\nt1,cat,2\nt1,dog,\nt2,,3\n", {"refused": "not-counts"}),
    "a map of nothing": (("map.json", {"id": {"id": None}}), ({"format": "counts"}, {"refused": "no-label"})),
    **{f"the first row of {case} is what its content says": (
        case, {"changes": {}, "crowd": crowd, "findings": {code: {"choices": remedy}}})
       for case, crowd, code, remedy in (
           ("no-header-long", CROWD, "no-header", [{"header": True}]),
           ("no-header-numbers", CROWD, "no-header", [{"header": True}]),
           ("no-header-wide", CROWD, "no-header", [{"header": True}]),
           ("pandas-columns-0-1-2", (30, 6, 103, 0.07455), "counted-columns", [{"header": False}]),
           ("title-rows", CROWD, "title-rows", [{"skip": 0}]))},
    **{f"roles of {case} can be named": (
        case, ({"task": "1", "worker": "2", "label": "3"}, {"format": "long", "crowd": CROWD}),
        ({"task": "2", "worker": "1"}, {"n_tasks": 4, "n_workers": 24}))
        for case in ("no-header-long", "no-header-numbers")},
    "whole numbers under names nobody knows": (
        "long-of-numbers", {"refused": "columns"}, ({"task": "q", "worker": "p", "label": "r"}, {"crowd": CROWD})),
    "decimal commas are points": (
        "decimal-comma", {"refused": "many-numbers"},
        ({"kind": "ratings", "low": 1, "high": 5}, {"changes": {}, "n_annotations": 96})),
    "codes of several classes are no decimal commas": ("task;worker;label\n" + CODES, {"classes": ("1,2", "1,3")}),
    **{f"names stay names in {text!r}": (text, NAMED) for text in (
        "task,worker,label\na,b,c\nb,c,a\n", "item;a;b\nx1;a;b\nx2;b;b\nx3;a;a\n",
            ",a,b,c\nx,a,b,c\ny,b,c,c\nz,c,c,c\n",
        "doc,1,2,3\nd1,cat,dog,cat\nd2,dog,dog,dog\nd3,cat,cat,cat\n", "unit,v1,v2\nq1,2,3\nq2,3,3\nq3,2,2\n")},
    **{f"{n} numbers above words are names": (
        table([["ab"[(i * t) % 2] for i in range(n)] for t in range(12)], *(str(i + 101) for i in range(n))),
        {"n_workers": n}) for n in (2, 7)},
    **{f"a title of {len(lines)} lines": (
        "\n".join([*lines, "task;worker;label", TITLED]), {"n_annotations": 18},
            ({"skip": len(lines)}, {"n_annotations": 18}))
       for lines in (["Round 2"], ["Round 2", ""], ["Round 2", "by ann, ben", ""])},
    "a sparse first row is no title": ("\n".join(FEW_CELLS) + "\n", {"size": (15, 4, 36), "classes": ANIMALS[1:]}),
    "the first row below a title is row 1": (
        path_of("title-rows").read_text().replace("photo01,ben,dog", "photo01,ben,"),
        {"changes": {"missing-label": (2,)}}),
    "merged cells are filled down": (
        "merged-cells", {"crowd": CROWD, "asked": {"merged-cells": [{"fill": ["task"]}, {"fill": []}]}},
        ({"fill": ["task"]}, {"changes": {}, "crowd": CROWD}), ({"fill": ["tsk"]}, {"refused": SettingError}),
        ({"fill": []}, {"findings": {"missing-task": {"count": 66}}})),
    "a last row of totals": (
        "total-row", {"crowd": CROWD, "doubts": ["total-row"], "classes": ANIMALS,
            "findings": {"total-row": {"examples": ("20", "21", "22")}}},
        ({"totals": True}, {"changes": {}}),
        ({"totals": False}, {"n_tasks": 25, "n_annotations": 94, "questions": ()})),
    **{f"a last row {last} is a task": (f"{EIGHT}{last}\n", {"questions": ()})
       for last in ("t9,lynx,lynx,lynx", "t9,5,cat,cat", "t9,,,")},
    "a second header in another order": (
        "task,worker,label\nt1,ann,cat\nt2,ben,dog\nworker,task,label\nann,t3,cat\n",
        {"refused": "header-in-another-order", "row": 3}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    check(placed(tmp_path, content), *steps)


def remedies(imported, code):
    """The remedies of the findings of a code, as (setting, value)."""
    return [(r.setting, r.value) for f in imported.report.findings if f.code == code for r in f.remedies]


def test_what_is_the_same_dataset():
    for case in ("google-form", "qualtrics-three-headers", "raters-in-rows-respondent"):
        assert read_case(case, turn=True).dataset().fingerprint == read_case(case).dataset().fingerprint
    for case, question in (("question-by-annotator", "sentiment"), ("several-fields-wide", "tone")):
        imported = read_case(case)
        same = read_case(case, question=question).dataset(accept=True)
        assert same.fingerprint == imported.dataset(accept=True).fingerprint
        assert remedies(imported, "several-questions")[0] == ("question", question)
    whole = read_case("merged-cells").dataset(accept=True)
    assert read_case("pseudo-label").report.roles["task"] == "source_id"
    assert read_case("merged-cells", fill=["task"]).dataset().fingerprint == whole.fingerprint
    assert read_case("decimal-comma", kind="ratings", low=1, high=5).dataset().rating[:3].tolist() == [1.6, 3.7, 3.6]
    assert round(agreement(read_case("counts-per-class").dataset()).fleiss.value, 6) == 0.209931  # Fleiss 1971, table 1


def test_places_are_no_workers():
    for case in ("slots", "counts-per-class", "counts-per-class-n", "winner-one-hot"):
        assert any("No worker is named" in note for note in read_case(case).dataset().notes)
    imported = read_case("slots")
    assert [f.level for f in imported.report.findings if f.code == "no-workers"] == ["warning"]
    (named,) = remedies(imported, "no-workers")
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
    imported = read_case(case)
    assert [f.code for f in imported.report.changes] == ["columns-left-out"]
    offered = remedies(imported, "columns-left-out")
    assert ("gold", column) in offered
    with_gold = read_case(case, gold=column)
    assert (with_gold.report.n_workers, with_gold.report.n_gold) == (n, with_gold.report.n_tasks)
    (workers,) = [value for setting, value in offered if setting == "workers" and value]
    assert read_case(case, workers=workers).report.n_workers == n + 1
    assert len(next(f for f in imported.report.findings if f.code == "worker-columns").examples) == n


def test_items_of_a_hit_are_tasks():
    found = Told(read_case("mturk-five-items"))
    assert found.size[::2] == (40, 120) and found.dataset.file_row.max() == 24
    assert len({(task, worker) for task, worker, _ in found.triples}) == 120
    assert found.media.columns["text"].notna().all()
    assert remedies(found, "items-of-a-hit") == [("label", None)]
    assert read_case("mturk-five-items", label="Answer.Choice3").report.n_annotations == 24


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_workers_are_no_counts(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 60)
    answers = np.where(rng.random((60, 5)) < 0.7, truth[:, None], rng.integers(0, 4, (60, 5)))
    for low in (0, 1):
        for people in (["ann", "ben", "cem", "dee", "eve"], ["1", "2", "3", "4", "5"]):
            check(pd.DataFrame(answers + low, columns=people), {"size": (60, 5, 300)})
    check(pd.DataFrame((answers > 1).astype(int), columns=list("abcde")), {"n_workers": 5})
    for n_classes in (2, 5):  # workers who guess
        check(pd.DataFrame(rng.integers(0, n_classes, (40, 4)), columns=list("abcd")), {"n_workers": 4, "changes": {}})


def test_counts_of_ten_thousand_images(data_folder):
    report = examine(data_folder / "cifar10h_counts" / "counts.parquet").report
    assert (report.n_tasks, report.n_annotations, report.n_workers) == (10_000, 511_000, 63)


def test_numbers_that_rule_each_other_out_are_asked_about():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.5] * 3, 60)
    numbers = np.array([rng.multinomial(n, share) for n, share in zip(rng.integers(2, 7, 60), shares, strict=True)])
    frame = pd.DataFrame(numbers, columns=["negative", "neutral", "positive"])
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert [r.settings for r in caught.value.remedies][:2] == [("format",), ("workers",)]
    check(frame, ({"format": "counts"}, {"classes": tuple(frame), "n_annotations": numbers.sum()}),
          ({"workers": list(frame)}, {"n_workers": 3}))  # fmt: skip


def test_numbers_of_labels_by_worker_are_asked_about():
    frame = crosstab(["neg", "neu", "pos"], [(11, 6, 6), (12, 6, 6), (9, 6, 7), (10, 7, 7)])
    turned, ratings = {"n_tasks": 3, "n_workers": 4}, {"kind": "ratings", "low": 0, "high": 20}
    check(frame, {"asked": {"counts-of-workers": [{"kind": "ratings"}, {"turn": True}]}},
          ({"turn": True}, turned | {"questions": ()}), (ratings, turned | {"questions": ()}))  # fmt: skip
    rng = np.random.default_rng(0)
    for most in (5, 7, 10):  # grades
        grades = rng.integers(1, most + 1, (6, 4))
        check(crosstab(["soup", "rice", "fish", "tea"], grades), {"lacks": {"counts-of-workers"}})


def crosstab(columns: list[str], rows: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=columns).assign(worker=[f"p{k}" for k in range(len(rows))])


def test_merged_cells_reach_over_pieces(tmp_path, monkeypatch):
    rows = "".join(f"{f'task {i // 3}' if i % 3 == 0 else ''},w{i % 3},{'ab'[i % 2]}\n" for i in range(3000))
    path = tmp_path / "merged.csv"
    path.write_text("unit,worker,label\n" + rows)
    monkeypatch.setattr(delimited, "BLOCK", 1 << 10)
    dataset = read_dataset(path, fill=["unit"], task="unit")
    assert (dataset.n_tasks, dataset.n_annotations) == (1000, 3000)
