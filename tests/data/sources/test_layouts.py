"""Published files in another layout than the known one: each is one clear sentence, and nothing reaches the cache."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from crowdcore.core.errors import DataError, MissingExtraError
from crowdcore.data import sources
from crowdcore.data.sources.published import Cifar10N
from tests.data.sources import archives
from tests.data.sources.server import Server

LABELME, MUSIC = "/deep_LabelMe.tar.gz", "/mturk-datasets.tar.gz"


def change(members: dict[str, bytes], name: str, body: bytes | None) -> dict[str, bytes]:
    rest = {k: v for k, v in members.items() if not k.endswith(name)}
    return rest if body is None else {**rest, next(k for k in members if k.endswith(name)): body}


OBJECTS = io.BytesIO()
np.save(OBJECTS, np.array([{}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("LabelMe/answers.txt", None, "The source lacks answers.txt"),
        ("LabelMe/answers.txt", b"1 2 x\n", "answers.txt is not a table of numbers"),
        ("LabelMe/answers.txt", b"1 2\n1 2\n", "answers.txt has 2 lines, but prepared/labels_train.npy has 24 tasks"),
        ("LabelMe/answers.txt", b"9 2\n" * 24, "answers.txt must hold whole numbers from -1 to 7"),
        ("LabelMe/answers.txt", b"0.5 2\n" * 24, "answers.txt must hold whole numbers from -1 to 7"),
        ("labels_valid.npy", None, "The source lacks prepared/labels_valid.npy"),
        ("labels_valid.npy", b"text", "prepared/labels_valid.npy cannot be read as an array"),
        ("labels_valid.npy", OBJECTS.getvalue(), "prepared/labels_valid.npy cannot be read as an array"),
        ("labels_valid.npy", archives.npy(np.zeros((9, 2))), r"labels_valid.npy has the shape \(9, 2\), but n was exp"),
        ("data_test_vgg16.npy", archives.npy(np.zeros((3, 1, 1, 1))), "but 10 × n × n × n was expected"),
        ("filenames_test.txt", b"street_1.jpg", "filenames_test.txt does not fit prepared/labels_test.npy"),
    ],
)
def test_labelme_in_another_layout(server: Server, cache: Path, name: str, body: bytes | None, sentence: str) -> None:
    server.serve(LABELME, archives.tar_gz(change(archives.labelme()[0], name, body)))
    with pytest.raises(DataError, match=sentence):
        sources.fetch("labelme", url_base=server.url)
    assert not any(cache.glob("*"))


@pytest.mark.parametrize(
    ("name", "body", "sentence"),
    [
        ("gold.csv", None, "The source lacks music_genre_classification/music_genre_gold.csv"),
        ("classification/mturk_answers.csv", b"", "mturk_answers.csv is not a table"),
        ("classification/mturk_answers.csv", b"a,b\n1,2\n", "has no column Answer.pred_label, Input.song, WorkerID"),
        (
            "classification/mturk_answers.csv",
            b"Input.song,WorkerID,Answer.pred_label\nnone.mp3,A,rock\n",
            "names songs that are not in",
        ),
        ("music_genre_test.csv", b"id,f0,class\nx.mp3,1,polka\n", "holds 'polka', which is not a genre"),
        ("music_genre_test.csv", b"id,f0,class\nx.mp3,loud,rock\n", "A feature of the songs is not a number"),
    ],
)
def test_music_in_another_layout(server: Server, cache: Path, name: str, body: bytes | None, sentence: str) -> None:
    server.serve(MUSIC, archives.tar_gz(change(archives.music()[0], name, body)))
    with pytest.raises(DataError, match=sentence):
        sources.fetch("music", url_base=server.url)


@pytest.mark.parametrize(
    ("labels", "batches", "sentence"),
    [
        ({"clean_label": None}, {}, "CIFAR-10_human.pt has no clean_label"),
        ({"random_label2": np.arange(7)}, {}, "differ in length"),
        ({"random_label2": np.full(40, 11)}, {}, "random_label2 must hold whole numbers from 0 to 9"),
        ({}, {"Image-batch": ["0--9", "10--19", "20--29", "20--29"]}, "do not cover the 40 images"),
        ({}, {"Image-batch": ["0--9", "10--19", "20--29", "x"]}, "not the table of batches"),
        ({}, {"Worker2-id": ["a", "b", "c", "d"]}, "not the table of batches"),
        ({}, {"Worker2-id": None}, "not the table of batches"),
    ],
)
def test_cifar10n_in_another_layout(server, cache, labels, batches, sentence):
    saved, table = archives.cifar10n()
    saved = {k: v for k, v in {**saved, **labels}.items() if v is not None}
    for name, column in batches.items():
        table = table.drop(columns=name) if column is None else table.assign(**{name: column})
    archives.serve_cifar10n(server, saved, table)
    with pytest.raises(DataError, match=sentence):
        sources.fetch("cifar10n", url_base=server.url)


@pytest.mark.parametrize("zipped", [True, False])
def test_any_truncation_of_cifar10n_is_refused(tmp_path: Path, zipped: bool) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "CIFAR-10_human.pt"
    torch.save(archives.cifar10n()[0], path, _use_new_zipfile_serialization=zipped)
    whole = path.read_bytes()
    for end in range(0, len(whole) - 8, max(1, len(whole) // 60)):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError, match=r"CIFAR-10_human\.pt"):
            Cifar10N().convert({path.name: path}, tmp_path)


@pytest.mark.parametrize("content", [[1, 2], np.arange(3), "text", 5])
def test_a_file_of_cifar10n_without_a_dictionary(tmp_path: Path, content: object) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "CIFAR-10_human.pt"
    torch.save(content, path)
    with pytest.raises(DataError, match="dictionary"):
        Cifar10N().convert({path.name: path}, tmp_path)


def test_cifar10n_without_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    path = tmp_path / "CIFAR-10_human.pt"
    with pytest.raises(MissingExtraError, match=r"10.*learning"):
        Cifar10N().convert({path.name: path}, tmp_path)
