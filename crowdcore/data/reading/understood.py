"""`Understood`: the cleaned columns of a file by role, the kind of its labels, and doubts about them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

import numpy as np
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import MINUS_ONE, Cleaned, Codes, Whole, clean, strings
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.reading.doubts import merge_numbers, worker_findings
from crowdcore.data.reading.labels import Classes, Labels, clean_ratings, find_classes, find_range, row_numbers
from crowdcore.data.reading.numbering import listed_workers, refuse_bad_list
from crowdcore.data.reading.repeated import with_time
from crowdcore.data.reading.spellings import merge_variants, multi_selects, rename
from crowdcore.data.report import Finding, Level, Variants, make_change, make_finding, plural
from crowdcore.data.settings import ReadSettings

MAX_NAME = 1 << 16  # bytes
_CUT = re.compile(r"\d(\.\d{1,5})?E\+\d\d$")  # 1.23E+12
_SHOWN, _LOOKED_AT, _LONG = 3, 100, 60  # spellings in a sentence, rows searched for them, letters of each
_EMPTY = Codes(strings([]), np.empty(0, np.int32))


@dataclass(eq=False)
class Understood:
    """Contents of the file.

    Args:
        raw: output of the reader; the columns that are cleaned here are empty.
        labels: classes, or ratings and their range.
        task, worker, label: (n,) cleaned columns of the annotations.
        listed: the cleaned list of tasks, None where the file has none.
        gold, split: cleaned columns about tasks, aligned with ``raw.tasks``; None where the file has none.
        merged_workers: worker -> the one merged into.
        variants: labels and workers that are spelled in several ways.
        findings: those so far.
    """

    raw: Raw
    labels: Labels
    task: Codes
    worker: Codes
    label: Codes
    listed: Codes | None
    gold: Codes | None
    split: Codes | None
    merged_workers: dict[str, str]
    variants: tuple[Variants, ...]
    findings: list[Finding]

    def take(self, column: str) -> Codes:
        """Remove a column and return it, so that it is not in memory twice."""
        taken: Codes = getattr(self, column)
        setattr(self, column, _EMPTY)
        return taken


def understand(raw: Raw, settings: ReadSettings) -> Understood:
    """Clean the columns of a reader, and decide what the labels are."""
    if settings.gold_worker is not None:
        from crowdcore.data.readers.base import gold_of_workers

        raw = gold_of_workers(raw, settings.gold_worker)
    if settings.multi_select == "yes-no":
        from crowdcore.data.reading.spellings import ask_each_class

        raw, settings = ask_each_class(raw, settings), settings.model_copy(update={"classes": None})
    noticed: list[Finding] = []
    if raw.extra is not None or settings.time is not None:
        raw, noticed = with_time(raw, settings)
    tasks, findings = raw.tasks, [*raw.findings, *noticed]

    def cleaned(
        codes: Codes, role: str, missing: tuple[str, ...] = (), whole: Whole = "keep", about: RawTasks | None = None
    ) -> Codes:
        column, noticed = clean_names(codes, role, raw, missing, whole, about)
        findings.extend(noticed)
        return column

    rated = settings.kind == "ratings" or (settings.kind is None and raw.target == "ratings")
    if raw.target == "ratings" and not rated:
        raise DataError("The labels are numbers", file=raw.path, remedies=(Remedy.read_as("ratings"),))
    labels: Labels | None = find_range(raw, settings) if rated else None
    task = cleaned(raw.task, "task", whole="mixed")
    nobody = tuple(word for word in raw.missing if not any(letter.isdigit() for letter in word))
    worker = cleaned(raw.worker, "worker", nobody, whole="mixed")
    spelled = settings.classes is not None or raw.classes is not None  # then the list decides what 1.0 is
    whole: Whole = "keep" if spelled else "mixed"
    label = clean_ratings(raw.label, raw, raw.escaped) if rated else cleaned(raw.label, "label", raw.missing, whole)
    listed = gold = split = None
    if tasks is not None and tasks.listed:
        listed = cleaned(tasks.task, "task", whole="mixed", about=tasks)
        refuse_bad_list(listed, raw)
    task, listed, noticed = merge_numbers(raw, task, listed, settings)
    findings += noticed
    if tasks is not None and tasks.gold is not None and rated:
        gold = clean_ratings(tasks.gold, raw, tasks.escaped)
    elif tasks is not None and tasks.gold is not None:
        spellings = settings.classes or raw.classes or label.values.to_pylist()
        unknown = (*(settings.missing or ()), *(() if {*MINUS_ONE} & {*spellings} else MINUS_ONE))
        gold = cleaned(tasks.gold, "gold", unknown, whole, tasks)
        findings += _unknown_gold(tasks.gold, unknown, raw, note=spelled)
    if tasks is not None and tasks.split is not None:
        split = cleaned(tasks.split, "split", about=tasks)
    if tasks is not None:
        tasks = replace(tasks, gold=None, split=None)
    labels, rest = labels or find_classes(raw, settings, label, gold), replace(raw, worker=_EMPTY, label=_EMPTY)
    rest = replace(rest, tasks=tasks)
    understood = Understood(rest, labels, task, worker, label, listed, gold, split, {}, (), findings)
    if isinstance(understood.labels, Classes):
        _settle_classes(understood, understood.labels, raw, settings)
    listed_names = listed_workers(raw)
    of_worker = merge_variants(
        raw, "worker", raw.worker, worker, gold=None, listed=listed_names, merge=settings.merge_workers
    )
    understood.worker, understood.merged_workers = rename(worker, of_worker.became), of_worker.became
    understood.variants += of_worker.variants
    understood.findings += [*of_worker.findings, *worker_findings(raw, understood.worker, understood.labels, settings)]
    return understood


def _settle_classes(understood: Understood, classes: Classes, raw: Raw, settings: ReadSettings) -> None:
    """Merge spellings of classes, and treat labels of several classes, as the settings say."""
    label, gold, by_labels = understood.label, understood.gold, classes.source == "labels found"
    listed = () if by_labels else classes.names
    merged = merge_variants(raw, "label", raw.label, label, gold=gold, listed=listed, merge=settings.merge_classes)
    understood.label = label = rename(label, merged.became)
    understood.gold = None if gold is None else rename(gold, merged.became)
    understood.labels, noticed = multi_selects(classes.renamed(merged.became), label, raw, settings)
    understood.variants = merged.variants
    understood.findings += [*merged.findings, *noticed]
    for code, name in enumerate(label.values.to_pylist() if by_labels else ()):
        if "\n" in name or "\r" in name:  # free text, or rows that a stray quote swallowed
            row = raw.row_numbers(np.flatnonzero(label.codes == code)[:1])[0]
            remedy = "Close the quote that is open, choose another column, or give the list of classes."
            column = raw.roles.get("label")
            sentence = "This label holds a line break"
            raise DataError(sentence, remedy, file=raw.path, row=int(row), column=column, header=raw.header)


def _unknown_gold(gold: Codes, unknown: tuple[str, ...], raw: Raw, note: bool) -> list[Finding]:
    rows = np.flatnonzero(np.append([v.strip() in unknown for v in gold.values.to_pylist()], False)[gold.codes])
    if not len(rows):
        return []
    what, where = f"{plural(len(rows), 'gold value')} of -1", row_numbers(raw, rows, raw.tasks)
    change = make_change("gold-minus-one", what, "count as unknown", where, ", since no label is -1")
    change = replace(change, column=raw.roles.get("gold"), remedies=(Remedy("classes", when="-1 is a class, too"),))
    return [replace(change, level="note") if note else change]


def clean_names(
    codes: Codes,
    role: str,
    raw: Raw,
    missing: tuple[str, ...] = (),
    whole: Whole = "keep",
    about: RawTasks | None = None,
) -> tuple[Codes, list[Finding]]:
    """Trim, normalise and merge the spellings of one column, of the annotations or (``about``) of tasks.

    ``missing`` values count as missing; ``whole`` is that of `clean`.
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
        fixes = _respelled(codes, result)
        what = f"{plural(len(result.trimmed), f'{role} name')} had surrounding blanks or an unusual spelling"
        sentence = f"{what}: {'; '.join(f'{_quote(before)} is read as {after}' for before, after in fixes.items())}"
        numbers = rows(result.trimmed)
        findings.append(make_finding("trimmed", "note", sentence, numbers, column=column, examples=tuple(fixes)))
    cut = [name for name in result.codes.values[:_LOOKED_AT].to_pylist() if _CUT.match(name)]
    if cut and role in ("task", "worker"):
        sentence = f"Some {role} names are numbers that a spreadsheet cut short, such as {cut[0]!r}; several may be one"
        remedies, examples = (Remedy(role, when="another column has them in full"),), tuple(cut[:5])
        findings.append(Finding("cut-numbers", "question", sentence, len(cut), (), column, examples, remedies=remedies))
    if result.renumbered:
        sentence = f"Every {role} is a whole number; 1.0 was read as 1"
        findings.append(Finding("whole-numbers", "note", sentence, column=column))
    if result.merged:
        pairs = "; ".join(f"{_quote(before)} with {_quote(after)}" for before, after in result.merged[:_SHOWN])
        pairs += " …" if len(result.merged) > _SHOWN else ""
        sentence = f"{plural(len(result.merged), 'spelling')} of {role} names merged: {pairs}"
        examples = tuple(before for before, _ in result.merged[:5])
        harmless = all(re.fullmatch(re.escape(after) + r"\.0+", before.strip()) for before, after in result.merged)
        level: Level = "note" if harmless else "change"  # 1.0 with 1
        findings.append(
            make_finding(f"merged-{role}s", level, sentence, rows(result.merged_rows), column=column, examples=examples)
        )
    return result.codes, findings


def _respelled(codes: Codes, result: Cleaned) -> dict[str, str]:
    """A few names as written -> quoted as read."""
    pairs: dict[str, str] = {}
    for row in result.trimmed[:_LOOKED_AT]:
        code, new = int(codes.codes[row]), int(result.codes.codes[row])
        if len(pairs) < _SHOWN:
            pairs[codes.values[code].as_py()] = "missing" if new < 0 else _quote(result.codes.values[new].as_py())
    return pairs


def _quote(name: str) -> str:
    """The start of a name, quoted; with escapes where its encoding is unusual, which cannot be seen otherwise."""
    name = f"{name[:_LONG]}…" if len(name) > _LONG else name
    return repr(name) if unicodedata.normalize("NFC", name) == name else ascii(name)
