"""Pairwise preferences: whatever side an answer was shown on, the same verdict is the same label."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, from_frame

MODELS = ("claude", "gpt", "llama")
MIRROR = {
    "model_a": "model_b",
    "model_b": "model_a",
    "A": "B",
    "B": "A",
    "A>B": "B>A",
    "B>A": "A>B",
    "1": "2",
    "2": "1",
}
MIRROR |= {"-2": "2.0", "A is better": "B is better", "B is better": "A is better"}


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


def triples(frame: pd.DataFrame) -> set[tuple[str, str, str]]:
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
    assert triples(shown) == triples(verdicts(words))
    dataset = from_frame(shown)
    assert (dataset.n_tasks, dataset.n_workers, dataset.n_annotations) == (18, 3, 54)
    assert set(dataset.classes) == set(words)


def test_names_of_winners_are_sides():
    frame = verdicts(("model_a", "model_b", "tie"), np.arange(54) % 3 == 0)
    named = frame.copy()
    for side in ("model_a", "model_b"):
        named.loc[frame.winner == side, "winner"] = frame.loc[frame.winner == side, side]
    assert set(named.winner) == {*MODELS, "tie"}
    assert triples(named) == triples(frame)


def test_columns_of_verdicts_are_workers(tmp_path):
    frame = verdicts(("A", "B", "tie"))
    wide = frame.pivot(index=["question_id", "model_a", "model_b"], columns="judge", values="winner").reset_index()
    swap = wide.index % 2 == 0
    shown = wide.copy()
    shown.loc[swap, ["model_a", "model_b"]] = wide.loc[swap, ["model_b", "model_a"]].to_numpy()
    for judge in ("ann", "bob", "eve"):
        shown.loc[swap, judge] = wide.loc[swap, judge].map(lambda word: MIRROR.get(word, word))
    shown.to_csv(tmp_path / "wide.csv", index=False)
    found = examine(tmp_path / "wide.csv")
    assert found.report.format == "preferences"
    assert triples(shown) == triples(frame)
    assert [f.count for f in found.report.findings if f.code == "sides"] == [swap.sum()]


def test_gold_is_turned_as_the_verdicts_are():
    swap = np.arange(54) % 2 == 0
    swap = np.repeat(swap[::3], 3)  # one order for each task, so that its gold is one
    frame = verdicts(("model_a", "model_b", "tie"))
    best = frame.assign(gold="model_a")
    shown = verdicts(("model_a", "model_b", "tie"), swap).assign(gold=np.where(swap, "model_b", "model_a"))
    for table in (best, shown):
        dataset = from_frame(table)
        assert {dataset.classes[c] for c in dataset.gold} == {"model_a"}
    assert triples(shown) == triples(frame)


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
