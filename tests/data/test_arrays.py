"""Arrays in files: nothing is unpickled, nothing expands beyond its bound, JPEG decodes lazily."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from crowdcore.core.errors import DataError
from crowdcore.data import Rows, rows as arrays
from crowdcore.data.rows import EncodedImages, array_shape, open_array, read_npz


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
    with pytest.raises(DataError, match="The images differ in size"):
        mixed[:]
    np.savez(tmp_path / "a.npz", data=parts["data"], offsets=parts["offsets"][::-1].copy())
    with pytest.raises(DataError, match="`offsets` do not cut `data` into images"):
        open_array(tmp_path / "a.npz")
    with pytest.raises(DataError, match="Image 0 cannot be decoded"):
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
            with pytest.raises(DataError, match=r"cannot be read as an array \(.*(never unpickled|Python objects)"):
                read(path)
    with pytest.raises(DataError, match="never unpickled"):
        read_npz(tmp_path / "images_train.npz", ("images",))


def test_an_archive_that_expands_too_far(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "images.npz", images=np.zeros((100, 100), np.uint8))
    monkeypatch.setattr(arrays, "MAX_EXPANDED", 5000)
    with pytest.raises(DataError, match=r"This archive expands to 0 MiB; at most 0 MiB are read \(images.npz\)"):
        open_array(tmp_path / "images.npz")


def test_a_header_that_lies_about_its_size(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (1 << 40, 3)})
    with zipfile.ZipFile(tmp_path / "images.npz", "w") as archive:
        archive.writestr("images.npy", header.getvalue() + b"abc")
    with pytest.raises(DataError, match=r"`images` claims the shape \(1099511627776, 3\), which is more than it holds"):
        open_array(tmp_path / "images.npz")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
@pytest.mark.parametrize("raw", [b"", b"nonsense", b"\x93NUMPY\x01\x00", b"PK\x03\x04 and no more"])
def test_damaged_files(tmp_path, name, raw):
    (tmp_path / name).write_bytes(raw)
    for read in (array_shape, open_array):
        with pytest.raises(DataError, match="cannot be read as an array"):
            read(tmp_path / name)


def test_an_archive_of_other_things(tmp_path):
    np.savez(tmp_path / "a.npz", labels=np.zeros(3))
    with pytest.raises(DataError, match=r"a.npz"):
        array_shape(tmp_path / "a.npz")
    with pytest.raises(DataError, match=r"This archive holds no `images`, nor `data` and `offsets`"):
        open_array(tmp_path / "a.npz")


def test_taken_rows_share_what_is_open(tmp_path):
    np.savez(tmp_path / "images.npz", images=np.arange(12, dtype=np.uint8).reshape(3, 4))
    rows = Rows.from_splits({-1: tmp_path / "images.npz"}, np.full(3, -1))
    opened = rows.arrays
    assert rows.take(np.array([2, 0])).arrays[0] is opened[0]
    np.testing.assert_array_equal(rows.take(np.array([2, 0]))[:], [[8, 9, 10, 11], [0, 1, 2, 3]])
    with pytest.raises(DataError, match="1 of the requested tasks have no row"):
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
