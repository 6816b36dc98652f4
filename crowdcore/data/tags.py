"""IOB2 tags: the meaning of class names, and the spans in a sequence of tags."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray, IntArray
from crowdcore.data.dataset import CrowdDataset, IndexTable
from crowdcore.data.dictionary import gather

OUTSIDE, BEGIN, INSIDE = 0, 1, 2


@dataclass(frozen=True, eq=False)
class TagScheme:
    """Meaning of the classes ``O``, ``B-LOC``, ``I-LOC`` ….

    Args:
        types: names of the entity types, in the order of the classes.
        part: (C,) 0 outside, 1 begins a span, 2 inside.
        type: (C,) number of the class's type, -1 for outside.
    """

    types: tuple[str, ...]
    part: IntArray
    type: IntArray

    @classmethod
    def of(cls, classes: tuple[str, ...]) -> TagScheme | None:
        """The scheme of some classes, None where they are no IOB2 tags."""
        parts = [("O", "") if name == "O" else (name[:1], name[2:]) for name in classes]
        fits = all(name == "O" or (name[:2] in ("B-", "I-") and len(name) > 2) for name in classes)
        if not fits or "O" not in classes or len(classes) < 2:
            return None
        types = tuple(dict.fromkeys(kind for part, kind in parts if part != "O"))
        part = np.array(["OBI".index(part) for part, _ in parts])
        return cls(types, part, np.array([types.index(kind) if part != "O" else -1 for part, kind in parts]))

    @cached_property
    def outside(self) -> int:
        """The class ``O``."""
        return int(np.flatnonzero(self.part == OUTSIDE)[0])

    def tag(self, part: int) -> IntArray:
        """(n_types,) class that begins (1) or continues (2) a span of each type, -1 where there is none."""
        classes = np.full(len(self.types), -1)
        own = np.flatnonzero(self.part == part)
        classes[self.type[own]] = own
        return classes

    @cached_property
    def invalid(self) -> BoolArray:
        """(C + 1, C) mask of tags (columns) that may not follow another; the last row is the start of a sentence."""
        before = np.append(self.type, -1)
        return np.asarray((self.part == INSIDE) & (before[:, None] != self.type))


def scheme_of(dataset: IndexTable) -> TagScheme | None:
    """The scheme of a crowd that tags the tokens of sentences; None for others."""
    return None if dataset.sentences is None else TagScheme.of(dataset.label_names)


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans of a flat sequence of tags.

    Args:
        start, end: (n_spans,) first position, and the one after the last.
        type: (n_spans,) entity type.
        of: (n,) span of each position, -1 = none.
    """

    start: IntArray
    end: IntArray
    type: IntArray
    of: IntArray

    def __len__(self) -> int:
        return len(self.start)


def find_spans(tags: IntArray, first: BoolArray, scheme: TagScheme) -> Spans:
    """The spans of tag sequences, as seqeval's default mode reads them.

    A span begins at ``B-``, and at an ``I-`` that follows ``O``, another type or the start of its sequence; it ends
    before ``O``, before the next span and at the end of its sequence. ``tags`` (n,) are classes, -1 counts as outside;
    ``first`` (n,) marks where a sequence begins.
    """
    kind = np.append(scheme.type, -1)[tags]
    before = np.where(first, -1, np.concatenate([[-1], kind[:-1]])) if len(kind) else kind
    begins = (kind >= 0) & ((np.append(scheme.part, OUTSIDE)[tags] == BEGIN) | (before != kind))
    of = np.where(kind >= 0, np.cumsum(begins) - 1, -1)
    start = np.flatnonzero(begins)
    return Spans(start, start + np.bincount(of[of >= 0], minlength=len(start)), kind[start], of)


def repaired(dataset: CrowdDataset, labels: IntArray) -> IntArray:
    """The tags (n_tasks,) of a crowd with ``B-`` for each ``I-`` that IOB2 does not allow; spans do not change.

    Classes that are no tags of sentences, and tokens without a tag (-1), are left as they are.
    """
    scheme = scheme_of(dataset)
    if scheme is None or not len(labels):
        return labels
    move = np.concatenate([labels[:1], labels[:-1]]).astype(np.int32, copy=False)  # the tag before
    move[dataset.tokens.start[:-1]] = -1
    move *= len(scheme.type)
    move += labels  # index into the table of moves
    begin = np.append(scheme.tag(BEGIN)[scheme.type], -1)
    invalid = np.flatnonzero((labels >= 0) & gather(scheme.invalid.ravel(), move))
    changed = labels.copy()
    changed[invalid] = np.where(begin[labels[invalid]] >= 0, begin[labels[invalid]], labels[invalid])
    return changed


@dataclass(frozen=True, eq=False)
class Sequences:
    """Annotations in the order in which each worker's tags follow one another.

    Args:
        rows: (n,) annotation at each place, by worker and token; a worker's repeats of a sentence come one by one.
        first: (n,) marks where a sequence begins: another worker or sentence, or after a token that was left out.
    """

    rows: IntArray
    first: BoolArray


def worker_sequences(dataset: CrowdDataset) -> Sequences:
    """The tag sequences of the workers of a crowd that has sentences."""
    rows = np.lexsort((dataset.task, dataset.worker))
    worker, task = dataset.worker[rows], dataset.task[rows].astype(np.int64)
    new = np.ones(len(rows), bool)
    new[1:] = (worker[1:] != worker[:-1]) | (task[1:] != task[:-1])
    place = np.arange(len(rows))
    turn = place - np.maximum.accumulate(np.where(new, place, 0))
    if turn.any():
        order = np.lexsort((task, turn, worker))
        rows, worker, task, turn = rows[order], worker[order], task[order], turn[order]
    sentence = dataset.unit[task]
    first = np.ones(len(rows), bool)
    first[1:] = (np.diff(worker) != 0) | (np.diff(sentence) != 0) | (np.diff(task) != 1) | (np.diff(turn) != 0)
    return Sequences(rows, first)


def need_tags(dataset: CrowdDataset) -> TagScheme:
    """The scheme of a crowd that tags tokens; refuses others."""
    scheme = scheme_of(dataset)
    if scheme is None:
        why = "knows no sentences" if dataset.sentences is None else "has classes that are not IOB2 tags"
        raise DataError(f"{dataset.name} {why}, so that it has no spans", "Use a crowd that tags tokens: O, B-…, I-….")
    return scheme
