"""Tables as Python's csv and json and pyarrow read them, by plain rules, for comparison by `fuzz_readers`."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq

ROLES = ("task", "worker", "label", "gold")
MINUS_ONE = ("-1", "-1.0")
Row = dict[str, str | None]


class UnreadableError(Exception):
    """A file refused by the parser of the standard library, or by the plain rules of a table."""


def cells(text: str, delimiter: str) -> list[list[str]]:
    """Rows of a delimited text by Python's strict parser, without blank lines."""
    lines = io.StringIO(text.removeprefix("\ufeff"), newline="")
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row]
    except csv.Error as error:
        raise UnreadableError(str(error)) from None
    while rows and not delimiter.join(rows[0]).strip(" \t"):
        del rows[0]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise UnreadableError("rows of different length")
    return rows


def plain_rows(rows: list[list[str]]) -> list[Row]:
    names = [name.strip() for name in rows[0]]
    if any(names.count(role) > 1 for role in ROLES) or not {*ROLES[:3]} <= {*names}:
        raise UnreadableError("no column for each role")
    return [texts(dict(zip(names, row, strict=True))) for row in rows[1:] if not is_header(row, names)]


def is_header(row: list[str], names: list[str]) -> bool:
    return [cell.strip("\ufeff \t") for cell in row] == names


def melted(rows: list[list[str]], header: list[str]) -> list[Row]:
    names = [name.strip() for name in rows[0]]
    if names != header:
        raise UnreadableError("other columns")
    body = [texts(dict(zip(names, row, strict=True))) for row in rows[1:] if not is_header(row, names)]
    long = [
        {"task": row["task"], "worker": name, "label": row[name], "gold": row.get("gold")}
        for row in body
        for name in names
        if name not in ("task", "gold")
    ]
    labels = {row["label"] for row in long if row["label"]}
    others = labels - {*MINUS_ONE}
    if labels & {*MINUS_ONE} and len(others) > 1 and not any(re.fullmatch("-[0-9.]+", word) for word in others if word):
        long = [row | {"label": None} if row["label"] in MINUS_ONE else row for row in long]
    return long


def _as_records(said: Any) -> Any:
    """The records of a frame that pandas wrote by columns, split or with a schema; anything else as it is."""
    if isinstance(said, dict) and {*said} == {"schema", "data"}:
        return said["data"]
    if isinstance(said, dict) and {*said} == {"columns", "index", "data"}:
        return [dict(zip(said["columns"], row, strict=True)) for row in said["data"]]
    if isinstance(said, dict) and said and all(isinstance(column, dict) for column in said.values()):
        rows = list(dict.fromkeys(row for column in said.values() for row in column))
        return [{name: column.get(row) for name, column in said.items()} for row in rows]
    return said


def plain_json(lines: bool) -> Callable[[bytes], list[Row]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise UnreadableError("a name twice")
        return dict(pairs)

    def read(raw: bytes) -> list[Row]:
        text = raw.decode()
        try:
            parts = [line for line in text.split("\n") if line.strip()] if lines else [text]
            records = [json.loads(part, object_pairs_hook=once) for part in parts]
        except ValueError as error:
            raise UnreadableError(str(error)) from None
        records = records if lines else _as_records(records[0])
        if not isinstance(records, list) or not all(isinstance(row, dict) for row in records):
            raise UnreadableError("no list of records")
        for role in ROLES:  # {"value": "x"} in each row names x
            if all(isinstance(row.get(role), dict | None) and {*(row.get(role) or {})} <= {"value"} for row in records):
                records = [row | {role: row[role]["value"]} if row.get(role) else row for row in records]
        if any(isinstance(row.get(role), (list, dict)) for row in records for role in ROLES):
            raise UnreadableError("a list or a record for a name")
        names = {name for row in records for name in row}
        own = {name: name.strip() if name.strip() not in names else name for name in names}
        rows = [texts({own[name]: value for name, value in row.items()}) for row in records]
        if any("\ud800" <= c <= "\udfff" for row in rows for word in row.values() for c in word or ""):
            raise UnreadableError("half a surrogate pair")
        return rows

    return read


def texts(row: dict[str, Any]) -> Row:
    """The roles of a row as text; None where it has no value."""

    def text(value: Any) -> str | None:
        if value is None or value != value:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return unicodedata.normalize("NFC", str(value).strip()) or None

    return {role: text(row.get(role)) for role in ROLES} | {
        name: text(value) for name, value in row.items() if name.startswith("w") and name != "worker"
    }


def plain_parquet(raw: bytes) -> list[Row]:
    return [texts(row) for row in pq.read_table(io.BytesIO(raw)).to_pylist()]
