"""Examine a file before it is imported: its table, and the images and texts that its tasks show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from crowdcore.data.images import ADDRESSES, SUFFIXES, image_faults, image_names, is_address
from crowdcore.data.ratings import Labelled
from crowdcore.data.report import IMAGES, TEXTS, Finding, plural
from crowdcore.data.texts import blank_texts
from crowdcore.data.validation.examine import Examined, Import, examine_table
from crowdcore.data.validation.numbered import by_level
from crowdcore.data.validation.ratings import RatingImport, examine_rating_table

Found = TypeVar("Found", bound=Examined[Any])
_NAMED = 50
_LATER = "The labels are imported; training on {} leaves these tasks out once you accept that."
_NO_FILES = Finding(
    "no-image-files",
    "note",
    "The tasks are called like image files, but none of these files is beside the table, so no images are shown",
    0,
    remedy="To see them, put the files there; in the app upload a ZIP of both.",
)
_NONE_THERE = "Put the files where the column says, seen from the folder of the table; in the app upload a ZIP of both."


def examine(path: str | Path, **mapping: Any) -> Import:
    """Read a file or folder and report what was understood, without taking it in.

    Images that cannot be used and empty texts are named in the report; images are opened for ten seconds at most.

    Args:
        path: a dataset folder, or a CSV, TSV, JSON, JSON lines or Parquet file.
        mapping: fields of `ReadSettings`, where the content does not say enough: ``task="hit"``,
            ``format="wide"``, ``classes=["no", "yes"]``, ``repeats="first"`` …

    Raises:
        MappingError: the columns do not say what they hold.
        DataError: the file holds no crowd data, or is damaged; says where.
        SettingError: a mapping that cannot be.
    """
    return with_media_findings(examine_table(path, **mapping))


def examine_ratings(path: str | Path, **mapping: Any) -> RatingImport:
    """Read ratings from a file or folder and report what was understood, without taking them in.

    Args:
        path: a dataset folder, or a CSV, TSV, JSON, JSON lines or Parquet file, long or wide.
        mapping: fields of `RatingSettings`: ``low=0, high=1``, ``levels=["bad", "fair", "good"]``, ``task="hit"`` …

    Raises:
        DataError: the range is not known, or the file holds no ratings, or is damaged; says where.
        SettingError: a mapping that cannot be.
    """
    return with_media_findings(examine_rating_table(path, **mapping))


def with_media_findings(found: Found) -> Found:
    """An examined file, its report and its dataset's notes with what is wrong with the tasks' images and texts."""
    dataset: Labelled = found.dataset(accept=True)
    told = [*_about_images(dataset), *_about_texts(dataset)]
    if not told:
        return found
    report = replace(found.report, findings=tuple(by_level([*found.report.findings, *told])))
    return replace(found, report=report, _dataset=replace(dataset, notes=(*dataset.notes, *map(str, told))))


def _about_images(dataset: Labelled) -> list[Finding]:
    names = image_names(dataset)
    if names is None:
        like_files = dataset.n_tasks > 0 and all(str(name).lower().endswith(SUFFIXES) for name in dataset.task_ids)
        pixels = dataset.media is not None and dataset.media.images is not None
        return [_NO_FILES] if like_files and not pixels else []
    given = names.dropna().astype(str)
    if len(given) and given.map(is_address).all():
        what = f"Images of {plural(len(given), 'task')} are URLs"
        return [Finding("image-addresses", "note", what, len(given), remedy=ADDRESSES)]
    faulty, unopened = image_faults(dataset)
    remedy = _NONE_THERE if len(faulty) == dataset.n_tasks else _LATER.format("images")
    told = [_unusable(IMAGES, faulty, dataset.n_tasks, "an image that cannot be used", remedy)] if faulty else []
    if unopened:
        what = f"{plural(unopened, 'image file')} were not opened, as there are many; training on images opens all"
        told.append(Finding("images-unopened", "note", what, unopened))
    return told


def _about_texts(dataset: Labelled) -> list[Finding]:
    faulty = blank_texts(dataset)
    return [_unusable(TEXTS, faulty, dataset.n_tasks, "no text", _LATER.format("texts"))] if faulty else []


def _unusable(code: str, faulty: dict[str, str], n_tasks: int, what: str, remedy: str) -> Finding:
    named = [reason if reason.startswith(task) else f"{task}: {reason}" for task, reason in faulty.items()][:_NAMED]
    more = f"; and {len(faulty) - _NAMED:,} more" if len(faulty) > _NAMED else ""
    have = "has" if len(faulty) == 1 else "have"
    sentence = f"{len(faulty):,} of {plural(n_tasks, 'task')} {have} {what}: {'; '.join(named)}{more}"
    return Finding(code, "warning", sentence, len(faulty), examples=tuple(named), remedy=remedy)
