"""Stable pseudonyms for workers."""

from __future__ import annotations

import hashlib

import numpy as np

from crowdcore.data.dataset import CrowdDataset

__all__ = ["pseudonyms"]


def pseudonyms(dataset: CrowdDataset) -> list[str]:
    """(n_workers,) ``worker 01`` …: the same wherever the data are the same, in an order that tells nothing.

    They keep names from being read, not from being guessed: whoever has the data can make them too.
    """
    key = dataset.fingerprint.encode()
    digests = [hashlib.blake2b(str(w).encode(), key=key, digest_size=8).digest() for w in dataset.worker_ids]
    rank = np.argsort(np.argsort(np.array(digests, dtype="S8"), kind="stable"), kind="stable")
    width = len(str(len(rank)))
    return [f"worker {n + 1:0{width}d}" for n in rank]
