from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from crowdcore.data import Media, Rows
from crowdcore.data.media import Item, item_of
from crowdcore.data.rows import EncodedImages
from crowdcore.data.writers import write_folder
from dashboard.components.guard import without_server_paths
from dashboard.services import datasets, opening
from testkit.crowds import simulate_crowd
from tests.conftest import ROOT
from tests.dashboard.app_page import open_page, words


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder in which named datasets are found."""
    folder = tmp_path / "found"
    folder.mkdir()
    monkeypatch.setenv("CROWDCORE_DATA", str(folder))
    return folder


def test_a_named_dataset_is_opened_once_and_again_when_its_files_change(stored: Path) -> None:
    write_folder(simulate_crowd(20), stored / "crowd")
    assert "crowd" in datasets.names()
    first = opening.dataset("crowd")
    assert opening.dataset("crowd") is first
    write_folder(simulate_crowd(25), stored / "crowd", overwrite=True)
    assert opening.dataset("crowd").n_tasks == 25


def test_a_visitor_sees_no_path_of_the_server(stored: Path, workspace: Path) -> None:
    shown = words(open_page("overview", dataset=f"{stored}/x"))
    assert "There is no dataset" in shown
    assert not any(str(folder) in shown for folder in (stored.parent, workspace, Path.home(), ROOT))
    paths = without_server_paths(f"{stored}/crowd/tasks.csv is cut off; looked in {stored}, {workspace}.")
    assert paths == "crowd/tasks.csv is cut off; looked in …, …."


def test_references_begin_with_gold_where_there_is_some(stored: Path) -> None:
    crowd = simulate_crowd(20)
    write_folder(crowd, stored / "crowd")
    write_folder(replace(crowd, gold=np.full(20, -1)), stored / "blind")
    assert datasets.references("crowd")[:4] == ["gold", "auto", "majority-vote", "dawid-skene"]
    assert datasets.references("blind")[:3] == ["auto", "majority-vote", "dawid-skene"]
    assert datasets.reference("crowd", "majority-vote").posterior is not None


def test_a_replaced_dataset_is_seen_anew(stored: Path) -> None:
    from crowdcore import exhibits

    write_folder(simulate_crowd(20), stored / "crowd")
    before = exhibits.overview.overview(datasets.view("crowd", "dawid-skene"))
    assert datasets.view("crowd", "dawid-skene") == datasets.view("crowd", "dawid-skene")
    write_folder(simulate_crowd(25), stored / "crowd", overwrite=True)
    after = exhibits.overview.overview(datasets.view("crowd", "dawid-skene"))
    assert (before.table["value"][0], after.table["value"][0]) == (20, 25)


def test_items_show_pictures_texts_and_sounds_of_their_own_folder_only(stored: Path, tmp_path: Path) -> None:
    Image.new("RGB", (300, 200), "red").save(stored / "a.png")
    (stored / "b.wav").write_bytes(b"RIFF")
    Image.new("RGB", (9, 9)).save(tmp_path / "outside.png")
    (stored / "broken.png").write_bytes(b"not a picture")
    outside = str(tmp_path / "outside.png")
    columns = pd.DataFrame(
        {
            "image": ["a.png", "../outside.png", "broken.png", None, outside, "https://a.org/b.png"],
            "audio": ["b.wav", "../b.wav", None, None, None, None],
            "text": ["hello", None, "<b>x</b>", None, None, None],
        }
    )
    crowd = replace(simulate_crowd(6, n_workers=3), media=Media(columns=columns, folder=stored))
    first = item_of(crowd, 0, side=100)
    assert first.image is not None
    assert first.image.size == (100, 67)
    assert (first.text, first.audio) == ("hello", str(stored / "b.wav"))
    assert item_of(crowd, 1, side=100) == Item()
    assert item_of(crowd, 2, side=100) == Item(text="<b>x</b>")
    assert item_of(crowd, 3, side=100) == Item()
    assert item_of(crowd, 4, side=100) == Item()
    assert item_of(crowd, 5, side=100) == Item(link="https://a.org/b.png")


def test_pictures_kept_as_jpeg_are_decoded_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = BytesIO()
    Image.new("RGB", (60, 30), "red").save(picture, "JPEG")
    files = [picture.getvalue(), b"no picture"]
    data = np.frombuffer(b"".join(files), np.uint8)
    images = Rows((EncodedImages(data, np.cumsum([0, *map(len, files)])),), np.zeros(2, np.int8), np.arange(2))
    crowd = replace(simulate_crowd(2), media=Media(images=images))
    monkeypatch.setattr(EncodedImages, "_decode", None)
    shown = item_of(crowd, 0, side=30).image
    assert shown is not None and shown.size == (30, 15)
    assert item_of(crowd, 1, side=30) == Item()


@pytest.mark.parametrize("odd", ["data:image/png;base64," + 5000 * "A", "a\0b", "javascript:alert(1)", "https:///"])
def test_an_odd_path_of_a_picture_shows_nothing(odd: str, stored: Path) -> None:
    media = Media(columns=pd.DataFrame({"image": [odd, odd]}), folder=stored)
    assert item_of(replace(simulate_crowd(2), media=media), 0, side=100) == Item()


def test_small_pictures_grow_by_whole_factors() -> None:
    pixels = np.arange(2 * 8 * 8, dtype=np.uint8).reshape(2, 8, 8)
    crowd = replace(simulate_crowd(2, n_workers=3), media=Media(images=Rows.from_array(pixels)))
    shown = item_of(crowd, 1, side=100).image
    assert shown is not None
    assert np.array_equal(np.asarray(shown), np.kron(pixels[1], np.ones((12, 12), np.uint8)))
