"""Tables that filter and whose rows can be clicked, numbers in boxes, and buttons that download a file."""

from __future__ import annotations

import itertools
import mimetypes
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit import runtime

from crowdcore.analysis.verdicts import VERDICT_WORDS
from crowdcore.data.dictionary import csv_bytes
from crowdcore.data.report import plural_of
from crowdcore.data.writers.tables import ENDINGS, table_bytes
from crowdcore.exhibits.exhibit import containing
from crowdcore.exhibits.glossary import HEADINGS, meaning
from dashboard.components.text import count
from dashboard.state import limited

_OF_FORM = {
    "%.1f": "percent; low; high; expected; expected_beyond; expected_agreed; carriers; expected labels; "
    "log-likelihood; validation %; likeliest in %; starts early; starts late; ends early; ends late; both "
    "ends differ; (nothing); missed %; missed %, recovered; boundary %; boundary %, recovered; type %; "
    "type %, recovered; selected epoch",
    "%.3f": "value; entropy; entropy (nats); distance; agreement κ; F1 of spans; F1 of spans last; mean rating; "
    "spread of ratings; usual bias; without it; gain; seconds; NLL (nats); skill correlation; ω "
    "correlation; common error; own error; effective error; common moved; own moved; log-likelihood of a "
    "task's labels; mean ω; 5 %; 25 %; 50 %; 75 %; 95 %",
    "%.2g": "p_workers; p_value; q_value; p_beyond; q_beyond; p value; its p value; smallest p; p; adjusted p; "
    "McNemar p; McNemar adjusted p; p over tasks (Holm); p over seeds (Holm)",
    "%.2f": "bits per label; gain_bits; skill κ; κ low; κ high; selected %; selected ±; last %; last ±; best, "
    "optimistic %; best, optimistic ±; accuracy %; accuracy ±; macro F1 %; macro F1 ±; calibration error "
    "%; calibration error ±; precision %; precision ±; recall %; recall ±; F1 %; F1 ±; from %; to %; "
    "first %; second %; mean_rank; seconds per seed",
    "%+.2f points": "accuracy without",
    "%.4f": "common recovery error; individual recovery error; weighted by annotations; error; distance from observed",
    "%+.2f": "difference (points); change (points)",
    "%.0f": "annotations/s",
    "%.5f": "distance from common",
}
# How numbers of these names, and their spreads over seeds, are written wherever they appear; shares as percentages.
FORMATS = {f"{name}{end}": form for form, names in _OF_FORM.items() for name in names.split("; ") for end in ("", " ±")}
_OF_SHARES = (
    "acc. high; acc. low; accuracy; accuracy last; accuracy mean; accuracy std; accuracy without; balanced "
    "accuracy; calibration error; common noise; f1; f1_high; f1_low; first_probability; given share; its "
    "share; largest row change; mean row change; observed skill; precision; precision_high; precision_low; "
    "probability; probability of label; recall; recall_high; recall_low; second_probability; share; share "
    "high; share low; share of labels; share of others; share with; share without; skill; skill of the other "
    "run; true share; true skill; with majority; wrong"
)
SHARES = set(_OF_SHARES.split("; "))
WIDTHS = {"method": 210, "reason": 420, "meaning": 720, "signal": 130, "tagged by": 110, "sentence": 860}
SHOWN = 2000  # rows sent to the browser; the filter and the download reach all of them
ROW, HEADER = 33, 35  # pixels, at the theme's font size


def table(
    frame: pd.DataFrame,
    key: str,
    *,
    name: str,
    noun: str,
    rows: int = 8,
    on_row: Callable[[int], None] | None = None,
    limits: str | None = None,
) -> None:
    """Show a frame.

    Args:
        frame: the whole table; its index is a position (0, 1, …) that `on_row` is given.
        key: unique on the page.
        name: file name of the download, without its suffix.
        noun: what a row is, e.g. "worker".
        rows: rows to show before the table scrolls.
        on_row: called with the index of a clicked row.
        limits: begin of the address's fields for a filter by number; None: no such filter.
    """
    nouns = plural_of(noun)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        words = st.text_input(
            f"Filter {nouns}",
            key=f"filter-{key}",
            placeholder=f"Filter {nouns}",
            label_visibility="collapsed",
            icon=":material/search:",
            width=260,
        )
        matches = containing(frame if limits is None else limited(frame, limits, SHARES), words)
        about = f"Download {count(len(matches), noun)}"
        download("CSV", lambda: csv_bytes(matches), f"{name}.csv", key=f"csv-{key}", help=about, type="tertiary")
        other_formats(lambda: matches, name, key)
    if not len(matches):
        passes = f"No {noun} passes the limits." if len(frame) else f"There are no {nouns} here."
        st.caption(f"No {noun} contains “{words.strip()}”." if words.strip() else passes)
        return
    shown = matches.head(SHOWN)
    shown = shown[[name for name in frame if shown[name].notna().any() or frame[name].notna().any()]]

    def chosen() -> None:
        picked = st.session_state[f"table-{key}"].selection.rows
        if on_row is not None and picked:
            on_row(int(shown.index[picked[0]]))

    options: dict[str, Any] = {} if on_row is None else {"on_select": chosen, "selection_mode": "single-row"}
    height = HEADER + ROW * min(rows, len(shown))
    config = formats(shown)
    shown = without_minus_zero(shown)
    shown = shown.replace({"verdict": VERDICT_WORDS}) if "verdict" in shown else shown
    options |= {"key": f"table-{key}", "hide_index": True, "height": height, "placeholder": "–"}
    st.dataframe(shown.reset_index(drop=True), column_config=config, **options)  # numbers tell the order of names
    if on_row is not None:
        st.caption(f"Click a {noun}, or press Shift + Space on its row, to choose it.")
    if len(matches) > SHOWN:
        st.caption(f"The first {SHOWN:,} of {count(len(matches), noun)}; filter to see others, download to get all.")


def formats(frame: pd.DataFrame) -> dict[str, Any]:
    """Streamlit's column configuration: names without underscores, every known number in its format."""
    config: dict[str, Any] = {}
    shares = _shares(frame)
    for name in map(str, frame.columns):
        numeric = frame[name].dtype.kind in "iuf"  # a text of digits stays as it is written
        form = FORMATS.get(name, "%.1f %%" if name in shares else None) if numeric or name in shares else None
        kind = st.column_config.Column if form is None else partial(st.column_config.NumberColumn, format=form)
        config[name] = kind(
            HEADINGS.get(name, name).replace("_", " "), width=WIDTHS.get(name), help=meaning(name) or None
        )
    return config


def without_minus_zero(frame: pd.DataFrame) -> pd.DataFrame:
    """Shares in per cent, and negative numbers that `formats` rounds to zero as zero, so that no sign stands there."""
    shares, numbers = _shares(frame), {}
    for name in frame.columns:
        digits = re.search(r"\.(\d)f", FORMATS.get(name, "%.1f" if name in shares else ""))
        if digits and frame[name].dtype.kind in "if":
            values = frame[name] * (100 if name in shares else 1)
            numbers[name] = values.where((values > 0) | (values.round(int(digits[1])) != 0), 0.0)
    return frame.assign(**numbers)


def _shares(frame: pd.DataFrame) -> set[str]:
    """Columns of shares, and of the spread of those."""
    shares = SHARES.intersection(frame.columns)
    return shares | {f"{name} ±" for name in shares}.intersection(frame.columns)


def numbers(cells: Iterable[tuple[str, str, str | None]], width: int = 150, columns: int = 0) -> None:
    """Draw numbers in boxes.

    Args:
        cells: label, value and what is shown when it is pointed at, of each.
        width: pixels of a box at least.
        columns: boxes side by side at most; default: all.
    """
    listed = list(cells)
    grid = st.grid(columns or len(listed), min_column_width=width, gap="xsmall")
    for label, value, hint in listed:
        with grid.cell():
            st.metric(label, value, border=True, help=hint)


_LAST = 32  # files, of all sessions, that are kept
_count = itertools.count()


with suppress(ImportError):  # a Streamlit that has moved its internals goes without
    from dashboard.clicks import keep_clicks

    keep_clicks()


def other_formats(make: Callable[[], pd.DataFrame], name: str, key: str) -> None:
    """Draw a button behind which are downloads of a table in the other formats; ``name``: of the file, no suffix."""
    with st.popover("Formats", type="tertiary", key=f"formats-{key}"):
        for ending in (ending for ending in ENDINGS if ending != ".csv"):
            label, made = _CALLED.get(ending, ending[1:].upper()), lambda ending=ending: table_bytes(make(), ending)
            download(label, made, f"{name}{ending}", key=f"{ending[1:]}-{key}", type="tertiary")


_CALLED = {".parquet": "Parquet", ".md": "Markdown", ".tex": "LaTeX"}


def download(label: str, make: Callable[[], bytes | str], file: str, **options: Any) -> None:
    """Draw a button that downloads a file, which is made on the click.

    Streamlit drops a file made on demand after the second run of any session's script, be it a fragment that polls:
    often before the browser has come to fetch it. So each is held under a name of its own until others follow.

    Args:
        label: what stands on it.
        make: makes the content.
        file: its name.
        options: of `st.download_button`.
    """

    def payload() -> bytes:
        made = make()
        content = made.encode() if isinstance(made, str) else made
        if runtime.exists():
            place = f"download-{next(_count) % _LAST}"
            runtime.get_instance().media_file_mgr.add(content, mime, place, file, is_for_static_download=True)
        return content

    mime = mimetypes.guess_type(file)[0] or "application/octet-stream"
    st.download_button(label, payload, file, mime, **{"on_click": "ignore", "icon": ":material/download:", **options})
