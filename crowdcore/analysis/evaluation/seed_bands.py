"""Mean and standard deviation over seeds, along epochs, classes or a setting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.core.types import AnyArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Band:
    """One method along an axis; a position without values is NaN.

    Args:
        name: what the curve is called.
        method: registered name, which settles its colour.
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
        name: what the curve is called.
        method: registered name.
        x: (K,) positions.
        values: (K, S), NaN where a seed has none (it stopped early); or K arrays of any lengths.

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
    """How values of so many seeds each are combined, for captions."""
    numbers = sorted(set(counts))
    if numbers == [1]:
        return "one seed"
    several = f"{numbers[0]} seeds" if len(numbers) == 1 else "seeds"
    return f"mean ± standard deviation over {several}" + (", single where there is one" if 1 in numbers else "")


def smoothed(b: Band, around: int) -> Band:
    """The band with mean and std replaced by their moving average over ``around`` positions (fewer at both ends).

    Args:
        b: along positions at equal distances; a position without a value stays without.
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
    """The bands as a long table: run, method, position, mean, std, seeds.

    Args:
        bands: in the order wanted.
        x: what the positions are.
        value: what the values are.
    """
    frames = [
        pd.DataFrame(
            {"run": b.name, "method": b.method, x: b.x, f"{value} mean": b.mean, f"{value} std": b.std, "values": b.n}
        )
        for b in bands
    ]
    empty = pd.DataFrame(columns=["run", "method", x, f"{value} mean", f"{value} std", "values"])
    return pd.concat(frames, ignore_index=True) if frames else empty
