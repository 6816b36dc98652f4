"""Our own on-disk format: a folder with annotations.*, tasks.*, classes.txt and arrays per split."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.columns import need_roles, read_roles
from crowdcore.data.dataset import TRUTH_ARRAYS, SimulatedTruth
from crowdcore.data.dictionary import Codes, NumberColumn, strings, unescape
from crowdcore.data.readers._tokens import by_tokens, token_ids
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source, open_table, read_annotations
from crowdcore.data.report import Finding
from crowdcore.data.rows import open_array, read_npz
from crowdcore.data.sentences import Sentences
from crowdcore.data.settings import MEDIA, ReadSettings
from crowdcore.data.tables import Table, identify
from crowdcore.data.tables.base import Arrow

SUFFIXES = ("parquet", "csv", "tsv", "jsonl")
Target = Literal["classes", "ratings", "sequences"]
TARGETS: dict[str, Target] = {"# regression": "ratings", "# sequence": "sequences"}  # first line of classes.txt
TARGET_MARKS = tuple(TARGETS)
_NOT_ALIGNED = "It must hold a row for each row of tasks.*, the tokens of a sentence together"


def find_table(folder: Path, stem: str) -> Path | None:
    """The file with this stem (``annotations``, ``tasks``, ``workers``) in a folder."""
    return next((path for suffix in SUFFIXES if (path := folder / f"{stem}.{suffix}").is_file()), None)


def is_dataset_folder(folder: Path) -> bool:
    """Return whether a folder holds a dataset in our format."""
    return folder.is_dir() and ((folder / "classes.txt").is_file() or find_table(folder, "annotations") is not None)


def read_class_list(folder: Path) -> tuple[tuple[str, ...] | None, Target]:
    """The classes of a folder (None without classes.txt), and the kind of its labels."""
    path = folder / "classes.txt"
    if not path.is_file():
        return None, "classes"
    content = identify(path)
    try:
        lines = [line.strip() for line in path.read_text(content.encoding).split("\n")]
    except UnicodeError as error:
        raise DataError(f"This file cannot be read as text ({error})", file=path) from None
    kind: Target = "classes"
    for mark, target in TARGETS.items():
        if lines[0].lower().startswith(mark):
            kind, lines = target, lines[1:]
    classes = None if kind == "ratings" else tuple(line for line in lines if line)
    for number, name in enumerate(classes or (), 1):
        if classes and name in classes[: number - 1]:
            raise DataError(f"The class {name!r} is listed twice", file=path, row=number)
    return classes, kind


def _rating_range(folder: Path) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
    """Low and high by a folder's classes.txt (``# regression: rating on 0..1``), and its words from low to high."""
    first, *words = (folder / "classes.txt").read_text(encoding="utf-8").split("\n")
    match = re.search(r"(-?[0-9.]*[0-9])\s*(?:\.\.|…)\s*(-?[0-9][0-9.]*)", first)
    return (float(match[1]), float(match[2])) if match else None, tuple(word.strip() for word in words if word.strip())


def are_tag_sequences(label: Codes, classes: tuple[str, ...] | None) -> bool:
    """Return whether at least half of the labels are several classes with blanks between them."""
    if classes is None or not len(label) or isinstance(label, NumberColumn):
        return False
    words = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(label.values))
    start, known = np.asarray(words.offsets), np.asarray(pc.is_in(words.flatten(), value_set=strings(classes)))
    foreign = np.add.reduceat(~known, start[:-1]) if len(words) else np.empty(0, int)
    several = np.append((foreign == 0) & (np.diff(start) > 1), False)
    return bool(several[label.codes].mean() >= 0.5)


class DatasetFolder(Reader):
    """``annotations.*`` (task, worker, label), ``tasks.*`` (task, split, gold, text, image, audio), ``classes.txt``.

    Tags of tokens stand either as one sequence of tags a sentence, or as one tag a token with the list ``tokens.*``
    (sentence, word), row for row that of the tasks.
    """

    name: ClassVar[str] = "folder"
    title: ClassVar[str] = "Dataset folder"

    def fits(self, source: Source, settings: ReadSettings) -> float:
        """A folder with classes.txt or annotations.*."""
        return 1.0 if source.path is not None and is_dataset_folder(source.path) else 0.0

    def read(self, source: Source, settings: ReadSettings) -> Raw:
        """Read the tables; features and images are opened on first use."""
        folder = source.path
        if folder is None or not is_dataset_folder(folder):
            raise DataError("This is not a folder with annotations.* or classes.txt", file=source.path)
        classes, target = read_class_list(folder)
        listing, tokens, path = (find_table(folder, stem) for stem in ("tasks", "tokens", "annotations"))
        sentences = None if tokens is None or target == "sequences" else _read_sentences(tokens)
        listed = None if listing is None else _read_tasks(listing, sentences)
        if path is None:
            nothing = Codes(strings([]), np.empty(0, np.int32))
            raw = Raw(self.name, nothing, nothing, nothing, n_rows=0)
        else:
            table = open_table(identify(path, settings.encoding), settings)
            names = None if listed is None else listed.tasks.task.values
            raw = read_annotations(table, settings, self.name, about_tasks=listed is None, listed=names)
        if listed is not None:
            findings = (*raw.findings, *listed.findings)
            raw = replace(raw, tasks=listed.tasks, roles=raw.roles | listed.roles, findings=findings)
        elif not len(raw.task):
            raise DataError("There are neither annotations.* nor tasks.*", file=folder)
        if (path := find_table(folder, "workers")) is not None:
            raw = _with_workers(raw, path)
        if target == "sequences" or are_tag_sequences(raw.label, classes):
            raw, target = by_tokens(raw), "classes"
        elif sentences is not None:
            if listed is None or len(sentences.words) != len(listed.tasks.task):
                raise DataError(_NOT_ALIGNED, file=tokens)
            raw = replace(raw, sentences=sentences)
        rating_range, levels = _rating_range(folder) if target == "ratings" else (None, ())
        return replace(
            raw,
            classes=classes,
            classes_from="classes.txt",
            rows=_read_file_rows(folder, len(raw.task)),
            arrays=folder,
            truth=_read_truth(folder, len(raw.task)),
            target=target,
            rating_range=rating_range,
            levels=levels,
        )


class _Listed(NamedTuple):
    """A list of tasks; in the report its columns are named with their file."""

    tasks: RawTasks
    roles: dict[str, str]
    findings: tuple[Finding, ...]


def _read_tasks(path: Path, sentences: Sentences | None) -> _Listed:
    """The list of tasks; tokens are mostly named after their sentence."""
    table = open_table(identify(path), ReadSettings())
    likely = None
    if sentences is not None:
        of = np.repeat(np.arange(len(sentences), dtype=np.int32), sentences.lengths)
        likely = token_ids(pa.array(sentences.ids, pa.large_string()), of, sentences.start)
    columns = read_roles(table, ReadSettings(), ("task",), extra=False, listed=likely)
    part = {role: codes for role, codes in columns.codes.items() if role in ("task", "gold", "split", *MEDIA)}
    roles = {role: f"{path.name}: {columns.roles[role]}" for role in part if role != "task"}
    tasks = RawTasks.of(part, True, table.escaped)
    return _Listed(tasks, roles, (*columns.findings, *table.repeated_headers(per_row=0)))


def _with_workers(raw: Raw, path: Path) -> Raw:
    """Add the list of workers."""
    table = open_table(identify(path), ReadSettings())
    columns = read_roles(table, ReadSettings(), ("worker",), extra=False)
    names = columns.codes["worker"]
    listed = names.values.take(pa.array(names.codes, mask=names.missing)).to_pylist()
    findings = (*raw.findings, *columns.findings, *table.repeated_headers(per_row=0))
    return replace(raw, workers=tuple(listed), workers_escaped=table.escaped, findings=findings)


def _read_sentences(path: Path) -> Sentences:
    """The sentences whose tokens are the tasks, from a table with a row for each task."""
    table = open_table(identify(path), ReadSettings())
    need_roles(dict.fromkeys(table.columns, ""), ("sentence", "word"), table.columns, path)
    codes, _ = table.encode(("sentence", "word"))
    sentence, word = (replace(codes[name], values=_unescaped(codes[name], table)) for name in ("sentence", "word"))
    number = sentence.codes
    if (np.diff(number, prepend=0) < 0).any():
        raise DataError(_NOT_ALIGNED, file=path)
    words = word.values.take(pa.array(word.codes, mask=word.missing)).fill_null("")
    return Sentences.from_tokens(number, pd.Index(sentence.values.to_pandas()), pd.Index(words.to_pandas()))


def _unescaped(codes: Codes, table: Table) -> Arrow:
    return unescape(codes.values) if table.escaped else codes.values


def _read_file_rows(folder: Path, n_annotations: int) -> IntArray | None:
    """Row of each annotation in the file that it was first read from, from file_row.npy."""
    path = folder / "file_row.npy"
    if not path.is_file():
        return None
    rows = np.asarray(open_array(path))
    if rows.shape != (n_annotations,) or rows.dtype.kind not in "iu":
        sentence = f"It holds {rows.dtype} of the shape {rows.shape}"
        raise DataError(sentence, f"There must be a whole number for each of {n_annotations} annotations.", file=path)
    return rows


def _read_truth(folder: Path, n_annotations: int) -> SimulatedTruth | None:
    """Parameters of a simulated crowd, from truth.npz."""
    path = folder / "truth.npz"
    if not path.is_file():
        return None
    parts = read_npz(path, (*TRUTH_ARRAYS, "worker_role", "settings"))
    for name in ("omega", "used_common"):
        if name in parts and parts[name].shape != (n_annotations,):
            raise DataError(f"`{name}` has the shape {parts[name].shape} for {n_annotations} annotations", file=path)
    try:
        settings = json.loads(str(parts.pop("settings"))) if "settings" in parts else {}
    except ValueError as error:
        raise DataError(f"Its settings are not JSON ({error})", file=path) from None
    roles = tuple(map(str, parts.pop("worker_role", ())))
    return SimulatedTruth(**parts, settings=settings, worker_role=roles)
