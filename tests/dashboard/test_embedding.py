"""Uploads with images or texts: prepared once, faults named, left out with consent."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np

from crowdcore.data.catalogue import dataset_title
from crowdcore.data.uploads import digest_of
from crowdcore.learning.learners import embeddable, suggested_methods
from dashboard.services import opening, uploads
from testkit.crowds import simulate_crowd
from tests.dashboard.app_page import button, open_page, words
from tests.data.pictures import write_pictures


def photo_archive(folder: Path, n_tasks: int, damaged: bool = False) -> bytes:
    """A ZIP of votes.csv and the pictures that its column ``image`` names, of which the first may be damaged."""
    crowd = simulate_crowd(n_tasks)
    names = write_pictures(folder, crowd.gold.tolist())
    if damaged:
        (folder / names[0]).write_bytes(b"")
    frame = crowd.annotations.assign(image=np.array(names)[crowd.task])
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("photos/votes.csv", frame.to_csv(index=False))
        for name in names:
            archive.write(folder / name, f"photos/{name}")
    return content.getvalue()


def test_pictures_of_an_upload_are_prepared_on_the_page_train(workspace: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    path = uploads.receive("photos.zip", io.BytesIO(photo_archive(tmp_path / "made", 20)))
    assert Path(path).name == "votes.csv"
    mapping = (("test_share", 0.25),)
    imported = uploads.examine(path, mapping)
    assert not isinstance(imported, tuple)
    name = uploads.accept(imported, path, mapping)
    assert name.startswith("photos-")
    (workspace / "datasets" / name / "p003.png").write_bytes(b"")
    assert embeddable(opening.labelled(name)) == "20 images" and dataset_title(name) == "photos"
    test = open_page("train", dataset=name)
    assert "About" in words(test) and "EfficientNet-Lite0" in words(test)
    test.selectbox(key=f"embed-{name}").select("pixels").run()
    assert "Pixels" in words(test)
    button(test, "Prepare 20 images").click().run()
    assert "p003.png is empty" in words(test)
    assert "image:\n\n- " in words(test), "a line for each fault"
    button(test, "Leave these tasks out and go on").click().run()
    opened = opening.dataset(name)
    assert embeddable(opening.labelled(name)) == "" and opened.n_tasks == 19
    assert opened.media is not None and opened.media.images is not None
    assert opened.media.images.shape == (19, 16, 16, 3)
    assert "p003.png" in opened.notes[-1]
    assert suggested_methods(opening.labelled(name)) == ["conal"]


def test_an_import_with_a_faulty_image_does_not_say_that_nothing_is_lost(workspace: Path, tmp_path: Path) -> None:
    for damaged in (False, True):
        path = uploads.receive("photos.zip", io.BytesIO(photo_archive(tmp_path / "made", 3, damaged)))
        test = open_page("overview", dataset="demo", view="Open a file", file=digest_of(path))
        assert ("p000.png" in words(test)) == damaged
        assert bool(test.success) != damaged


def test_images_that_nobody_labelled_lead_to_the_sandbox(workspace: Path, tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for code, kind in enumerate(("cat", "dog")):
            for picture in write_pictures(tmp_path / kind, [code] * 4):
                archive.write(tmp_path / kind / picture, f"{kind}/{picture}")
    path = uploads.receive("animals.zip", content)
    imported = uploads.examine(path, ())
    assert not isinstance(imported, tuple)
    name = uploads.accept(imported, path)
    assert dataset_title(name) == "animals" and embeddable(opening.labelled(name)) == ""
    train = open_page("train", dataset=name)
    assert "page Sandbox" in words(train)
    assert "page Sandbox" in words(open_page("overview", dataset=name))


def test_a_sentence_model_is_chosen_on_the_page_train(workspace: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("dashboard.services.embedding.run_in_child", lambda work, *args, **named: work(*args, **named))
    library = tmp_path / "library" / "sentence_transformers"
    library.mkdir(parents=True)
    library.joinpath("__init__.py").write_text(_LIBRARY)
    monkeypatch.syspath_prepend(library.parent)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("one--tiny", "two--wide"):
        folder = tmp_path / "hub" / f"models--{name}" / "snapshots" / "1"
        folder.mkdir(parents=True)
        folder.joinpath("modules.json").write_text("[]")
    crowd = simulate_crowd(30)
    texts = np.array([f"{('red', 'blue', 'green')[i % 3]} number{i % 7} word{i}" for i in range(crowd.n_tasks)])
    crowd.annotations.assign(text=texts[crowd.task]).to_csv(tmp_path / "texts.csv", index=False)
    path = uploads.receive("texts.csv", io.BytesIO((tmp_path / "texts.csv").read_bytes()))
    imported = uploads.examine(path, ())
    assert not isinstance(imported, tuple)
    name = uploads.accept(imported, path, ())
    test = open_page("train", dataset=name)
    chosen = next(box for box in test.selectbox if box.label == "How")
    chosen.set_value("sentences").run()
    models = next(box for box in test.selectbox if box.label == "Model")
    assert models.options == ["one/tiny", "two/wide"]
    models.set_value("two/wide").run()
    button(test, "Prepare 30 texts").click().run()
    features = opening.dataset(name).features
    assert features is not None and features.shape == (30, 5)  # of the second model


_LIBRARY = """
import numpy as np
import pytest

from crowdcore.cli import main
class SentenceTransformer:
    def __init__(self, model, **options):
        self.width = 5 if model == "two/wide" else 2

    def encode(self, texts, **options):
        return np.arange(len(texts) * self.width, dtype=np.float32).reshape(len(texts), -1)
"""
