"""Images and texts that cannot be used are named when a file is examined, and nothing is left out for them."""

from __future__ import annotations

import pandas as pd
import pytest
from PIL import Image

from crowdcore.data import examine, examine_ratings, read_dataset
from crowdcore.data.media import image_faults
from tests.data.pictures import write_bad_pictures, write_pictures


def votes(folder, **tasks):
    """A CSV of two votes on every task, beside its pictures."""
    frame = pd.DataFrame({"task": [f"t{i:02d}" for i in range(len(next(iter(tasks.values()))))], **tasks})
    both = pd.concat([frame.assign(worker=who, label=label) for who, label in (("ann", "1"), ("ben", "2"))])
    both.to_csv(folder / "votes.csv", index=False)
    return folder / "votes.csv"


@pytest.mark.parametrize("read", [examine, lambda path: examine_ratings(path, low=1, high=2)])
def test_every_bad_image_is_named_and_its_labels_are_kept(tmp_path, read):
    bad = write_bad_pictures(tmp_path)
    path = votes(tmp_path, image=["whole.png", *bad])
    found = read(path)
    told = next(f for f in found.report.findings if f.code == "unusable-images")
    assert (told.level, told.count, len(told.examples)) == ("warning", len(bad), len(bad))
    for (name, reason), example in zip(bad.items(), told.examples, strict=True):
        assert reason in example, name
    assert f"{len(bad)} of {len(bad) + 1} tasks have an image that cannot be used: t01" in found.report.text()
    ds = found.dataset()
    assert ds.n_tasks == len(bad) + 1
    assert any("cannot be used" in note for note in ds.notes)


def test_good_images_are_no_finding_and_reading_opens_none(tmp_path, monkeypatch):
    path = votes(tmp_path, image=write_pictures(tmp_path, [0, 1, 2]))
    assert not [f for f in examine(path).report.findings if "image" in f.code]
    monkeypatch.setattr("crowdcore.data.media._decode", None)
    assert read_dataset(path).n_tasks == 3


def test_a_table_without_its_images_says_where_they_belong(tmp_path):
    report = examine(votes(tmp_path, image=["a.png", "b.png"])).report
    told = next(f for f in report.findings if f.code == "unusable-images")
    assert "t00: a.png is missing" in told.sentence
    assert "a ZIP of both" in told.remedy


def test_task_ids_like_image_files_are_images_only_where_such_a_file_is(tmp_path):
    path = votes(tmp_path, other=["u", "v"])
    table = pd.read_csv(path).replace({"task": {"t00": "p000.png", "t01": "p001.png"}})
    table.to_csv(path, index=False)
    found = examine(path)
    assert found.dataset().media is None
    assert not found.report.unusable
    assert "note: The tasks are called like image files, but none of these files is beside" in found.report.text()
    assert any("no images are shown. To see them, put the files there" in note for note in found.dataset().notes)
    write_pictures(tmp_path, [0])
    found = examine(path)
    assert found.dataset().media.columns["image"].tolist() == ["p000.png", "p001.png"]
    assert "p001.png is missing" in found.report.text()
    table.replace({"task": {"p000.png": "https://x.org/a.png"}}).to_csv(path, index=False)
    assert read_dataset(path).media.columns["image"].tolist() == ["https://x.org/a.png", "p001.png"]


def test_images_elsewhere_are_a_note(tmp_path):
    report = examine(votes(tmp_path, image=["https://x.org/a.png", "https://x.org/b.png"])).report
    assert not report.unusable
    assert "note: Images of 2 tasks are URLs. URLs are not" in report.text()


def test_of_very_many_images_all_are_looked_for_and_some_opened(tmp_path):
    names = write_pictures(tmp_path, [0] * 40)
    Image.new("CMYK", (9, 9)).save(tmp_path / "zz.jpg")
    ds = read_dataset(votes(tmp_path, image=[*names, "zz.jpg", "gone.png"]))
    assert image_faults(ds, seconds=0) == ({"t41": "gone.png is missing"}, 41)
    faulty, unopened = image_faults(ds)
    assert (list(faulty), unopened) == (["t40", "t41"], 0)


def test_empty_texts_are_named(tmp_path):
    report = examine(votes(tmp_path, text=["good", " ", "fine"])).report
    assert "1 of 3 tasks has no text: t01: the text is empty" in report.text()
