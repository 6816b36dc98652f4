"""Lists and records that stand as text in the cells of a delimited file: as JSON, as Python prints them, or joined."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

_JOINTS = "|;,"
_SHORT = 30  # letters of a label
_LEAST = 4  # rows below which lists of the same length say nothing


def nested_columns(rows: Sequence[Sequence[str]], columns: Sequence[str]) -> dict[str, str]:
    """Column -> what joins its entries, nothing where cells are written as JSON or as Python does.

    Joined lists are recognised by another column that has as many entries in each row.
    """
    cells = {name: [row[k].strip() if k < len(row) else "" for row in rows] for k, name in enumerate(columns)}
    found = {name: "" for name, column in cells.items() if _are_brackets(column)}
    for joint in _JOINTS if len(rows) >= _LEAST else "":
        sizes = {name: [cell.count(joint) for cell in column] for name, column in cells.items() if name not in found}
        long = {name: n for name, n in sizes.items() if 2 * sum(map(bool, n)) > len(rows)}
        for one, other in combinations(long, 2):
            if long[one] == long[other]:
                found |= {one: joint, other: joint}
    for joint in _JOINTS:
        again = [name for name, column in cells.items() if name not in found and _repeat(column, joint)]
        found |= dict.fromkeys(again, joint)
    return found


def _repeat(column: Sequence[str], joint: str) -> bool:
    """Whether a third of the cells name the same again, as labels of workers and no classes of one answer."""
    lists = [[part.strip() for part in cell.split(joint)] for cell in column if joint in cell]
    short = all(len(part) < _SHORT for parts in lists for part in parts)
    return short and len(lists) >= _LEAST and 3 * sum(len({*parts}) < len(parts) for parts in lists) > len(column)


def _are_brackets(column: Sequence[str]) -> bool:
    filled = [cell for cell in column if cell]
    return bool(filled) and all(cell[0] + cell[-1] in ("[]", "{}") for cell in filled)


def decoded(record: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """The record of a row with lists and records in place of their text; what cannot be read stays text."""
    return {name: _decoded(value, columns[name]) if name in columns else value for name, value in record.items()}


def _decoded(cell: Any, joint: str) -> Any:
    if not isinstance(cell, str) or not cell.strip():
        return None
    if joint:
        return [part.strip() for part in cell.split(joint)]
    for read in (json.loads, ast.literal_eval):
        try:
            return read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return cell
