"""Uploads are found again, distinguished, renamed and deleted, and are visible to nobody else."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from crowdcore.core.errors import CrowdError
from crowdcore.data.catalogue import Upload, dataset_title, upload_folder
from crowdcore.data.uploads import delete_upload
from dashboard.services import datasets, opening, uploads
from tests.dashboard.app_page import open_page, words

CSV = b"task,worker,label\nt1,ann,cat\nt1,bob,Cat\nt2,ann,dog\nt1,ann,\nt2,bob,cat\n"


def take_in(name: str = "pets.csv", content: bytes = CSV, **mapping: object) -> Upload:
    path = uploads.receive(name, io.BytesIO(content))
    settings = tuple(sorted(mapping.items()))
    imported = uploads.examine(path, settings)
    dataset = uploads.accept(imported, path, settings)
    return next(upload for upload in uploads.list_uploads() if upload.dataset == dataset)


def test_an_upload_is_called_like_its_file_and_two_of_a_name_are_told_apart() -> None:
    first, again, other = take_in(), take_in(), take_in(content=CSV + b"t3,ann,dog\n")
    assert first == again
    assert (first.name, other.name) == ("pets", "pets (2)")
    assert first.dataset != other.dataset
    assert first.size == len(CSV)
    assert dataset_title(other.dataset) == opening.dataset(other.dataset).name == "pets (2)"
    assert {first.dataset, other.dataset} <= set(datasets.names())
    merged = take_in(merge_classes={"cat": ("Cat",)})
    assert merged.file == first.file and merged.dataset != first.dataset
    assert merged.mapping == {"merge_classes": {"cat": ["Cat"]}}


def test_rows_and_notes_are_those_of_the_file_that_was_uploaded() -> None:
    opened = opening.dataset(take_in().dataset)
    assert opened.file_row.tolist() == [1, 2, 3, 5]
    assert any("(column 'label'; row 4)" in note for note in opened.notes)
    from crowdcore.exhibits.tasks import task_labels

    shown = task_labels(datasets.view(take_in().dataset, "majority-vote"), "t2").table
    assert shown["row of the file"].tolist() == [3, 5]


def test_a_file_that_was_not_opened_yet_is_listed_and_read_again() -> None:
    path = uploads.receive("later.csv", io.BytesIO(CSV))
    (upload,) = uploads.list_uploads()
    assert (upload.name, upload.dataset) == ("later.csv", "")
    assert uploads.receive_again(upload.file) == path
    page = open_page("overview", dataset="demo", view="Open a file", file=upload.file)
    assert "later: what was understood" in words(page)
    assert "drift and speed cannot be judged" in words(page)
    timed = uploads.receive("timed.csv", io.BytesIO(b"task,worker,label,timestamp\nt1,ann,cat,5\nt2,ann,dog,9\n"))
    (upload,) = [one for one in uploads.list_uploads() if one.name == "timed.csv"]
    assert uploads.receive_again(upload.file) == timed
    page_of_timed = open_page("overview", dataset="demo", view="Open a file", file=upload.file)
    assert "judged by 'timestamp'" in words(page_of_timed)
    assert "Merge them" in [button.label for button in page.button]


@pytest.mark.parametrize("digest", ["", "..", "0" * 20, "../../etc"])
def test_a_file_that_is_not_there_is_refused_in_a_sentence(digest: str) -> None:
    with pytest.raises(CrowdError, match="no longer there"):
        uploads.receive_again(digest)


def test_renaming_keeps_the_address() -> None:
    first, second = take_in(), take_in("others.csv", CSV + b"t3,ann,dog\n")
    uploads.rename_upload(first, "  Cats &  dogs ")
    assert dataset_title(first.dataset) == opening.dataset(first.dataset).name == "Cats & dogs"
    for name in ("", "x" * 101, "Cats & dogs", "demo"):
        with pytest.raises(CrowdError, match="`name` must"):
            uploads.rename_upload(second, name)
    assert dataset_title(second.dataset) == "others"


def test_deleting_takes_the_file_along_unless_another_dataset_came_from_it(workspace: Path) -> None:
    first, merged = take_in(), take_in(merge_classes="variants")
    delete_upload(first)
    assert upload_folder(first.dataset) is None
    assert Path(uploads.receive_again(first.file)).is_file()
    delete_upload(merged)
    assert uploads.list_uploads() == []
    with pytest.raises(CrowdError, match="no longer there"):
        uploads.receive_again(first.file)
    assert [path for path in workspace.rglob("*") if path.is_file()] == []


def test_nobody_else_reads_the_files(workspace: Path) -> None:
    before = os.umask(0o077)  # as the app's server does
    try:
        take_in()
    finally:
        os.umask(before)
    for folder in ("uploads", "datasets"):
        for path in (workspace / folder, *(workspace / folder).rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path


def test_everyone_who_signs_in_sees_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "owner", lambda: "ann@example.org")
    mine = take_in()
    monkeypatch.setattr(uploads, "owner", lambda: "ben@example.org")
    assert uploads.list_uploads() == []
    assert opening.dataset(mine.dataset).n_annotations == 4  # whoever is given the address opens it


def test_a_broken_note_is_passed_over(workspace: Path) -> None:
    upload = take_in()
    (workspace / "datasets" / upload.dataset / "upload.json").write_text("{")
    assert uploads.list_uploads()[0].dataset == ""
    assert dataset_title(upload.dataset) == upload.dataset
