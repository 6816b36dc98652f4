"""The workers' columns of a wide table."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.data.columns import MappingError, assign_roles, plain
from crowdcore.data.report import Finding, Level, make_change, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import Table

ABOUT_TASKS = ("task", "gold", "split", "text", "image", "audio")
# Words of a column's name that speak of something else than a worker's labels.
_TOLD_BY_NAME = {
    word: what
    for what, words in {
        "gold": "gold golden truth true correct reference adjudicated resolved",
        "a consensus": "consensus majority mode vote votes final aggregate aggregated agreement agree kappa entropy",
        "a number": "n num nr count counts total sum mean avg average median std min max length words tokens "
        "score confidence probability prob price cost",
        "a time": "time times timestamp date datetime second seconds sec secs ms minutes duration start end "
        "created updated submitted",
        "text": "text notes note comment comments remark remarks title description sentence content reason rationale "
        "explanation url uri link file filename path source",
        "an id": "id ids uuid guid index idx row key hash unnamed",
    }.items()
    for word in words.split()
}
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$")
FEW = 5  # filled cells below which a column's content says nothing
SHOWN = 5


@dataclass(frozen=True)
class WorkerColumns:
    """The columns of a wide table.

    Args:
        roles: role -> column, of the columns about tasks.
        workers: the workers' columns.
        findings: which they are, and what is left aside.
    """

    roles: dict[str, str]
    workers: tuple[str, ...]
    findings: tuple[Finding, ...]


def find_workers(table: Table, settings: ReadSettings) -> WorkerColumns:
    """The columns named in ``settings.workers``; else those that neither name nor content tells to be something else.

    Raises:
        MappingError: a named column is not there.
        SettingError: a column is named as a worker and as something else, or twice.
        DataError: two columns have the name of one that plays a role.
    """
    assigned = assign_roles(table, settings)
    roles = {role: column for role, column in assigned.items() if role in ABOUT_TASKS}
    if settings.workers is not None:
        roles = {role: c for role, c in roles.items() if c not in settings.workers or getattr(settings, role) == c}
    if "task" not in roles and table.columns[:1] != (settings.workers or ())[:1] and names_tasks(table):
        roles = {"task": table.columns[0], **roles}
    left = tuple(c for c in table.columns if c not in roles.values())
    if settings.workers is not None:
        workers = _named(table, settings.workers, roles)
        aside = {c: "not named" for c in left if c not in workers}
    else:
        aside = _told_apart(table, left, settings.kind == "ratings")
        workers = tuple(c for c in left if c not in aside)
    return WorkerColumns(roles, workers, _findings(workers, aside, settings.workers is not None))


def _named(table: Table, workers: tuple[str, ...], roles: dict[str, str]) -> tuple[str, ...]:
    for name in workers:
        if name not in table.columns:
            raise MappingError(f"There is no column {name!r}", table.columns, {}, table.path, "workers")
        if name in roles.values() or workers.count(name) > 1:
            raise SettingError("workers", "name columns once each that play no other role", name)
    return tuple(c for c in table.columns if c in workers)


def _told_apart(table: Table, columns: tuple[str, ...], numbers: bool) -> dict[str, str]:
    """Column -> what it seems to hold instead of a worker's labels (``numbers``: ratings, which few may share)."""
    words = {c: [w for w in plain(c).split("_") if w in _TOLD_BY_NAME] for c in columns}
    common = {
        w for w, n in Counter(w for found in words.values() for w in found).items() if 2 * n > max(len(columns), 2)
    }
    aside = {c: _TOLD_BY_NAME[found[-1]] for c, found in words.items() if found and found[-1] not in common}
    cells = {c: _cells(table, c) for c in columns if c not in aside}
    spread = Counter(word for filled in cells.values() for word in set(filled))
    shapes = Counter(map(_shape, columns))
    for column, filled in cells.items():
        known = sum(spread[word] > 1 or (numbers and bool(_NUMBER.match(word))) for word in filled)
        if len(filled) >= FEW and len(cells) > 2 and 4 * known < len(filled) and shapes[_shape(column)] == 1:
            aside[column] = "values that no other column holds"
    return aside


def _shape(name: str) -> str:
    """A column's name without its numbers: ``w1`` and ``w2`` are of one kind."""
    return re.sub("[0-9]+", "#", name)


def _cells(table: Table, column: str) -> list[str]:
    try:
        values = table.head.column(table.columns.index(column)).to_pylist()
    except UnicodeDecodeError:
        raise DataError("This column holds text that is not UTF-8", file=table.path, column=column) from None
    return [str(v).strip() for v in values if v is not None and v == v and str(v).strip()]


def names_tasks(table: Table) -> bool:
    """Whether the first column looks like ids: all different, and unlike the others by name or content."""
    if not table.columns:
        return False
    name, *others = table.columns
    if name in ("", "Unnamed: 0"):
        return True
    first = _cells(table, name)
    if len(first) < max(2, len(table.head)) or len(set(first)) < len(first) or not others:
        return False
    shapes = set(map(_shape, others))
    if len(others) > 1 and len(shapes) == 1 and _shape(name) not in shapes:
        return True
    counted = len(first) > 2 and first in ([str(i + k) for i in range(len(first))] for k in (0, 1))
    return counted or not set(first) & set(_cells(table, others[0]))


def label_columns(table: Table) -> list[int]:
    """Which of three columns may hold the labels of a long table: hardly two rows have the same of both others."""
    if len(table.columns) != 3 or len(table.head) < FEW:
        return []
    cells = table.head.to_pandas()
    cells.columns = range(3)
    pairs = [cells.duplicated([i for i in range(3) if i != label]).mean() for label in range(3)]
    return [i for i, repeats in enumerate(pairs) if repeats < 0.02]


def _findings(workers: tuple[str, ...], aside: dict[str, str], named: bool) -> tuple[Finding, ...]:
    listed = ", ".join(map(repr, workers[:SHOWN])) + (" …" if len(workers) > SHOWN else "")
    sentence = f"{plural(len(workers), 'column')} {'was' if len(workers) == 1 else 'were'} read as workers: {listed}"
    alone = len(workers) == 1 and not named
    level: Level = "warning" if alone else "note"
    remedies: tuple[Remedy, ...] = (Remedy("gold", workers[0], when="it holds the true classes"),) if alone else ()
    found = Finding("worker-columns", level, sentence, len(workers), examples=workers[:SHOWN], remedies=remedies)
    findings = [found] if workers else []
    if aside:
        listed = ", ".join(f"{c!r} ({what})" for c, what in [*aside.items()][:SHOWN])
        more = f" and {len(aside) - SHOWN:,} more" if len(aside) > SHOWN else ""
        verb = "is" if len(aside) == 1 else "are"
        what = f"{plural(len(aside), 'column')} that {verb} no worker"
        remedies = (Remedy("workers", when="one is a worker"), Remedy("gold", when="one is the gold"))

        change = make_change(
            "columns-left-out",
            what,
            "be left out",
            detail=f": {listed}{more}",
            count=len(aside),
            examples=tuple(aside)[:SHOWN],
            remedies=() if named else remedies,
        )
        findings.append(replace(change, level="note") if named else change)
    return tuple(findings)
