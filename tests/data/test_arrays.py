"""Arrays and wrapped records."""

from __future__ import annotations

import io
import re
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import Rows, examine, media as images, rows as arrays
from crowdcore.data.dataset import Media
from crowdcore.data.rows import EncodedImages, array_shape, open_array, read_npz
from testkit.crowds import simulate_crowd
from tests.data.pictures import write_bad_pictures, write_pictures
from tests.data.reading.read_case import table, written
from tests.data.sources.server import Server
from tests.data.test_odd_inputs import BY_TASK, CLASSES, GIVEN, ROWS, TASKS, WORKERS


def encoded(images, form="PNG") -> dict[str, np.ndarray]:
    files = []
    for image in images:
        buffer = io.BytesIO()
        Image.fromarray(image).save(buffer, form)
        files.append(buffer.getvalue())
    offsets = np.cumsum([0, *map(len, files)])
    return {"data": np.frombuffer(b"".join(files), np.uint8), "offsets": offsets}


def test_shapes_come_from_headers(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 4), np.float32))
    np.savez_compressed(tmp_path / "b.npz", images=np.zeros((2, 5, 5, 3), np.uint8), labels=np.zeros(2))
    np.savez(tmp_path / "c.npz", **encoded(np.zeros((4, 2, 2, 3), np.uint8)))
    assert array_shape(tmp_path / "a.npy") == (3, 4)
    assert array_shape(tmp_path / "b.npz") == (2, 5, 5, 3)
    assert array_shape(tmp_path / "c.npz") == (4,)


def test_encoded_images_are_decoded_on_request(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (5, 4, 6, 3)).astype(np.uint8)
    np.savez(tmp_path / "jpeg_train.npz", **encoded(images))
    opened = open_array(tmp_path / "jpeg_train.npz")
    assert isinstance(opened, EncodedImages)
    assert (len(opened), opened.shape, opened.dtype) == (5, (5, 4, 6, 3), np.uint8)
    np.testing.assert_array_equal(opened[np.array([3, 0])], images[[3, 0]])
    np.testing.assert_array_equal(opened[:], images)
    assert opened[np.array([], int)].shape == (0, 4, 6, 3)
    rows = Rows.from_splits({0: tmp_path / "jpeg_train.npz"}, np.zeros(5, np.int8))
    np.testing.assert_array_equal(np.asarray(rows), images)


def test_encoded_images_that_cannot_be(tmp_path):
    parts = encoded(np.zeros((2, 4, 4, 3), np.uint8))
    other = encoded(np.zeros((1, 5, 4, 3), np.uint8))
    sizes = np.concatenate([parts["data"], other["data"]])
    mixed = EncodedImages(sizes, np.append(parts["offsets"], len(sizes)))
    with pytest.raises(DataError, match="size"):
        mixed[:]
    np.savez(tmp_path / "a.npz", data=parts["data"], offsets=parts["offsets"][::-1].copy())
    with pytest.raises(DataError, match=r"`offsets`.*`data`"):
        open_array(tmp_path / "a.npz")
    with pytest.raises(DataError, match=r"0.*decoded"):
        EncodedImages(np.zeros(10, np.uint8), np.array([0, 10]))[:]


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("it was unpickled",))

    trap = np.array([Trap(), None], dtype=object)
    np.save(tmp_path / "features_train.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "images_train.npz", images=trap)
    for path in (tmp_path / "features_train.npy", tmp_path / "images_train.npz"):
        for read in (array_shape, open_array):
            with pytest.raises(DataError, match=r"never unpickled|Python objects"):
                read(path)
    with pytest.raises(DataError, match="never unpickled"):
        read_npz(tmp_path / "images_train.npz", ("images",))


def test_an_archive_that_expands_too_far(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "images.npz", images=np.zeros((100, 100), np.uint8))
    monkeypatch.setattr(arrays, "MAX_EXPANDED", 5000)
    with pytest.raises(DataError, match=r"archive.*0 MiB.*0 MiB"):
        open_array(tmp_path / "images.npz")


def test_a_header_that_lies_about_its_size(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (1 << 40, 3)})
    with zipfile.ZipFile(tmp_path / "images.npz", "w") as archive:
        archive.writestr("images.npy", header.getvalue() + b"abc")
    with pytest.raises(DataError, match=r"`images`.*1099511627776.*3"):
        open_array(tmp_path / "images.npz")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
@pytest.mark.parametrize("raw", [b"", b"nonsense", b"\x93NUMPY\x01\x00", b"PK\x03\x04 and no more"])
def test_damaged_files(tmp_path, name, raw):
    (tmp_path / name).write_bytes(raw)
    for read in (array_shape, open_array):
        with pytest.raises(DataError, match="array"):
            read(tmp_path / name)


def test_an_archive_of_other_things(tmp_path):
    np.savez(tmp_path / "a.npz", labels=np.zeros(3))
    with pytest.raises(DataError, match=r"a.npz"):
        array_shape(tmp_path / "a.npz")
    with pytest.raises(DataError, match=r"`images`.*`data`.*`offsets`"):
        open_array(tmp_path / "a.npz")


def test_taken_rows_share_what_is_open(tmp_path):
    np.savez(tmp_path / "images.npz", images=np.arange(12, dtype=np.uint8).reshape(3, 4))
    rows = Rows.from_splits({-1: tmp_path / "images.npz"}, np.full(3, -1))
    opened = rows.arrays
    assert rows.take(np.array([2, 0])).arrays[0] is opened[0]
    np.testing.assert_array_equal(rows.take(np.array([2, 0]))[:], [[8, 9, 10, 11], [0, 1, 2, 3]])
    with pytest.raises(DataError, match=r"1.*requested"):
        Rows(rows.parts, np.array([0, -1]), np.array([0, 0]))[:]


def test_the_fingerprint_of_rows_covers_every_number_and_whose_they_are(tmp_path):
    values = np.random.default_rng(0).normal(size=(5, 3))
    rows, changed = Rows.from_array(values), values.copy()
    changed[4, 2] += 1e-9
    np.save(tmp_path / "features.npy", values)
    mapped = Rows((tmp_path / "features.npy",), rows.part_of, rows.row_of)
    assert mapped.fingerprint == rows.fingerprint
    others = [Rows.from_array(changed), Rows.from_array(values.astype(np.float32)), rows.take(np.arange(4))]
    assert len({rows.fingerprint, *(other.fingerprint for other in others)}) == 4


def test_the_fingerprint_of_encoded_images_is_that_of_their_files(monkeypatch):
    images = np.random.default_rng(0).integers(0, 255, (2, 4, 4, 3), np.uint8)
    rows, same, other = (
        Rows.from_array(EncodedImages(**encoded(some))) for some in (images, images.copy(), images[::-1])
    )
    assert rows.fingerprint != other.fingerprint
    monkeypatch.setattr("crowdcore.data.rows._CHUNK", 3)
    assert same.fingerprint == rows.fingerprint


def test_a_copy_that_is_asked_for_is_one():
    features = Rows.from_array(np.zeros((3, 2), np.float32))
    np.array(features)[0, 0] = 7
    assert np.asarray(features)[0, 0] == 0
    assert np.shares_memory(np.asarray(features), features.arrays[0])


def pictured(folder, names):
    crowd = simulate_crowd(len(names), n_workers=4)
    return replace(crowd, media=Media(columns=pd.DataFrame({"image": names}), folder=folder))


def test_files_become_one_memory_mapped_array_of_their_middle_squares(tmp_path, monkeypatch):
    tall = np.zeros((32, 16, 3), np.uint8)
    tall[8:24] = 200
    Image.fromarray(tall).save(tmp_path / "tall.png")
    Image.fromarray(tall[..., 0]).save(tmp_path / "grey.png")
    crowd = pictured(tmp_path, [*write_pictures(tmp_path, [0, 1]), "tall.png", "grey.png"])
    read = images.read_images(crowd, 16, cache=tmp_path / "cache")
    pixels = read.media.images
    assert pixels.shape == (4, 16, 16, 3) and isinstance(pixels.arrays[0], np.memmap)
    np.testing.assert_array_equal(pixels[[0]][0], np.asarray(Image.open(tmp_path / "p000.png")))
    assert (pixels[[2, 3]] == 200).all()
    usual = images.read_images(crowd, cache=tmp_path / "cache")
    assert usual.media.images.parts == pixels.parts  # the first is 16 × 16
    monkeypatch.setattr(images, "_decode_all", lambda *_: pytest.fail("decoded again"))
    np.testing.assert_array_equal(images.read_images(crowd, 16, cache=tmp_path / "cache").media.images[:], pixels[:])


def test_an_upright_picture_is_one_whose_camera_was_turned(tmp_path):
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[0] = 255
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    image = images.square(tmp_path / "turned.png", 8)
    assert (image[:, -1] == 255).all() and not image[:, 0].any()


def test_bad_images_are_named_and_left_out_only_with_consent(tmp_path):
    inside = tmp_path / "photos"
    inside.mkdir()
    bad = write_bad_pictures(inside)
    crowd = pictured(inside, ["whole.png", *bad, None])
    first, last = "'t0*1': zero.png is empty", "'t0*10': none is named"
    with pytest.raises(images.UnusableError, match=rf"10.*11 tasks.*{first}.*{last}") as refused:
        images.read_images(crowd, 16, cache=tmp_path / "cache")
    faults = refused.value.faults
    assert len(faults) == 10 and re.match(first, faults[0]) and re.match(last, faults[-1])
    assert [remedy.choices for remedy in refused.value.remedies] == [({"accept": True},)]
    read = images.read_images(crowd, 16, cache=tmp_path / "cache", accept=True)
    assert read.media.images.present.tolist() == [True, *[False] * 10]
    assert read.notes[-1].startswith("Left out: 10 of 11 tasks")
    for name, reason in bad.items():
        with pytest.raises(DataError, match=reason):
            images.read_images(pictured(inside, ["whole.png", name]), 16, cache=tmp_path / "cache")
    with pytest.raises(DataError, match="left"):
        images.read_images(pictured(inside, ["zero.png"]), 16, cache=tmp_path / "cache", accept=True)


def test_what_takes_the_child_process_down_is_named(tmp_path, monkeypatch):
    Image.new("RGB", (4000, 4000)).save(tmp_path / "large.png")
    crowd = pictured(tmp_path, [*write_pictures(tmp_path, [0]), "large.png"])
    monkeypatch.setenv("CROWDCORE_EXAMINE_MEMORY", "0.15")
    read = images.read_images(crowd, 16, cache=tmp_path / "cache", accept=True)
    assert read.media.images.present.tolist() == [True, False]
    assert "large.png" in read.notes[-1] and "memory" in read.notes[-1]


def test_addresses_are_fetched_only_where_that_is_allowed(tmp_path):
    names = write_pictures(tmp_path, [0])
    with closing(Server()) as server:
        server.serve("/a.png", (tmp_path / names[0]).read_bytes())
        crowd = pictured(tmp_path, [f"{server.url}/a.png", "file:///etc/hostname"])
        with pytest.raises(DataError, match=r"2.*2 tasks.*--allow-urls"):
            images.read_images(crowd, 16, cache=tmp_path / "cache")
        read = images.read_images(crowd, 16, cache=tmp_path / "cache", accept=True, allow_urls=True)
    assert read.media.images.present.tolist() == [True, False]


def test_a_dataset_without_images_and_an_odd_side_are_refused(tmp_path):
    with pytest.raises(DataError, match="images"):
        images.read_images(simulate_crowd(5))
    with pytest.raises(SettingError, match="between 8 and 1024"):
        images.read_images(pictured(tmp_path, ["a.png"]), 2)


QUESTIONS = ("animal", "mood")
MOODS = dict(zip(CLASSES, ("calm", "glad", "wild"), strict=True))
BY_QUESTION = [
    [GIVEN.get((t, w), "") for w in WORKERS] + [MOODS.get(GIVEN.get((t, w)), "") for w in WORKERS] for t in TASKS
]
BY_PERSON = [[cell for pair in zip(row[:4], row[4:], strict=True) for cell in pair] for row in BY_QUESTION]
PANDAS = [["", *(q for q in QUESTIONS for _ in WORKERS)], ["", *WORKERS * 2], ["item", *[""] * 8]]
MERGED = [["", "animal", "", "", "", "mood", "", "", ""], ["item", *WORKERS * 2]]
PEOPLE = [["", *(cell for w in WORKERS for cell in (w, ""))], ["item", *QUESTIONS * 4]]


@pytest.mark.parametrize(("names", "rows"), [(PANDAS, BY_QUESTION), (MERGED, BY_QUESTION), (PEOPLE, BY_PERSON)])
def test_two_rows_of_names_with_several_questions(names: Any, rows: Any, tmp_path: Path) -> None:
    labelled = [[t, *row] for t, row in zip(TASKS, rows, strict=True)]
    path = written(tmp_path, "two.csv", table([*names, *labelled]))
    (question,) = examine(path).report.questions
    assert (question.code, question.examples) == ("several-questions", QUESTIONS)
    for name, classes in (("animal", CLASSES), ("mood", MOODS.values())):
        dataset = examine(path, question=name).dataset()
        assert ([*dataset.task_ids], [*dataset.worker_ids], dataset.n_annotations) == (TASKS, [*WORKERS], len(ROWS))
        assert {*dataset.classes} == {*classes}


RECORDS = [{"item": t, "worker": w, "label": v} for t, w, v in ROWS]
NESTED = [{"id": t, "annotations": [{"worker": w, "label": v} for w, v in given]} for t, given in BY_TASK.items()]
WRAPPED: dict[str, Any] = {
    "rows": {"data": {"items": RECORDS}},
    "beside": {"status": "ok", "data": {"page": 1, "results": {"n": 3, "labels": RECORDS}}},
    "tasks": {"data": {"items": NESTED}},
    "lists": ROWS,
    "named-lists": [("image", "user", "class"), *ROWS],
    "known-names": [("task", "worker", "label"), *ROWS],
}


@pytest.mark.parametrize("name", WRAPPED)
def test_records_within_others_and_lists_of_lists(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{name}.json", WRAPPED[name])
    imported = examine(path)
    dataset = imported.dataset(accept=True)
    assert not imported.report.questions
    assert ([*dataset.task_ids], {*dataset.worker_ids}, dataset.n_annotations) == (TASKS, {*WORKERS}, len(ROWS))


def labelbox(*more: str) -> list[dict[str, Any]]:
    """A row for each task; ``more`` are questions besides the animal."""

    def label(who: str, option: str) -> dict[str, Any]:
        args = [{"name": q, "radio_answer": {"name": option, "value": option}} for q in ("animal", *more)]
        details = {"created_at": "2024-05-01T10:00:00.000+00:00", "created_by": f"{who}@x.org"}
        values = {"objects": [], "classifications": args, "relationships": []}
        return {"label_kind": "Default", "label_details": details, "annotations": values}

    return [
        {
            "data_row": {"id": f"cl{k}", "external_id": t, "row_data": f"https://x.org/{t}.jpg"},
            "media_attributes": {"mime_type": "image/jpeg"},
            "projects": {"p1": {"name": "Animals", "labels": [label(w, v) for w, v in given]}},
        }
        for k, (t, given) in enumerate(BY_TASK.items())
    ]


def test_labelbox(tmp_path: Path) -> None:
    imported = examine(written(tmp_path, "export.json", labelbox()))
    dataset = imported.dataset()
    assert (imported.report.format, [*dataset.task_ids], dataset.n_annotations) == ("labelbox", TASKS, len(ROWS))
    assert [*dataset.worker_ids] == [f"{w}@x.org" for w in WORKERS]


def test_labelbox_with_several_questions(tmp_path: Path) -> None:
    path = written(tmp_path, "export.jsonl", labelbox("mood"))
    with pytest.raises(DataError) as refusal:
        examine(path)
    assert refusal.value.remedies[0].choices == ({"label": "animal"}, {"label": "mood"})
    assert examine(path, label="mood").dataset().n_annotations == len(ROWS)
    bare = [{**row, "projects": {"p1": {"labels": []}}} for row in labelbox()]
    with pytest.raises(DataError):
        examine(written(tmp_path, "bare.jsonl", bare))
