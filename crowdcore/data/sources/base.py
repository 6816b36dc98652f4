"""`Source`: download addresses of a public dataset and its conversion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, IntArray
from crowdcore.data.dataset import CrowdDataset


@dataclass(frozen=True)
class RemoteFile:
    """One published file.

    Args:
        url: its address.
        sha256: its SHA-256 if it is known; otherwise that of the first download is recorded.
        limit: most bytes.
    """

    url: str
    sha256: str | None = None
    limit: int = 1 << 31

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rpartition("/")[2]


class Source(ABC):
    """Base of every source: class attributes that describe it, and `convert`.

    A subclass sets ``name`` (= its file's name), ``title``, ``files``, ``paper`` and ``licence``; its docstring
    describes the layout of the published files. Nothing else has to be touched: CLI and app find it by its folder.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    licence: ClassVar[str]
    files: ClassVar[tuple[RemoteFile, ...]]

    @abstractmethod
    def convert(self, files: dict[str, Path], folder: Path) -> CrowdDataset:
        """Turn the downloaded files into a dataset.

        Args:
            files: name of each of `files` -> where it lies.
            folder: an empty folder to unpack into; files that the dataset needs are copied from there.

        Raises:
            DataError: the files are not in the layout that the class describes.
        """


def need(path: Path, what: str) -> Path:
    """The path, if the file exists; else a refusal."""
    if not path.is_file():
        raise DataError(f"The source lacks {what}", "Its layout is not the one that is known.")
    return path


def load_array(path: Path, what: str, shape: tuple[int | None, ...]) -> AnyArray:
    """A memory-mapped ``.npy`` of the given shape (None = any length), never unpickled."""
    try:
        array: AnyArray = np.load(need(path, what), mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{what} cannot be read as an array ({error})", "Fetch or prepare it again.") from error
    if len(array.shape) != len(shape) or any(
        want not in (None, has) for want, has in zip(shape, array.shape, strict=True)
    ):
        wanted = " × ".join("n" if s is None else str(s) for s in shape)
        raise DataError(f"{what} has the shape {array.shape}, but {wanted} was expected")
    return array


def whole_numbers(array: AnyArray, what: str, low: int, end: int) -> IntArray:
    """The array as int32 numbers in ``low … end - 1``."""
    numbers = np.asarray(array).astype(np.int32)
    if not np.array_equal(numbers, array) or numbers.min(initial=low) < low or numbers.max(initial=low) >= end:
        raise DataError(f"{what} must hold whole numbers from {low} to {end - 1}")
    return numbers
