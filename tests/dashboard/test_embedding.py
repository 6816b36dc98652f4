"""Uploads with images or texts: prepared once, faults named, left out with consent."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from dashboard import services
from tests.conftest import simulate_crowd
from tests.dashboard.app_page import button, open_page, words
from tests.data.pictures import write_pictures

__all__ = ["photo_archive"]


def photo_archive(folder: Path, n_tasks: int) -> bytes:
    """A ZIP of votes.csv and the pictures that its column ``image`` names."""
    crowd = simulate_crowd(n_tasks)
    names = write_pictures(folder, crowd.gold.tolist())
    frame = crowd.annotations.assign(image=np.array(names)[crowd.task])
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("photos/votes.csv", frame.to_csv(index=False))
        for name in names:
            archive.write(folder / name, f"photos/{name}")
    return content.getvalue()


def test_pictures_of_an_upload_are_prepared_on_the_page_train(workspace: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = services.receive("photos.zip", io.BytesIO(photo_archive(tmp_path / "made", 20)))
    assert Path(path).name == "votes.csv"
    mapping = (("test_share", 0.25),)
    found = services.examine(path, mapping)
    assert not isinstance(found, tuple)
    name = services.accept(found, path, mapping)
    (workspace / "datasets" / name / "p003.png").write_bytes(b"")
    assert services.embeddable(name) == "20 images"
    test = open_page("train", dataset=name)
    assert "About" in words(test) and "Pixels, for a network from scratch" in words(test)
    button(test, "Prepare 20 images").click()
    test.run()
    assert "p003.png is empty (zero bytes)" in words(test)
    button(test, "Leave these tasks out and go on").click()
    test.run()
    opened = services.dataset(name)
    assert services.embeddable(name) == "" and opened.n_tasks == 19
    assert opened.media is not None and opened.media.images is not None
    assert opened.media.images.shape == (19, 16, 16, 3)
    assert "p003.png" in opened.notes[-1]
    assert services.suggested(name) == ["conal"]
