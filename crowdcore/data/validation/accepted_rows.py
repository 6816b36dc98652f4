"""Annotation rows that are accepted, with findings about the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import Codes
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, make_finding, plural

OUTSIDE = -2  # the class of a label that is in no class


def accepted_rows(
    raw: Raw, names: dict[str, Codes], label: IntArray | None = None, outside: Finding | None = None
) -> tuple[IntArray | None, list[Finding]]:
    """Rows with a task, a worker and a label in the class list; None = all of them.

    Args:
        raw: where the rows are from.
        names: the cleaned ``task``, ``worker`` and ``label`` columns.
        label: (n,) class numbers, -1 = missing, -2 = outside the class list; None: the labels are no classes.
        outside: the finding about labels outside the class list, None: there are none.

    Returns:
        The rows kept, and a finding for each reason to leave out others; a row with several counts as left out by the
        first.

    Raises:
        DataError: one of the three is empty in every row.
    """
    n = len(names["label"])
    if not any(codes.missing.any() for codes in names.values()) and (label is None or not (label < 0).any()):
        return None, []
    keep = np.ones(n, bool)
    findings = []
    for role, codes in names.items():
        gone = np.flatnonzero(codes.missing)
        if not len(gone):
            continue
        column = raw.roles.get(role)
        if len(gone) == len(codes):
            raise DataError(f"The {role} is missing in every row", column=column, file=raw.path)
        sentence = f"{plural(len(gone), 'row')} without a {role} would be left out"
        left_out = int(keep[gone].sum())
        findings.append(
            make_finding(f"missing-{role}", "change", sentence, raw.row_numbers(gone), column=column, left_out=left_out)
        )
        keep[gone] = False
    others = np.flatnonzero(keep & (label == OUTSIDE)) if label is not None else np.empty(0, np.int64)
    if outside is not None:
        findings.append(replace(outside, left_out=len(others)))
    keep[others] = False
    return np.flatnonzero(keep), findings
