"""Collect texts with marked spans one by one; every token becomes a task, and its tag the label."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.core.memory import release_memory
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import BLOCK, Codes, compact, gather, strings
from crowdcore.data.readers._answers import Answers, ground_truth, left_out, text_of, without_labels
from crowdcore.data.readers._tokens import Marked, Span, Text, tag, token_ids
from crowdcore.data.readers.base import Raw, RawTasks
from crowdcore.data.report import Finding, make_change, plural
from crowdcore.data.sentences import Sentences, rows_of

_FAULTS = {
    "span-malformed": "of unclear place or label",
    "span-empty": "of no token",
    "span-outside": "reaching outside the text",
    "span-text": "whose words are elsewhere in the text",
    "span-in-token": "cutting a token",
    "span-overlap": "overlapping another one of the same worker, which is kept (the longest; the first among equals)",
}
_NOTES = {
    "span-twice": "given twice by the same worker, counted once",
    "span-blanks": "with spaces at the ends, which belong to no token",
    "span-utf16": "with offsets in UTF-16 units, read by the words that the file gives with them",
}
_TEXTS = 4096  # texts whose words are Python strings at once
_CORRECT = "Offsets count characters from 0; the end is the position after the last character."


@dataclass
class MarkedTexts(Answers):
    """`Answers` that are spans: `mark` adds those of a worker in a text.

    Args:
        unmarked: whether texts in which a worker marked nothing are kept, unless the settings say so.
    """

    unmarked: str = "keep"
    numbers: dict[str, int] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    types: dict[str, int] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)
    of_worker: array[int] = field(default_factory=lambda: array("i"))
    of_text: array[int] = field(default_factory=lambda: array("i"))
    tags: array[int] = field(default_factory=lambda: array("i"))
    lost: dict[str, int] = field(default_factory=dict)
    faults: dict[str, list[tuple[int, str, int]]] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    true_tags: dict[int, list[tuple[int, list[int]]]] = field(default_factory=dict)

    def mark(
        self,
        row: int,
        task: str,
        worker: object,
        text: object,
        spans: Sequence[Span],
        tokens: Sequence[tuple[int, int]] | None = None,
    ) -> None:
        """Add the spans that a worker marked in a text."""
        number = self._text(row, task, worker, text, tokens)
        if number is None:
            return
        if not spans and (self.settings.unmarked or self.unmarked) == "drop":
            self.refuse("unmarked", row, worker, text)
            return
        name = text_of(worker)
        marked = self._tag(row, number, spans, name)
        self.row.append(row)
        self.of_worker.append(-1 if name is None else self.workers.setdefault(name, len(self.workers)))
        self.of_text.append(number)
        self.tags.extend(marked.tags)

    def mark_truth(self, row: int, task: str, text: object, spans: Sequence[Span]) -> None:
        """Add spans that are the gold of a text; if they contradict each other, none count."""
        number = self._text(row, task, None, text, None)
        if number is not None:
            self.true_tags.setdefault(number, []).append((row, self._tag(row, number, spans, "gold").tags))

    def refuse(self, code: str, row: int, worker: object, text: object) -> None:
        """Leave out a worker's spans of a text, and count the tags that they would be."""
        self.leave_out(code, row, worker)
        self.lost[code] = self.lost.get(code, 0) + (len(Text.of(text)) if isinstance(text, str) else 0)

    def _text(
        self, row: int, task: str, worker: object, text: object, tokens: Sequence[tuple[int, int]] | None
    ) -> int | None:
        """Number of a task's text; None if it has none, or another one than before."""
        if not isinstance(text, str):
            self.leave_out("no-text", row, worker)
            self.lost.setdefault("no-text", 0)
            return None
        if task in self.numbers:
            number = self.numbers[task]
            if self.texts[number].text == text:
                return number
            self.refuse("other-text", row, worker, text)
            return None
        cut = Text.of(text, tokens)
        if not len(cut):
            self.refuse("no-text", row, worker, text)
            return None
        self.numbers[task] = len(self.texts)
        self.texts.append(cut)
        return self.numbers[task]

    def _tag(self, row: int, number: int, spans: Sequence[Span], worker: str | None) -> Marked:
        marked = tag(self.texts[number], spans, self.types)
        for fault, lost in marked.faults:
            self.faults.setdefault(fault.code, []).append((row, f"{worker}: {fault.words}", lost))
        for code, count in marked.notes.items():
            self.notes[code] = self.notes.get(code, 0) + count
        return marked

    def raw(self, form: str, **more: Any) -> Raw:
        """Everything as `Raw`, with a row for each worker and token."""
        left = self._findings()
        if not self.row or not self.types:
            reasons = f": {'; '.join(f.sentence for f in left)}" if left else ""
            raise DataError(f"No worker marked a span in a text{reasons}", file=self.source.path)
        of_text = np.frombuffer(self.of_text, np.int32)
        known = np.unique(np.append(of_text, np.array([*self.true_tags], np.int64)))  # texts that somebody marked
        lengths = np.array([len(self.texts[number]) for number in known])
        blocks = (known[at : at + _TEXTS] for at in range(0, len(known), _TEXTS))
        words = pa.concat_arrays([strings(w for n in block for w in self.texts[n].words()) for block in blocks])
        n_texts, self.texts = len(self.texts), []
        if n_texts > _TEXTS:
            gc.collect()  # free tuples that Python caches, which keep the memory around them
        release_memory()  # of the texts, before the arrays are made
        start = np.concatenate([[0], np.cumsum(lengths)])
        place = np.full(n_texts, -1)
        place[known] = np.arange(len(known))
        tasks, self.numbers = list(self.numbers), {}
        names = strings(tasks[number] for number in known)
        ids = token_ids(names, np.repeat(np.arange(len(known), dtype=np.int32), lengths), start)
        every = Codes(ids, np.arange(len(ids), dtype=np.int32))
        release_memory()  # of what their names were made of
        kinds = sorted(self.types)
        classes = ("O", *(f"{part}-{kind}" for kind in kinds for part in "BI"))
        code = np.zeros(2 * len(kinds) + 2, np.int32)  # code of each tag; the last is none
        for rank, kind in enumerate(kinds):
            code[1 + 2 * self.types[kind] : 3 + 2 * self.types[kind]] = 1 + 2 * rank, 2 + 2 * rank
        code[-1] = -1
        small = code.astype(np.min_scalar_type(-len(code)))  # for look-ups only
        tags, self.tags = gather(small, np.frombuffer(self.tags, np.int32)), array("i")
        token, row, tags = _by_token(start, place[of_text], tags)
        given = tags >= 0
        if not given.all():
            token, row, tags = token[given], row[given], tags[given]
        worker = gather(np.frombuffer(self.of_worker, np.int32), row)
        workers = compact(strings(self.workers), worker, out=worker)
        rows = gather(self._file_rows(self.row).astype(np.int32), row, out=row)
        gold = self._gold(code, start, place) if self.true_tags else None
        table = self.source.table
        noticed = (*table.findings, *table.repeated_headers(per_row=0)) if table else ()
        idle = [
            *without_labels("worker", [worker for worker in self.seen if worker not in self.workers]),
            *without_labels("text", [tasks[number] for number in np.flatnonzero(place < 0)]),
        ]
        findings = (*noticed, *left, *idle, *self._noted(), *more.pop("findings", ()))
        return Raw(
            form,
            compact(ids, token),
            workers,
            compact(strings(classes), tags, out=tags),
            n_rows=len(tags) + sum(finding.left_out for finding in findings),
            **(table.about if table else {}) | {"columns": more.pop("columns", tuple(self.columns.values()))},
            roles=self.columns,
            rows=rows,
            tasks=RawTasks(every, True, gold),
            classes=classes,
            sentences=Sentences(start, pd.Index(names.to_pandas()), pd.Index(words.to_pandas())),
            findings=findings,
        )

    def _gold(self, code: IntArray, start: IntArray, place: IntArray) -> Codes:
        """The true tag of each token."""
        true = np.full(start[-1], -1, np.int32)
        for number, given in self.true_tags.items():
            if all(tags == given[0][1] for _, tags in given):
                true[start[place[number]] : start[place[number] + 1]] = code[np.array(given[0][1])]
        return compact(strings(("O", *(f"{part}-{kind}" for kind in sorted(self.types) for part in "BI"))), true)

    def _findings(self) -> list[Finding]:
        """Findings on tags that are left out."""
        findings = [
            replace(left_out(code, self._file_rows(rows)), left_out=self.lost.get(code, 0))
            for code, rows in self.dropped.items()
        ]
        for code, why in _FAULTS.items():
            faults = self.faults.get(code, [])
            if faults:
                rows, words, lost = zip(*faults, strict=True)
                what, detail = f"{plural(len(faults), 'span')} {why}", f": {'; '.join(words[:3])}"
                change = make_change(code, what, "be left out", self._file_rows(list(rows)), detail)
                findings.append(replace(change, examples=words[:5], remedy=_CORRECT, left_out=sum(lost)))
        return findings

    def _noted(self) -> list[Finding]:
        findings = [
            Finding(code, "note", f"{plural(count, 'span')} {_NOTES[code]}", count)
            for code, count in self.notes.items()
        ]
        truths = [(row, number) for number, given in self.true_tags.items() for row, _ in given]
        if truths:
            n = sum(len(given[0][1]) * len(given) for given in self.true_tags.values())
            findings.append(ground_truth(self._file_rows([row for row, _ in truths]), n))
        wrong = [given[-1][0] for given in self.true_tags.values() if any(tags != given[0][1] for _, tags in given)]
        if wrong:
            what = f"{plural(len(wrong), 'text')} with contradicting gold"
            findings.append(make_change("gold-contradicts", what, "count as unknown", self._file_rows(wrong)))
        return findings


def _by_token(start: IntArray, text: IntArray, tags: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sort the tags of texts by token, those of a token by answer.

    ``start`` (n_texts + 1,) is the first token of each text, ``text`` (n_answers,) the text of each answer, ``tags``
    (n,) the answers' tags, one answer after another. Returns (n,) int32 token, answer and tag.
    """
    lengths, order = np.diff(start), np.argsort(text, kind="stable").astype(np.int32)
    answers = np.bincount(text, minlength=len(lengths))
    row = rows_of(np.append(0, np.cumsum(answers)), np.repeat(np.arange(len(lengths)), lengths), np.int32)
    gather(order, row, out=row)
    token = np.repeat(np.arange(start[-1], dtype=np.int32), np.repeat(answers, lengths))
    first = (np.cumsum(lengths[text]) - lengths[text] - start[text]).astype(np.int32)
    given = np.empty(len(row), np.int32)
    for at in range(0, len(row), BLOCK):
        own = slice(at, at + BLOCK)
        given[own] = tags[first[row[own]] + token[own]]
    return token, row, given
