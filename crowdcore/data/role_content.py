"""Which of several columns plays a role, by what the first rows hold; looked at only where names do not settle it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import IntArray
from crowdcore.data.report import Finding
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables.base import Table
from crowdcore.data.times import about_time

if TYPE_CHECKING:
    from crowdcore.data.columns import Roles

_FEW = 20  # different values that answers may have
_SHARED = 3  # tasks with several rows below which these say nothing
_SURE_NAMES = ("label", "given_label", "worker_label")
_NOT_JUDGED = {
    *("id", "ids", "uuid", "index", "idx", "confidence", "certainty", "conf", "batch", "round", "session", "position"),
    *("model", "system", "method", "condition", "lang", "language", "version", "difficulty"),
}


class _Codes(dict[str, IntArray]):
    """Column -> (n,) codes of its first cells, -1 = empty."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __missing__(self, name: str) -> IntArray:
        try:
            words = self._table.words(name)
        except DataError:  # reading it will say so
            words = [""] * len(self._table.head)
        self[name] = pd.factorize(np.array([word or None for word in words], object))[0]
        return self[name]


class _Rows:
    """The first rows of a table as text, and what they say of two columns together."""

    def __init__(self, table: Table) -> None:
        self.codes, self.n = _Codes(table), len(table.head)

    def distinct(self, name: str) -> int:
        return int(self.codes[name].max(initial=-1)) + 1

    def empty(self, name: str) -> float:
        return float((self.codes[name] < 0).mean()) if self.n else 0.0

    def unique(self, *names: str) -> bool:
        """Whether hardly two rows hold the same in these columns."""
        rows = pd.DataFrame({name: self.codes[name] for name in names})
        return self.n > _SHARED and len(rows.drop_duplicates()) > 0.98 * self.n

    def varies(self, name: str, within: str) -> float:
        """Share of the values of a column with several rows in which another column differs; NaN if they are few."""
        filled = (self.codes[name] >= 0) & (self.codes[within] >= 0)
        groups = pd.Series(self.codes[name][filled]).groupby(self.codes[within][filled])
        several = groups.count() > 1
        return float((groups.nunique()[several] > 1).mean()) if several.sum() >= _SHARED else float("nan")

    def same(self, one: str, other: str) -> bool:
        """Whether each value of a column goes with one of the other."""
        pairs = len(pd.DataFrame({"one": self.codes[one], "other": self.codes[other]}).drop_duplicates())
        return pairs == self.distinct(one) == self.distinct(other)


def settle(
    table: Table, roles: Roles, names: dict[str, list[str]], weak: dict[str, list[str]], settings: ReadSettings
) -> None:
    """Decide between the columns whose names fit a role, and tell why where the first by name is not the one.

    Args:
        table: whose first rows are looked at.
        roles: role -> column by name; changed in place.
        names: role -> all columns whose names fit, the most telling first.
        weak: role -> those whose names fit it a little.
        settings: roles named here stay.
    """
    if any(column in table.repeated for column in roles.values()):
        return
    rows = _Rows(table)
    fixed = [role for role in ("task", "worker", "label") if getattr(settings, role)]
    for role in ("task", "worker", "label", "task"):
        if role in fixed or ("task" not in roles and role != "task"):
            continue
        taken = [c for other, c in roles.items() if other != role and (other not in MEDIA or getattr(settings, other))]
        fitting = [c for c in names.get(role, ()) if c not in taken]
        further = [c for c in weak.get(role, ()) if c not in (*taken, *fitting) and _may_be(role, c, rows, roles)]
        if role == "label" and roles.get("worker") and (fitting or further):
            _settle_label(table, rows, roles, fitting, further)
        elif (fitting or further) and (role not in roles or roles[role] in (*fitting, *further)):
            _settle(role, rows, roles, [*fitting, *further])
        elif role not in roles and role != "worker" and "worker" in roles:
            _by_content(role, table, rows, roles, weak.get(role, []), "task" in fixed)


def _settle(role: str, rows: _Rows, roles: Roles, fitting: list[str]) -> None:
    first = roles.get(role, fitting[0])
    reason = {c: _against(role, c, fitting, rows, roles) for c in fitting}
    good = [c for c in fitting if not reason[c]]
    finer = role == "task" and reason[first].startswith("repeats")
    best = max(good, key=lambda c: rows.unique(c, roles["worker"]), default=first) if finer else [*good, first][0]
    roles[role] = first if first in good else best
    if roles[role] != first:
        roles.reasons[role] = (first, reason[first])
    roles.settled |= {c for c in fitting if c != roles[role] and (reason[c] or rows.same(c, roles[role]))}
    for medium in [r for r in MEDIA if roles.get(r) == roles[role]]:
        del roles[medium]


def _against(role: str, column: str, fitting: list[str], rows: _Rows, roles: Roles) -> str:
    """What in a column's content speaks for one of the others, else nothing."""
    others = [c for c in fitting if c != column]
    least = min((rows.empty(c) for c in others), default=1.0)
    if rows.empty(column) > 0.2 and 2 * least < rows.empty(column):
        return f"is empty in {100 * rows.empty(column):.0f} % of the rows"
    if role == "task" and "worker" in roles:
        worker = roles["worker"]
        better = [c for c in others if not rows.unique(c) and rows.unique(c, worker)]
        if rows.unique(column) and better:
            return "differs in every row"
        finer = [c for c in others if 2 * rows.distinct(column) < rows.distinct(c) and rows.unique(column, c, worker)]
        if (better or finer) and not rows.unique(column, worker) and rows.varies(worker, (better or finer)[0]) > 0.5:
            return "repeats for the same worker"
    if role == "worker":
        if rows.unique(column) and any(not rows.unique(c) for c in others):
            return "differs in every row"
        if rows.varies(column, roles["task"]) == 0 and any(rows.varies(c, roles["task"]) > 0 for c in others):
            return "holds one value for each task"
    return ""


def _may_be(role: str, column: str, rows: _Rows, roles: Roles) -> bool:
    """Whether a column whose name alone says little holds workers, or labels, of tasks that have several rows."""
    task = roles["task"]
    if rows.empty(column) > 0.5 or rows.unique(task) or not rows.varies(column, task) > 0:
        return False
    return rows.unique(task, column) if role == "worker" else rows.distinct(column) <= max(_FEW, rows.n // 10)


def _settle_label(table: Table, rows: _Rows, roles: Roles, fitting: list[str], further: list[str]) -> None:
    task, worker = roles["task"], roles["worker"]
    reasons = {c: _no_judgement(c, task, worker, rows) for c in (*fitting, *further)}
    good = [c for c in fitting if not reasons[c]] or [c for c in further if not reasons[c]]
    first = roles.get("label", (fitting or further)[0])
    others: list[str] = []
    if not good and fitting:
        others = list(_judgements(table, rows, roles))
        good = others if len(others) == 1 else []
    if len(others) > 1:
        what = f"Column {first!r} {reasons[first]}: it is judged, and no judgement. Several others may be the label"
        roles.doubt = what, tuple(Remedy("label", c) for c in others)
    if good and (first not in good or "label" not in roles):
        roles["label"] = good[0]
        if first != good[0]:
            roles.reasons["label"] = (first, reasons[first])
    roles.settled |= {c for c in (*fitting, *further) if reasons[c] and c != roles.get("label")}
    equal = [c for c in good if c in fitting and c != roles["label"] and rows.distinct(c) <= _FEW]
    if equal and roles["label"].lower() not in _SURE_NAMES and rows.distinct(roles["label"]) <= _FEW:
        several = (roles["label"], *equal)
        sentence = f"Each of the columns {', '.join(map(repr, several))} may be the label; {several[0]!r} was taken"
        remedies = tuple(Remedy("label", column, when="it is") for column in several)
        roles.questions.append(Finding("which-label", "question", sentence, len(several), remedies=remedies))
        roles.settled |= {*equal}


def _no_judgement(column: str, task: str, worker: str, rows: _Rows) -> str:
    """Why a column holds no judgements of workers, else nothing."""
    if rows.empty(column) > 0.5:
        return f"is empty in {100 * rows.empty(column):.0f} % of the rows"
    if rows.varies(column, task) == 0 and 2 * rows.distinct(column) > rows.distinct(task):
        return "holds one value for each task"
    if rows.distinct(column) > max(_FEW, rows.n // 2):
        return "holds a text or number of its own in most rows"
    return ""


def _by_content(role: str, table: Table, rows: _Rows, roles: Roles, weak: list[str], fixed: bool) -> None:
    """Have the only column that may be the task, or the label, play that role; or ask which of several it is."""
    worker, known = roles["worker"], {c for r, c in roles.items() if r not in MEDIA}
    left = [c for c in table.columns if c not in known and c not in table.repeated]
    if role == "task" or (rows.unique(roles["task"]) and not fixed):
        found = [c for c in left if not rows.unique(c) and rows.unique(c, worker) and not rows.empty(c)]
        found = [c for c in found if 3 * rows.distinct(c) <= 2 * rows.n] or found
        named = [c for c in found if c in roles.values()] or found
        if len(named) == 1:
            if role == "label":
                roles.reasons["task"] = roles["task"], "differs in every row"
            roles["task"] = named[0]
    if role == "task":
        return
    task = roles["task"]
    found = [*_judgements(table, rows, roles)] or [c for c in weak if c in left and rows.distinct(c) >= 2]
    if not rows.unique(task, worker):  # what tells the rows of a worker's task apart is a part of the task
        found = [c for c in found if not rows.unique(task, worker, c)] or found
    if len(found) == 1:
        roles["label"] = found[0]
    elif found:
        roles.doubt = "Several columns may be the label", tuple(Remedy("label", column) for column in found)


def _judgements(table: Table, rows: _Rows, roles: Roles) -> Iterator[str]:
    """Columns of few values that differ within tasks and within workers."""
    task, worker = roles["task"], roles["worker"]
    left = [c for c in table.columns if c not in roles.values() and c not in table.repeated]
    for column in left:
        few = 2 <= rows.distinct(column) <= min(_FEW, rows.n // 2) and rows.empty(column) <= 0.5
        by_name = not (about_time(column) or _NOT_JUDGED & {*re.split(r"[\W_]+", column.lower())})
        if few and by_name and rows.varies(column, task) > 0.2 and rows.varies(column, worker) > 0.5:
            yield column
