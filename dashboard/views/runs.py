"""Runs: everything that was trained, on whatever dataset, as one table."""

from __future__ import annotations

from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.run_table import board


def draw() -> None:
    """The page."""
    heading()
    fragment(board)()


page("runs", draw, draw, ratings=draw)
