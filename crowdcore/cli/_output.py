"""Printing: JSON for machines, tables for people, files for both."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from crowdcore.core.errors import Remedy, SettingError, either
from crowdcore.core.spelling import spell_text, spell_value, visible
from crowdcore.data.report import plural
from crowdcore.data.writers.tables import spelled

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from rich.console import JustifyMethod
    from rich.table import Table

    from crowdcore.exhibits import Exhibit

_OPTIONS = {"read": "--read ", "method": "--set ", "command": "--"}

_WRAPPED_WIDTH = 30  # of a column whose words take several lines, at least


def in_command(remedy: Remedy) -> str:
    """Phrase a remedy as an option of the command line: ``pass --read repeats=first``."""
    if remedy.of == "accept":
        return "pass --accept"
    if remedy.of == "kind":
        return "use `crowdcore ratings`" if remedy.value == "ratings" else "leave out the word `ratings` of the command"
    if remedy.of == "reference":
        return f"pass --reference {remedy.value}"

    option, spelled = _OPTIONS[remedy.of], spell_text if remedy.of == "read" else spell_value
    pairs = [[shlex.quote(f"{name}={spelled(value)}") for name, value in way.items()] for way in remedy.choices]
    pairs = pairs or [[f"{name}=…" for name in remedy.settings]]
    return f"pass {either(' and '.join(option + pair for pair in way) for way in pairs)}"


def jsonable(value: Any) -> Any:
    """Convert dataclasses, arrays and paths to plain JSON values; NaN and infinities become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, pd.DataFrame):
        return [jsonable(row) for row in value.to_dict("records")]
    if isinstance(value, np.ndarray | pd.Index | list | tuple):
        return [jsonable(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return jsonable(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def print_json(value: Any) -> None:
    """Print one JSON document."""
    text = json.dumps(jsonable(value), ensure_ascii=False, indent=2, allow_nan=False)
    say(text if visible(text) == text else json.dumps(jsonable(value), indent=2, allow_nan=False))


def say(text: str, *, err: bool = False, flush: bool = False) -> None:
    """Print text that may come from data, without control characters that a terminal would obey."""
    print(visible(text), file=sys.stderr if err else sys.stdout, flush=flush)


class Printed(NamedTuple):
    """A table for people; columns of ``wrapped`` take several lines where the terminal is too narrow."""

    frame: pd.DataFrame
    title: str = ""
    notes: tuple[str, ...] = ()
    limit: int = 40
    wrapped: Collection[str] = ()


def print_readable(frame: pd.DataFrame, *args: Any, **how: Any) -> None:
    """Print an exhibit's table (`print_table`), its columns and verdicts in plain words."""
    from crowdcore.exhibits.glossary import readable

    print_table(readable(frame), *args, **how)


def print_table(
    frame: pd.DataFrame,
    title: str = "",
    notes: tuple[str, ...] = (),
    limit: int = 40,
    wrapped: Collection[str] = (),
) -> None:
    """Print a table (`Printed`): at most ``limit`` rows and the columns that fit, and what is left out."""
    from rich.console import Console

    console = Console(highlight=False)
    if frame.empty:
        console.print(f"{visible(title) or 'Rows'}: none", markup=False)
        print_notes(notes)
        return
    shown, left_out = frame.head(limit), list[str]()
    table, needed = _table(shown, title, wrapped)
    while console.is_terminal and needed > console.width:
        droppable = [column for column in shown.columns[1:] if column not in wrapped]
        if not droppable:
            break
        left_out.insert(0, droppable[-1])
        shown = shown.drop(columns=droppable[-1])
        table, needed = _table(shown, title, wrapped)
    if not console.is_terminal:  # a pipe or a file has no width to fit
        console.width = max(200, needed)
    console.print(table)
    if len(frame) > limit:
        console.print(f"… and {plural(len(frame) - limit, 'more row')}: --out FILE writes them all.")
    if left_out:
        names = visible(", ".join(left_out))
        console.print(
            f"… and {plural(len(left_out), 'more column')}: {names}. --out FILE writes them all.", markup=False
        )
    print_notes(notes)


def _table(frame: pd.DataFrame, title: str, wrapped: Collection[str]) -> tuple[Table, int]:
    """Return a table for the terminal, and the least width at which no cell is cut."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.markup import escape
    from rich.measure import Measurement
    from rich.table import Table

    table = Table(title=escape(visible(title)) or None, title_justify="left")
    for column in frame.columns:
        number = frame[column].dtype.kind in "if"
        side: JustifyMethod = "right" if number else "left"
        widest = max(map(cell_len, map(spelled, frame[column])))
        least = min(_WRAPPED_WIDTH, widest) if column in wrapped else max(widest, cell_len(visible(str(column))))
        table.add_column(escape(visible(str(column))), justify=side, no_wrap=column not in wrapped, min_width=least)
    for row in frame.itertuples(index=False):
        table.add_row(*[escape(spelled(v)) for v in row])
    endless = Console(width=10_000)
    return table, Measurement.get(endless, endless.options, table).minimum


def print_note(note: str) -> None:
    """Print a sentence on standard error; nothing if it is empty."""
    if note:
        say(note, err=True)


def print_notes(notes: tuple[str, ...]) -> None:
    """Print notes, a line each."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    for note in notes:
        console.print(f"Note: {escape(visible(note))}", soft_wrap=not console.is_terminal)


STANDARD = Path("-")
"""Standard input or output."""


@contextmanager
def writing(out: Path) -> Iterator[Path]:
    """Yield the file to write a table to; for ``-`` a temporary one, which is then printed."""
    if out != STANDARD:
        yield out
        return
    with TemporaryDirectory() as folder:
        yield (file := Path(folder, "table.csv"))
        say(file.read_text(encoding="utf-8").removesuffix("\n"))


def save_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame to a file of `ENDINGS`, or print it as CSV (``-``)."""
    import pyarrow as pa

    from crowdcore.data.writers.tables import write_table

    with writing(path) as file:
        write_table(pa.Table.from_pandas(frame, preserve_index=False), file)


def save_exhibit(exhibit: Exhibit, out: Path | None, figure: Path | None) -> None:
    """Write an exhibit's table and figure to the given files."""
    if figure and exhibit.figure is None:
        raise SettingError("--figure", "be left out: this exhibit is a table", str(figure))
    if out:
        save_table(exhibit.table, out)
    if figure and exhibit.figure is not None:
        save_figure(exhibit.figure, figure)


def save_figure(figure: go.Figure, path: Path) -> None:
    """Draw a figure to ``.html`` (self-contained), or 170 mm wide to ``.svg``, ``.pdf`` or ``.png``."""
    if path.suffix.lower() == ".html":
        figure.write_html(path, include_plotlyjs=True)
        return
    from crowdcore.figures.paper import draw

    draw({path: figure})
