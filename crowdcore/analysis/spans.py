"""Crowds that tag tokens: spans of workers beside the true ones, their scores, and true spans as tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse

from crowdcore.analysis.reference import Reference, ReferenceLike, as_judge, explain_unjudged, resolve_reference
from crowdcore.analysis.statistics import check_share
from crowdcore.core.errors import DataError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset, Media
from crowdcore.data.doors import door
from crowdcore.data.tags import Spans, TagScheme, find_spans, need_tags, worker_sequences

SPAN_ERRORS = ("missed", "both", "boundary", "type", "exact")
"""Outcomes for a true span, worst first: nothing overlaps it, or a span of other extent and type does, of other extent,
of another type, or the very same span."""


@dataclass(frozen=True, eq=False)
class SpanPairs:
    """Two taggings of the same positions.

    Args:
        true, given: their spans.
        outcome: (n true spans,) index into `SPAN_ERRORS`.
        partner: (n true spans,) the given span behind the outcome (the longest overlap of several), -1 = none.
        spurious: (n given spans,) whether no true span overlaps it.
    """

    true: Spans
    given: Spans
    outcome: IntArray
    partner: IntArray
    spurious: BoolArray


def pair_spans(true: IntArray, given: IntArray, first: BoolArray, scheme: TagScheme) -> SpanPairs:
    """Pair the spans of two taggings (n,) of the same positions; ``first`` (n,) marks the starts of sequences."""
    spans, other = find_spans(true, first, scheme), find_spans(given, first, scheme)
    both = np.flatnonzero((spans.of >= 0) & (other.of >= 0))
    cell, overlap = np.unique(spans.of[both].astype(np.int64) * max(len(other), 1) + other.of[both], return_counts=True)
    t, g = np.divmod(cell, max(len(other), 1))
    same_extent = (spans.start[t] == other.start[g]) & (spans.end[t] == other.end[g])
    same_type = spans.type[t] == other.type[g]
    rank = 1 + same_type + 2 * same_extent
    outcome = np.zeros(len(spans), int)
    partner = np.full(len(spans), -1)
    best = np.lexsort((overlap, rank))  # the last assignment of a span stands
    outcome[t[best]], partner[t[best]] = rank[best], g[best]
    spurious = np.ones(len(other), bool)
    spurious[g] = False
    return SpanPairs(spans, other, outcome, partner, spurious)


@dataclass(frozen=True)
class TaggingScores(Shown):
    """Agreement of one tagging with another.

    Args:
        precision: share of the given spans that are true: same tokens, same type.
        recall: share of the true spans that were given.
        f1: their harmonic mean.
        token_accuracy: share of the tokens with the same tag.
        n_true, n_given, n_exact: number of true spans, given spans, and given spans that are true.
    """

    precision: float
    recall: float
    f1: float
    token_accuracy: float
    n_true: int
    n_given: int
    n_exact: int


@door
def tagging_scores(
    dataset: CrowdDataset, labels: IntArray, reference: ReferenceLike = None, tasks: IntArray | None = None
) -> TaggingScores:
    """Compute span precision, recall and F1 (seqeval's default mode, micro average) and token accuracy of one tagging.

    Args:
        dataset: the tokens.
        labels: (n_tasks,) tags; -1 = left out.
        reference: what counts as the truth.
        tasks: tokens to compare; default: all that have a tag and a true tag.

    Raises:
        DataError: the crowd does not tag tokens.

    Examples:
        >>> import crowdcore as cc
        >>> crowd = cc.data.simulate.tags(n_sentences=50, seed=1)
        >>> tagging_scores(crowd, crowd.gold).f1
        1.0
    """
    scheme = need_tags(dataset)
    truth = resolve_reference(dataset, reference).labels
    seen = (truth >= 0) & (labels >= 0)
    if tasks is not None:
        chosen = np.zeros(dataset.n_tasks, bool)
        chosen[tasks] = True
        seen &= chosen
    at = np.flatnonzero(seen)
    return compare_tags(truth[at], labels[at], at, dataset.tokens.of_task[at], scheme)


def compare_tags(
    truth: IntArray, given: IntArray, task: IntArray, sentence: IntArray, scheme: TagScheme
) -> TaggingScores:
    """`tagging_scores` of bare arrays, (n,) each, without padding.

    ``task`` are ascending numbers of the tokens; where one is left out, a span ends.
    """
    first = np.ones(len(task), bool)
    first[1:] = (np.diff(sentence) != 0) | (np.diff(task) != 1)
    pairs = pair_spans(truth, given, first, scheme)
    n_true, n_given = len(pairs.true), len(pairs.given)
    n_exact = int((pairs.outcome == SPAN_ERRORS.index("exact")).sum())
    precision, recall, f1 = (float(x) for x in _measures(*np.array([n_exact, n_given, n_true], float)))
    same = float(np.mean(truth == given)) if len(task) else np.nan
    return TaggingScores(precision, recall, f1, same, n_true, n_given, n_exact)


def _measures(exact: FloatArray, given: FloatArray, true: FloatArray) -> FloatArray:
    """(3, …) precision, recall and F1; 0 where there is nothing to divide by, as in seqeval."""
    return np.stack(
        [exact / np.maximum(given, 1), exact / np.maximum(true, 1), 2 * exact / np.maximum(given + true, 1)]
    )


@dataclass(frozen=True, eq=False)
class SpanScores(Shown):
    """Spans of each worker beside the true ones, on the sentences that the worker tagged.

    Args:
        worker_ids: (R,) ids.
        sentences: (R,) sentences that each tagged and the reference judges.
        n_true: (R,) true spans in them.
        n_given: (R,) spans that the worker gave.
        outcomes: (R, 5) true spans by outcome, in the order of `SPAN_ERRORS`.
        spurious: (R,) given spans that no true span overlaps.
        inside: (R,) tags ``I-`` that the worker gave.
        invalid: (R,) those of them that follow ``O``, another type or the start of the sentence.
        value: (3, R) precision, recall, F1; NaN for workers without such sentences.
        low, high: (3, R) limits of the bootstrap interval over sentences, None without one.
        level: of the interval.
    """

    reference: str
    worker_ids: pd.Index[str]
    sentences: IntArray
    n_true: IntArray
    n_given: IntArray
    outcomes: IntArray
    spurious: IntArray
    inside: IntArray
    invalid: IntArray
    value: FloatArray
    low: FloatArray | None
    high: FloatArray | None
    level: float

    def frame(self) -> pd.DataFrame:
        """A row for each worker, the best F1 first."""
        columns: dict[str, Any] = {"worker": self.worker_ids, "sentences": self.sentences}
        for k, name in enumerate(("precision", "recall", "f1")):
            columns[name] = self.value[k]
            if self.low is not None and self.high is not None:
                columns |= {f"{name}_low": self.low[k], f"{name}_high": self.high[k]}
        columns |= {"true_spans": self.n_true, "given_spans": self.n_given}
        columns |= {name: self.outcomes[:, k] for k, name in enumerate(SPAN_ERRORS)}
        columns |= {"spurious": self.spurious, "inside_tags": self.inside, "invalid_tags": self.invalid}
        frame = pd.DataFrame(columns)
        return frame.sort_values(["f1", "sentences"], ascending=False, kind="stable", ignore_index=True)


def judged_tags(dataset: CrowdDataset, reference: ReferenceLike) -> tuple[Reference, CrowdDataset]:
    """Part of a reference that can judge tags, and the crowd with these tags only."""
    given = resolve_reference(dataset, reference)
    truth = as_judge(dataset, given)
    kept = dataset.where(truth.known[dataset.task])
    if kept.n_annotations:
        return truth, kept
    if fault := explain_unjudged(dataset, given):
        raise DataError(fault, "Give the true tags of some sentences, or tags of another worker.")
    raise DataError(f"{truth.name} knows no token that anybody tagged")


@door
def span_scores(
    dataset: CrowdDataset,
    reference: ReferenceLike = None,
    *,
    n_resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
) -> SpanScores:
    """Precision, recall, F1, kinds of errors and invalid tags of each worker.

    Args:
        dataset: a crowd that tags tokens.
        reference: what counts as the truth; a soft one by its most probable tags.
        n_resamples, level, seed: of the bootstrap over sentences; 0 resamples = no intervals.

    Raises:
        DataError: the crowd does not tag tokens, or the reference is not available or judges none of them.

    Examples:
        >>> import crowdcore as cc
        >>> scores = cc.analysis.span_scores(cc.data.simulate.tags(n_sentences=50, seed=1))
        >>> scores.value.shape
        (3, 8)
    """
    check_share(level=level)
    scheme, n_workers = need_tags(dataset), dataset.n_workers
    truth, kept = judged_tags(dataset, reference)
    sequences = worker_sequences(kept)
    worker, task, given = (part[sequences.rows] for part in (kept.worker, kept.task, kept.label))
    sentence = dataset.tokens.of_task[task]
    pairs = pair_spans(truth.labels[task], given, sequences.first, scheme)
    of_true, of_given = worker[pairs.true.start], worker[pairs.given.start]
    outcomes = np.bincount(of_true * len(SPAN_ERRORS) + pairs.outcome, minlength=n_workers * len(SPAN_ERRORS))
    exact = pairs.outcome == SPAN_ERRORS.index("exact")
    before = np.where(sequences.first, dataset.n_classes, np.roll(given, 1))

    def per_worker(rows: IntArray) -> IntArray:
        return np.bincount(rows, minlength=n_workers)

    def table(spans: IntArray) -> scipy.sparse.csr_array:
        shape = (n_workers, len(dataset.tokens))
        return scipy.sparse.csr_array((np.ones(len(spans)), (worker[spans], sentence[spans])), shape=shape)

    tables = [table(spans) for spans in (pairs.true.start[exact], pairs.given.start, pairs.true.start)]
    value, low, high = _measures(*(np.asarray(table.sum(1), np.float64) for table in tables)), None, None
    if n_resamples:
        low, high = _bootstrap(tables, np.unique(sentence), n_resamples, level, seed)
    n = len(dataset.tokens)
    n_sentences = per_worker(np.unique(worker.astype(np.int64) * n + sentence) // n)
    for measured in (value, low, high):
        if measured is not None:
            measured[:, n_sentences == 0] = np.nan
    inside = scheme.part[given] == 2
    return SpanScores(
        truth.name,
        dataset.worker_ids,
        n_sentences,
        per_worker(of_true),
        per_worker(of_given),
        outcomes.reshape(n_workers, -1),
        per_worker(of_given[pairs.spurious]),
        per_worker(worker[inside]),
        per_worker(worker[scheme.invalid[before, given]]),
        value,
        low,
        high,
        level,
    )


def _bootstrap(
    tables: list[scipy.sparse.csr_array], seen: IntArray, resamples: int, level: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """(3, R) percentiles over resamples of the sentences that somebody tagged."""
    rng = np.random.default_rng(seed)
    times = rng.multinomial(len(seen), np.full(len(seen), 1 / len(seen)), size=resamples).T.astype(float)
    drawn = _measures(*(table[:, seen] @ times for table in tables))
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=2)
    return low, high


BOUNDARY = ("exact", "starts early", "starts late", "ends early", "ends late", "both ends differ")


@door
def span_crowd(
    dataset: CrowdDataset, reference: ReferenceLike = None, of: Literal["type", "boundary"] = "type"
) -> CrowdDataset:
    """Return a crowd whose tasks are the true spans, labelled by what each worker gave in their place.

    ``of="type"``: labels are entity types; boundaries do not count. ``of="boundary"``: labels are `BOUNDARY`, whatever
    the type. So `shared_mistakes` of the first shows which types many workers confuse. A worker who marked nothing that
    overlaps the true span gave it no label: a missed span is no confusion of types.

    Raises:
        DataError: the crowd does not tag tokens, or the reference states no span that anybody saw.

    Examples:
        >>> import crowdcore as cc
        >>> spans = cc.analysis.span_crowd(cc.data.simulate.tags(n_sentences=50, seed=1))
        >>> spans.classes
        ('LOC', 'PER')
    """
    scheme = need_tags(dataset)
    truth, kept = judged_tags(dataset, reference)
    sequences = worker_sequences(kept)
    worker, task, given = (part[sequences.rows] for part in (kept.worker, kept.task, kept.label))
    pairs = pair_spans(truth.labels[task], given, sequences.first, scheme)
    if not len(pairs.true):
        raise DataError(f"{truth.name} states no span in what workers tagged")
    first, last = task[pairs.true.start].astype(np.int64), task[pairs.true.end - 1]
    extent, number = np.unique(first * dataset.n_tasks + last, return_inverse=True)
    paired = np.flatnonzero(pairs.partner >= 0)
    partner, worker_of = pairs.partner[paired], worker[pairs.true.start[paired]]
    gold: IntArray = np.zeros(len(extent), int)
    if of == "type":
        classes, label = scheme.types, pairs.given.type[partner]
        gold[number] = pairs.true.type
    else:
        early = pairs.given.start[partner] - pairs.true.start[paired]
        late = pairs.given.end[partner] - pairs.true.end[paired]
        differs = [(early != 0) & (late != 0), early < 0, early > 0, late < 0, late > 0]
        classes, label = BOUNDARY, np.select(differs, [5, 1, 2, 3, 4], 0)
    order = np.lexsort((worker_of, number[paired]))
    start, end = np.divmod(extent, dataset.n_tasks)
    return CrowdDataset(
        f"{dataset.name}, spans by {of}",
        classes,
        pd.Index([f"{dataset.task_ids[a]}-{b - a + 1}" for a, b in zip(start, end, strict=True)]),
        dataset.worker_ids,
        number[paired][order],
        worker_of[order],
        label[order],
        gold=gold,
        split=dataset.split[start],
        media=Media(columns=pd.DataFrame({"text": _texts(dataset, start, end)})),
    )


def _texts(dataset: CrowdDataset, start: IntArray, end: IntArray) -> list[str]:
    """Sentence of each span, with the span between ⟦ and ⟧."""
    words, cut = dataset.tokens.words.to_numpy(), dataset.tokens.start
    texts = []
    for a, b, s in zip(start, end + 1, dataset.tokens.of_task[start], strict=True):
        texts.append(" ".join([*words[cut[s] : a], "⟦", *words[a:b], "⟧", *words[b : cut[s + 1]]]))
    return texts
