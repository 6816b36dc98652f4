"""Pairs of columns: a row per task, and for each annotation a column of the worker beside one of the label."""

from __future__ import annotations

import re
from typing import ClassVar

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.columns import ALIASES, assign_roles, plain
from crowdcore.data.readers._stacked import Block, number_rows, stack
from crowdcore.data.readers._worker_columns import ABOUT_TASKS, names_tasks, shape
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.report import Finding, plural
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Table

_WORKER = {*ALIASES["worker"], "by", "name", "who", "reviewer", "evaluator", "assessor"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_LETTER = re.compile(r"(?<=[ _.-])[A-Ha-h]$")  # in place of a number
_LABEL = {*ALIASES["label"], "score", "verdict", "judgement", "tag", "grade"}


class Pairs(Reader):
    """``annotator_1, label_1, annotator_2, label_2`` …: the columns of one number belong together."""

    name: ClassVar[str] = "pairs"
    title: ClassVar[str] = "Pairs of columns (worker and label)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """Numbered columns of two kinds: one names different workers in each row, who come again in others."""
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
        about = {role: codes[column] for role, column in roles.items()}
        about.setdefault("task", number_rows(n))
        words = _words(shape(pairs[0][0]))
        role = "task" if words & {*ALIASES["task"], *MEDIA} and not words & _WORKER else "worker"
        if role == "task":  # items of a worker, beside one another
            who = person or roles.get("task")
            people, about = codes[who] if who else about["task"], {"task": about["task"]}
            blocks = [Block(codes[item], people, codes[label]) for item, label in pairs]
            roles = {"worker": who} if who else {}
        else:
            blocks = [Block(about["task"], codes[worker], codes[label]) for worker, label in pairs]
        sentence = f"{plural(len(pairs), 'pair')} of columns were read as a {role} and the label, such as {pairs[0]}"
        remedies = (Remedy("workers", [label for _, label in pairs], when="the columns of labels are the workers"),)
        finding = Finding("pairs", "note", sentence, len(pairs), remedies=remedies)
        roles |= {role: f"{pairs[0][0]} …", "label": f"{pairs[0][1]} …"}
        tasks = None if len(about) == 1 else RawTasks.of(about, True, table.escaped)
        return stack(self.name, table, settings, blocks, roles, tasks, findings=(finding,))


def _pairs(table: Table) -> list[tuple[str, str]]:
    """(worker's column, label's column), by number."""
    kinds: dict[str, dict[str, str]] = {}
    for name in table.columns:
        told = _words(_LETTER.sub("", name)) & (_WORKER | _LABEL)
        numbered = _LETTER.sub(lambda found: str(ord(found[0].lower())), name) if told else name
        numbered = f"{name} (1)" if name in table.repeated else numbered
        if told and (order := {*plain(name).split("_")} & {*_ORDINALS}):
            numbered = re.sub(word := order.pop(), str(_ORDINALS.index(word) + 1), plain(name))
        if shape(numbered).count("#") == 1:
            number = re.sub("[^0-9]+", "", numbered)
            kinds.setdefault(shape(numbered), {})[number] = name
    kinds = {kind: columns for kind, columns in kinds.items() if len(columns) > 1}
    if len(kinds) < 2:
        return []
    workers = [kind for kind, columns in kinds.items() if _name_people(table, [*columns.values()], kind)]
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


def _name_people(table: Table, columns: list[str], kind: str) -> bool:
    """Whether the cells of each row differ, and come again in other rows."""
    rows = [[word for word in row if word] for row in zip(*map(table.words, columns), strict=True)]
    filled = [row for row in rows if len(row) > 1]
    if not filled or any(len(set(row)) < len(row) for row in filled):
        return False
    counts: dict[str, int] = {}
    for value in (value for row in rows for value in row):
        counts[value] = counts.get(value, 0) + 1
    again = 2 * len(counts) <= sum(counts.values())
    return again and (bool(_words(kind) & _WORKER) or (len(filled) > 7 and len(counts) >= len(columns)))
