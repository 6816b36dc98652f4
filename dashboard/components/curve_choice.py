"""Which curves to draw, how smooth, and on which axes; the choice is tied to the address bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from dashboard import state

SMOOTH = {"1": "As measured", **{str(k): f"Mean of {k} epochs" for k in (3, 5, 9, 15, 25)}}
AXES = {"log_epochs": "Log epochs", "log_values": "Log values", "all_values": "Whole range"}
"""Argument of `crowdcore.figures.learning_curves` -> words."""


@dataclass(frozen=True)
class CurveChoice:
    """Metrics by name, epochs that a smooth line takes the mean of, and the wanted ones of `AXES`."""

    metrics: tuple[str, ...]
    smooth: int
    axes: tuple[str, ...]

    @property
    def flags(self) -> tuple[bool, ...]:
        """Whether each of `AXES` is wanted."""
        return tuple(axis in self.axes for axis in AXES)


def curve_choice(offered: Mapping[str, str]) -> CurveChoice:
    """Draw the widgets.

    Args:
        offered: metric -> words; the first is drawn while nobody has chosen.
    """
    metrics = [name for name in state.get_many("metric") if name in offered] or list(offered)[:1]
    smooth = state.one_of("smooth", list(SMOOTH)) or "1"
    axes = [axis for axis in state.get_many("axes") if axis in AXES]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.multiselect(
            "Curves",
            list(offered),
            format_func=offered.__getitem__,
            placeholder="Choose curves",
            **state.bind("metric", metrics),
        )
        st.selectbox(
            "Smoothing",
            list(SMOOTH),
            format_func=SMOOTH.__getitem__,
            width=180,
            help="The measured values stay visible behind the smooth line.",
            **state.bind("smooth", smooth),
        )
        st.pills(
            "Axes",
            list(AXES),
            selection_mode="multi",
            format_func=AXES.__getitem__,
            help="Logarithmic axes. “Whole range” includes the first epochs, even if they compress the rest.",
            **state.bind("axes", axes),
        )
    return CurveChoice(tuple(metrics), int(smooth), tuple(axes))


def each_in_a_cell(metrics: tuple[str, ...], draw: Callable[[str], None]) -> None:
    """One curve takes all the width; several stand side by side where there is room."""
    if len(metrics) == 1:
        draw(metrics[0])
        return
    grid = st.grid(2, min_column_width=480, gap="small")
    for metric in metrics:
        with grid.cell():
            draw(metric)
