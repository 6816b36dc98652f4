"""Times of annotations that cannot be read: reported by row, and with consent lost alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.types import IntArray
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.times import SECONDS, TIME, durations, moments

_COLUMNS = {
    TIME: (moments, "a time", "Write all of them like 2024-05-31T14:30:00Z, or all as seconds since 1970."),
    SECONDS: (durations, "a duration", "Write seconds as a number that is not below 0, such as 12.5."),
}


def readable_times(raw: Raw, rows: IntArray | None) -> tuple[Raw, list[Finding]]:
    """What was read, its times without those that cannot be read, and what to say of these.

    Args:
        rows: those that become annotations, None = all.
    """
    findings = []
    for name, (read, what, remedy) in _COLUMNS.items():
        if raw.extra is None or name not in raw.extra.column_names:
            continue
        column = raw.extra[name]
        values = column.to_pandas()
        lost = values.notna().to_numpy() & np.isnan(read(values))
        if not lost.any():
            continue
        kept = pc.if_else(pa.array(lost), pa.scalar(None, column.type), column)
        raw = replace(raw, extra=raw.extra.set_column(raw.extra.column_names.index(name), name, kept))
        wrong = np.flatnonzero(lost) if rows is None else np.sort(rows[lost[rows]])
        wrong = wrong[~values.iloc[wrong].astype("str").str.strip().isin(["", *raw.missing]).to_numpy()]
        if len(wrong):
            examples = tuple(str(values.iloc[row])[:60] for row in wrong[:5])
            labels = "its label" if len(wrong) == 1 else "their labels"
            sentence = f"{plural(len(wrong), 'cell')} cannot be read as {what} and would be left out, {labels} kept: "
            sentence += ", ".join(map(repr, examples[:3]))
            more = {"column": name, "examples": examples, "remedy": remedy}
            findings.append(make_finding(f"{name}-unreadable", "change", sentence, raw.row_numbers(wrong), **more))
    return raw, findings
