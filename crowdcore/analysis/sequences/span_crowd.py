"""The true spans as tasks: what workers made of each, as a crowd that every statistic takes."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from crowdcore.analysis.reference import ReferenceLike
from crowdcore.analysis.sequences.span_pairs import pair_spans
from crowdcore.analysis.sequences.span_scores import judged_tags
from crowdcore.core.errors import DataError
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.tags import need_tags, worker_sequences

BOUNDARY = ("exact", "starts early", "starts late", "ends early", "ends late", "both ends differ")


def span_crowd(
    dataset: CrowdDataset, reference: ReferenceLike = "gold", of: Literal["type", "boundary"] = "type"
) -> CrowdDataset:
    """A crowd whose tasks are the true spans, and whose labels say what each worker gave in their place.

    ``of="type"``: labels are entity types; boundaries do not count. ``of="boundary"``: labels are `BOUNDARY`, whatever
    the type. So `shared_mistakes` of the first says which types many workers take for which. A worker who marked
    nothing that overlaps the true span gave it no label: missing is no taking for another, and whoever misses spans
    misses those of all types.

    Raises:
        DataError: the crowd does not tag tokens, or the reference states no span that anybody saw.

    Examples:
        >>> import crowdcore as cc
        >>> spans = cc.analysis.span_crowd(cc.data.simulate.tags(n_sentences=50, seed=1))
        >>> spans.classes
        ('LOC', 'PER')
    """
    scheme = need_tags(dataset)
    assert dataset.sentences is not None
    truth, kept = judged_tags(dataset, reference)
    sequences = worker_sequences(kept)
    worker, task, given = (part[sequences.rows] for part in (kept.worker, kept.task, kept.label))
    pairs = pair_spans(truth.labels[task], given, sequences.first, scheme)
    if not len(pairs.true):
        raise DataError(f"{truth.name} states no span in what workers tagged")
    first, last = task[pairs.true.start].astype(np.int64), task[pairs.true.end - 1]
    extent, number = np.unique(first * dataset.n_tasks + last, return_inverse=True)
    paired = np.flatnonzero(pairs.partner >= 0)
    partner, who = pairs.partner[paired], worker[pairs.true.start[paired]]
    gold: IntArray = np.zeros(len(extent), int)
    if of == "type":
        classes, label = scheme.types, pairs.given.type[partner]
        gold[number] = pairs.true.type
    else:
        early = pairs.given.start[partner] - pairs.true.start[paired]
        late = pairs.given.end[partner] - pairs.true.end[paired]
        differs = [(early != 0) & (late != 0), early < 0, early > 0, late < 0, late > 0]
        classes, label = BOUNDARY, np.select(differs, [5, 1, 2, 3, 4], 0)
    order = np.lexsort((who, number[paired]))
    start, end = np.divmod(extent, dataset.n_tasks)
    return CrowdDataset(
        f"{dataset.name}, spans by {of}",
        classes,
        pd.Index([f"{dataset.task_ids[a]}-{b - a + 1}" for a, b in zip(start, end, strict=True)]),
        dataset.worker_ids,
        number[paired][order],
        who[order],
        label[order],
        gold=gold,
        split=dataset.split[start],
        media=Media(columns=pd.DataFrame({"text": _texts(dataset, start, end)})),
    )


def _texts(dataset: CrowdDataset, start: IntArray, end: IntArray) -> list[str]:
    """The sentence of each span, with the span between ⟦ and ⟧."""
    assert dataset.sentences is not None
    words, cut = dataset.sentences.words.to_numpy(), dataset.sentences.start
    texts = []
    for a, b, s in zip(start, end + 1, dataset.sentences.of_task[start], strict=True):
        texts.append(" ".join([*words[cut[s] : a], "⟦", *words[a:b], "⟧", *words[b : cut[s + 1]]]))
    return texts
