"""Rows of features or images, one per task, stored per split and opened on first use."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, IntArray
from crowdcore.data.arrays import ArrayLike, EncodedImages, array_shape, open_array

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
        """(n_tasks,) which tasks have a row."""
        return np.asarray(self.part_of >= 0)

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest (32 characters) of the rows as they are stored and of whose they are; reads them all once."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(self.part_of.tobytes() + self.row_of.tobytes())
        for array in self.arrays:
            for stored in (array.data, array.offsets) if isinstance(array, EncodedImages) else (array,):
                digest.update(f"{stored.dtype.str}{stored.shape}".encode())
                step = max(1, _CHUNK // max(1, stored[:1].nbytes))
                for first in range(0, len(stored), step):
                    digest.update(np.ascontiguousarray(stored[first : first + step]).data)
        return digest.hexdigest()

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
        """All rows; a single part in task order is returned without a copy, unless one is asked for."""
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
                raise DataError(
                    f"{shape[0] if shape else 0} rows for {n} tasks of that split",
                    "There must be one row per task, in the order of tasks.*.",
                    file=file,
                )
            if shape[1:] and shapes[0][1:] and shape[1:] != shapes[0][1:]:
                raise DataError(f"Rows of shape {shape[1:]}, but {shapes[0][1:]} in another split", file=file)
        return cls(tuple(parts.values()), part_of, row_of)
