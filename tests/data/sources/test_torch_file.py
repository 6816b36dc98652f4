"""Files saved by torch, read without torch and without unpickling; hostile ones execute nothing."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data.sources._torch_file import read_torch_arrays

torch = pytest.importorskip("torch")


def arrays() -> dict[str, object]:
    rng = np.random.default_rng(0)
    return {
        "long": rng.integers(10, size=1000),
        "matrix": rng.random((5, 3)),
        "by_column": np.asfortranarray(rng.random((4, 3)).astype(np.float32)),
        "bytes": rng.integers(256, size=300).astype(np.uint8),
        "flags": np.array([True, False]),
        "big_endian": np.array([1, 2, 300], ">i4"),
        "empty": np.zeros(0, np.int64),
        "list": [1, 2, 3],
        "tensor": torch.arange(60).reshape(3, 4, 5),
        "part": torch.arange(20.0)[5:11].reshape(2, 3),
        "half_of_the_same": torch.arange(20, dtype=torch.int16)[:4],
        "scalar": torch.tensor(7),
    }


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_every_layout_and_protocol(tmp_path: Path, zipped: bool, protocol: int) -> None:
    path = tmp_path / "saved.pt"
    torch.save(arrays(), path, _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
    read = read_torch_arrays(path)
    assert list(read) == list(arrays())
    for name, value in arrays().items():
        np.testing.assert_array_equal(read[name], np.asarray(value), err_msg=name)
        assert read[name].dtype == np.asarray(value).dtype or name == "big_endian", name


class Hostile:
    """Would make a file if anything of the pickle were executed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


class HostileState(dict):
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (eval, (f"__import__('os').mkdir({str(self.path)!r})",))


def as_zip(path: Path, pickled: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
    return path


@pytest.mark.parametrize("hostile", [Hostile, HostileState])
@pytest.mark.parametrize("protocol", [0, 1, 2, 4, 5])
@pytest.mark.parametrize("zipped", [True, False])
def test_malicious_pickles_are_refused_and_execute_nothing(
    tmp_path: Path, hostile: type, protocol: int, zipped: bool
) -> None:
    trap = tmp_path / "executed"
    pickled = pickle.dumps({"clean_label": hostile(trap)}, protocol)
    path = tmp_path / "evil.pt"
    if zipped:
        as_zip(path, pickled)
    else:
        path.write_bytes(pickled)
    with pytest.raises(DataError, match=r"refused|pickle operation|magic number") as refusal:
        read_torch_arrays(path)
    assert not trap.exists()
    assert "evil.pt" in str(refusal.value)
    pickle.loads(pickled)  # the trap works
    assert trap.exists()


def test_a_harmless_name_is_refused_as_well(tmp_path: Path) -> None:
    pickled = pickle.dumps({"x": np.datetime64("2020-01-01")}, 4)
    with pytest.raises(DataError, match=r"asks for `numpy\..*multiarray.scalar`, .*nothing was executed \(x.pt\)"):
        read_torch_arrays(as_zip(tmp_path / "x.pt", pickled))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (np.array(["a", "b"]), "and not numbers"),
        (np.array([None], dtype=object), "and not numbers"),
        ("text", "no array"),
        (["a"], "no array"),
    ],
)
def test_what_is_no_numbers(tmp_path: Path, content: object, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        read_torch_arrays(as_zip(tmp_path / "x.pt", pickle.dumps({"x": content}, 2)))


@pytest.mark.parametrize("content", [[1, 2], np.arange(3), "text", 5])
def test_no_dictionary(tmp_path: Path, content: object) -> None:
    with pytest.raises(DataError, match="no dictionary of arrays"):
        read_torch_arrays(as_zip(tmp_path / "x.pt", pickle.dumps(content, 2)))


def test_views_that_are_not_stored_row_by_row(tmp_path: Path) -> None:
    torch.save({"x": torch.arange(6).reshape(2, 3).T}, tmp_path / "x.pt")
    with pytest.raises(DataError, match="not stored row by row"):
        read_torch_arrays(tmp_path / "x.pt")


@pytest.mark.parametrize("zipped", [True, False])
def test_any_truncation_is_one_clear_sentence(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "saved.pt"
    torch.save({"x": np.arange(50), "t": torch.arange(30)}, path, _use_new_zipfile_serialization=zipped)
    whole = path.read_bytes()
    for end in range(0, len(whole) - 8, max(1, len(whole) // 60)):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError):
            read_torch_arrays(path)


@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
def test_a_single_changed_byte_is_read_or_refused_but_never_anything_else(tmp_path: Path) -> None:
    path = tmp_path / "saved.pt"
    torch.save({"x": np.arange(20), "t": torch.arange(9)}, path, _use_new_zipfile_serialization=False)
    whole = bytearray(path.read_bytes())
    rng = np.random.default_rng(1)
    for at in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[at] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            read = read_torch_arrays(path)
        except DataError:
            continue
        assert all(isinstance(v, np.ndarray) for v in read.values())


def test_not_a_file_of_torch(tmp_path: Path) -> None:
    (tmp_path / "x.pt").write_text("<html>Not found</html>")
    with pytest.raises(DataError, match=r"x.pt"):
        read_torch_arrays(tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "y.pt", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(DataError, match=r"holds no data\.pkl"):
        read_torch_arrays(tmp_path / "y.pt")


def test_a_zip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdcore.data.sources._torch_file._LIMIT", 1000)
    with pytest.raises(DataError, match=r"unpacks to .* bytes, more than the 1000 allowed"):
        read_torch_arrays(as_zip(tmp_path / "x.pt", pickle.dumps({"x": np.zeros(10_000)}, 2)))
