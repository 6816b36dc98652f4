"""LabelMe and Music, the crowds of Rodrigues et al.; and CIFAR-10N, its images labelled three times each."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, need_extra
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset, Media
from crowdcore.data.rows import Rows
from crowdcore.data.sources._download import unpack
from crowdcore.data.sources.base import RemoteFile, Source, load_array, need, whole_numbers

SCENES = ("highway", "insidecity", "tallbuilding", "street", "forest", "coast", "mountain", "opencountry")


class LabelMe(Source):
    """Layout of ``deep_LabelMe.tar.gz``, all below the one folder ``LabelMe/``.

    ``answers.txt``: one line per training image, one blank-separated number per worker, −1 where there is no answer
    (77 workers, 18 of whom answered nothing and are left out). ``prepared/labels_<split>.npy``: true classes;
    ``prepared/data_<split>_vgg16.npy``: (n, 4, 4, 512) activations of VGG-16's last convolution, flattened here to
    8,192 features as in the crowd-layer paper. ``filenames_<split>.txt`` and ``<split>/<class>/<filename>.jpg``: the
    images, in the same order (a name begins with its class); kept where the archive has them.
    """

    name: ClassVar[str] = "labelme"
    title: ClassVar[str] = "LabelMe (8 outdoor scene classes)"
    paper: ClassVar[str] = "F. Rodrigues, F. Pereira: Deep Learning from Crowds, AAAI 2018"
    licence: ClassVar[str] = "none stated by the release; images from LabelMe, for research use"
    files: ClassVar[tuple[RemoteFile, ...]] = (RemoteFile("http://fprodrigues.com/deep_LabelMe.tar.gz"),)

    def convert(self, files: dict[str, Path], folder: Path) -> CrowdDataset:
        """Read the prepared arrays, the answers and the paths of the images."""

        def place(name: PurePosixPath) -> Path | None:
            inside = name.parts[1:]
            if len(inside) == 3 and inside[0] in SPLITS and name.suffix == ".jpg":
                return folder.joinpath("images", *inside)
            wanted = inside[:1] == ("prepared",) or (len(inside) == 1 and name.suffix == ".txt")
            return folder.joinpath(*inside) if wanted and len(inside) <= 2 else None

        unpack(files["deep_LabelMe.tar.gz"], place)

        def array(name: str, *shape: int | None) -> AnyArray:
            return load_array(folder / name, name, shape)

        named = [f"prepared/labels_{s}.npy" for s in SPLITS]
        gold = [whole_numbers(array(name, None), name, 0, len(SCENES)) for name in named]
        counts = [len(g) for g in gold]
        sizes = zip(SPLITS, counts, strict=True)
        features = [array(f"prepared/data_{s}_vgg16.npy", n, None, None, None).reshape(n, -1) for s, n in sizes]
        split = np.repeat(np.arange(len(SPLITS)), counts)
        task, worker, label, n_workers = _answers(need(folder / "answers.txt", "answers.txt"), counts[0])
        return CrowdDataset(
            self.name,
            SCENES,
            pd.Index([f"{s}-{i:04d}" for s, n in zip(SPLITS, counts, strict=True) for i in range(n)]),
            pd.Index([f"w{r:04d}" for r in range(1, n_workers + 1)]),
            task,
            worker,
            label,
            gold=np.concatenate(gold),
            split=split,
            features=Rows.from_splits(dict(enumerate(features)), split),
            media=_images(folder, gold),
        )


def _answers(path: Path, n_tasks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Task, worker, label of every answer, sorted by task, and the number of workers with an answer."""
    try:
        table = np.loadtxt(path, ndmin=2)
    except ValueError as error:
        raise DataError(f"answers.txt is not a table of numbers ({error})") from error
    answers = whole_numbers(table, "answers.txt", -1, len(SCENES))
    if len(answers) != n_tasks:
        raise DataError(f"answers.txt has {len(answers)} lines, but prepared/labels_train.npy has {n_tasks} tasks")
    answers = answers[:, (answers >= 0).any(0)]
    task, worker = np.nonzero(answers >= 0)
    return task, worker, answers[task, worker], answers.shape[1]


def _images(folder: Path, gold: list[np.ndarray]) -> Media | None:
    """The images' paths below ``folder``; None where the archive came without them."""
    if not (folder / "images").is_dir():
        return None
    paths: list[str] = []
    for split, truth in zip(SPLITS, gold, strict=True):
        names = need(folder / f"filenames_{split}.txt", f"filenames_{split}.txt").read_text().split()
        prefix = [name.partition("_")[0] for name in names]
        if prefix != [SCENES[c] for c in truth]:
            raise DataError(f"filenames_{split}.txt does not fit prepared/labels_{split}.npy")
        paths += [f"images/{split}/{c}/{name}" for c, name in zip(prefix, names, strict=True)]
    there = [path if (folder / path).is_file() else None for path in paths]
    return Media(columns=pd.DataFrame({"image": there}), folder=folder)


GENRES = ("blues", "classical", "country", "disco", "hiphop", "jazz", "metal", "pop", "reggae", "rock")


class Music(Source):
    """Layout of ``mturk-datasets.tar.gz``: ``music_genre_classification/`` beside another dataset.

    ``music_genre_gold.csv`` (700 training songs) and ``music_genre_test.csv`` (300): column ``id``, 124 features,
    column ``class``. ``mturk_answers.csv``: ``Input.song``, ``WorkerID``, ``Answer.pred_label``. The workers'
    Mechanical Turk ids are replaced by numbers in their alphabetical order.
    """

    name: ClassVar[str] = "music"
    title: ClassVar[str] = "Music (10 genres of GTZAN)"
    paper: ClassVar[str] = "F. Rodrigues, F. Pereira, B. Ribeiro: Learning from multiple annotators, PRL 2013"
    licence: ClassVar[str] = "none stated by the release"
    files: ClassVar[tuple[RemoteFile, ...]] = (RemoteFile("http://fprodrigues.com//mturk-datasets.tar.gz"),)

    def convert(self, files: dict[str, Path], folder: Path) -> CrowdDataset:
        """Read the three tables; songs get their GTZAN file names as ids."""
        wanted = [f"music_genre_{part}.csv" for part in ("gold", "test")] + ["mturk_answers.csv"]
        paths = {f"music_genre_classification/{name}": folder / name for name in wanted}
        unpack(files["mturk-datasets.tar.gz"], lambda name: paths.get(str(name)))
        train, test, answers = (_table(path) for path in paths.values())
        songs = pd.concat([train[["id", "class"]], test[["id", "class"]]], ignore_index=True)
        ids = pd.Index(songs["id"].astype(str))
        workers = sorted(answers["WorkerID"].astype(str).unique())
        task = ids.get_indexer(pd.Index(answers["Input.song"].astype(str)))
        if not ids.is_unique or (task < 0).any():
            raise DataError("mturk_answers.csv names songs that are not in music_genre_gold.csv, or one stands twice")
        split = np.repeat([0, 2], [len(train), len(test)])
        order = np.argsort(task, kind="stable")
        return CrowdDataset(
            self.name,
            GENRES,
            ids,
            pd.Index([f"w{r:04d}" for r in range(1, len(workers) + 1)]),
            task[order],
            pd.Index(workers).get_indexer(pd.Index(answers["WorkerID"].astype(str)))[order],
            _codes(answers["Answer.pred_label"], "mturk_answers.csv")[order],
            gold=_codes(songs["class"], "music_genre_gold.csv and music_genre_test.csv"),
            split=split,
            features=Rows.from_splits({0: _features(train), 2: _features(test)}, split),
        )


_COLUMNS = {"mturk_answers.csv": {"Input.song", "WorkerID", "Answer.pred_label"}}


def _table(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(need(path, f"music_genre_classification/{path.name}"))
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{path.name} is not a table ({error})") from error
    if missing := _COLUMNS.get(path.name, {"id", "class"}) - set(table):
        raise DataError(f"{path.name} has no column {', '.join(sorted(missing))}")
    return table


def _codes(names: pd.Series[str], file: str) -> np.ndarray:
    codes = pd.Index(GENRES).get_indexer(pd.Index(names.astype(str).str.strip().str.lower()))
    if (codes < 0).any():
        raise DataError(f"{file} holds {names[codes < 0].iloc[0]!r}, which is not a genre of the dataset")
    return np.asarray(codes)


def _features(table: pd.DataFrame) -> np.ndarray:
    try:
        return table.drop(columns=["id", "class"]).to_numpy(np.float32)
    except ValueError as error:
        raise DataError(f"A feature of the songs is not a number ({error})") from error


CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_RELEASE = "https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main"


class Cifar10N(Source):
    """``CIFAR-10_human.pt``: a dictionary saved by torch with the arrays ``clean_label`` and ``random_label1`` to
    ``random_label3``, one number per training image.
    ``side_info_cifar10N.csv``: per batch of images (``Image-batch`` = ``first--last``) who labelled it
    (``Worker1-id`` to ``Worker3-id``) in how many seconds (``Work-time-in-seconds-1`` to ``-3``).

    The images themselves are CIFAR-10's and are not fetched. The workers' ids, joined in the published order, carry
    no information about the errors: use this set for label noise, not for statistics of single workers.
    """

    name: ClassVar[str] = "cifar10n"
    title: ClassVar[str] = "CIFAR-10N (three human labels per training image)"
    paper: ClassVar[str] = "J. Wei et al.: Learning with Noisy Labels Revisited, ICLR 2022"
    licence: ClassVar[str] = "CC BY-NC 4.0"
    files: ClassVar[tuple[RemoteFile, ...]] = (
        RemoteFile(f"{_RELEASE}/data/CIFAR-10_human.pt", limit=1 << 26),
        RemoteFile(f"{_RELEASE}/side_info_cifar10N.csv", limit=1 << 26),
    )

    def convert(self, files: dict[str, Path], folder: Path) -> CrowdDataset:
        """Join the three label columns with the workers and seconds of their batches."""
        saved = _label_columns(files["CIFAR-10_human.pt"])
        keys = ("clean_label", "random_label1", "random_label2", "random_label3")
        if missing := [key for key in keys if key not in saved]:
            raise DataError(f"CIFAR-10_human.pt has no {', '.join(missing)}")
        gold, *given = (whole_numbers(np.ravel(saved[key]), key, 0, len(CLASSES)) for key in keys)
        n = len(gold)
        if any(len(labels) != n for labels in given):
            raise DataError("The label columns of CIFAR-10_human.pt differ in length")
        worker, seconds = _worker_and_seconds(files["side_info_cifar10N.csv"], n)
        codes, numbers = np.unique(worker, return_inverse=True)
        return CrowdDataset(
            self.name,
            CLASSES,
            pd.Index([f"train-{i:05d}" for i in range(n)]),
            pd.Index([f"w{int(code) + 1:04d}" for code in codes]),
            np.repeat(np.arange(n), 3),
            numbers.ravel(),
            np.stack(given, 1).ravel(),
            gold=gold,
            split=np.zeros(n, np.int8),
            extra=pd.DataFrame({"label_column": np.tile([1, 2, 3], n), "batch_seconds": seconds.ravel()}),
        )


def _label_columns(path: Path) -> dict[str, AnyArray]:
    """The saved arrays by name. torch builds only whole-number arrays from the file and runs no code of it."""
    try:
        import torch
    except ImportError as error:
        raise need_extra(f"Reading {path.name}", "torch") from error
    rebuild: Any = np.zeros(0).__reduce__()[0]
    names = [(rebuild, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals([np.ndarray, np.dtype, np.dtypes.Int64DType, *names]):
            saved = torch.load(path, weights_only=True)
    except Exception as error:  # a damaged file may make torch's reader raise anything
        raise DataError(
            "Not label columns that torch saved, or damaged; nothing of it was executed", file=path
        ) from error
    if not isinstance(saved, dict):
        raise DataError("The file holds no dictionary of label columns", file=path)
    return saved


def _worker_and_seconds(path: Path, n: int) -> tuple[IntArray, IntArray]:
    """(n, 3) worker number and seconds spent on the batch, of each image's three labels."""
    columns = [f"Worker{k}-id" for k in (1, 2, 3)] + [f"Work-time-in-seconds-{k}" for k in (1, 2, 3)]
    try:
        table = pd.read_csv(path)
        values = whole_numbers(table[columns].to_numpy(), path.name, 0, 1 << 30)
        edges = table["Image-batch"].str.split("--", expand=True).to_numpy().astype(np.int64)
    except (ValueError, KeyError, TypeError, AttributeError, pd.errors.ParserError) as error:
        raise DataError(f"{path.name} is not the table of batches that is known ({error})") from error
    order = np.argsort(edges[:, 0])
    size = edges[order, 1] - edges[order, 0] + 1
    if (size < 1).any() or size.sum() != n or not np.array_equal(edges[order, 0], np.cumsum(size) - size):
        raise DataError(f"The batches of {path.name} do not cover the {n} images of CIFAR-10_human.pt once each")
    rows = np.repeat(values[order], size, axis=0)
    return rows[:, :3], rows[:, 3:]
