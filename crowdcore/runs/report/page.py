"""A report as one HTML file: Plotly's code once, figures as data, every name as text, nothing fetched from anywhere.

The page's policy lets only its own two scripts run, by their digests, and forbids every connection: even a name that
slipped through the escaping could neither run nor call home. `write_report` adds one CSV per table, one SVG per figure,
and a JSON file for programs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tempfile
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

import crowdcore
from crowdcore.core.errors import DataError, missing_extra
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.report import plural
from crowdcore.data.unpack import pack_zip
from crowdcore.data.writers.tables import latex_of
from crowdcore.exhibits import Exhibit
from crowdcore.exhibits.glossary import readable
from crowdcore.figures import paper, theme
from crowdcore.runs.report.build import Report, Section

ROWS = 100  # rows of a table that the page shows; the folder's CSV has all
_FEW = 25  # rows up to which a table without a figure stands open
_TITLE, _HEIGHT = 40, 450  # pixels of a figure's title, and default height of a figure
_LARGE = 10_000.0  # from which on decimals are dropped
_LONG = 60  # characters from which a cell may wrap
_HERE = Path(__file__).parent


def to_html(report: Report) -> str:
    """Write the whole page; about five megabytes, nearly all of it Plotly."""
    from plotly.offline import get_plotlyjs

    plotly, own = get_plotlyjs(), (_HERE / "page.js").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src {_digest(plotly)} {_digest(own)}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    contents = "".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in report.sections)
    numbers = {id(e): n for n, e in enumerate(report.exhibits)}
    body = "".join(_section(section, numbers) for section in report.sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.dataset)}: report</title>\n"
        f"<style>{(_HERE / 'page.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(report.dataset)}</h1>\n{_head(report)}"
        f'<nav aria-label="Contents"><ul>{contents}</ul></nav>\n{body}</main>\n'
        f"<script>{plotly}</script>\n<script>{own}</script>\n</body>\n</html>\n"
    )


def _digest(script: str) -> str:
    """Name of a script in a policy that lets it run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _head(report: Report) -> str:
    """Heading with the dataset and the command that reproduces the report."""
    names = "pseudonyms" if report.pseudonymised else "their own names"
    facts = {
        "Dataset": f"{report.dataset}, fingerprint {report.fingerprint}",
        "Reference": report.reference,
        "Workers go by": names,
        "Runs": ", ".join(run["name"] for run in report.runs) or "none",
        "Made": f"{report.made:%Y-%m-%d %H:%M} UTC with crowdcore {crowdcore.__version__}",
    }
    listed = "".join(f"<dt>{escape(key)}</dt><dd>{escape(str(value))}</dd>" for key, value in facts.items())
    again = f"<pre>{escape(report.command)}</pre>\n" if report.command else ""
    return f"<dl>{listed}</dl>\n{again}"


def _section(section: Section, numbers: dict[int, int]) -> str:
    shown = "".join(_exhibit(e, numbers[id(e)]) for e in section.exhibits)
    words = f"<p>{escape(section.words)}</p>" if section.words else ""
    return f'<section id="{section.name}">\n<h2>{escape(section.title)}</h2>\n{words}{shown}</section>\n'


def _exhibit(exhibit: Exhibit, number: int) -> str:
    """Heading, figure, notes, and the numbers, folded away if a figure shows them or if they are many."""
    table = _table(exhibit.table, exhibit.title) if len(exhibit.table.columns) else ""
    figure = "" if exhibit.figure is None else _figure(exhibit, number)
    if figure or len(exhibit.table) > _FEW:
        table = f"<details><summary>Numbers ({plural(len(exhibit.table), 'row')})</summary>{table}</details>\n"
    notes = "".join(f'<p class="note">{escape(note)}</p>\n' for note in exhibit.notes)
    return f"<h3>{escape(exhibit.title)}</h3>\n{figure}{notes}{table}"


def _figure(exhibit: Exhibit, number: int) -> str:
    """Place of the figure, and its data; its title is the heading, its subtitle a line below that."""
    assert exhibit.figure is not None
    layout = exhibit.figure.layout
    subtitle = unescape(layout.title.subtitle.text or "")
    top = (layout.margin.t or theme.TEMPLATE.layout.margin.t) - _TITLE
    bare = go.Figure(exhibit.figure).update_layout(title={"text": "", "subtitle": {"text": ""}}, margin_t=max(top, 12))
    height = (layout.height or _HEIGHT) - _TITLE
    data = bare.update_layout(height=height).to_json().replace("<", "\\u003c")
    note = f'<p class="note">{escape(subtitle)}</p>\n' if subtitle else ""
    return (
        f'{note}<figure aria-label="{escape(exhibit.title)}">'
        f'<div class="plot" data-from="data-{number}" style="height:{height}px"></div></figure>\n'
        f'<script type="application/json" id="data-{number}">{data}</script>\n'
    )


def _table(frame: pd.DataFrame, title: str) -> str:
    """First rows of a frame, every cell as text."""
    frame = readable(frame)
    number = {name: pd.api.types.is_numeric_dtype(frame[name].dtype) for name in frame.columns}
    head = "".join(f"<th{_class(number[c], '')}>{escape(str(c).replace('_', ' '))}</th>" for c in frame.columns)
    rows = []
    for values in frame.head(ROWS).itertuples(index=False):
        cells = [(_cell(v), number[c]) for c, v in zip(frame.columns, values, strict=True)]
        rows.append("<tr>" + "".join(f"<td{_class(n, text)}>{escape(text)}</td>" for text, n in cells) + "</tr>")
    more = len(frame) - ROWS
    rest = f'<p class="note">The first {ROWS} of {len(frame):,} rows.</p>' if more > 0 else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>{rest}\n"
    )


def _class(number: bool, text: str) -> str:
    kind = "number" if number else "long" if len(text) > _LONG else ""
    return f' class="{kind}"' if kind else ""


def _cell(value: Any) -> str:
    """Cell as text: four significant digits, a dash for a missing value."""
    if value is None or value is pd.NA or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if not isinstance(value, float | np.floating):
        return str(value)
    return f"{value:,.0f}" if abs(float(value)) >= _LARGE else f"{value:.4g}"


Tell = Callable[[float, str], None]


def drawing_fault() -> str:
    """Reason why no SVG can be drawn here, or ""."""
    return str(missing_extra("Drawing SVG files", "kaleido") or "")


def write_report(
    report: Report, folder: Path, svg: bool = True, on_progress: Tell | None = None
) -> tuple[list[Path], str]:
    """Write ``report.html``, ``report.json``, ``tables/*.csv`` (short ones also .tex), and ``figures/*.svg``.

    Returns the files, and the reason why figures were left out, or "". Files of an older report in the folder are
    removed, others stay. ``on_progress`` is called with the share of figures drawn, 0…1, and the title of the next.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file", "Name a folder for the report.")
    _forget_older(folder)
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    named = {f"{n:02d}-{_slug(e.name)}": e for n, e in enumerate(report.exhibits, 1)}
    files = []
    for name, exhibit in named.items():
        if not len(exhibit.table.columns):  # only a note on why there is nothing
            continue
        files.append(folder / "tables" / f"{name}.csv")
        files[-1].write_bytes(csv_bytes(exhibit.table))
        if len(exhibit.table) <= ROWS:
            files.append(folder / "tables" / f"{name}.tex")
            files[-1].write_text(latex_of(exhibit.table), encoding="utf-8")
    drawn, fault = _draw(named, folder / "figures", on_progress) if svg else ([], "")
    files += drawn
    (folder / "report.html").write_text(to_html(report), encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(_facts(report, named, fault), indent=1), encoding="utf-8")
    return [folder / "report.html", folder / "report.json", *files], fault


def to_archive(report: Report, svg: bool = True, on_progress: Tell | None = None) -> bytes:
    """Write the files of `write_report` as a ZIP."""
    with tempfile.TemporaryDirectory() as place:
        write_report(report, Path(place), svg, on_progress)
        return pack_zip(Path(place))


def _draw(named: dict[str, Exhibit], folder: Path, on_progress: Tell | None) -> tuple[list[Path], str]:
    """Draw one SVG per figure; if that fails, return none and the reason."""
    fault = drawing_fault()
    if fault:
        return [], fault
    figures = {folder / f"{name}.svg": e.figure for name, e in named.items() if e.figure is not None}
    if not figures:
        return [], ""
    folder.mkdir(exist_ok=True)
    try:
        paper.draw(figures, on_progress)
    except Exception as error:  # kaleido starts a browser, and its faults are of many kinds
        for file in figures:
            file.unlink(missing_ok=True)
        return [], f"SVG files were left out, as drawing them failed: {type(error).__name__}."
    return list(figures), ""


def _forget_older(folder: Path) -> None:
    """Remove the tables and figures that an older report lists."""
    try:
        older = json.loads((folder / "report.json").read_text(encoding="utf-8"))["exhibits"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in older:
        if re.fullmatch(r"\d+-[a-z0-9-]+", name):
            (folder / "tables" / f"{name}.csv").unlink(missing_ok=True)
            (folder / "tables" / f"{name}.tex").unlink(missing_ok=True)
            (folder / "figures" / f"{name}.svg").unlink(missing_ok=True)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "table"


def _facts(report: Report, named: dict[str, Exhibit], fault: str) -> dict[str, object]:
    return {
        "dataset": report.dataset,
        "fingerprint": report.fingerprint,
        "reference": report.reference,
        "pseudonymised": report.pseudonymised,
        "made": report.made.isoformat(timespec="seconds"),
        "crowdcore": crowdcore.__version__,
        "command": report.command,
        "runs": report.runs,
        "exhibits": {name: exhibit.title for name, exhibit in named.items()},
        "left out": fault,
    }
