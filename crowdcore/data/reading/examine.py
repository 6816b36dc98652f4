"""Read a file: open its table, understand it, assemble the dataset; report first, or import at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError, Remedy
from crowdcore.core.memory import frugal_memory, release_memory
from crowdcore.data.by_name import feature_rows
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.dictionary import clean
from crowdcore.data.ratings import Labelled, RatingDataset
from crowdcore.data.readers import Raw, Source, certain, find_reader, readers
from crowdcore.data.reading.assemble import assemble, by_level
from crowdcore.data.reading.doubts import media_findings
from crowdcore.data.reading.understood import understand
from crowdcore.data.report import ImportReport, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import Content, identify
from crowdcore.data.tables.base import fill_down
from crowdcore.data.tables.content import SAMPLE

_WORDS = 50  # most words that may be levels


@dataclass(frozen=True, eq=False)
class Import:
    """An examined file, ready to be imported.

    Args:
        report: how the file was understood, and what would be dropped or merged.
    """

    report: ImportReport
    _dataset: Labelled

    def dataset(self, accept: bool = False, features: Any = None) -> CrowdDataset | Any:
        """Import the dataset: a `CrowdDataset`, or a `RatingDataset` where labels are numbers.

        Args:
            accept: agree to everything in ``report.changes``.
            features: a row of numbers per task, in a frame whose index, or column ``task``, names it.

        Raises:
            DataError: something would be dropped or merged, and that was not accepted.
        """
        changes = () if accept else self.report.changes
        if changes:
            first, others = changes[0], len(changes) - 1
            more = f" There {'is' if others == 1 else 'are'} {plural(others, 'more such finding')}." if others else ""
            raise DataError(
                f"{self.report.source}: {first.statement.removesuffix('.')}",
                f"Nothing was imported.{more} {self.report.rows_counted}".rstrip(),
                code=first.code,
                remedies=(*first.remedies, Remedy.accept()),
            )
        dataset = self._dataset
        return dataset if features is None else replace(dataset, features=feature_rows(dataset, features, named=True))

    @property
    def needs_files(self) -> bool:
        """True if the dataset reads features or media from files later."""
        return self._dataset.features is not None or self._dataset.media is not None

    def with_media(self) -> Import:
        """Add findings about the tasks' images and texts to the report and the dataset's notes."""
        findings = media_findings(self._dataset)
        if not findings:
            return self
        report = replace(self.report, findings=tuple(by_level([*self.report.findings, *findings])))
        notes = (*self._dataset.notes, *(finding.note for finding in findings))
        return Import(report, replace(self._dataset, notes=notes))


RatingImport = Import
"""The name that `Import` had for ratings."""


def examine(path: str | Path, **mapping: Any) -> Import:
    """Read a file or folder and report how it was understood, without importing it.

    Images that cannot be used and empty texts are named in the report; images are opened for ten seconds at most.

    Args:
        path: a dataset folder, or a CSV, TSV, JSON, JSON lines or Parquet file.
        mapping: fields of `ReadSettings`, where the content does not say enough: ``task="hit"``,
            ``format="wide"``, ``classes=["no", "yes"]``, ``kind="ratings", low=0, high=1``, ``repeats="first"`` …

    Raises:
        MappingError: the roles of columns cannot be recognised.
        DataError: the file holds no crowd data, or is damaged; says where. Or its labels may be classes or ratings.
        SettingError: ``mapping`` is invalid.
    """
    return examine_table(path, **mapping).with_media()


def examine_ratings(path: str | Path, **mapping: Any) -> Import:
    """`examine` with ``kind="ratings"``: labels are numbers in a range, or words that stand for numbers."""
    return examine(path, **{**mapping, "kind": "ratings"})


def read_dataset(path: str | Path, *, features: Any = None, accept: bool = False, **mapping: Any) -> CrowdDataset | Any:
    """Read a dataset from a file or folder; its format and the kind of its labels are recognised by content.

    Args:
        path: a dataset folder, or a CSV, TSV, JSON, JSON lines or Parquet file.
        features: a row of numbers per task, in a frame whose index, or column ``task``, names it.
        accept: continue although something would be dropped or merged, which ``notes`` of the dataset report.
        mapping: fields of `ReadSettings`, as for `examine`.

    Returns:
        A `CrowdDataset`, or a `RatingDataset` where labels are numbers.

    Raises:
        DataError: unreadable, or something would be dropped or merged and that was not accepted.
        SettingError: ``mapping`` is invalid.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import crowdcore as cc
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "votes.csv")
        ...     _ = file.write_text("task,worker,label\\n1,ann,cat\\n1,ben,dog\\n2,ann,dog\\n")
        ...     votes = cc.read_dataset(file)
        >>> votes
        CrowdDataset('votes': 2 tasks, 2 workers, 2 classes, 3 annotations)
    """
    return examine_table(path, **mapping).dataset(accept, features)


def read_ratings(
    path: str | Path, low: float | None = None, high: float | None = None, *, accept: bool = False, **mapping: Any
) -> RatingDataset:
    """`read_dataset` with ``kind="ratings"``: labels are numbers in a range, or words that stand for numbers.

    The lowest and the highest rating may be omitted where a folder's classes.txt states them, or with ``levels``.
    Labels outside of the range, or that are no numbers, are left out if that is accepted.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import crowdcore as cc
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "stars.csv")
        ...     _ = file.write_text("task,worker,rating\\n1,ann,4\\n1,ben,2.5\\n2,ann,1\\n")
        ...     cc.read_ratings(file, low=1, high=5)
        RatingDataset('stars': 2 tasks, 2 workers, 3 ratings from 1 to 5)
    """
    about = {**mapping, "low": low, "high": high, "kind": "ratings"}
    return cast(RatingDataset, read_dataset(path, accept=accept, **about))


def examine_table(path: str | Path, **mapping: Any) -> Import:
    """`examine` without the images and texts of tasks."""
    settings = ReadSettings(**mapping)
    source, lends = open_source(path, settings), False
    try:
        opened = examine_source(source, settings)
        lends = opened.needs_files
    finally:
        source.close(lends)
    return opened


@frugal_memory()
def open_source(path: str | Path, settings: ReadSettings) -> Source:
    """A file or folder, its table opened; the caller closes it."""
    path = Path(path).expanduser()
    try:
        content = identify(path, settings.encoding)
        if content.kind != "container":
            return Source.of(content, settings)
    except DataError:
        if not path.is_file() or not readers.plugins:
            raise
        with path.open("rb") as file:
            odd = Source(path.stem, Content(path, "text", None, file.read(SAMPLE).decode("utf-8", "replace")))
        if certain(odd, settings) is None:
            raise
        return odd
    from crowdcore.data.containers import open_container

    return open_container(content.path, settings)


@frugal_memory()
def examine_source(source: Source, settings: ReadSettings, adjust: Callable[[Raw], Raw] | None = None) -> Import:
    """Examine an opened source; ``adjust`` may add gold and the like to the columns read.

    Missing rows without a finding, and surplus rows, are faults of the reader, and refused.
    """
    report, dataset = assemble(understand(_read(source, settings, adjust), settings), settings, source.name)
    if report.n_rows != report.n_annotations + report.n_left_out:
        sentence = (
            f"The reader {report.format!r} lost count: of {report.n_rows:,} rows {report.n_annotations:,} became "
            f"annotations and {report.n_left_out:,} are reported as left out"
        )
        remedy = "This is a fault of crowdcore, not of the file: please report it."
        raise DataError(sentence, remedy, file=source.path)
    release_memory()
    return Import(report, dataset)


def _read(source: Source, settings: ReadSettings, adjust: Callable[[Raw], Raw] | None) -> Raw:
    """The columns of an opened source by role, before cleaning."""
    own = certain(source, settings)
    if source.table is not None and own is None:
        fill_down(source.table, settings.fill)
    if isinstance(settings.task, tuple):
        from crowdcore.data.tables.parts import JoinedTable

        table = JoinedTable(source.need_table(), settings.task)
        source, settings = replace(source, table=table), settings.model_copy(update={"task": table.joined})
    if settings.multi_select == "yes-no":
        settings = settings.model_copy(update={"multi_select": "keep"})  # turned into answers later
    raw = (own or find_reader(source, settings)).read(source, settings)
    unused = () if raw.extra is None else raw.extra.column_names
    noticed = (replace(f, level="note") if f.code == "thousands" and f.column in unused else f for f in raw.findings)
    raw = replace(raw, path=source.path, findings=(*source.findings, *noticed))
    release_memory()
    if source.table is not None and source.table.categorical and settings.classes is None:
        from crowdcore.data.reading.labels import with_categories

        raw = with_categories(raw, source.table)
    return raw if adjust is None else adjust(raw)


def first_rows(path: str | Path, **mapping: Any) -> pd.DataFrame:
    """The first five rows of a file in columns, before these have roles; ``mapping`` as for `examine`."""
    settings = ReadSettings(**mapping)
    table = open_source(path, settings).need_table()
    head = table.head.slice(0, 5).rename_columns(table.columns)
    return pd.DataFrame({name: map(str, head[name].to_pylist()) for name in dict.fromkeys(table.columns)})


@dataclass(frozen=True)
class RatingValues:
    """The labels in a file of ratings, before their range or the order of their words is known.

    Args:
        columns: the columns of the file.
        roles: role -> column.
        low, high: of those that are numbers, None if fewer than half of the distinct ones are.
        words: the others, the first 50, in their order in the file.
    """

    columns: tuple[str, ...]
    roles: dict[str, str]
    low: float | None
    high: float | None
    words: tuple[str, ...]


def rating_values(path: str | Path, **mapping: Any) -> RatingValues:
    """The distinct labels of a file of ratings; ``mapping`` as for `examine`, the range may be missing."""
    settings = ReadSettings(**{**mapping, "kind": "ratings"})
    source = open_source(path, settings)
    try:
        raw = _read(source, settings, None)
    finally:
        source.close()
    values = clean(raw.label, raw.missing, raw.escaped).codes.values.to_pandas()
    numbers = pd.to_numeric(values, errors="coerce").replace([np.inf, -np.inf], np.nan)
    known = numbers.dropna()
    words = tuple(values[numbers.isna()][:_WORDS])
    if 2 * len(known) < len(values) or known.empty:
        return RatingValues(raw.columns, raw.roles, None, None, tuple(values[:_WORDS]))
    return RatingValues(raw.columns, raw.roles, float(known.min()), float(known.max()), words)
