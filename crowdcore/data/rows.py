"""Rows of features or images, one per task, in arrays or in files that are opened on first use."""

from __future__ import annotations

import hashlib
import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.memory import available_memory
from crowdcore.core.types import AnyArray, BoolArray, IntArray

MAX_EXPANDED = 8 << 30  # bytes that an .npz or images may unfold to, at most a quarter of the memory
MAX_PIXELS = 50_000_000  # of an image; a larger one is not decoded


@dataclass(frozen=True, eq=False)
class EncodedImages:
    """Images stored as JPEG or PNG bytes and decoded on access; all have the size of the first.

    Args:
        data: (bytes,) uint8, the files one after another.
        offsets: (n + 1,) int64, image i is ``data[offsets[i]:offsets[i + 1]]``.
    """

    data: AnyArray
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """(n, H, W, 3)."""
        return (len(self), *self._decode(0).shape) if len(self) else (0, 0, 0, 3)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """uint8."""
        return np.dtype(np.uint8)

    def __getitem__(self, rows: IntArray | slice) -> AnyArray:
        """(len(rows), H, W, 3) uint8."""
        numbers = np.arange(len(self))[rows]
        if numbers.size * math.prod(self.shape[1:]) > max_expanded():
            raise DataError(f"{numbers.size:,} images of shape {self.shape[1:]} do not fit into memory", _SMALLER)
        images = [self._decode(int(i)) for i in np.atleast_1d(numbers)]
        if not images:
            return np.empty((0, *self.shape[1:]), np.uint8)
        if len({image.shape for image in images}) > 1:
            raise DataError("The images differ in size", "All must have the size of the first.")
        return np.stack(images)

    def encoded(self, i: int) -> bytes:
        """The file of image i."""
        return bytes(self.data[self.offsets[i] : self.offsets[i + 1]].tobytes())

    def _decode(self, i: int) -> AnyArray:
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(io.BytesIO(self.encoded(i)), formats=("JPEG", "PNG")) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise DataError(f"Image {i} has {image.width:,} × {image.height:,} pixels", _SMALLER)
                return np.asarray(image.convert("RGB"))
        except DataError:
            raise
        except (UnidentifiedImageError, OSError, ValueError, zlib.error, Image.DecompressionBombError) as error:
            raise DataError(f"Image {i} cannot be decoded ({error})") from None


_SMALLER = f"Scale them down; at most {MAX_PIXELS:,} pixels an image are decoded."


def max_expanded() -> int:
    """Bytes that an ``.npz`` or images may unfold to in memory."""
    return min(MAX_EXPANDED, available_memory() // 4)


ArrayLike: TypeAlias = AnyArray | EncodedImages


def array_shape(path: Path) -> tuple[int, ...]:
    """Shape of the array in a file, from its header alone; of encoded images only ``(n,)``."""
    try:
        if path.suffix == ".npy":
            with path.open("rb") as file:
                shape, dtype = _header(file)
                _check_size(shape, dtype, path.stat().st_size - file.tell(), path, "The header")
                return shape
        with zipfile.ZipFile(path) as archive:
            key = "images" if "images.npy" in archive.namelist() else "offsets"
            with archive.open(f"{key}.npy") as member:
                shape = _header(member)[0]
            return (shape[0] - 1,) if key == "offsets" else shape
    except (*_FAULTS, IndexError) as error:
        raise _damaged(path, error) from None


def open_array(path: Path) -> ArrayLike:
    """The array in a ``.npy`` (memory-mapped) or ``.npz`` (key ``images``, or JPEG bytes ``data``, ``offsets``) file.

    Raises:
        DataError: damaged, holds Python objects, or would expand beyond 8 GiB or a quarter of the memory.
    """
    if path.suffix == ".npy":
        try:
            if not math.prod(array_shape(path)):
                return np.asarray(np.load(path, allow_pickle=False))  # nothing to map
            return np.lib.format.open_memmap(path, mode="r")  # refuses Python objects
        except _FAULTS as error:
            raise _damaged(path, error) from None
    members = read_npz(path, ("images", "data", "offsets"))
    if "images" in members:
        return members["images"]
    if "data" not in members or "offsets" not in members:
        raise DataError("This archive holds no `images`, nor `data` and `offsets`", file=path)
    data, offsets = members["data"], members["offsets"].astype(np.int64)
    if data.dtype != np.uint8 or offsets.ndim != 1 or (np.diff(offsets, prepend=0, append=len(data)) < 0).any():
        raise DataError("`offsets` do not cut `data` into images", file=path)
    return EncodedImages(data, offsets)


def array_names(path: Path) -> tuple[str, ...]:
    """The names of the arrays in an ``.npz``."""
    try:
        with zipfile.ZipFile(path) as archive:
            return tuple(name.removesuffix(".npy") for name in archive.namelist())
    except _FAULTS as error:
        raise _damaged(path, error) from None


def read_npz(path: Path, keys: tuple[str, ...]) -> dict[str, AnyArray]:
    """The requested members of an ``.npz`` that exist; nothing is unpickled, and false sizes are refused.

    Refused beyond 8 GiB or a quarter of the memory.
    """
    arrays: dict[str, AnyArray] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            wanted = [key for key in keys if f"{key}.npy" in sizes]
            total = sum(sizes[f"{key}.npy"] for key in wanted)
            if total > (most := max_expanded()):
                raise DataError(
                    f"This archive expands to {total >> 20:,} MiB; at most {most >> 20:,} MiB are read",
                    file=path,
                )
            for key in wanted:
                with archive.open(f"{key}.npy") as member:
                    shape, dtype = _header(member)
                _check_size(shape, dtype, sizes[f"{key}.npy"], path, f"`{key}`")
                with archive.open(f"{key}.npy") as member:
                    arrays[key] = np.asarray(np.lib.format.read_array(member, allow_pickle=False))
    except _FAULTS as error:
        raise _damaged(path, error) from None
    return arrays


def _check_size(shape: tuple[int, ...], dtype: np.dtype[np.generic], size: int, path: Path, what: str) -> None:
    if math.prod(shape) * dtype.itemsize > size:
        raise DataError(f"{what} claims the shape {shape}, which is more than it holds", file=path)


_FAULTS = (
    *(ValueError, OSError, KeyError, EOFError, OverflowError, NotImplementedError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, SyntaxError, TypeError, tokenize.TokenError),  # the last three: of a header
)


_AGAIN = "Write it again with numpy.save or numpy.savez, as numbers, without Python objects."


def _damaged(path: Path, error: Exception) -> DataError:
    if isinstance(error, DataError):
        return error
    reason = " ".join(str(error).split())[:200]
    return DataError(f"This file cannot be read as an array ({reason})", _AGAIN, file=path)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never unpickled")
    if min(shape, default=0) < 0 or 0 in shape[1:]:
        raise ValueError(f"it claims the shape {shape}")
    return shape, dtype


_CHUNK = 64 << 20  # bytes read at a time


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows aligned with tasks: ``rows[task_indices]`` gathers, ``rows.part_of[i] < 0`` means none for task i.

    Args:
        parts: per part (a split) an array, or a ``.npy`` (memory-mapped) or ``.npz`` (key ``images``, or JPEG bytes
            in ``data`` and ``offsets``) file, opened when first touched.
        part_of: (n_tasks,) int8, index of the task's part in ``parts``, -1 where the task has no row.
        row_of: (n_tasks,) int64, row of the task inside its part.
    """

    parts: tuple[ArrayLike | Path, ...]
    part_of: IntArray
    row_of: IntArray

    @classmethod
    def from_array(cls, array: AnyArray) -> Rows:
        """One array whose rows are the tasks in order."""
        n = len(array)
        return cls((array,), np.zeros(n, np.int8), np.arange(n, dtype=np.int64))

    @cached_property
    def arrays(self) -> tuple[ArrayLike, ...]:
        """The opened parts; ``.npy`` files are memory-mapped, nothing is ever unpickled."""
        return tuple(open_array(p) if isinstance(p, Path) else p for p in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """``(n_tasks, *row shape)``."""
        return (len(self.part_of), *self.arrays[0].shape[1:])

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Element type of the rows."""
        return self.arrays[0].dtype

    @property
    def present(self) -> BoolArray:
        """(n_tasks,) mask of the tasks that have a row."""
        return np.asarray(self.part_of >= 0)

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (32 characters) of the rows as stored and of their tasks; reads them all once."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(self.part_of.tobytes() + self.row_of.tobytes())
        for array in self.arrays:
            for stored in (array.data, array.offsets) if isinstance(array, EncodedImages) else (array,):
                digest.update(f"{stored.dtype.str}{stored.shape}".encode())
                step = max(1, _CHUNK // max(1, stored[:1].nbytes))
                for first in range(0, len(stored), step):
                    digest.update(np.ascontiguousarray(stored[first : first + step]).data)
        return digest.hexdigest()

    def encoded(self, task: int) -> bytes | None:
        """The bytes of a task's image file, if images are stored so."""
        array = self.arrays[self.part_of[task]]
        return array.encoded(int(self.row_of[task])) if isinstance(array, EncodedImages) else None

    def __len__(self) -> int:
        return len(self.part_of)

    def __getitem__(self, tasks: IntArray | slice) -> AnyArray:
        """The rows of some tasks, ``(len(tasks), *row shape)``; tasks without a row are refused."""
        part, row = self.part_of[tasks], self.row_of[tasks]
        if (part < 0).any():
            raise DataError(f"{int((part < 0).sum())} of the requested tasks have no row of features or image")
        if len(self.arrays) == 1:
            return np.asarray(self.arrays[0][row])
        out = np.empty((len(part), *self.shape[1:]), self.dtype)
        for p, array in enumerate(self.arrays):
            out[part == p] = array[row[part == p]]
        return out

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> AnyArray:
        """All rows; a single part in task order is not copied, unless ``copy``."""
        if len(self.arrays) == 1 and np.array_equal(self.row_of, np.arange(len(self.arrays[0]))):
            out = self.arrays[0][:]
        else:
            out = self[slice(None)]
        return np.array(out, dtype=dtype, copy=copy)

    def take(self, tasks: IntArray) -> Rows:
        """The same files, seen through a subset of the tasks."""
        parts = self.arrays if "arrays" in self.__dict__ else self.parts
        return Rows(parts, self.part_of[tasks], self.row_of[tasks])

    @classmethod
    def from_splits(cls, parts: Mapping[int, ArrayLike | Path], split: IntArray) -> Rows:
        """Rows kept per split: part of split code s holds the rows of the tasks with ``split == s``, in order.

        Raises:
            DataError: a part has another number of rows than its split has tasks.
        """
        codes = list(parts)
        part_of = np.full(len(split), -1, np.int8)
        row_of = np.zeros(len(split), np.int64)
        for p, code in enumerate(codes):
            of_split = split == code
            part_of[of_split] = p
            row_of[of_split] = np.arange(int(of_split.sum()))
        shapes = [array_shape(part) if isinstance(part, Path) else part.shape for part in parts.values()]
        for part, shape, code in zip(parts.values(), shapes, codes, strict=True):
            file = part if isinstance(part, Path) else None
            n = int((split == code).sum())
            if not shape or shape[0] != n:
                what = f"{shape[0] if shape else 0} rows for {n} tasks of that split"
                raise DataError(what, "There must be one row per task, in the order of tasks.*.", file=file)
            if shape[1:] and shapes[0][1:] and shape[1:] != shapes[0][1:]:
                raise DataError(f"Rows of shape {shape[1:]}, but {shapes[0][1:]} in another split", file=file)
        return cls(tuple(parts.values()), part_of, row_of)
