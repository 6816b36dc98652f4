"""Tables with a row for each label: task, worker and label by name or by content, pairs of columns, questions."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data.columns import ALIASES, WEAK_ALIASES, assign_roles, crossed, plain
from crowdcore.data.encoder import encode
from crowdcore.data.readers._answers import drop_flagged
from crowdcore.data.readers._stacked import (
    ABOUT_TASKS,
    FEW,
    Block,
    WorkerColumns,
    cells_of,
    columns_left_out,
    constant,
    find_workers,
    names_tasks,
    number_rows,
    shape,
    share_labels,
    stack,
)
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source, read_annotations
from crowdcore.data.report import Finding, Level, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.base import Arrow

NEEDED = ("task", "worker", "label")
_TAKEN_BACK = {"deleted", "cancelled", "canceled", "skipped", "rejected", "discarded"}  # words of a label's status


class LongTable(Reader):
    """CSV, TSV, JSON lines, Parquet or a frame with a column each for task, worker and label."""

    name: ClassVar[str] = "long"
    title: ClassVar[str] = "Long table (a row per annotation)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Columns for task, worker and label are recognised or named."""
        if source.table is None:
            return 0.0
        roles = assign_roles(source.table, settings)
        return 0.6 if all(role in roles for role in NEEDED) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the columns that play a role, and keep the others."""
        table = source.need_table()
        raw = read_annotations(table, settings, self.name)
        if len(raw.task) == 0:
            raise DataError("There are columns, but no rows", file=source.path)
        left = [c for c in table.columns if c not in table.repeated and c not in raw.roles.values()]
        named = [c for c in left if plain(c).split("_")[-1] in ("status", "state")]
        status = next((c for c in named if not pa.types.is_nested(table.head[c].type)), "")
        raw = drop_flagged(raw, table, status, _TAKEN_BACK, settings)
        return raw if settings.question is None else _one_question(raw, settings.question, source)


def _one_question(raw: Raw, question: str, source: Source) -> Raw:
    """The rows of one of several questions, which are named in a column beside the labels."""
    extra: Arrow = pa.table({}) if raw.extra is None else raw.extra
    for name in extra.column_names:
        if pa.types.is_nested(extra[name].type):
            continue
        codes = encode(extra[name])
        named = np.asarray(pc.equal(pc.utf8_trim_whitespace(codes.values), question.strip()))
        rows = np.flatnonzero(np.append(named, False)[codes.codes])
        if len(rows):
            n = len(raw.task) - len(rows)
            what = f"Only the rows of the question {question!r} were read; {n:,} of others were left aside"
            return raw.keep(rows, Finding("other-questions", "note", what, n, column=name, left_out=n))
    raise DataError(
        f"No column beside the labels holds the question {question!r}", file=source.path, code="no-question"
    )


_SHOWN = 3  # remedies


class Triples(Reader):
    """Three columns: workers rarely label a task twice, different labels are few, and tasks outnumber workers."""

    name: ClassVar[str] = "triples"
    title: ClassVar[str] = "Long table without column names"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The columns have no names, and only one can be the label."""
        table = source.table
        if table is None or table.header or settings.turn or table.columns[:2] != ("1", "2"):
            return 0.0
        return 0.5 if roles_by_content(table, settings) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the columns, and report their roles."""
        table = source.need_table()
        roles = roles_by_content(table, settings)
        if roles is None:
            what = "The content does not say which column is the task, the worker and the label"
            raise DataError(what, file=source.path, code="columns", remedies=[Remedy(("task", "worker", "label"))])
        raw = read_annotations(table, settings.model_copy(update=roles), self.name)
        listed = ", ".join(f"column {column!r} as the {role}" for role, column in roles.items())
        remedies = tuple(Remedy(role, when="not") for role in roles if getattr(settings, role) is None)
        finding = Finding("roles-by-content", "warning", f"By their content, {listed} was read", remedies=remedies)
        return replace(raw, findings=(*raw.findings, finding))


def proposed(table: Table, settings: ReadSettings) -> tuple[Remedy, ...]:
    """Remedies with task, worker and label by content if the names leave one open, to be confirmed."""
    by_name = assign_roles(table, settings)
    known = {r: c for r, c in by_name.items() if r != "task" or settings.task or plain(c) not in WEAK_ALIASES["worker"]}
    lacking = [role for role in NEEDED if role not in known]
    values = [[roles[role] for role in lacking] for roles in crossed(table, known)[:_SHOWN]]
    if len(lacking) == 1:
        return tuple(Remedy(lacking[0], value, when="that is what it holds") for (value,) in values)
    return tuple(Remedy(tuple(lacking), value, when="that is what they hold") for value in values)


def roles_by_content(table: Table, settings: ReadSettings) -> dict[str, str] | None:
    """Task, worker and label by content, except those that the settings name; and gold if a column fits."""
    given = {role: column for role in NEEDED if (column := getattr(settings, role)) is not None}
    readings = [] if settings.workers or settings.gold or len(table.head) < FEW else crossed(table, given)
    if len(readings) != 1:
        return None
    (roles,), cells = readings, table.head.to_pandas()
    for column in [c for c in table.columns if c not in roles.values()]:
        shared = {*cells[column].dropna()} <= {*cells[roles["label"]].dropna()}
        if shared and cells[column].nunique() > 1 and (cells.groupby(roles["task"])[column].nunique() < 2).all():
            roles["gold"] = column
    return roles


_WORKER = {*ALIASES["worker"], "by", "name", "who", "reviewer", "evaluator", "assessor"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_LETTER = re.compile(r"(?<=[ _.-])[A-Ha-h]$")  # in place of a number
_LABEL = {*ALIASES["label"], "score", "verdict", "judgement", "tag", "grade"}


class Pairs(Reader):
    """``annotator_1, label_1, annotator_2, label_2`` …: columns with the same number belong together."""

    name: ClassVar[str] = "pairs"
    title: ClassVar[str] = "Pairs of columns (worker and label)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Numbered columns of two kinds, one of which names different workers in each row, who recur in others."""
        if source.table is None or settings.turn or settings.worker or settings.label or settings.workers:
            return 0.0
        return 0.55 if _pairs(source.table) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the pairs; one without a label is no annotation."""
        table = source.need_table()
        pairs = _pairs(table)
        if not pairs:
            what = "No columns form pairs of a worker and a label, such as annotator_1 and label_1"
            raise DataError(what, file=source.path, code="columns", remedies=[Remedy("workers")])
        taken = {column for pair in pairs for column in pair}
        known = {} if table.repeated & taken else assign_roles(table, settings)
        every = {r: c for r, c in known.items() if c not in taken}
        roles = {r: c for r, c in every.items() if r in (*ABOUT_TASKS, "worker")}
        if "task" not in roles and names_tasks(table) and table.columns[0] not in taken:
            roles["task"] = table.columns[0]
        codes, _ = table.encode(tuple(dict.fromkeys([*roles.values(), *(c for pair in pairs for c in pair)])))
        person = roles.pop("worker", None)
        n = len(codes[pairs[0][1]])
        by_role = {role: codes[column] for role, column in roles.items()}
        by_role.setdefault("task", number_rows(n))
        words = _words(shape(pairs[0][0]))
        role = "task" if words & {*ALIASES["task"], *MEDIA} and not words & _WORKER else "worker"
        if role == "task":  # items of a worker, side by side
            worker_column = person or roles.get("task")
            people, by_role = codes[worker_column] if worker_column else by_role["task"], {"task": by_role["task"]}
            blocks = [Block(codes[item], people, codes[label]) for item, label in pairs]
            roles = {"worker": worker_column} if worker_column else {}
        else:
            blocks = [Block(by_role["task"], codes[worker], codes[label]) for worker, label in pairs]
        sentence = f"{plural(len(pairs), 'pair')} of columns were read as a {role} and the label, such as {pairs[0]}"
        remedies = (Remedy("workers", [label for _, label in pairs], when="the columns of labels are the workers"),)
        finding = Finding("pairs", "note", sentence, len(pairs), remedies=remedies)
        roles |= {role: f"{pairs[0][0]} …", "label": f"{pairs[0][1]} …"}
        tasks = None if len(by_role) == 1 else RawTasks.of(by_role, True, table.escaped)
        return stack(self.name, table, settings, blocks, roles, tasks, findings=(finding,))


def _pairs(table: Table) -> list[tuple[str, str]]:
    """(worker's column, label's column), by number."""
    kinds: dict[str, dict[str, str]] = {}
    for name in table.columns:
        role_words = _words(_LETTER.sub("", name)) & (_WORKER | _LABEL)
        numbered = _LETTER.sub(lambda match: str(ord(match[0].lower())), name) if role_words else name
        numbered = f"{name} (1)" if name in table.repeated else numbered
        if role_words and (order := {*plain(name).split("_")} & {*_ORDINALS}):
            numbered = re.sub(word := order.pop(), str(_ORDINALS.index(word) + 1), plain(name))
        if shape(numbered).count("#") == 1:
            number = re.sub("[^0-9]+", "", numbered)
            kinds.setdefault(shape(numbered), {})[number] = name
    kinds = {kind: columns for kind, columns in kinds.items() if len(columns) > 1}
    if len(kinds) < 2:
        return []
    common = set[str].intersection(*map(_words, kinds))  # such as "annotator" of annotator_1_label, annotator_1_sure
    people = {kind: bool((_words(kind) - common) & _WORKER) for kind in kinds}
    workers = [kind for kind, columns in kinds.items() if _name_people(table, [*columns.values()], people[kind])]
    if len(workers) != 1:
        return []
    labels = [k for k, columns in kinds.items() if k != workers[0] and columns.keys() == kinds[workers[0]].keys()]
    named = [kind for kind in labels if _words(kind) & _LABEL]
    if not labels or (len(labels) > 1 and len(named) != 1):
        return []
    of_label = kinds[(named or labels)[0]]
    return [(column, of_label[number]) for number, column in kinds[workers[0]].items()]


def _words(kind: str) -> set[str]:
    name = plain(kind.replace("#", "")).strip("_")
    return {name, *name.split("_")}


def _name_people(table: Table, columns: list[str], called_so: bool) -> bool:
    """Return whether the cells of each row differ and recur in other rows; in many, unless they are ``called_so``."""
    rows = [[word for word in row if word] for row in zip(*map(table.words, columns), strict=True)]
    filled = [row for row in rows if len(row) > 1]
    if not filled or any(len(set(row)) < len(row) for row in filled):
        return False
    counts: dict[str, int] = {}
    for value in (value for row in rows for value in row):
        counts[value] = counts.get(value, 0) + 1
    again = 2 * len(counts) <= sum(counts.values())
    return again and (called_so or (len(filled) > 7 and len(counts) >= len(columns)))


_SEPARATORS = ("__", ":", "/", "_", ".", "-", " ")
_MOST = 20  # questions
_LEVELS: tuple[Level, Level] = ("question", "note")


class QuestionTable(Reader):
    """One question is read: the one that the settings name, else the first, with a question about it."""

    name: ClassVar[str] = "questions"
    title: ClassVar[str] = "Wide table of several questions"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Names of columns cross questions with workers; or tasks recur with different words beside them."""
        if source.table is None or settings.turn or settings.worker or settings.label or settings.workers:
            return 0.0
        cols = find_workers(source.table, settings)
        return 0.5 if _grid(source.table, cols) or _field(source.table, cols) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the labels of one question."""
        table = source.need_table()
        cols = find_workers(table, settings)
        layout = _grid(table, cols) or _field(table, cols)
        if layout is None:
            raise DataError("There are not several questions", file=source.path, remedies=[Remedy("format", "wide")])
        roles, n_all = cols.roles, len(cols.workers)
        columns = (*roles.values(), *cols.workers, *((layout.column,) if layout.column else ()))
        codes, _ = table.encode(tuple(dict.fromkeys(columns)))
        by_role = {role: codes[column] for role, column in roles.items()}
        n = len(codes[cols.workers[0]])
        by_role.setdefault("task", number_rows(n))
        names = [*layout.workers]
        if layout.column:
            column_of_questions = codes[layout.column]
            names = [name for name in column_of_questions.values.to_pylist() if name.strip()]
        question = names[0] if settings.question is None else settings.question
        if question not in names:
            raise SettingError("question", f"be one of {', '.join(names[:_MOST])}", question)
        rows = np.arange(n)
        workers = {name: name for name in cols.workers}
        if layout.column:
            rows = np.flatnonzero(column_of_questions.codes == names.index(question))
            by_role = {role: column.take(rows) for role, column in by_role.items()}
        else:
            workers = layout.workers[question]
        blocks = [Block(by_role["task"], constant(who, len(rows)), codes[c].take(rows)) for who, c in workers.items()]
        left = table.n_read * n_all - len(table.headers_again) * n_all - len(rows) * len(workers)
        answered = settings.question is not None
        remedies = tuple(Remedy("question", name) for name in names[:_MOST] if not (answered and name == question))
        if not layout.column and not answered:
            remedies += (Remedy("workers", list(cols.workers), when="each column is a worker"),)
        sentence = f"There are {plural(len(names), 'question')}; of these {question!r} was read"
        code, level = "other-questions" if answered else "several-questions", _LEVELS[answered]
        finding = Finding(code, level, sentence, left, (), layout.column, tuple(names[:5]), left_out=left)
        finding = replace(finding, remedies=remedies)
        aside = {c: what for c, what in cols.aside.items() if c != layout.column}
        findings = (finding, *([columns_left_out(cols.workers, aside)] if aside else []))
        roles = {**roles, "worker": plural(len(workers), "column")}
        tasks = RawTasks.of(by_role, True, table.escaped)
        return stack(self.name, table, settings, blocks, roles, tasks, findings, rows, n_all)


@dataclass(frozen=True)
class _Layout:
    """Location of the questions.

    Args:
        workers: question -> worker -> column, if the columns' names hold them.
        column: the column that names them, if there is one.
    """

    workers: dict[str, dict[str, str]]
    column: str | None = None


def _grid(table: Table, cols: WorkerColumns) -> _Layout | None:
    """Questions crossed with workers in the names of all workers' columns."""
    names = cols.workers
    if len(names) < 4:
        return None
    labels = {name: set(cells_of(table, name)) for name in names}
    for separator in _SEPARATORS:
        for cut in (str.split, str.rsplit):
            parts = {name: cut(name, separator, 1) for name in names}
            if any(len(part) < 2 for part in parts.values()):
                continue
            first, second = {a for a, _ in parts.values()}, {b for _, b in parts.values()}
            if min(len(first), len(second)) < 2 or len(first) * len(second) != len(names):
                continue
            for side in (0, 1):
                groups: dict[str, dict[str, str]] = {}
                for name, part in parts.items():
                    groups.setdefault(part[side], {})[part[1 - side]] = name
                if len(groups) <= _MOST and _differ([*groups.values()], labels):
                    return _Layout(groups)
            if not any(part.isdigit() for part in first | second):
                return _Layout(_agreeing(table, parts))
    return None


def _differ(groups: list[dict[str, str]], labels: dict[str, set[str]]) -> bool:
    """Return whether columns of a group share labels, and those of different groups none."""
    sets = [set[str]().union(*(labels[name] for name in group.values())) for group in groups]
    apart = all(not a & b for i, a in enumerate(sets) for b in sets[:i])
    return apart and all(share_labels([[*labels[name]] for name in group.values()]) for group in groups)


def _agreeing(table: Table, parts: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    """Question -> worker -> column: answers to one question agree more often than those of one worker."""
    head = table.head.select([table.columns.index(name) for name in parts]).to_pandas().astype("str")
    best, most = {}, -1.0
    for side in (0, 1):
        groups: dict[str, dict[str, str]] = {}
        for name, part in parts.items():
            groups.setdefault(part[side], {})[part[1 - side]] = name
        pairs = [(a, b) for g in groups.values() for i, a in enumerate(g.values()) for b in [*g.values()][:i]]
        agreement = float(np.mean([(head[a] == head[b]).mean() for a, b in pairs]))
        if agreement > most:
            best, most = groups, agreement
    return best


def _field(table: Table, cols: WorkerColumns) -> _Layout | None:
    """The column that names the questions: with it rows of the same task differ."""
    task = cols.roles.get("task")
    if task is None or len(cols.workers) < 2 or len(table.head) < 4:
        return None
    head = table.head
    cells = head.select([head.column_names.index(task)]).to_pandas()
    if not share_labels([cells_of(table, name) for name in cols.workers]):
        return None
    if 3 * cells.duplicated().sum() < len(cells):
        return None
    for name in head.column_names:
        if name in (*cols.workers, *cols.roles.values()) or {*plain(name).split("_")} & {*ALIASES["worker"]}:
            continue
        words = cells_of(table, name)
        if len(words) == len(head) and 2 <= len(set(words)) <= _MOST:
            pairs = cells.assign(question=words)
            if not pairs.duplicated().any():
                return _Layout({}, name)
    return None
