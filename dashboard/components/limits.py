"""A filter by number: the rows of a table whose number in one column lies between two limits."""

from collections.abc import Collection

import pandas as pd
import streamlit as st

from crowdcore.exhibits import between
from dashboard import state


def limited(frame: pd.DataFrame, begin: str, shares: Collection[str]) -> pd.DataFrame:
    """Draw the filter, and return the rows that pass it.

    Args:
        frame: the whole table.
        begin: of the address's fields ``column``, ``least`` and ``most``.
        shares: columns that are shown in per cent, and so are their limits.
    """
    numbers = [str(name) for name in frame.columns if frame[name].dtype.kind in "iuf"]
    if not numbers:
        return frame
    column = state.one_of(f"{begin}column", numbers)
    ends = [_number(state.get(f"{begin}{end}")) for end in ("least", "most")]
    label = f"{column.replace('_', ' ')}: {_words(*ends)}" if column else "Limits"
    with st.popover(label, icon=":material/filter_alt:", key=f"limits-{begin}"):
        st.selectbox("Column", numbers, index=None, placeholder="A column", **state.bind(f"{begin}column", column))
        unit = " (%)" if column in shares else ""
        for end, title, value in zip(("least", "most"), ("At least", "At most"), ends, strict=True):
            st.number_input(f"{title}{unit}", value=None, disabled=not column, **state.bind(f"{begin}{end}", value))
    if not column:
        return frame
    least, most = (end if end is None or column not in shares else end / 100 for end in ends)
    return between(frame, column, least, most)


def _number(text: str) -> float | None:
    """The number that the address holds, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _words(least: float | None, most: float | None) -> str:
    ends = [f"≥ {least:g}" if least is not None else "", f"≤ {most:g}" if most is not None else ""]
    return " and ".join(filter(None, ends)) or "any"
