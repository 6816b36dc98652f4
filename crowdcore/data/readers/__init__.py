"""File formats: every file of this folder reads one."""

from __future__ import annotations

from fnmatch import filter as matching
from itertools import combinations
from typing import NamedTuple

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.registry import Registry
from crowdcore.data.columns import MappingError, assign_roles, need_roles
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Table
from crowdcore.data.tables.json_table import RECORDS

__all__ = ["Raw", "RawTasks", "Reader", "Source", "certain", "find_reader", "readers"]

readers: Registry[Reader] = Registry(__name__, Reader, "format", group="crowdcore.readers")


class Signature(NamedTuple):
    """Signature of a source that makes loading a reader worthwhile.

    Args:
        sureness: the most that the reader's ``fits`` returns.
        kinds: one of them: ``table`` (any), ``nested`` (one of lists or records), ``json``, ``json-lines``, ``text``
            (no table) or ``folder``.
        columns: alternatives for a table, each a string of columns that must all be there; ``*.x`` is any name that
            ends in ``.x``. Empty: any columns.
    """

    sureness: float
    kinds: str
    columns: tuple[str, ...] = ()


_SIDES = (  # names of two columns, of which the last words differ
    *("*1_model *2_model", "*a_model *b_model", "*1_id *2_id", "*a_id *b_id", "left* right*", "first* second*"),
    *("*a *b", "*A *B", "*1 *2", "*left *right", "*first *second", "*winner *loser", "*rejected", "*better *worse"),
    "*won *lost",
)
_LOOKED_AT = 8  # columns
_ANY = Signature(1.0, "table json json-lines text folder")
# A reader without a signature, such as that of a plug-in, is tried on every source.
_SIGNATURES = {
    "alt-test": Signature(0.95, "folder"),
    "appen": Signature(0.95, "table", ("_unit_id",)),
    "argilla": Signature(0.9, "table", ("*.responses", "fields responses", "*-suggestion", "external_id")),
    "brat": Signature(0.9, "folder"),
    "braintrust": Signature(0.92, "json json-lines", ("input output scores",)),
    "conll": Signature(0.95, "text"),
    "counts": Signature(0.5, "table"),
    "doccano": Signature(0.8, "folder json json-lines", ("id text", "id data", "id filename", "doc_id")),
    "every-eval-ever": Signature(0.95, "folder json json-lines", ("model_id sample_id evaluation_name evaluation",)),
    "files": Signature(0.55, "folder"),
    "folder": Signature(1.0, "folder"),
    "image-folder": Signature(0.5, "folder"),
    "inspect-log": Signature(0.95, "folder json json-lines", ("version status eval",)),
    "judge-bench": Signature(0.95, "folder json json-lines", ("pair_id label judgments",)),
    "label-studio": Signature(0.9, "json json-lines", ("data annotations", "data completions")),
    "label-studio-table": Signature(0.9, "table", ("id annotator annotation_id",)),
    "labelbox": Signature(0.95, "json json-lines", ("data_row projects",)),
    "langfuse": Signature(0.92, "table", ("traceId name value source", "traceId name stringValue source")),
    "lewidi": Signature(0.9, "json"),
    "lighttag": Signature(0.9, "json json-lines", ("examples",)),
    "lm-eval": Signature(0.95, "folder json-lines", ("doc_id resps target",)),
    "long": Signature(0.6, "table"),
    "mlflow": Signature(0.92, "json json-lines", ("assessments", "info data", "assessment_name source")),
    "mt-bench": Signature(0.9, "table", ("question_id model judge judgment score",)),
    "mturk": Signature(0.95, "table", ("HITId WorkerId",)),
    "pairs": Signature(0.55, "table"),
    "nested": Signature(0.65, "nested"),
    "preferences": Signature(0.66, "table", _SIDES),
    "prodigy": Signature(0.8, "json json-lines", ("answer _annotator_id", "answer _session_id")),
    "promptfoo": Signature(0.92, "json", ("results",)),
    "questions": Signature(0.5, "table"),
    "sagemaker": Signature(
        0.9,
        "folder json json-lines",
        ("answers", "datasetObjectId annotations", "source *-metadata", "source-ref *-metadata"),
    ),
    "toloka": Signature(0.95, "table", ("ASSIGNMENT:assignment_id ASSIGNMENT:worker_id",)),
    "triples": Signature(0.5, "table"),
    "turned": Signature(0.5, "table"),
    "verdicts": Signature(0.62, "table", ("*erdict", "*core", "*rade", "*ecision")),
    "zooniverse": Signature(0.95, "table", ("classification_id annotations subject_ids",)),
    "webanno": Signature(0.95, "folder"),
    "wide": Signature(0.4, "table"),
}


_CERTAIN = 0.95


def certain(source: Source, settings: ReadSettings) -> Reader | None:
    """The plug-in that the settings name, or that is certain of a source; used before tables are examined."""
    if settings.format is not None:
        return readers[settings.format]() if settings.format in readers.plugins else None
    matches = readers.map(lambda cls: _try(cls(), source, settings), readers.plugins)
    best = max(matches.values(), key=lambda one: one[0], default=None)
    return best[1] if best is not None and best[0] >= _CERTAIN else None


def find_reader(source: Source, settings: ReadSettings) -> Reader:
    """The reader named in the settings, or the best match by content; refuses a source that none recognises."""
    if settings.format is not None:
        return readers.find(settings.format)()
    if settings.turn and source.table is not None and (source.table.delimiter or not source.table.nests):
        return readers["turned"]()
    if settings.workers is not None and source.table is not None and not (settings.worker or settings.label):
        return readers["wide"]()
    most = {name: _SIGNATURES.get(name, _ANY).sureness for name in readers if _may_fit(name, source)}
    best, reader = (0.0, ""), None
    for name in sorted(most, key=lambda name: -most[name]):
        if most[name] < best[0]:
            break
        for sureness, candidate in readers.map(lambda cls: _try(cls(), source, settings), [name]).values():
            if sureness > 0 and (sureness, name) > best:
                best, reader = (sureness, name), candidate
    if reader is not None:
        return reader
    if source.table is not None:
        columns = source.table.columns
        if source.table.nested_remedy == RECORDS and source.table.nests:
            raise DataError("This JSON document is one record of lists or records", RECORDS, file=source.path)
        try:
            need_roles(assign_roles(source.table, settings), ("task", "worker", "label"), columns, source.path)
            raise MappingError("The columns do not fit any format", columns, {}, source.path, "task", "worker", "label")
        except MappingError as error:
            if error.code == "columns":
                error.remedies = (*_proposed(source, settings), *error.remedies)
            if source.table.header and source.table.delimiter and settings.header is None and not error.roles:
                error.remedies += (Remedy("header", False, when="the first row is none of column names"),)
            raise
    if source.content is not None and source.content.kind == "folder":
        remedy = (
            "A dataset folder holds annotations.* (task, worker, label) or classes.txt and tasks.*; a folder of images "
            "holds a subfolder for each class."
        )
        raise DataError("This folder holds no dataset", remedy, file=source.path)
    what = f"No format fits. Known: {', '.join(readers)}"
    raise DataError(what, file=source.path, remedies=(Remedy("format"),))


def _proposed(source: Source, settings: ReadSettings) -> tuple[Remedy, ...]:
    """Remedies for columns of unknown names, by their content."""
    from crowdcore.data.readers.long import proposed

    table, rated = source.need_table(), settings.model_copy(update={"kind": "ratings"})
    if settings.kind is None and readers["wide"]().fits(source, rated):
        return (Remedy.read_as("ratings", when="columns are workers, who rate"),)
    roles = assign_roles(table, settings)
    if "task" not in roles and {"worker", "label"} <= roles.keys():
        return _several(table, roles["worker"], roles["label"])
    by_content, by_rating = proposed(table, settings), assign_roles(table, rated)
    if by_content or settings.kind or "label" in roles or not {"worker", "label"} <= by_rating.keys():
        return by_content
    label = by_rating["label"]
    several = () if "task" in by_rating else _several(table, by_rating["worker"], label)
    return (Remedy.read_as("ratings", when=f"{label!r} holds ratings"), *several)


def _several(table: Table, worker: str, label: str) -> tuple[Remedy, ...]:
    """Remedies with the first columns that together may name a task: with the worker they differ in each row."""
    words = {column: table.words(column) for column in table.columns if column not in (worker, label)}
    for size in (2, 3):
        for names in combinations([*words][:_LOOKED_AT], size):
            units = [*zip(*map(words.__getitem__, names), strict=True)]
            again, rows = len({*units}), {*zip(units, table.words(worker), strict=True)}
            if len(units) > 0 and len(rows) == len(units) and 3 * again <= 2 * len(units):
                return (Remedy("task", ([*names], names[0]), when="that names it"),)
    return ()


def _may_fit(name: str, source: Source) -> bool:
    """Return whether a source has the signature of a reader; the reader is not loaded."""
    signature, content, table = _SIGNATURES.get(name, _ANY), source.content, source.table
    kinds: set[str] = {content.kind} if content else set()
    if table is not None:
        kinds = kinds - {"text"} | {"table"}
        kinds |= {"nested"} if table.nests else set()
        kinds |= {"text"} if table.path is not None and table.path.suffix.lower() == ".conll" else set()
    if not kinds & {*signature.kinds.split()}:
        return False
    if table is None or not signature.columns:
        return True
    return any(all(matching(table.columns, part) for part in parts.split()) for parts in signature.columns)


def _try(reader: Reader, source: Source, settings: ReadSettings) -> tuple[float, Reader]:
    try:
        return reader.fits(source, settings), reader
    except DataError:  # the settings name a column that this reader lacks, or two columns have the same name
        return 0.0, reader
