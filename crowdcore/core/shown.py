"""`Shown`: results as one line of text, and in notebooks as a short table with notes and a figure."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from dataclasses import fields
from html import escape
from importlib import import_module
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.core.errors import CrowdError
from crowdcore.core.spelling import visible

_FORM = "{desc} {bar} {percentage:3.0f} % [{elapsed}<{remaining}]"


def in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this process."""
    python: Any = sys.modules.get("IPython")
    return python is not None and getattr(python.get_ipython(), "kernel", None) is not None


@contextmanager
def progress() -> Iterator[Callable[[float, str], None]]:
    """Show a bar on standard error until the block ends; yields a function that sets the share done and a text."""
    if not (in_notebook() or sys.stderr.isatty()):
        yield lambda share, words: None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of notebooks without widgets, which get a line of text
        from tqdm.auto import tqdm

        often = 1.0 if in_notebook() else 0.1  # seconds; a notebook without widgets may keep every line
        bar = tqdm(total=1.0, leave=False, bar_format=_FORM, mininterval=often)

    def update(share: float, words: str) -> None:
        bar.set_description_str(visible(words), refresh=False)
        bar.update(share - bar.n)

    try:
        yield update
    finally:
        bar.close()


MOST = 600  # characters of a text
ROWS, COLUMNS = 10, 12  # of a table
_SHORT = 60  # characters of a value
_BELOW = {"notes", "warnings"}  # parts shown below a table
_HIDDEN = {*_BELOW, "name", "title", "alt", "true", "given", "fingerprint", "inputs", "input_shape"}  # not above it
_PLAIN = (str, bool, int, float, np.generic)


class Shown:
    """Base of results, which are dataclasses: sizes instead of arrays; a short table, its notes and a figure.

    The table is the head of ``frame()``, or without one a row for each part; the figure is that of
    `crowdcore.figures.figure_of`. Names are escaped.
    """

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else a dataclass writes one, with all arrays

    def __repr__(self) -> str:
        text = f"{type(self).__name__}({', '.join(f'{name}{value}' for name, value in _parts(self))})"
        return text if len(text) <= MOST else f"{text[: MOST - 2]}…)"

    def _repr_html_(self) -> str:
        table = self._shown_table()
        about = [f"{name}{value}" for name, value in _parts(self) if value.startswith("=") and name not in _HIDDEN]
        if table is None:
            about, parts = [], {name: value.lstrip("=: ") for name, value in _parts(self) if name not in _BELOW}
            table = pd.DataFrame({"part": parts.keys(), "": parts.values()})
        left = len(table) - ROWS
        notes = [f"… and {left:,} more rows: <code>.frame()</code>"] if left > 0 else []
        remarks = (*getattr(self, "notes", ()), *getattr(self, "warnings", ()))
        notes += [escape(str(note)) for note in remarks[:ROWS]]
        title = " · ".join(filter(None, (type(self).__name__, getattr(self, "title", ""))))
        head = f"<p><b>{escape(title)}</b> {escape(shorten(', '.join(about), MOST // 2, placeholder=' …'))}</p>"
        return f"{head}{table_html(table)}{''.join(f'<p>{note}</p>' for note in notes)}"

    def _ipython_display_(self) -> None:
        """Show table and figure in a notebook; elsewhere IPython goes on to the text."""
        if not in_notebook():
            raise NotImplementedError
        from IPython.display import HTML, display

        display(HTML(self._repr_html_()))
        with suppress(CrowdError, ValueError):  # plotly's where Jupyter's nbformat is missing
            figure = import_module("crowdcore.figures").figure_of(self)  # a layer above, which may be there
            if figure is not None:
                display(figure)

    def _shown_table(self) -> pd.DataFrame | None:
        with suppress(CrowdError):  # a result that was read from a file may not find its dataset
            return self.frame() if hasattr(self, "frame") else getattr(self, "table", None)
        return None


def table_html(table: pd.DataFrame) -> str:
    """The head of a table for notebooks, with escaped names, three decimals and a dash for missing values."""
    head = table.head(ROWS)
    texts = head.apply(_readable)
    html: str = texts.to_html(
        index=False, max_cols=COLUMNS, border=0, na_rep="–", float_format=_decimals, justify="left"
    )
    return html


def _readable(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column with a dash for names that are missing, and whole numbers without decimals."""
    if column.dtype.kind == "f" and (column.dropna() % 1 == 0).all():
        return column.map("{:,.0f}".format, na_action="ignore")
    return column.where(column.notna(), "–") if column.dtype == object else column


def _decimals(number: float) -> str:
    return f"{number:,.3f}" if number == 0 or abs(number) >= 0.001 else f"{number:.1e}"


def _parts(result: Any) -> Iterator[tuple[str, str]]:
    """Name of each part that is set, with "=value" if it is plain or short, else ": size"."""
    for name in (field.name for field in fields(result) if field.repr and not field.name.startswith("_")):
        value = getattr(result, name)
        shape = getattr(value, "shape", ())
        if value is None or (isinstance(value, Sized) and not shape and not len(value)):
            continue
        if shape:
            yield name, f": {' × '.join(f'{n:,}' for n in shape)}"
        elif isinstance(value, _PLAIN):
            yield name, f"={_plain(value)}"
        elif isinstance(value, tuple) and len(value) < ROWS and all(isinstance(one, _PLAIN) for one in value):
            yield name, f"={shorten(', '.join(map(_plain, value)), _SHORT, placeholder=' …')}"
        else:
            yield name, f": {len(value):,}" if isinstance(value, Sized) else f": {type(value).__name__}"


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return repr(shorten(value, _SHORT, placeholder=" …"))
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
