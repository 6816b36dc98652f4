"""A figure together with the numbers behind it: what a page shows, a command prints and a report holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

__all__ = ["Exhibit"]


@dataclass(frozen=True, eq=False)
class Exhibit:
    """Something to show.

    Args:
        name: short and plain, for files: ``learning-curves``.
        title: what it shows, in words.
        figure: the picture; None for a table alone. Names in it are escaped.
        table: the numbers, with names as they are (or pseudonyms, where the view hides names).
        notes: what to bear in mind, one plain sentence each.
        alt: what a screen reader says of the figure; default: the title.
        click: what a click on a cell (row, column) or a point (number,) selects, as fields of the app's address:
            ``{"true": "street", "given": "inside city"}``. None where clicks mean nothing.
    """

    name: str
    title: str
    figure: go.Figure | None
    table: pd.DataFrame
    notes: tuple[str, ...] = ()
    alt: str = ""
    click: Callable[..., Mapping[str, str]] | None = None

    def __post_init__(self) -> None:
        if not self.alt:
            object.__setattr__(self, "alt", self.title)
