"""Shared mistakes: their matrix, the workers and tasks behind each cell, and errors on spans of tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.reference import notes_on_unjudged
from crowdcore.analysis.spans import BOUNDARY
from crowdcore.core.types import IntArray
from crowdcore.data.report import plural
from crowdcore.data.tags import find_spans, need_tags
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.tasks import task_number
from crowdcore.exhibits.verdicts import LEVEL, guideline_cells, repeated
from crowdcore.exhibits.view import TaggedView, View, cached

if TYPE_CHECKING:
    from crowdcore.analysis import MistakeCell, SharedMistakes


Layer: TypeAlias = Literal["percent", "workers", "tasks", "annotations", "q-value"]
LAYERS: Mapping[Layer, str] = {
    "percent": "Share of workers",
    "workers": "Workers",
    "tasks": "Tasks",
    "annotations": "Annotations",
    "q-value": "Chance (q-value)",
}
"""Layers that colours can show -> words."""
RESAMPLES = 200


@cached
def shared_mistakes(view: View, layer: Layer = "percent", marks: bool = True) -> Exhibit:
    """Mistakes that workers share, as a matrix (CoNAL, Fig. 1); its table has bootstrap intervals.

    Args:
        layer: quantity that colours and numbers show.
        marks: mark the mistakes that more workers share than chance explains.
    """
    mistakes = view.of(analysis.shared_mistakes)
    figure = figures.shared_mistakes(view.drawable(mistakes), layer, significance=marks, level=LEVEL)
    alt = f"Share of workers who gave each label to tasks of each true class; reference {view.reference}"

    def table() -> pd.DataFrame:
        return _with_intervals(view).frame()

    notes = (mistakes.null, *mistakes.notes, *notes_on_unjudged(view.dataset, view.truth))
    return Exhibit("shared-mistakes", "Shared mistakes", figure, table, notes, alt, view.clicked)


def most_shared(view: View) -> tuple[str, str]:
    """True class and given label of the mistake that most workers made."""
    workers_of = np.array(view.of(analysis.shared_mistakes).workers)
    np.fill_diagonal(workers_of, -1)
    true, given = np.unravel_index(int(workers_of.argmax()), workers_of.shape)
    return view.classes[int(true)], view.classes[int(given)]


@cached
def mistake(view: View, true: str, given: str) -> Exhibit:
    """One mistake in numbers, and whether chance explains it.

    Args:
        true: name of the true class.
        given: name of the label that was given.
    """
    cell, mistakes = _cell(view, true, given), _with_intervals(view)
    at = view.class_number(true), view.class_number(given)
    numbers: dict[str, Any] = {
        "true": true,
        "given": given,
        "workers": len(cell.workers),
        "of": mistakes.n_workers,
        "percent": mistakes.percent[at],
        "low": np.nan if mistakes.low is None else mistakes.low[at],
        "high": np.nan if mistakes.high is None else mistakes.high[at],
        "expected": mistakes.expected[at],
        "carriers": mistakes.carriers[at],
        "p_workers": mistakes.p_workers[at],
        "p_value": mistakes.p_value[at],
        "q_value": mistakes.q_value[at],
        "annotations": len(cell.annotations),
        "tasks": len(cell.tasks),
    }
    by = repeated(view).carriers[:, at[0], at[1]].sum()
    words = _verdict(numbers, bool(guideline_cells(view)[at]), int(by), view.truth.soft)
    return Exhibit("mistake", f"{true} labelled {given}", None, pd.DataFrame([numbers]), (words,))


def _verdict(of: Mapping[str, Any], is_guideline: bool, repeated_by: int, soft: bool) -> str:
    """Sentences about the interval of a share of workers, and about the guideline or chance behind it."""
    if of["true"] == of["given"]:
        return "The diagonal: labels that agree with the reference."
    words = [f"Weighed by how sure each task's class is, {of['percent']:.1f} % of the workers."] if soft else []
    words += [] if np.isnan(of["low"]) else [f"95 % interval {of['low']:.1f} – {of['high']:.1f} %."]
    if is_guideline:
        words.append("A matter of the guideline: make it clear here.")
        words += [f"{plural(repeated_by, 'worker')} clearly repeat this mistake."] if repeated_by else []
    if np.isnan(of["q_value"]):
        words.append("Whether chance explains the number of workers cannot be tested here.")
    else:
        shared, alone = of["q_value"] <= LEVEL, of["p_workers"] <= LEVEL
        verdict = "More workers than chance explains" if shared else "No more workers than chance explains"
        words.append(f"{verdict}: it would bring {of['expected']:.1f}.")
        if of["tasks"]:
            words.append(f"The test rests on about {of['carriers']:.0f} of {of['tasks']:.0f} tasks.")
        if alone and not shared:
            words.append("A few tasks make the difference: look whether they have a wrong reference or mislead.")
    return " ".join(words)


def mistake_workers(view: View, true: str, given: str) -> Exhibit:
    """The workers who made a mistake, those who made it most often first; index = worker number."""
    cell = _cell(view, true, given)
    names = view.names_of(cell.workers)
    table = _shares_frame("worker", names, cell.worker_times, "labels on the class", cell.worker_labels, cell.workers)
    return Exhibit(f"{true}-as-{given}-workers", f"Workers who labelled {true} {given}", None, table)


def mistake_tasks(view: View, true: str, given: str) -> Exhibit:
    """The tasks on which a mistake was made, those with it most often first; index = task number."""
    cell, ids = _cell(view, true, given), view.dataset.task_ids
    labels = view.dataset.labels_per_task[cell.tasks]
    table = _shares_frame("task", ids[cell.tasks], cell.task_times, "labels", labels, cell.tasks)
    title = f"Tasks of class {true} labelled {given}"
    return Exhibit(f"{true}-as-{given}-tasks", title, None, table, click=view.to_task)


def _shares_frame(what: str, names: Any, times: IntArray, of: str, labels: IntArray, numbers: IntArray) -> pd.DataFrame:
    return pd.DataFrame({what: names, "times": times, of: labels, "share": times / labels}, index=numbers)


def _cell(view: View, true: str, given: str) -> MistakeCell:
    return view.of(analysis.mistake_cell, view.class_number(true), view.class_number(given))


def _with_intervals(view: View) -> SharedMistakes:
    """The matrix with bootstrap intervals, which take longer than all the rest."""
    return view.of(analysis.shared_mistakes, n_resamples=RESAMPLES)


_PAIRED = (
    "Each true span is compared with the worker's closest span: the same, another type, another boundary, both, or "
    "missed if there is none. A given span that overlaps no true span is spurious."
)


@cached
def span_scores(view: TaggedView) -> Exhibit:
    """Precision, recall and F1 of each worker's spans, with intervals over sentences, kinds of errors, invalid tags."""
    scores = view.of(analysis.span_scores)
    table = view.in_order(view.renamed(scores).frame())
    notes = (
        f"Intervals of {100 * scores.level:.0f} % are percentiles over resampled sentences.",
        "An invalid tag is an I- that follows O, another type or the start of the sentence; it begins a span here.",
    )
    alt = f"F1 of the spans of each worker; reference {view.reference}"
    return Exhibit("span-scores", "Spans of workers", figures.span_f1(view.drawable(scores)), table, notes, alt)


@cached
def span_errors(view: TaggedView) -> Exhibit:
    """Outcomes of true spans by worker: found, other type, other boundary, both, or missed."""
    scores = view.of(analysis.span_scores)
    figure = figures.span_errors(view.drawable(scores))
    table = view.in_order(view.renamed(scores).frame())
    kinds = [*analysis.SPAN_ERRORS, "spurious"]
    alt = f"True spans of each worker by what became of them; reference {view.reference}"
    return Exhibit("span-errors", "Kinds of errors", figure, table[["worker", "true_spans", *kinds]], (_PAIRED,), alt)


@cached
def span_types(view: TaggedView) -> Exhibit:
    """Entity types that workers confuse: share of workers behind each confusion of true spans."""
    spans = view.of(analysis.span_crowd, "type")
    truth = analysis.Reference(view.reference, spans.gold)
    of, title = View(spans, truth, view.hidden), "Types confused with others"
    made, mistakes = shared_mistakes(of), of.drawable(of.of(analysis.shared_mistakes))
    figure = figures.shared_mistakes(mistakes, level=LEVEL, title=title)
    return replace(made, name="span-types", title=title, figure=figure, click=None)


@cached
def span_boundaries(view: TaggedView) -> Exhibit:
    """Boundary errors of workers: percentage who made each at least once on a span of each type."""
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


def sentence_tags(view: TaggedView, task: str) -> Exhibit:
    """The sentence of a token: the true spans, then those of each worker; index = worker number, -1 = the reference."""
    dataset = view.dataset
    need_tags(dataset)
    of = int(dataset.tokens.of_task[task_number(dataset, task)])
    first, end = dataset.tokens.start[of : of + 2]
    rows = slice(dataset.task_start[first], dataset.task_start[end])
    worker, label, at = dataset.worker[rows], dataset.label[rows], dataset.task[rows] - first
    workers = np.unique(worker)
    tags: IntArray = np.full((1 + len(workers), end - first), -1)
    tags[0] = view.truth.labels[first:end]
    tags[1 + np.searchsorted(workers, worker), at] = label
    words = dataset.tokens.words[first:end]
    table = pd.DataFrame(
        {
            "tagged by": [view.reference, *view.names_of(workers)],
            "sentence": [_bracketed(view, words, row) for row in tags],
            f"tokens as {view.reference}": [int((row == tags[0]).sum()) for row in tags],
        },
        index=[-1, *workers],
    )
    notes = (f"{end - first} tokens; a span stands in brackets with its type.",)
    return Exhibit(f"{task}-sentence", f"Sentence {dataset.tokens.ids[of]}", None, table, notes)


def _bracketed(view: View, words: pd.Index[str], tags: IntArray) -> str:
    """The words of one sentence with its spans in brackets."""
    scheme = need_tags(view.dataset)
    spans = find_spans(tags, np.arange(len(tags)) == 0, scheme)
    shown = list(words)
    for a, b, kind in zip(spans.start, spans.end, spans.type, strict=True):
        shown[a] = f"[{shown[a]}"
        shown[b - 1] += f" {scheme.types[kind]}]"
    return " ".join(shown)
