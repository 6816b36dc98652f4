"""Labels with several classes at once: ``cat|dog``, ``cat;dog``, ``cat,dog``, ``["cat", "dog"]``."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.folding import fold_name
from crowdcore.data.readers.base import Raw
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.validation.classes import ClassList

_SEPARATORS = "|;,"


def find_multi_selects(names: list[str]) -> set[str]:
    """Those names whose parts are names themselves (after ``|`` and ``;``: one of the parts), and lists of names."""
    split = {name: parts for name in names if (parts := _parts(name))}
    if not split:
        return set()
    alone = {fold_name(name) for name in names if name not in split}
    folded = {name: {fold_name(part) for part in parts} for name, parts in split.items()}
    often = Counter(part for parts in folded.values() for part in parts)
    known = alone | {part for part, n in often.items() if n > 1}
    return {
        name
        for name, parts in folded.items()
        if name.startswith("[") or parts <= known or (parts & known and "," not in name)
    }


def _parts(name: str) -> list[str]:
    """What a label names, if that may be several classes, else nothing."""
    if name.startswith("[") and name.endswith("]"):
        try:
            listed = json.loads(name)
        except (ValueError, RecursionError):
            return []
        return [str(part) for part in listed if not isinstance(part, (list, dict))]
    separator = next((s for s in _SEPARATORS if s in name), None)
    parts = [part.strip() for part in name.split(separator)] if separator else []
    return parts if all(parts) else []


def multi_selects(
    classes: ClassList, label: Codes, raw: Raw, settings: ReadSettings
) -> tuple[ClassList, list[Finding]]:
    """Leave combinations out of the classes that were found, if that is asked for, else warn of them.

    Args:
        classes: the class list; one that was given is taken as it is.
        label: the cleaned labels.
        raw: where they are from.
        settings: say which of both.
    """
    several = find_multi_selects(list(classes.names)) if classes.source == "labels found" else set()
    if not several:
        return classes, []
    if settings.multi_select == "drop":
        names = tuple(name for name in classes.names if name not in several)
        return replace(classes, names=names, several=frozenset(several)), []
    flags = np.append(np.asarray(pc.is_in(label.values, value_set=strings(several))), False)
    rows = np.flatnonzero(flags[label.codes])
    words = Counter(label.values.take(pa.array(label.codes[rows[:100_000]])).to_pylist())
    listed = ", ".join(f"{word!r} ({n:,})" for word, n in words.most_common(3)) + (" …" if len(words) > 3 else "")
    sentence = f"{plural(len(rows), 'label')} may name several classes; each combination is a class: {listed}"
    finding = make_finding(
        "multi-select",
        "warning",
        sentence,
        raw.row_numbers(rows),
        column=raw.roles.get("label"),
        examples=tuple(word for word, _ in words.most_common(5)),
        remedy="To leave them out, pass multi_select='drop'.",
    )
    return classes, [finding]
