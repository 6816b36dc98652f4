"""Clean a column of names and report the changes."""

from __future__ import annotations

import unicodedata

import pandas as pd
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import Cleaned, Codes, Whole, clean
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.tables.base import Arrow

MAX_NAME = 1 << 16  # bytes
_SHOWN, _LOOKED_AT, _LONG = 3, 100, 60  # spellings in a sentence, rows in which they are looked for, letters of each


def clean_names(
    codes: Codes,
    role: str,
    raw: Raw,
    missing: tuple[str, ...] = (),
    whole: Whole = "keep",
    about: RawTasks | None = None,
) -> tuple[Codes, list[Finding]]:
    """Trim, normalise and merge the spellings of one column.

    Args:
        codes: the column.
        role: what its values are called.
        raw: where it is from.
        missing: values that mean that there is none.
        whole: when to read ``1.0`` as ``1``.
        about: given if it is a column of this instead of the annotations.

    Raises:
        DataError: a value too long to be a name.
    """
    longest = pc.max(pc.binary_length(codes.values)).as_py() or 0
    if longest > MAX_NAME:
        what = f"A {role} is {longest:,} bytes long, and at most {MAX_NAME:,} are a name"
        raise DataError(what, f"Choose another column for the {role}.", file=raw.path, column=raw.roles.get(role))
    result = clean(codes, missing, raw.escaped if about is None else about.escaped, whole)
    column, findings = raw.roles.get(role), []

    def rows(chosen: IntArray) -> IntArray:
        return row_numbers(raw, chosen, about)

    if len(result.trimmed):
        found = _respelled(codes, result)
        said = f"{plural(len(result.trimmed), f'{role} name')} had surrounding blanks or an unusual spelling"
        sentence = f"{said}: {'; '.join(f'{_shown(before)} is read as {after}' for before, after in found.items())}"
        numbers = rows(result.trimmed)
        findings.append(make_finding("trimmed", "note", sentence, numbers, column=column, examples=tuple(found)))
    if result.renumbered:
        sentence = f"Every {role} is a whole number; 1.0 was read as 1"
        findings.append(Finding("whole-numbers", "note", sentence, column=column))
    if result.merged:
        pairs = "; ".join(f"{_shown(before)} with {_shown(after)}" for before, after in result.merged[:_SHOWN])
        pairs += " …" if len(result.merged) > _SHOWN else ""
        sentence = f"{plural(len(result.merged), 'spelling')} of {role} names merged: {pairs}"
        examples = tuple(before for before, _ in result.merged[:5])
        findings.append(
            make_finding(
                f"merged-{role}s", "change", sentence, rows(result.merged_rows), column=column, examples=examples
            )
        )
    return result.codes, findings


def _respelled(codes: Codes, result: Cleaned) -> dict[str, str]:
    """A few names as written -> as read, quoted."""
    found: dict[str, str] = {}
    for row in result.trimmed[:_LOOKED_AT]:
        code, new = int(codes.codes[row]), int(result.codes.codes[row])
        if len(found) < _SHOWN:
            found[codes.values[code].as_py()] = "missing" if new < 0 else _shown(result.codes.values[new].as_py())
    return found


def _shown(name: str) -> str:
    """The begin of a name, quoted; with escapes where it is encoded in an unusual way, since that cannot be seen."""
    name = f"{name[:_LONG]}…" if len(name) > _LONG else name
    return repr(name) if unicodedata.normalize("NFC", name) == name else ascii(name)


def row_numbers(raw: Raw, chosen: IntArray, about: RawTasks | None) -> IntArray:
    """1-based file rows of some annotation rows, or of some rows of a list of tasks."""
    return chosen + 1 if about is not None and about.listed else raw.row_numbers(chosen)


def string_index(values: Arrow) -> pd.Index[str]:
    """A pandas index of strings over pyarrow values (no Python objects are made where pandas keeps them in Arrow)."""
    index: pd.Index[str] = pd.Index(values.to_pandas())
    return index
