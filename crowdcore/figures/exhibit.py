"""A figure together with the numbers behind it: what a page shows, offers for download, and a report holds."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

__all__ = ["Exhibit"]


@dataclass(frozen=True, eq=False)
class Exhibit:
    """Something to show.

    Args:
        name: short and plain, for files: ``learning-curves``.
        title: what it shows, in words; a screen reader says it.
        figure: the picture; None for a table alone.
        table: the numbers, with names as they are.
        notes: what to bear in mind, one sentence each.
    """

    name: str
    title: str
    figure: go.Figure | None
    table: pd.DataFrame
    notes: tuple[str, ...] = ()
