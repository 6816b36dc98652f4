"""Several seeds of a run: mean and standard deviation, bands along an axis, and whether seeds can be averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, Protocol, cast, overload

import numpy as np
import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import DatasetLike, P, R, as_dataset, door


@dataclass(frozen=True, eq=False)
class OverSeeds(Shown):
    """Mean of a quantity over seeds, and its standard deviation (n - 1), NaN for a single seed."""

    mean: FloatArray
    spread: FloatArray


def over_seeds(values: FloatArray) -> OverSeeds:
    """(S, ...) -> mean and standard deviation over the first axis."""
    values = np.asarray(values, np.float64)
    mean = values.mean(0)
    spread = values.std(0, ddof=1) if len(values) > 1 else np.full(mean.shape, np.nan)
    return OverSeeds(mean, spread)


def seed_rows(seeds: Sequence[int], seed: int | None) -> slice:
    """Rows of the (S, ...) arrays that belong to ``seed``, or all of them for None."""
    if seed is None:
        return slice(None)
    if seed not in seeds:
        raise SettingError("seed", f"be one of {', '.join(map(str, seeds))}, or None for all of them", seed)
    at = list(seeds).index(seed)
    return slice(at, at + 1)


def check_omega(dataset: CrowdDataset, omega: FloatArray, n_seeds: int, rows: slice = slice(None)) -> FloatArray:
    """(n_rows, n_annotations) float64 ω of some seeds of a run on this dataset; refuses other shapes."""
    if np.shape(omega) != (n_seeds, dataset.n_annotations):
        raise SettingError("omega", f"have the shape {(n_seeds, dataset.n_annotations)}", np.shape(omega))
    return np.asarray(omega[rows], np.float64)


def check_by_worker(
    dataset: CrowdDataset, name: str, matrices: FloatArray, n_seeds: int, rows: slice = slice(None)
) -> FloatArray:
    """(n_rows, n_workers, C, C) float64 matrices of some seeds of a run on this dataset; refuses other shapes."""
    shape = (n_seeds, dataset.n_workers, dataset.n_classes, dataset.n_classes)
    if np.shape(matrices) != shape:
        raise SettingError(name, f"have the shape {shape}", np.shape(matrices))
    return np.asarray(matrices[rows], np.float64)


class Trained(Protocol):
    """A trained result, such as `learning.TrainingResult`."""

    def dataset_of(self, given: Any = None) -> Any:
        """Return the given dataset, or that of the training."""


class FromResult(Protocol[P, R]):
    """Function of a dataset and recovered arrays, which also accepts a trained result in their place."""

    @overload
    def __call__(self, dataset: DatasetLike, /, *args: P.args, **settings: P.kwargs) -> R: ...
    @overload
    def __call__(self, *, dataset: DatasetLike, **settings: Any) -> R: ...
    @overload
    def __call__(self, result: Trained, /, *args: Any, **settings: Any) -> R: ...
    @overload
    def __call__(self, dataset: DatasetLike, result: Trained, /, *args: Any, **settings: Any) -> R: ...


_PARTS = {n: n for n in ("worker_confusion", "common_confusion", "omega", "group", "seeds")} | {
    "counts": "worker_counts"
}


def of_result(function: Callable[Concatenate[CrowdDataset, P], R]) -> FromResult[P, R]:
    """Let a function accept a trained result in place of its arrays and seeds (one seed if they are not comparable).

    ``function(result)`` uses the dataset of the training, ``function(dataset, result)`` the given one.
    """
    parameters, inner = signature(function).parameters, cast(Any, door(function))
    others = [name for name in parameters if name not in _PARTS]

    @wraps(function)
    def read(*args: Any, **settings: Any) -> R:
        at = next((k for k, given in enumerate(args[:2]) if hasattr(given, "dataset_of")), None)
        if at is None:
            return cast(R, inner(*args, **settings))
        result = args[at]
        dataset = result.dataset_of(as_dataset(args[0]) if at else None)
        parts = {name: getattr(result, _PARTS[name]) for name in parameters if name in _PARTS}
        for name, part in parts.items():
            if part is None and parameters[name].default is Parameter.empty:
                raise SettingError("result", f"be of a method that recovers `{name}`, such as 'conal'", result.method)
        if "seed" in parameters:
            parts["seed"] = result.shown_seed[0]
        named = dict(zip(others[1:], args[at + 1 :], strict=False))
        return cast(R, inner(dataset, **{**parts, **named, **settings}))

    return cast(FromResult[P, R], read)


class FromSeeds(Shown):
    """Mixin of results that combine ``seeds``."""

    seeds: tuple[int, ...]

    @property
    def combined(self) -> str:
        """Name of the combination of seeds: ``mean of 5 seeds`` or ``seed 3``."""
        return f"seed {self.seeds[0]}" if len(self.seeds) == 1 else f"mean of {len(self.seeds)} seeds"


FACTOR = 3  # between the epochs of two seeds
LEAST_GAIN = 0.02  # of the squared distance of a row, from which on another order of the classes fits better


@dataclass(frozen=True)
class SeedsComparable(Shown):
    """Answer to whether seeds can be averaged.

    Args:
        comparable: whether they can be averaged.
        reason: why not, as the end of a sentence; empty if they can.
    """

    comparable: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.comparable


def seeds_comparable(
    confusion: FloatArray,
    epoch: Sequence[int] | IntArray,
    *,
    seeds: Sequence[int],
    classes: Sequence[str],
    at_last: bool = False,
) -> SeedsComparable:
    """Judge whether the confusions that several seeds recovered can be averaged.

    They can if no other order of a seed's classes fits the first seed's confusions clearly better (by the squared
    distance of the rows that would move, mean over workers), and if their epochs differ by a factor of 3 at most.

    Args:
        confusion: (S, R, C, C) of the workers, or (S, 1, C, C) of all; rows sum to 1.
        epoch: (S,) epoch that each seed's confusions are from.
        seeds: (S,) names of the replicas.
        classes: (C,) names.
        at_last: whether these are the last epochs, which count as equally old.

    Examples:
        >>> own = np.eye(2)[None, None].repeat(2, 0)
        >>> bool(seeds_comparable(own, [9, 10], seeds=(0, 1), classes=("cat", "dog")))
        True
        >>> seeds_comparable(own, [2, 10], seeds=(0, 1), classes=("cat", "dog")).reason
        'their epochs lie far apart (2 and 10)'
    """
    epochs = np.asarray(epoch)
    if not at_last and len(epochs) > 1 and epochs.max() > FACTOR * max(int(epochs.min()), 1):
        listed = [str(e) for e in epochs]
        return SeedsComparable(False, f"their epochs lie far apart ({', '.join(listed[:-1])} and {listed[-1]})")
    n_seeds, _, n_classes, _ = np.shape(confusion)
    rows = np.nan_to_num(np.asarray(confusion, np.float64)).transpose(0, 2, 1, 3).reshape(n_seeds, n_classes, -1)
    for seed, other in zip(seeds[1:], rows[1:], strict=True):
        order = _better_order(rows[0], other, np.shape(confusion)[1])
        if order is not None:
            a = int(np.flatnonzero(order != np.arange(n_classes))[0])
            renamed = f"what seed {seeds[0]} calls {classes[a]}, it calls {classes[order[a]]}"
            return SeedsComparable(False, f"seed {seed} has its classes in another order ({renamed})")
    return SeedsComparable(True)


def _better_order(first: FloatArray, other: FloatArray, n_workers: int) -> IntArray | None:
    """Rows of ``other`` in the order that fits ``first`` clearly better than their own order, if there is one."""
    from scipy.optimize import linear_sum_assignment  # loaded only for runs of several seeds

    squared = ((first**2).sum(1)[:, None] + (other**2).sum(1) - 2 * first @ other.T) / n_workers
    _, order = linear_sum_assignment(squared)
    moved = np.flatnonzero(order != np.arange(len(order)))
    gain = squared[moved, moved] - squared[moved, order[moved]]
    return np.asarray(order) if len(moved) and gain.mean() > LEAST_GAIN else None


@dataclass(frozen=True, eq=False)
class Band(Shown):
    """One method along an axis; a position without values is NaN.

    Args:
        name: name of the curve.
        method: registered name, which sets the colour.
        x: (K,) positions: numbers or words.
        mean: (K,) over seeds.
        std: (K,) sample standard deviation (n - 1); NaN for a single value.
        n: (K,) values behind each position.
    """

    name: str
    method: str
    x: AnyArray
    mean: FloatArray
    std: FloatArray
    n: IntArray


def band(name: str, method: str, x: Sequence[object] | AnyArray, values: FloatArray | Sequence[FloatArray]) -> Band:
    """Mean and standard deviation over seeds at every position.

    Args:
        name: name of the curve.
        method: registered name.
        x: (K,) positions.
        values: (K, S), NaN where a seed stopped earlier; or K arrays of any lengths.

    Raises:
        SettingError: not one row of values per position.
    """
    rows = [np.asarray(row, np.float64) for row in values]
    if len(rows) != len(x):
        raise SettingError("values", f"hold {len(x)} rows", len(rows))
    rows = [row[~np.isnan(row)] for row in rows]
    return Band(
        name,
        method,
        np.asarray(x),
        np.array([row.mean() if len(row) else np.nan for row in rows]),
        np.array([row.std(ddof=1) if len(row) > 1 else np.nan for row in rows]),
        np.array([len(row) for row in rows], np.int64),
    )


def seeds_in_words(counts: Iterable[int]) -> str:
    """Name the combination of values of so many seeds each, for captions."""
    numbers = sorted(set(counts))
    if numbers == [1]:
        return "one seed"
    several = f"{numbers[0]} seeds" if len(numbers) == 1 else "seeds"
    return f"mean ± standard deviation over {several}" + (", single where there is one" if 1 in numbers else "")


def smoothed(b: Band, around: int) -> Band:
    """Replace mean and std by their moving average over ``around`` positions (fewer at both ends).

    Args:
        b: at equidistant positions; those without a value stay so.
        around: an odd number; 1 changes nothing.

    Raises:
        SettingError: ``around`` is even or below 1.
    """
    if around < 1 or around % 2 == 0:
        raise SettingError("around", "be an odd number, 1 or more", around)
    if around == 1:
        return b
    frame = pd.DataFrame({"mean": b.mean, "std": b.std})
    smooth = frame.rolling(around, center=True, min_periods=1).mean().where(frame.notna())
    return replace(b, mean=smooth["mean"].to_numpy(), std=smooth["std"].to_numpy())


def band_frame(bands: Sequence[Band], x: str, value: str) -> pd.DataFrame:
    """Long table of the bands: run, method, position, mean, std, seeds.

    Args:
        bands: in the order of the table.
        x: name of the positions.
        value: name of the values.
    """
    frames = [
        pd.DataFrame(
            {"run": b.name, "method": b.method, x: b.x, f"{value} mean": b.mean, f"{value} std": b.std, "values": b.n}
        )
        for b in bands
    ]
    empty = pd.DataFrame(columns=["run", "method", x, f"{value} mean", f"{value} std", "values"])
    return pd.concat(frames, ignore_index=True) if frames else empty
