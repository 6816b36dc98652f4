"""Every reproduction by its id."""

from __future__ import annotations

from collections.abc import Mapping

from crowdcore.core.errors import SettingError, did_you_mean
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
        remedy = f"{did_you_mean(id, ENTRIES)}Known: {', '.join(ENTRIES)}."
        raise SettingError("reproduction", "be one that there is", id, remedy)
    return ENTRIES[id]
