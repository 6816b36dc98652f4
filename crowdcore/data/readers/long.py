"""Long tables: one row per annotation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.data.columns import assign_roles
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw, Reader, Source, read_annotations
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow

NEEDED = ("task", "worker", "label")


class LongTable(Reader):
    """CSV, TSV, JSON lines, Parquet or a frame with a column each for task, worker and label."""

    name: ClassVar[str] = "long"
    title: ClassVar[str] = "Long table (a row per annotation)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Columns for task, worker and label are recognised or named."""
        if source.table is None:
            return 0.0
        roles = assign_roles(source.table, settings)
        return 0.6 if all(role in roles for role in NEEDED) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the columns that play a role, and keep the others beside them."""
        raw = read_annotations(source.need_table(), settings, self.name)
        if len(raw.task) == 0:
            raise DataError("There are columns, but no rows", file=source.path)
        return raw if settings.question is None else _one_question(raw, settings.question, source)


def _one_question(raw: Raw, question: str, source: Source) -> Raw:
    """The rows of one of several questions, whose names stand in a column beside the labels."""
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    for name in extra.column_names:
        if pa.types.is_nested(extra[name].type):
            continue
        codes = encode(extra[name])
        named = np.asarray(pc.equal(pc.utf8_trim_whitespace(codes.values), question.strip()))
        rows = np.flatnonzero(np.append(named, False)[codes.codes])
        if len(rows):
            n = len(raw.task) - len(rows)
            what = f"Only the rows of the question {question!r} were read; {n:,} of others were left aside"
            return raw.keep(rows, Finding("other-questions", "note", what, n, column=name, left_out=n))
    raise DataError(
        f"No column beside the labels holds the question {question!r}", file=source.path, code="no-question"
    )
