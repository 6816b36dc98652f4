"""Numbers in the cells of a heatmap: their words and their colours."""

from __future__ import annotations

import re

import numpy as np

SPAN = re.compile(r'<span style="color:(#\w+)">(.*)</span>')


def words(text) -> list[list[str]]:
    """Return the text of the cells."""
    return [["" if not cell else SPAN.fullmatch(cell)[2] for cell in row] for row in np.asarray(text, object)]


def inks(text) -> list[list[str]]:
    """Return the colours of the text of the cells."""
    return [["" if not cell else SPAN.fullmatch(cell)[1] for cell in row] for row in np.asarray(text, object)]
