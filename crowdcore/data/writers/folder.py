"""A dataset as a folder in our format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import SPLIT_ENDINGS, SPLITS, TRUTH_ARRAYS, CrowdDataset, SimulatedTruth
from crowdcore.data.dictionary import natural_order, strings
from crowdcore.data.ratings import RatingDataset
from crowdcore.data.readers.folder import TARGET_MARKS
from crowdcore.data.rows import Rows
from crowdcore.data.sentences import Sentences
from crowdcore.data.tables.base import Arrow
from crowdcore.data.writers.tables import (
    TableFormat,
    annotation_table,
    check_names,
    gold_column,
    names_column,
    replacing,
    write_table,
)


def write_folder(
    dataset: CrowdDataset | RatingDataset,
    path: str | Path,
    *,
    table: TableFormat = "parquet",
    readme: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a dataset as a folder that `read_dataset` (`read_ratings`) reads back equal.

    Args:
        path: the folder; it appears only when it is complete.
        table: format of annotations, tasks and workers.
        readme: text of README.md; default a line of counts.
        overwrite: replace an existing folder (only one in our format).

    Raises:
        DataError: the folder exists, or something would not be read back unchanged.
    """
    path = Path(path)
    check_names(dataset, listed=True)
    names = dataset.label_names
    bad = next((c for c in names if "\n" in c or "\r" in c or c.lower().startswith(TARGET_MARKS)), None)
    if bad is not None:
        raise DataError(f"The class name {bad!r} cannot be written to classes.txt", "Rename it.")
    if path.exists() and not (overwrite and path.is_dir() and (path / "classes.txt").is_file()):
        remedy = "Choose another name; in Python, overwrite=True replaces a dataset folder."
        raise DataError(f"{path} exists already", remedy)
    with replacing(path, overwrite) as temporary:
        temporary.mkdir()
        _fill(dataset, temporary, table, readme)
    return path


def _class_list(dataset: CrowdDataset | RatingDataset) -> tuple[str, ...]:
    """The lines of classes.txt: the classes; of ratings their range, then their words."""
    if not isinstance(dataset, RatingDataset):
        return dataset.classes
    low, high = (np.format_float_positional(end, trim="-") for end in (dataset.low, dataset.high))
    return f"# regression: rating on {low}..{high}", *dataset.levels


def _fill(dataset: CrowdDataset | RatingDataset, folder: Path, table: TableFormat, readme: str | None) -> None:
    (folder / "classes.txt").write_text("".join(f"{line}\n" for line in _class_list(dataset)), encoding="utf-8")
    write_table(annotation_table(dataset), folder / f"annotations.{table}")
    write_table(_task_table(dataset), folder / f"tasks.{table}")
    sentences = dataset.sentences
    if sentences is not None:
        write_table(_token_table(sentences), folder / f"tokens.{table}")
    if _needs_worker_list(dataset):
        write_table(pa.table({"worker": strings(map(str, dataset.worker_ids))}), folder / f"workers.{table}")
    if dataset.features is not None:
        for ending, rows in _parts(dataset, dataset.features, "features").items():
            np.save(folder / f"features{ending}.npy", rows, allow_pickle=False)
    if dataset.media is not None and dataset.media.images is not None:
        mapped = dataset.media.columns is not None and "image" in dataset.media.columns  # pixels are a cache of files
        for ending, rows in _parts(dataset, dataset.media.images, "images").items():
            if mapped:
                np.save(folder / f"images{ending}.npy", rows, allow_pickle=False)
            else:
                np.savez_compressed(folder / f"images{ending}.npz", images=rows)
    if dataset.file_row is not None:
        np.save(folder / "file_row.npy", dataset.file_row, allow_pickle=False)
    _copy_media(dataset, folder)
    if dataset.truth is not None:
        _write_truth(dataset.truth, folder / "truth.npz")
    text = readme or (
        f"# {dataset.name}\n\n{dataset.n_annotations:,} annotations by {dataset.n_workers:,} workers on "
        f"{dataset.n_tasks:,} tasks, {_labels(dataset)}.\n"
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _labels(dataset: CrowdDataset | RatingDataset) -> str:
    if isinstance(dataset, RatingDataset):
        return f"ratings from {dataset.low:g} to {dataset.high:g}"
    return f"{dataset.n_classes:,} classes"


def _task_table(dataset: CrowdDataset | RatingDataset) -> Arrow:
    columns = {
        "task": strings(map(str, dataset.task_ids)),
        "split": names_column(np.ma.masked_less(dataset.split.astype(np.int32), 0), strings(SPLITS)),
        "gold": gold_column(dataset),
    }
    if dataset.media is not None and dataset.media.columns is not None:
        frame = dataset.media.columns
        columns |= {str(name): pa.array(frame[name].astype("str"), from_pandas=True) for name in frame}
    return pa.table(columns)


def _token_table(sentences: Sentences) -> Arrow:
    """A row for each token: the sentence it is in, and its text."""
    ids = pa.array(sentences.ids.astype("str"))
    words = pa.array(sentences.words.astype("str"))
    return pa.table({"sentence": names_column(sentences.of_task.astype(np.int32), ids), "word": words})


def _needs_worker_list(dataset: CrowdDataset | RatingDataset) -> bool:
    """Return whether reading the annotations alone would give other workers, or another order."""
    names = [str(name) for name in dataset.worker_ids]
    return bool((dataset.labels_per_worker == 0).any()) or natural_order(names) != list(range(len(names)))


def _parts(dataset: CrowdDataset | RatingDataset, rows: Rows, what: str) -> dict[str, np.ndarray]:
    """File ending -> rows of that split's tasks, in order."""
    parts = {}
    for code, ending in SPLIT_ENDINGS.items():
        tasks = np.flatnonzero(dataset.split == code)
        n = int(rows.present[tasks].sum())
        if 0 < n < len(tasks):
            name = SPLITS[code] if code >= 0 else "no"
            raise DataError(f"{n} of {len(tasks)} tasks of {name} split have {what}", "A file holds all or none.")
        if n:
            parts[ending] = rows[tasks]
    return parts


def _copy_media(dataset: CrowdDataset | RatingDataset, folder: Path) -> None:
    """Copy image and sound files that tasks name, under the same relative path."""
    media = dataset.media
    if media is None or media.columns is None or media.folder is None:
        return
    base = media.folder.resolve()
    for kind in ("image", "audio"):
        for name in media.columns.get(kind, ()):
            source = (base / str(name)).resolve()
            if isinstance(name, str) and source.is_relative_to(base) and source.is_file():
                target = folder / source.relative_to(base)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def _write_truth(truth: SimulatedTruth, path: Path) -> None:
    parts: dict[str, Any] = {
        name: np.asarray(getattr(truth, name)) for name in TRUTH_ARRAYS if getattr(truth, name) is not None
    }
    settings = np.array(json.dumps(truth.settings, sort_keys=True))
    np.savez_compressed(path, **parts, settings=settings, worker_role=np.array(truth.worker_role, dtype=np.str_))
