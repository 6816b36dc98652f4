"""Every reproduction by its id."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from crowdcore.core.errors import SettingError
from crowdcore.reproduce import ccc, conal, crowd_layer, trace
from crowdcore.reproduce.entry import Entry

ENTRIES: Mapping[str, Entry] = {
    entry.id: entry for paper in (conal, crowd_layer, trace, ccc) for entry in paper.ENTRIES
}
"""Id -> entry."""


def get(id: str) -> Entry:
    """An entry.

    Raises:
        SettingError: there is none of that id; the nearest one is suggested.
    """
    if id not in ENTRIES:
        near = difflib.get_close_matches(id, ENTRIES, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise SettingError("reproduction", "be one that there is", id, f"{hint}Known: {', '.join(ENTRIES)}.")
    return ENTRIES[id]
