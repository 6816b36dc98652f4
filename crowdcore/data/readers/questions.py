"""Wide tables of several questions: in the columns' names beside the worker, or in a column of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data.columns import ALIASES, plain
from crowdcore.data.readers._stacked import Block, constant, number_rows, stack
from crowdcore.data.readers._worker_columns import WorkerColumns, cells_of, columns_left_out, find_workers, share_labels
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.report import Finding, Level, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table

_SEPARATORS = ("__", ":", "/", "_", ".", "-", " ")
_MOST = 20  # questions
_LEVELS: tuple[Level, Level] = ("question", "note")


class QuestionTable(Reader):
    """One question is read: the one that the settings name, else the first, which is then asked about."""

    name: ClassVar[str] = "questions"
    title: ClassVar[str] = "Wide table of several questions"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Names of columns cross questions with workers; or the task comes again with another word beside it."""
        if source.table is None or settings.turn or settings.worker or settings.label or settings.workers:
            return 0.0
        found = find_workers(source.table, settings)
        return 0.5 if _grid(source.table, found) or _field(source.table, found) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the labels of one question."""
        table = source.need_table()
        found = find_workers(table, settings)
        layout = _grid(table, found) or _field(table, found)
        if layout is None:
            raise DataError("There are not several questions", file=source.path, remedies=[Remedy("format", "wide")])
        roles, n_all = found.roles, len(found.workers)
        columns = (*roles.values(), *found.workers, *((layout.column,) if layout.column else ()))
        codes, _ = table.encode(tuple(dict.fromkeys(columns)))
        about = {role: codes[column] for role, column in roles.items()}
        n = len(codes[found.workers[0]])
        about.setdefault("task", number_rows(n))
        names = [*layout.workers]
        if layout.column:
            asked = codes[layout.column]
            names = [name for name in asked.values.to_pylist() if name.strip()]
        question = names[0] if settings.question is None else settings.question
        if question not in names:
            raise SettingError("question", f"be one of {', '.join(names[:_MOST])}", question)
        rows = np.arange(n)
        workers = {name: name for name in found.workers}
        if layout.column:
            rows = np.flatnonzero(asked.codes == names.index(question))
            about = {role: column.take(rows) for role, column in about.items()}
        else:
            workers = layout.workers[question]
        blocks = [Block(about["task"], constant(who, len(rows)), codes[c].take(rows)) for who, c in workers.items()]
        left = table.n_read * n_all - len(table.headers_again) * n_all - len(rows) * len(workers)
        answered = settings.question is not None
        remedies = tuple(Remedy("question", name) for name in names[:_MOST] if not (answered and name == question))
        if not layout.column and not answered:
            remedies += (Remedy("workers", list(found.workers), when="each column is a worker"),)
        sentence = f"There are {plural(len(names), 'question')}; of these {question!r} was read"
        code, level = "other-questions" if answered else "several-questions", _LEVELS[answered]
        finding = Finding(code, level, sentence, left, (), layout.column, tuple(names[:5]), left_out=left)
        finding = replace(finding, remedies=remedies)
        aside = {c: what for c, what in found.aside.items() if c != layout.column}
        findings = (finding, *([columns_left_out(found.workers, aside)] if aside else []))
        roles = {**roles, "worker": plural(len(workers), "column")}
        tasks = RawTasks.of(about, True, table.escaped)
        return stack(self.name, table, settings, blocks, roles, tasks, findings, rows, n_all)


@dataclass(frozen=True)
class _Layout:
    """Where the questions are.

    Args:
        workers: question -> worker -> column, where they are in the columns' names.
        column: the column that names them, where there is one.
    """

    workers: dict[str, dict[str, str]]
    column: str | None = None


def _grid(table: Table, found: WorkerColumns) -> _Layout | None:
    """Questions crossed with workers in the names of all workers' columns."""
    names = found.workers
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
    """Whether columns of a group share labels, and those of different groups none."""
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


def _field(table: Table, found: WorkerColumns) -> _Layout | None:
    """The column that names the questions: with it rows of the same task differ."""
    task = found.roles.get("task")
    if task is None or len(found.workers) < 2 or len(table.head) < 4:
        return None
    head = table.head
    cells = head.select([head.column_names.index(task)]).to_pandas()
    if 3 * cells.duplicated().sum() < len(cells):
        return None
    for name in head.column_names:
        if name in (*found.workers, *found.roles.values()) or plain(name) in ALIASES["worker"]:
            continue
        words = cells_of(table, name)
        if len(words) == len(head) and 2 <= len(set(words)) <= _MOST:
            pairs = cells.assign(question=words)
            if not pairs.duplicated().any():
                return _Layout({}, name)
    return None
