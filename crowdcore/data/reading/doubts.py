"""Doubts about a whole dataset: unusual workers and tasks, images and texts that cannot be used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import Remedy
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dictionary import Codes, NumberColumn, counted, fold_name, strings
from crowdcore.data.encoder import encode
from crowdcore.data.media import ADDRESSES, SUFFIXES, blank_texts, image_faults, image_names, is_address
from crowdcore.data.ratings import Labelled
from crowdcore.data.readers.base import Raw
from crowdcore.data.reading.labels import Classes, Labels
from crowdcore.data.reading.repeated import further_columns
from crowdcore.data.reading.spellings import YES_NO, rename
from crowdcore.data.report import IMAGES, TEXTS, Finding, Level, plural, quoted
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Arrow

if TYPE_CHECKING:
    from crowdcore.data.reading.numbering import Annotations

_NAMED, _LISTED = 50, 5  # examples of a finding, and those in its sentence
_LATER = "The labels are imported; training on {} leaves these tasks out once you accept that."
_NO_FILES = Finding(
    "no-image-files",
    "note",
    "The tasks are called like image files, but none of these files is beside the table, so no images are shown",
    0,
    remedy="To see them, put the files there; in the app upload a ZIP of both.",
)
_NONE_THERE = "Put the files where the column says, seen from the folder of the table; in the app upload a ZIP of both."
_LABELS, _TASKS, _FEW = 40, 10, 10  # least numbers for which agreement is judged; most classes that are few
_SOME = 100_000  # annotations
_ENOUGH_GOLD = 5  # tasks
_ALIKE = 0.3  # least Krippendorff's α of workers who agree with one another
_ROW = "a row number was read as the task"
_AGREED = 0.2  # κ of the other classes below which a code is not judged
_LOOKED_AT, _WORDS = 1000, 3  # names that are checked; least blanks in a name that is a sentence
_GOLD = r"gold(en)?([ _-]?(standard|label|truth))?|ground[ _-]?truth|truth|experts?|adjudicat(or|ed|ion)|consensus"
_GOLD += r"|majority([ _-]?vote)?|gold[ _-]?annotator|gs|gt|oracle|reference|answer[ _-]?key|curat(or|ed|ion)"
_GOLD += r"|final([ _-]?(label|answer|decision))?|official|correct([ _-]?(label|answer))?|konsens|aggregat(e|ed|ion)"
_GOLD += r"|musterlösung|referenz|référence|referencia|эталон|标准答案|正解"
_NOBODY = r"n/?a|n\.a\.|nan|null|none|nil|unknown|anonym(ous|e|o)?|missing|[-–—?.]+|#n/a|\(?blank\)?|k\.a\.|guest"
_NOBODY += r"|not[ _-]logged[ _-]in|unbekannt|inconnu|desconocido|неизвестн(о|ый)|аноним|未知|匿名|不明"
_MODEL = (
    r"(chat)?gpt.*|(claude|gemini|gemma|(meta-)?llama|mistral|mixtral|qwen|deepseek|phi|bert|roberta)([ _.-]?\d.*|-.*)?"
)
_MODEL += r"|(.*[ _-])?(model|prediction|predicted|classifier|llm|bot|baseline|\d+(\.\d+)?b)([ _-].*)?"
_ZEROS = r"^(0+\d+|\d+\.0+)$"
_GOLD = rf"({_GOLD})([ _.-]?\d{{1,3}}|[ _.-][a-z])?"  # also one of several: expert_1, Expert A
_HUMAN = r"humans?([ _-]?(label|annotation|verdict|judge?ment)s?)?"  # among models
_ODD = f"(?i)^({_GOLD}|{_NOBODY}|{_MODEL}|{_HUMAN})$"
ENOUGH = 10  # labels from which always the same answer is reported


@dataclass(frozen=True, eq=False)
class Tally:
    """Numbers of annotations per worker and per class, and of different answers per worker.

    For ratings, ``per_class`` and ``answers`` only distinguish one from several.
    """

    per_worker: IntArray
    per_class: IntArray
    answers: IntArray


def tally(worker: IntArray, label: AnyArray, n_workers: int, n_classes: int) -> Tally:
    """Count classes, or numbers (``n_classes`` 0) once; O(annotations) memory however many workers and classes."""
    if not n_classes:
        low: FloatArray = np.full(n_workers, np.inf)
        high: FloatArray = np.full(n_workers, -np.inf)
        np.minimum.at(low, worker, label)
        np.maximum.at(high, worker, label)
        per_worker = counted(worker, n_workers)
        several = bool(len(label)) and label.min() < label.max()
        return Tally(per_worker, np.ones(1 + several, np.int64), np.minimum(per_worker, 1) + (low < high))
    if n_workers * n_classes <= len(label):
        counts = counted(worker * np.int32(n_classes) + label, n_workers * n_classes).reshape(n_workers, n_classes)
        return Tally(counts.sum(1), counts.sum(0), np.count_nonzero(counts, axis=1))
    cell = worker.astype(np.int64)
    cell *= n_classes
    cell += label
    cell.sort()  # in place, where `unique` would take twice the memory
    new = np.append(True, cell[1:] != cell[:-1])[: len(cell)]
    return Tally(
        counted(worker, n_workers), counted(label, n_classes), np.bincount(cell[new] // n_classes, minlength=n_workers)
    )


def crowd_findings(tally: Tally, per_task: IntArray, tasks: Arrow, workers: list[str]) -> list[Finding]:
    """Findings on tasks without labels or without a second one, and workers with one label or one answer only."""
    findings = []
    bare = np.flatnonzero(per_task == 0)
    if len(bare):
        examples = tuple(tasks[int(i)].as_py() for i in bare[:5])
        sentence = f"{plural(len(bare), 'task')} without any annotation, such as {examples[0]!r}"
        findings.append(Finding("tasks-without-annotations", "note", sentence, len(bare), examples=examples))
    findings += _about_workers(
        "single-label-workers", "note", tally.per_worker == 1, workers, "with a single annotation"
    )
    if np.count_nonzero(tally.per_class) > 1:
        same = (tally.answers == 1) & (tally.per_worker >= ENOUGH)
        wording = f"who gave the same answer to all of their {ENOUGH} or more tasks"
        findings += _about_workers("one-answer-workers", "warning", same, workers, wording)
    return findings


def no_shared_tasks(given: Annotations, per_task: IntArray, raw: Raw) -> list[Finding]:
    """A warning if no task has two labels; a question if another column may be the task, or files share no task."""
    files = raw.format == "files" and raw.roles.get("worker", "").endswith("(file name)")
    if len(per_task) < ENOUGH or not len(given.task) or (per_task.max() > 1 and not files):
        return []
    same = given.task[1:] == given.task[:-1]
    alone = bool((given.worker[1:] == given.worker[:-1])[same].all() and np.ptp(given.worker) > 0)
    if per_task.max() > 1 and not alone:
        return []
    others, rows = [], pa.array(np.arange(len(given.task)) if given.rows is None else given.rows)
    for name, column in further_columns(raw) if alone and len(rows) <= _SOME else ():
        codes = encode(column.take(rows)).codes
        cells = np.unique(np.column_stack([codes, given.worker])[codes >= 0], axis=0)[:, 0]
        if len(cells) > 0.9 * len(rows) and (np.unique(cells, return_counts=True)[1] > 1).mean() > 0.5:
            others.append(Remedy("task", name, when="that names it"))
    files = files and alone
    what = f"None of {plural(len(per_task), 'task')} has two labels: agreement cannot be measured"
    if files:
        what = f"No two files have one of the {len(per_task):,} tasks in common: each may call them otherwise"
    level: Level = "question" if others or files else "warning"
    remedies = tuple(others) or (Remedy("task", when="another column names it in all files" if files else _ROW),)
    return [Finding("no-shared-tasks", level, what, len(per_task), remedies=remedies)]


def agreement_findings(
    given: Annotations, gold: IntArray, labels: Classes, per_class: IntArray, tasks: Arrow, raw: Raw
) -> list[Finding]:
    """Findings on gold and agreement: a row of sums, no errors, no disagreement, or more of it than by chance.

    Only the first hundred thousand annotations, sorted by task, are used; ``per_class`` (C,) counts all labels.
    """
    classes = labels.names
    task, label, n_classes = given.task[:_SOME], given.label[:_SOME], len(classes)
    known = gold[task] >= 0
    right, findings = gold[task] == label, []
    if known.sum() >= _LABELS and right[known].all() and len(np.unique(label[known])) > 1:
        sentence = f"All {known.sum():,} labels of tasks with gold are right: gold and label may be one column"
        remedies = tuple(Remedy(role, when="another column") for role in ("gold", "label"))
        findings.append(Finding("all-right", "warning", sentence, int(known.sum()), remedies=remedies))
    has_gold = bool((gold >= 0).any())
    findings += _other_gold(given, gold, labels, per_class, raw) if has_gold else _unread_gold(given, classes, raw)
    cell, n_same = np.unique(task.astype(np.int64) * n_classes + label, return_counts=True)
    alone = np.bincount(cell % n_classes)[cell % n_classes] == 1  # classes of a single task
    n_own, n_all = np.bincount(cell // n_classes, alone), np.bincount(cell // n_classes)
    odd = np.flatnonzero((n_own == n_all) & (n_all > 2))
    if len(odd) == 1 and np.count_nonzero(n_all) > _TASKS:
        names = [classes[c] for c in cell[cell // n_classes == odd[0]] % n_classes]
        one = tasks[int(odd[0])].as_py()
        sentence = f"The labels of task {one!r} stand nowhere else ({', '.join(names[:5])}): it may hold sums or names"
        remedies = (Remedy("missing", [*raw.missing, *names], when="it is no task"),)
        findings.append(Finding("odd-task", "warning", sentence, len(names), examples=(one,), remedies=remedies))
    n_labels = np.bincount(cell // n_classes, n_same)[cell // n_classes]
    shared = n_labels > 1
    cell, n_same, n_labels = cell[shared], n_same[shared], n_labels[shared]
    n, tasks = int(n_same.sum()), len(np.unique(cell // n_classes))
    of_class = np.bincount(cell % n_classes, n_same, minlength=1)
    used = np.count_nonzero(of_class)
    if n < _LABELS or tasks < _TASKS or used < 2:
        return findings
    observed = 1 - (n_same * (n_same - 1) / (n_labels - 1)).sum() / n
    alpha = 1 - observed / (1 - (of_class * (of_class - 1)).sum() / (n * (n - 1)))
    pairs = (n_same * (n_labels - 1)).sum() / 2
    if not any(finding.code == "gold-apart" for finding in findings):
        n_gold = len(np.unique(task[known]))
        findings += _gold_by_chance(gold[task][known], label[known], n_gold, float(alpha), raw)
    if observed == 0 and used > max(_FEW, tasks // 2):
        sentence = "Each task has one label, which hardly another task has: what is judged was read as the judgement"
        findings.append(Finding("judged-text", "question", sentence, tasks, remedies=_other_labels(raw, given)))
    elif observed == 0:
        sentence = f"Nobody disagrees on any of {plural(tasks, 'task')} with several labels (Krippendorff's α is 1)"
        findings.append(Finding("no-disagreement", "warning", sentence, tasks, remedies=_other_labels(raw, given)))
    elif alpha < -max(0.1, 3 / np.sqrt(pairs)):
        sentence = f"Workers agree less than by chance (Krippendorff's α is {alpha:.2f}): columns may be mixed up"
        remedies = tuple(Remedy(role, when="another column") for role in ("task", "label"))
        findings.append(Finding("less-than-chance", "warning", sentence, n, remedies=remedies))
    return findings


def _other_gold(given: Annotations, gold: IntArray, labels: Classes, per_class: IntArray, raw: Raw) -> list[Finding]:
    """A question if no worker gives the gold of a fifth of the tasks: 1 beside yes, or "to be done"."""
    names = labels.names
    classes, n_tasks = np.unique(gold[gold >= 0], return_counts=True)
    apart = per_class[classes] == 0
    n_apart = int(n_tasks[apart].sum())
    if labels.source != "labels found" or 5 * n_apart < n_tasks.sum() or n_apart < _ENOUGH_GOLD:
        return []
    lost, used = classes[apart].tolist(), np.flatnonzero(per_class)
    words = [names[c] for c in lost]
    sentence = f"Nobody gives the gold of {plural(n_apart, 'task')} ({quoted(words)}) as a label; the labels are "
    sentence += quoted([names[c] for c in used])
    remedies = [Remedy("gold", when="it is another column"), Remedy("classes", [*names], when="all are classes")]
    if len(lost) < len(classes):
        remedies.insert(0, Remedy("missing", [*raw.missing, *words], when="it means that there is no gold"))
    if same := _same_classes(given, gold, names, lost, np.setdiff1d(used, classes).tolist()):
        remedies.insert(0, Remedy("merge_classes", same, when="they are the same"))
    column = raw.roles.get("gold")
    return [Finding("gold-apart", "question", sentence, n_apart, column=column, remedies=(*remedies,))]


def _same_classes(
    given: Annotations, gold: IntArray, names: tuple[str, ...], lost: list[int], free: list[int]
) -> dict[str, list[str]]:
    """Label -> gold that it may stand for: alike but for case and marks, both yes or no, or else most given there.

    Empty unless each of the ``lost`` classes of gold corresponds to one of the ``free`` labels alone.
    """
    if not free:
        return {}
    truth = gold[given.task]
    share = np.array([np.bincount(given.label[truth == c], minlength=len(names))[free] for c in lost], float)
    share /= np.maximum(share.sum(1, keepdims=True), 1)
    bare = {c: re.sub(r"[\W_]+", "", fold_name(names[c])) for c in (*lost, *free)}
    bare = {c: YES_NO.get(word, word) for c, word in bare.items()}
    share += [[bare[c] == bare[other] != "" for other in free] for c in lost]
    best = share.argmax(1)
    if len({*best}) < len(lost) or share.max(1).min() <= 0.5:
        return {}
    return {names[free[j]]: [names[c]] for c, j in zip(lost, best, strict=True)}


def _unread_gold(given: Annotations, classes: tuple[str, ...], raw: Raw) -> list[Finding]:
    """A note on columns with one of the classes for each task, which may be gold under another name."""
    columns = []
    for name, codes in _further_codes(raw, given, 10 * _LOOKED_AT):
        tasks = np.unique(np.column_stack([given.task[: len(codes)], codes.codes])[codes.codes >= 0], axis=0)[:, 0]
        if len(codes.values) > 1 and len(tasks) >= _TASKS and len(tasks) == len(np.unique(tasks)):
            columns += [name] if {*codes.values.to_pylist()} <= {*classes} else []
    if not columns or len(np.unique(given.task)) == len(given.task):
        return []
    which = "Column" if len(columns) == 1 else "Each of the columns"
    sentence = f"{which} {quoted(columns)} holds a class for each task: it may be the gold, another worker's labels, "
    sentence += "or made from these labels"
    remedies = tuple(Remedy("gold", name, when="it holds the true classes") for name in columns[:_LISTED])
    return [Finding("unread-gold", "note", sentence, len(columns), remedies=remedies)]


def _further_codes(raw: Raw, given: Annotations, n: int) -> Iterator[tuple[str, Codes]]:
    """Columns without a role, as codes of the first annotations."""
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    rows = pa.array(np.arange(len(given.task[:n])) if given.rows is None else given.rows[:n])
    for name in extra.column_names:
        kind = extra[name].type
        if not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
            yield name, encode(extra[name].take(rows))


def _gold_by_chance(gold: IntArray, label: IntArray, n_tasks: int, alpha: float, raw: Raw) -> list[Finding]:
    """A question whether gold belongs to these tasks, if labels fit one another but not gold.

    Cohen's κ with gold is within one standard error of a tenth of Krippendorff's α. In real crowds it is larger than α.
    """
    if n_tasks < _LABELS or alpha < _ALIKE:
        return []
    n_classes, n = 1 + max(gold.max(), label.max()), len(label)
    chance = float(np.bincount(gold, minlength=n_classes) @ np.bincount(label, minlength=n_classes)) / n**2
    kappa = ((gold == label).mean() - chance) / max(1 - chance, 1e-9)
    if kappa >= alpha / 10 + 1 / np.sqrt(n_tasks):
        return []
    sentence = (
        f"Labels agree with one another (Krippendorff's α is {alpha:.2f}), but not with the gold (Cohen's κ is "
        f"{kappa:.2f}): it may be of other tasks, another column, or have its classes swapped"
    )
    remedies = (Remedy("gold", when="it is another column"),)
    return [Finding("gold-by-chance", "question", sentence, n_tasks, (), raw.roles.get("gold"), remedies=remedies)]


def void_classes(given: Annotations, gold: IntArray, classes: Classes, n_tasks: int, n_workers: int) -> list[str]:
    """Classes that by name may mean "no label", and on which workers agree no more than by chance.

    This uses pairs of labels of one task among the first hundred thousand, without workers who hardly give any other
    label. The number of pairs with the class twice is likelier (20 : 1) by chance than with half of the agreement of
    the other classes; for a class 0 below 1, 2, 3 …, than with a quarter of it, and about as large. Several workers
    use the class, and it is no gold.
    """
    parts, k, void = (given.task[:_SOME], given.worker[:_SOME], given.label[:_SOME]), len(classes.names), []
    for name, near in classes.codes_of_none:
        c = classes.names.index(name)
        by_worker = counted(parts[1][parts[2] == c], n_workers)
        habit = 2 * by_worker > counted(parts[1], n_workers)
        by_worker[habit] = 0
        if (gold == c).any() or np.count_nonzero(by_worker) < 3 or 2 * by_worker.max() > by_worker.sum():
            continue
        task, label = (part[~habit[parts[1]]] for part in (parts[0], parts[2]))
        is_c = label == c
        per_task, of_class = counted(task, n_tasks), counted(task[is_c], n_tasks)
        pairs = float((per_task * (per_task - 1.0)).sum() / 2)
        both = float((of_class * (of_class - 1.0)).sum() / 2)
        share = float(is_c[per_task[task] > 1].mean()) if pairs else 0.0
        others = per_task - of_class
        cells = np.unique(task[~is_c].astype(np.int64) * k + label[~is_c], return_counts=True)[1]
        agree = float((cells * (cells - 1.0)).sum()) / max(float((others * (others - 1.0)).sum()), 1.0)
        chance = float(((counted(label[~is_c], k) / max((~is_c).sum(), 1)) ** 2).sum())
        kappa, expected = (agree - chance) / max(1 - chance, 1e-9), pairs * share**2
        if kappa < _AGREED or expected <= 0:
            continue
        of_a_class = expected + pairs * kappa / (4 if near else 2) * share * (1 - share)
        if of_a_class - expected - both * np.log(of_a_class / expected) >= np.log(20):
            void += [name] if not near or both <= expected + np.sqrt(expected) else []
    return void


def _other_labels(raw: Raw, given: Annotations) -> tuple[Remedy, ...]:
    """Remedies that name further columns of few values that differ within tasks, and so may be the label."""
    task, columns = given.task[:_LOOKED_AT], []
    for name, codes in _further_codes(raw, given, _LOOKED_AT):
        n = len(codes.values)
        cells = np.unique(task.astype(np.int64) * (n + 1) + codes.codes + 1)
        if 2 <= n <= 2 * _FEW and len(cells) > 1.2 * len(np.unique(task)):
            columns.append(Remedy("label", name, when="that is the label"))
    return tuple(columns) or (Remedy("label", when="another column"),)


def _about_workers(code: str, level: Level, chosen: BoolArray, workers: list[str], what: str) -> list[Finding]:
    numbers = np.flatnonzero(chosen)
    if not len(numbers):
        return []
    examples = tuple(workers[i] for i in numbers[:5])
    sentence = f"{plural(len(numbers), 'worker')} {what}, such as {examples[0]!r}"
    return [Finding(code, level, sentence, len(numbers), examples=examples)]


def worker_findings(raw: Raw, worker: Codes, labels: Labels, settings: ReadSettings) -> list[Finding]:
    """Findings on workers whose names look like gold, a model, nobody, a label or a sentence."""
    values, findings = worker.values, []
    if len(values) > 1 and pc.any(pc.match_substring_regex(values, _ODD)).as_py():
        findings = _odd_workers(raw, worker, settings)
    same = {} if isinstance(worker, NumberColumn) or settings.workers else _same_numbers(values)
    if same:
        merged = dict(settings.merge_workers) if isinstance(settings.merge_workers, dict) else {}
        remedy = Remedy("merge_workers", merged | same, when="they are one person")
        twice = [name for others in same.values() for name in others]
        sentence = f"Workers that are the same number as others: {', '.join(map(repr, twice[:_NAMED]))}"
        column = raw.roles.get("worker") if raw.roles.get("worker") in raw.columns else None
        finding = Finding("same-number-workers", "question", sentence, len(twice), (), column, (*twice[:5],))
        findings.append(replace(finding, remedies=(remedy,)))
    names = [name for name in labels.names if not re.match(r"[-+0-9.]", name)][:_LOOKED_AT]
    both = tuple(strings(names).filter(pc.is_in(strings(names), value_set=values)).to_pylist())
    if raw.format in ("long", "wide") and len(both) > 1 and 2 * len(both) >= min(len(names), len(values)):
        sentence = f"{plural(len(both), 'worker')} {quoted(both)} also stand among the labels: columns may be mixed up"
        remedies = (Remedy("worker", when="another column"), Remedy("label", when="another column"))
        findings.append(
            Finding("workers-among-labels", "question", sentence, len(both), examples=both[:5], remedies=remedies)
        )
    blanks = np.asarray(pc.count_substring(values[:_LOOKED_AT], " "))
    if len(values) > 2 and np.median(blanks) >= _WORDS:
        examples = tuple(values[:3].to_pylist())
        sentence = f"Most workers are called by a sentence, such as {examples[0]!r}: they may be tasks"
        in_columns = raw.roles.get("worker") not in raw.columns
        remedy = (
            Remedy("turn", True, when="rows are workers") if in_columns else Remedy("worker", when="another column")
        )
        findings.append(
            Finding("sentences-as-workers", "question", sentence, len(values), examples=examples, remedies=(remedy,))
        )
    return findings


def _odd_workers(raw: Raw, worker: Codes, settings: ReadSettings) -> list[Finding]:
    """Ask about the workers whose names match `_ODD`, each kind in one finding."""
    values = worker.values
    odd = values.filter(pc.match_substring_regex(values, _ODD)).to_pylist()
    odd = [name for name in odd if name not in (settings.workers or ())]
    place = np.asarray(pc.index_in(pa.array(odd, values.type), value_set=values))
    counts = dict(zip(odd, worker.counts[place].tolist(), strict=True))
    column, findings = raw.roles.get("worker"), []
    in_columns = column not in raw.columns

    def named(pattern: str) -> tuple[str, ...]:
        return tuple(name for name in odd if re.fullmatch(pattern, name, re.IGNORECASE))

    def listed(names: tuple[str, ...]) -> str:
        return ", ".join(f"{name!r} ({plural(counts[name], 'label')})" for name in names[:_NAMED])

    def add(code: str, names: tuple[str, ...], sentence: str, *remedies: Remedy) -> None:
        level: Level = "warning" if code == "models-as-workers" else "question"
        n = sum(counts[name] for name in names)
        place = None if in_columns else column
        findings.append(Finding(code, level, sentence, n, column=place, examples=names[:5], remedies=remedies))

    models = named(_MODEL)
    gold = named(f"{_GOLD}|{_HUMAN}" if 2 * len(models) >= len(values) else _GOLD)
    if gold and len(values) > len(gold) and raw.truth is None and (raw.tasks is None or raw.tasks.gold is None):
        remedies = [Remedy("gold" if g in raw.columns else "gold_worker", g, when=f"{g!r} is the gold") for g in gold]
        remedies += [Remedy("gold_worker", [*gold], when="they are the gold where they agree")] * (len(gold) > 1)
        add("gold-among-workers", gold, f"Gold may stand among the workers: {listed(gold)}", *remedies)
    nobody = () if in_columns or raw.arrays is not None else named(_NOBODY)
    if nobody and len(values) > len(nobody):
        codes = [*raw.missing, *nobody]
        remedy = Remedy("missing", codes, when="they mean that the worker is not known")
        add("unknown-workers", nobody, f"A worker's name may mean that it is not known: {listed(nobody)}", remedy)
    if models and len(values) > len(models) + len(gold):
        add("models-as-workers", models, f"Models may stand among the workers: {listed(models)}")
    return findings


def _same_numbers(values: Arrow) -> dict[str, list[str]]:
    """Name -> other names of a column that are the same number, such as 01 and 1.0."""
    same: dict[str, list[str]] = {}
    likely = values.filter(pc.or_(pc.starts_with(values, "0"), pc.ends_with(values, "0")))
    for name in likely.filter(pc.match_substring_regex(likely, _ZEROS)).to_pylist():
        same.setdefault(name.partition(".")[0].lstrip("0") or "0", []).append(name)
    if not same:
        return {}
    plain = {*values.filter(pc.is_in(values, value_set=strings(same))).to_pylist()}
    every = [[number, *others] if number in plain else others for number, others in same.items()]
    return {first: others for first, *others in every if others}


def merge_numbers(
    raw: Raw, task: Codes, listed: Codes | None, settings: ReadSettings
) -> tuple[Codes, Codes | None, list[Finding]]:
    """Tasks and their list, with tasks of the same number merged if the settings say so, else a question about them.

    Tasks of a dataset folder, and of sentences, are never merged.
    """
    fixed = raw.arrays is not None or raw.truth is not None or raw.sentences is not None
    if fixed or settings.merge_tasks is False or isinstance(task, NumberColumn):
        return task, listed, []
    same = _same_numbers(task.values if listed is None else pa.concat_arrays([task.values, listed.values]).unique())
    names = tuple(name for others in same.values() for name in others)
    if not names:
        return task, listed, []
    what = f"{plural(len(names), 'task')} that {'is' if len(names) == 1 else 'are'} the same number as others, such as "
    what += " and ".join(map(repr, next([first, others[0]] for first, others in same.items())))
    choices = {True: "they are one task", False: "they are different tasks"}
    remedies = tuple(Remedy("merge_tasks", value, when=when) for value, when in choices.items())
    column = raw.roles.get("task") if raw.roles.get("task") in raw.columns else None
    if not settings.merge_tasks:
        finding = Finding("same-number-tasks", "question", what, len(names), (), column, names[:5], remedies=remedies)
        return task, listed, [finding]
    became = {name: first for first, others in same.items() for name in others}
    note = Finding("same-number-tasks", "note", f"{what}, became one with them", len(names), (), column, names[:5])
    return rename(task, became), None if listed is None else rename(listed, became), [note]


def media_findings(dataset: Labelled) -> list[Finding]:
    """Findings on faulty images and texts of tasks; images are opened for ten seconds at most."""
    findings, blank = _about_images(dataset), blank_texts(dataset)
    if blank:
        findings.append(_unusable(TEXTS, blank, dataset.n_tasks, "no text", _LATER.format("texts")))
    return findings


def _about_images(dataset: Labelled) -> list[Finding]:
    names = image_names(dataset)
    if names is None:
        like_files = dataset.n_tasks > 0 and all(str(name).lower().endswith(SUFFIXES) for name in dataset.task_ids)
        pixels = dataset.media is not None and dataset.media.images is not None
        return [_NO_FILES] if like_files and not pixels else []
    given = names.dropna().astype(str)
    if len(given) and given.map(is_address).all():
        what = f"Images of {plural(len(given), 'task')} are URLs"
        return [Finding("image-addresses", "note", what, len(given), remedy=ADDRESSES)]
    faulty, unopened = image_faults(dataset)
    remedy = _NONE_THERE if len(faulty) == dataset.n_tasks else _LATER.format("images")
    findings = [_unusable(IMAGES, faulty, dataset.n_tasks, "an image that cannot be used", remedy)] if faulty else []
    if unopened:
        what = f"{plural(unopened, 'image file')} were not opened, as there are many; training on images opens all"
        findings.append(Finding("images-unopened", "note", what, unopened))
    return findings


def _unusable(code: str, faulty: dict[str, str], n_tasks: int, what: str, remedy: str) -> Finding:
    named = [reason if reason.startswith(task) else f"{task}: {reason}" for task, reason in faulty.items()][:_NAMED]
    more = f"; and {len(faulty) - _LISTED:,} more" if len(faulty) > _LISTED else ""
    have = "has" if len(faulty) == 1 else "have"
    sentence = f"{len(faulty):,} of {plural(n_tasks, 'task')} {have} {what}: {'; '.join(named[:_LISTED])}{more}"
    return Finding(code, "warning", sentence, len(faulty), examples=tuple(named), remedy=remedy)
