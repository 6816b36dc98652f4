"""The class list, and which class each label is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import Codes, clean, natural_order, strings
from crowdcore.data.encoder import encode
from crowdcore.data.lookups import renumber
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, make_finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.validation.names import row_numbers

RATING_VALUES = 20  # more distinct fractional numbers than this are ratings, not names of classes
LOOKS_MISSING = ("-1", "na", "n/a", "nan", "null", "none", "?")
_NUMBER = r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?(e[+-]?[0-9]{1,2})?"
_WHOLE = r"^(-?[0-9]{1,15})\.0+$"


@dataclass(frozen=True)
class ClassList:
    """The classes in their order, where they are from, and labels left out since they name several of them."""

    names: tuple[str, ...]
    source: str
    several: frozenset[str] = frozenset()

    def renamed(self, became: Mapping[str, str]) -> ClassList:
        """The classes after some were merged into others; those found stay in natural order."""
        if not became:
            return self
        names = list(dict.fromkeys(became.get(name, name) for name in self.names))
        order = natural_order(names) if self.source == "labels found" else range(len(names))
        return ClassList(tuple(names[i] for i in order), self.source)


def resolve_classes(raw: Raw, settings: ReadSettings, label: Codes, gold: Codes | None) -> ClassList:
    """The list given, or that of the file, or the labels and gold values found, in natural order.

    Raises:
        DataError: the labels are ratings or tag sequences, or there is no class at all.
    """
    if raw.target == "ratings":
        raise DataError("The labels are numbers: read them with load_ratings or read_ratings", file=raw.path)
    if raw.target != "classes":
        raise DataError(
            f"The labels are {raw.target}, and only classes are supported so far",
            "Turn them into classes first.",
            file=raw.path,
        )
    if settings.classes is not None:
        return ClassList(_tidy(settings.classes, raw), "argument")
    if raw.classes is not None:
        return ClassList(_tidy(raw.classes, raw), raw.classes_from)
    names = list({name for codes in (label, gold) if codes is not None for name in codes.values.to_pylist()})
    _refuse_ratings(names, raw)
    if not names:
        raise DataError("There is no label", "Pass the class list with classes=….", file=raw.path)
    return ClassList(tuple(names[i] for i in natural_order(names)), "labels found")


def _tidy(names: tuple[str, ...], raw: Raw) -> tuple[str, ...]:
    """The class names as labels are cleaned: without surrounding blanks, in normal form."""
    codes = clean(encode(strings(names))).codes
    if len(codes.values) < len(names) or not names:
        raise DataError("The class list is empty, or two of its names are the same or empty", file=raw.path)
    return tuple(codes.values.to_pylist())


def _refuse_ratings(names: list[str], raw: Raw) -> None:
    try:
        numbers = np.array([float(name) for name in names])
    except ValueError:
        return
    fractional = numbers[np.isfinite(numbers) & (numbers != np.round(numbers))]
    if len(names) > RATING_VALUES and len(fractional):
        raise DataError(
            f"The labels are ratings ({len(names):,} numbers such as {fractional[0]:g})",
            "Read them with read_ratings; if they are names of classes, pass the list with classes=….",
            column=raw.roles.get("label"),
        )


def to_classes(codes: Codes, classes: ClassList) -> IntArray:
    """(n,) int32 class of each row, -1 = missing, -2 = outside the list; ``1.0`` fits ``1`` for want of ``1.0``."""
    listed = strings(classes.names)
    place = pc.index_in(codes.values, value_set=listed)
    if place.null_count:
        whole = pc.index_in(_whole(codes.values), value_set=_whole(listed))
        place = pc.coalesce(place, whole)
    return renumber(codes.codes, np.asarray(place.fill_null(-2)))


def _whole(values: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(values, _WHOLE, r"\1")


def outside(
    codes: Codes, numbers: IntArray, what: str, raw: Raw, classes: ClassList, about: RawTasks | None
) -> list[Finding]:
    """The finding about labels (``about``: None) or gold values that are in no class.

    Raises:
        DataError: they are tag sequences over the classes.
    """
    rows = np.flatnonzero(numbers == -2)
    if not len(rows):
        return []
    words = Counter(codes.values.take(pa.array(codes.codes[rows[:100_000]])).to_pylist())
    tagged = sum(n for word, n in words.items() if " " in word and set(word.split()) <= set(classes.names))
    if tagged > 0.5 * words.total():
        raise DataError(
            "The labels are sequences of tags, but no sentences are known",
            "Make it a dataset folder whose tasks.* has the columns task and text, a row for each sentence.",
            file=raw.path,
            column=raw.roles.get(what),
        )
    n, listed = len(classes.names), ", ".join(repr(word) for word, _ in words.most_common(3))
    more = f" and {len(words) - 3:,} others" if len(words) > 3 else ""
    verb = "would be left out" if what == "label" else "would count as unknown"
    noun = "label" if what == "label" else "gold value"
    combined = words.keys() <= classes.several
    which = "that may name several classes" if combined else f"outside the {plural(n, 'class')}"
    sentence = f"{plural(len(rows), noun)} {which} {verb}: {listed}{more}"
    return [
        make_finding(
            f"{what}-outside-classes",
            "change",
            sentence,
            row_numbers(raw, rows, about),
            column=raw.roles.get(what),
            examples=tuple(word for word, _ in words.most_common(5)),
            remedy="" if combined else "Correct them, or pass the full list with classes=….",
        )
    ]


def class_findings(classes: ClassList, per_class: IntArray) -> list[Finding]:
    """What looks odd about the class list: one class, very many, unused ones, names that look like none.

    Args:
        classes: the list.
        per_class: (C,) how often each was given as a label.
    """
    findings = []
    names, n = classes.names, int(per_class.sum())
    if len(names) == 1:
        sentence = f"There is only one class, {names[0]!r}: workers cannot disagree"
        findings.append(Finding("single-class", "warning", sentence, remedy="Pass all classes with classes=…."))
    if classes.source == "labels found" and len(names) > 100 and 4 * len(names) > n:
        sentence = f"{len(names):,} classes for {plural(n, 'annotation')}: the labels may be free text"
        findings.append(Finding("many-classes", "warning", sentence, len(names), remedy="Check the label column."))
    if n and not per_class.all():
        unused = [name for name, count in zip(names, per_class, strict=True) if not count]
        listed = ", ".join(map(repr, unused[:5])) + (" …" if len(unused) > 5 else "")
        sentence = f"{plural(len(unused), 'class')} never given as a label: {listed}"
        findings.append(Finding("unused-classes", "note", sentence, len(unused), examples=tuple(unused[:5])))
    odd = [name for name in names if name.casefold() in LOOKS_MISSING] if classes.source == "labels found" else []
    if odd:
        which = f"The class {odd[0]!r}" if len(odd) == 1 else f"Each of the classes {', '.join(map(repr, odd))}"
        sentence = f"{which} may mean that there is no label"
        remedy = f"If so, pass missing={json.dumps(odd, ensure_ascii=False)}."
        findings.append(Finding("looks-missing", "warning", sentence, len(odd), examples=tuple(odd), remedy=remedy))
    numbers: dict[float, list[str]] = {}
    for name in names if classes.source == "labels found" else ():
        if re.fullmatch(_NUMBER, name):
            numbers.setdefault(float(name), []).append(name)
    for same in (same for same in numbers.values() if len(same) > 1):
        sentence = f"The classes {' and '.join(map(repr, same))} are the same number"
        remedy = "If they are one class, name them with merge_classes=…."
        findings.append(Finding("same-number", "warning", sentence, len(same), examples=tuple(same), remedy=remedy))
    return findings
