"""Frames in memory, of any library: crowd-kit's long frames, cleanlab's wide ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.dictionary import arrow_column
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.readers import Raw, Source
from crowdcore.data.readers.base import with_gold
from crowdcore.data.reading import Import, examine_source
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow, ArrowTable, categorical

Gold: TypeAlias = "pd.Series[Any] | Mapping[Any, Any] | str | None"


def from_frame(
    frame: Any, gold: Gold = None, *, features: Any = None, accept: bool = False, **mapping: Any
) -> CrowdDataset | Any:
    """A dataset from a frame of pandas, polars, pyarrow, DuckDB or anything else that narwhals knows.

    Args:
        frame: long (crowd-kit: columns task, worker, label, or aliases of them), or wide (cleanlab: a row per task,
            a column per worker, missing labels NaN).
        gold: true classes by task (crowd-kit: a series whose index is the task; tasks may be missing), by the frame's
            index where it is wide and no column names the task, or the name of the frame's column of true classes.
        features: a row of numbers per task, in a frame whose index, or column ``task``, names it.
        accept: continue although something would be dropped or merged, which ``notes`` of the dataset report.
        mapping: fields of `crowdcore.data.ReadSettings`: ``worker="who"``, ``classes=[…]``, ``name="mine"`` …

    Raises:
        DataError: unreadable, or something would be dropped or merged and that was not accepted.
        SettingError: ``mapping`` is invalid.

    Examples:
        >>> import pandas as pd
        >>> import crowdcore as cc
        >>> frame = pd.DataFrame({"task": [1, 1, 2], "worker": ["ann", "ben", "ann"], "label": ["cat", "dog", "dog"]})
        >>> votes = cc.from_frame(frame, gold={1: "cat"})
        >>> votes
        CrowdDataset('frame': 2 tasks, 2 workers, 2 classes, 3 annotations)
        >>> votes.gold.tolist()
        [0, -1]
    """
    return examine_frame(frame, gold, **mapping).dataset(accept, features)


def examine_frame(frame: Any, gold: Gold = None, **mapping: Any) -> Import:
    """Report how a frame is understood, without importing it: `crowdcore.data.examine` for frames."""
    settings = ReadSettings(**mapping, **({"gold": gold} if isinstance(gold, str) else {}))
    table = FrameTable(frame) if isinstance(frame, pd.DataFrame) else ArrowTable(_arrow(frame))
    if not table.columns or not len(table.head):
        raise DataError("The frame is empty")
    index = frame.index if isinstance(frame, pd.DataFrame) else None
    return examine_source(Source(settings.name or "frame", None, table), settings, _gold_adder(index, gold))


def _arrow(frame: Any) -> Arrow:
    """The pyarrow table of any frame that narwhals knows; lazy frames are computed."""
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        if hasattr(frame, "to_pandas"):  # a dataset of Hugging Face, which numbers its classes
            table = frame.to_pandas()
            for column, kind in getattr(frame, "features", {}).items():
                if names := getattr(kind, "names", None):
                    numbers = table[column].fillna(-1).astype(int)
                    table[column] = pd.Categorical.from_codes(numbers, names)
            return pa.Table.from_pandas(table, preserve_index=False)
        must = "be a frame, such as one of pandas, polars, pyarrow or DuckDB"
        raise SettingError("frame", must, type(frame).__name__) from None
    return (known.collect(backend="pyarrow") if isinstance(known, nw.LazyFrame) else known).to_arrow()


def ratings_from_frame(
    frame: Any,
    low: float | None = None,
    high: float | None = None,
    gold: Gold = None,
    *,
    accept: bool = False,
    **mapping: Any,
) -> RatingDataset:
    """`from_frame` with ``kind="ratings"``: labels are numbers from ``low`` to ``high``, or words (``levels=[…]``).

    Examples:
        >>> import pandas as pd
        >>> import crowdcore as cc
        >>> frame = pd.DataFrame({"task": [1, 1, 2], "worker": ["ann", "ben", "ann"], "rating": [0.5, 0.75, 0]})
        >>> cc.ratings_from_frame(frame, 0, 1, gold={1: 0.5}).gold.tolist()
        [0.5, nan]
    """
    about = {**mapping, "low": low, "high": high, "kind": "ratings"}
    return cast(RatingDataset, examine_frame(frame, gold, **about).dataset(accept=accept))


def _gold_adder(index: pd.Index[Any] | None, gold: Gold) -> Callable[[Raw], Raw] | None:
    """Function that adds gold given by task; None without gold."""
    if gold is None or isinstance(gold, str):
        return None
    truth = pd.Series(gold) if isinstance(gold, Mapping) else gold
    if not isinstance(truth, pd.Series):
        raise SettingError("gold", "be a series or mapping by task, or a column's name", type(gold).__name__)

    def adjust(raw: Raw) -> Raw:
        return _with_gold(raw, truth if "task" in raw.roles else _by_row(truth, index))

    return adjust


def _by_row(gold: pd.Series[Any], index: pd.Index[Any] | None) -> pd.Series[Any]:
    """True classes by the names of a wide frame's rows, 1, 2, 3 …, from those by its index (None: 0, 1, 2 …)."""
    if index is None:
        return gold.set_axis(gold.index + 1)
    if not index.is_unique:
        raise DataError("`gold` is matched by the frame's index, which names a row twice", remedies=(Remedy("task"),))
    rows = index.get_indexer(gold.index)
    return gold.set_axis([str(row + 1) if row >= 0 else f"none {i}" for i, row in enumerate(rows)])


def _with_gold(raw: Raw, gold: pd.Series[Any]) -> Raw:
    """Add true classes that are given by task."""
    known = pd.DataFrame({"task": gold.index, "gold": gold.to_numpy()}, index=range(len(gold)))
    codes, _ = FrameTable(known).encode(("task", "gold"))
    return with_gold(raw, codes["task"], codes["gold"], "frame")


class FrameTable(ArrowTable):
    """A pandas frame; each level of its index is a column of its own if it has a name or does not hold numbers."""

    def __init__(self, frame: pd.DataFrame) -> None:
        columns = [*_levels(frame), *((name, frame.iloc[:, i]) for i, name in enumerate(frame.columns))]
        self.name_columns(_text(name) for name, _ in columns)
        cells = [_column(values, name) for (_, values), name in zip(columns, self.columns, strict=True)]
        self._table = pa.table(cells, names=list(self.columns))
        self.nests = any(map(pa.types.is_nested, self._table.schema.types))
        self.categorical = categorical(self._table.schema)


def _levels(frame: pd.DataFrame) -> Iterator[tuple[Any, pd.Series[Any]]]:
    """Name and values of the index's levels that are columns."""
    index = frame.index
    for i, name in enumerate(index.names):
        values = index.get_level_values(i).to_series(index=index)
        if name is None and index.nlevels == 1:
            if pd.api.types.is_integer_dtype(values.dtype):
                continue
            name = "task"
        name = f"level_{i}" if name is None else name
        if name not in frame.columns:
            yield name, values
        elif not (isinstance(frame[name], pd.Series) and list(values.map(str)) == list(frame[name].map(str))):
            raise DataError(f"The index and a column are both called {name!r}, and differ", "Rename one.")


def _text(name: object) -> str:
    text = str(name)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise DataError(f"The name {text!r} holds half a surrogate pair, which is not text")
    return text


def _column(values: pd.Series, name: str) -> Arrow:
    """A column as pyarrow; mixed Python objects become strings, and categories in another order than sorted stay so."""
    if isinstance(values.dtype, pd.CategoricalDtype) and not values.dtype.categories.is_monotonic_increasing:
        values = values.cat.as_ordered()
    try:
        return arrow_column(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        pass
    except UnicodeEncodeError:
        raise DataError("A value holds characters that are not text", column=name) from None
    text = [None if _is_missing(v) else str(v) for v in values]
    try:
        return pa.array(text, pa.large_string())
    except UnicodeEncodeError:
        raise DataError("A value holds characters that are not text", column=name) from None


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)
