"""Inputs of networks: features, images or words, prepared alike in training and prediction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.data.rows import Rows
from crowdcore.data.sentences import Sentences
from crowdcore.data.word_features import word_parts

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BUCKETS = {"word": 2**14, "prefix": 2**11, "suffix": 2**11, "shape": 2**8}
"""Part of a word -> number of hash values."""
_SAMPLE = 2e7  # numbers from which mean and scale are estimated


@dataclass(frozen=True, eq=False)
class Preparation:
    """Conversion of stored rows to the network's input.

    Args:
        image: rows are images (H, W) or (H, W, channels), to become (channels, H, W) in 0…1, then standardised.
        mean: per feature, or per channel of an image; float32.
        scale: standard deviation, of the same shape.
    """

    image: bool
    mean: FloatArray
    scale: FloatArray

    def __call__(self, rows: Tensor) -> Tensor:
        """Prepare rows on any device: (..., *row shape) -> float32 (..., *input shape)."""
        return self.on(rows.device)(rows)

    def on(self, device: torch.device) -> Callable[[Tensor], Tensor]:
        """Return a function that prepares rows on this device; a CUDA graph can hold it."""
        import torch

        mean, scale = (torch.as_tensor(value, device=device) for value in (self.mean, self.scale))

        def prepare(rows: Tensor) -> Tensor:
            x = rows.to(torch.float32)
            if not self.image:
                return (x - mean) / scale if self.changes else x
            if rows.dtype == torch.uint8:
                x = x / 255
            x = x.unsqueeze(-1) if len(mean) == 1 and x.shape[-1] != 1 else x
            return ((x - mean) / scale).movedim(-1, -3).contiguous()

        return prepare

    @property
    def changes(self) -> bool:
        """True if features are rescaled."""
        return bool((self.mean != 0).any() or (self.scale != 1).any())

    def input_shape(self, row_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of one prepared row."""
        return (len(self.mean), *row_shape[:2]) if self.image else row_shape


def input_rows(dataset: Labelled, images: bool) -> Rows:
    """Rows for a network: images if ``images`` and there are any, else features, else images; words by `word_rows`.

    Raises:
        DataError: there are neither features nor images.
    """
    if dataset.of_words:
        return word_rows(dataset.tokens)
    pictures = dataset.media.images if dataset.media else None
    rows = (pictures or dataset.features) if images else (dataset.features or pictures)
    if rows is None:
        raise DataError(
            f"{dataset.name} has no features, so no network can be trained on it",
            "Make some with `crowdcore embed` (with --given FILE.npy from embeddings of your own), add "
            "features_<split>.npy (or images), or aggregate the labels with crowdcore.aggregation instead.",
        )
    return rows


def refuse_not_finite(rows: AnyArray, tasks: pd.Index[str]) -> None:
    """Raise if a row of (n, ...) is not finite or does not fit into float32.

    Raises:
        DataError: with the first such task.
    """
    if rows.dtype.kind != "f":
        return
    if not (finite := np.isfinite(rows)).all():
        bad = tasks[_first_row(~finite)]
        raise DataError(f"The features of task {bad!r} hold NaN or infinite values", "Fill or drop them first.")
    if rows.itemsize > 4 and (large := np.abs(rows) > np.finfo(np.float32).max).any():
        bad = tasks[_first_row(large)]
        raise DataError(f"The features of task {bad!r} hold values beyond 3.4e38", "Rescale the features first.")


def _first_row(wrong: BoolArray) -> int:
    """Number of the first row of (n, ...) with a True."""
    return int(wrong.reshape(len(wrong), -1).any(1).argmax())


def prepare_on(rows: Rows, train: IntArray, tasks: pd.Index[str], standardise: bool | str) -> Preparation:
    """Estimate the preparation from the training tasks.

    Args:
        rows: features or images of all tasks.
        train: numbers of the training tasks (evenly thinned beyond 2·10⁷ values).
        tasks: ids of all tasks.
        standardise: True, False or "auto": features are standardised when the middle nine tenths of their standard
            deviations span a factor of 100 or more. Images always are, per channel.

    Raises:
        DataError: features that are not numbers or not finite, or a single row of features.
    """
    every = max(1, math.ceil(len(train) * math.prod(rows.shape[1:]) / _SAMPLE))
    chosen = train[::every]
    sample = rows[chosen]
    if sample.dtype.kind not in "fiub":
        raise DataError(f"Features must be numbers, but they are {sample.dtype}")
    if sample.ndim < 2:
        raise DataError(f"Features have the shape {rows.shape}", "One feature per task has the shape (n_tasks, 1).")
    refuse_not_finite(sample, tasks[chosen])
    if sample.ndim >= 3:
        return _prepare_images(sample)
    sample = sample.reshape(len(sample), -1).astype(np.float64)
    mean, scale = sample.mean(0), sample.std(0)
    low, high = np.percentile(scale, [5, 95])
    if standardise is False or (standardise == "auto" and high < 100 * low):
        return Preparation(False, np.zeros(1, np.float32), np.ones(1, np.float32))
    return Preparation(False, mean.astype(np.float32), np.where(scale > 0, scale, 1).astype(np.float32))


def _prepare_images(sample: AnyArray) -> Preparation:
    x = sample.astype(np.float32) / (255 if sample.dtype == np.uint8 else 1)
    x = x[..., None] if x.ndim == 3 else x
    scale = x.std((0, 1, 2))
    return Preparation(True, x.mean((0, 1, 2)), np.where(scale > 0, scale, 1).astype(np.float32))


def refuse_words(dataset: CrowdDataset, method: str) -> None:
    """Refuse words as inputs, for methods that use the inputs outside the network, too.

    Raises:
        DataError: the inputs are words.
    """
    if dataset.of_words:
        raise DataError(
            f"{method} learns from features, but the tasks of {dataset.name} are words",
            "Choose crowd-layer, conal or dl-em.",
        )


def word_rows(sentences: Sentences) -> Rows:
    """(n_tasks, 5) int32: hashes of the word in lower case, its first and last three letters and its shape; sentence.

    A hash depends on the word alone, so a network can read new texts; all are below 2²⁴, exact in float32.
    The shape keeps the sequence of character kinds: ``B-52s`` is ``A.0a``.

    Examples:
        >>> import numpy as np, pandas as pd
        >>> from crowdcore.data import Sentences
        >>> two = Sentences.from_tokens(np.array([0, 0, 1]), pd.Index(["a", "b"]), pd.Index(["The", "cat", "the"]))
        >>> rows = word_rows(two)[:]
        >>> bool(rows[0, 0] == rows[2, 0]), bool(rows[0, 3] == rows[2, 3]), rows[:, 4].tolist()
        (True, False, [0, 0, 1])
    """
    code, parts = word_parts(sentences)
    columns = [_hash_texts(parts[name], n)[code] for name, n in BUCKETS.items()]
    return Rows.from_array(np.stack([*columns, sentences.of_task], 1).astype(np.int32))


def _hash_texts(texts: pd.Series[str], n: int) -> IntArray:
    hashes: IntArray = pd.util.hash_array(texts.to_numpy(object), categorize=False) % np.uint64(n)
    return hashes
