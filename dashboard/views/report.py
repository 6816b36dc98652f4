"""Report: download of the chosen parts, as one page and as a folder."""

from __future__ import annotations

import streamlit as st

from crowdcore.data.catalogue import dataset_title
from crowdcore.runs.report import drawing_fault, to_html
from dashboard import state
from dashboard.components.frame import heading, hidden_names, page
from dashboard.components.guard import live, refusals
from dashboard.components.run_choice import pick_runs
from dashboard.components.table import download
from dashboard.components.text import as_text, count, duration
from dashboard.services import report

EVERY = 0.5  # seconds between looks at what is being made


def draw() -> None:
    """Draw the page."""
    dataset, reference = state.get("dataset"), state.get("reference")
    heading(as_text(dataset_title(dataset)))
    st.caption("A page to read offline, print or save as PDF; or a folder with it, all tables (CSV) and figures (SVG).")
    runs = tuple(run.id for run in pick_runs(optional=True))
    offered = report.parts(dataset, bool(runs))
    in_address = [part for part in state.get_many("parts") if part in offered]
    chosen = in_address or list(offered)
    st.pills(
        "What it holds",
        list(offered),
        selection_mode="multi",
        format_func=offered.__getitem__,
        **state.bind("parts", chosen),
    )
    asked_for = (dataset, runs, tuple(chosen), reference, not hidden_names())
    takes(*asked_for)
    st.markdown("The same on the command line:")
    st.code(report.command_line(*asked_for), language=None, wrap_lines=True)
    contents(*asked_for)


def takes(dataset: str, runs: tuple[str, ...], parts: tuple[str, ...], reference: str, show_names: bool) -> None:
    """The two downloads, and the progress of the second."""
    folder = st.session_state.setdefault("report-folder", report.Archiving())
    with st.container(horizontal=True, vertical_alignment="center"):
        page = lambda: to_html(report.report(dataset, runs, parts, reference, show_names))  # noqa: E731
        archive = lambda: folder.make(dataset, runs, parts, reference, show_names)  # noqa: E731
        download("HTML page", page, f"{dataset}-report.html", type="primary", icon=":material/description:")
        download("Folder (ZIP)", archive, f"{dataset}-report.zip", icon=":material/folder_zip:")
    st.fragment(follow, run_every=EVERY)(folder)


def follow(folder: report.Archiving) -> None:
    """Progress of the folder: the figure being drawn, and the time left.

    It looks all the time: a click that reran the page would take the file's name from under the browser's request.
    """
    with refusals():
        words = "The folder was made." if folder.made else "Drawing the figures for the folder takes some seconds."
        with live("folder"):
            st.caption("The folder is being made …" if folder.making else as_text(drawing_fault() or words))
        if folder.making:
            left = "" if folder.remaining is None else f" · {duration(folder.remaining)} left"
            st.progress(folder.share, as_text(f"{folder.words}{left}"))


def contents(dataset: str, runs: tuple[str, ...], parts: tuple[str, ...], reference: str, show_names: bool) -> None:
    """Contents of the report, which is built when this is opened."""
    listed = st.expander("Contents", key="contents", on_change="rerun", icon=":material/toc:")
    if not listed.open:
        return
    lines = []
    with listed, st.spinner("Building the report …"):
        content = report.report(dataset, runs, parts, reference, show_names)
    for section in content.sections:
        drawn = sum(exhibit.figure is not None for exhibit in section.exhibits)
        counted = f"{count(drawn, 'figure')}, {count(len(section.exhibits), 'table')}" if section.exhibits else ""
        lines.append(f"- **{as_text(section.title)}** {counted or as_text(section.words)}")
        lines += [f"    - {as_text(exhibit.title)}" for exhibit in section.exhibits]
    listed.markdown("\n".join(lines))


page("report", draw)
