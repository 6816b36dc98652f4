"""Columns and their roles: task, worker, label … by alias or name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyarrow.compute as pc

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.dictionary import Codes, distinct
from crowdcore.data.report import Finding, make_change
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables.base import Arrow, Table

# Most telling first. Names are compared in lower case, with runs of blanks, dots, dashes and slashes as "_".
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
WEAK_ALIASES: dict[str, tuple[str, ...]] = {  # that count where no other is there, and the content agrees
    "worker": (
        *("reviewer", "reviewer_id", "evaluator", "evaluator_id", "contributor", "respondent", "respondent_id"),
        *("voter", "subject_id", "subject"),
    ),
    "label": (
        *("label_name", "final_answer", "verdict", "decision", "target", "selected_label", "user_label"),
        *RATING_ALIASES,
    ),
}
_ID = re.compile("_(uuid|guid|hash|code|number|no|nr|email|initials)$")  # what names things as an id does
_ONLY = r'^\["([^"\\]*)"\]$'  # a list of one label
_MAY_BE_JUDGED = ("answer", "response", "annotation", "value", "output", "choice")  # the text that is judged, too


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


class Roles(dict[str, str]):
    """Role -> column.

    Attributes:
        reasons: role -> the column that its name would have chosen, and what in its content speaks against it.
        settled: columns whose names fit a role that they do not play, by their content.
        questions: roles that may be played by another column.
        doubt: why no column is the label, and what to set.
    """

    def __init__(self, roles: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(roles)
        self.reasons: dict[str, tuple[str, str]] = {}
        self.settled: set[str] = set()
        self.questions: list[Finding] = []
        self.doubt: tuple[str, tuple[Remedy, ...]] | None = None


def assign_roles(table: Table, settings: ReadSettings) -> Roles:
    """Role -> column: those named in the settings, then those whose name and content fit best.

    Raises:
        MappingError: a column named in the settings is not there.
        DataError: two columns have the name of one that plays a role.
    """
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
        if role not in roles and names[role]:
            roles[role] = names[role][0]
    if _unsettled(roles, names, columns, settings):
        from crowdcore.data.role_content import settle

        weak = {role: [c for c in columns if plain(c) in aliases] for role, aliases in WEAK_ALIASES.items()}
        settle(table, roles, names, weak, settings)
    for column in roles.values():
        if column in table.repeated:
            raise DataError(f"Two columns are called {column!r}", "Rename one.", file=table.path, column=column)
    ordered = [(role, roles.pop(role)) for role in ALIASES if role in roles]
    roles.update(ordered)
    return roles


def _unsettled(roles: Roles, names: dict[str, list[str]], columns: tuple[str, ...], settings: ReadSettings) -> bool:
    """Whether the names of the columns leave open which is the task, the worker or the label of a long table."""
    needed = ("task", "worker", "label")
    lacking = [role for role in needed if role not in roles]
    if lacking:
        weak = [any(plain(c) in WEAK_ALIASES.get(role, ()) for c in columns) for role in lacking]
        return (all(weak) or lacking in (["task"], ["label"], ["task", "label"])) and settings.workers is None
    judged = len(columns) > len(roles) and plain(roles["label"]) in _MAY_BE_JUDGED
    return any(len(names[role]) > 1 or (judged and role == "label") for role in needed if not getattr(settings, role))


def need_roles(roles: dict[str, str], needed: Iterable[str], columns: tuple[str, ...], file: Path | None) -> None:
    """Refuse when a role that is needed has no column.

    Raises:
        MappingError: names the roles without a column and the columns there are.
    """
    if isinstance(roles, Roles) and roles.doubt is not None:
        refusal = MappingError(roles.doubt[0], columns, roles, file, "label")
        refusal.code, refusal.remedies = "judged-text" if "label" in roles else "which-label", roles.doubt[1]
        raise refusal
    lacking = [role for role in needed if role not in roles]
    if lacking:
        what = f"No column was recognised as the {' or the '.join(lacking)}"
        raise MappingError(what, columns, roles, file, *lacking)


def alias_findings(roles: Mapping[str, str], columns: tuple[str, ...], settings: ReadSettings) -> list[Finding]:
    """Which aliases became what and why, and which other columns could have."""
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
    for role in [r for r in roles if only_needed and r not in needed and not getattr(settings, r)]:
        del roles[role]
    need_roles(roles, needed, table.columns, table.path)
    if settings.time is not None and settings.time not in table.columns:
        raise MappingError(f"There is no column {settings.time!r}", table.columns, roles, table.path, "time")
    keep = tuple(c for c in table.columns if extra and c not in roles.values())
    findings = [*table.findings, *alias_findings(roles, table.columns, settings)]
    if keep and table.path is not None and table.path.stat().st_size > EXTRA_LIMIT:
        shown = ", ".join(map(repr, keep[:5])) + (" …" if len(keep) > 5 else "")
        what = f"Columns without a role in a file above {EXTRA_LIMIT >> 20} MiB"
        change = make_change(
            "columns-left-out", what, "be left out", detail=f": {shown}", count=len(keep), examples=keep[:5]
        )
        findings.append(change)
        keep = tuple(c for c in keep if c == settings.time)
    likely = {} if listed is None or "task" not in roles else {roles["task"]: listed}
    codes, kept = table.encode(tuple(dict.fromkeys(roles.values())), keep, likely)
    label = roles.get("label", "")
    listed_labels = label in table.nested and all(
        re.match(r"\[[^\[{\]]", name) for name in codes[label].values.to_pylist()
    )  # several classes, which are told
    if listed_labels and pc.all(pc.match_substring_regex(codes[label].values, _ONLY)).as_py():
        codes[label] = distinct(pc.replace_substring_regex(codes[label].values, _ONLY, r"\1"), codes[label].codes)
    table.refuse_nested(c for role, c in roles.items() if role not in MEDIA and not (c == label and listed_labels))
    return RoleColumns({**roles}, {role: codes[column] for role, column in roles.items()}, kept, findings)
