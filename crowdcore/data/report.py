"""Findings of an import, and the report of what would be dropped or merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from crowdcore.core.errors import Phrasing, Remedy, in_python, phrase
from crowdcore.core.types import AnyArray

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled

Level = Literal["note", "warning", "change", "question"]
Role = Literal["label", "worker"]
SHOWN = 5
IMAGES, TEXTS = "unusable-images", "blank-texts"
"""Codes of the findings about tasks whose image or text cannot be used."""
UNNAMED = "No worker is named"
"""Start of the note on labels without a worker."""
_LONG = 60  # letters of a name in an example
_UNIT = {"wide": "cell"}  # place of an annotation, where that is not a row


@dataclass(frozen=True)
class Finding:
    """One thing noticed while reading.

    Args:
        code: a fixed word for machines, e.g. ``"label-outside-classes"``.
        level: ``"question"`` doubts that the file was understood: one of ``remedies`` answers it, or it is accepted
            as read; ``"change"`` drops or merges something and has to be accepted; ``"warning"`` looks wrong but
            changes nothing; ``"note"`` says how the file was understood.
        sentence: the finding in one sentence without its full stop.
        count: number of rows, tasks, workers or cells concerned.
        rows: the first few 1-based data rows concerned (a CSV's header is row 0).
        column: name of the column concerned in the file.
        examples: a few of the values concerned.
        remedy: advice that reads the same everywhere, one sentence.
        remedies: settings that help.
        left_out: number of the file's annotation rows (wide: cells) left out for this reason.
        accepted: ``sentence`` once a change was accepted; empty: unchanged.
    """

    code: str
    level: Level
    sentence: str
    count: int = 0
    rows: tuple[int, ...] = ()
    column: str | None = None
    examples: tuple[str, ...] = ()
    remedy: str = ""
    left_out: int = 0
    accepted: str = ""
    remedies: tuple[Remedy, ...] = ()

    @property
    def note(self) -> str:
        """The finding in the notes of a dataset: a change as accepted, without remedies."""
        return self.statement if self.level != "change" else f"{self.accepted or self.sentence}{self._place}."

    @property
    def statement(self) -> str:
        """Sentence, place and advice, without remedies."""
        return f"{self.sentence}{self._place}. {self.remedy}".rstrip()

    def advice(self, action: Phrasing = in_python) -> str:
        """Advice and remedies, as Python, the commands or the app phrase them."""
        return f"{self.remedy} {phrase(self.remedies, action)}".strip()

    def phrased(self, action: Phrasing) -> str:
        """The whole text, its remedies phrased by ``action``."""
        return f"{self.statement} {phrase(self.remedies, action)}".rstrip()

    @property
    def _place(self) -> str:
        more = self.count - len(self.rows)
        place = [f"column {self.column!r}"] if self.column else []
        if self.rows:
            listed = ", ".join(f"{row:,}" for row in self.rows)
            place.append(f"row{'s' * (len(self.rows) > 1)} {listed}{f' and {more:,} more' if more > 0 else ''}")
        return f" ({'; '.join(place)})" if place else ""

    def __str__(self) -> str:
        return self.phrased(in_python)


@dataclass(frozen=True)
class Variants:
    """Spellings of a file that may be one name.

    Args:
        role: whose names they are.
        name: the name of all of them when merged.
        spellings: as written in the file (or its class list), the most frequent first.
        counts: rows of each, 0 for a spelling that only gold or a class list has.
        becomes: the name that each is read as.
    """

    role: Role
    name: str
    spellings: tuple[str, ...]
    counts: tuple[int, ...]
    becomes: tuple[str, ...]

    @property
    def merged(self) -> bool:
        """True if all are read as one name."""
        return len(set(self.becomes)) == 1


def plural(count: int, noun: str) -> str:
    """``1 task``, ``1,200 tasks``, ``2 classes``."""
    return f"{count:,} {noun if count == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    """``tasks``, ``classes``."""
    return noun + ("es" if noun.endswith("s") else "s")


def quoted(names: Sequence[object], most: int = 5) -> str:
    """``'a', 'b' …``: the first names, with ``…`` if there are more."""
    return ", ".join(map(repr, names[:most])) + (" …" if len(names) > most else "")


def make_finding(code: str, level: Level, sentence: str, rows: AnyArray | None = None, **parts: Any) -> Finding:
    """A finding about some rows: ``rows`` holds all their numbers, the first few of which are kept."""
    if rows is not None:
        parts.setdefault("count", len(rows))
        parts["rows"] = tuple(int(row) for row in np.asarray(rows[:SHOWN]))
    return Finding(code, level, sentence, **parts)


def make_change(
    code: str, what: str, fate: str, rows: AnyArray | None = None, detail: str = "", **parts: Any
) -> Finding:
    """A finding that drops or merges something: "``what`` would ``fate``", and once accepted "``what`` was …".

    Args:
        code: a fixed word for machines.
        what: the subject, with its number.
        fate: the predicate, such as ``be left out`` or ``count as unknown``.
        rows: numbers of all rows concerned.
        detail: end of the sentence.
        parts: further fields of `Finding`.

    Examples:
        >>> finding = make_change("missing-task", "2 rows without a task", "be left out", count=2)
        >>> finding.sentence, finding.accepted
        ('2 rows without a task would be left out', '2 rows without a task were left out')
    """
    finding = make_finding(code, "change", f"{what} would {fate}{detail}", rows, **parts)
    verb, _, rest = fate.partition(" ")
    one = finding.count == 1
    past = {"be": "was" if one else "were", "count": "counts" if one else "count", "have": "has" if one else "have"}
    return replace(finding, accepted=f"{what} {past[verb]} {rest}{detail}")


class Example(NamedTuple):
    """An annotation of a dataset, by names: a number is written as such."""

    worker: str
    task: str
    label: str


def examples_of(dataset: Labelled, workers: Sequence[str] | None = None) -> tuple[Example, ...]:
    """The first annotation of the file, the last, and one between them, or fewer; ``workers`` are their names."""
    n, rows = dataset.n_annotations, dataset.file_row
    ends = (0, n - 1) if rows is None or not n else (int(rows.argmin()), int(rows.argmax()))
    chosen = dict.fromkeys((ends[0], n // 2, ends[1])) if n else {}
    names = dataset.worker_ids if workers is None else workers
    labels = [f"{v:g}" if dataset.kind.numeric else dataset.label_names[v] for v in dataset.values[[*chosen]]]
    at = zip(dataset.worker[[*chosen]], dataset.task[[*chosen]], labels, strict=True)
    return tuple(Example(str(names[worker]), str(dataset.task_ids[task]), label) for worker, task, label in at)


def in_words(examples: Iterable[Example], numeric: bool) -> str:
    """``ann says photo01 is cat; ben says photo02 is dog``, or of numbers ``ann rates photo01 as 4``."""
    short = [[f"{name[:_LONG]}…" if len(name) > _LONG else name for name in example] for example in examples]
    says, is_ = ("rates", "as") if numeric else ("says", "is")
    return "; ".join(f"{worker} {says} {task} {is_} {label}" for worker, task, label in short)


@dataclass(frozen=True)
class ImportReport:
    """Report of `crowdcore.data.examine`, before anything is imported.

    Args:
        source: name of the file, folder or frame.
        format: the reader's name, e.g. ``"long"``.
        encoding: of a text file, else None.
        delimiter: of a delimited file, else None.
        columns: the columns of the file, in its order.
        roles: role (``task``, ``worker``, ``label``, ``gold`` …) -> the column that plays it.
        classes: the class list, in the order of every matrix.
        classes_from: where the list is from: ``"argument"``, ``"classes.txt"``, ``"file"`` or ``"labels found"``.
        n_rows: annotation rows of the file (wide: cells; exports of tools: answers): ``n_annotations + n_left_out``.
        n_tasks: tasks of the dataset, those without annotation included.
        n_workers: workers of the dataset.
        n_annotations: annotations of the dataset.
        n_gold: tasks with a known true class.
        n_repeats: annotations beyond the first of the same worker on the same task, before any reduction.
        n_contradicting: (task, worker) pairs whose repeats differ.
        findings: everything noticed; changes first.
        variants: labels and workers that are spelled in several ways.
        rating_range: low and high where the labels are numbers, else None.
        n_sentences: sentences, where the tasks are their tokens, else 0.
        times: those of the columns ``timestamp`` and ``seconds`` that hold times.
        header: whether the first row of a delimited file held the names, so that rows are counted below it.
        examples: the first annotation of the file, one in the middle, and the last, to be confirmed.
    """

    source: str
    format: str
    encoding: str | None
    delimiter: str | None
    columns: tuple[str, ...]
    roles: dict[str, str]
    classes: tuple[str, ...]
    classes_from: str
    n_rows: int
    n_tasks: int
    n_workers: int
    n_annotations: int
    n_gold: int
    n_repeats: int
    n_contradicting: int
    findings: tuple[Finding, ...]
    variants: tuple[Variants, ...] = ()
    rating_range: tuple[float, float] | None = None
    n_sentences: int = 0
    times: tuple[str, ...] = ()
    header: bool = False
    examples: tuple[Example, ...] = ()

    @property
    def understood(self) -> str:
        """The examples as a sentence without its full stop; empty without annotations."""
        return in_words(self.examples, self.rating_range is not None)

    @property
    def changes(self) -> tuple[Finding, ...]:
        """The findings that have to be accepted: questions, and those that drop or merge rows."""
        return tuple(f for f in self.findings if f.level in ("question", "change"))

    @property
    def questions(self) -> tuple[Finding, ...]:
        """The findings that doubt that the file was understood."""
        return tuple(f for f in self.findings if f.level == "question")

    @property
    def unusable(self) -> tuple[Finding, ...]:
        """The findings about images and texts that cannot be used, whose ``examples`` name tasks."""
        return tuple(f for f in self.findings if f.code in (IMAGES, TEXTS))

    @property
    def n_left_out(self) -> int:
        """Rows of the file that were left out, each counted by the finding on the reason."""
        return sum(f.left_out for f in self.findings)

    @property
    def tasks(self) -> str:
        """Number of tasks, in words."""
        if self.n_sentences:
            return f"{plural(self.n_tasks, 'token')} of {plural(self.n_sentences, 'sentence')}"
        return plural(self.n_tasks, "task")

    @property
    def rows_counted(self) -> str:
        """Sentence on how the findings count rows; empty where they name none, or the file has no header."""
        if not self.header or not any(f.rows for f in self.findings):
            return ""
        return "Rows are counted without the header: row 1 is the first below it."

    def text(self, action: Phrasing = in_python) -> str:
        """The report as text, one statement a line; remedies as Python, the commands or the app phrase them."""
        shown = ", ".join(self.classes[:10]) + (" …" if len(self.classes) > 10 else "")
        labels = f"{plural(len(self.classes), 'class')} ({self.classes_from}): {shown}"
        if self.rating_range is not None:
            labels = "ratings from {:g} to {:g}".format(*self.rating_range)
        how = [self.format, *([self.encoding] if self.encoding else [])]
        if self.delimiter:
            how.append({"\t": "tab", " ": "blank"}.get(self.delimiter, self.delimiter) + "-separated")
        roles = ", ".join(f"{role} from {column!r}" for role, column in self.roles.items())
        unit = "tag" if self.n_sentences else _UNIT.get(self.format, "row")
        lines = [
            f"{self.source}: {', '.join(how)}",
            *([f"columns: {roles}"] if roles else []),
            labels,
            f"{plural(self.n_annotations, 'annotation')} by {plural(self.n_workers, 'worker')} on "
            f"{self.tasks}; gold known for {self.n_gold:,}",
            f"{plural(self.n_rows, unit)} in the file, {self.n_left_out:,} left out",
            *([f"for example: {self.understood}"] if self.examples else []),
        ]
        words = {"question": "QUESTION", "change": "CHANGES", "warning": "warning", "note": "note"}
        findings = [f"{words[f.level]}: {f.phrased(action)}" for f in self.findings]
        return "\n".join([*lines, *findings, *([self.rows_counted] if self.rows_counted else [])])

    def frame(self, action: Phrasing = in_python) -> pd.DataFrame:
        """The findings as a table: level, code, sentence, count, left_out, rows, column, examples, remedy."""
        names = ["level", "code", "sentence", "count", "left_out", "rows", "column", "examples"]
        table = [[*(getattr(f, name) for name in names), f.advice(action)] for f in self.findings]
        frame = pd.DataFrame(table, columns=[*names, "remedy"])
        for name in ("rows", "examples"):
            frame[name] = [", ".join(map(str, values)) for values in frame[name]]
        return frame

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain lists, strings and numbers, for ``--json``."""
        findings = [
            asdict(finding) | {"remedy": finding.advice(), "choices": [r.choices for r in finding.remedies]}
            for finding in self.findings
        ]
        return asdict(self) | {"findings": findings}
