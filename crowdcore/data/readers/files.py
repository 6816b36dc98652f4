"""Folders: of tables (one for each worker, parts of one, answers beside the truth), and of images by class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from crowdcore.core.errors import DataError, Remedy
from crowdcore.data.columns import ALIASES, assign_roles, plain
from crowdcore.data.dictionary import Codes, strings
from crowdcore.data.encoder import encode
from crowdcore.data.media import SUFFIXES
from crowdcore.data.readers import find_reader
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source, with_gold
from crowdcore.data.readers.conll import read_lines
from crowdcore.data.readers.folder import is_dataset_folder
from crowdcore.data.readers.long import NEEDED, roles_by_content
from crowdcore.data.report import Finding
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Content, Table, identify, looks_like_conll
from crowdcore.data.tables.content import IOB2_TAG
from crowdcore.data.tables.parts import PartsTable, path_keys

MOST_FILES = 20_000
WORKER, TASK = "worker (file name)", "task (file name)"
_PACKED = (".xlsx", ".xls", ".xlsm", ".ods", ".gz", ".bz2", ".xz", ".zst", ".npy")
_SUFFIXES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".pq", ".conll", *_PACKED)
_ABOUT = ("readme", "license", "licence", "citation", "changelog", "metadata")  # files about the others
_LIKELY = 0.5  # least share of common values of two columns of tasks
_LOOKED_AT = 3  # files by which a folder of tables is recognised
_COMPARED = 50  # files whose first rows are compared


class Files(Reader):
    """Tables with the same columns: of workers named like the files, unless a column names the workers.

    Folders called ``name=value`` are columns, too. If one table has a task and one more column, that is gold.
    """

    name: ClassVar[str] = "files"
    title: ClassVar[str] = "Folder of tables (one for each worker, or parts)"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """There are files that look like tables."""
        files = _files(source)
        try:
            return 0.55 if files and all(map(identify, files[:_LOOKED_AT])) else 0.0
        except DataError:
            return 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read all tables."""
        folder, files = source.path, _files(source)
        if folder is None or not files:
            raise DataError("This folder holds no table", file=folder)
        contents = [identify(file, settings.encoding) for file in files]
        settings = settings.model_copy(update={"format": None})
        if len(contents) > 1 and all(c.path.suffix == ".conll" or looks_like_conll(c.sample) for c in contents):
            raw = read_lines(pasted(_columns(folder, contents), source), source, settings, self.name)
            return replace(raw, format=self.name)
        with ExitStack() as opened:
            tables = [_open(content, settings, opened) for content in contents]
            if settings.header is None and _lack_headers([table.need_table() for table in tables]):
                settings = settings.model_copy(update={"header": False})
                tables = [_open(content, settings, opened) for content in contents]
            if len(tables) == 1:
                raw = _read(replace(tables[0], name=source.name), settings)
            else:
                raw = _of_tables([_Part.of(folder, table) for table in tables], source, settings)
        return replace(raw, format=self.name)


def _open(content: Content, settings: ReadSettings, opened: ExitStack) -> Source:
    """A table of the folder, unpacked if necessary until all are read."""
    if content.kind != "container":
        return Source.of(content, settings)
    from crowdcore.data.containers import open_container

    source = open_container(content.path, settings)
    opened.callback(source.close)
    return source


class _Part(NamedTuple):
    """A table of the folder, and the names and values in its path."""

    table: Table
    keys: Mapping[str, str | None]
    stem: str

    @classmethod
    def of(cls, folder: Path, source: Source) -> _Part:
        file = source.path
        assert file is not None
        own = _has_own_folder(folder, file)
        return cls(source.need_table(), path_keys(folder, file), file.parent.name if own else source.name)


def _files(source: Source) -> list[Path]:
    """The tables of a folder, sorted; those in subfolders only if these are called ``name=value``."""
    folder = source.folder
    if folder is None:
        return []
    files = list(islice((f for f in folder.rglob("*") if f.suffix.lower() in _SUFFIXES), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        raise DataError(f"This folder holds more than {MOST_FILES:,} tables", "Write fewer.", file=folder)
    inside = [(file, file.relative_to(folder).parts) for file in sorted(files)]
    inside = [(f, parts) for f, parts in inside if f.is_file() and not any(part[0] in "._" for part in parts)]
    inside = [(f, parts) for f, parts in inside if not f.stem.lower().startswith(_ABOUT) and "__MACOSX" not in parts]
    inside = [files for files in inside if files[0].suffix.lower() not in _PACKED] or inside
    places = {tuple(part for part in parts[:-1] if "=" not in part) for _, parts in inside}
    if len(places) == 1 or {*map(len, places)} == {1}:
        return [file for file, _ in inside]
    return [file for file, parts in inside if all("=" in part for part in parts[:-1])]


def _has_tables(folder: Path) -> bool:
    return folder.is_dir() and any(f.suffix.lower() in _SUFFIXES for f in folder.iterdir())


def _has_own_folder(folder: Path, file: Path) -> bool:
    """Return whether a file's folder names its worker, as if each worker has one."""
    parent = file.parent
    beside = (p for p in parent.parent.iterdir() if p != parent)
    return parent != folder and "=" not in parent.name and any(map(_has_tables, beside))


def _read(source: Source, settings: ReadSettings) -> Raw:
    return find_reader(source, settings).read(source, settings)


def _of_tables(parts: Sequence[_Part], source: Source, settings: ReadSettings) -> Raw:
    """Tables of the same columns, joined; or a table of answers and one of the truth."""
    sizes = {len(part.table.columns) for part in parts if not part.table.header and part.table.delimiter}
    if len(sizes) > 1:
        return _answers_and_truth(parts, source, settings)
    shared = set(parts[0].table.columns).intersection(*(part.table.columns for part in parts))
    every = set(parts[0].table.columns).union(*(part.table.columns for part in parts))
    if len(shared) < 2 or 2 * len(shared) < len(every):
        return _answers_and_truth(parts, source, settings)
    folder = source.path
    assert folder is not None
    doubts: list[Finding] = []

    def with_names(*columns: str) -> PartsTable:
        return PartsTable(folder, [(part.table, {**part.keys, **dict.fromkeys(columns, part.stem)}) for part in parts])

    joined = with_names(*(name for name in (TASK, WORKER) if name in (settings.task, settings.worker)))
    roles = assign_roles(joined, settings)
    if roles.get("worker", WORKER) != WORKER and roles.get("task", TASK) == TASK:
        left = [c for c in parts[0].table.columns if c != roles["worker"]]
        label = roles.get("label", left[0] if len(left) == 1 else None)
        joined, settings = with_names(TASK), settings.model_copy(update={"task": TASK, "label": label})
    elif settings.worker is None and "worker" in roles:
        for sheets in (finding for finding in source.findings if finding.code == "sheet"):
            what = f"{sheets.count} sheets hold rows, and name their workers"
            raise DataError(what, file=folder, code="sheet", remedies=sheets.remedies)
    elif settings.worker in (None, WORKER):
        first = _two_columns(parts[0].table, settings.model_copy(update={"worker": None}))
        doubts = _files_as_workers(parts, first.get("task")) if {"task", "worker"}.isdisjoint(roles) else []
        joined, settings = with_names(WORKER), settings.model_copy(update={"worker": WORKER, **first})
    raw = _read(Source(source.name, None, joined), settings)
    again = joined.headers_within(per_row=1)
    return replace(raw, n_rows=raw.n_rows + sum(f.left_out for f in again), findings=(*raw.findings, *again, *doubts))


def _lack_headers(tables: Sequence[Table]) -> bool:
    """Return whether the column names differ between tables, and half of them are cells of other tables."""
    names = [table.columns for table in tables]
    if len({*map(len, names)}) > 1 or len({*names}) < 2 or not all(t.header and t.delimiter for t in tables):
        return False
    cells = [{word for words in _cells(table).values() for word in words} for table in tables[:_COMPARED]]
    others = [set[str]().union(*cells[:k], *cells[k + 1 :]) for k in range(len(cells))]
    return all(2 * len({*columns} & words) >= len(columns) for columns, words in zip(names, others, strict=False))


def _files_as_workers(parts: Sequence[_Part], first: str | None) -> list[Finding]:
    """A question if there are more files than names in their first column, and these recur in other files."""
    names = [_cells(part.table)[first] for part in parts] if first else []
    every = {name for column in names for name in column}
    if len(parts) <= len(every) or 2 * len(every) > sum(map(len, names)):
        return []
    what = f"{len(parts):,} files were read as workers, and {len(every):,} names in {first!r} as tasks"
    remedies = (
        Remedy("worker", WORKER, when="so"),
        Remedy(("task", "worker"), [TASK, first], when="each file is a task"),
    )
    return [Finding("files-as-workers", "question", what, len(parts), column=first, remedies=remedies)]


def _two_columns(table: Table, settings: ReadSettings) -> dict[str, str]:
    """Task and label of a worker's table of two unnamed columns; the first one differs in all rows."""
    roles = assign_roles(table, settings)
    if len(table.columns) != 2 or {"task", "label"} <= {*roles} or settings.task or settings.label:
        return {}
    first = table.head.column(0)
    return dict(zip(("task", "label"), table.columns, strict=True)) if len(first.unique()) == len(first) else {}


def _answers_and_truth(parts: Sequence[_Part], source: Source, settings: ReadSettings) -> Raw:
    """The annotations of the table with most columns, with gold from the one with the task and one more column."""
    crowd = max(parts, key=lambda part: len(part.table.columns)).table
    others = [part for part in parts if part.table is not crowd]
    truths = [(part, truth_columns) for part in others if (truth_columns := _truth(part.table, crowd, settings))]
    if not truths and all(_is_about(part.table, crowd, settings) for part in others):
        raw = _read(Source(source.name, None, crowd), settings)
        return replace(raw, findings=(*raw.findings, _not_read(others)))
    if len(truths) != 1:
        listed = ", ".join(part.table.path.name for part in parts[:5] if part.table.path)
        remedy = "Give one of its files, or a folder whose tables have the same columns."
        raise DataError(f"These tables do not belong together: {listed}", remedy, file=source.path, code="tables")
    part, truth = truths[0]
    raw = _read(Source(source.name, None, crowd), settings.model_copy(update=truth.roles))
    codes, _ = part.table.encode((truth.task, truth.gold))
    raw = with_gold(raw, codes[truth.task], codes[truth.gold], "answers")
    findings = (*raw.findings, *part.table.findings, *part.table.repeated_headers(per_row=0))
    unused = [other for other in others if other is not part]
    findings = (*findings, *([_not_read(unused)] if unused else []))
    return replace(raw, roles={**raw.roles, "gold": f"{part.stem}: {truth.gold}"}, findings=findings)


def _is_about(table: Table, crowd: Table, settings: ReadSettings) -> bool:
    """Return whether a table beside the annotations has none, but is about their tasks or workers."""
    roles, cells = assign_roles(crowd, settings), _cells(crowd)
    if not {*NEEDED} <= {*roles} or {*NEEDED} <= {*assign_roles(table, settings)}:
        return False
    known = cells[roles["task"]], cells[roles["worker"]]
    return any(_overlap(values, ids) >= _LIKELY for values in _cells(table).values() for ids in known)


def _not_read(parts: Sequence[_Part]) -> Finding:
    sentence = f"Other tables of the folder were not read: {', '.join(repr(part.stem) for part in parts[:5])}"
    return Finding("other-tables", "warning", sentence, len(parts))


class _Truth(NamedTuple):
    """Columns of a table of true classes, and the roles in the table of answers that follow."""

    task: str
    gold: str
    roles: dict[str, str | None]


def _truth(table: Table, crowd: Table, settings: ReadSettings) -> _Truth | None:
    """The column of distinct values that are mostly tasks of the crowd, and the other one; None without such."""
    cells, answers = _cells(table), _cells(crowd)
    ids = [name for name, values in cells.items() if len(set(values)) == len(table.head) > 0]
    tasks = [name for name in answers if settings.task in (None, name)]
    shares = {(a == b, _overlap(cells[a], answers[b])): (a, b) for a in ids for b in tasks}
    likely = {key: pair for key, pair in shares.items() if key[1] >= _LIKELY}
    if not likely:
        return None
    a, b = likely[max(likely)]
    rest = [name for name in table.columns if name != a]
    named = [n for n in rest if plain(n) in ALIASES["gold"]]
    shared = [n for n in rest if max((_overlap(cells[n], answers[c]) for c in crowd.columns if c != b), default=0) > 0]
    gold = settings.gold or next(iter(named), shared[0] if len(shared) == len(rest) == 1 else None)
    if gold not in rest:
        return None
    assigned: Mapping[str, str] = assign_roles(crowd, settings.model_copy(update={"task": b, "gold": None}))
    left = [name for name in crowd.columns if name != b]
    if not crowd.header:
        assigned = roles_by_content(crowd, settings.model_copy(update={"task": b, "gold": None})) or assigned
    label = assigned.get("label") or max(left, key=lambda name: _overlap(answers[name], cells[gold]))
    worker = assigned.get("worker") or next((name for name in left if name != label), None)
    roles: dict[str, str | None] = {"task": b, "label": label, "worker": worker, "gold": None}
    return _Truth(a, gold, roles)


def _cells(table: Table) -> dict[str, list[str]]:
    """The filled cells of the first rows of each column."""
    return {name: [word for word in table.words(name) if word] for name in table.columns}


def _overlap(one: list[str], other: list[str]) -> float:
    """Share of the values of the smaller list that are in the other one."""
    a, b = {*one}, {*other}
    return len(a & b) / max(min(len(a), len(b)), 1)


def _columns(folder: Path, contents: Sequence[Content]) -> dict[str, list[list[str]]]:
    """Worker -> token and tag of each line, empty between sentences."""
    columns: dict[str, list[list[str]]] = {}
    for content in contents:
        text = content.path.read_text(content.encoding).removeprefix("\ufeff")
        lines = [line.split() for line in text.rstrip("\n").split("\n")]
        if lines[0][1:] and not IOB2_TAG.match(lines[0][-1]):
            lines = lines[1:]  # names of columns
        for number, line in enumerate(lines, 1):
            if len(line) not in (0, 2):
                what = f"This line has {len(line)} columns, not a token and a tag"
                raise DataError(what, file=content.path, row=number)
        own = _has_own_folder(folder, content.path)
        before = columns.setdefault(content.path.parent.name if own else content.path.stem, [])
        before += [[]] * bool(before) + lines
    return columns


def pasted(columns: Mapping[str, list[list[str]]], source: Source) -> list[str]:
    """Lines of a token and the tag of each worker, below a line of names."""
    (first, lines), *others = columns.items()
    for worker, theirs in others:
        pairs = enumerate(zip_longest(lines, theirs, fillvalue=None), 1)
        differs = next((row for row, (a, b) in pairs if (a or [])[:1] != (b or [])[:1] or a is None or b is None), None)
        if differs:
            what = f"The tokens of {worker!r} differ from those of {first!r}"
            raise DataError(what, "Each file must hold the same tokens.", file=source.path, row=differs)
    rows = zip(*columns.values(), strict=True)
    names = ["token", *(worker.replace(" ", "_") for worker in columns)]
    return [" ".join(names), *(" ".join([*row[0], *(line[1] for line in row[1:] if line)]) for row in rows)]


_SPLITS = {"train", "training", "valid", "validation", "val", "dev", "test", "testing"}


class ImageFolder(Reader):
    """``<class>/<image>`` or ``<split>/<class>/<image>``: true classes and images, without annotations."""

    name: ClassVar[str] = "image-folder"
    title: ClassVar[str] = "Folder of images by class"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A folder whose subfolders hold images."""
        folder = source.path
        plain_folder = folder is not None and folder.is_dir() and not is_dataset_folder(folder)
        return 0.5 if plain_folder and folder and any(islice(_images(folder), 1)) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the images' paths as tasks, and the folders that they lie in as gold."""
        folder = source.path
        paths = sorted(_images(folder)) if folder is not None and folder.is_dir() else []
        if not paths:
            raise DataError("This folder has no subfolders with images", "Put the images of a class into one each.")
        names = [path.as_posix() for path in paths]
        splits = [path.parts[0] if len(path.parts) == 3 else "" for path in paths]
        nothing = Codes(strings([]), np.empty(0, np.int32))
        gold, split = _codes([path.parts[-2] for path in paths]), _codes(splits) if any(splits) else None
        tasks = RawTasks(_codes(names), True, gold, split, {"image": _codes(names)})
        classes = tuple(sorted({path.parts[-2] for path in paths}))
        return Raw(self.name, nothing, nothing, nothing, n_rows=0, tasks=tasks, classes=classes, classes_from="folders")


def _images(folder: Path) -> Iterator[Path]:
    """Paths of the images below subfolders, relative to the folder, without hidden ones."""
    for pattern in ("*/*", "*/*/*"):
        for file in folder.glob(pattern):
            path = file.relative_to(folder)
            own = len(path.parts) == 2 or path.parts[0].lower() in _SPLITS
            if own and file.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in path.parts):
                yield path


def _codes(values: list[str]) -> Codes:
    return encode(strings(value or None for value in values))
