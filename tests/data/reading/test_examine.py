"""The two steps: examine reports all changes, of images and texts too; nothing is lost unless accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import examine, examine_ratings, read_dataset
from crowdcore.data.media import image_faults
from tests.data.pictures import write_bad_pictures, write_pictures
from tests.data.reading.read_case import check, placed

PLAIN = "task,worker,label\nt1,w1,cat\nt1,w2,dog\nt2,w1,dog\nt3,w10,cat\nt3,w2,cat\n"


def codes(report) -> dict[str, str]:
    return {finding.code: finding.level for finding in report.findings}


def test_the_report_says_what_was_understood(write):
    report = examine(write(PLAIN.replace(",", ";").replace("worker", "Annotator ID"))).report
    assert (report.format, report.encoding, report.delimiter) == ("long", "utf-8", ";")
    assert report.columns == ("task", "Annotator ID", "label")
    assert report.roles == {"task": "task", "worker": "Annotator ID", "label": "label"}
    assert (report.n_rows, report.n_tasks, report.n_workers, report.n_annotations) == (5, 3, 3, 5)
    assert report.classes_from == "labels found"
    assert codes(report) == {"alias": "note", "single-label-workers": "note"}
    text = report.text()
    for part in ("long, utf-8, ;-separated", "'Annotator ID'", "2 classes", "5 annotations by 3 workers on 3 tasks"):
        assert part in text
    assert json.loads(json.dumps(report.as_dict()))["n_tasks"] == 3
    assert list(report.frame()["code"]) == ["alias", "single-label-workers"]


def test_a_loss_is_refused_unless_accepted(write):
    path = write("task,worker,label\nt1,w1,cat\n,w1,dog\nt2,,dog\nt2,w2,\nt3,w2,dog\n")
    imported = examine(path)
    changes = {finding.code: finding.rows for finding in imported.report.changes}
    assert changes == {"missing-task": (2,), "missing-worker": (3,), "missing-label": (4,)}
    with pytest.raises(DataError, match=r"row 2.*2 more.*accept=True"):
        read_dataset(path)
    with pytest.raises(DataError, match=r"row 1.*accept=True"):
        imported.dataset()
    ds = read_dataset(path, accept=True)
    assert ds.n_annotations == 2
    assert list(ds.task_ids) == ["t1", "t2", "t3"]  # t2 stays, nobody's label is on it
    assert sum("was left out" in note for note in ds.notes) == 3


def test_row_numbers_are_the_first_few_and_a_count(write):
    rows = "".join(f"t{i},w{i % 3},{'cat' if i % 2 else ''}\n" for i in range(100))
    (finding,) = examine(write("task,worker,label\n" + rows)).report.changes
    assert (finding.rows, finding.count, finding.column) == ((1, 3, 5, 7, 9), 50, "label")
    assert "rows 1, 3, 5, 7, 9 and 45 more" in str(finding)


def test_repeats_are_kept_counted_and_reducible(write):
    path = write("task,worker,label\nt1,w1,a\nt2,w1,b\nt1,w1,b\nt1,w1,b\nt2,w2,a\nt2,w2,a\nt1,w2,a\n")
    report = examine(path).report
    assert (report.n_repeats, report.n_contradicting) == (3, 1)
    (finding,) = [f for f in report.findings if f.code == "repeats"]
    assert finding.level == "note"
    assert finding.rows == (3, 4, 6)

    def labels(**how):
        ds = read_dataset(path, **how)
        return [(*ds.annotations.iloc[i].astype(str),) for i in range(ds.n_annotations)]

    kept = [("t1", "w1", "a"), ("t1", "w1", "b"), ("t1", "w1", "b"), ("t1", "w2", "a")]
    assert labels()[:4] == kept
    rest = [("t2", "w1", "b"), ("t2", "w2", "a")]
    assert labels(repeats="first") == [("t1", "w1", "a"), ("t1", "w2", "a"), *rest]
    assert labels(repeats="last") == [("t1", "w1", "b"), ("t1", "w2", "a"), *rest]
    assert labels(repeats="majority") == [("t1", "w1", "b"), ("t1", "w2", "a"), *rest]


NAMES, GOLD = "task,worker,label\n", "task,worker,label,gold\n"
LISTED = {"classes": ["dog", "cat", "emu"]}
NUMBERS_BELOW_1 = NAMES.replace("label", "rating") + "".join(f"t{i},w{i % 3},{i / 100}\n" for i in range(1, 60))
LAZY = NAMES + "".join(f"t{i},lazy,a\nt{i},good,{'ab'[i % 2]}\n" for i in range(10))
TEN_THOUSAND = NAMES + "".join(f"t{i},w{i % 7},c{i % 10_000}\n" for i in range(20_000))
CODES = [range(12), range(20), range(0, 101, 10), [*range(100), "?"], [i / 2 for i in range(20)]]
MANY = [range(21), range(0, 101, 7), [i / 2 for i in range(21)]]


def each(labels: Any) -> str:
    """A task for each label."""
    return NAMES + "".join(f"t{i},w{i % 3},{label}\n" for i, label in enumerate(labels))


READ: dict[str, tuple[Any, ...]] = {
    "a plain table": (
        PLAIN, {"name": "votes", "classes": ("cat", "dog"), "worker_ids": ["w1", "w2", "w10"], "has_gold": False,
        "triples":
        [("t1", "w1", "cat"), ("t1", "w2", "dog"), ("t2", "w1", "dog"), ("t3", "w10", "cat"), ("t3", "w2", "cat")]},
        ({"name": "mine"}, {"name": "mine"})),
    "records are counted, not lines": (
        'task,worker,label,text\nt1,w1,cat,"two\nlines"\n\nt2,w1,,plain\nt3,w1,dog,x\n',
        {"changes": {"missing-label": (2,)}}),
    "labels outside the class list": (
        NAMES + "t1,w1,cat\nt2,w1,cow\nt3,w1,dog\nt4,w1,cow\n", (LISTED, {"changes": {"label-outside-classes": (2, 4)},
        "classes": ("dog", "cat", "emu"), "label": [1, 0], "n_tasks": 4})),
    "gold contradicting and outside": (
        GOLD + "t1,w1,a,a\nt1,w2,b,\nt2,w1,b,a\nt2,w2,a,b\nt3,w1,a,\nt4,w1,a,z\n", ({"classes": ["a", "b"]},
        {"changes": {"gold-contradicts": (4,), "gold-outside-classes": (6,)}, "gold": [0, -1, -1, -1]})),
    "gold partly filled": (
        GOLD + "t1,w1,a,b\nt2,w1,b,\n", {"changes": {}, "gold": [1, -1],
        "findings": {"partial-gold": {"level": "note"}}}),
    "gold values count as classes": (GOLD + "t1,w1,b,c\nt2,w1,b,a\n", {"changes": {}, "classes": ("a", "b", "c")}),
    "lists decide between 1 and 1.0": (
        NAMES + "t1,w1,1.0\nt2,w1,2.0\n", *(({"classes": listed},
        {"changes": {}, "label": [0, 1], "classes": tuple(listed)})
                                            for listed in (["1", "2"], ["1.0", "2.0"], ["1", "2.0"]))),
    **{f"{first} before {second}": (  # whichever stands first
        NAMES + f"t1,w1,{first}\nt2,w1,{second}\nt3,w1,2.0\n",
        {"changes": {}, "classes": ("1", "2"), "findings": {"merged-labels": {"level": "note", "rows": (row,)}}})
       for first, second, row in (("1", "1.0", 2), ("1.0", "1", 1))},
    "blanks": (
        "task, worker, label\nt1, w1, cat\nt2, w1, dog\n",
            {"changes": {}, "classes": ("cat", "dog"), "has": {"trimmed"}}),
    "blanks that tell names apart": (
        NAMES + "t1,w1,cat\nt2,w1,cat \nt2, w1,dog\n",
        {"changes": {"merged-labels": (2,), "merged-workers": (3,)}, "classes": ("cat", "dog")}),
    "two Unicode spellings": (
        NAMES + "t1,w1,caf\u00e9\nt2,w1,cafe\u0301\nt3,w1,tea\n",
        {"changes": {"merged-labels": (2,)}, "classes": ("caf\u00e9", "tea")}),
    "a word for a missing label": (
        NAMES + "t1,w1,NA\nt2,w1,cat\nt3,w1,dog\n",
        {"changes": {}, "findings": {"looks-missing": {"level": "warning"}}},
        ({"missing": ["NA"]}, {"changes": {"missing-label": (1,)}, "classes": ("cat", "dog")})),
    "one class": (NAMES + "t1,w1,yes\n", {"changes": {}, "n_classes": 1}),
    "one class of two": (NAMES + "t1,w1,yes\nt2,w2,yes\n", {"findings": {"single-class": {"level": "warning"}}}),
    "two spellings of a class": (NAMES + "t1,w1,Cat\nt2,w1,cat\n",
        {"findings": {"label-variants": {"level": "warning"}}}),
    "a worker without a label": (
        NAMES + "t1,w1,a\nt1,w2,\nt2,w1,b\n",
        {"changes": {"missing-label": (2,), "workers-without-labels": ()}, "worker_ids": ["w1"]}),
    "words for splits": (
        "task,worker,label,split\nt1,w1,a,Training\nt2,w1,b,dev\nt3,w1,b,test\nt4,w1,a,\nt5,w1,a,val\n",
        {"changes": {}, "split": [0, 1, 2, -1, 1]}),
    "unknown and contradicting splits": (
        "task,worker,label,split\nt1,w1,a,train\nt2,w1,b,holdout\nt1,w2,a,test\n",
        {"changes": {"unknown-split": (2,), "split-contradicts": (3,)}, "split": [0, -1]}),
    **{f"natural order of {classes}": (NAMES + "".join(f"t{i},w{i},{label}\n" for i, label in enumerate(labels)),
                                       {"classes": classes}) for labels, classes in (
        (["0", "10", "2"], ("0", "2", "10")), (["-1", "1", "-10"], ("-10", "-1", "1")),
        (["1.0", "2.0", "10.0"], ("1", "2", "10")), (["True", "False", "True"], ("False", "True")),
        (["c10", "c2", "c1"], ("c1", "c2", "c10")), (["é", "日本", "a b"], ("a b", "é", "日本")),
        (["0.5", "1.5", "1"], ("0.5", "1", "1.5")))},
    "ten thousand classes": (
        TEN_THOUSAND, {"n_classes": 10_000, "findings": {"many-classes": {"level": "warning"}}}),
    "workers of one answer": (LAZY, {"findings": {"one-answer-workers": {"level": "warning", "examples": ("lazy",)}}}),
    "many different numbers": (
        NUMBERS_BELOW_1, {"refused": "many-numbers", "match": r"59 different.*numbers.*0\.01.*0\.59"},
        ({"classes": [str(i / 100) for i in range(1, 60)]}, {"n_classes": 59}),
        ({"kind": "classes"}, {"n_classes": 59}),
        ({"kind": "ratings", "low": 0, "high": 1}, {"rating_range": (0, 1), "n_annotations": 59})),
    **{f"codes {k}": (each(labels), {"n_classes": len(labels)}) for k, labels in enumerate(CODES)},
    **{f"many numbers {k}": (
        each(labels), {"refused": "many-numbers", "choices": [{"kind": "ratings"}, {"kind": "classes"}]},
        ({"kind": "classes"}, {"n_classes": len(labels)})) for k, labels in enumerate(MANY)},
    "settings that cannot be": (PLAIN, *((how, {"refused": SettingError, "match": sentence}) for how, sentence in (
        ({"repeats": "some"}, r"`repeats`.*'some'"), ({"colour": "red"}, r"`setting`.*'colour'"),
        ({"classes": ["a", "a"]}, "`classes`"), ({"format": "lnog"}, r"`format`.*'lnog'.*'long'")))),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_is_read_and_what_takes_consent(name: str, tmp_path: Path) -> None:
    content, *steps = READ[name]
    check(placed(tmp_path, content), *steps)


@pytest.mark.parametrize(
    ("dtype", "values", "classes"),
    [
        ("int64", [0, 10, 2], ("0", "2", "10")),
        ("float64", [0, 10, 2], ("0", "2", "10")),
        ("float64", [0.5, 1, 2], ("0.5", "1", "2")),
        ("bool", [True, False, True], ("False", "True")),
        ("Int64", [0, 10, 2], ("0", "2", "10")),
        ("category", ["b", "a", "b"], ("a", "b")),
        ("str", ["b", "a", "b"], ("a", "b")),
        ("object", ["b", 1, True], ("1", "True", "b")),
    ],
)
def test_typed_labels_in_frames_and_parquet(tmp_path, dtype, values, classes):
    frame = pd.DataFrame({"task": [1, 2, 3], "worker": ["x", "y", "z"], "label": pd.Series(values, dtype=dtype)})
    assert cc.from_frame(frame).classes == classes
    if dtype != "object":
        frame.to_parquet(tmp_path / "labels.parquet")
        assert read_dataset(tmp_path / "labels.parquet").classes == classes


def test_a_column_that_is_empty_everywhere(write):
    with pytest.raises(DataError, match="'worker'"):
        read_dataset(write("task,worker,label\nt1,,a\nt2,,b\n"), accept=True)
    with pytest.raises(DataError, match="label"):
        read_dataset(write("task,worker,label\nt1,w1,\nt2,w2,\n"), accept=True)


def test_extra_columns_stay_aligned(write):
    path = write("task,worker,label,seconds,note\nt2,w1,a,1.5,x\nt1,w1,b,,y\nt2,w2,a,3,\n")
    ds = read_dataset(path)
    assert list(ds.annotations["task"]) == ["t2", "t2", "t1"]
    np.testing.assert_array_equal(ds.extra["seconds"], [1.5, 3.0, np.nan])
    assert ds.extra["note"].fillna("").tolist() == ["x", "", "y"]


def test_notes_survive(write):
    assert read_dataset(write(PLAIN)).notes == tuple(str(f) for f in examine(write(PLAIN)).report.findings)


def test_three_annotations_say_what_was_understood(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("task,worker,label\nb,ann,cat\na,ben,dog\nb,ben,cat\na,ann,dog\nc,cem,cat\n")
    report = examine(file).report
    assert report.examples[0] == ("ann", "b", "cat") and report.examples[-1] == ("cem", "c", "cat")
    assert len(report.examples) == 3 and "ann says b is cat; " in report.text()
    stars = examine(file, kind="ratings", levels=["dog", "cat"]).report
    assert stars.understood.startswith("ann rates b as 2; ")


def votes(folder, **tasks):
    """A CSV of two votes on every task, beside its pictures."""
    frame = pd.DataFrame({"task": [f"t{i:02d}" for i in range(len(next(iter(tasks.values()))))], **tasks})
    both = pd.concat([frame.assign(worker=worker, label=label) for worker, label in (("ann", "1"), ("ben", "2"))])
    both.to_csv(folder / "votes.csv", index=False)
    return folder / "votes.csv"


@pytest.mark.parametrize("read", [examine, lambda path: examine_ratings(path, low=1, high=2)])
def test_every_bad_image_is_named_and_its_labels_are_kept(tmp_path, read):
    bad = write_bad_pictures(tmp_path)
    path = votes(tmp_path, image=["whole.png", *bad])
    imported = read(path)
    finding = next(f for f in imported.report.findings if f.code == "unusable-images")
    assert (finding.level, finding.count, len(finding.examples)) == ("warning", len(bad), len(bad))
    for (name, reason), example in zip(bad.items(), finding.examples, strict=True):
        assert reason in example, name
    assert f"{len(bad)} of {len(bad) + 1} tasks" in finding.sentence
    ds = imported.dataset()
    assert ds.n_tasks == len(bad) + 1
    assert any("cannot be used" in note for note in ds.notes)


def test_good_images_are_no_finding_and_reading_opens_none(tmp_path, monkeypatch):
    path = votes(tmp_path, image=write_pictures(tmp_path, [0, 1, 2]))
    assert not [f for f in examine(path).report.findings if "image" in f.code]
    monkeypatch.setattr("crowdcore.data.media.confined", None)
    assert read_dataset(path).n_tasks == 3


def test_a_table_without_its_images_says_where_they_belong(tmp_path):
    report = examine(votes(tmp_path, image=["a.png", "b.png"])).report
    finding = next(f for f in report.findings if f.code == "unusable-images")
    assert "t00: a.png is missing" in finding.sentence
    assert "a ZIP of both" in finding.remedy


def test_task_ids_like_image_files_are_images_only_where_such_a_file_is(tmp_path):
    path = votes(tmp_path, other=["u", "v"])
    table = pd.read_csv(path).replace({"task": {"t00": "p000.png", "t01": "p001.png"}})
    table.to_csv(path, index=False)
    imported = examine(path)
    assert imported.dataset().media is None
    assert not imported.report.unusable
    assert any("called like image files" in note for note in imported.dataset().notes)
    write_pictures(tmp_path, [0])
    imported = examine(path)
    assert imported.dataset().media.columns["image"].tolist() == ["p000.png", "p001.png"]
    assert "p001.png is missing" in imported.report.text()
    table.replace({"task": {"p000.png": "https://x.org/a.png"}}).to_csv(path, index=False)
    assert read_dataset(path).media.columns["image"].tolist() == ["https://x.org/a.png", "p001.png"]


def test_images_elsewhere_are_a_note(tmp_path):
    report = examine(votes(tmp_path, image=["https://x.org/a.png", "https://x.org/b.png"])).report
    assert not report.unusable
    assert "Images of 2 tasks are URLs" in report.text()


def test_of_very_many_images_all_are_looked_for_and_some_opened(tmp_path):
    names = write_pictures(tmp_path, [0] * 40)
    Image.new("CMYK", (9, 9)).save(tmp_path / "zz.jpg")
    ds = read_dataset(votes(tmp_path, image=[*names, "zz.jpg", "gone.png"]))
    assert image_faults(ds, seconds=0) == ({"t41": "gone.png is missing"}, 41)
    faulty, unopened = image_faults(ds)
    assert (list(faulty), unopened) == (["t40", "t41"], 0)


def test_empty_texts_are_named(tmp_path):
    report = examine(votes(tmp_path, text=["good", " ", "fine"])).report
    assert "1 of 3 tasks has no text: t01" in report.text()
