"""Small files in the layouts of the published ones, made from made-up data."""

from __future__ import annotations

import io
import tarfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.data.sources.server import Server

SCENES = ["highway", "insidecity", "tallbuilding", "street", "forest", "coast", "mountain", "opencountry"]
GENRES = ["blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock"]
SIZES = {"train": 24, "valid": 9, "test": 10}


def tar_gz(members: dict[str, bytes], extra: list[tarfile.TarInfo] | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
        for info in extra or []:
            tar.addfile(info)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def labelme(seed: int = 0, images: bool = True) -> tuple[dict[str, bytes], dict[str, np.ndarray]]:
    """Members of ``deep_LabelMe.tar.gz`` and what they should become; workers 1 and 4 of 7 answer nothing."""
    rng = np.random.default_rng(seed)
    gold = {split: rng.integers(8, size=n) for split, n in SIZES.items()}
    features = {split: rng.random((n, 4, 4, 512), np.float32) for split, n in SIZES.items()}
    answers = np.where(rng.random((SIZES["train"], 7)) < 0.4, rng.integers(8, size=(SIZES["train"], 7)), -1)
    answers[:, [1, 4]] = -1
    answers[0, [0, 2, 3, 5, 6]] = [3, 1, 1, 0, 7]
    text = "\n".join(" ".join(map(str, row)) for row in answers) + "\n"
    picture = io.BytesIO()
    Image.new("RGB", (8, 8), "green").save(picture, "JPEG")
    members = {"LabelMe/answers.txt": text.encode(), "LabelMe/prepared/answers.npy": npy(answers)}
    for split in SIZES:
        names = [f"{SCENES[c]}_{split}{i}.jpg" for i, c in enumerate(gold[split])]
        members[f"LabelMe/filenames_{split}.txt"] = "\n".join(names).encode()
        members[f"LabelMe/labels_{split}.txt"] = "\n".join(map(str, gold[split])).encode()
        members[f"LabelMe/prepared/labels_{split}.npy"] = npy(gold[split].astype(float))
        members[f"LabelMe/prepared/data_{split}_vgg16.npy"] = npy(features[split])
        if images:
            for name in names[:5]:
                members[f"LabelMe/{split}/{name.partition('_')[0]}/{name}"] = picture.getvalue()
    members["LabelMe/readme.doc"] = b"not wanted"
    expected = {
        "gold": np.concatenate([*gold.values()]),
        "answers": np.delete(answers, [1, 4], axis=1),
        "features": np.concatenate([f.reshape(len(f), -1) for f in features.values()]),
    }
    return members, expected


def music(seed: int = 0) -> tuple[dict[str, bytes], dict[str, pd.DataFrame]]:
    """Members of ``mturk-datasets.tar.gz`` and the tables in them."""
    rng = np.random.default_rng(seed)

    def songs(n: int, begin: int) -> pd.DataFrame:
        genre = rng.choice(GENRES, n)
        frame = pd.DataFrame(rng.random((n, 124)), columns=[f"f{k}" for k in range(124)])
        frame.insert(0, "id", [f"{g}.{begin + i:05d}.mp3" for i, g in enumerate(genre)])
        frame["class"] = genre
        return frame

    train, test = songs(20, 0), songs(8, 20)
    answers = pd.DataFrame(
        {
            "HITId": np.arange(60),
            "WorkerID": rng.choice(["A3ZZ", "A1B2", "AXYZ"], 60),
            "Input.song": rng.choice(train["id"], 60),
            "Answer.pred_label": rng.choice(GENRES, 60),
        }
    )
    tables = {"music_genre_gold.csv": train, "music_genre_test.csv": test, "mturk_answers.csv": answers}
    members = {f"music_genre_classification/{name}": t.to_csv(index=False).encode() for name, t in tables.items()}
    members["sentiment_polarity/mturk_answers.csv"] = b"WorkerID,Input.id\n"
    return members, tables


def cifar10n(seed: int = 0, n: int = 40) -> tuple[dict[str, np.ndarray], pd.DataFrame]:
    """The dictionary saved in ``CIFAR-10_human.pt`` and the table of ``side_info_cifar10N.csv``."""
    rng = np.random.default_rng(seed)
    keys = ("clean_label", "worse_label", "aggre_label", "random_label1", "random_label2", "random_label3")
    labels = {key: rng.integers(10, size=n) for key in keys}
    table = {"Image-batch": [f"{i}--{i + 9}" for i in range(0, n, 10)]}
    for k in (1, 2, 3):
        table[f"Worker{k}-id"] = rng.integers(0, 700, n // 10)
        table[f"Work-time-in-seconds-{k}"] = rng.integers(1, 100, n // 10)
    return labels, pd.DataFrame(table)


def serve_cifar10n(server: Server, labels: dict[str, np.ndarray], table: pd.DataFrame) -> None:
    torch = pytest.importorskip("torch")
    saved = io.BytesIO()
    torch.save(labels, saved)
    server.serve("/CIFAR-10_human.pt", saved.getvalue())
    server.serve("/side_info_cifar10N.csv", table.to_csv(index=False).encode())
