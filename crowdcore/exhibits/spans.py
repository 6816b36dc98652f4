"""Spans of a crowd that tags tokens: who finds them, how they err, and one sentence as each worker tagged it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.spans import BOUNDARY
from crowdcore.core.types import IntArray
from crowdcore.data.tags import find_spans, need_tags
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.mistakes import LEVEL, shared_mistakes
from crowdcore.exhibits.tasks import task_number
from crowdcore.exhibits.view import View, cached

_PAIRED = (
    "Each true span is compared with the worker's closest span: the same, another type, another boundary, both, or "
    "missed if there is none. A given span that overlaps no true span is spurious."
)


@cached
def span_scores(view: View) -> Exhibit:
    """Precision, recall and F1 of each worker's spans, with intervals over sentences, kinds of errors, invalid tags."""
    found = view.of(analysis.span_scores)
    table = view.in_order(view.renamed(found).frame())
    notes = (
        f"Intervals of {100 * found.level:.0f} % are percentiles over resampled sentences.",
        "An invalid tag is an I- that follows O, another type or the start of the sentence; it begins a span here.",
    )
    alt = f"F1 of the spans of each worker; reference {view.reference}"
    return Exhibit("span-scores", "Spans of workers", figures.span_f1(view.drawable(found)), table, notes, alt)


@cached
def span_errors(view: View) -> Exhibit:
    """What became of the true spans in each worker's hands: found, other type, other boundary, both, or missed."""
    found = view.of(analysis.span_scores)
    figure = figures.span_errors(view.drawable(found))
    table = view.in_order(view.renamed(found).frame())
    kinds = [*analysis.SPAN_ERRORS, "spurious"]
    alt = f"True spans of each worker by what became of them; reference {view.reference}"
    return Exhibit("span-errors", "Kinds of errors", figure, table[["worker", "true_spans", *kinds]], (_PAIRED,), alt)


@cached
def span_types(view: View) -> Exhibit:
    """Which entity types do workers take for which? Share of workers behind each confusion of true spans."""
    spans = view.of(analysis.span_crowd, "type")
    truth = analysis.Reference(view.reference, spans.gold)
    of, title = View(spans, truth, view.hidden), "Types confused with others"
    made, found = shared_mistakes(of), of.drawable(of.of(analysis.shared_mistakes))
    figure = figures.shared_mistakes(found, level=LEVEL, title=title)
    return replace(made, name="span-types", title=title, figure=figure, click=None)


@cached
def span_boundaries(view: View) -> Exhibit:
    """Which boundary errors do workers make? Percentage who made each at least once on a span of each type."""
    spans, types = view.of(analysis.span_crowd, "boundary"), view.of(analysis.span_crowd, "type")
    kind = types.gold[spans.task]
    cell = (kind.astype(np.int64) * len(BOUNDARY) + spans.label) * view.dataset.n_workers + spans.worker
    counts = np.bincount(np.unique(cell) // view.dataset.n_workers, minlength=types.n_classes * len(BOUNDARY))
    percent = 100 * counts.reshape(types.n_classes, -1) / view.dataset.n_workers
    columns: dict[str, Any] = {"type": types.classes}
    columns |= {name: percent[:, k] for k, name in enumerate(BOUNDARY) if name != "exact"}
    notes = (
        "Percentage of the workers who made the error at least once. Workers who tag a lot make most of these errors; "
        "whether they are shared beyond chance is not tested.",
        "Types of the given spans do not count here.",
    )
    return Exhibit("span-boundaries", "Boundary errors", None, pd.DataFrame(columns), notes)


def sentence_tags(view: View, task: str) -> Exhibit:
    """The sentence of a token: the true spans, then those of each worker; index = worker number, -1 = the reference."""
    dataset = view.dataset
    need_tags(dataset)
    assert dataset.sentences is not None
    of = int(dataset.sentences.of_task[task_number(dataset, task)])
    first, end = dataset.sentences.start[of : of + 2]
    rows = slice(dataset.task_start[first], dataset.task_start[end])
    who, said, at = dataset.worker[rows], dataset.label[rows], dataset.task[rows] - first
    workers = np.unique(who)
    tags: IntArray = np.full((1 + len(workers), end - first), -1)
    tags[0] = view.truth.labels[first:end]
    tags[1 + np.searchsorted(workers, who), at] = said
    words = dataset.sentences.words[first:end]
    table = pd.DataFrame(
        {
            "tagged by": [view.reference, *view.names_of(workers)],
            "sentence": [_bracketed(view, words, row) for row in tags],
            f"tokens as {view.reference}": [int((row == tags[0]).sum()) for row in tags],
        },
        index=[-1, *workers],
    )
    notes = (f"{end - first} tokens; a span stands in brackets with its type.",)
    return Exhibit(f"{task}-sentence", f"Sentence {dataset.sentences.ids[of]}", None, table, notes)


def _bracketed(view: View, words: pd.Index[str], tags: IntArray) -> str:
    """The words of one sentence with its spans in brackets."""
    scheme = need_tags(view.dataset)
    spans = find_spans(tags, np.arange(len(tags)) == 0, scheme)
    shown = list(words)
    for a, b, kind in zip(spans.start, spans.end, spans.type, strict=True):
        shown[a] = f"[{shown[a]}"
        shown[b - 1] += f" {scheme.types[kind]}]"
    return " ".join(shown)
