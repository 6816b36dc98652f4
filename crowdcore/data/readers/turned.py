"""Tables turned round: a row per worker, a column per task, as forms and questionnaires are exported."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.columns import ALIASES, MappingError, plain
from crowdcore.data.readers._stacked import Block, constant, number_rows, stack
from crowdcore.data.readers._worker_columns import (
    cells_of,
    columns_left_out,
    names_tasks,
    shape,
    share_labels,
    told_apart,
)
from crowdcore.data.readers.base import Raw, Reader, Source
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table

_PEOPLE = {
    *("respondent", "respondents", "participant", "rater", "annotator", "coder", "judge", "worker", "workerid", "user"),
    *("username", "email", "e_mail", "mail", "reviewer", "evaluator", "labeler", "labeller", "responseid", "assessor"),
    *("student", "observer", "record_id", "prolific_pid", "participantid", "userid", "respondentid", "antwort_id"),
}
_PERSONAL = {"id", "name", "first_name", "last_name", "vorname", "nachname", "nom", "prénom", "nombre", "custom_data_1"}
_FIRST = 20  # columns among which addresses of people are looked for
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
_WEAK = {"score", "status", "date", "time"}  # which columns of other tables are called, too


class TurnedTable(Reader):
    """Each further column is a task, called as the column is; empty cells are missing."""

    name: ClassVar[str] = "turned"
    title: ClassVar[str] = "Turned table (workers × tasks)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """The settings say so, or a column of people, all different, stands beside columns that share their labels."""
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
        of_people = _PEOPLE | {*ALIASES["worker"]}
        if all(of_people & {*plain(c).split("_"), shape(plain(c)).strip("#")} for c in items):
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
        who = f"the workers of column {worker!r}" if worker is not None else "workers, who are called 1, 2, 3 …"
        sentence = f"{plural(n, 'row')} became {who}, and {plural(len(items), 'column')} became tasks"
        remedies = (Remedy("turn", False, when="rows are tasks and columns workers"),)
        finding = Finding("turned", "warning", sentence, n, remedies=remedies)
        change = [columns_left_out(tuple(items), aside, "task")] if aside else []
        roles = {"task": plural(len(items), "column"), **({} if worker is None else {"worker": worker})}
        return stack(self.name, table, settings, blocks, roles, findings=(finding, *change))


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
    """Whether a column is called like those about a whole response."""
    return any(plain(c) in _ABOUT_RESPONSES - _WEAK for c in table.columns)


def _items(table: Table, worker: str | None) -> tuple[list[str], dict[str, str]]:
    """The columns of tasks, and those that seem to hold something else; without those about a whole response."""
    about = {c for c in table.columns if plain(c) in _ABOUT_RESPONSES or plain(c).endswith("_complete")}
    about |= {
        c for c in table.columns if " - " in c and c.partition(" - ")[2] in table.columns
    }  # Points - …, Feedback - …
    if _is_form(table):
        about |= {c for c in table.columns[:_FIRST] if plain(c) in _PERSONAL | _PEOPLE or not cells_of(table, c)}
    left = tuple(c for c in table.columns if c not in about and c != worker)
    aside = told_apart(table, left, numbers=True)
    return [c for c in left if c not in aside], aside
