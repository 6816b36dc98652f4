"""Folders, CoNLL and LeWiDi."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset, simulate, write_conll
from testkit import exports
from tests.data.reading.read_case import check, placed

ANNOTATIONS = "task,worker,label\nt2,w10,b\nt1,w2,a\nt2,w2,a\n"
TASKS = "task,split,gold\nt1,train,a\nt2,train,b\nt3,test,\n"
OMEGA = np.array([0.1, 0.2, 0.3])
IN_LATIN_1 = "task,worker,label\nt1,w1,caf\u00e9\n", "caf\u00e9\r\n\r\nth\u00e9\r\n".encode("latin-1")
FAULTY_TASKS = "item,split,truth\nt1,train,a\nt2,somewhere,z\nt3,test,b\n".encode("latin-1") + b"t4,,\xe9\n"


def of(**files: Any) -> tuple[str, dict[str, Any]]:
    """Write a folder of annotations; names of files have no dot here."""
    return "crowd", {"annotations.csv": ANNOTATIONS} | {name.replace("__", "."): text for name, text in files.items()}


FOLDERS: dict[str, tuple[Any, ...]] = {
    "the order of the list of tasks": (
        of(tasks__csv=TASKS, classes__txt="b\na\n"),
        {"name": "crowd", "task_ids": ["t1", "t2", "t3"], "classes": ("b", "a"),
        "triples": [("t1", "w2", "a"), ("t2", "w10", "b"), ("t2", "w2", "a")], "gold": [1, 0, -1], "split": [0, 0, 2]}),
    "tasks that are not listed": (
        of(annotations__csv=ANNOTATIONS + "t9,w2,a\nt8,w2,b\n", tasks__csv=TASKS),
        {"changes": {}, "task_ids": ["t1", "t2", "t3", "t9", "t8"], "split": [0, 0, 2, -1, -1], "findings": {
         "tasks-not-listed": {"level": "warning", "count": 2, "rows": (4, 5), "examples": ("t9", "t8")}}}),
    "a list of workers fixes their order and keeps idle ones": (
        of(workers__csv="worker\nw9\nw2\nw10\n"), {"changes": {}, "worker_ids": ["w9", "w2", "w10"]}),
    "a list of some workers": (of(workers__csv="worker\nw2\n"), {"worker_ids": ["w2", "w10"]}),
    "a worker listed twice": (of(workers__csv="worker\nw2\nw2\n"), {"refused": None, "match": "list"}),
    "a task listed twice": (
        of(tasks__csv="task,gold\nt1,a\nt2,b\nt1,b\n"), {"refused": None, "match": r"'t1'.*rows 1 and 3.*row 3"}),
    "a task without a name": (of(tasks__csv="task,gold\nt1,a\n,b\n"), {"refused": None, "match": r"crowd.*row 2"}),
    **{sentence: (of(classes__txt=lines), {"refused": None, "match": sentence}) for lines, sentence in (
        ("# sequence\nO\nB-LOC\n", r"^The labels are sequences of tags, but the sentences are not listed\."),
        ("a\nb\na\n", r"^The class 'a' is listed twice \(classes.txt, row 3\)"))},
    "a class list in latin 1 with blank lines": (
        of(annotations__csv=IN_LATIN_1[0], classes__txt=IN_LATIN_1[1]),
        {"changes": {}, "classes": ("caf\u00e9", "th\u00e9")}),
    "labelled data without annotations": (
        ("crowd", {"tasks.csv": TASKS, "classes.txt": "a\nb\n"}),
        {"changes": {}, "size": (3, 0, 0), "gold": [0, 1, -1]}),
    "findings about the list of tasks name its file and row": (
        of(tasks__csv=FAULTY_TASKS, classes__txt="a\nb\n"), {"roles": {"gold": "tasks.csv: truth"}, "findings": {
            "gold-outside-classes": {"rows": (2, 4), "column": "tasks.csv: truth"},
            "unknown-split": {"rows": (2,), "column": "tasks.csv: split"},
            "encoding-guessed": {"rows": (4,), "column": None}}}),
    "classes alone are no dataset": (("crowd", {"classes.txt": "a\nb\n"}), {"refused": None, "match": "neither"}),
    "features that do not fit the tasks": (
        of(tasks__csv=TASKS, features_train__npy=np.zeros((3, 1))),
        {"refused": None, "match": r"3 rows.*2 tasks.*split"}),
    "features that do not fit one another": (
        of(tasks__csv=TASKS, features_train__npy=np.zeros((2, 4)), features_test__npy=np.zeros((1, 5))),
        {"refused": None, "match": r"5.*4.*split"}),
    **{f"truth that does not fit: {sentence}": (of(truth__npz=truth), {"refused": None, "match": sentence}) for truth,
        sentence in (
        ({"omega": np.zeros(2)}, r"`omega`.*2.*3 annotations"),
        ({"omega": OMEGA, "group": np.zeros(3, int)}, r"3 entries.*`group`.*2 workers"),
        ({"omega": OMEGA, "settings": np.array("{no")}, "settings"))},
    "gold in the annotations": (
        of(annotations__csv="task,worker,label,gold\nt1,w1,a,b\nt2,w1,b,\n"), {"changes": {}, "gold": [1, -1]}),
    "ratings": (
        of(annotations__csv="task,worker,label\nt1,w1,0.5\n", classes__txt="# regression: rating on 0..1\n"),
        {"rating_range": (0, 1), "rating": [0.5]}),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_folders(name: str, tmp_path: Path) -> None:
    content, *steps = FOLDERS[name]
    check(placed(tmp_path, content), *steps)


def test_the_table_of_a_folder_can_be_opened_alone(tmp_path):
    path = placed(tmp_path, of(tasks__csv=TASKS, features_train__npy=np.zeros((2, 3))))
    check(path / "annotations.csv", {"features": None, "n_tasks": 2})


def test_features_images_and_truth_follow_the_order_of_the_tasks(tmp_path):
    ds = read_dataset(placed(tmp_path, of(
        tasks__csv="task,split\nt3,test\nt1,train\nt4,\nt2,train\n",
        features_train__npy=np.array([[1.0], [2.0]], np.float32), features_test__npy=np.array([[3.0]], np.float32),
        features__npy=np.array([[4.0]], np.float32), truth__npz={"omega": OMEGA},
        images_train__npz={"images": np.arange(8, dtype=np.uint8).reshape(2, 2, 2)},
    )))  # fmt: skip
    np.testing.assert_array_equal(ds.features, [[3], [1], [4], [2]])
    assert ds.media.images.present.tolist() == [False, True, False, True]
    np.testing.assert_array_equal(ds.media.images[[3, 1]], [[[4, 5], [6, 7]], [[0, 1], [2, 3]]])
    np.testing.assert_array_equal(ds.truth.omega, [0.2, 0.1, 0.3])


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("labelme", (2688, 59, 8, 2547)),
        ("music", (1000, 44, 10, 2945)),
        ("cifar10n", (50_000, 747, 10, 150_000)),
        ("cifar10s", (1000, 248, 10, 6723)),
        ("anaesthesia", (45, 5, 4, 315)),
        ("bluebird", (108, 39, 2, 4212)),
        ("leaves", (384, 83, 6, 3840)),
        ("mnist", (70_000, 0, 10, 0)),
    ],
)
def test_real_folders_need_no_acceptance(data_folder, name, counts):
    ds = read_dataset(data_folder / name)
    assert (ds.n_tasks, ds.n_workers, ds.n_classes, ds.n_annotations) == counts


def test_repeats_and_ranges_of_real_folders_are_those_of_their_readmes(data_folder):
    assert examine(data_folder / "movie_reviews").report.rating_range == (0, 1)
    report = examine(data_folder / "cifar10s").report
    assert (report.n_repeats, report.n_contradicting) == (523, 34)
    assert examine(data_folder / "anaesthesia").report.n_repeats == 90


TEXT = """token gold ann ben
to O O ?
Rome B-LOC B-LOC ?

"Paris" B-LOC O I-LOC
"""


@pytest.fixture
def write_tags(tmp_path):
    def made(text, name="tags.txt"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return made


def test_columns_of_workers_and_gold(write_tags):
    imported = examine(write_tags(TEXT))
    ds = imported.dataset()
    assert imported.report.format == "conll"
    assert (list(ds.sentences.words), list(ds.sentences.ids)) == (["to", "Rome", '"Paris"'], ["s1", "s2"])
    assert list(ds.task_ids) == ["s1:1", "s1:2", "s2:1"]
    assert (ds.classes, ds.gold.tolist()) == (("O", "B-LOC", "I-LOC"), [0, 1, 1])
    rows = list(zip(ds.task.tolist(), ds.worker_ids[ds.worker], ds.label.tolist(), strict=True))
    assert rows == [(0, "ann", 0), (1, "ann", 1), (2, "ann", 0), (2, "ben", 2)]
    assert ds.file_row.tolist() == [2, 3, 5, 5]
    assert imported.report.n_rows == 4 == imported.report.n_annotations + imported.report.n_left_out


def test_without_a_header_workers_are_numbered_and_blank_lines_may_repeat(write_tags, tmp_path):
    ds = read_dataset(write_tags("\n\na\tO\tB-X\n\n\nb\tB-X\t_\n\n"))
    assert (list(ds.worker_ids), ds.sentences.start.tolist()) == (["worker-1", "worker-2"], [0, 1, 2])
    assert ds.classes == ("O", "B-X", "I-X")
    assert read_dataset(write_conll(ds, tmp_path / "again.conll")).fingerprint == ds.fingerprint


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TEXT.replace("Rome B-LOC B-LOC ?", "Rome B-LOC"), r"This line has 2 columns, the first one has 4.*row 3"),
        (TEXT.replace("I-LOC", "LOC"), r"'LOC' is not an IOB2 tag.*row 5, column 'ben'"),
        ("token ann\n", "There are columns, but no tokens"),
        (TEXT.replace("ben", "ann"), "Two columns are called 'ann'"),
    ],
)
def test_refusals_name_the_line(write_tags, text, sentence):
    with pytest.raises(DataError, match=sentence):
        read_dataset(write_tags(text), format="conll")


def test_a_line_too_short_is_told_by_the_reader_of_the_format_without_naming_it(write_tags):
    with pytest.raises(DataError, match=r"2 columns.*first.*3.*row 2"):
        read_dataset(write_tags("John B-PER O\nlives O\n\nParis B-LOC B-LOC\n"))


def test_blocks_do_not_show(tmp_path, monkeypatch):
    path = write_conll(simulate.tags(n_sentences=40, seed=3), tmp_path / "crowd.conll")
    whole = read_dataset(path)
    monkeypatch.setattr("crowdcore.data.readers.conll.BLOCK", 100)
    assert read_dataset(path).fingerprint == whole.fingerprint
    assert read_dataset(path).file_row.tolist() == whole.file_row.tolist()
    lines = path.read_text().split("\n")
    lines[-3] += "\tO"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=f"row {len(lines) - 2}"):
        read_dataset(path)


def test_round_trip(tmp_path):
    crowd = simulate.tags(n_sentences=40, seed=3)
    back = read_dataset(write_conll(crowd, tmp_path / "crowd.conll"))
    assert (back.classes, list(back.worker_ids)) == (crowd.classes, list(crowd.worker_ids))
    for part in ("task", "worker", "label", "gold"):
        np.testing.assert_array_equal(getattr(back, part), getattr(crowd, part))
    assert back.sentences.words.equals(crowd.sentences.words)
    np.testing.assert_array_equal(back.sentences.start, crowd.sentences.start)


def test_what_columns_cannot_hold(tmp_path, crowd):
    with pytest.raises(DataError, match="sentences"):
        write_conll(crowd, tmp_path / "c.txt")


def test_a_crowd_that_marked_nothing_is_read_again(write_tags, tmp_path):
    """No tag tells the format then: the file's name does."""
    ds = read_dataset(write_tags(TEXT.replace("B-LOC", "O").replace("I-LOC", "O"), "nothing.conll"))
    again = read_dataset(write_conll(ds, tmp_path / "again.conll"))
    assert (again.fingerprint, len(again.sentences)) == (ds.fingerprint, 2)
    with pytest.raises(DataError, match=r"'E-LOC'.*2 tag.*row 5.*'ben'"):
        read_dataset(write_tags(TEXT.replace("I-LOC", "E-LOC"), "other.conll"))


CONTEXT = {
    "annotation task": "sarcasm detection", "text": {"context": "Hi", "response": "Oh, hi"},
    "annotators": "Ann1,Ann2", "number of annotations": 2,
    "annotations": {"Ann1": "1", "Ann2": "6", "Ann3": "1,6"}, "split": "train",
}  # fmt: skip
SAID = {"prev_agent": "Hi.", "prev_user": "hello", "agent": "How are you?", "user": "Fine"}
FIRST, SECOND = exports.LEWIDI["1"], exports.LEWIDI["2"]
CONVERSATION = {**FIRST, "text": json.dumps(SAID), "annotations": "1,-1,-3", "annotators": "Ann2,Ann3,Ann8"}
LEWIDI: dict[str, tuple[Any, ...]] = {
    "labels, split and no gold": (
        exports.LEWIDI, {"worker_ids": ["Ann1", "Ann2", "Ann3"], "split": [0, 1], "has_gold": False,
                         "text": ("not read as gold",)}),
    "the edition of 2025": (
        {"7": CONTEXT}, {"changes": {"several-choices", "workers-without-labels"}, "classes": ("1", "6"),
                         "texts": ["context: Hi\nresponse: Oh, hi"]}),
    "a conversation written as json": (  # as in ConvAbuse, whose labels are -3 … 1
        {"1": CONVERSATION, "2": {**SECOND, "annotations": "0,0,1"}}, {"changes": {}, "classes": ("-3", "-1", "0", "1"),
        "texts": ["prev_agent: Hi.\nprev_user: hello\nagent: How are you?\nuser: Fine", SECOND["text"]]}),
    "an annotator without a label": (
        {"0": FIRST, "1": {**FIRST, "annotators": "Ann1,Ann2"}},
        {"refused": None, "match": r"3 annotations.*2 annotators.*row 2"}),
}  # fmt: skip


@pytest.mark.parametrize("name", LEWIDI)
def test_lewidi(name: str, tmp_path: Path) -> None:
    content, *steps = LEWIDI[name]
    check(placed(tmp_path, ("export.json", content)), *steps)
