"""Columns and their roles: task, worker, label … by alias or name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.dictionary import Codes
from crowdcore.data.report import Finding, make_change
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables.base import Arrow, Table

# Most telling first. Names are compared in lower case, with runs of blanks, dots, dashes and slashes as "_".
ALIASES: dict[str, tuple[str, ...]] = {
    "task": (
        *("task", "task_id", "item", "item_id", "question", "question_id", "example", "example_id", "instance"),
        *("instance_id", "unit", "unit_id", "_unit_id", "document_id", "doc_id", "document", "sample", "sample_id"),
        *("object", "object_id", "image_id", "text_id", "sentence_id", "hitid", "hit_id", "hit", "data_id"),
        *("input:image", "image", "id"),
    ),
    "worker": (
        *("worker", "worker_id", "_worker_id", "workerid", "annotator", "annotator_id", "_annotator_id", "user"),
        *("user_id", "username", "labeler", "labeler_id", "labeller", "labeller_id", "rater", "rater_id", "coder"),
        *("coder_id", "performer", "participant", "participant_id", "assessor", "judge", "judge_id", "turker"),
        *("observer", "expert", "assignment:worker_id", "completed_by", "crowdworker"),
    ),
    "label": (
        *("label", "answer", "response", "annotation", "class", "category", "judgment", "judgement", "given_label"),
        *("worker_label", "choice", "vote", "value", "output:result", "output", "rating"),
    ),
    "gold": (
        *("gold", "gold_label", "true_label", "truth", "ground_truth", "groundtruth", "gt", "golden", "golden:result"),
        *("true_class", "correct_label", "label_true", "y_true", "expert_label"),
    ),
    "split": ("split", "subset", "partition"),
    "text": ("text", "sentence", "content", "tweet", "input:text"),
    "image": ("image", "image_path", "image_url", "picture", "img", "input:image"),
    "audio": ("audio", "audio_path", "audio_url", "sound", "input:audio"),
}

RATING_ALIASES = ("score", "stars", "points", "grade")  # of the label, where labels are numbers


class MappingError(DataError):
    """Columns whose roles cannot be recognised and must be named.

    Args:
        what: the fault.
        columns: the columns there are.
        roles: role -> column, as far as recognised.
        file: the file.
        settings: which to pass, e.g. ``worker``.
        effect: what that does.
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
        listed = ", ".join(repr(c) for c in self.columns[:12]) + (" …" if len(self.columns) > 12 else "")
        remedy = Remedy(settings, effect=effect)
        super().__init__(what, f"Its columns are {listed}.", file=file, code="columns", remedies=(remedy,))


def plain(column: str) -> str:
    """A column's name as aliases are compared."""
    return re.sub(r"[\s.\-/]+", "_", column.strip().lower())


def assign_roles(table: Table, settings: ReadSettings) -> dict[str, str]:
    """Role -> column: those named in the settings, then the best alias of each role.

    Raises:
        MappingError: a column named in the settings is not there.
        DataError: two columns have the name of one that plays a role.
    """
    columns = table.columns
    roles: dict[str, str] = {}
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
    for role, aliases in ALIASES.items():
        if role == "label" and settings.kind == "ratings":
            aliases += RATING_ALIASES
        taken = set(roles.values())
        fitting = [by_name[a] for a in aliases if a in by_name and by_name[a] not in taken]
        if role not in roles and fitting:
            roles[role] = fitting[0]
    for column in roles.values():
        if column in table.repeated:
            raise DataError(f"Two columns are called {column!r}", "Rename one.", file=table.path, column=column)
    return {role: roles[role] for role in ALIASES if role in roles}


def need_roles(roles: dict[str, str], needed: Iterable[str], columns: tuple[str, ...], file: Path | None) -> None:
    """Refuse when a role that is needed has no column.

    Raises:
        MappingError: names the roles without a column and the columns there are.
    """
    lacking = [role for role in needed if role not in roles]
    if lacking:
        raise MappingError(
            f"No column was recognised as the {' or the '.join(lacking)}",
            columns,
            roles,
            file,
            *lacking,
        )


def alias_findings(roles: dict[str, str], columns: tuple[str, ...], settings: ReadSettings) -> list[Finding]:
    """Which aliases became what, and which other columns could have."""
    findings = []
    for role, column in roles.items():
        if getattr(settings, role) is None and column != role:
            sentence = f"Column {column!r} was taken as the {role}"
            findings.append(Finding("alias", "note", sentence, column=column, remedies=(Remedy(role, when="not"),)))
        rivals = [c for c in columns if plain(c) in ALIASES[role] and c not in roles.values()]
        if role in ("task", "worker", "label", "gold") and rivals and getattr(settings, role) is None:
            listed = ", ".join(repr(c) for c in rivals[:3])
            sentence = f"{listed} could be the {role} too; {column!r} was taken"
            findings.append(Finding("alias-rival", "warning", sentence, remedies=(Remedy(role, when="not"),)))
    return findings


@dataclass(frozen=True, eq=False)
class RoleColumns:
    """The columns of a table by role.

    Args:
        roles: role -> column.
        codes: role -> its column, encoded.
        extra: pyarrow table of the columns without a role, None if there are none.
        findings: what became what, and what was left out.
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
    """Read the columns that play a role (``only_needed``: one of these, or named), and (``extra``) those beside them.

    ``listed``: names that tasks are likely to have, in this order.

    Raises:
        MappingError: a needed role has no column.
    """
    roles = assign_roles(table, settings)
    if only_needed:
        roles = {role: column for role, column in roles.items() if role in needed or getattr(settings, role)}
    need_roles(roles, needed, table.columns, table.path)
    keep = tuple(c for c in table.columns if extra and c not in roles.values())
    findings = [*table.findings, *alias_findings(roles, table.columns, settings)]
    if keep and table.path is not None and table.path.stat().st_size > EXTRA_LIMIT:
        shown = ", ".join(map(repr, keep[:5])) + (" …" if len(keep) > 5 else "")
        what = f"Columns without a role in a file above {EXTRA_LIMIT >> 20} MiB"
        change = make_change(
            "columns-left-out", what, "be left out", detail=f": {shown}", count=len(keep), examples=keep[:5]
        )
        findings.append(change)
        keep = ()
    likely = {} if listed is None or "task" not in roles else {roles["task"]: listed}
    codes, kept = table.encode(tuple(dict.fromkeys(roles.values())), keep, likely)
    table.refuse_nested(column for role, column in roles.items() if role not in MEDIA)
    return RoleColumns(roles, {role: codes[column] for role, column in roles.items()}, kept, findings)
