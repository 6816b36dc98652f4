"""Columns and their roles: task, worker, label … by alias or name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.types import IntArray
from crowdcore.data.dictionary import Codes, distinct, strings
from crowdcore.data.report import Finding, make_change, quoted
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables.base import Arrow, Table
from crowdcore.data.tables.json_table import labels_of_cells
from crowdcore.data.times import about_time

_FEW = 20  # different values that answers may have
_SHARED = 3  # fewer tasks with several rows are no evidence
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
        except DataError:  # raised again when the column is read
            words = [""] * len(self._table.head)
        self[name] = pd.factorize(np.array([word or None for word in words], object))[0]
        return self[name]


class _Rows:
    """The first rows of a table as text, and statistics of one or two columns in them."""

    def __init__(self, table: Table) -> None:
        self.codes, self.n = _Codes(table), len(table.head)

    def distinct(self, name: str) -> int:
        return int(self.codes[name].max(initial=-1)) + 1

    def empty(self, name: str) -> float:
        return float((self.codes[name] < 0).mean()) if self.n else 0.0

    def unique(self, *names: str) -> bool:
        """Return whether nearly all rows differ in these columns."""
        rows = pd.DataFrame({name: self.codes[name] for name in names})
        return self.n > _SHARED and len(rows.drop_duplicates()) > 0.98 * self.n

    def varies(self, name: str, within: str) -> float:
        """Share of the values of a column with several rows in which another column differs; NaN if they are few."""
        filled = (self.codes[name] >= 0) & (self.codes[within] >= 0)
        groups = pd.Series(self.codes[name][filled]).groupby(self.codes[within][filled])
        several = groups.count() > 1
        return float((groups.nunique()[several] > 1).mean()) if several.sum() >= _SHARED else float("nan")

    def same(self, one: str, other: str) -> bool:
        """Return whether the values of two columns correspond one to one."""
        pairs = len(pd.DataFrame({"one": self.codes[one], "other": self.codes[other]}).drop_duplicates())
        return pairs == self.distinct(one) == self.distinct(other)


def settle(
    table: Table, roles: Roles, names: dict[str, list[str]], weak: dict[str, list[str]], settings: ReadSettings
) -> None:
    """Decide between the columns whose names fit a role, and note why where the first by name is not chosen.

    ``roles`` changes in place; ``names`` are all columns that fit a role, the best first, ``weak`` those that fit it
    less well.
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
        further = [c for c in weak.get(role, ()) if c not in (*taken, *fitting) and _fits_role(role, c, rows, roles)]
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
    """Evidence in a column's content that another one plays the role; empty without any."""
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


def _fits_role(role: str, column: str, rows: _Rows, roles: Roles) -> bool:
    """Return whether a column with a weak name holds workers, or labels, of tasks that have several rows."""
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
    """Reason why a column holds no judgements of workers; empty if it may."""
    if rows.empty(column) > 0.5:
        return f"is empty in {100 * rows.empty(column):.0f} % of the rows"
    if rows.varies(column, task) == 0 and 2 * rows.distinct(column) > rows.distinct(task):
        return "holds one value for each task"
    if rows.distinct(column) > max(_FEW, rows.n // 2):
        return "holds a text or number of its own in most rows"
    return ""


def _by_content(role: str, table: Table, rows: _Rows, roles: Roles, weak: list[str], fixed: bool) -> None:
    """Assign the role of task or label to the only column that fits, or ask which of several it is."""
    worker, known = roles["worker"], {c for r, c in roles.items() if r not in MEDIA}
    left = [c for c in table.columns if c not in known and c not in table.repeated]
    if role == "task" or (rows.unique(roles["task"]) and not fixed):
        candidates = [c for c in left if not rows.unique(c) and rows.unique(c, worker) and not rows.empty(c)]
        candidates = [c for c in candidates if 3 * rows.distinct(c) <= 2 * rows.n] or candidates
        named = [c for c in candidates if c in roles.values()] or candidates
        if len(named) == 1:
            if role == "label":
                roles.reasons["task"] = roles["task"], "differs in every row"
            roles["task"] = named[0]
    if role == "task":
        return
    task = roles["task"]
    candidates = [*_judgements(table, rows, roles)] or [c for c in weak if c in left and rows.distinct(c) >= 2]
    if not rows.unique(task, worker):  # a column that distinguishes rows of a worker's task is part of the task
        candidates = [c for c in candidates if not rows.unique(task, worker, c)] or candidates
    if len(candidates) == 1:
        roles["label"] = candidates[0]
    elif candidates:
        roles.doubt = "Several columns may be the label", tuple(Remedy("label", column) for column in candidates)


def _judgements(table: Table, rows: _Rows, roles: Roles) -> Iterator[str]:
    """Columns of few values that differ within tasks and within workers."""
    task, worker = roles["task"], roles["worker"]
    left = [c for c in table.columns if c not in roles.values() and c not in table.repeated]
    for column in left:
        few = 2 <= rows.distinct(column) <= min(_FEW, rows.n // 2) and rows.empty(column) <= 0.5
        by_name = not (about_time(column) or _NOT_JUDGED & {*re.split(r"[\W_]+", column.lower())})
        fixed = rows.varies(column, worker) <= 0.5  # false if NaN, as for two workers
        if few and by_name and rows.varies(column, task) > 0.2 and not fixed:
            yield column


def have_key(table: Table, columns: Iterable[str]) -> bool:
    """Return whether nearly all rows differ in some two of the columns, as in task and worker."""
    rows = _Rows(table)
    return any(rows.unique(*pair) for pair in combinations(columns, 2))


def crossed(table: Table, known: Mapping[str, str]) -> list[dict[str, str]]:
    """Possible columns of task, worker and label by content, the likeliest first; the ``known`` roles stay.

    Few rows repeat a pair of task and worker, both of which recur. Of several such pairs of columns, the one with the
    fewest missing combinations is the likeliest.
    """
    rows, fixed = _Rows(table), [known[role] for role in ("task", "worker") if role in known]
    others = {column for role, column in known.items() if role not in ("task", "worker", *MEDIA)}
    keys: list[str] = []
    for c in table.columns if len(table.columns) <= _FEW else ():
        numbers = pd.to_numeric(pd.Series(table.words(c)), errors="coerce")
        measured = (numbers % 1 > 0).any() or (about_time(c) and numbers.notna().any())
        again = 1 < rows.distinct(c) <= rows.n // 1.5 and rows.empty(c) <= 0.2 and not measured
        if c in fixed or (again and c not in others and not any(rows.same(c, other) for other in keys)):
            keys.append(c)
    pairs = [(a, b) for i, b in enumerate(keys) for a in keys[:i] if {*fixed} <= {a, b} and rows.unique(a, b)]
    readings = []
    for pair in sorted(pairs, key=lambda pair: rows.distinct(pair[0]) * rows.distinct(pair[1])):
        task, worker = sorted(pair, key=rows.distinct, reverse=True)
        if task == known.get("worker") or worker == known.get("task") or {*plain(task).split("_")} & PEOPLE:
            task, worker = worker, task
        if {*plain(worker).split("_")} & _PLACES:
            continue
        roles = Roles({**known, "task": task, "worker": worker})
        left = [known["label"]] if "label" in known else [c for c in table.columns if c not in pair]
        labels = left if len(left) == 1 else _judgements(table, rows, roles)
        readings += [{"task": task, "worker": worker, "label": label} for label in labels if label not in pair]
    return readings


# Best first. Names are compared in lower case, with runs of blanks, dots, dashes and slashes as "_".
ALIASES: dict[str, tuple[str, ...]] = {
    role: tuple(words.split())
    for role, words in {
        "task": "task task_id item item_id question_id question example_id example instance_id instance unit_id unit "
        "_unit_id document_id doc_id document sample_id sample object_id object image_id text_id sentence_id "
        "hitid hit_id hit data_id trace_id segment_id segment file_id image_name subject_id subject source_id "
        "post_id tweet_id tweetid comment_id input:image image id",
        "worker": "worker worker_id _worker_id workerid annotator annotator_id _annotator_id user user_id username "
        "labeler labeler_id labeller labeller_id rater rater_id coder coder_id performer participant "
        "participant_id assessor judge judge_id turker observer expert assignment:worker_id completed_by "
        "crowdworker annotator_name user_name worker_name rater_name created_by annotated_by labeled_by "
        "labelled_by",
        "label": "label answer response annotation class category judgment judgement given_label worker_label choice "
        "vote value output:result output rating",
        "gold": "gold gold_label true_label truth ground_truth groundtruth gt golden golden:result true_class "
        "correct_label label_true y_true expert_label",
        "split": "split subset partition",
        "text": "text sentence content tweet input:text",
        "image": "image image_path image_url picture img input:image",
        "audio": "audio audio_path audio_url sound input:audio",
    }.items()
}

RATING_ALIASES = ("score", "stars", "points", "grade")  # of the label, where labels are numbers
WEAK_ALIASES: dict[str, tuple[str, ...]] = {  # count where there is no other, and the content agrees
    "worker": (
        *("reviewer", "reviewer_id", "evaluator", "evaluator_id", "contributor", "respondent", "respondent_id"),
        *("voter", "subject_id", "subject", "agent", "reader", "grader", "moderator", "analyst"),
    ),
    "label": (
        *("label_name", "final_answer", "verdict", "decision", "target", "selected_label", "user_label"),
        *RATING_ALIASES,
    ),
}
PEOPLE = {*ALIASES["worker"], *WEAK_ALIASES["worker"], "who", "by", "name"} - {"subject"}
_PLACES = {"number", "no", "nr", "num", "index", "idx", "position", "rank", "order", "round", "session", "batch"}
_ID = re.compile("_(uuid|guid|hash|code|number|no|nr|email|initials)$")  # ends of names of columns that identify things
_MAY_BE_JUDGED = ("answer", "response", "annotation", "value", "output", "choice")  # also names of the judged text


class MappingError(DataError):
    """Columns whose roles cannot be recognised and must be named.

    Args:
        what: the fault.
        columns: the columns there are.
        roles: role -> column, as far as recognised.
        file: the file.
        settings: those to pass, e.g. ``worker``.
        effect: what they do.
    """

    def __init__(
        self,
        what: str,
        columns: Iterable[str],
        roles: dict[str, str],
        file: str | Path | None,
        *settings: str,
        effect: str = "",
    ) -> None:
        self.columns, self.roles = tuple(columns), dict(roles)
        remedy = Remedy(settings, effect=effect)
        super().__init__(
            what, f"Its columns are {quoted(self.columns, 12)}.", file=file, code="columns", remedies=(remedy,)
        )


def plain(column: str) -> str:
    """A column's name as aliases are compared."""
    return re.sub(r"[\s.\-/]+", "_", column.strip().strip("?!:*# ").lower())


class Roles(dict[str, str]):
    """Role -> column.

    Attributes:
        reasons: role -> the column chosen by name, and the evidence against it in its content.
        settled: columns whose names fit a role that their content rules out.
        questions: roles that may be played by another column.
        doubt: reason why no column is the label, and remedies.
    """

    def __init__(self, roles: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(roles)
        self.reasons: dict[str, tuple[str, str]] = {}
        self.settled: set[str] = set()
        self.questions: list[Finding] = []
        self.doubt: tuple[str, tuple[Remedy, ...]] | None = None


def assign_roles(table: Table, settings: ReadSettings) -> Roles:
    """Role -> column: those named in the settings, then those whose name and content fit best."""
    columns = table.columns
    roles = Roles()
    for role in ALIASES:
        column = getattr(settings, role)
        if column is not None:
            if column not in columns:
                raise MappingError(f"There is no column {column!r}", columns, {}, table.path, role)
            roles[role] = column
    by_name: dict[str, str] = {}
    for column in reversed(columns):
        by_name[plain(column)] = column
    by_name |= {column: column for column in columns if column == plain(column)}
    for name, column in [*by_name.items()]:
        by_name.setdefault(_ID.sub("_id", name), column)
    names: dict[str, list[str]] = {}
    for role, aliases in ALIASES.items():
        if role == "label" and settings.kind == "ratings":
            aliases += RATING_ALIASES
        taken = set(roles.values())
        names[role] = [by_name[a] for a in aliases if a in by_name and by_name[a] not in taken]
        if role == "label" and len(table.head) > _SHARED:
            names[role] = [c for c in names[role] if c in table.repeated or _holds_cells(table, c)]
        if role not in roles and names[role]:
            roles[role] = names[role][0]
    if _unsettled(roles, names, columns, settings):
        weak = {role: [c for c in columns if plain(c) in aliases] for role, aliases in WEAK_ALIASES.items()}
        settle(table, roles, names, weak, settings)
    for column in roles.values():
        if column in table.repeated:
            raise DataError(f"Two columns are called {column!r}", "Rename one.", file=table.path, column=column)
    ordered = [(role, roles.pop(role)) for role in ALIASES if role in roles]
    roles.update(ordered)
    return roles


def _holds_cells(table: Table, column: str) -> bool:
    """Return whether some of a column's first cells are filled, or cannot be read as they are."""
    try:
        return any(table.words(column))
    except DataError:
        return True


def _unsettled(roles: Roles, names: dict[str, list[str]], columns: tuple[str, ...], settings: ReadSettings) -> bool:
    """Return whether the columns' names leave open which one is the task, worker or label of a long table."""
    needed = ("task", "worker", "label")
    lacking = [role for role in needed if role not in roles]
    if lacking:
        weak = [any(plain(c) in WEAK_ALIASES.get(role, ()) for c in columns) for role in lacking]
        return (all(weak) or lacking in (["task"], ["label"], ["task", "label"])) and settings.workers is None
    judged = len(columns) > len(roles) and plain(roles["label"]) in _MAY_BE_JUDGED
    return any(len(names[role]) > 1 or (judged and role == "label") for role in needed if not getattr(settings, role))


def need_roles(roles: dict[str, str], needed: Iterable[str], columns: tuple[str, ...], file: Path | None) -> None:
    """Refuse a table in which a needed role has no column."""
    if isinstance(roles, Roles) and roles.doubt is not None:
        refusal = MappingError(roles.doubt[0], columns, roles, file, "label")
        refusal.code, refusal.remedies = "judged-text" if "label" in roles else "which-label", roles.doubt[1]
        raise refusal
    if lacking := [role for role in needed if role not in roles]:
        what = f"No column was recognised as the {' or the '.join(lacking)}"
        what += ", and each label needs the name of who gave it" if lacking == ["worker"] else ""
        empty = [c for c in columns if plain(c) in ALIASES["label"] and c not in roles.values()]
        if lacking == ["label"] and empty:
            what = f"Column {empty[0]!r} is empty, and no other was recognised as the label"
        raise MappingError(what, columns, roles, file, *lacking)


def alias_findings(roles: Mapping[str, str], columns: tuple[str, ...], settings: ReadSettings) -> list[Finding]:
    """Findings on columns that were recognised by an alias or by content, and on rival columns."""
    findings = [*roles.questions] if isinstance(roles, Roles) else []
    reasons, settled = (roles.reasons, roles.settled) if isinstance(roles, Roles) else ({}, set[str]())
    for role, column in roles.items():
        if getattr(settings, role) is not None:
            continue
        if role in reasons:
            other, why = reasons[role]
            sentence = f"Column {column!r} was taken as the {role}: column {other!r} {why}"
            by_name = Remedy(role, other, when="that is the one")
            findings.append(Finding("role-by-content", "warning", sentence, column=column, remedies=(by_name,)))
        elif column != role:
            sentence = f"Column {column!r} was taken as the {role}"
            findings.append(Finding("alias", "note", sentence, column=column, remedies=(Remedy(role, when="not"),)))
        rivals = [c for c in columns if plain(c) in ALIASES[role] and c not in roles.values() and c not in settled]
        if role in ("task", "worker", "label", "gold") and rivals:
            listed = ", ".join(repr(c) for c in rivals[:3])
            sentence = f"{listed} could be the {role} too; {column!r} was taken"
            remedies = tuple(Remedy(role, c, when="it is") for c in rivals[:3])
            findings.append(Finding("alias-rival", "warning", sentence, remedies=remedies))
    return findings


@dataclass(frozen=True, eq=False)
class RoleColumns:
    """The columns of a table by role.

    Args:
        roles: role -> column.
        codes: role -> its column, encoded.
        extra: pyarrow table of the columns without a role, None if there are none.
        findings: columns that were recognised, and rows that were left out.
    """

    roles: dict[str, str]
    codes: dict[str, Codes]
    extra: Arrow | None
    findings: list[Finding]


EXTRA_LIMIT = 512 << 20  # of a file above this size only the columns with a role are kept


def read_roles(
    table: Table,
    settings: ReadSettings,
    needed: tuple[str, ...],
    extra: bool = True,
    only_needed: bool = False,
    listed: Arrow = None,
) -> RoleColumns:
    """Read the columns that play a role (``only_needed``: a needed or named one), and (``extra``) all others.

    ``listed``: names that tasks are likely to have, in this order.
    """
    roles = assign_roles(table, settings)
    for role in [r for r in roles if only_needed and r not in needed and not getattr(settings, r)]:
        del roles[role]
    need_roles(roles, needed, table.columns, table.path)
    if settings.time is not None and settings.time not in table.columns:
        raise MappingError(f"There is no column {settings.time!r}", table.columns, roles, table.path, "time")
    keep = tuple(c for c in table.columns if extra and c not in roles.values())
    findings = [*table.findings, *alias_findings(roles, table.columns, settings)]
    if keep and table.path is not None and table.path.stat().st_size > EXTRA_LIMIT:
        what = f"Columns without a role in a file above {EXTRA_LIMIT >> 20} MiB"
        change = make_change(
            "columns-left-out", what, "be left out", detail=f": {quoted(keep)}", count=len(keep), examples=keep[:5]
        )
        findings.append(change)
        keep = tuple(c for c in keep if c == settings.time)
    likely = {} if listed is None or "task" not in roles else {roles["task"]: listed}
    codes, kept = table.encode(tuple(dict.fromkeys(roles.values())), keep, likely)
    label = roles.get("label", "")
    listed_labels = label in table.nested and all(
        re.match(r"\[[^\[{\]]", name) for name in codes[label].values.to_pylist()
    )  # several classes, which a finding reports
    if listed_labels or label in table.written_nested:
        codes[label] = distinct(strings(labels_of_cells(codes[label].values.to_pylist())), codes[label].codes)
    table.refuse_nested(c for role, c in roles.items() if role not in MEDIA and not (c == label and listed_labels))
    return RoleColumns({**roles}, {role: codes[column] for role, column in roles.items()}, kept, findings)
