"""Wide tables: a row for each task and a column for each worker, or the other way around."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.memory import release_memory
from crowdcore.core.types import IntArray
from crowdcore.data.columns import ALIASES, RATING_ALIASES, MappingError, alias_findings, have_key, plain
from crowdcore.data.dictionary import MINUS_ONE, Codes, compact, counted, strings
from crowdcore.data.encoder import Encoder, encode
from crowdcore.data.readers._stacked import (
    ABOUT_PEOPLE,
    NUMBER,
    Block,
    WorkerColumns,
    alike,
    are_texts,
    blank,
    cells_of,
    columns_left_out,
    constant,
    empty_cells,
    find_workers,
    names_tasks,
    number_rows,
    other_contents,
    shape,
    share_labels,
    stack,
)
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.readers.counts import ask_whether_counts, ask_whether_tags, ask_whether_totals
from crowdcore.data.report import Finding, Level, make_change, plural, quoted
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.base import Arrow

_TOTALS = {
    *("total", "totals", "grand total", "sum", "mean", "average", "count", "n", "all", "subtotal", "avg", "median"),
    *("summe", "gesamt", "mittelwert", "insgesamt", "anzahl", "moyenne", "somme", "suma", "promedio", "media"),
    *("итого", "всего", "合计", "总计", "合計"),
}


class WideTable(Reader):
    """A matrix of labels; empty cells are missing. Rows without an id column are called 1, 2, 3 …"""

    name: ClassVar[str] = "wide"
    title: ClassVar[str] = "Wide table (tasks × workers)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """No column is that of the worker, and the columns share their labels."""
        if source.table is None or settings.worker or settings.label:
            return 0.0
        columns = source.table.columns
        cols = find_workers(source.table, settings)
        named = {c for c in columns if plain(c) in (*ALIASES["worker"], *ALIASES["label"])} - {*cols.roles.values()}
        named -= {c for c in cols.aside if are_texts(cells_of(source.table, c))}
        alone = named <= {*cols.aside} and len(cols.workers) > 1 and alike(cols.workers)
        if named and settings.turn is None and not (alone and _names_once(source.table, cols.roles)):
            return 0.0
        roles, workers = cols.roles, cols.workers
        if not workers:
            return 0.0
        if len(workers) == 1 and (
            "task" not in roles
            or plain(workers[0]) in RATING_ALIASES
            or workers[0] in source.table.written_nested
            or not _names_once(source.table, roles)
        ):
            return 0.0
        head = source.table.head
        filled = [[word for word in source.table.words(c) if word not in ("", *MINUS_ONE)] for c in workers]
        full = len(columns) == 3 and all(len(column) == len(head) for column in filled)
        if full and not roles and (len(head) < 10 or have_key(source.table, columns)):
            return 0.0  # may as well be task, worker and label under unknown names
        given = [column for column in filled if column]
        rated = settings.kind == "ratings" and all(_are_ratings(c, settings.levels or ()) for c in given)
        return 0.4 if rated or share_labels(given) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the filled cells, piece by piece."""
        table = source.need_table()
        missing = ("", *(settings.missing or ()))
        cols = find_workers(table, settings)
        roles, workers = cols.roles, cols.workers
        if not workers:
            raise DataError("There is no column of a worker", file=source.path, remedies=(Remedy("workers"),))
        if table.repeated:
            twice = min(table.repeated)
            raise DataError(f"Two columns are called {twice!r}", "Rename one.", file=source.path, column=twice)
        encoders = {role: Encoder() for role in roles}
        labels, rows, columns = Encoder(), bytearray(), bytearray()  # int32, grow in place
        n = 0
        for chunk in table.stream(table.columns):
            for role, encoder in encoders.items():
                with table.naming(roles[role]):
                    encoder.add(chunk[roles[role]])
            row, column, values = _melt(table, chunk, workers, missing)
            labels.add(values)
            rows += (row + n).astype(np.int32).data
            columns += column.data
            n += chunk.num_rows
            del chunk, values
            release_memory()
        if n == 0:
            raise DataError("There are columns, but no rows", file=source.path)
        table.refuse_nested((*workers, *(column for role, column in roles.items() if role not in MEDIA)))
        task_row, worker, label = np.frombuffer(rows, np.int32), np.frombuffer(columns, np.int32), labels.finish()
        cells = table.n_read * len(workers)
        empty, repeated = n * len(workers) - len(label), table.repeated_headers(per_row=len(workers))
        without, noticed = _without_minus_one(label, cells, settings)
        if without is not None:
            task_row, worker, label = task_row[without], worker[without], label.take(without)
        part = {role: encoder.finish() for role, encoder in encoders.items()}
        notes = _footnotes(task_row, n, part.get("task"))
        noticed, end = [*noticed, *notes], int(task_row.max()) + 1 if notes else n
        total = _total_row(label, task_row, end, part.get("task"), settings)
        if total is not None:
            kept = np.flatnonzero(task_row != end - 1)
            task_row, worker, label, n = task_row[kept], worker[kept], label.take(kept), end - 1
            part, noticed = {role: codes.take(np.arange(n)) for role, codes in part.items()}, [*noticed, total]
        ids = part.get("task") or number_rows(n)
        named = np.flatnonzero(~blank(ids))  # a blank row is no task
        listed = named if len(named) else np.arange(n)
        counts = counted(worker, len(workers))
        noticed = [*noticed, *_orientation(n, cols, ids, settings)]
        if settings.workers is None and settings.kind != "ratings":
            noticed += ask_whether_counts(table, workers) or ask_whether_tags(table, workers)
        findings = alias_findings({r: c for r, c in roles.items() if r in part}, (), settings)
        return Raw(
            self.name,
            ids.take(task_row),
            compact(strings(workers), worker),
            label,
            **table.about,
            roles={**roles, "worker": plural(len(workers), "column")},
            n_rows=cells,
            rows=table.row_numbers(task_row),
            tasks=RawTasks.of({**part, "task": ids}, True, table.escaped).take(listed),
            findings=(
                *(*table.findings, *findings, *cols.findings, *repeated),
                *(*empty_cells(empty, cells), *noticed, *_empty_columns(workers, counts)),
            ),
        )


def _total_row(label: Codes, task_row: IntArray, n: int, task: Codes | None, settings: ReadSettings) -> Finding | None:
    """A question about a last row whose cells no other row has: numbers below words, or called a total."""
    last = task_row == n - 1
    if settings.totals is False or n < 4 or not last.any():
        return None
    words = sorted({label.values[int(code)].as_py().strip() for code in np.unique(label.codes[last])})
    others = label.values.take(pa.array(np.unique(label.codes[~last]))).to_pylist()
    name = "" if task is None or task.codes[n - 1] < 0 else task.values[int(task.codes[n - 1])].as_py()
    numbers = bool(others) and all(map(NUMBER.match, words)) and not any(map(NUMBER.match, others))
    if last.sum() < 2 and not numbers:
        return None
    apart = {*words}.isdisjoint(word.strip() for word in others)
    if settings.totals is None and not (apart and (numbers or name.strip().strip(":").casefold() in _TOTALS)):
        return None
    count, listed = int(last.sum()), ", ".join(map(repr, words[:3]))
    sentence = f"The last row, {name!r}, holds what no other row does ({listed}), and was left out as one of totals"
    remedies = (Remedy("totals", True, when="so"), Remedy("totals", False, when="it is a task"))
    level: Level = "question" if settings.totals is None else "note"
    choices = remedies if settings.totals is None else remedies[1:]
    return Finding("total-row", level, sentence, 1, (n,), examples=(*words[:3],), left_out=count, remedies=choices)


def _footnotes(task_row: IntArray, n: int, task: Codes | None) -> list[Finding]:
    """A warning about last rows without a label whose names have other signs than those of tasks."""
    last = int(task_row.max(initial=-1)) + 1
    if task is None or not 3 < last < n:
        return []
    names = [task.values[int(code)].as_py() for code in task.codes[last:] if code >= 0]
    above = {word for name in task.take(np.arange(last)).values.to_pylist() for word in re.findall(r"\W", name)}
    odd = [name for name in names if {*re.findall(r"\W", name)} - above or name.strip().casefold() in _TOTALS]
    if not odd:
        return []
    notes, tasks = ("a note", "no task") if len(odd) == 1 else ("notes", "no tasks")
    listed = ", ".join(f"{name[:60]!r}" for name in odd[:3])
    sentence = f"{plural(len(odd), 'last row')} without a label may be {notes} below the table, and {tasks}: {listed}"
    return [Finding("footnote", "warning", sentence, len(odd), examples=(*odd[:5],), remedy="Delete what is no task.")]


def _orientation(n: int, cols: WorkerColumns, ids: Codes, settings: ReadSettings) -> list[Finding]:
    """Ask whether the table is turned, if workers outnumber tasks or share their names, or rows describe people."""
    workers, named = cols.workers, settings.workers is not None
    n_workers = len(workers)
    if n > 1 and not named and {*ids.values.to_pylist()} == {*workers}:
        sentence = "Rows and columns have the same names: the table may count how often two people chose these classes"
        columns = (Remedy("workers", list(workers), when="columns are workers"),)
        return [Finding("rows-as-columns", "question", sentence, n_workers, remedies=columns)]
    people = [c for c, what in cols.aside.items() if what == ABOUT_PEOPLE] if not _are_people(workers) else []
    if settings.turn is not None or named or not (people or n_workers > max(n, 4)):
        return []
    why = f"{quoted(people)} may describe the person of each row" if people else "there are more of those"
    sentence = f"{plural(n, 'row')} became tasks and {plural(n_workers, 'column')} became workers: {why}"
    remedies = (
        Remedy("turn", True, when="rows are workers and columns are tasks"),
        Remedy("turn", False, when="columns are workers"),
    )
    known = plain(cols.roles.get("task", "")) in ALIASES["task"]
    level: Level = "warning" if known and not people else "question"
    return [Finding("orientation", level, sentence, n_workers, remedies=remedies)]


def _without_minus_one(label: Codes, cells: int, settings: ReadSettings) -> tuple[IntArray | None, list[Finding]]:
    """The filled cells (None: all) without -1 if that seems to mean missing, and findings on it.

    -1 means missing if the class list lacks it, or if none is given and the other labels, at least two, are words or
    numbers from 0.
    """
    if settings.missing is not None or not label.holds(MINUS_ONE):
        return None, []
    names = [name.strip() for name in label.values.to_pylist()]
    others = {name for name in names if name not in MINUS_ONE}
    is_label = len(others) < 2 or any(re.fullmatch(r"-[0-9.]+", name) for name in others)
    if settings.classes is not None:
        is_label = bool({*MINUS_ONE} & {*settings.classes})
    if is_label:
        return None, []
    gone = np.append([name in MINUS_ONE for name in names], False)[label.codes]
    n = int(gone.sum())
    remedies = (Remedy("missing", [], when="-1 is a label"), Remedy("missing", ["-1"], when="it means “missing”"))
    what = f"{n:,} of {plural(cells, 'cell')} that hold -1"
    change = make_change("minus-one", what, "be read as missing", count=n, remedies=remedies, left_out=n)
    return np.flatnonzero(~gone), [replace(change, level="note") if settings.classes is not None else change]


def _empty_columns(workers: tuple[str, ...], counts: IntArray) -> list[Finding]:
    empty = [worker for worker, count in zip(workers, counts, strict=True) if count == 0]
    if not empty:
        return []
    what, detail = plural(len(empty), "empty worker column"), f": {quoted(empty)}"
    change = make_change("empty-worker-column", what, "be left out", None, detail, count=len(empty))
    return [replace(change, examples=tuple(empty[:5]))]


def _names_once(table: Table, roles: Mapping[str, str]) -> bool:
    """Return whether no task is repeated."""
    cells = cells_of(table, roles["task"]) if "task" in roles else []
    return len({*cells}) == len(cells)


def _are_ratings(cells: list[str], levels: tuple[str, ...]) -> bool:
    """Return whether at least half of a column's cells are numbers or words for levels."""
    numbers = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").notna()
    return 2 * int((numbers | pd.Series(cells).isin(levels)).sum()) >= len(cells)


def _melt(
    table: Table, chunk: Arrow, workers: tuple[str, ...], missing: tuple[str, ...]
) -> tuple[IntArray, IntArray, Arrow]:
    """Row, worker number and text of the filled cells, row by row."""
    rows, columns, texts = [], [], []
    for number, name in enumerate(workers):
        with table.naming(name):
            codes = encode(chunk[name])
        void = np.array([v.strip() in missing for v in codes.values.to_pylist()] + [True])
        filled = np.flatnonzero(~void[codes.codes])
        rows.append(filled)
        columns.append(np.full(len(filled), number, np.int32))
        texts.append(codes.values.take(pa.array(codes.codes[filled])))
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(row, kind="stable")
    return row[order], column[order], pa.chunked_array(texts, pa.large_string()).take(pa.array(order))


_PEOPLE = {
    *("respondent", "respondents", "participant", "rater", "annotator", "coder", "judge", "worker", "workerid", "user"),
    *("username", "email", "e_mail", "mail", "reviewer", "evaluator", "labeler", "labeller", "responseid", "assessor"),
    *("student", "observer", "record_id", "prolific_pid", "participantid", "userid", "respondentid", "antwort_id"),
}
_PERSONAL = {"id", "name", "first_name", "last_name", "vorname", "nachname", "nom", "prénom", "nombre", "custom_data_1"}
_FIRST = 20  # columns searched for addresses of people
_ABOUT_RESPONSES = {  # columns of Qualtrics, Google Forms, LimeSurvey and REDCap about a response
    *("timestamp", "startdate", "enddate", "recordeddate", "status", "ipaddress", "progress", "finished", "score"),
    *("duration_(in_seconds)", "recipientlastname", "recipientfirstname", "recipientemail", "externalreference"),
    *("locationlatitude", "locationlongitude", "distributionchannel", "userlanguage", "responseid", "zeitstempel"),
    *("redcap_event_name", "redcap_survey_identifier", "submitdate", "lastpage", "startlanguage", "seed", "token"),
    *("start_time", "completion_time", "submitted_at", "date", "time", "date_submitted", "horodateur"),
    *("collector_id", "date_created", "date_modified", "ip_address", "datum_abgeschickt", "letzte_seite"),
    *("start_sprache", "zufallsstartwert", "last_page", "start_language", "marca_temporal", "отметка_времени"),
    *("carimbo_de_data_hora", "informazioni_cronologiche", "时间戳记", "タイムスタンプ", "startzeit"),
    "fertigstellungszeit",
}
_WEAK = {"score", "status", "date", "time"}  # also names of columns of other tables


class TurnedTable(Reader):
    """Each further column is a task with the column's name; empty cells are missing."""

    name: ClassVar[str] = "turned"
    title: ClassVar[str] = "Turned table (workers × tasks)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The settings say so, or a column of distinct people is beside columns that share their labels."""
        table = source.table
        if table is None or settings.turn is False or settings.label or settings.task or settings.workers:
            return 0.0
        if settings.turn:
            return 1.0
        if not table.header and table.delimiter is not None:
            return 0.0
        worker = _people(table, settings)
        if worker is None and not _is_form(table):
            return 0.0
        items, _ = _items(table, worker)
        if _are_people(items):
            return 0.0
        strong = worker is not None or all("?" in c or " " in c or "#" in shape(c) for c in items)
        return 0.5 if strong and len(items) > 1 and share_labels([cells_of(table, c) for c in items]) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the columns of tasks."""
        table = source.need_table()
        if settings.worker is not None and settings.worker not in table.columns:
            raise MappingError(f"There is no column {settings.worker!r}", table.columns, {}, source.path, "worker")
        ids = names_tasks(table) and plain(table.columns[0]) not in _ABOUT_RESPONSES
        worker = _people(table, settings) or (table.columns[0] if ids else None)
        items, aside = _items(table, worker)
        if not items:
            raise DataError("There is no column of a task", file=source.path, remedies=(Remedy("turn", False),))
        codes, _ = table.encode(tuple(dict.fromkeys([*items, *([] if worker is None else [worker])])))
        table.refuse_nested(items)
        n = len(codes[items[0]])
        people = codes[worker] if worker is not None else number_rows(n)
        blocks = [Block(constant(name, n), people, codes[name]) for name in items]
        workers = f"the workers of column {worker!r}" if worker is not None else "workers, who are called 1, 2, 3 …"
        sentence = f"{plural(n, 'row')} became {workers}, and {plural(len(items), 'column')} became tasks"
        remedies = (Remedy("turn", False, when="rows are tasks and columns workers"),)
        finding = Finding("turned", "warning", sentence, n, remedies=remedies)
        change = [columns_left_out(tuple(items), aside, "task")] if aside else []
        roles = {"task": plural(len(items), "column"), **({} if worker is None else {"worker": worker})}
        asked = ask_whether_totals(table, tuple(items)) if settings.turn is None and settings.kind != "ratings" else []
        return stack(self.name, table, settings, blocks, roles, findings=(finding, *change, *asked))


def _are_people(columns: Sequence[str]) -> bool:
    """Return whether columns are named like people: ``rater1``, ``coder_b``."""
    known = _PEOPLE | {*ALIASES["worker"]}
    return all(known & {*plain(c).split("_"), shape(plain(c)).strip("_#")} for c in columns)


def _people(table: Table, settings: ReadSettings) -> str | None:
    """The column that names people, a different one in each row."""
    if settings.worker is not None:
        return settings.worker if settings.worker in table.columns else None
    for column in table.columns:
        words = plain(column)
        named = words in _PEOPLE or any(words in (f"{word}_id", f"{word}_name", f"{word}_address") for word in _PEOPLE)
        cells = cells_of(table, column) if named or column in table.columns[:_FIRST] else []
        mails = bool(cells) and 2 * sum("@" in cell for cell in cells) > len(cells)
        if (named or mails) and len(cells) == len(table.head) == len(set(cells)) > 1:
            return column
    for column in table.columns[:_FIRST] if _is_form(table) else ():
        cells, words = cells_of(table, column), plain(column)
        if words not in _ABOUT_RESPONSES and len(cells) == len(table.head) == len({*cells}) > 1:
            others = (cell for c in table.columns if c != column for cell in cells_of(table, c))
            return column if words == "id" or {*cells}.isdisjoint(others) else None
        if words not in _ABOUT_RESPONSES | _PERSONAL | _PEOPLE:
            return None
    return None


def _is_form(table: Table) -> bool:
    """Return whether a column is named like those about a whole response."""
    return any(plain(c) in _ABOUT_RESPONSES - _WEAK for c in table.columns)


def _items(table: Table, worker: str | None) -> tuple[list[str], dict[str, str]]:
    """The columns of tasks, and those with other apparent content; without those about a whole response."""
    about = {c for c in table.columns if plain(c) in _ABOUT_RESPONSES or plain(c).endswith("_complete")}
    # Points - …, Feedback - …
    about |= {c for c in table.columns if " - " in c and c.partition(" - ")[2] in table.columns}
    if _is_form(table):
        about |= {c for c in table.columns[:_FIRST] if plain(c) in _PERSONAL | _PEOPLE or not cells_of(table, c)}
    left = tuple(c for c in table.columns if c not in about and c != worker)
    numeric = [all(map(NUMBER.match, cells)) for c in left if (cells := cells_of(table, c))]
    aside = other_contents(table, left, numbers=2 * sum(numeric) > len(numeric))
    return [c for c in left if c not in aside], aside
