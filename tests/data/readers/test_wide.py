"""Wide tables and pairwise preferences."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from crowdcore import analysis
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data import (
    MappingError,
    examine,
    examine_ratings,
    from_frame,
    ratings_from_frame,
    read_dataset,
    read_ratings,
)
from crowdcore.data.tables import delimited
from crowdcore.data.writers import write_wide
from tests.data.reading.read_case import check, examined, placed

WANT = [("t1", "w1", "a"), ("t1", "w10", "b"), ("t2", "w2", "a"), *(("t3", w, "b") for w in ("w1", "w2", "w10"))]
MINUS, GOLD_MINUS = "task,w1,w2\nt1,-1,1\nt2,0,-1\nt3,1,\n", "task,gold,w1,w2\nt1,-1,0,1\nt2,1,1,0\n"
IDLE = "task,w1,idle,w2\nt1,a,,b\nt2,b,,\n"
ASIDE = "task,anna,ben,gold_standard,majority,notes,n_words,anna_seconds\n" + "".join(
    f"t{i},{'ab'[i % 2]},{'ab'[i % 3 == 0]},a,a,hm,{i * 3},{i}.5\n" for i in range(20)
)
SIZES = "".join(f"t{i},{i % 2},{i % 3 % 2},{(i + 1) % 2},{100 + i}\n" for i in range(10))
NUMBERED = "1,2,3\n1,1,2,1\n2,2,2,2\n3,3,3,3\n4,1,1,4\n5,2,2,2\n"
GOLD_AND_TWO = "task,gold,w1,w2\nt1,a,a,b\nt2,b,a,a\n"

CASES: dict[str, tuple[Any, ...]] = {
    **{f"empty cells are missing: {text!r}": (text, {"worker_ids": ["w1", "w2", "w10"], "triples": WANT}) for text in (
        "task,w1,w2,w10\nt1,a,,b\nt2,,a,\nt3,b,b,b\n", "task,w1,w2,w10\nt1,a,-1,b\nt2,-1,a,-1\nt3,b,b,b\n",
        "item\tw1\tw2\tw10\nt1\ta\t \tb\nt2\t\ta\t-1\nt3\tb\tb\tb\n", ",w1,w2,w10\nt1,a,,b\nt2,,a,\nt3,b,b,b\n",
        "name of it,w1,w2,w10\nt1,a,,b\nt2,,a,\nt3,b,b,b\n")},
    "a single worker": (
        "task,ann\nt1,a\nt2,b\nt3,a\n", {"changes": {}, "labels": ["a", "b", "a"], "worker_ids": ["ann"],
        "findings": {"worker-columns": {"level": "warning", "choices": [{"gold": "ann"}]}}}),
    **{f"no single worker: {text!r}": (text, {"refused": MappingError, "match": "worker"}) for text in (
        "task,note\nt1,a\nt2,a\n", "task,name\nt1,a\nt2,b\n", "task,stars\nt1,1\nt2,1\n", "task,label\nt1,a\nt2,a\n")},
    "a matrix of numbers without names": (  # the layout of LabelMe's answers.txt
        ("answers.txt", "-1 2 0 -1\n1 -1 -1 10\n-1 -1 -1 -1\n"),
        ({"missing": ["-1"]}, {"triples": [("1", "2", "2"), ("1", "3", "0"), ("2", "1", "1"), ("2", "4", "10")],
                               "classes": ("0", "1", "2", "10"), "n_tasks": 3, "changes": {}})),
    "gold and text beside the workers": (
        "task,gold,text,w1,w2\nt1,b,hello,a,b\nt2,,you,b,\n",
            {"gold": [1, -1], "texts": ["hello", "you"], "n_workers": 2}),
    "an empty worker column": (
        IDLE, {"changes": {"empty-worker-column": ()}, "worker_ids": ["w1", "w2"], "text": ("1 empty", "'idle'")}),
    "rows in findings are rows of the table": (
        "task,w1,w2\nt1,a,b\nt2,z,\nt3,,z\n",
            ({"classes": ["a", "b"]}, {"changes": {"label-outside-classes": (2, 3)}})),
    "another value for missing": (
        "task,w1,w2\nt1,-1,1\nt2,1,0\nt3,-1,-1\n", ({"missing": ["0"]}, {"classes": ("-1", "1"), "n_annotations": 5})),
    "a long table with odd names": ("hit,person,verdict\nt1,w1,a\nt1,w2,b\nt2,w1,b\n", {"refused": MappingError}),
    "a long table with known names": ("hit,turker,verdict\nt1,w1,a\nt1,w2,b\nt2,w1,b\n",
        {"changes": {}, "n_annotations": 3}),
    "the same task twice": ("task,w1,w2\nt1,a,b\nt2,b,a\nt1,b,b\n", {"refused": None, "match": r"'t1'.*rows 1 and 3"}),
    "minus one beside numbers from 0": (
        MINUS, {"changes": {"minus-one": ()}, "n_rows": 6, "n_annotations": 3, "n_left_out": 3,
        "text": ("2 of 6 cells",),
        "findings": {"minus-one": {"count": 2, "left_out": 2, "choices": [{"missing": []}, {"missing": ["-1"]}]}}},
        ({"missing": []}, {"classes": ("-1", "0", "1")}), ({"missing": ["-1"]}, {"classes": ("0", "1")}),
        ({"classes": ["-1", "0", "1"]}, {"n_annotations": 5}), ({"classes": ["0", "1"]}, {"n_annotations": 3})),
    **{f"minus one is a label among {labels}": (
        "task,w1,w2\n" + "".join(f"t{i},{a},{b}\n" for i, (a, b) in enumerate(pairwise(labels))),
        {"changes": {}, "n_annotations": 2 * (len(labels) - 1), "classes": {x.removesuffix(".0") for x in labels}})
       for labels in (("-1", "1"), ("-1", "-2", "3"), ("-1.0", "1.0"))},
    "gold of minus one": (
        GOLD_MINUS, {"findings": {"gold-minus-one": {"rows": (1,), "column": "gold"}}, "gold": [-1, 1]},
        ({"classes": ["-1", "0", "1"]}, {"gold": [0, 2]})),
    "gold of minus one that is a class": (GOLD_MINUS.replace(",0", ",-1"), {"changes": {}, "gold": [0, 1]}),
    "columns that are no workers": (
        ASIDE, {"worker_ids": ["anna", "ben"], "findings": {"worker-columns": {"examples": ("anna", "ben")}}},
        ({"workers": ["anna", "majority"]}, {"worker_ids": ["anna", "majority"]}),
        ({"gold": "gold_standard", "workers": ["anna", "ben"]}, {"gold": [0] * 20})),
    "a column whose values no other holds": (
        "task,ann,ben,cem,size\n" + SIZES,
            {"findings": {"columns-left-out": {"level": "change", "examples": ("size",)}}}),
    "names of one kind": ("task,w1,w2,w3,w4\n" + SIZES, {"changes": {}, "n_workers": 4}),
    "words that most columns share": (
        "task,vote text 1,vote text 2,vote text 3\nt1,a,b,a\nt2,b,b,a\n",
            ({"format": "wide"}, {"changes": {}, "n_workers": 3})),
    **{f"a numbered first column: {first}": (
        f"{first},{NUMBERED}", {"changes": {}, "worker_ids": ["1", "2", "3"], "task_ids": ["1", "2", "3", "4", "5"]})
       for first in ("patient", "case no")},
    **{f"a numbered first column before names: {first}": (
        f"{first},{NUMBERED}".replace("1,2,3\n", "ann,ben,cem\n", 1), {"n_workers": 3})
        for first in ("patient", "case no")},
    "workers that cannot be": (
        GOLD_AND_TWO, *(({"workers": workers, "gold": "gold"}, {"refused": CrowdError, "match": sentence}) for workers,
        sentence in (
            (["w9"], "There is no column 'w9'"), (["w1", "w1"], "`workers` must name columns once each"),
            (["w1", "gold"], "`workers` must name columns once each")))),
    "the header again and the rows behind it": (
        "task,w1,w2\nt1,a,b\ntask,w1,w2\nt2,z,\n", ({"classes": ["a", "b"], "format": "wide"},
        {"lost": {"repeated-header": 2, "label-outside-classes": 1, "empty-cells": 1}, "n_rows": 6,
        "n_annotations": 2,
         "findings": {"label-outside-classes": {"rows": (3,)}}})),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, tmp_path: Path) -> None:
    content, *steps = CASES[name]
    check(placed(tmp_path, content), *steps)


def test_what_is_lost_with_a_column_takes_consent_and_nothing_else(tmp_path):
    examples = {
        f.level: f.examples for f in examined(placed(tmp_path, ASIDE)).report.findings if f.code == "columns-left-out"
    }
    assert examples == {"change": ("gold_standard", "majority", "n_words"), "warning": ("notes", "anna_seconds")}


def test_a_typed_parquet_matrix_and_a_single_worker_of_ratings(tmp_path):
    frame = pd.DataFrame({"w1": [0, np.nan, 2], "w2": [np.nan, 1, 1]}, index=pd.Index(["x", "y", "z"], name="task"))
    frame.to_parquet(tmp_path / "labels.parquet")
    triples = [("x", "w1", "0"), ("y", "w2", "1"), ("z", "w1", "2"), ("z", "w2", "1")]
    check(tmp_path / "labels.parquet", {"changes": {}, "triples": triples})
    frame = pd.DataFrame({"task": ["a", "b"], "worker": ["ann", "ann"], "label": [1.5, 2.0]})
    path = write_wide(ratings_from_frame(frame, low=1, high=5), tmp_path / "stars.csv")
    assert read_ratings(path, low=1, high=5).rating.tolist() == [1.5, 2.0]


def test_many_workers_in_pieces(tmp_path, monkeypatch):
    labels = np.random.default_rng(0).integers(-1, 5, size=(160, 150))
    pd.DataFrame(labels).to_csv(tmp_path / "labels.csv", index=False, header=False)
    monkeypatch.setattr(delimited, "BLOCK", 1 << 13)
    pieces = read_dataset(tmp_path / "labels.csv", classes=["0", "1", "2", "3", "4"])
    task, worker = np.nonzero(labels >= 0)
    np.testing.assert_array_equal(pieces.task, task)
    np.testing.assert_array_equal(pieces.worker, worker)
    np.testing.assert_array_equal(pieces.label, labels[labels >= 0])


def test_names_beside_words_are_no_ratings_of_workers(write):
    path = write("film,critic,says\na,x,good\nb,y,bad\n", "films.csv")
    with pytest.raises(MappingError, match=r"worker=…"):
        examine_ratings(path, task="film", low=1, high=3)
    path.write_text("film,x,y\na,good,bad\nb,bad,\n")
    ratings = examine_ratings(path, task="film", levels=["bad", "good"])
    assert (ratings.report.format, ratings.report.n_annotations) == ("wide", 3)


MODELS = ("claude", "gpt", "llama")
SIDES = [("model_a", "model_b"), ("A", "B"), ("A>B", "B>A"), ("1", "2"), ("A is better", "B is better")]
MIRROR = {**dict(SIDES), **{b: a for a, b in SIDES}}


def verdicts(words: tuple[str, str, str], swap: np.ndarray | None = None) -> pd.DataFrame:
    """All pairs of three models on six questions by three judges; some shown with their sides swapped."""
    rng = np.random.default_rng(3)
    pairs = [("claude", "gpt"), ("claude", "llama"), ("gpt", "llama")]
    rows = [(q, a, b, j) for q in range(6) for a, b in pairs for j in ("ann", "bob", "eve")]
    frame = pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "judge"])
    frame["winner"] = rng.choice(words, len(frame), p=[0.5, 0.3, 0.2])
    if swap is not None:
        frame.loc[swap, ["model_a", "model_b"]] = frame.loc[swap, ["model_b", "model_a"]].to_numpy()
        frame.loc[swap, "winner"] = frame.loc[swap, "winner"].map(lambda word: MIRROR.get(word, word))
    return frame


def triples_of_preferences(frame: pd.DataFrame) -> set[tuple[str, str, str]]:
    dataset = from_frame(frame)
    names = zip(dataset.task, dataset.worker, dataset.label, strict=True)
    return {(dataset.task_ids[t], dataset.worker_ids[w], dataset.classes[c]) for t, w, c in names}


@pytest.mark.parametrize(
    "words",
    [
        ("model_a", "model_b", "tie"),
        ("A", "B", "tie (both bad)"),
        ("A>B", "B>A", "A=B"),
        ("1", "2", "1.5"),
        ("A is better", "B is better", "a tie"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_sides_do_not_matter(words, seed):
    swap = np.random.default_rng(seed).random(54) < 0.5
    shown = verdicts(words, swap)
    assert triples_of_preferences(shown) == triples_of_preferences(verdicts(words))
    dataset = from_frame(shown)
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (18, 3, 54)
    assert set(dataset.classes) == set(words)


def partial(n: int, first: float, same: bool) -> pd.DataFrame:
    """Verdicts on a baseline and a model, the better one, each asked in both orders; the judges like the first side."""
    rng = np.random.default_rng(n)
    rows = []
    for q, judge in product(range(n), ("ann", "bob", "eve")):
        for turned in (False, False) if same else (False, True):
            better = rng.random() < np.clip(0.7 + (first if turned else -first), 0, 1)
            sides = ("zeta", "base") if turned else ("base", "zeta")
            rows.append((q, *sides, judge, "model_a" if better == turned else "model_b"))
    return pd.DataFrame(rows, columns=["question_id", "model_a", "model_b", "judge", "winner"])


def test_position_shows_where_the_same_answers_were_seen_in_both_orders():
    leanings = analysis.panel_leanings(from_frame(partial(150, 0.2, same=False)))
    assert leanings.columns == {"position": "swapped"} and (leanings.low > 0.2).all() and (leanings.orders == 150).all()
    fair = analysis.panel_leanings(from_frame(partial(150, 0.0, same=False)))
    assert (fair.low < 0).all() and (fair.high > 0).all()
    assert "swapped" not in pd.DataFrame(
        from_frame(partial(150, 0.2, same=True)).extra
    )  # the better one is always second


@pytest.mark.parametrize("first", [0.0, 0.25])
def test_a_drawn_order_is_the_position(first):
    rng, n = np.random.default_rng(1), 600
    sides = np.array(["alpha", "zeta"])[np.stack([late := rng.integers(0, 2, n), 1 - late], 1)]
    several = [pd.DataFrame({"annotator": [judge] * n}) for judge in ("gpt", "claude")]
    for frame in several:
        switched = rng.random(n) < 0.5
        chosen = np.where(rng.random(n) < 0.5 + np.where(switched, -first, first), 1, 2)  # the output that is preferred
        frame["instruction"] = [f"q{k}" for k in range(n)]
        frame[["generator_1", "generator_2"]] = sides
        frame[["preference", "is_switched_outputs"]] = np.stack([chosen, switched], 1)
    leanings = analysis.panel_leanings(read := from_frame(pd.concat(several), format="preferences"))
    assert read.n_tasks == n and leanings.columns == {"position": "swapped"}
    assert (abs(leanings.effect - 2 * first) < 0.12).all()


@pytest.mark.parametrize("given", [[1.0, 2.0], [1.0, 1.3, 1.5, 1.7, 1.9, 2.0]])
@pytest.mark.parametrize("judges", [["gpt"], ["gpt", "claude"]])
def test_each_instruction_is_a_task_and_numbers_between_sides_are_the_nearer_one(given, judges):
    """AlpacaEval compares the same two models on every instruction, and its weighted judges say 1.3."""
    rows = [(f"q{k}", "zeta", "alpha", judge, given[k % len(given)]) for judge in judges for k in range(24)]
    dataset = from_frame(
        pd.DataFrame(rows, columns=["instruction", "generator_1", "generator_2", "annotator", "preference"])
    )
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (24, len(judges), 24 * len(judges))
    turned = {v: "2" if v < 1.5 else "1" if v > 1.5 else "1.5" for v in given}
    assert [dataset.classes[c] for c in dataset.label[dataset.worker == 0][: len(given)]] == [*map(turned.get, given)]
    if len(given) > 2:
        shares = pd.DataFrame(dataset.extra)["share"].astype(float)
        assert [dataset.classes[c] for c in dataset.label] == [*map(turned.get, shares)]


def test_preferences_that_failed_are_no_labels(tmp_path):
    """AlpacaEval writes null where no preference could be read."""
    given = ["1.0", "1.3", "", "1.9", "NA", "2.0"]
    rows = [
        (f"q{k}", *("az" if k % 2 else "za"), judge, given[k % 6]) for judge in ("gpt", "claude") for k in range(24)
    ]
    frame = pd.DataFrame(rows, columns=["instruction", "generator_1", "generator_2", "annotator", "preference"])
    frame.to_csv(tmp_path / "failed.csv", index=False)
    ds = examine(tmp_path / "failed.csv", missing=["NA"]).dataset(accept=True)
    assert (ds.n_tasks, ds.n_annotations, {*ds.classes}) == (24, 32, {"1", "2"})
    turned = {1.0: "2", 1.3: "1", 1.9: "2", 2.0: "2"}  # 1.0 is of swapped sides alone
    assert [ds.classes[c] for c in ds.label] == [*map(turned.get, ds.extra["share"].to_numpy().astype(float))]


def test_names_of_winners_are_sides():
    frame = verdicts(("model_a", "model_b", "tie"), np.arange(54) % 3 == 0)
    named = frame.copy()
    for side in ("model_a", "model_b"):
        named.loc[frame.winner == side, "winner"] = frame.loc[frame.winner == side, side]
    assert set(named.winner) == {*MODELS, "tie"}
    assert triples_of_preferences(named) == triples_of_preferences(frame)


def test_columns_of_verdicts_are_workers(tmp_path):
    frame = verdicts(("A", "B", "tie"))
    wide = frame.pivot(index=["question_id", "model_a", "model_b"], columns="judge", values="winner").reset_index()
    swap = wide.index % 2 == 0
    shown = wide.copy()
    shown.loc[swap, ["model_a", "model_b"]] = wide.loc[swap, ["model_b", "model_a"]].to_numpy()
    for judge in ("ann", "bob", "eve"):
        shown.loc[swap, judge] = wide.loc[swap, judge].map(lambda word: MIRROR.get(word, word))
    shown.to_csv(tmp_path / "wide.csv", index=False)
    imported = examine(tmp_path / "wide.csv")
    assert imported.report.format == "preferences"
    assert triples_of_preferences(shown) == triples_of_preferences(frame)
    assert [f.count for f in imported.report.findings if f.code == "sides"] == [swap.sum()]


def test_gold_is_turned_as_the_verdicts_are():
    swap = np.arange(54) % 2 == 0
    swap = np.repeat(swap[::3], 3)  # one order for each task, so that its gold is one
    frame = verdicts(("model_a", "model_b", "tie"))
    best = frame.assign(gold="model_a")
    shown = verdicts(("model_a", "model_b", "tie"), swap).assign(gold=np.where(swap, "model_b", "model_a"))
    for table in (best, shown):
        dataset = from_frame(table)
        assert {dataset.classes[c] for c in dataset.gold} == {"model_a"}
    assert triples_of_preferences(shown) == triples_of_preferences(frame)


def test_turns_are_tasks_of_their_own():
    frame = verdicts(("model_a", "model_b", "tie"))
    both = pd.concat([frame.assign(turn=1), frame.assign(turn=2)])
    assert from_frame(both).n_tasks == 36


def test_long_texts_make_short_names():
    frame = verdicts(("A", "B", "tie")).rename(columns={"model_a": "response_a", "model_b": "response_b"})
    for side in ("response_a", "response_b"):
        frame[side] = frame[side] + " answers at length, again and again, with many words"
    dataset = from_frame(frame)
    assert dataset.n_tasks == 18
    assert max(map(len, dataset.task_ids)) < 100


@pytest.mark.parametrize("words", [(1, 2), ("A", "B")])
@pytest.mark.parametrize("names", [("rater_1", "rater_2", "rater_3", "rater_4"), ("rater_a", "rater_b", "ann", "bob")])
def test_numbered_workers_are_no_sides(words, names):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"item": range(40), **{name: rng.choice(words, 40) for name in names}})
    dataset = from_frame(frame)
    assert set(dataset.worker_ids) == set(names)


def test_two_earlier_labels_are_no_sides():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame([(t, w) for t in range(30) for w in "xyz"], columns=["image", "annotator"])
    frame["label_1"], frame["label_2"] = rng.choice(["cat", "dog"], (2, 90))
    frame["label"] = np.where(rng.random(90) < 0.5, frame.label_1, frame.label_2)
    dataset = from_frame(frame)
    assert (dataset.n_tasks, set(dataset.classes)) == (30, {"cat", "dog"})


def test_grades_from_1_to_5_are_not_turned():
    frame = verdicts(("1", "2", "5"))
    frame["winner"] = np.random.default_rng(0).choice(["1", "2", "3", "4", "5"], len(frame))
    with pytest.raises(DataError):
        from_frame(frame, format="preferences")


def test_a_question_may_hold_any_letters():
    frame = verdicts(("A", "B", "tie"))
    frame["question_id"] = "What is 50% of " + frame.question_id.astype(str) + " %s {x}?"
    assert from_frame(frame).n_tasks == 18


@pytest.mark.parametrize("labels", [("-1", "1"), ("1", "2", "3"), ("A", "B")])
def test_labels_beside_two_numbered_columns_are_asked_about(labels):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame([(t, w) for t in range(20) for w in ("ann", "ben", "cem")], columns=["pair", "annotator"])
    frame["x1"], frame["x2"] = 10 + frame.pair, 50 - frame.pair
    frame["label"] = rng.choice(labels, len(frame))
    with pytest.raises(DataError) as caught:
        from_frame(frame)
    assert [r.value for r in caught.value.remedies][:2] == ["preferences", "long"]
    assert from_frame(frame, format="preferences").n_annotations == 60
    dataset = from_frame(frame, task="pair", format="long")
    assert (dataset.n_tasks, set(dataset.classes)) == (20, {*labels})
