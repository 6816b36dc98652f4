"""Cleaning a column of names, and saying what that did."""

from __future__ import annotations

import pandas as pd

from crowdcore.core.types import IntArray
from crowdcore.data.codes import Codes, Whole, clean
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, found, plural
from crowdcore.data.tables.base import Arrow

__all__ = ["clean_names", "string_index"]


def clean_names(
    codes: Codes, role: str, raw: Raw, escaped: bool, missing: tuple[str, ...] = (), whole: Whole = "keep"
) -> tuple[Codes, list[Finding]]:
    """Trim, normalise and merge the spellings of one column; ``role`` is what its values are called."""
    result = clean(codes, missing, escaped, whole)
    column, findings = raw.roles.get(role), []
    aligned = len(codes) == len(raw.task)

    def rows(chosen: IntArray) -> IntArray:
        return raw.row_numbers(chosen) if aligned else chosen + 1

    if len(result.trimmed):
        sentence = f"{plural(len(result.trimmed), f'{role} name')} had surrounding blanks or an unusual spelling"
        findings.append(found("trimmed", "note", sentence, rows(result.trimmed), column=column))
    if result.renumbered:
        sentence = f"Every {role} is a whole number; 1.0 was read as 1"
        findings.append(Finding("whole-numbers", "note", sentence, column=column))
    if result.merged:
        pairs = "; ".join(f"{before!r} with {after!r}" for before, after in result.merged[:3])
        sentence = f"{plural(len(result.merged), 'spelling')} of {role} names merged: {pairs}"
        examples = tuple(before for before, _ in result.merged[:5])
        findings.append(
            found(f"merged-{role}s", "change", sentence, rows(result.merged_rows), column=column, examples=examples)
        )
    return result.codes, findings


def string_index(values: Arrow) -> pd.Index[str]:
    """A pandas index of strings over pyarrow values (no Python objects are made where pandas keeps them in Arrow)."""
    index: pd.Index[str] = pd.Index(values.to_pandas())
    return index
