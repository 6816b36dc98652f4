"""Streamlit collects garbage after every rerun, in sight of all that was ever imported: 50 to 150 ms each time."""

from __future__ import annotations

import gc
import sys

_MANY = 20  # modules
_known = 0


def spare() -> None:
    """Take what imports have brought since the last time, and what stays with them, out of the collector's sight.

    To be called as a rerun begins: the one before has just been cleaned up, so that hardly any garbage is kept.
    """
    global _known
    if len(sys.modules) >= _known + _MANY:
        gc.freeze()
        _known = len(sys.modules)
