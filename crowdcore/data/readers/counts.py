"""Counts of labels: a row per task, a column per class (Fleiss' tables), or rows of task, label and count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import FloatArray
from crowdcore.data.columns import assign_roles, plain
from crowdcore.data.dictionary import compact, strings
from crowdcore.data.encoder import encode
from crowdcore.data.readers._stacked import (
    ABOUT_TASKS,
    Block,
    alike,
    blank,
    names_tasks,
    repeat_labels,
    roles_of_tasks,
    stack,
)
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.readers.nested import Nested
from crowdcore.data.report import Finding, quoted
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.base import Arrow

COUNT = {"n", "count", "counts", "num", "votes", "freq", "frequency", "times"}  # words that name a count
HOW_MANY = {
    *COUNT,
    *("total", "sum", "raters", "annotators", "annotations", "workers", "judgments", "judgements", "labels"),
    *("how", "many", "number", "of", "times", "people", "anzahl"),
}
_ROWS, _MANY = 10, 50  # least tasks and most columns for which numbers show whether they are counts
_CLASSES, _GRADES = 7, 5  # most columns, and mean up to which numbers are grades, where rows may count labels
CHANCE = -3.0  # decimal logarithm of the probability of the rows' sums if workers are independent


class CountTable(Reader):
    """Number of workers who gave each class to a task; without names, they become ``place 1``, ``place 2`` …"""

    name: ClassVar[str] = "counts"
    title: ClassVar[str] = "Counts of labels (no workers named)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Rows of numbers have the same sum, or the columns' names say that they are counts."""
        if source.table is None or settings.workers or settings.turn:
            return 0.0
        if _class_columns(source.table, settings):
            return 0.5
        if settings.worker:
            return 0.0
        if _count_column(source.table, settings):
            return 0.5
        return 0.5 if not settings.label and _find_columns(source.table, settings) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read all counts; shares are read if a column gives the number of labels."""
        table = source.need_table()
        if table.nests and _find_columns(table, settings) is None:
            return Nested().read(source, settings)
        about = {**table.about, "path": source.path}
        if columns := _class_columns(table, settings):
            return _read_marks(self.name, table, settings, columns)
        if column := _count_column(table, settings):
            return _read_rows(self.name, table, settings, column, about)
        group = _find_columns(table, settings, sure=settings.format == self.name)
        if group is None:
            remedies = (Remedy("classes", when="the columns of these names hold the counts"),)
            raise DataError("No columns hold counts", file=source.path, code="no-counts", remedies=remedies)
        workers = Remedy("workers", list(group.columns), when="these columns are workers")
        if group.kind == "ranks":
            what, advice = "Each row ranks the columns, and holds no label of a task", "Give the label of each worker."
            raise DataError(what, advice, file=source.path, code="ranks", remedies=(workers,))
        if group.kind == "shares" and group.of is None:
            what = f"The columns {', '.join(map(repr, group.columns[:5]))} hold shares of a number that is not known"
            advice = "Add a column n with the number of labels of each task, or give the labels one by one."
            raise DataError(what, advice, file=source.path, code="shares", remedies=(workers,))
        return self._read_matrix(table, settings, group, about, workers)

    def _read_matrix(
        self, table: Table, settings: ReadSettings, group: _Counted, about: dict[str, Any], workers: Remedy
    ) -> Raw:
        roles = {r: c for r, c in _roles(table, settings).items() if c not in group.columns}
        other = tuple(dict.fromkeys([*roles.values(), *((group.of,) if group.of else ())]))
        codes, kept = table.encode(other, group.columns)
        cells = pa.table({name: [] for name in group.columns}) if kept is None else kept
        numbers = _matrix(cells, group.columns)
        n = table.n_read - len(table.headers_again)
        if group.kind == "shares":
            assert group.of is not None
            whole = pd.to_numeric(codes[group.of].values.to_pandas(), errors="coerce").to_numpy(float)
            numbers = np.round(numbers / group.scale * np.append(whole, np.nan)[codes[group.of].codes][:, None])
        wrong = np.argwhere(~(numbers >= 0) | (numbers != np.round(numbers)) | (numbers > 2**31))
        if len(wrong):
            row, place = (int(i) for i in wrong[0])
            name = group.columns[place]
            what = f"{str(cells[name][row].as_py())[:60]!r} is no count of labels"
            about = {"file": table.path, "row": int(table.row_numbers(wrong[:1, 0])[0]), "header": table.header}
            raise DataError(what, **about, column=name, code="not-counts", remedies=(workers,))
        part = {role: codes[column] for role, column in roles.items()}
        part.setdefault("task", encode(strings(str(i + 1) for i in range(n))))
        tasks = RawTasks.of(part, True, table.escaped)
        findings = (*table.findings, *table.repeated_headers(per_row=0))
        if settings.totals is not False and n > 3 and (numbers[-1] == numbers[:-1].sum(0)).all():
            tasks, numbers = tasks.take(np.arange(n - 1)), numbers[:-1]
            sentence = "The last row holds the sums of all others, and was left out as one of totals"
            remedies = (Remedy("totals", False, when="it is a task"),)
            findings += (Finding("total-row", "warning", sentence, 1, (n,), remedies=remedies),)
        roles = {**roles, "label": f"the names of {len(group.columns)} columns"}
        task, label = np.nonzero(numbers)
        about |= {"roles": roles, "findings": findings, "remedies": (replace(workers, value=None),)}
        count = numbers[task, label].astype(np.int64)
        return repeat_labels(self.name, tasks, group.classes, task, label, count, task + 1, **about)


@dataclass(frozen=True)
class _Counted:
    """The columns of counts.

    Args:
        columns: their names.
        kind: counts, shares that sum to ``scale``, or ranks.
        scale: 1 or 100.
        of: column of the number of labels of a task.
    """

    columns: tuple[str, ...]
    kind: Literal["counts", "shares", "ranks"]
    scale: float = 1.0
    of: str | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """The columns' names without common first and last words."""
        names = [re.split(r"([_ .\-])", name) for name in self.columns]
        shortest = min(map(len, names)) - 1
        begin = next((i for i in range(shortest) if len({tuple(n[: i + 1]) for n in names}) > 1), shortest)
        begin -= begin % 2
        most = shortest - begin
        end = next((i for i in range(most) if len({tuple(n[len(n) - i - 1 :]) for n in names}) > 1), most)
        end -= end % 2
        cut = tuple("".join(n[begin : len(n) - end]) for n in names)
        return cut if all(cut) and len(set(cut)) == len(cut) else self.columns


def _roles(table: Table, settings: ReadSettings) -> dict[str, str]:
    """Role -> column, of the columns about tasks."""
    roles = roles_of_tasks(table, settings)
    if "task" not in roles and names_tasks(table):
        roles = {"task": table.columns[0], **roles}
    return roles


def _count_column(table: Table, settings: ReadSettings) -> str | None:
    """The column with the number of times that a row's label was given to its task, without a worker."""
    roles = assign_roles(table, settings)
    if "task" not in roles or "label" not in roles or "worker" in roles:
        return None
    taken = set(roles.values())
    named = [c for c in table.columns if {*plain(c).split("_")} <= HOW_MANY and c not in taken]
    group = _find_columns(table, settings) if len(named) == 1 else None
    if len(named) != 1 or (group is not None and not settings.label):  # the number is the sum of others
        return None
    numbers = _matrix(table.head, (named[0],))[:, 0]
    pairs = table.head.select([table.columns.index(roles[r]) for r in ("task", "label")]).to_pandas()
    whole = bool(len(numbers) and (numbers >= 0).all() and (numbers == np.round(numbers)).all())
    return named[0] if whole and not pairs.duplicated().any() else None


def _class_columns(table: Table, settings: ReadSettings) -> tuple[str, ...]:
    """The columns of classes, one of which is marked in each row, beside those of task and worker."""
    roles = assign_roles(table, settings)
    if not {"task", "worker"} <= {*roles} or "label" in roles:
        return ()
    for columns in _groups(table, {*roles.values()}):
        cells = _matrix(table.head, columns)
        if len(cells) > 3 and np.isin(cells, (0, 1)).all() and (cells.sum(1) == 1).all():
            return columns
    return ()


def _read_marks(name: str, table: Table, settings: ReadSettings, columns: tuple[str, ...]) -> Raw:
    """Rows of task and worker with a mark in the column of the class; a row without one has no label."""
    roles = {r: c for r, c in assign_roles(table, settings).items() if r in (*ABOUT_TASKS, "worker")}
    codes, kept = table.encode(tuple(dict.fromkeys(roles.values())), columns)
    marks = _matrix(kept, columns) == 1
    several = np.flatnonzero(marks.sum(1) > 1)
    if len(several):
        what = "This row marks several classes, each of which may be a question of its own"
        remedies = (Remedy("label", columns),)
        row = int(table.row_numbers(several)[0])
        raise DataError(what, file=table.path, row=row, code="several-marks", remedies=remedies)
    chosen = np.where(marks.any(1), marks.argmax(1), -1).astype(np.int32)
    label = compact(strings(_Counted(columns, "counts").classes), chosen)
    part = {role: codes[column] for role, column in roles.items()}
    roles |= {"label": f"the names of {len(columns)} columns"}
    block = Block(part["task"], part.pop("worker"), label)
    return stack(name, table, settings, [block], roles, RawTasks.of(part, False, table.escaped))


def _read_rows(name: str, table: Table, settings: ReadSettings, column: str, about: dict[str, Any]) -> Raw:
    """Rows of task, label and count."""
    roles = {r: c for r, c in assign_roles(table, settings).items() if r in (*ABOUT_TASKS, "label")}
    codes, kept = table.encode(tuple(dict.fromkeys(roles.values())), (column,))
    numbers = _matrix(kept, (column,))[:, 0]
    task, label = codes[roles["task"]], codes[roles["label"]]
    rows = table.row_numbers(np.arange(len(numbers)))
    odd = ~(numbers >= 0) | (numbers != np.round(numbers)) | (numbers > 2**31)
    wrong = np.flatnonzero(odd | blank(task) | blank(label))
    if len(wrong):
        what = "This row lacks its task, its label or a count that is a whole number"
        raise DataError(what, file=table.path, row=int(rows[wrong[0]]), column=column, code="not-counts")
    first = task.first_rows
    listed = {role: codes[c].take(first) for role, c in roles.items() if role != "label"}
    return repeat_labels(
        name,
        RawTasks.of(listed, True, table.escaped),
        label.values.to_pylist(),
        task.codes,
        label.codes,
        numbers.astype(np.int64),
        rows,
        roles=roles | {"count": column},
        findings=(*table.findings, *table.repeated_headers(per_row=0)),
        **about,
    )


def _matrix(cells: Arrow, columns: tuple[str, ...]) -> FloatArray:
    """(n, k) numbers of some columns; 0 for empty cells, NaN for other content."""
    return np.column_stack([_numbers(cells[name]) for name in columns]) if columns else np.empty((len(cells), 0))


def _numbers(column: Arrow) -> FloatArray:
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64()).fill_null(0).to_numpy(), float)
    codes = encode(column)
    words = codes.values.to_pandas().str.strip()
    flags = words.str.lower().map({"true": 1.0, "false": 0.0, "": 0.0, "x": 1.0})
    numbers = pd.to_numeric(words.str.removesuffix("%"), errors="coerce").astype(float).fillna(flags)
    return np.append(numbers.to_numpy(float), 0.0)[codes.codes]


def _groups(table: Table, taken: set[str]) -> Iterator[tuple[str, ...]]:
    """Columns that may belong together: with a common first or last word, or adjacent; also without the outer one."""
    head = table.head
    numeric = {}
    for name in table.columns:
        if name not in taken and not pa.types.is_nested(head[name].type):
            numbers = _numbers(head[name])
            if len(numbers) and ((numbers >= 0) & (numbers <= 2**31)).all():
                numeric[name] = numbers
    for end in (0, -1):
        words: dict[str, list[str]] = {}
        for name in numeric:
            parts = plain(name).split("_")
            if len(parts) > 1:
                words.setdefault(parts[end], []).append(name)
        yield from (tuple(group) for group in words.values() if len(group) > 1)
    runs: list[list[str]] = [[]]
    for name in table.columns:
        if name in numeric:
            runs[-1].append(name)
        elif runs[-1]:
            runs.append([])
    for run in runs:
        yield from (tuple(part) for part in (run, run[:-1], run[1:]) if len(part) > 1)


def _find_columns(table: Table, settings: ReadSettings, sure: bool = False) -> _Counted | None:
    """The columns of counts; ``sure``: the settings say that there are some."""
    if settings.classes and {*settings.classes} <= {*table.columns}:
        return _Counted(settings.classes, "counts") if sure else None
    roles = _roles(table, settings)
    taken, gold = set(roles.values()), roles.get("gold")
    classes = set() if gold is None else {str(v) for v in table.head[gold].to_pylist()}
    for columns in _groups(table, taken):
        cells = _matrix(table.head, columns)
        sums = [place for place in (0, -1) if len(columns) > 2 and (cells.sum(1) == 2 * cells[:, place]).all()]
        if sums:  # one of them is the sum of the others
            rest = columns[1:] if sums[0] == 0 else columns[:-1]
            if {*plain(columns[sums[0]]).split("_")} <= HOW_MANY - {"total", "sum"}:
                return _Counted(rest, "counts")
            continue
        if len(columns) > 2 and any({*plain(columns[place]).split("_")} <= HOW_MANY for place in (0, -1)):
            continue
        named = all(COUNT & {*plain(name).split("_")} for name in columns) or len(classes & {*columns}) > 1
        group = _judge(cells, columns, named or sure)
        if group is not None and group.kind == "shares":
            signs = any("%" in str(v) for name in columns for v in table.head[name].slice(0, 20).to_pylist())
            return _of_how_many(group, table, 100.0 if signs else group.scale)
        if group is not None:
            return group
    return None


def _judge(cells: FloatArray, columns: tuple[str, ...], named: bool) -> _Counted | None:
    """The kind of the cells of some columns: counts, shares or ranks; None for labels of workers and the rest."""
    sums, whole = cells.sum(1), bool((cells == np.round(cells)).all())
    spread = cells.var(0).sum()
    if not whole:
        for scale, most in ((1.0, 0.005), (100.0, 0.5)):
            if len(cells) > 2 and (np.abs(sums - scale) <= most * len(columns) + 1e-9).all() and spread > 0:
                return _Counted(columns, "shares", scale)
        return None
    constant = bool((sums == sums[0]).all()) and sums[0] > 0
    # Sums of independent columns: the chance that all are equal, as if they were normal
    chance = -(len(cells) - 1) / 2 * np.log10(max(2 * np.pi * spread, 1.0))
    if constant and chance < CHANCE:
        ranks = (np.sort(cells, 1) == np.arange(1, len(columns) + 1)).all()
        shares = sums[0] == 100 and len(cells) > 2
        return _Counted(columns, "ranks" if ranks else "shares" if shares else "counts", float(sums[0]))
    return _Counted(columns, "counts") if named and spread > 0 and sums.any() else None


def ask_whether_counts(table: Table, columns: tuple[str, ...]) -> list[Finding]:
    """A question whether whole numbers count the labels of classes: where one is high, the others are low.

    Numbers that workers give to the same tasks agree or are independent, so that the variance of their sums is at least
    the sum of their variances, but for three standard deviations of chance. Or another column is their sum.
    """
    cells = _matrix(table.head, columns) if 1 < len(columns) < _MANY else np.empty((0, 0))
    n, k = cells.shape
    if n < _ROWS or not ((cells >= 0) & (cells == np.round(cells))).all() or not (spread := cells.var(0).sum()):
        return []
    others = [c for c in table.columns if c not in columns and not pa.types.is_nested(table.head[c].type)]
    total = next((c for c in others if (_numbers(table.head[c]) == cells.sum(1)).all()), None)
    apart = cells.sum(1).var() / spread <= 1 - 3 * np.sqrt(2 * (k - 1) / k / n)
    if total is None and not (apart and (cells == 0).any(0).mean() >= 0.6):
        return []
    listed = quoted(columns)
    why = f"Where one of {listed} is high, the others are low" if total is None else f"{total!r} is the sum of {listed}"
    sentence = f"{why}: they may count the labels of {k} classes"
    remedies = (
        Remedy("format", "counts", when="they count labels"),
        Remedy("workers", list(columns), when="each column is a worker"),
    )
    return [Finding("counts-or-workers", "question", sentence, n, remedies=remedies)]


def ask_whether_tags(table: Table, columns: tuple[str, ...]) -> list[Finding]:
    """A question whether marks of yes and no are the classes that one person gave to each task.

    Workers who answer one question agree, or at least do not exclude each other, and say yes about as often.
    """
    cells = _matrix(table.head, columns) if 2 < len(columns) < _MANY and not alike(columns) else np.empty((0, 0))
    n, k = cells.shape
    full = all(not any(str(v).strip() == "" for v in table.head[name].to_pylist()) for name in columns if n)
    if n < _ROWS or not np.isin(cells, (0, 1)).all() or not full:
        return []
    spread, marked = cells.var(0).sum(), cells.mean(0)
    alike_by, chance = cells.sum(1).var() / max(spread, 1e-9) - 1, np.sqrt(2 * (k - 1) / k / n)
    uneven = 2 * (5 * marked < 2 * marked.max()).sum() >= k and alike_by < 0.4 * (k - 1)
    share, spare = marked.mean(), k - 1
    differ = n * ((marked - share) ** 2).sum() > (spare + 5 * np.sqrt(2 * spare)) * share * (1 - share)
    uneven = uneven or (alike_by < 2 * chance and differ)
    if not spread or (alike_by > -3 * chance and not uneven):
        return []
    listed = quoted(columns)
    sentence = (
        f"{listed} hold yes or no, and do not agree as workers do: if one person marked {k} classes, no crowd is here"
    )
    remedies = (Remedy("workers", list(columns), when="each column is a worker"),)
    return [Finding("classes-of-one-person", "question", sentence, n, remedies=remedies)]


def ask_whether_totals(table: Table, columns: tuple[str, ...]) -> list[Finding]:
    """A question whether each row counts a worker's labels by class: a few numbers, which sum to nearly the same."""
    cells = _matrix(table.head, columns) if 1 < len(columns) <= _CLASSES else np.empty((0, 0))
    sums = cells.sum(1)
    whole = ((cells >= 0) & (cells == np.round(cells))).all() and not any(re.search("[0-9?]", c) for c in columns)
    if len(cells) < 2 or not whole or cells.mean() <= _GRADES or np.ptp(sums) > 0.1 * sums.mean():
        return []
    sentence = f"The numbers of each row sum to about {np.median(sums):.0f}: they may count how often each worker gave "
    sentence += f"the labels {quoted(columns)}, and then the file lacks the labels of each task"
    ratings = Remedy.read_as("ratings", when="they rate these things")
    remedies = (ratings, Remedy("turn", True, when="they are labels of these tasks"))
    return [Finding("counts-of-workers", "question", sentence, len(cells), remedies=remedies)]


def _of_how_many(group: _Counted, table: Table, scale: float) -> _Counted:
    """The columns as shares, with the column of the number of labels of each task, if there is one."""
    shares = _matrix(table.head, group.columns) / scale
    for name in table.columns:
        if name in group.columns or not HOW_MANY & {*plain(name).split("_")}:
            continue
        numbers = _numbers(table.head[name])
        if not ((numbers >= 1) & (numbers == np.round(numbers))).all():
            continue
        counts = shares * numbers[:, None]
        if (np.abs(counts - np.round(counts)) <= 0.006 * numbers[:, None] + 1e-6).all():
            return _Counted(group.columns, "shares", scale, name)
    return _Counted(group.columns, "shares", scale)
