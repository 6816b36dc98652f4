"""Meaning of the labels: classes of a list or ratings in a range, and the number of each label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import ClassVar, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dictionary import (
    MINUS_ONE,
    Codes,
    NumberColumn,
    as_text,
    clean,
    gather,
    natural_order,
    renumber,
    strings,
)
from crowdcore.data.encoder import encode
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, Level, make_change, plural, quoted
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow, Table

FEW_NUMBERS, MANY_NUMBERS = 12, 20  # up to the first, distinct numbers are codes; beyond the second, maybe ratings
LOOKS_MISSING = (
    *("-1", "na", "n/a", "n.a.", "#n/a", "nan", "null", "#null!", "\\n", "nil", "none", "missing", "sysmis", "#value!"),
    *("?", "??", ".", "-", "--", "–", "—", "n.d.", "k.a.", "n.v.", "dk", "skip", "skipped", "blank", "(blank)", "无"),
    *("no label", "no answer", "unlabeled", "unlabelled", "unanswered", "not answered", "keine angabe", "нет ответа"),
    *("<na>", "not applicable", "nicht beurteilbar", "sans réponse", "sin respuesta", "nessuna risposta"),
)
_CODES = (99, 999, 9999, 98, 998, 88, -9, -99, -999, -9999, -8, -98, -88)  # far from the other small whole numbers
_OUTSIDE = -2  # number of a label that is no class
_NUMBER = r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?(e[+-]?[0-9]{1,2})?"
_PLAIN = r"^-?[0-9]+(\.[0-9]+)?([eE]-?[0-9]+)?$"  # numbers that Arrow reads; pandas reads the others
_WHOLE = r"^(-?[0-9]{1,15})\.0+$"

Wrong: TypeAlias = tuple[Finding, IntArray]
"""A reason to leave labels out, and the rows concerned."""


def row_numbers(raw: Raw, chosen: IntArray, about: RawTasks | None) -> IntArray:
    """1-based file rows of some annotation rows (``about``: None), or of some rows about tasks."""
    return chosen + 1 if about is not None and about.listed else raw.row_numbers(chosen)


@dataclass(frozen=True)
class Classes:
    """Labels that are classes.

    Args:
        names: the classes in their order.
        source: of the list: ``argument``, ``labels found`` or that given by the reader.
        several: labels left out of the list since they name several classes.
    """

    names: tuple[str, ...]
    source: str
    several: frozenset[str] = frozenset()
    unknown: ClassVar[float] = -1

    def renamed(self, became: Mapping[str, str]) -> Classes:
        """The classes after some were merged into others, in natural order unless the list was given."""
        if not became:
            return self
        names = list(dict.fromkeys(became.get(name, name) for name in self.names))
        order = natural_order(names) if self.source == "labels found" else range(len(names))
        return Classes(tuple(names[i] for i in order), self.source)

    def numbers(self, codes: Codes) -> IntArray:
        """(n,) int32 class of each row, -1 = missing, -2 = outside the list; ``1.0`` is ``1`` if not listed itself."""
        listed = strings(self.names)
        place = pc.index_in(codes.values, value_set=listed)
        if place.null_count:
            whole = pc.index_in(_whole(codes.values), value_set=_whole(listed))
            place = pc.coalesce(place, whole)
        return renumber(codes.codes, np.asarray(place.fill_null(_OUTSIDE)))

    def known(self, numbers: AnyArray) -> BoolArray:
        """(n,) mask of the rows that hold a class of the list."""
        return np.asarray(numbers >= 0)

    def wrong(self, codes: Codes, numbers: AnyArray, raw: Raw, about: RawTasks | None) -> list[Wrong]:
        """The labels (``about``: None) or gold values that are no class."""
        rows = np.flatnonzero(numbers == _OUTSIDE)
        if not len(rows):
            return []
        role = "label" if about is None else "gold"
        words = Counter(codes.values.take(pa.array(codes.codes[rows[:100_000]])).to_pylist())
        tagged = sum(n for word, n in words.items() if " " in word and set(word.split()) <= set(self.names))
        if tagged > 0.5 * words.total():
            raise DataError(
                "The labels are sequences of tags, but no sentences are known",
                "Make it a dataset folder whose tasks.* has the columns task and text, a row for each sentence.",
                file=raw.path,
                column=raw.roles.get(role),
            )
        listed = ", ".join(repr(word) for word, _ in words.most_common(3))
        more = f" and {len(words) - 3:,} others" if len(words) > 3 else ""
        combined = words.keys() <= self.several
        which = "that may name several classes" if combined else f"outside the {plural(len(self.names), 'class')}"
        finding = make_change(
            f"{role}-outside-classes",
            f"{plural(len(rows), 'label' if about is None else 'gold value')} {which}",
            "be left out" if about is None else "count as unknown",
            row_numbers(raw, rows, about),
            f": {listed}{more}",
            column=raw.roles.get(role),
            examples=tuple(word for word, _ in words.most_common(5)),
            remedy="" if combined else "Correct them, or list all classes.",
            remedies=() if combined else (Remedy("classes"),),
        )
        return [(finding, rows)]

    @property
    def codes_of_none(self) -> list[tuple[str, bool]]:
        """Names that may mean "no label" if the content agrees, each with whether it is the 0 below classes 1, 2, …"""
        if self.source != "labels found":
            return []
        odd = [name for name in self.names if _looks_missing(name, self.names)]
        names = [name for name in self.names if name not in odd]
        odd += _far_codes(names)
        suspects = [(name, False) for name in odd]
        whole = {int(name): name for name in names if re.fullmatch(r"-?[0-9]{1,4}", name)}
        high = next(n for n in count(1) if n not in whole) - 1  # classes 1, 2 … high, and maybe 0
        if 2 < len(whole) == len(names) and high + (0 in whole) > 1:
            suspects += [(name, False) for n, name in whole.items() if name not in odd and not 0 <= n <= high]
            suspects += [(whole[0], True)] if 0 in whole and high > 1 else []
        return suspects

    def findings(self, per_class: IntArray, void: Sequence[str] = ()) -> list[Finding]:
        """Findings on the list of classes: only one, very many, unused ones, names that look like missing values.

        ``per_class`` (C,) counts the labels; ``void`` are the classes found to mean "no label" (`void_classes`).
        """
        findings = []
        names, n, by_labels = self.names, int(per_class.sum()), self.source == "labels found"
        if len(names) == 1:
            sentence = f"There is only one class, {names[0]!r}: workers cannot disagree"
            findings.append(Finding("single-class", "warning", sentence, remedies=(Remedy("classes"),)))
        if by_labels and len(names) > 40 and 4 * len(names) > n:
            sentence = f"{len(names):,} classes for {plural(n, 'annotation')}: the labels may be free text"
            findings.append(Finding("many-classes", "warning", sentence, len(names), remedy="Check the label column."))
        if n and not per_class.all():
            unused = [name for name, count in zip(names, per_class, strict=True) if not count]
            sentence = f"{plural(len(unused), 'class')} never given as a label: {quoted(unused)}"
            findings.append(Finding("unused-classes", "note", sentence, len(unused), examples=tuple(unused[:5])))
        if not by_labels:
            return findings
        odd = [name for name in names if _looks_missing(name, names)]
        odd += _far_codes([name for name in names if name not in odd])
        odd += [name for name in void if name not in odd]
        if odd:
            which = f"The class {odd[0]!r}" if len(odd) == 1 else f"Each of the classes {', '.join(map(repr, odd))}"
            sentence = f"{which} may mean that there is no label"
            level: Level = "warning"
            remedies: tuple[Remedy, ...] = (Remedy("missing", odd, when="so"),)
            if void:
                again = "it" if len(void) == 1 else "them"
                which = f" {', '.join(map(repr, void))}" if len(void) < len(odd) else ""
                sentence += f": on{which or f' {again}'} workers agree no more than by chance"
                level, remedies = "question", (*remedies, Remedy("classes", [*names], when="all are classes"))
            findings.append(Finding("looks-missing", level, sentence, len(odd), examples=(*odd,), remedies=remedies))
        numbers: dict[float, list[str]] = {}
        for name in names:
            if re.fullmatch(_NUMBER, name):
                numbers.setdefault(float(name), []).append(name)
        for same in (same for same in numbers.values() if len(same) > 1):
            sentence = f"The classes {' and '.join(map(repr, same))} are the same number"
            remedies = (Remedy("merge_classes", {same[0]: same[1:]}, when="they are one class"),)
            findings.append(
                Finding("same-number", "warning", sentence, len(same), (), None, (*same,), remedies=remedies)
            )
        return findings


def _looks_missing(name: str, names: Sequence[str]) -> bool:
    if name in MINUS_ONE:  # a number between others, or one of two answers
        return len(names) > 2 and not any(re.match("-[0-9.]", other) for other in names if other not in MINUS_ONE)
    return name.casefold() in LOOKS_MISSING and not (name in "-–—" and "+" in names)


def _far_codes(names: list[str]) -> list[str]:
    """Known codes of a missing answer among words, or among whole numbers far from them."""
    whole = [name for name in names if re.fullmatch(r"-?[0-9]{1,4}", name)]
    if whole and len(names) - len(whole) > 1:
        return whole if all(int(name) in _CODES for name in whole) else []
    if len(names) < 3 or len(whole) < len(names):
        return []
    codes = [name for name in names if int(name) in _CODES]
    others = [int(name) for name in names if name not in codes]
    most = max((1, *map(abs, others)))
    return [c for c in codes if len(others) > 1 and (min(others) >= 0 > int(c) or int(c) >= 8 * most)]


def find_classes(raw: Raw, settings: ReadSettings, label: Codes, gold: Codes | None) -> Classes:
    """The list given, or that of the file, or the labels and gold values found, in natural order."""
    if settings.classes is not None:
        return Classes(_tidy(settings.classes, raw), "argument")
    if raw.classes is not None:
        return Classes(_tidy(raw.classes, raw), raw.classes_from)
    names = list({name for codes in (label, gold) if codes is not None for name in codes.values.to_pylist()})
    if not names:
        raise DataError("There is no label", file=raw.path, code="no-label", remedies=(Remedy("classes"),))
    if settings.kind is None:
        _refuse_many_numbers(names, raw)
    return Classes(tuple(names[i] for i in natural_order(names)), "labels found")


def _tidy(names: tuple[str, ...], raw: Raw) -> tuple[str, ...]:
    """The class names, cleaned as labels are: without surrounding blanks, in normal form."""
    codes = clean(encode(strings(names))).codes
    if len(codes.values) < len(names) or not names:
        raise DataError("The class list is empty, or two of its names are the same or empty", file=raw.path)
    return tuple(codes.values.to_pylist())


def _refuse_many_numbers(names: list[str], raw: Raw) -> None:
    """Ask about labels that are many different numbers: codes of classes follow one another, ratings do not."""
    if len(names) <= FEW_NUMBERS:
        return
    try:
        numbers = np.array([float(name.rstrip("%")) for name in names])
    except ValueError:
        return
    finite = numbers[np.isfinite(numbers)]
    if len(names) <= MANY_NUMBERS and ((finite != np.round(finite)).any() or np.ptp(finite) < 2 * len(finite)):
        return
    what = f"The labels are {len(names):,} different numbers from {finite.min():g} to {finite.max():g}: they may be "
    remedies = Remedy.read_as("ratings", when="they are ratings"), Remedy("kind", "classes", when="they are classes")
    column, code = raw.roles.get("label"), "many-numbers"
    raise DataError(f"{what}classes or ratings", file=raw.path, column=column, code=code, remedies=remedies)


def _whole(values: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(values, _WHOLE, r"\1")


@dataclass(frozen=True)
class Ratings:
    """Labels that are numbers.

    Args:
        low, high: the range that they must lie in.
        levels: the words for them in the file, from low to high; None: the file holds numbers.
        names: the words for them, also where the file holds numbers.
    """

    low: float
    high: float
    levels: tuple[str, ...] | None
    names: tuple[str, ...]
    unknown: ClassVar[float] = float("nan")

    def numbers(self, codes: Codes) -> FloatArray:
        """(n,) the number of each row, NaN where it is missing or no number."""
        if self.levels is None and isinstance(codes, NumberColumn):
            return codes.numbers
        if self.levels is not None:
            place = np.asarray(pc.index_in(codes.values, value_set=strings(self.levels)).fill_null(-1))
            values = np.append(np.linspace(self.low, self.high, len(self.levels)), np.nan)[place]
        else:
            values = parse_numbers(codes.values)
        return gather(np.append(values, np.nan), codes.codes)

    def known(self, numbers: AnyArray) -> BoolArray:
        """(n,) mask of the rows that hold a number in the range."""
        return np.asarray((numbers >= self.low) & (numbers <= self.high))

    def wrong(self, codes: Codes, numbers: AnyArray, raw: Raw, about: RawTasks | None) -> list[Wrong]:
        """The labels (``about``: None) or gold values that are no numbers, or numbers outside the range."""
        role, noun, fate = "rating", "rating", "be left out"
        if about is not None:
            role, noun, fate = "gold", "gold value", "count as unknown"
        column = raw.roles.get("label" if about is None else "gold")
        none = np.isnan(numbers)
        words = "none of the levels" if self.levels else "no number"
        unread = (none, words, "Write numbers such as 2.5.", ()) if not self.levels else (none, words, "", ("levels",))
        outside = ~none & ~self.known(numbers), f"outside {self.low:g}…{self.high:g}", "", ("low", "high")
        kinds: dict[str, tuple[BoolArray, str, str, tuple[str, ...]]]
        kinds = {"not-a-number": unread, "outside-range": outside}
        wrong: list[Wrong] = []
        for code, (flags, what, remedy, settings) in kinds.items():
            rows = np.flatnonzero(flags & ~codes.missing) if flags.any() else np.empty(0, np.int64)
            if not len(rows):
                continue
            examples = tuple(word[:60] for word in codes.take(rows).values[:5].to_pylist())
            which = what if code == "outside-range" else f"that {'is' if len(rows) == 1 else 'are'} {what}"
            subject, where = f"{plural(len(rows), noun)} {which}", row_numbers(raw, rows, about)
            detail = f": {', '.join(map(repr, examples[:3]))}"
            finding = make_change(f"{role}-{code}", subject, fate, where, detail, column=column, examples=examples)
            remedies = (Remedy(settings, when="they are not wrong"),) if settings else ()
            finding = replace(finding, remedy=remedy, remedies=remedies)
            wrong.append((finding, rows))
        return wrong

    def findings(self, per_class: IntArray, void: Sequence[str] = ()) -> list[Finding]:
        """None: a range has no names."""
        return []


Labels: TypeAlias = Classes | Ratings


_RANGES = (0, 1), (-1, 1), (1, 5), (0, 5), (1, 7), (1, 10), (0, 10), (0, 100)  # frequent ones


def find_range(raw: Raw, settings: ReadSettings) -> Ratings:
    """The given range, that of the levels, or that of the folder."""
    levels = settings.levels
    names = levels or raw.levels
    if settings.low is not None and settings.high is not None:
        return Ratings(settings.low, settings.high, levels, names)
    if levels is not None:
        return Ratings(1.0, float(len(levels)), levels, names)
    if raw.rating_range is not None:
        return Ratings(*raw.rating_range, None, names)
    if raw.classes is not None:
        listed = ", ".join(raw.classes[:5]) + (" …" if len(raw.classes) > 5 else "")
        remedies = (Remedy.read_as("classes"), Remedy(("low", "high"), when="they are numbers"))
        raise DataError(f"The labels are classes ({listed}), not ratings", file=raw.path, remedies=remedies)
    numbers = parse_numbers(raw.label.values)
    what, numbers = "The range of the ratings is not known", numbers[np.isfinite(numbers)]
    if len({*numbers}) < 2:
        words = Remedy("levels", when="they are words such as bad and good, in the order from low to high")
        raise DataError(what, file=raw.path, code="no-range", remedies=(Remedy(("low", "high")), words))
    least, most = numbers.min(), numbers.max()
    likely = next(([low, high] for low, high in _RANGES if low <= least and most <= high), None)
    remedy = Remedy(("low", "high"), likely, when="that is the range" if likely else "")
    raise DataError(f"{what}: they go from {least:g} to {most:g}", file=raw.path, code="no-range", remedies=(remedy,))


def clean_ratings(column: Codes, raw: Raw, escaped: bool) -> Codes:
    """A cleaned column of ratings; columns of numbers are clean."""
    as_read = isinstance(column, NumberColumn) and not column.holds(raw.missing)
    return column if as_read else clean(column, raw.missing, escaped).codes


def parse_numbers(values: Arrow) -> FloatArray:
    """(n,) number of each string, NaN if it is none."""
    plain = np.asarray(pc.match_substring_regex(values, _PLAIN).fill_null(False))
    if plain.all():
        return np.asarray(values.cast(pa.float64()))
    numbers = np.full(len(values), np.nan)
    numbers[plain] = np.asarray(values.filter(pa.array(plain)).cast(pa.float64()))
    others = values.filter(pa.array(~plain)).to_pandas().str.removesuffix("%")
    numbers[~plain] = pd.to_numeric(others, errors="coerce")
    return numbers


def with_categories(raw: Raw, table: Table) -> Raw:
    """Add the class list of a categorical label column: its ordered categories, or all categories and labels, sorted.

    Nothing changes if the label columns have several types, or two categories are spelled alike.
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
    names = [name for name in dict.fromkeys(names) if name.strip() and (name in used or name not in MINUS_ONE)]
    if kinds == {True}:
        ordered, source = names, "categories"
    else:
        gold = raw.tasks.gold.values.to_pylist() if raw.tasks is not None and raw.tasks.gold is not None else []
        every = list(dict.fromkeys([*names, *raw.label.values.to_pylist(), *(g for g in gold if g not in MINUS_ONE)]))
        every = [name for name in every if name.strip() and name.strip() not in raw.missing]
        ordered, source = [every[i] for i in natural_order(every)], "labels found"
    cleaned = clean(encode(pa.array(ordered, pa.large_string()))).codes
    if len(cleaned.values) < len(ordered) or not ordered:
        return raw
    return replace(raw, classes=tuple(ordered), classes_from=source)
