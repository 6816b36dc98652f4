"""A crowd that tags tokens as CoNLL columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.dictionary import strings
from crowdcore.data.writers.tables import replacing

_STEP = 1 << 24  # cells in memory at a time


def write_conll(dataset: CrowdDataset, path: str | Path) -> Path:
    """Write a token a line, with its gold tag if some is known and the tag of each worker (``?``: none).

    Args:
        dataset: a crowd that tags tokens.
        path: the file; replaced at once if it exists.

    Raises:
        DataError: it knows no sentences, a name or word holds a blank, or a worker tagged a sentence twice.
    """
    path, sentences = Path(path), dataset.sentences
    if sentences is None:
        raise DataError(f"{dataset.name} knows no sentences", "Write it as a long table or as a folder.")
    gold = ["gold"] if (dataset.gold >= 0).any() else []
    header = ["token", *gold, *map(str, dataset.worker_ids)]
    for name in (*header, *dataset.classes, *np.unique(sentences.words.astype("str"))):
        if not name or len(name.split()) != 1 or name != name.strip():
            raise DataError(
                f"{name!r} cannot be written in a column: it is empty or contains a space",
                "Rename it, or write a folder.",
            )
    pair = dataset.task.astype(np.int64) * dataset.n_workers + dataset.worker
    if len(np.unique(pair)) < len(pair):
        raise DataError(f"A worker of {dataset.name} tagged a token twice", "Read it with repeats='first'.")
    tags = strings((*dataset.classes, "?"))
    words = pa.array(sentences.words.astype("str")).cast(pa.large_string())
    ends = np.zeros(dataset.n_tasks, bool)
    ends[sentences.start[1:] - 1] = True
    gap = strings(("", "\n")).take(pa.array(ends.astype(int)))
    step = max(1, _STEP // max(dataset.n_workers, 1))
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join(header) + "\n")
        for low in range(0, dataset.n_tasks, step):
            high = min(low + step, dataset.n_tasks)
            rows = slice(dataset.task_start[low], dataset.task_start[high])
            given = np.full((high - low, dataset.n_workers), dataset.n_classes)
            given[dataset.task[rows] - low, dataset.worker[rows]] = dataset.label[rows]
            known = [np.where(dataset.gold[low:high] < 0, dataset.n_classes, dataset.gold[low:high])] if gold else []
            columns = [tags.take(pa.array(codes)) for codes in (*known, *given.T)]
            tab = pa.scalar("\t", pa.large_string())
            lines = pc.binary_join_element_wise(words[low:high], *columns, tab)
            lines = pc.binary_join_element_wise(lines, gap[low:high], pa.scalar("", pa.large_string()))
            file.write("\n".join(lines.to_pylist()) + "\n")
    return path
