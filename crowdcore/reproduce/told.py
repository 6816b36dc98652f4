"""A reproduction as a table, as words, and as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from crowdcore.core.types import FloatArray
from crowdcore.exhibits import Exhibit
from crowdcore.reproduce.entry import Entry, Found, Scale

__all__ = ["told", "write"]

_PERCENT = 10  # numbers from which two decimals do
_TOLD = ["row", "column", "measure", "paper", "ours"]


def told(entry: Entry, scale: Scale, found: Sequence[Found]) -> Exhibit:
    """The paper's numbers beside ours: a row for each number of the table.

    Returns:
        table: row, column, measure, paper (as printed; "drawn" where it prints none), ours (mean ± standard deviation
        over seeds, or why there is none), difference in protocol, run (id), ours mean, ours std, seeds.
    """
    rows = []
    for one in found:
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
    notes = (
        f"{entry.source}. At --scale {scale}: {entry.scale_in_words(scale)}.",
        *([entry.differs] if entry.differs else []),
        *claims,
        *_differences(found),
    )
    return Exhibit(f"{entry.id}-{scale}", entry.title, None, pd.DataFrame(rows), notes)


def _differences(found: Sequence[Found]) -> list[str]:
    """Each difference in protocol once, with the columns it holds for."""
    columns: dict[str, dict[str, None]] = {}
    for one in found:
        if one.part.differs and not one.part.absent:
            columns.setdefault(one.part.differs, {})[one.part.column] = None
    return [f"Different on {', '.join(names)}: {text}" for text, names in columns.items()]


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
    facts = {"id": entry.id, "title": entry.title, "scale": scale, "notes": shown.notes}
    rows = json.loads(table.to_json(orient="records"))
    files[1].write_text(json.dumps(facts | {"table": rows}, ensure_ascii=False, indent=2), encoding="utf-8")
    files[2].write_text(_markdown(entry, shown), encoding="utf-8")
    for k, figure in enumerate(entry.draw(found).values()):
        files.append(folder / f"{entry.id}-{k + 1}.html")
        figure.write_html(files[-1], include_plotlyjs=True)
    return files


def _markdown(entry: Entry, shown: Exhibit) -> str:
    """The table for people; what is alike in many rows is told once below."""
    lines = [f"## {entry.id}: {entry.title}", "", f"| {' | '.join(_TOLD)} |", "|---" * len(_TOLD) + "|"]
    lines += [f"| {' | '.join(map(str, row))} |" for row in shown.table[_TOLD].itertuples(index=False)]
    return "\n".join([*lines, "", *(f"- {note}" for note in shown.notes)]) + "\n"
