"""Import in two steps: examine, then accept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from crowdcore.core.errors import DataError
from crowdcore.core.memory import frugal_memory, release_memory
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.readers import Raw, Source, find_reader
from crowdcore.data.readers.conll import looks_like_conll
from crowdcore.data.report import ImportReport, plural
from crowdcore.data.settings import ReadSettings
from crowdcore.data.tables import identify, open_table
from crowdcore.data.validation.assemble import assemble

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Examined(Generic[T]):
    """An examined file, ready to be imported.

    Args:
        report: what was understood, and what would be dropped or merged.
    """

    report: ImportReport
    _dataset: T

    def dataset(self, accept: bool = False) -> T:
        """Take it in.

        Args:
            accept: agree to everything in ``report.changes``.

        Raises:
            DataError: something would be dropped or merged, and that was not accepted.
        """
        changes = () if accept else self.report.changes
        if changes:
            others = len(changes) - 1
            told = f"There {'is' if others == 1 else 'are'} {plural(others, 'more such finding')}"
            more = f". {told}. Correct" if others else ": correct"
            raise DataError(
                f"{self.report.source}: {str(changes[0]).removesuffix('.')}",
                f"Nothing was imported{more} the file, or pass accept=True (--accept) to continue. "
                f"{self.report.rows_counted}",
            )
        return self._dataset


Import: TypeAlias = Examined[CrowdDataset]
"""An examined crowd, ready to be imported."""


def examine_table(path: str | Path, **mapping: Any) -> Import:
    """Read a file or folder and report what was understood of its table: `examine` without what tasks show."""
    settings = ReadSettings(**mapping)
    return examine_source(open_source(path, settings), settings)


@frugal_memory()
def open_source(path: str | Path, settings: ReadSettings) -> Source:
    """A file or folder, its table opened."""
    path = Path(path).expanduser()
    content = identify(path, settings.encoding)
    free = content.kind == "folder" or settings.format == "conll" or looks_like_conll(content.sample)
    table = None if free else open_table(content, settings)
    return Source(path.resolve().name if content.kind == "folder" else path.stem, content, table)


@frugal_memory()
def examine_source(source: Source, settings: ReadSettings, adjust: Callable[[Raw], Raw] | None = None) -> Import:
    """Examine an opened source; ``adjust`` may add what is known from elsewhere."""
    found = Import(*assemble(read_source(source, settings, adjust), settings, source.name))
    check_count(found.report, source.path)
    return found


def read_source(source: Source, settings: ReadSettings, adjust: Callable[[Raw], Raw] | None) -> Raw:
    """What an opened source holds, before cleaning."""
    raw = replace(find_reader(source, settings).read(source, settings), path=source.path)
    release_memory()
    return raw if adjust is None else adjust(raw)


def check_count(report: ImportReport, path: Path | None) -> None:
    """Every row of the file is an annotation, or a finding says why not; what reading took of memory is given back.

    Raises:
        DataError: rows went missing in silence, or were made up: a fault of the reader.
    """
    if report.n_rows != report.n_annotations + report.n_left_out:
        sentence = (
            f"The reader {report.format!r} lost count: of {report.n_rows:,} rows {report.n_annotations:,} became "
            f"annotations and {report.n_left_out:,} are reported as left out"
        )
        raise DataError(sentence, "This is a fault of crowdcore, not of the file: please report it.", file=path)
    release_memory()


def read_dataset(path: str | Path, *, accept: bool = False, **mapping: Any) -> CrowdDataset:
    """Read a dataset from a file or folder; its format is found by content.

    Args:
        path: a dataset folder, or a CSV, TSV, JSON, JSON lines or Parquet file.
        accept: go on although something would be dropped or merged; ``notes`` of the dataset keep what.
        mapping: fields of `ReadSettings`, as for `examine`.

    Raises:
        DataError: unreadable, or something would be dropped or merged and that was not accepted.
        SettingError: a mapping that cannot be.

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
    return examine_table(path, **mapping).dataset(accept=accept)
