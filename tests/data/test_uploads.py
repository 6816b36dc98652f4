"""Uploads of a workspace, as their notes tell: whose they are, what they are called, what is left when one goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from crowdcore.core.errors import SettingError
from crowdcore.core.files import write_json
from crowdcore.data.uploads import (
    NOTE,
    dataset_title,
    delete_upload,
    digest_of,
    find_upload,
    list_uploads,
    note_of,
    stored_file,
)

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
