"""A ZIP unpacks within bounds, all or nothing."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from crowdcore.core.errors import DataError
from crowdcore.data import unpack
from crowdcore.data.unpack import unpack_zip
from testkit.bombs import zipped

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
