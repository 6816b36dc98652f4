"""JSON lines, and JSON files that hold one list of flat records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, TextIO

import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.tables.base import Arrow, Table
from crowdcore.data.tables.content import Content

__all__ = ["JsonTable"]

MAX_JSON = 256 << 20  # a JSON document has to be held as a whole
MAX_LINE = 16 << 20
BATCH = 1 << 16


class JsonTable(Table):
    """Records with names; a name that a record lacks is missing there, and values are read as text."""

    def __init__(self, content: Content) -> None:
        self.path, self.encoding, self.findings = content.path, content.encoding, content.findings
        self._lines = content.kind == "json-lines"
        names: dict[str, None] = {}
        for record in islice(self.records(), 1000):
            names.update(dict.fromkeys(record))
        if not names:
            raise DataError("There are no records", file=self.path)
        self.name_columns(names)

    @cached_property
    def document(self) -> Any:
        """The parsed JSON document (not for JSON lines).

        Raises:
            DataError: too large, or not JSON.
        """
        assert self.path is not None
        size = self.path.stat().st_size
        if size > MAX_JSON:
            sentence = f"This JSON file has {size >> 20:,} MiB; documents over {MAX_JSON >> 20} MiB are not read"
            raise DataError(sentence, "Export it as JSON lines, CSV or Parquet.", file=self.path)
        try:
            with self._open() as file:
                return json.load(file)
        except (ValueError, RecursionError) as error:
            raise DataError(f"This is not JSON ({error})", file=self.path) from None

    def records(self) -> Iterator[dict[str, Any]]:
        """The records one after another.

        Raises:
            DataError: a line that is no record, with its row.
        """
        if not self._lines:
            document = self.document
            for row, record in enumerate(document if isinstance(document, list) else [document], 1):
                if not isinstance(record, dict):
                    raise DataError("This entry is not a record of names and values", file=self.path, row=row)
                yield record
            return
        with self._open() as file:
            row = 0
            while line := file.readline(MAX_LINE):
                if not line.strip():
                    continue
                row += 1
                if len(line) == MAX_LINE:
                    raise DataError(f"This line is longer than {MAX_LINE >> 20} MiB", file=self.path, row=row)
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise DataError(f"This line is not JSON ({error})", file=self.path, row=row) from None
                if not isinstance(record, dict):
                    raise DataError("This line is not a record of names and values", file=self.path, row=row)
                yield record

    def _open(self) -> TextIO:
        assert self.path is not None
        return self.path.open(encoding=self.encoding or "utf-8")

    def pieces(self, columns: tuple[str, ...]) -> Iterator[Arrow]:
        """Tables of 65,536 records."""
        records = self.records()
        while batch := list(islice(records, BATCH)):
            arrays = [pa.array([_text(record.get(name)) for record in batch], pa.large_string()) for name in columns]
            yield pa.table(arrays, names=list(columns))


def _text(value: object) -> str | None:
    """A JSON value as text; true as ``True``, whole floats as they stand, nested values as JSON."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)
