"""Folders, CoNLL and LeWiDi."""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, read_dataset, simulate, write_conll
from testkit import exports


@pytest.fixture
def folder(tmp_path):
    """Writes the files of a dataset folder; arrays as .npy or .npz."""
    (tmp_path / "crowd").mkdir()

    def write(**files):
        for name, content in files.items():
            stem, _, suffix = name.rpartition("__")
            path = tmp_path / "crowd" / f"{stem}.{suffix}"
            if suffix == "npy":
                np.save(path, content)
            elif suffix == "npz":
                np.savez(path, **content)
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content, encoding="utf-8")
        return tmp_path / "crowd"

    return write


ANNOTATIONS = "task,worker,label\nt2,w10,b\nt1,w2,a\nt2,w2,a\n"
TASKS = "task,split,gold\nt1,train,a\nt2,train,b\nt3,test,\n"


def test_the_order_of_the_list_of_tasks(folder):
    ds = read_dataset(folder(annotations__csv=ANNOTATIONS, tasks__csv=TASKS, classes__txt="b\na\n"))
    assert ds.name == "crowd"
    assert list(ds.task_ids) == ["t1", "t2", "t3"]
    assert ds.classes == ("b", "a")
    assert ds.task.tolist() == [0, 1, 1]
    assert [ds.worker_ids[r] for r in ds.worker] == ["w2", "w10", "w2"]
    assert ds.gold.tolist() == [1, 0, -1]
    assert ds.split.tolist() == [0, 0, 2]


def test_tasks_that_are_not_listed_are_added_with_a_warning(folder):
    path = folder(annotations__csv=ANNOTATIONS + "t9,w2,a\nt8,w2,b\n", tasks__csv=TASKS)
    found = examine(path)
    (warning,) = [f for f in found.report.findings if f.code == "tasks-not-listed"]
    assert (warning.level, warning.count, warning.rows, warning.examples) == ("warning", 2, (4, 5), ("t9", "t8"))
    ds = found.dataset()
    assert list(ds.task_ids) == ["t1", "t2", "t3", "t9", "t8"]
    assert ds.split.tolist() == [0, 0, 2, -1, -1]


def test_a_list_of_workers_fixes_their_order_and_keeps_idle_ones(folder):
    path = folder(annotations__csv=ANNOTATIONS, workers__csv="worker\nw9\nw2\nw10\n")
    assert list(read_dataset(path).worker_ids) == ["w9", "w2", "w10"]
    path = folder(workers__csv="worker\nw2\n")
    assert list(read_dataset(path).worker_ids) == ["w2", "w10"]
    with pytest.raises(DataError, match="list"):
        read_dataset(folder(workers__csv="worker\nw2\nw2\n"))


def test_bad_lists_of_tasks(folder):
    with pytest.raises(DataError, match=r"'t1'.*rows 1 and 3.*row 3"):
        read_dataset(folder(annotations__csv=ANNOTATIONS, tasks__csv="task,gold\nt1,a\nt2,b\nt1,b\n"))
    with pytest.raises(DataError, match=r"crowd.*row 2"):
        read_dataset(folder(tasks__csv="task,gold\nt1,a\n,b\n"))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("# sequence\nO\nB-LOC\n", r"^The labels are sequences of tags, but the sentences are not listed\."),
        ("a\nb\na\n", r"^The class 'a' is listed twice \(classes.txt, row 3\)"),
    ],
)
def test_class_lists_that_are_refused(folder, lines, sentence):
    with pytest.raises(DataError, match=sentence):
        read_dataset(folder(annotations__csv=ANNOTATIONS, classes__txt=lines))


def test_a_class_list_in_latin_1_with_blank_lines(folder):
    path = folder(
        annotations__csv="task,worker,label\nt1,w1,caf\u00e9\n",
        classes__txt="caf\u00e9\r\n\r\nth\u00e9\r\n".encode("latin-1"),
    )
    assert read_dataset(path).classes == ("caf\u00e9", "th\u00e9")


def test_labelled_data_without_annotations(folder):
    ds = read_dataset(folder(tasks__csv=TASKS, classes__txt="a\nb\n"))
    assert (ds.n_tasks, ds.n_workers, ds.n_annotations) == (3, 0, 0)
    assert ds.gold.tolist() == [0, 1, -1]


def test_findings_about_the_list_of_tasks_name_its_file_and_row(folder):
    path = folder(
        annotations__csv=ANNOTATIONS,
        tasks__csv="item,split,truth\nt1,train,a\nt2,somewhere,z\nt3,test,b\n".encode("latin-1") + b"t4,,\xe9\n",
        classes__txt="a\nb\n",
    )
    report = examine(path).report
    assert report.roles["gold"] == "tasks.csv: truth"
    found = {f.code: (f.rows, f.column) for f in report.findings if f.level != "note"}
    assert found == {
        "gold-outside-classes": ((2, 4), "tasks.csv: truth"),
        "unknown-split": ((2,), "tasks.csv: split"),
        "encoding-guessed": ((4,), None),
    }


def test_the_table_of_a_folder_can_be_opened_alone(folder):
    path = folder(annotations__csv=ANNOTATIONS, tasks__csv=TASKS, features_train__npy=np.zeros((2, 3)))
    alone = read_dataset(path / "annotations.csv")
    assert alone.features is None
    assert alone.n_tasks == 2


def test_classes_alone_are_no_dataset(folder):
    with pytest.raises(DataError, match="neither"):
        read_dataset(folder(classes__txt="a\nb\n"))


def test_features_and_images_of_each_split(folder):
    path = folder(
        annotations__csv=ANNOTATIONS,
        tasks__csv="task,split\nt3,test\nt1,train\nt4,\nt2,train\n",
        features_train__npy=np.array([[1.0], [2.0]], np.float32),
        features_test__npy=np.array([[3.0]], np.float32),
        features__npy=np.array([[4.0]], np.float32),
        images_train__npz={"images": np.arange(8, dtype=np.uint8).reshape(2, 2, 2)},
    )
    ds = read_dataset(path)
    np.testing.assert_array_equal(ds.features, [[3], [1], [4], [2]])
    assert ds.media.images.present.tolist() == [False, True, False, True]
    np.testing.assert_array_equal(ds.media.images[[3, 1]], [[[4, 5], [6, 7]], [[0, 1], [2, 3]]])


def test_files_that_do_not_fit_the_tasks(folder):
    with pytest.raises(DataError, match=r"3 rows.*2 tasks.*split"):
        read_dataset(folder(annotations__csv=ANNOTATIONS, tasks__csv=TASKS, features_train__npy=np.zeros((3, 1))))
    shapes = {"features_train__npy": np.zeros((2, 4)), "features_test__npy": np.zeros((1, 5))}
    with pytest.raises(DataError, match=r"5.*4.*split"):
        read_dataset(folder(**shapes))


def test_truth_must_fit_the_annotations(folder):
    path = folder(annotations__csv=ANNOTATIONS, truth__npz={"omega": np.zeros(2)})
    with pytest.raises(DataError, match=r"`omega`.*2.*3 annotations"):
        read_dataset(path)
    path = folder(truth__npz={"omega": np.array([0.1, 0.2, 0.3]), "group": np.zeros(3, int)})
    with pytest.raises(DataError, match=r"3 entries.*`group`.*2 workers"):
        read_dataset(path)
    path = folder(truth__npz={"omega": np.array([0.1, 0.2, 0.3]), "settings": np.array("{no")})
    with pytest.raises(DataError, match="settings"):
        read_dataset(path)
    path = folder(truth__npz={"omega": np.array([0.1, 0.2, 0.3])}, tasks__csv=TASKS)
    np.testing.assert_array_equal(read_dataset(path).truth.omega, [0.2, 0.1, 0.3])  # sorted with the tasks


def test_gold_in_the_annotations(folder):
    ds = read_dataset(folder(annotations__csv="task,worker,label,gold\nt1,w1,a,b\nt2,w1,b,\n"))
    assert ds.gold.tolist() == [1, -1]


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


def test_repeats_of_cifar10s_are_those_of_its_readme(data_folder):
    report = examine(data_folder / "cifar10s").report
    assert (report.n_repeats, report.n_contradicting) == (523, 34)
    assert examine(data_folder / "anaesthesia").report.n_repeats == 90


def test_a_folder_says_the_kind_of_its_labels(folder, data_folder):
    stars = folder(annotations__csv="task,worker,label\nt1,w1,0.5\n", classes__txt="# regression: rating on 0..1\n")
    ds = read_dataset(stars)
    assert (ds.kind.name, ds.low, ds.high) == ("ratings", 0, 1)
    assert examine(data_folder / "movie_reviews").report.rating_range == (0, 1)


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
    found = examine(write_tags(TEXT))
    ds = found.dataset()
    assert found.report.format == "conll"
    assert (list(ds.sentences.words), list(ds.sentences.ids)) == (["to", "Rome", '"Paris"'], ["s1", "s2"])
    assert list(ds.task_ids) == ["s1:1", "s1:2", "s2:1"]
    assert (ds.classes, ds.gold.tolist()) == (("O", "B-LOC", "I-LOC"), [0, 1, 1])
    rows = list(zip(ds.task.tolist(), ds.worker_ids[ds.worker], ds.label.tolist(), strict=True))
    assert rows == [(0, "ann", 0), (1, "ann", 1), (2, "ann", 0), (2, "ben", 2)]
    assert ds.file_row.tolist() == [2, 3, 5, 5]
    assert found.report.n_rows == 4 == found.report.n_annotations + found.report.n_left_out


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


def test_labels_split_and_no_gold(write):
    found = examine(write(exports.LEWIDI))
    data = found.dataset(accept=True)
    assert list(data.worker_ids) == ["Ann1", "Ann2", "Ann3"]
    assert data.split.tolist() == [0, 1]
    assert not data.has_gold
    assert "not read as gold" in found.report.text()


def test_the_edition_of_2025(write):
    item = {
        "annotation task": "sarcasm detection", "text": {"context": "Hi", "response": "Oh, hi"},
        "annotators": "Ann1,Ann2", "number of annotations": 2,
        "annotations": {"Ann1": "1", "Ann2": "6", "Ann3": "1,6"}, "split": "train",
    }  # fmt: skip
    found = examine(write({"7": item}))
    assert [f.code for f in found.report.changes] == ["several-choices", "workers-without-labels"]
    data = found.dataset(accept=True)
    assert data.classes == ("1", "6")
    assert data.media.columns["text"].tolist() == ["context: Hi\nresponse: Oh, hi"]


def test_a_conversation_written_as_json(write):
    """As in ConvAbuse, whose labels are -3 … 1."""
    said = {"prev_agent": "Hi.", "prev_user": "hello", "agent": "How are you?", "user": "Fine"}
    item = {**exports.LEWIDI["1"], "text": json.dumps(said), "annotations": "1,-1,-3", "annotators": "Ann2,Ann3,Ann8"}
    data = examine(write({"1": item, "2": {**exports.LEWIDI["2"], "annotations": "0,0,1"}})).dataset()
    assert data.media.columns["text"][0].splitlines() == [
        "prev_agent: Hi.", "prev_user: hello", "agent: How are you?", "user: Fine"
    ]  # fmt: skip
    assert data.classes == ("-3", "-1", "0", "1")


def test_every_annotator_has_one_label(write):
    item = {**exports.LEWIDI["1"], "annotators": "Ann1,Ann2"}
    with pytest.raises(DataError, match=r"3 annotations.*2 annotators.*row 2"):
        examine(write({"0": exports.LEWIDI["1"], "1": item}))
