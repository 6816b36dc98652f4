"""A ZIP unpacks within bounds, all or nothing; what unfolds beyond them is refused before it does."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import examine, rows as arrays, unpack, write_folder
from crowdcore.data.rows import array_shape, open_array, read_npz
from crowdcore.data.tables import parquet
from crowdcore.data.unpack import unpack_zip
from testkit import bombs
from testkit.bombs import zipped
from testkit.crowds import simulate_crowd

GIB = 1 << 30


def test_rows_that_a_footer_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = bombs.parquet_of_many_rows(tmp_path / "many.parquet")
    assert file.stat().st_size < 2_000_000
    monkeypatch.setattr(parquet, "available_memory", lambda: 6 * GIB)
    needed = 200e6 * 3 * parquet.CELL / GIB
    with pytest.raises(DataError, match=rf"200,000,000 rows of 3 columns need about {needed:.1f} GiB .* are 6.0 GiB"):
        examine(file)


def test_the_same_file_with_as_many_rows_as_fit_is_read(tmp_path: Path) -> None:
    report = examine(bombs.parquet_of_many_rows(tmp_path / "few.parquet", 3 * bombs.ROWS)).report
    assert (report.n_rows, report.n_tasks) == (3 * bombs.ROWS, 1)


def test_a_name_of_megabytes(tmp_path: Path) -> None:
    file = bombs.parquet_of_long_cells(tmp_path / "long.parquet")
    assert file.stat().st_size < 10_000
    with pytest.raises(DataError, match=r"A task is 4,194,304 bytes long, and at most 65,536 are a name") as refused:
        examine(file)
    assert len(str(refused.value)) < 300


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")  # Pillow warns, and goes on
def test_an_image_of_many_pixels() -> None:
    bomb = bombs.images(bombs.png(12_000, 12_000))
    assert len(bomb.data) < 200_000
    with pytest.raises(DataError, match=r"Image 0 has 12,000 × 12,000 pixels. .* at most 50,000,000"):
        bomb[:]


def test_many_images_together(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = bombs.images(*[bombs.png(1000, 1000)] * 50)
    assert bomb[:2].shape == (2, 1000, 1000, 3)
    monkeypatch.setattr(arrays, "available_memory", lambda: GIB // 8)
    with pytest.raises(DataError, match=r"50 images of shape \(1000, 1000, 3\) do not fit into memory"):
        bomb[:]


def test_an_archive_that_needs_more_than_a_quarter_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "images.npz", images=np.zeros((2, 3 << 20), np.uint8))
    monkeypatch.setattr(arrays, "available_memory", lambda: 20 << 20)
    with pytest.raises(DataError, match="expands to 6 MiB; at most 5 MiB are read"):
        open_array(tmp_path / "images.npz")


@pytest.mark.parametrize(
    "shape", ["(-1, 4)", "(3, -4)", "(-2, -6)", "(3, 0)", "(0, 0)", "(1 << 40, 3)", "(3, 4.0)", "7"]
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_shape_that_cannot_be(write: Callable[..., Path], shape: str, packed: bool) -> None:
    raw = bombs.npy(shape, bytes(48))
    file = write(bombs.zipped({"images.npy": raw}) if packed else raw, "images.npz" if packed else "features.npy")
    for read in (array_shape, open_array):
        with pytest.raises(DataError, match=r"cannot be read as an array \("):
            read(file)


def test_a_header_that_claims_more_than_the_file_holds(tmp_path: Path) -> None:
    (tmp_path / "features.npy").write_bytes(bombs.npy("(1099511627776, 3)", bytes(48)))
    for read in (array_shape, open_array):
        with pytest.raises(DataError, match=r"The header claims the shape \(1099511627776, 3\)"):
            read(tmp_path / "features.npy")


def test_no_rows_are_no_fault(tmp_path: Path) -> None:
    (tmp_path / "features.npy").write_bytes(bombs.npy("(0, 4)"))
    assert array_shape(tmp_path / "features.npy") == open_array(tmp_path / "features.npy").shape == (0, 4)


def test_a_damaged_archive_in_a_folder(tmp_path: Path) -> None:
    crowd = simulate_crowd(30)
    write_folder(crowd, tmp_path / "crowd")
    file = tmp_path / "crowd" / "truth.npz"
    raw = bytearray(bombs.zipped({"omega.npy": bombs.npy("(90,)", np.random.default_rng(0).bytes(360))}))
    raw[60:90] = bytes(30)  # inside the compressed stream
    file.write_bytes(raw)
    with pytest.raises(DataError, match=r"cannot be read as an array .*truth.npz"):
        examine(tmp_path / "crowd")
    with pytest.raises(DataError, match="cannot be read as an array"):
        read_npz(file, ("omega",))


CSV = b"task,worker,label\nt1,ann,cat\nt1,bob,dog\n"


@pytest.fixture
def refused(tmp_path: Path):
    """``refused(content)`` is the one sentence that refuses an archive; nothing of it stays."""

    def refuse(content: bytes) -> str:
        (tmp_path / "a.zip").write_bytes(content)
        with pytest.raises(DataError) as refused:
            unpack_zip(tmp_path / "a.zip", tmp_path / "inside" / "a")
        assert [path.name for path in tmp_path.rglob("*")] == ["a.zip"] or not list((tmp_path / "inside").iterdir())
        return str(refused.value)

    (tmp_path / "inside").mkdir()
    return refuse


def test_files_and_folders_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped({"crowd/": b"", "crowd/a.csv": CSV, "b.csv": CSV}))
    unpack_zip(tmp_path / "a.zip", tmp_path / "a")
    assert (tmp_path / "a" / "crowd" / "a.csv").read_bytes() == (tmp_path / "a" / "b.csv").read_bytes() == CSV


@pytest.mark.parametrize("name", ["../out.csv", "/etc/out.csv", "a/../../out.csv", "a\\..\\out.csv"])
def test_a_name_that_leads_outside(refused, name: str) -> None:
    assert "is outside the archive's folder" in refused(zipped({"fine.csv": CSV, name: CSV}))


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b")])
def test_one_name_for_a_file_and_a_folder(refused, names: tuple[str, str]) -> None:
    assert "one name for a file and a folder" in refused(zipped(dict.fromkeys(names, CSV)))


def test_too_many_bytes(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({"a": bytes(4 << 20)})
    monkeypatch.setattr(unpack, "FREELY", 1 << 20)
    assert f"more than {200 * len(bomb) / 2**30:.3g} GiB, 200 times its own size" in refused(bomb)
    monkeypatch.setattr(unpack, "EXPANDED", 1 << 20)
    assert "more than 0.000977 GiB" in refused(bomb)


def test_a_size_that_lies(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "EXPANDED", 1 << 20)
    lie = zipped({"a": bytes(2 << 20)}).replace((2 << 20).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    assert "damaged" in refused(lie)


def test_more_files_than_may_be(refused, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (zipped({f"{number:04d}": b"" for number in range(n)}) for n in (11, 100))
    monkeypatch.setattr(unpack, "MEMBERS", 10)
    assert "or 10 files" in refused(few)
    monkeypatch.setattr(zipfile, "ZipFile", pytest.fail)  # so long a list is not even read
    assert "lists more than 10 files" in refused(many)


@pytest.mark.parametrize("broken", [b"", b"PK\x03\x04", zipped({"a": CSV * 99})[:-30]])
def test_a_damaged_archive(refused, broken: bytes) -> None:
    assert "This archive is damaged" in refused(broken)


def test_a_damaged_stream(refused) -> None:
    content = zipped({"a": CSV * 100})
    assert "This archive is damaged" in refused(content[:40] + bytes(20) + content[60:])
