"""A report as files: the page, one CSV per table, one SVG per figure, and what a machine wants to know."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import crowdcore
from crowdcore.core.errors import DataError, missing_extra
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.unpack import pack_zip
from crowdcore.exhibits import Exhibit
from crowdcore.figures import paper
from crowdcore.runs.report.build import Report
from crowdcore.runs.report.page import to_html

Tell = Callable[[float, str], None]


def drawing_fault() -> str:
    """Why no SVG can be drawn here; empty if nothing is known to stand in the way."""
    return str(missing_extra("Drawing SVG files", "kaleido") or "")


def write_report(
    report: Report, folder: Path, svg: bool = True, on_progress: Tell | None = None
) -> tuple[list[Path], str]:
    """Write ``report.html``, ``report.json``, ``tables/*.csv`` and ``figures/*.svg``.

    Args:
        report: what to write.
        folder: where to; made if need be. The files of an older report in it make room, others stay.
        svg: draw the figures too.
        on_progress: called with the share of figures drawn, 0…1, and the title of the next.

    Returns:
        The files, and why figures were left out if they were.

    Raises:
        DataError: the folder is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file", "Name a folder for the report.")
    _forget_older(folder)
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    named = {f"{n:02d}-{_slug(e.name)}": e for n, e in enumerate(report.exhibits, 1)}
    files = []
    for name, exhibit in named.items():
        if not len(exhibit.table.columns):  # a note that says why there is nothing
            continue
        files.append(folder / "tables" / f"{name}.csv")
        files[-1].write_bytes(csv_bytes(exhibit.table))
    drawn, fault = _draw(named, folder / "figures", on_progress) if svg else ([], "")
    files += drawn
    (folder / "report.html").write_text(to_html(report), encoding="utf-8")
    (folder / "report.json").write_text(json.dumps(_facts(report, named, fault), indent=1), encoding="utf-8")
    return [folder / "report.html", folder / "report.json", *files], fault


def to_archive(report: Report, svg: bool = True, on_progress: Tell | None = None) -> bytes:
    """The same files as a ZIP."""
    with tempfile.TemporaryDirectory() as place:
        write_report(report, Path(place), svg, on_progress)
        return pack_zip(Path(place))


def _draw(named: dict[str, Exhibit], folder: Path, on_progress: Tell | None) -> tuple[list[Path], str]:
    """One SVG per figure; nothing, and why, where they cannot be drawn."""
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
    """Remove the tables and figures that an older report says it wrote."""
    try:
        older = json.loads((folder / "report.json").read_text(encoding="utf-8"))["exhibits"]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in older:
        if re.fullmatch(r"\d+-[a-z0-9-]+", name):
            (folder / "tables" / f"{name}.csv").unlink(missing_ok=True)
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
