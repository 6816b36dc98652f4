"""Classes of a column whose type lists them: their order where they have one, and those that no label uses."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from crowdcore.data.dictionary import as_text, clean, natural_order
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw
from crowdcore.data.tables.base import Table

_MINUS_ONE = ("-1", "-1.0")


def with_categories(raw: Raw, table: Table) -> Raw:
    """The class list of the labels' type, ordered ones first to last, others in natural order with all that is found.

    Nothing changes where the labels stand in columns of several types, or where two categories are spelled alike.
    """
    label = raw.roles.get("label")
    columns = [label] if label in raw.columns else raw.worker.values.to_pylist() if raw.format == "wide" else []
    if raw.classes is not None or raw.target != "classes" or not columns or not {*columns} <= table.categorical:
        return raw
    chunks = [chunk for c in columns for chunk in table.head.column(table.columns.index(c)).chunks]
    kinds = {chunk.type.ordered for chunk in chunks}
    lists = {tuple(as_text(chunk.dictionary).to_pylist()) for chunk in chunks}
    if len(kinds) != 1 or (kinds == {True} and len(lists) != 1):
        return raw
    names = [name for some in lists for name in some if name is not None and name.strip() not in raw.missing]
    used = {name.strip() for name in raw.label.values.to_pylist()}
    names = [name for name in dict.fromkeys(names) if name.strip() and (name in used or name not in _MINUS_ONE)]
    if kinds == {True}:
        ordered, source = names, "categories"
    else:
        gold = raw.tasks.gold.values.to_pylist() if raw.tasks is not None and raw.tasks.gold is not None else []
        every = list(dict.fromkeys([*names, *raw.label.values.to_pylist(), *(g for g in gold if g not in _MINUS_ONE)]))
        every = [name for name in every if name.strip() and name.strip() not in raw.missing]
        ordered, source = [every[i] for i in natural_order(every)], "labels found"
    cleaned = clean(encode(pa.array(ordered, pa.large_string()))).codes
    if len(cleaned.values) < len(ordered) or not ordered:
        return raw
    return replace(raw, classes=tuple(ordered), classes_from=source)
