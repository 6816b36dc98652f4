"""Our own on-disk format: a folder with annotations.*, tasks.*, classes.txt and arrays per split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import SPLITS, CrowdDataset, Media
from crowdcore.data.rows import Rows

__all__ = ["is_dataset_folder", "read_folder"]


def is_dataset_folder(folder: Path) -> bool:
    """Whether a folder holds a dataset in our format."""
    return folder.is_dir() and (folder / "classes.txt").is_file()


def _table(folder: Path, stem: str) -> pd.DataFrame | None:
    for path in (folder / f"{stem}.parquet", folder / f"{stem}.csv"):
        if path.is_file():
            return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=str)
    return None


def read_folder(folder: Path) -> CrowdDataset:
    """Read a dataset folder (first version: the doctor's checks come with the reader package)."""
    classes = tuple((folder / "classes.txt").read_text(encoding="utf-8").splitlines())
    tasks = _table(folder, "tasks")
    annotations = _table(folder, "annotations")
    if annotations is None:
        annotations = pd.DataFrame({"task": [], "worker": [], "label": []}, dtype=str)
    annotations = annotations.astype(dict.fromkeys(("task", "worker", "label"), str))
    if tasks is None:
        tasks = pd.DataFrame({"task": annotations["task"].unique()})
    ids = pd.Index(tasks["task"].astype(str))
    workers = pd.Index(sorted(annotations["worker"].unique()))
    index = pd.Index(classes)
    task, label = ids.get_indexer(annotations["task"]), index.get_indexer(annotations["label"])
    if (label < 0).any() or (task < 0).any():
        raise DataError("A label outside classes.txt or a task outside tasks.*", file=folder)
    order = np.argsort(task, kind="stable")
    worker = workers.get_indexer(annotations["worker"])
    extra = annotations.drop(columns=["task", "worker", "label"]).iloc[order].reset_index(drop=True)
    split = pd.Index(SPLITS).get_indexer(tasks["split"]) if "split" in tasks else np.full(len(tasks), -1)
    gold = index.get_indexer(tasks["gold"]) if "gold" in tasks else np.full(len(tasks), -1)

    def parts(kind: str, suffix: str) -> Rows | None:
        files = {s: folder / f"{kind}_{name}.{suffix}" for s, name in enumerate(SPLITS)}
        found = {s: f for s, f in files.items() if f.is_file()}
        return Rows.from_splits(found, np.asarray(split)) if found else None

    columns = tasks[[c for c in ("text", "image", "audio") if c in tasks]]
    images = parts("images", "npz")
    return CrowdDataset(
        folder.name,
        classes,
        ids,
        workers,
        task[order],
        worker[order],
        label[order],
        gold=gold,
        split=split,
        features=parts("features", "npy"),
        media=Media(images, columns if columns.shape[1] else None, folder) if images or columns.shape[1] else None,
        extra=extra if extra.shape[1] else None,
    )
