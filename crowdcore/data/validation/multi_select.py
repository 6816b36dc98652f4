"""Labels that name several classes at once: ``cat|dog``, ``cat;dog``, ``cat,dog``, ``["cat", "dog"]``."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.validation.variants import fold

__all__ = ["find_multi_selects", "multi_select_findings"]

_SEPARATORS = "|;,"


def find_multi_selects(names: list[str]) -> set[str]:
    """Those names whose parts are names themselves (after ``|`` and ``;``: one of the parts), and lists of names."""
    split = {name: parts for name in names if (parts := _parts(name))}
    if not split:
        return set()
    alone = set(_folded([name for name in names if name not in split]))
    folded = {name: set(_folded(parts)) for name, parts in split.items()}
    shared = {part for part, n in Counter(p for parts in folded.values() for p in parts).items() if n > 1}
    found = set()
    for name, parts in folded.items():
        known = parts & (alone | shared)
        if name.startswith("[") or known == parts or (known and "," not in name):
            found.add(name)
    return found


def _parts(name: str) -> list[str]:
    """What a label names, if that may be several classes, else nothing."""
    if name.startswith("[") and name.endswith("]"):
        try:
            listed = json.loads(name)
        except ValueError:
            return []
        return [str(part) for part in listed if not isinstance(part, (list, dict))]
    separator = next((s for s in _SEPARATORS if s in name), None)
    parts = [part.strip() for part in name.split(separator)] if separator else []
    return parts if all(parts) else []


def _folded(names: list[str]) -> list[str]:
    return list(fold(strings(names)).to_pylist())


def multi_select_findings(
    label: Codes, found: set[str], raw: Raw, settings: ReadSettings
) -> tuple[IntArray, list[Finding]]:
    """Rows that name several classes, and the finding about them.

    Args:
        label: the cleaned labels.
        found: names that are several classes.
        raw: where the labels are from.
        settings: say whether such labels are kept, each combination as a class, or left out.
    """
    if not found:
        return np.empty(0, np.int64), []
    flags: BoolArray = np.array([*(name in found for name in label.values.to_pylist()), False])
    rows = np.flatnonzero(flags[label.codes])
    often = Counter(label.values.to_pylist()[code] for code in label.codes[rows[:100_000]])
    listed = ", ".join(f"{word!r} ({n:,})" for word, n in often.most_common(3)) + (" …" if len(often) > 3 else "")
    what = f"{plural(len(rows), 'label')} {'names' if len(rows) == 1 else 'name'} several classes"
    keep = settings.multi_select == "keep"
    sentence = f"{what}; each combination is a class: {listed}" if keep else f"{what} and would be left out: {listed}"
    finding = make_finding(
        "multi-select",
        "warning" if keep else "change",
        sentence,
        raw.row_numbers(rows),
        column=raw.roles.get("label"),
        examples=tuple(word for word, _ in often.most_common(5)),
        remedy="To leave them out, pass multi_select='drop'." if keep else "",
    )
    return rows, [finding]
