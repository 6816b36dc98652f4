"""Uploads of a workspace, as their notes tell: whose they are, what they are called, what is left when one goes."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.files import write_json
from crowdcore.data.uploads import (
    NOTE,
    dataset_title,
    delete_upload,
    digest_of,
    find_upload,
    list_uploads,
    make_dataset,
    note_of,
    store_upload,
    stored_file,
    unpacked_folder,
)
from testkit.bombs import zipped

DIGEST = "0123456789abcdef0123"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a stored file, two datasets of Ann that came of it, and one of Ben."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    notes = {
        f"uploads/{DIGEST}": {"name": "votes.csv", "stored": "votes.csv", "owner": "ann", "when": "2026-01-01T10:00"},
        "datasets/votes-1": {"name": "votes", "file": DIGEST, "owner": "ann", "when": "2026-01-01T11:00"},
        "datasets/votes-2": {
            "name": "stars",
            "file": DIGEST,
            "owner": "ann",
            "when": "2026-01-01T12:00",
            "mapping": {"kind": "ratings", "levels": ["a", "b"]},
        },
        "datasets/pets-1": {"name": "votes", "file": "", "owner": "ben", "when": "2026-01-01T13:00"},
    }
    for folder, note in notes.items():
        (tmp_path / folder).mkdir(parents=True)
        write_json(tmp_path / folder / NOTE, {"size": 9, **note})
    (tmp_path / "uploads" / DIGEST / "votes.csv").touch()
    return tmp_path


def test_everybody_lists_their_own_newest_first(home: Path) -> None:
    newest, oldest = list_uploads("ann")
    assert [(one.dataset, one.name, one.rated) for one in (newest, oldest)] == [
        ("votes-2", "stars", True),
        ("votes-1", "votes", False),
    ]
    assert newest.mapping == {"kind": "ratings", "levels": ("a", "b")}
    assert [one.dataset for one in list_uploads("ben")] == ["pets-1"]
    assert list_uploads() == []


def test_a_dataset_is_found_by_what_it_is_called_if_it_is_alone(home: Path) -> None:
    assert dataset_title("votes-2") == "stars" and find_upload("stars") == home / "datasets" / "votes-2"
    assert dataset_title("demo") == "demo" and find_upload("demo") is None
    with pytest.raises(SettingError, match="pets-1, votes-1"):
        find_upload("votes")


def test_a_note_that_changed_is_read_again(home: Path) -> None:
    folder = home / "datasets" / "votes-2"
    assert note_of(folder)["name"] == "stars"
    write_json(folder / NOTE, {"name": "moons"})
    assert note_of(folder) == {"name": "moons"} and note_of(home) == {}


def test_a_stored_file_stays_as_long_as_a_dataset_came_from_it(home: Path) -> None:
    file = home / "uploads" / DIGEST / "votes.csv"
    assert stored_file(DIGEST) == file and digest_of(str(file)) == DIGEST
    assert stored_file("../uploads") is None and digest_of(str(home / "votes.csv")) == ""
    for left, upload in zip((True, False), list_uploads("ann"), strict=True):
        delete_upload(upload)
        assert file.exists() is left and not (home / "datasets" / upload.dataset).exists()
    assert [path.name for path in home.glob("*/*")] == ["pets-1"]


CSV = b"task,worker,label\nt1,ann,cat\nt1,bob,dog\nt2,ann,cat\n"


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace without anything."""
    monkeypatch.setenv("CROWDCORE_WORKSPACE", str(tmp_path))
    return tmp_path


def test_a_file_may_be_called_as_the_note_is(empty: Path) -> None:
    file = store_upload(NOTE, io.BytesIO(CSV))
    assert file.read_bytes() == CSV and stored_file(digest_of(str(file))) == file
    assert [upload.name for upload in list_uploads()] == [NOTE]


def test_the_same_bytes_of_two_people_are_two_uploads(empty: Path) -> None:
    mine, theirs = (store_upload(name, io.BytesIO(CSV), name[:3]) for name in ("ann.csv", "ben.txt"))
    assert [(one.name, one.file) for one in list_uploads("ann")] == [("ann.csv", digest_of(str(mine)))]
    delete_upload(*list_uploads("ben"))
    assert not theirs.exists() and mine.read_bytes() == CSV
    assert store_upload("ann.csv", io.BytesIO(CSV), "ann") == mine and len(list_uploads("ann")) == 1


@pytest.mark.parametrize("name", ["é" * 124 + ".csv", "x" * 250, "." * 9, "", "..\\a\udc80\n.csv", "a." + "b" * 200])
def test_a_name_of_any_length_is_stored(empty: Path, name: str) -> None:
    file = store_upload(name, io.BytesIO(CSV))
    assert file.read_bytes() == CSV and len(file.name.encode()) < 130
    assert file.suffix == ".csv" or not name.endswith(".csv")
    assert stored_file(digest_of(str(file))) == file and len(list_uploads()) == 1


def test_an_archive_from_several_windows_at_once_is_whole_for_each(empty: Path) -> None:
    packed = zipped({f"{k:03d}.csv": CSV * 50 for k in range(300)})
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: unpacked_folder(store_upload("a.zip", io.BytesIO(packed))), range(4)))
    assert len({*found}) == 1
    assert len(list(found[0].iterdir())) == 300 and all(file.read_bytes() == CSV * 50 for file in found[0].iterdir())
    (home,) = (empty / "uploads").iterdir()
    assert sorted(path.name for path in home.iterdir()) == ["content", "unpacked", NOTE]


def test_an_archive_that_is_refused_leaves_nothing(empty: Path) -> None:
    with pytest.raises(DataError, match="damaged"):
        unpacked_folder(store_upload("a.zip", io.BytesIO(zipped({"a": CSV * 99})[:-30])))
    (home,) = (empty / "uploads").iterdir()
    assert sorted(path.name for path in home.iterdir()) == ["content", NOTE]


def test_an_archive_of_an_earlier_version_is_unpacked_anew(empty: Path) -> None:
    """It lay beside its note, and what it was unpacked to may be incomplete."""
    home = empty / "uploads" / DIGEST
    (home / ".unpacked" / "a").mkdir(parents=True)
    (home / "a.zip").write_bytes(zipped({"a/votes.csv": CSV}))
    write_json(home / NOTE, {"name": "a.zip", "stored": "a.zip", "size": 9, "when": "2026-01-01T10:00", "owner": ""})
    file = stored_file(DIGEST)
    assert file is not None and (unpacked_folder(file) / "a" / "votes.csv").read_bytes() == CSV
    assert [upload.name for upload in list_uploads()] == ["a.zip"]


def test_a_dataset_appears_with_its_note_or_not_at_all(empty: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        raise SettingError("name", "be", "so")

    with pytest.raises(SettingError):
        make_dataset("votes-1", fail)
    assert list((empty / "datasets").iterdir()) == []
    make_dataset("votes-1", lambda folder: write_json(folder / NOTE, {"name": "votes"}))
    assert find_upload("votes") == empty / "datasets" / "votes-1"
