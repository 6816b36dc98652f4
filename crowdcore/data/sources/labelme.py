"""LabelMe: outdoor scenes labelled on Mechanical Turk."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import ClassVar

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray
from crowdcore.data.dataset import SPLITS, CrowdDataset, Media
from crowdcore.data.rows import Rows
from crowdcore.data.sources._download import unpack
from crowdcore.data.sources.base import RemoteFile, Source, load_array, need, whole_numbers

CLASSES = ("highway", "insidecity", "tallbuilding", "street", "forest", "coast", "mountain", "opencountry")


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
        gold = [whole_numbers(array(name, None), name, 0, len(CLASSES)) for name in named]
        counts = [len(g) for g in gold]
        sizes = zip(SPLITS, counts, strict=True)
        features = [array(f"prepared/data_{s}_vgg16.npy", n, None, None, None).reshape(n, -1) for s, n in sizes]
        split = np.repeat(np.arange(len(SPLITS)), counts)
        task, worker, label, n_workers = _answers(need(folder / "answers.txt", "answers.txt"), counts[0])
        return CrowdDataset(
            self.name,
            CLASSES,
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
    answers = whole_numbers(table, "answers.txt", -1, len(CLASSES))
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
        if prefix != [CLASSES[c] for c in truth]:
            raise DataError(f"filenames_{split}.txt does not fit prepared/labels_{split}.npy")
        paths += [f"images/{split}/{c}/{name}" for c, name in zip(prefix, names, strict=True)]
    there = [path if (folder / path).is_file() else None for path in paths]
    return Media(columns=pd.DataFrame({"image": there}), folder=folder)
