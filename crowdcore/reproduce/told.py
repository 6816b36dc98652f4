"""A reproduction as a table, as words, and as files."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from crowdcore.analysis.recovery.seeds import seeds_in_words
from crowdcore.core.types import FloatArray
from crowdcore.exhibits import Exhibit
from crowdcore.reproduce.entry import Entry, Found, Scale

_PERCENT = 10  # numbers from which two decimals do
_NAMED = 12  # rows without a number that are named; of more, how many


def told(entry: Entry, scale: Scale, found: Sequence[Found]) -> Exhibit:
    """The paper's numbers beside ours: a row for each number of the table, those that we have first.

    Returns:
        table: row, column, measure, paper (as printed; "drawn" where it prints none), ours (mean ± standard deviation
        over seeds, or why there is none), difference in protocol, run (id), ours mean, ours std, seeds.
    """
    rows = []
    for one in sorted(found, key=lambda one: not one.ours):
        at = "" if one.part.at is None else f" {one.part.at:g}"
        for measure, printed in one.part.paper.items():
            values = one.ours.get(measure)
            rows.append(
                {
                    "row": one.part.row,
                    "column": f"{one.part.column}{at}",
                    "measure": measure.title,
                    "paper": printed or "drawn",
                    "ours": one.why if values is None else _number(values),
                    "difference in protocol": one.part.differs,
                    "run": one.run.id if one.run else "",
                    "ours mean": np.nan if values is None else values.mean(),
                    "ours std": np.nan if values is None or len(values) < 2 else values.std(ddof=1),
                    "seeds": 0 if values is None else len(values),
                }
            )
    claims = (f"The paper: {claim}. Ours: {judged(found)}" for claim, judged in entry.claims.items())
    several = {len(values) for one in found for values in one.ours.values()} - {0}
    notes = (
        f"{entry.source}. At --scale {scale}: {entry.scale_in_words(scale)}.",
        *([f"Ours: {seeds_in_words(several)}."] if several - {1} else []),
        *([entry.differs] if entry.differs else []),
        *claims,
    )
    return Exhibit(f"{entry.id}-{scale}", entry.title, None, pd.DataFrame(rows), notes)


def footnoted(table: pd.DataFrame, found: Sequence[Found]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table to look at, and what its marks refer to.

    Args:
        table: of `told`.
        found: what it tells.

    Returns:
        row, column, paper, ours, why different (a mark), measure, run (id); the differences in protocol after their
        marks, and why there is no number.
    """
    where = differences(found)
    mark = {text: f"[{k}]" for k, text in enumerate(where, 1)}
    explained = (table["seeds"] == 0) & table["ours"].str.contains(": ", regex=False)
    shown = table[["row", "column", "paper", "ours", "measure", "run"]].copy()
    shown.loc[explained, "ours"] = table["ours"].str.partition(": ")[0]
    shown.insert(4, "why different", [mark.get(text, "") for text in table["difference in protocol"]])
    different = (f"{mark[text]} Different on {columns}: {text}" for text, columns in where.items())
    return shown, (*different, *_without_number(table[explained]))


def our_figures(entry: Entry, scale: Scale, found: Sequence[Found]) -> list[Exhibit]:
    """Our figures of it, each with the table of all numbers."""
    table = told(entry, scale, found).table
    return [
        Exhibit(f"{entry.id}-{scale}-{k}", f"{entry.title}: {name}", figure, table)
        for k, (name, figure) in enumerate(entry.draw(found).items(), 1)
    ]


def differences(found: Sequence[Found]) -> dict[str, str]:
    """Each difference in protocol once, with the columns that it holds for, and the rows where others hold there, too.

    Examples:
        >>> from crowdcore.reproduce.entry import Part
        >>> row = {"column": "LabelMe", "paper": {}}
        >>> differences([Found(Part("CCC", differs="Adam.", **row)), Found(Part("DL-MV", differs="SGD.", **row))])
        {'Adam.': 'LabelMe (CCC)', 'SGD.': 'LabelMe (DL-MV)'}
    """
    rows: dict[str, dict[str, dict[str, None]]] = {}  # text -> column -> rows
    for part in (one.part for one in found):
        if part.differs and not part.absent:
            rows.setdefault(part.differs, {}).setdefault(part.column, {})[part.row] = None
    texts = Counter(column for columns in rows.values() for column in columns)
    return {
        text: ", ".join(at if texts[at] == 1 else f"{at} ({', '.join(those)})" for at, those in columns.items())
        for text, columns in rows.items()
    }


def _number(values: FloatArray) -> str:
    digits = 2 if abs(values.mean()) >= _PERCENT else 3
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1):.{digits}f}"


def write(entry: Entry, scale: Scale, found: Sequence[Found], folder: Path) -> list[Path]:
    """Write ``ID.csv``, ``ID.json``, ``ID.md`` and each figure as ``ID-N.html`` to a folder; returns the files."""
    shown, folder = told(entry, scale, found), folder / scale
    folder.mkdir(parents=True, exist_ok=True)
    table = shown.table
    files = [folder / f"{entry.id}.{ending}" for ending in ("csv", "json", "md")]
    table.to_csv(files[0], index=False)
    notes = [*shown.notes, *(f"Different on {where}: {text}" for text, where in differences(found).items())]
    facts = {"id": entry.id, "title": entry.title, "scale": scale, "notes": notes}
    rows = json.loads(table.to_json(orient="records"))
    files[1].write_text(json.dumps(facts | {"table": rows}, ensure_ascii=False, indent=2), encoding="utf-8")
    files[2].write_text(_markdown(entry, table, notes), encoding="utf-8")
    for k, figure in enumerate(entry.draw(found).values()):
        files.append(folder / f"{entry.id}-{k + 1}.html")
        figure.write_html(files[-1], include_plotlyjs=True)
    return files


def _markdown(entry: Entry, table: pd.DataFrame, notes: Sequence[str]) -> str:
    """The table for people, a row and column as in the paper; below it what has no number, and what is different."""
    there = table[table["seeds"] > 0]
    printed = there["paper"] != "drawn"
    cells = there["ours"].where(~printed, there["paper"] + " / " + there["ours"])
    found = dict(zip(zip(there["row"], there["measure"], there["column"], strict=True), cells, strict=True))
    measures, columns = there["measure"].unique(), there["column"].unique()
    below = [*_without_number(table[table["seeds"] == 0]), *notes[1:]]
    lines = [f"## {entry.id}: {entry.title}", "", _wrapped(notes[0]), ""]
    if len(there):
        what, lead = ([*measures], [""]) if len(measures) == 1 else ([], ["", "measure"])
        numbers = "paper / ours" if printed.any() else "ours (the paper's are drawn)"
        lines += [_capital(", ".join([*what, numbers])) + ":", "", _line([*lead, *columns])]
        lines.append("|---" * (len(lead) + len(columns)) + "|")
        for row, measure in itertools.product(table["row"].unique(), measures):
            line = [found.get((row, measure, column), "") for column in columns]
            lines += [_line([*[row, measure][: len(lead)], *line])] if any(line) else []
        lines.append("")
    return "\n".join([*lines, *(_wrapped(f"- {_capital(note)}") for note in below)]).rstrip() + "\n"


def _without_number(table: pd.DataFrame) -> list[str]:
    """Each reason once, after the rows it holds for."""
    told = []
    for why, those in table.groupby("ours", sort=False):
        rows = [*dict.fromkeys(f"{row} ({at})" for row, at in zip(those["row"], those["column"], strict=True))]
        named = ", ".join(rows) if len(rows) <= _NAMED else f"{len(rows)} rows"
        told.append(f"{named}: {str(why).replace(': ', ', ', 1)}.")
    return told


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
