"""Tables with several annotations, or counts of them, in a row, and the columns that hold them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy, SettingError
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.columns import ALIASES, MappingError, assign_roles, plain
from crowdcore.data.dictionary import Codes, compact, distinct, strings
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import UNNAMED, Finding, Level, make_change, plural, quoted
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables.base import MAX_ROWS, Table
from crowdcore.data.times import about_time


class Block(NamedTuple):
    """One annotation of each row: (n,) columns.

    Args:
        task, worker, label: of the annotation.
    """

    task: Codes
    worker: Codes
    label: Codes


def constant(name: str, n: int) -> Codes:
    """A column with the same name in each row."""
    return Codes(strings([name] if n else []), np.zeros(n, np.int32))


def blank(codes: Codes, missing: Sequence[str] = ()) -> BoolArray:
    """(n,) mask of the empty cells of a column, and of words for missing values."""
    void = [name.strip() in ("", *missing) for name in codes.values.to_pylist()]
    return np.append(void, True).astype(bool)[codes.codes]


def number_rows(n: int) -> Codes:
    """Names 1, 2, 3 … for rows without names."""
    return Codes(strings(str(i + 1) for i in range(n)), np.arange(n, dtype=np.int32))


def stack(
    form: str,
    table: Table,
    settings: ReadSettings,
    blocks: Sequence[Block],
    roles: dict[str, str],
    tasks: RawTasks | None = None,
    findings: Sequence[Finding] = (),
    kept: IntArray | None = None,
    columns_per_row: int = 0,
    **more: Any,
) -> Raw:
    """The blocks' annotations, row by row; one without a label is an empty cell.

    Each block has the rows of the table, or the ``kept`` of them (from 0). ``columns_per_row`` is the number of cells
    of a row, if other than that of blocks; ``more`` are further fields of `Raw`.
    """
    k, n = len(blocks), len(blocks[0].label)
    if not n:
        raise DataError("There are columns, but no rows", file=table.path)
    per_row = columns_per_row or k
    keep = np.column_stack([~blank(block.label, settings.missing or ()) for block in blocks])
    row, place = np.nonzero(keep)
    of_table = row if kept is None else kept[row]
    task, worker, label = (_join_cells([block[i] for block in blocks], row, place) for i in range(3))
    empty = n * k - len(row)
    return Raw(
        form,
        task,
        worker,
        label,
        **table.about,
        n_rows=table.n_read * per_row,
        roles=roles,
        rows=table.row_numbers(of_table),
        tasks=tasks,
        findings=(*table.findings, *findings, *table.repeated_headers(per_row=per_row), *empty_cells(empty, n * k)),
        **more,
    )


def empty_cells(n: int, cells: int) -> list[Finding]:
    """Finding on cells without a label."""
    sentence = f"{n:,} of {plural(cells, 'cell')} hold no label"
    return [Finding("empty-cells", "note", sentence, n, left_out=n)] if n else []


def _join_cells(columns: list[Codes], row: Any, place: Any) -> Codes:
    """Gather the cells at some rows and places into one column."""
    offsets = np.cumsum([0, *(len(codes.values) for codes in columns[:-1])])
    codes = np.column_stack(
        [np.where(c.codes < 0, -1, c.codes + start) for c, start in zip(columns, offsets, strict=True)]
    )
    every = distinct(pa.concat_arrays([codes.values for codes in columns]), codes[row, place].astype(np.int32))
    return every.take(np.arange(len(every)))


MAX_PLACES = 20_000
"""Most labels of one task; larger numbers are no counts of people."""


def no_workers(n_places: int, *remedies: Remedy) -> Finding:
    """The finding that labels have places instead of workers."""
    sentence = (
        f"{UNNAMED}: the labels of a task are numbered, up to {plural(n_places, 'place')}. Agreement and "
        "statistics of classes hold; statements about single workers mean nothing"
    )
    return Finding("no-workers", "warning", sentence, n_places, remedies=remedies)


def repeat_labels(
    form: str,
    tasks: RawTasks,
    classes: Sequence[str],
    task: IntArray,
    label: IntArray,
    count: IntArray,
    rows: IntArray,
    **more: Any,
) -> Raw:
    """Annotations from labels of tasks with the number of workers who gave each.

    The n labels of a task go to the workers ``place 1`` … ``place n`` in an order drawn at random (seed 0), so that no
    place is better at a class than another. Coefficients of agreement that do not distinguish workers (raw agreement,
    Fleiss' κ, Krippendorff's α, Gwet's AC1) are those of the counts.

    The arrays (k,) are aligned: numbers of ``task`` and class (``label``), ``count`` of this label of the task, and
    the file's row; ``more`` are further fields of `Raw`.
    """
    n_tasks, n = len(tasks.task), int(count.sum())
    per_task = np.bincount(task, count, n_tasks).astype(np.int64)
    most = int(per_task.max(initial=0))
    if not n:
        raise DataError("All counts are 0", file=more.get("path"), code="no-label")
    if most > MAX_PLACES or n > MAX_ROWS:
        what = f"These are no counts of people's labels: there are {n:,} in all, and up to {most:,} of one task"
        remedies = (Remedy("format", "wide", when="the columns are workers"),)
        raise DataError(what, file=more.get("path"), code="not-counts", remedies=remedies)
    each = np.repeat(np.arange(len(count)), count)
    each = each[np.lexsort((np.random.default_rng(0).random(n), task[each]))]
    place = np.arange(n) - (np.cumsum(per_task) - per_task)[task[each]]
    places = strings(f"place {i + 1}" for i in range(most))
    findings = (*more.pop("findings", ()), no_workers(most, *more.pop("remedies", ())))
    return Raw(
        form,
        tasks.task.take(task[each]),
        compact(places, place.astype(np.int32)),
        compact(strings(classes), label[each].astype(np.int32)),
        n_rows=n,
        rows=rows[each],
        classes=tuple(classes),
        tasks=tasks,
        findings=findings,
        **more,
    )


ABOUT_TASKS = ("task", "gold", "split", "text", "image", "audio")
ABOUT_PEOPLE = "about a person"
# Words of a column's name that name something other than a worker's labels.
_CONTENT_BY_NAME = {
    word: what
    for what, words in {
        "gold": "gold golden truth true correct reference adjudicated resolved expert adjudicator adjudication "
        "authoritative",
        "a model's labels": "model prediction predicted predictions pred pseudo machine silver auto automatic "
        "classifier",
        "a side of a pair": "winner loser chosen rejected better worse won lost",
        "a consensus": "consensus majority maj mode vote votes final aggregate aggregated agreement agree kappa "
        "entropy",
        "a number": "n num nr count counts total sum mean avg average median std min max length words tokens "
        "score confidence conf certainty sure difficulty sicherheit probability prob price cost",
        "text": "text notes note comment comments remark remarks title description sentence content reason rationale "
        "explanation url uri link file filename path source",
        ABOUT_PEOPLE: "age gender sex ethnicity nationality alter geschlecht sexe edad sexo",
        "an id": "id ids uuid guid index idx row key hash unnamed",
    }.items()
    for word in words.split()
}
_WEAK = ("a number", "a time", "text", "an id")  # contradicted by labels in words
_NO_LABELS = ("a time", "text", "an id")  # by name, not contradicted by content: left out without a finding
NUMBER = re.compile(r"[-+]?[0-9]*[.,]?[0-9]+([eE][-+]?[0-9]+)?%?$")
_FLOAT = re.compile(r"^(-?[0-9]+)\.0+$")
_OF_OTHERS = {*ALIASES["worker"], *ALIASES["label"], *ALIASES["task"]}
_PLACES = {*ALIASES["label"], "score", "judgement", "verdict", "stars"}
FEW = 5  # least filled cells by which a column's content is judged
SHOWN = 5
LISTED = 50  # workers' columns in a sentence


@dataclass(frozen=True)
class WorkerColumns:
    """The columns of a wide table.

    Args:
        roles: role -> column, of the columns about tasks.
        workers: the workers' columns.
        aside: column left aside -> its apparent content.
        findings: on these columns, and on those left aside.
    """

    roles: dict[str, str]
    workers: tuple[str, ...]
    aside: dict[str, str]
    findings: tuple[Finding, ...]


def find_workers(table: Table, settings: ReadSettings) -> WorkerColumns:
    """The columns named in ``settings.workers``; else those with neither name nor content of another kind."""
    roles = roles_of_tasks(table, settings)
    if settings.workers is not None:
        roles = {role: c for role, c in roles.items() if c not in settings.workers or getattr(settings, role) == c}
    if "task" not in roles and table.columns[:1] != (settings.workers or ())[:1] and names_tasks(table):
        roles = {"task": table.columns[0], **roles}
    elif "task" not in roles and (ids := _id_column(table, settings.workers or ())):
        roles = {"task": ids, **roles}
    left = tuple(c for c in table.columns if c not in roles.values())
    if settings.workers is not None:
        workers = _worker_columns(table, settings.workers, roles)
        aside = {c: "not named" for c in left if c not in workers}
    else:
        aside = other_contents(table, left, settings.kind == "ratings")
        workers = tuple(c for c in left if c not in aside)
    return WorkerColumns(roles, workers, aside, _findings(workers, aside, settings.workers is not None))


def roles_of_tasks(table: Table, settings: ReadSettings) -> dict[str, str]:
    """Role -> column, of the columns about tasks; not of classes or workers that are named like one."""
    roles = {role: column for role, column in assign_roles(table, settings).items() if role in ABOUT_TASKS}
    if settings.task is None and "task" in roles and _is_one_of_many(table, roles["task"]):
        del roles["task"]
    return roles


def _is_one_of_many(table: Table, column: str) -> bool:
    """Return whether a column repeats few values, half of them also in a neighbour, and the first names the rows."""
    if column not in table.columns[1:] or column in table.repeated or not names_tasks(table):
        return False
    cells, place = cells_of(table, column), table.columns.index(column)
    beside = [{*cells_of(table, c)} for c in table.columns[max(place - 1, 1) : place + 2] if c != column]
    shared = max((sum(cell in others for cell in cells) for others in beside), default=0)
    return 2 * len({*cells}) < len(table.head) and 2 * shared >= len(cells)


def _worker_columns(table: Table, workers: tuple[str, ...], roles: dict[str, str]) -> tuple[str, ...]:
    for name in workers:
        if name not in table.columns:
            raise MappingError(f"There is no column {name!r}", table.columns, {}, table.path, "workers")
        if name in roles.values() or workers.count(name) > 1:
            raise SettingError("workers", "name columns once each that play no other role", name)
    return tuple(c for c in table.columns if c in workers)


def _other(word: str) -> str:
    """The content that a word of a column's name states, other than a worker's labels; empty if none."""
    return _CONTENT_BY_NAME.get(word, "a time" if about_time(word) or word == "second" else "")


def other_contents(table: Table, columns: tuple[str, ...], numbers: bool) -> dict[str, str]:
    """Column -> apparent content other than a worker's labels (``numbers``: ratings, which few may share)."""
    words = {c: [w for w in parts if _other(w)] if len(parts := plain(c).split("_")) < 5 else [] for c in columns}
    common = {
        w for w, n in Counter(w for guesses in words.values() for w in guesses).items() if 2 * n > max(len(columns), 2)
    }
    aside = {c: _other(guesses[-1]) for c, guesses in words.items() if guesses and guesses[-1] not in common}
    labels = {cell for c in columns if c not in aside for cell in cells_of(table, c) if not NUMBER.match(cell)}
    for column in [c for c, what in aside.items() if what in _WEAK]:
        filled = cells_of(table, column)
        if len(filled) >= FEW and 4 * sum(cell in labels for cell in filled) > 3 * len(filled):
            del aside[column]  # the content outweighs the name
    kinds = Counter(shape(c) for c in columns if "#" in shape(c))
    kind, n_alike = kinds.most_common(1)[0] if kinds else ("", 0)
    for column in columns if n_alike > 1 else ():
        if column not in aside and shape(column) != kind and plain(column) in _OF_OTHERS:
            aside[column] = "beside columns of one name with numbers"
    cells = {c: cells_of(table, c) for c in columns if c not in aside}
    spread = Counter(word for filled in cells.values() for word in set(filled))
    shapes = Counter(shape(column) for column in columns if shape(column) != "#")
    for column, filled in cells.items():
        known = sum(spread[word] > 1 or (numbers and bool(NUMBER.match(word))) for word in filled)
        sparse = 2 * len(filled) < sorted(map(len, cells.values()))[len(cells) // 2]  # comments of a few
        if (len(filled) < FEW and not sparse) or len(cells) < 3 or 4 * known >= len(filled):
            continue
        if shapes[shape(column)] < 2 or all(are_texts(cells[c]) for c in cells if shape(c) == shape(column)):
            aside[column] = "values that no other column holds"
    return aside


def are_texts(cells: list[str]) -> bool:
    """Return whether nearly all cells differ, as judged texts do, and judgements do not."""
    return len(cells) >= FEW and 10 * len({*cells}) > 9 * len(cells)


def shape(name: str) -> str:
    """A column's name with ``#`` for numbers: the same for ``w1`` and ``w2``."""
    return re.sub("[0-9]+", "#", name)


def cells_of(table: Table, column: str) -> list[str]:
    """The filled cells of a column's first rows as text, whole numbers without a point."""
    return [_FLOAT.sub(r"\1", word) for word in table.words(column) if word]


def names_tasks(table: Table) -> bool:
    """Return whether the first column looks like ids: all different, and unlike the others by name or content."""
    if not table.columns:
        return False
    name, *others = table.columns
    if name in ("", "Unnamed: 0"):
        return True
    first = cells_of(table, name)
    if len(first) < max(2, len(table.head)) or len(set(first)) < len(first) or not others:
        return False
    shapes = set(map(shape, others))
    if len(others) > 1 and len(shapes) == 1 and shape(name) not in shapes:
        return True
    counted = len(first) > 2 and first in ([str(i + k) for i in range(len(first))] for k in (0, 1))
    return counted or not set(first) & set(cells_of(table, others[0]))


def _id_column(table: Table, workers: tuple[str, ...]) -> str | None:
    """The first column whose name ends in "id" and whose values all differ."""
    for name in table.columns if len(table.head) > 1 else ():
        if plain(name).split("_")[-1] in ("id", "ids", "uuid", "guid") and name not in workers:
            cells = cells_of(table, name)
            if len(set(cells)) == len(table.head):
                return name
    return None


def alike(columns: tuple[str, ...]) -> bool:
    """Return whether columns have one name but for numbers: ``rater1``, ``rater2``."""
    shapes = {*map(shape, columns)}
    return len(shapes) == 1 and "#" in shapes.pop()


def share_labels(columns: list[list[str]]) -> bool:
    """Return whether cells look like labels: few, and numbers or common to columns (in a single one, to cells)."""
    spread = Counter(word for column in columns for word in (column if len(columns) == 1 else set(column)))
    n = sum(map(len, columns))
    if not n or len(spread) > max(20, n // 10):
        return False
    common = sum(any(spread[word] > 1 for word in column) for column in columns)
    return 2 * common >= len(columns) or all(re.fullmatch(r"-?[0-9]+(\.0*)?", word) for word in spread)


def are_places(workers: tuple[str, ...]) -> bool:
    """Return whether the columns are numbered labels, ``label_1``, ``label_2`` …, without names of workers."""
    return len(workers) > 1 and all(
        (match := re.fullmatch(r"(.*?)[_#]*#", shape(plain(name)))) and match[1] in _PLACES for name in workers
    )


def _findings(workers: tuple[str, ...], aside: dict[str, str], named: bool) -> tuple[Finding, ...]:
    listed = quoted(workers, LISTED)
    sentence = f"{plural(len(workers), 'column')} {'was' if len(workers) == 1 else 'were'} read as workers: {listed}"
    alone = len(workers) == 1 and not named
    level: Level = "warning" if alone else "note"
    remedies: tuple[Remedy, ...] = (Remedy("gold", workers[0], when="it holds the true classes"),) if alone else ()
    finding = Finding("worker-columns", level, sentence, len(workers), examples=workers[:LISTED], remedies=remedies)
    findings = [finding] if workers else []
    if are_places(workers) and not named:
        findings.append(no_workers(len(workers), Remedy("workers", list(workers), when="each column is a worker")))
    if named and aside:
        findings.append(replace(columns_left_out(workers, aside), level="note", remedies=()))
    elif aside:
        plainly = {c: what for c, what in aside.items() if what in _NO_LABELS}
        doubtful = {c: what for c, what in aside.items() if c not in plainly}
        findings += [columns_left_out(workers, doubtful)] if doubtful else []
        if plainly:
            change = columns_left_out(workers, plainly)
            findings.append(replace(change, level="warning", sentence=change.accepted))
    return tuple(findings)


def columns_left_out(kept: tuple[str, ...], aside: dict[str, str], role: str = "worker") -> Finding:
    """The change that leaves columns aside: column -> its apparent content instead of a ``role``."""
    listed = ", ".join(f"{c!r} ({what})" for c, what in [*aside.items()][:SHOWN])
    more = f" and {len(aside) - SHOWN:,} more" if len(aside) > SHOWN else ""
    likely = [c for c, what in aside.items() if what in ("gold", "a model's labels")][:SHOWN]
    remedies = (
        *(Remedy("workers", [*kept, c], when=f"{c!r} is a worker, too") for c in likely),
        *(Remedy("gold", c, when=f"{c!r} holds the true classes") for c in likely),
        *((Remedy("workers", when="another is a worker"),) if len(likely) < len(aside) else ()),
        *((Remedy("gold", when="another is the gold"),) if len(likely) < len(aside) else ()),
    )
    what, detail = (
        f"{plural(len(aside), 'column')} that {'is' if len(aside) == 1 else 'are'} no {role}",
        f": {listed}{more}",
    )
    change = make_change("columns-left-out", what, "be left out", None, detail, count=len(aside))
    return replace(change, examples=tuple(aside)[:SHOWN], remedies=remedies if role == "worker" else ())
