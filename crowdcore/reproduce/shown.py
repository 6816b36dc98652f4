"""A reproduction as a table, in words, as figures and as files."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from crowdcore import analysis, exhibits, figures
from crowdcore.analysis.recovery.seeds import band, seeds_in_words
from crowdcore.core.types import FloatArray
from crowdcore.exhibits import Exhibit, View
from crowdcore.exhibits.exhibit import escaped
from crowdcore.exhibits.recovered import RunView, of_run
from crowdcore.figures import theme
from crowdcore.learning.comparison.summary import curve_bands
from crowdcore.learning.recovery.study import learnt_of, true_effective
from crowdcore.reproduce.entry import Entry, Found, Measure, Scale

_PERCENT = 10  # numbers from which two decimals are enough
_NAMED = 12  # rows without a number that are listed; more are counted


def told(entry: Entry, scale: Scale, outcomes: Sequence[Found]) -> Exhibit:
    """Show the paper's numbers beside ours: a row for each number, those that we have first.

    Returns:
        table: row, column, measure, paper (as printed; "drawn" where it prints none), ours (mean ± standard deviation
        over seeds, or the reason why there is none), difference in protocol, run (id), ours mean, ours std, seeds.
    """
    rows = []
    for one in sorted(outcomes, key=lambda one: not one.ours):
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
    claims = (f"The paper: {claim}. Ours: {judged(outcomes)}" for claim, judged in entry.claims.items())
    several = {len(values) for one in outcomes for values in one.ours.values()} - {0}
    notes = (
        f"{entry.source}. At --scale {scale}: {entry.scale_in_words(scale)}.",
        *([f"Ours: {seeds_in_words(several)}."] if several - {1} else []),
        *([entry.differs] if entry.differs else []),
        *claims,
    )
    return Exhibit(f"{entry.id}-{scale}", entry.title, None, pd.DataFrame(rows), notes)


def footnoted(table: pd.DataFrame, outcomes: Sequence[Found]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Shorten the table of `told` for readers, with footnotes.

    Args:
        table: table of `told`.
        outcomes: its outcomes.

    Returns:
        row, column, paper, ours, why different (a mark), measure, run (id); the differences in protocol after their
        marks, and the reasons for missing numbers.
    """
    columns_of = differences(outcomes)
    mark = {text: f"[{k}]" for k, text in enumerate(columns_of, 1)}
    explained = (table["seeds"] == 0) & table["ours"].str.contains(": ", regex=False)
    shown = table[["row", "column", "paper", "ours", "measure", "run"]].copy()
    shown.loc[explained, "ours"] = table["ours"].str.partition(": ")[0]
    shown.insert(4, "why different", [mark.get(text, "") for text in table["difference in protocol"]])
    different = (f"{mark[text]} Different on {columns}: {text}" for text, columns in columns_of.items())
    return shown, (*different, *_without_number(table[explained]))


def our_figures(entry: Entry, scale: Scale, outcomes: Sequence[Found]) -> list[Exhibit]:
    """Draw our figures of an entry, each with the table of all numbers."""
    table = told(entry, scale, outcomes).table
    return [
        Exhibit(f"{entry.id}-{scale}-{k}", f"{entry.title}: {name}", figure, table)
        for k, (name, figure) in enumerate(entry.draw(outcomes).items(), 1)
    ]


def differences(outcomes: Sequence[Found]) -> dict[str, str]:
    """Difference in protocol -> its columns, with their rows where a column has several differences.

    Examples:
        >>> from crowdcore.reproduce.entry import Part
        >>> row = {"column": "LabelMe", "paper": {}}
        >>> differences([Found(Part("CCC", differs="Adam.", **row)), Found(Part("DL-MV", differs="SGD.", **row))])
        {'Adam.': 'LabelMe (CCC)', 'SGD.': 'LabelMe (DL-MV)'}
    """
    rows: dict[str, dict[str, dict[str, None]]] = {}  # text -> column -> rows
    for part in (one.part for one in outcomes):
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


def write(entry: Entry, scale: Scale, outcomes: Sequence[Found], folder: Path) -> list[Path]:
    """Write ``ID.csv``, ``ID.json``, ``ID.md`` and each figure as ``ID-N.html`` to a folder; return the files."""
    shown, folder = told(entry, scale, outcomes), folder / scale
    folder.mkdir(parents=True, exist_ok=True)
    table = shown.table
    files = [folder / f"{entry.id}.{ending}" for ending in ("csv", "json", "md")]
    table.to_csv(files[0], index=False)
    notes = [*shown.notes, *(f"Different on {columns}: {text}" for text, columns in differences(outcomes).items())]
    facts = {"id": entry.id, "title": entry.title, "scale": scale, "notes": notes}
    rows = json.loads(table.to_json(orient="records"))
    files[1].write_text(json.dumps(facts | {"table": rows}, ensure_ascii=False, indent=2), encoding="utf-8")
    files[2].write_text(_markdown(entry, table, notes), encoding="utf-8")
    for k, figure in enumerate(entry.draw(outcomes).values()):
        files.append(folder / f"{entry.id}-{k + 1}.html")
        figure.write_html(files[-1], include_plotlyjs=True)
    return files


def _markdown(entry: Entry, table: pd.DataFrame, notes: Sequence[str]) -> str:
    """Write the table for people, with the paper's rows and columns; below it reasons for gaps, and differences."""
    there = table[table["seeds"] > 0]
    printed = there["paper"] != "drawn"
    cells = there["ours"].where(~printed, there["paper"] + " / " + there["ours"])
    cell_of = dict(zip(zip(there["row"], there["measure"], there["column"], strict=True), cells, strict=True))
    measures, columns = there["measure"].unique(), there["column"].unique()
    below = [*_without_number(table[table["seeds"] == 0]), *notes[1:]]
    lines = [f"## {entry.id}: {entry.title}", "", _wrapped(notes[0]), ""]
    if len(there):
        measure, lead = ([*measures], [""]) if len(measures) == 1 else ([], ["", "measure"])
        numbers = "paper / ours" if printed.any() else "ours (the paper's are drawn)"
        lines += [_capital(", ".join([*measure, numbers])) + ":", "", _line([*lead, *columns])]
        lines.append("|---" * (len(lead) + len(columns)) + "|")
        for row, measure in itertools.product(table["row"].unique(), measures):
            line = [cell_of.get((row, measure, column), "") for column in columns]
            lines += [_line([*[row, measure][: len(lead)], *line])] if any(line) else []
        lines.append("")
    return "\n".join([*lines, *(_wrapped(f"- {_capital(note)}") for note in below)]).rstrip() + "\n"


def _without_number(table: pd.DataFrame) -> list[str]:
    """Rows without a number, followed by the reason, one sentence per reason."""
    lines = []
    for why, those in table.groupby("ours", sort=False):
        rows = [*dict.fromkeys(f"{row} ({at})" for row, at in zip(those["row"], those["column"], strict=True))]
        named = ", ".join(rows) if len(rows) <= _NAMED else f"{len(rows)} rows"
        lines.append(f"{named}: {str(why).replace(': ', ', ', 1)}.")
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _wrapped(text: str) -> str:
    indent = "  " if text.startswith("- ") else ""
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


Draw: TypeAlias = Callable[[Sequence[Found]], Mapping[str, go.Figure]]
_WORKERS = 3  # number of the busiest workers that are shown


def _by_column(outcomes: Sequence[Found], measure: Measure | None = None) -> dict[str, list[Found]]:
    columns: dict[str, list[Found]] = {}
    for one in outcomes:
        if (one.result is not None) if measure is None else (measure in one.ours):
            columns.setdefault(one.part.column, []).append(one)
    return columns


def _per_column(make: Callable[[str, list[Found]], go.Figure | None], measure: Measure | None = None) -> Draw:
    """Function that draws, per column, the parts that were trained, or have a value of the measure."""

    def draw(outcomes: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {column: make(column, those) for column, those in _by_column(outcomes, measure).items()}
        return {column: figure for column, figure in drawn.items() if figure is not None}

    return draw


def along(x: str, measure: Measure) -> Draw:
    """Draw the accuracy of every row along an axis, a figure per column."""

    def make(column: str, those: list[Found]) -> go.Figure:
        bands = []
        for row in dict.fromkeys(one.part.row for one in those):
            points = [one for one in those if one.part.row == row]
            at = np.array([one.part.at for one in points], np.float64)
            bands.append(band(row, points[0].part.method, at, [one.ours[measure] / 100 for one in points]))
        return figures.accuracy_along(bands, x, title=measure.title.capitalize(), subtitle=column)

    return _per_column(make, measure)


def dots(measure: Measure) -> Draw:
    """Draw every seed of every row, a figure per column."""

    def make(column: str, those: list[Found]) -> go.Figure:
        values = [one.ours[measure] / 100 for one in those]
        bands = [band(one.part.row, one.part.method, [0], [v]) for one, v in zip(those, values, strict=True)]
        subtitle = f"{column} · {seeds_in_words(map(len, values))}"
        return figures.seed_accuracies(values, bands, title=measure.title.capitalize(), subtitle=subtitle)

    return _per_column(make, measure)


def matrices(average: bool = False) -> Draw:
    """Draw true (for simulated crowds) or observed confusions beside the learnt ones of the first seed.

    ``average``: the mean over the workers; else the common confusion and the busiest workers.
    """

    def draw(outcomes: Sequence[Found]) -> dict[str, go.Figure]:
        drawn = {}
        for one in outcomes:
            if one.result is None or one.dataset is None or (learnt := learnt_of(one.result, one.dataset)).own is None:
                continue
            ds = one.dataset
            truth, own = ds.truth, learnt.own[0]
            known = truth is not None and truth.worker_confusion is not None
            real = truth.worker_confusion if known and truth else analysis.worker_confusion(ds, "gold").matrices
            assert real is not None
            pairs: list[tuple[str, FloatArray]] = []
            if average:
                pairs += [("mean<br>true", np.nanmean(real, 0)), ("mean<br>learnt", own.mean(0))]
            else:
                if learnt.common is not None:
                    if truth is not None and truth.common_confusion is not None:
                        pairs.append(("common<br>true", truth.common_confusion))
                    pairs.append(("common<br>learnt", learnt.common[0]))
                for r in np.argsort(-ds.labels_per_worker, kind="stable")[:_WORKERS]:
                    name = f"worker {r + 1}"
                    pairs += [(f"{name}<br>{'true' if known else 'seen'}", real[r]), (f"{name}<br>learnt", own[r])]
            name = f"{one.part.row}, {one.part.column}" + (f", {one.part.at:g}" if one.part.at is not None else "")
            first = 4 - len(pairs) % 2  # keeps pairs together where the common confusion has no true one
            parts = [pairs[:first], *(pairs[k : k + 4] for k in range(first, len(pairs), 4))]
            for k, part in enumerate(parts, 1):
                drawn[name + (f" ({k})" if len(parts) > 1 else "")] = figures.confusion(
                    [matrix for _, matrix in part],
                    [escaped(c) for c in ds.classes],
                    names=[title for title, _ in part],
                    scale_max=1.0,
                    title="Confusions",
                    subtitle=escaped(name),
                )
        return drawn

    return draw


def curves(metric: str, words: str) -> Draw:
    """Draw a metric of every row by epoch, a figure per column."""

    def make(column: str, those: list[Found]) -> go.Figure | None:
        bands = curve_bands({one.part.row: one.result for one in those if one.result is not None}, metric)
        return figures.learning_curves(bands, words, title=words, subtitle=column) if bands else None

    return _per_column(make)


def of_dataset(exhibit: Callable[[View], Exhibit]) -> Draw:
    """Draw an exhibit of each column's dataset, by gold, under pseudonyms."""

    def draw(outcomes: Sequence[Found]) -> dict[str, go.Figure]:
        seen = {one.part.column: one.dataset for one in outcomes if one.dataset is not None}
        drawn = {name: exhibit(exhibits.view(ds, "gold", hidden=True)).figure for name, ds in seen.items()}
        return {name: _with_column_title(name, figure) for name, figure in drawn.items() if figure is not None}

    return draw


def of_result(exhibit: Callable[[RunView], Exhibit]) -> Draw:
    """Draw an exhibit of each column's run, by gold, under pseudonyms."""

    def make(column: str, those: list[Found]) -> go.Figure | None:
        one = those[0]
        assert one.dataset is not None and one.result is not None
        seen = exhibits.view(one.dataset, "gold", hidden=True)
        figure = exhibit(of_run(seen, one.result, one.part.row)).figure
        return None if figure is None else _with_column_title(column, figure)

    return _per_column(make)


def _with_column_title(column: str, figure: go.Figure) -> go.Figure:
    """Copy a figure, and begin its subtitle with the column."""
    subtitle = figure.layout.title.subtitle.text
    return theme.copied(figure).update_layout(
        title_subtitle_text=" · ".join([column, *([subtitle] if subtitle else [])])
    )


def scatter(weights: Callable[[Found], FloatArray], words: str) -> Draw:
    """Draw learnt ``weights`` (R·C,) of workers and classes against the diagonal of the true confusion."""

    def make(column: str, those: list[Found]) -> go.Figure | None:
        one = those[0]
        truth = None if one.dataset is None else true_effective(one.dataset)
        if truth is None:
            return None
        figure = theme.figure(
            go.Scatter(x=np.diagonal(truth, axis1=1, axis2=2).ravel(), y=weights(one), mode="markers"),
            title=words,
            subtitle=f"{column}, first seed; a point per worker and class",
        )
        return figure.update_xaxes(title="true sensitivity or specificity").update_yaxes(title=words)

    return _per_column(make)
