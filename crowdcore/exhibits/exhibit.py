"""A figure together with the numbers behind it, as pages, commands and reports show it, and results computed once."""

from __future__ import annotations

import functools
import html
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from crowdcore.core.errors import SettingError
from crowdcore.core.memory import available_memory
from crowdcore.core.shown import Shown
from crowdcore.data.dataset import CrowdDataset

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from crowdcore.analysis import Coefficient, RatingCoefficient
    from crowdcore.core.types import AnyArray


T = TypeVar("T")


def escaped(text: object) -> str:
    """Escape a name, so that Plotly shows it literally."""
    return html.escape(str(text), quote=False)


def drawable(result: T, called: Sequence[str] | None = None) -> T:
    """Copy a result, and the results in it, with all names escaped: of classes, tasks, workers (``called``), itself."""
    return _with_names(result, called, escaped)


def renamed(result: T, called: Sequence[str]) -> T:
    """Copy a result, and the results in it, with these names of the workers."""
    return _with_names(result, called, str)


def _with_names(result: T, called: Sequence[str] | None, convert: Callable[[object], str]) -> T:
    changes: dict[str, Any] = {}
    for key, value in vars(result).items():
        if key == "worker_ids":
            changes[key] = pd.Index([convert(w) for w in (value if called is None else called)])
        elif key in ("task_ids", "names") and isinstance(value, pd.Index):
            changes[key] = pd.Index([convert(name) for name in value])
        elif key in ("classes", "names") and isinstance(value, tuple):
            changes[key] = tuple(map(convert, value))
        elif key == "name":
            changes[key] = convert(value)
        elif is_dataclass(value):
            changes[key] = _with_names(value, called, convert)
    return replace(result, **changes)  # type: ignore[type-var]


_MOST = 512  # results, of all functions together; those asked for last stay
_SHARE = 8  # of the memory that this process may take: one part in so many

P = ParamSpec("P")


class _Slot:
    """Slot of one result, with the lock that lets one thread compute it while others wait."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.values: list[Any] = []
        self.size = 0


_lock = RLock()
_slots: OrderedDict[Hashable, _Slot] = OrderedDict()


def cache_size() -> tuple[int, int]:
    """Bytes of all results that are kept, and the most there may be."""
    with _lock:
        return sum(slot.size for slot in _slots.values()), available_memory() // _SHARE


def cached(function: Callable[P, T]) -> Callable[P, T]:
    """Compute once per arguments; datasets, references and results count as the object that they are.

    Nobody may change what it returns. What a function refuses (raises) is not kept.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        key = (function, arguments, tuple(sorted(named.items())))
        with _lock:
            if key not in _slots:
                _slots[key] = _Slot()
                if len(_slots) > _MOST:
                    _slots.popitem(last=False)
            slot = _slots[key]
            _slots.move_to_end(key)
        with slot.lock:
            if not slot.values:
                slot.values.append(function(*arguments, **named))
                slot.size = size_of(slot.values[0])
                with _lock:
                    _fit_into_memory()
            return slot.values[0]  # type: ignore[no-any-return]

    return call


def _fit_into_memory() -> None:
    """Drop the least recently used results until the rest fits; the last one stays, however large."""
    size, most = cache_size()
    while len(_slots) > 1 and size > most:
        size -= _slots.popitem(last=False)[1].size


def _grown(exhibit: object, table: pd.DataFrame) -> None:
    """Add the size of a table made after its exhibit was kept."""
    with _lock:
        for slot in _slots.values():
            parts = [part for one in slot.values for part in (one if isinstance(one, tuple) else (one,))]
            slot.size += size_of(table) if any(part is exhibit for part in parts) else 0
        _fit_into_memory()


def size_of(result: object) -> int:
    """Bytes of the arrays, tables and texts in a result, without datasets, which are kept on their own.

    Tables not yet made do not count.
    """
    size, seen, left = 0, set[int](), [result]
    while left:
        one = left.pop()
        if id(one) in seen or (isinstance(one, CrowdDataset) and one is not result):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            size += 0 if isinstance(one, np.memmap) else one.nbytes
        elif isinstance(one, pd.DataFrame | pd.Series | pd.Index):
            some = one[:: max(1, len(one) // 1000)]  # texts are many, and much alike
            size += int(np.sum(some.memory_usage(deep=True)) * len(one) / max(len(some), 1))
        elif isinstance(one, str | bytes):
            size += len(one)
        elif isinstance(one, Mapping):
            left += one.values()
        elif isinstance(one, list | tuple | set | frozenset):
            size += 8 * len(one)
            left += [part for part in one if not isinstance(part, float | int)]
        elif isinstance(one, Exhibit):
            left += vars(one).values()
        elif is_dataclass(one):
            left += [getattr(one, part.name, None) for part in fields(one)]
        elif hasattr(one, "to_plotly_json"):
            left.append(one.to_plotly_json())
    return size


class _Table:
    """Frame, or the function that makes it on first use."""

    def __get__(self, exhibit: object, kind: type | None = None) -> pd.DataFrame:
        if exhibit is None:
            raise AttributeError("An exhibit's table has no default.")
        values = vars(exhibit)
        if callable(values["_table"]):
            values["_table"] = values["_table"]()
            _grown(exhibit, values["_table"])
        return values["_table"]  # type: ignore[no-any-return]

    def __set__(self, exhibit: object, table: pd.DataFrame | Callable[[], pd.DataFrame]) -> None:
        vars(exhibit)["_table"] = table


@dataclass(frozen=True, eq=False)
class Exhibit(Shown):
    """Something to show.

    Args:
        name: short and plain, for files: ``learning-curves``.
        title: what it shows, in words.
        figure: the picture; None for a table alone. Names in it are escaped.
        table: the numbers, with names as they are (or pseudonyms, where the view hides names), or a function that
            makes them when they are first asked for. Its index holds numbers of workers or tasks, where rows are such.
        notes: what to bear in mind, one plain sentence each.
        alt: what a screen reader says of the figure; default: the title.
        click: what a click on a cell (row, column), on a point (number,) or, without a figure, on a row of the table
            (index,) selects, as fields of the app's address: ``{"true": "street", "given": "inside city"}``. None
            where clicks mean nothing.
    """

    name: str
    title: str
    figure: go.Figure | None
    table: _Table = _Table()
    notes: tuple[str, ...] = ()
    alt: str = ""
    click: Callable[..., Mapping[str, str]] | None = None

    def __post_init__(self) -> None:
        if not self.alt:
            object.__setattr__(self, "alt", self.title)

    @functools.cached_property
    def untitled(self) -> go.Figure | None:
        """The figure without its title, for pages that write it above; kept, as copying takes milliseconds."""
        from crowdcore.figures.theme import untitled

        return None if self.figure is None else untitled(self.figure)

    def __repr__(self) -> str:
        return f"Exhibit({self.name!r}: {self.title!r})"


def none_of(name: str, title: str, why: str) -> Exhibit:
    """An exhibit that says why there is nothing to show."""
    return Exhibit(name, title, None, pd.DataFrame(), (why,))


def between(table: pd.DataFrame, column: str, least: float | None = None, most: float | None = None) -> pd.DataFrame:
    """The rows whose number lies between two limits, both included; a missing number passes no limit.

    Args:
        table: of an exhibit.
        column: one of numbers.
        least: None: no lower limit.
        most: None: no upper limit.

    Raises:
        SettingError: there is no such column, or it holds no numbers.
    """
    numbers = [str(name) for name in table.columns if table[name].dtype.kind in "iuf"]
    if column not in numbers:
        raise SettingError("column", f"be one with numbers ({', '.join(numbers) or 'there is none'})", column)
    keep = (least is None) | (table[column] >= least)
    return table[keep & ((most is None) | (table[column] <= most))]


def containing(table: pd.DataFrame, words: str) -> pd.DataFrame:
    """The rows in which every word occurs somewhere, whatever its case."""
    for word in words.split():
        hits = [table[name].astype(str).str.contains(word, case=False, regex=False) for name in table.columns]
        table = table[np.logical_or.reduce(hits)]
    return table


def cells(classes: Sequence[str], /, **matrices: AnyArray) -> pd.DataFrame:
    """A row per cell of (C, C) matrices, in their order: true class, given label, and what each matrix has there."""
    true, given = np.indices((len(classes), len(classes))).reshape(2, -1)
    names = np.array(classes, object)
    columns = {name: matrix.ravel() for name, matrix in matrices.items()}
    return pd.DataFrame({"true": names[true], "given": names[given], **columns})


def cell_of(table: pd.DataFrame) -> Callable[[int], dict[str, str]]:
    """Cell that a click on a row of a table of mistakes selects: true class and given label."""
    return lambda row: {name: str(table[name][row]) for name in ("true", "given")}


def coefficients(agreement: Sequence[Coefficient | RatingCoefficient]) -> pd.DataFrame:
    """A row per coefficient of agreement: its name, its value, and its interval or why there is none."""
    ends = [f"{c.low:z.3f} – {c.high:z.3f}" if c.low == c.low else c.state for c in agreement]
    columns = {"coefficient": [c.name for c in agreement], "value": [c.value for c in agreement]}
    return pd.DataFrame({**columns, "95 % interval": ends})
