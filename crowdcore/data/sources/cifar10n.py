"""CIFAR-10N: the training images of CIFAR-10 labelled three times each on Mechanical Turk."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, need_extra
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.sources.base import RemoteFile, Source, whole_numbers

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
    """The saved arrays by name. torch builds nothing but whole-number arrays from the file and runs nothing of it."""
    try:
        import torch
    except ImportError as error:
        raise need_extra(f"Reading {path.name}", "torch") from error
    rebuild: Any = np.zeros(0).__reduce__()[0]
    names = [(rebuild, f"numpy.{core}.multiarray._reconstruct") for core in ("core", "_core")]
    try:
        with torch.serialization.safe_globals([np.ndarray, np.dtype, np.dtypes.Int64DType, *names]):
            saved = torch.load(path, weights_only=True)
    except Exception as error:  # whatever a damaged file makes torch's reader raise
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
