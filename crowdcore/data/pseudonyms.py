"""Pseudonyms for workers, and datasets without workers' names."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from crowdcore.core import files
from crowdcore.data.dataset import TRUTH_ARRAYS, CrowdDataset
from crowdcore.data.dictionary import fold_name
from crowdcore.data.ratings import RatingDataset

D = TypeVar("D", CrowdDataset, RatingDataset)

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
KEY_FILE = "pseudonyms.key"


def pseudonyms(dataset: CrowdDataset | RatingDataset) -> list[str]:
    """(n_workers,) ``worker 01`` …: the same for the same data in the same workspace, in random order.

    They are derived from a random key of the workspace. Without a workspace they are derived from the data alone, so
    that anyone who has the data can derive them too.
    """
    key = dataset.fingerprint.encode() + _secret()
    digests = [hashlib.blake2b(str(w).encode(), key=key, digest_size=8).digest() for w in dataset.worker_ids]
    rank = np.argsort(np.argsort(np.array(digests, dtype="S8"), kind="stable"), kind="stable")
    width = len(str(len(rank)))
    return [f"worker {n + 1:0{width}d}" for n in rank]


def _secret() -> bytes:
    """The workspace's key (32 bytes), made when it is first needed; empty where it cannot be stored."""
    folder = files.workspace()
    file, draft = folder / KEY_FILE, folder / f".{KEY_FILE}.{os.getpid()}"
    with contextlib.suppress(OSError):
        if folder.is_dir() and not file.exists():
            draft.touch(0o600)
            draft.write_bytes(secrets.token_bytes(32))
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(draft, file)
            draft.unlink()
        return file.read_bytes()
    return b""


def hide_names(dataset: D) -> D:
    """The dataset with pseudonyms for workers, and without the further columns of its annotations.

    Numbers, order and ``fingerprint`` stay those of the data, so that results of runs on the dataset fit.

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.data.pseudonyms import hide_names
        >>> sorted(hide_names(cc.load_dataset("demo")).worker_ids)[:2]
        ['worker 01', 'worker 02']
    """
    names, notes = pd.Index(pseudonyms(dataset)), hidden_in(dataset.notes, dataset)
    truth = dataset.truth and replace(dataset.truth, worker_role=())
    hidden = replace(dataset, worker_ids=names, extra=None, truth=truth, notes=notes)
    vars(hidden)["fingerprint"] = dataset.fingerprint
    return hidden


def in_order(dataset: D) -> D:
    """The dataset with its workers, and each task's annotations, in the order of the workers' names."""
    order = np.argsort(np.asarray(dataset.worker_ids, str), kind="stable")
    worker = np.argsort(order)[dataset.worker]
    rows = np.lexsort((worker, dataset.task))
    truth = dataset.truth
    if truth is not None:
        by = dict.fromkeys(TRUTH_ARRAYS, order) | {"omega": rows, "used_common": rows, "common_confusion": slice(None)}
        parts: dict[str, Any] = {n: values[by[n]] for n in by if (values := getattr(truth, n)) is not None}
        truth = replace(truth, **parts, worker_role=tuple(truth.worker_role[r] for r in order if truth.worker_role))
    labels: dict[str, Any] = {dataset.kind.value: dataset.values[rows]}
    return replace(
        dataset,
        worker_ids=dataset.worker_ids[order],
        task=dataset.task[rows],
        worker=worker[rows],
        extra=None if dataset.extra is None else dataset.extra.iloc[rows].reset_index(drop=True),
        truth=truth,
        **labels,
    )


def hidden_in(texts: Iterable[str], dataset: CrowdDataset | RatingDataset) -> tuple[str, ...]:
    """Findings about a dataset, as sentences, with pseudonyms for the workers that they name in quotation marks.

    A finding about workers may name some who are not in the dataset, or in another spelling: they become ``'…'``.
    """
    called = {fold_name(str(w)): p for w, p in zip(dataset.worker_ids, pseudonyms(dataset), strict=True)}
    labels = dataset.label_names
    others = {fold_name(str(name)) for names in (labels, dataset.task_ids) for name in names}

    def hidden(text: str) -> str:
        about_workers = "worker" in text.lower()

        def hidden_name(match: re.Match[str]) -> str:
            name = fold_name(match.group()[1:-1])
            if name in called and (about_workers or name not in others):
                return repr(called[name])
            kept = not about_workers or name in others or text[: match.start()].endswith("(column ")
            return match.group() if kept else "'…'"

        return _QUOTED.sub(hidden_name, text)

    return tuple(map(hidden, texts))
