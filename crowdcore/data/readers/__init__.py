"""File formats: every file of this folder reads one."""

from __future__ import annotations

from crowdcore.core.errors import DataError
from crowdcore.core.registry import Registry
from crowdcore.data.columns import MappingError, assign_roles, need_roles
from crowdcore.data.readers.base import Raw, RawTasks, Reader, Source
from crowdcore.data.settings import ReadSettings

__all__ = ["Raw", "RawTasks", "Reader", "Source", "find_reader", "readers"]

readers: Registry[Reader] = Registry(__name__, Reader, "format", group="crowdcore.readers")  # type: ignore[type-abstract]


def find_reader(source: Source, settings: ReadSettings) -> Reader:
    """The reader named in the settings, or the one with the best match by content.

    Raises:
        MappingError: a table whose columns no reader understands.
        DataError: something else that no reader understands.
        SettingError: no reader of that name.
    """
    if settings.format is not None:
        return readers.find(settings.format)()
    sureness = readers.map(lambda reader: _sureness(reader(), source, settings))
    best = max(sureness, key=lambda name: (sureness[name], name))
    if sureness[best] > 0:
        return readers[best]()
    if source.table is not None:
        columns = source.table.columns
        source.table.refuse_document()
        need_roles(assign_roles(source.table, settings), ("task", "worker", "label"), columns, source.path)
        raise MappingError("The columns do not fit any format", columns, {}, source.path, "task=…, worker=…, label=…")
    if source.content is not None and source.content.kind == "folder":
        remedy = (
            "A dataset folder holds annotations.* (task, worker, label) or classes.txt and tasks.*; a folder of images "
            "holds a subfolder for each class."
        )
        raise DataError("This folder holds no dataset", remedy, file=source.path)
    raise DataError(f"No format fits. Known: {', '.join(readers)}", "Name one with format=….", file=source.path)


def _sureness(reader: Reader, source: Source, settings: ReadSettings) -> float:
    try:
        return reader.fits(source, settings)
    except MappingError:  # a column was named that is none to this reader
        return 0.0
