"""Annotation rows that are accepted, with findings about the others."""

from __future__ import annotations

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import Codes
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, make_finding, plural

__all__ = ["accepted_rows"]


def accepted_rows(raw: Raw, names: dict[str, Codes], label: IntArray) -> tuple[IntArray | None, list[Finding]]:
    """Rows with a task, a worker and a label in the class list; None = all of them.

    Args:
        raw: where the rows are from.
        names: the cleaned ``task``, ``worker`` and ``label`` columns.
        label: (n,) class numbers, -1 = missing, -2 = outside the class list.

    Raises:
        DataError: one of the three is empty in every row.
    """
    keep = None
    findings = []
    for role, codes in names.items():
        if not len(codes) or int(codes.codes.min()) >= 0:
            continue
        gone = np.flatnonzero(codes.missing)
        if len(gone) == len(codes):
            raise DataError(f"The {role} is missing in every row", column=raw.roles.get(role), file=raw.path)
        sentence = f"{plural(len(gone), 'row')} without a {role} would be left out"
        findings.append(
            make_finding(f"missing-{role}", "change", sentence, raw.row_numbers(gone), column=raw.roles.get(role))
        )
        keep = ~codes.missing if keep is None else keep & ~codes.missing
    if len(label) and int(label.min()) < 0:
        keep = label >= 0 if keep is None else keep & (label >= 0)
    return None if keep is None else np.flatnonzero(keep), findings
