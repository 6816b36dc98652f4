"""Spellings that may be one name, and labels that may be several classes (``cat|dog``)."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy, SettingError, did_you_mean
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dictionary import Codes, clean, compact, distinct, fold_name, natural_order, strings
from crowdcore.data.readers.base import Raw
from crowdcore.data.reading.labels import Classes
from crowdcore.data.report import Finding, Level, Role, Variants, make_finding, plural, quoted
from crowdcore.data.settings import Merge, ReadSettings
from crowdcore.data.tables.base import Arrow
from crowdcore.data.tables.json_table import read_json

_SETTING: dict[Role, str] = {"label": "merge_classes", "worker": "merge_workers"}
_NOUN: dict[Role, str] = {"label": "classes", "worker": "workers"}
_SEPARATORS = "|;,+/&"
_WEAK = "+/&"  # these may join parts of the name of one class
YES_NO = {  # folded -> one of two answers
    **dict.fromkeys(("yes", "y", "true", "t", "1", "1.0"), "yes"),
    **dict.fromkeys(("no", "n", "false", "f", "0", "0.0"), "no"),
}


def fold(names: Arrow) -> Arrow:
    """Names in lower case and the common width, without accents and without surrounding or double blanks."""
    folded = pc.ascii_lower(pc.replace_substring_regex(pc.utf8_trim_whitespace(names), r"[\t-\r\x1c-\x1f ]+", " "))
    foreign = pc.invert(pc.string_is_ascii(names))
    if not pc.any(foreign).as_py():
        return folded
    return pc.replace_with_mask(folded, foreign, strings(fold_name(v) for v in names.filter(foreign).to_pylist()))


class _Spelling(NamedTuple):
    """A name as written in the file, as read, and the number of rows with this spelling."""

    written: str
    read: str
    rows: int


@dataclass(frozen=True, eq=False)
class Merged:
    """Result of merging the names of a column.

    Args:
        became: name -> the name that it is merged into.
        variants: every name that is spelled in several ways.
        findings: on names that are merged, and on those that could be.
    """

    became: dict[str, str]
    variants: tuple[Variants, ...]
    findings: tuple[Finding, ...]


def merge_variants(
    raw: Raw, role: Role, written: Codes, read: Codes, *, gold: Codes | None, listed: tuple[str, ...], merge: Merge
) -> Merged:
    """Find the spellings of labels or workers that may be one name, and merge them.

    ``listed`` names are preferred to other spellings. ``merge`` is ``"variants"`` for all spellings found, or a
    mapping, whose values become its keys.
    """
    given = dict(merge) if isinstance(merge, Mapping) else {}
    known = [fold_name(name) for name in read.values[: len(YES_NO) * 4].to_pylist()] if role == "label" else []
    same = YES_NO if len(read.values) == len(known) and {*known} <= {*YES_NO} and len({*known}) > 2 else {}
    others = [*listed, *([] if gold is None else gold.values.to_pylist())]
    named = {_tidy(name) for names in given.values() for name in names}
    spelled = _spellings(written, read, others, {*named, *(read.values.to_pylist() if same else ())})
    proposed = _proposed(_groups(spelled, {}, same), listed)
    became = proposed if merge == "variants" else _chosen_merges(given, spelled, _SETTING[role])
    if became and raw.truth is not None:
        raise DataError("The names of a simulated crowd with its truth cannot be merged", file=raw.path)
    groups = [group for group in _groups(spelled, became, same) if len({s.written for s in group}) > 1]
    variants = []
    for group in groups:
        first = became.get(group[0].read, group[0].read)
        becomes = tuple(became.get(s.read, s.read) for s in group)
        name = first if len(set(becomes)) == 1 else proposed.get(first, first)
        spellings, counts = tuple(s.written for s in group), tuple(s.rows for s in group)
        variants.append(Variants(role, name, spellings, counts, becomes))
    apart = {name: into for name, into in proposed.items() if became.get(name, name) != became.get(into, into)}
    totals: dict[str, int] = {}
    for spelling in spelled:
        totals[spelling.read] = totals.get(spelling.read, 0) + spelling.rows
    findings = []
    if became:
        findings.append(_finding(role, "change", became, totals, raw, _rows(read, became)))
    if apart:
        findings.append(_finding(role, "warning", apart, totals, raw, _rows(read, apart)))
    return Merged(became, tuple(variants), tuple(findings))


def rename(codes: Codes, became: Mapping[str, str]) -> Codes:
    """A column with some names replaced."""
    hit = pc.is_in(codes.values, value_set=strings(became))
    if not pc.any(hit).as_py():
        return codes
    new = strings(became[name] for name in codes.values.filter(hit).to_pylist())
    return distinct(pc.replace_with_mask(codes.values, hit, new), codes.codes)


def _spellings(written: Codes, read: Codes, others: Iterable[str], named: set[str]) -> list[_Spelling]:
    """Spellings that share their fold with others, or are ``named``; ``others`` that do not occur count 0."""
    number, count = read.codes[written.first_rows], written.counts
    known = number >= 0
    names = read.values.take(pa.array(number[known]))
    more = strings(dict.fromkeys(others))
    more = more.filter(pc.invert(pc.is_in(more, value_set=read.values)))
    every = pa.concat_arrays([names, more])
    key = np.asarray(fold(every).dictionary_encode().indices)
    chosen = (np.bincount(key)[key] > 1) | np.asarray(pc.is_in(every, value_set=strings(named)))
    spelled = pa.concat_arrays([written.values.filter(pa.array(known)), more])
    counts = np.append(count[known], np.zeros(len(more), np.int64))
    parts = (column.filter(pa.array(chosen)).to_pylist() for column in (spelled, every))
    return [_Spelling(*parts) for parts in zip(*parts, counts[chosen].tolist(), strict=True)]


def _groups(spelled: list[_Spelling], became: Mapping[str, str], same: Mapping[str, str]) -> list[list[_Spelling]]:
    """Group spellings by the fold of the name that they become, or its ``same``, the most frequent first."""
    groups: dict[str, list[_Spelling]] = {}
    for spelling in sorted(spelled, key=lambda s: -s.rows):
        folded = fold_name(became.get(spelling.read, spelling.read))
        groups.setdefault(same.get(folded, folded), []).append(spelling)
    return list(groups.values())


def _proposed(groups: list[list[_Spelling]], listed: tuple[str, ...]) -> dict[str, str]:
    """Name -> the listed, else most frequent, name of the same fold."""
    order, proposed = {name: place for place, name in enumerate(listed)}, {}
    for group in groups:
        counts: dict[str, int] = {}
        for spelling in group:
            counts[spelling.read] = counts.get(spelling.read, 0) + spelling.rows
        best = min(counts, key=lambda name: (order.get(name, len(order)), -counts[name], name))
        proposed.update({name: best for name in counts if name != best})
    return proposed


def _chosen_merges(merge: Mapping[str, tuple[str, ...]], spelled: list[_Spelling], setting: str) -> dict[str, str]:
    """Name -> the name to merge it into, as the settings say."""
    there = {spelling.read for spelling in spelled}
    became: dict[str, str] = {}
    targets = {_tidy(name) for name in merge}
    for into, names in merge.items():
        for name in dict.fromkeys(map(_tidy, names)):
            if name == _tidy(into):
                continue
            if name not in there:
                raise SettingError(setting, "name what the file holds", name, did_you_mean(name, there))
            if name in became or name in targets or not _tidy(into):
                raise SettingError(setting, "merge each name once, into one that stays", name)
            became[name] = _tidy(into)
    return became


def _tidy(name: str) -> str:
    return unicodedata.normalize("NFC", str(name).strip())


def _rows(read: Codes, names: Iterable[str]) -> IntArray:
    """Rows that hold any of some names."""
    flags = np.append(np.asarray(pc.is_in(read.values, value_set=strings(names))), False)
    return np.flatnonzero(flags[read.codes])


def _finding(
    role: Role, level: Level, mapping: Mapping[str, str], counts: Mapping[str, int], raw: Raw, rows: IntArray
) -> Finding:
    """Finding on merged spellings (a change) or separate ones (a warning); names the first three groups."""
    groups: dict[str, list[str]] = {}
    for name, into in mapping.items():
        groups.setdefault(into, []).append(f"{name!r} ({counts.get(name, 0):,})")
    parts = [f"{', '.join(names)} and {into!r} ({counts.get(into, 0):,})" for into, names in groups.items()]
    if level == "change":
        parts = [f"{', '.join(names)} into {into!r}" for into, names in groups.items()]
    listed = "; ".join(parts[:3]) + ("; …" if len(parts) > 3 else "")
    start = f"Spellings of {_NOUN[role]} merged" if level == "change" else f"Some {_NOUN[role]} may be one"
    code = f"merged-{role}-variants" if level == "change" else f"{role}-variants"
    finding = make_finding(code, level, f"{start}: {listed}", raw.row_numbers(rows), column=raw.roles.get(role))
    remedies = () if level == "change" else (Remedy(_SETTING[role], "variants", "merge them"),)
    return replace(finding, examples=tuple(mapping)[:5], remedies=remedies)


def find_multi_selects(names: list[str]) -> set[str]:
    """Names whose parts are names themselves (with ``|`` and ``;``: one of the parts), and lists of names."""
    split = {name: parts for name in names if (parts := name_parts(name))}
    if not split:
        return set()
    alone = {fold_name(name) for name in names if name not in split}
    folded = {name: {fold_name(part) for part in parts} for name, parts in split.items()}
    often = Counter(part for parts in folded.values() for part in parts)
    known = alone | {part for part, n in often.items() if n > 1}
    return {
        name
        for name, parts in folded.items()
        if name.startswith("[")
        or parts <= (alone if _separator(name) in _WEAK else known)
        or (parts & known and _separator(name) in "|;")
    }


def name_parts(name: str) -> list[str]:
    """The classes in a combined label; empty for other labels."""
    if name.startswith("[") and name.endswith("]"):
        return [str(part) for part in read_json(name, []) if not isinstance(part, (list, dict))]
    separator = _separator(name)
    parts = [part.strip() for part in name.split(separator)] if separator else []
    return parts if all(parts) else []


def _separator(name: str) -> str:
    return next((s for s in _SEPARATORS if s in name), "")


def multi_selects(classes: Classes, label: Codes, raw: Raw, settings: ReadSettings) -> tuple[Classes, list[Finding]]:
    """Leave combinations out of the classes if the settings say so, else warn of them; a given list stays."""
    several = find_multi_selects(list(classes.names)) if classes.source == "labels found" else set()
    if not several:
        return classes, []
    if settings.multi_select == "drop":
        names = tuple(name for name in classes.names if name not in several)
        return replace(classes, names=names, several=frozenset(several)), []
    flags = np.append(np.asarray(pc.is_in(label.values, value_set=strings(several))), False)
    rows = np.flatnonzero(flags[label.codes])
    if not len(rows):  # only gold names several
        return classes, []
    words = Counter(label.values.take(pa.array(label.codes[rows[:100_000]])).to_pylist())
    listed = ", ".join(f"{word!r} ({n:,})" for word, n in words.most_common(3)) + (" …" if len(words) > 3 else "")
    sentence = f"{plural(len(rows), 'label')} may name several classes; each combination is a class: {listed}"
    finding = make_finding("multi-select", "warning", sentence, raw.row_numbers(rows), column=raw.roles.get("label"))
    effects = {"yes-no": "read each class as a question", "drop": "leave them out"}
    remedies = tuple(Remedy("multi_select", *choice) for choice in effects.items())
    return classes, [replace(finding, examples=tuple(w for w, _ in words.most_common(5)), remedies=remedies)]


ANSWERS = ("no", "yes")
BETWEEN = " · "


def ask_each_class(raw: Raw, settings: ReadSettings) -> Raw:
    """Make a task ``photo1 · cat`` of each task and class; its labels are yes if a worker chose that class, else no.

    Each label, also one of a single class, becomes an answer for each class; a missing one stays missing.
    """
    if raw.sentences is not None or raw.truth is not None or raw.arrays is not None:
        what = "Tags, simulated crowds and folders are not read as questions of each class"
        raise DataError(what, "Read the table of annotations alone.", file=raw.path)
    label = clean(raw.label, raw.missing, raw.escaped).codes
    tasks = raw.tasks
    gold = clean(tasks.gold, ("-1",), tasks.escaped).codes if tasks is not None and tasks.gold is not None else None
    names = {name for codes in (label, gold) if codes is not None for name in codes.values.to_pylist()}
    several = find_multi_selects([*names])
    parts = {name: {*name_parts(name)} if name in several else {name} for name in names} | {"[]": set[str]()}
    listed = settings.classes or tuple(name for name in raw.classes or () if name not in several)
    choices = [*{part for name in names for part in parts[name]}]
    classes = listed or tuple(choices[i] for i in natural_order(choices))
    n, k = len(label), len(classes)

    def answers(codes: Codes) -> Codes:
        chosen = np.array([[c in parts[name] for c in classes] for name in codes.values.to_pylist()], bool)
        return _answers(codes, chosen.reshape(-1, k))

    if tasks is not None:
        rows = np.repeat(np.arange(len(tasks.task)), k)
        task = _questions(clean(tasks.task, (), tasks.escaped, "mixed").codes, classes)
        tasks = replace(tasks.take(rows), task=task, gold=None if gold is None else answers(gold), escaped=False)
    outside = sorted({*choices} - {*classes})
    aside = f"; not asked for, as the list of classes lacks them: {quoted(outside)}" if outside else ""
    what = f"Each of {plural(k, 'class')} is a question: {plural(n, 'label')} were read as {n * k:,} answers"
    note = Finding("yes-no", "warning" if outside else "note", what + aside, n, examples=classes[:5])
    rows = np.repeat(np.arange(n), k)
    return replace(
        raw,
        task=_questions(clean(raw.task, (), raw.escaped, "mixed").codes, classes),
        worker=raw.worker.take(rows),
        label=answers(label),
        rows=raw.row_numbers(rows),
        extra=None if raw.extra is None else raw.extra.take(rows),
        tasks=tasks,
        classes=ANSWERS,
        classes_from="yes or no for each class",
        n_rows=raw.n_rows - n + n * k,
        findings=(*raw.findings, note),
    )


def _questions(task: Codes, classes: tuple[str, ...]) -> Codes:
    """(n k,) the name of each task with each class."""
    k = len(classes)
    values = strings(f"{name}{BETWEEN}{c}" for name in task.values.to_pylist() for c in classes)
    codes = np.where(task.missing, -k, task.codes * k)[:, None] + np.arange(k)
    return compact(values, np.where(codes < 0, -1, codes).ravel().astype(np.int32))


def _answers(codes: Codes, chosen: BoolArray) -> Codes:
    """(n k,) yes or no of each row for each class, missing where the row is."""
    given: IntArray = np.append(chosen, np.zeros((1, chosen.shape[1]), bool), axis=0)[codes.codes].astype(np.int32)
    given[codes.missing] = -1
    return compact(pa.array(ANSWERS, pa.large_string()), given.ravel())
