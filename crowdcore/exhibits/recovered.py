"""View of a training run: its seeds and epochs, what it recovered of the workers, and sentences about these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis import (
    RecoveredConfusion,
    RecoveredShares,
    SharedPart,
    SkillComparison,
    WorkerConfusion,
    confusion_of_counts,
)
from crowdcore.analysis.labels.disagreement import task_disagreement
from crowdcore.core.errors import DataError
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.exhibit import Exhibit, cells, escaped
from crowdcore.exhibits.view import View, cached
from crowdcore.learning.results.predictions import worker_counts
from crowdcore.learning.results.result import RecoveredAt, TrainingResult

EACH: Final = "each"
"""Every seed by itself."""
Seed: TypeAlias = int | Literal["each"] | None
Epoch: TypeAlias = Literal["selected", "last"] | int
STILL = 0.02  # distance from the start below which a matrix shows the start
_LISTED = 10  # epochs that a sentence lists; beyond, the first and the last
_AT_RISK = 5  # classes that a sentence lists


@dataclass(frozen=True, kw_only=True)
class RunView(View):
    """Dataset and a run that was trained on it; see `of_run`.

    Args:
        result: the result of the run.
        run_name: its name in figures and tables.
        seed: one of its seeds, `EACH`, or None for the mean over seeds (the first seed where there is no mean).
        at: "selected", "last", or an epoch of which the run kept matrices; 0 is the start.
        part: "" for the confusion behind all of a worker's labels, counted by the run, or, at epochs without stored
            predictions, computed from the method's parameters; "own" for the method's own confusion of the worker.
    """

    result: TrainingResult
    run_name: str
    seed: Seed = None
    at: Epoch = "selected"
    part: Literal["", "own"] = ""

    @property
    def has_confusions(self) -> bool:
        """Return whether the run recovered any confusion, or a posterior that shows them."""
        result = self.result
        return any(part is not None for part in (result.worker_confusion, result.common_confusion, result.q))

    @property
    def recovered_at(self) -> RecoveredAt:
        """Confusions and ω at this epoch."""
        return self.result.recovered_at(self.at)

    @property
    def own(self) -> FloatArray:
        """(S, R, C, C) the method's matrices of the workers, or its one confusion for each of them.

        For a method without any, they are counted by its posterior.

        Raises:
            DataError: there are none.
        """
        return _own_confusions(self.result, self.at, self.dataset)

    @property
    def counts(self) -> FloatArray | None:
        """(S, R, C, C) the run's counts of the workers' labels by class; None where they are not shown."""
        return None if self.part == "own" else _counts(self.result, self.dataset, self.at)

    @property
    def omega(self) -> FloatArray:
        """(S, n_annotations) ω at this epoch.

        Raises:
            DataError: the method has none.
        """
        omega = self.recovered_at.omega
        if omega is None:
            raise DataError("This run has no ω", "Choose a run of a method that has, such as 'conal'.")
        return omega

    @property
    def shown_seed(self) -> int | None:
        """The seed to show, or None for the mean; the first seed where there is no mean."""
        if self.seed in self.result.seeds:
            return self.seed
        return self.result.seeds[0] if self.seed == EACH or _not_comparable(self) else None

    def one_by_one(self) -> list[RunView]:
        """Views of every seed if these are to be shown one by one, else this view."""
        return [replace(self, seed=seed) for seed in self.result.seeds] if self.seed == EACH else [self]


_counts = cached(worker_counts)


def _own_confusions(result: TrainingResult, at: Epoch, dataset: CrowdDataset) -> FloatArray:
    recovery = result.recovered_at(at)
    if recovery.worker_confusion is not None:
        return recovery.worker_confusion
    if recovery.common_confusion is not None:
        common = recovery.common_confusion[:, None]
        return np.broadcast_to(common, (len(common), dataset.n_workers, *common.shape[2:]))
    counts = None if result.q is None else _counts(result, dataset, at)
    if counts is None:
        raise DataError("This run recovered no confusions", "Choose a run of a method that does, such as 'conal'.")
    return np.stack([confusion_of_counts(one) for one in counts])


def of_run(
    view: View,
    result: TrainingResult,
    run_name: str = "",
    *,
    seed: Seed = None,
    at: Epoch = "selected",
    part: Literal["", "own"] = "",
) -> RunView:
    """Make a view of a run; see `RunView`.

    Args:
        view: the dataset of the training, with its reference.
        result: result of the run.
        run_name: name of the run; default: its method.
        seed: as of `RunView`.
        at: as of `RunView`; the selected epoch if the run kept nothing of this one.
        part: as of `RunView`.

    Raises:
        DataError: it was trained on other classes or workers.
    """
    if (result.classes, result.n_workers) != (view.classes, view.dataset.n_workers):
        raise DataError(
            f"The run was trained on {result.dataset}, which has other classes or workers than {view.dataset.name}",
            "Choose a run on this dataset.",
        )
    kept = bool(result.last) if at == "last" else at == "selected" or at in result.kept_epochs.tolist()
    named = run_name or result.method
    epoch: Epoch = at if kept else "selected"
    seen = view.dataset, view.truth, view.hidden, view.columns
    return RunView(*seen, result=result, run_name=named, seed=seed, at=epoch, part=part)


def epochs(result: TrainingResult) -> dict[Epoch, str]:
    """Epochs that can be shown, in order -> words. Older results only have the selected one."""
    last, selected = int(result.last_epoch.max()), result.selected_epoch
    names: dict[float, tuple[Epoch, str]] = {
        int(e): (int(e), "start" if e == 0 else f"epoch {e}") for e in result.kept_epochs if e < last
    }
    if result.last:
        names[last] = "last", f"last ({last})"
    low, high = int(selected.min()), int(selected.max())
    words = f"selected ({low if low == high else f'{low} to {high}'})"
    names[float(np.median(selected)) - 0.1] = "selected", words
    return dict(names[e] for e in sorted(names))


def seeds(view: RunView) -> dict[Seed, str]:
    """Choices of seeds to show: the mean if comparable, all, or each alone."""
    of = view.result.seeds
    several = len(of) > 1
    mean: dict[Seed, str] = {None: f"Mean of {len(of)} seeds"} if several and not _not_comparable(view) else {}
    every: dict[Seed, str] = {EACH: f"All {len(of)} seeds, one by one"} if several else {}
    return mean | every | {seed: f"Seed {seed}" for seed in of}


def why_no_mean(view: RunView) -> str:
    """Sentence on why the seeds of a run must not be averaged; empty if they may be."""
    reason = _not_comparable(view)
    return f"The mean over seeds is not offered: {reason}." if reason else ""


def _not_comparable(view: RunView) -> str:
    if len(view.result.seeds) < 2 or not view.has_confusions:
        return ""
    return _compare_seeds(view.result, view.at, view.dataset)


@cached
def _compare_seeds(result: TrainingResult, at: Epoch, dataset: CrowdDataset) -> str:
    chosen = result.selected_epoch if at == "selected" else [1] * len(result.seeds)
    own = _own_confusions(result, at, dataset)
    return analysis.seeds_comparable(
        own, chosen, seeds=result.seeds, classes=result.classes, at_last=not result.validated_on
    ).reason


def epoch_in_words(view: RunView) -> str:
    """Describe the epochs of the model."""
    result = view.result
    last = int(result.last_epoch.max())
    if view.at == 0:
        return "Values at the start, before any training."
    if view.at not in ("selected", "last"):
        return f"Values after epoch {view.at} of {last}."
    if view.at == "last" or not result.validated_on:
        return f"Values at the last epoch ({last})."
    one = None if view.seed == EACH else view.shown_seed
    of = [int(e) for e, s in zip(result.selected_epoch, result.seeds, strict=True) if one is None or s == one]
    several = f"{', '.join(map(str, of[:-1]))} and {of[-1]}" if len(of) > 1 else str(of[0])
    listed = several if len(of) <= _LISTED else f"{min(of)} to {max(of)}"
    return f"Values at the epoch{'s' if len(of) > 1 else ''} chosen on validation ({listed} of {last})."


def unmoved_in_words(view: RunView, number: int | None = None) -> str:
    """Warn that matrices are still where the method starts, by distance; empty if they are not, or if unknown.

    Counted matrices have no start.

    Args:
        number: only of this worker's matrix, -1 - g for a common one.
    """
    result = view.result
    if view.at == 0:
        return ""
    one = None if view.seed == EACH else view.shown_seed
    rows = [s for s, seed in enumerate(result.seeds) if one is None or seed == one]
    own, common = (
        None if (moved := result.moved(part, view.at)) is None else moved[rows].mean(0)
        for part in ("worker_confusion", "common_confusion")
    )
    own = own if view.counts is None else None
    if number is not None:
        values = own if number >= 0 else common
        far = 1.0 if values is None else float(np.atleast_1d(values)[number if number >= 0 else -1 - number])
        shows = "It shows the start, not what was learnt."
        return f"This matrix has hardly moved from its start ({100 * far:.1f} %). {shows}" if far < STILL else ""
    words = []
    if common is not None and (np.asarray(common) < STILL).all():
        words.append(f"the common confusion has moved {100 * float(np.mean(common)):.1f} %")
    some = view.dataset.labels_per_worker > 0
    if own is not None and (n := int((own[some] < STILL).sum())) > some.sum() / 2:
        words.append(f"the matrices of {n} of {int(some.sum())} workers have moved less than {100 * STILL:g} %")
    if not words:
        return ""
    starts = ", ".join(dict.fromkeys(filter(None, result.start)))
    shown = f"the start ({starts})" if starts else "the start"
    return f"From the start {' and '.join(words)}. What they show is {shown}, not what was learnt."


@cached
def at_risk_in_words(view: RunView) -> str:
    """Warn of classes whose tasks mostly get another label, by the recovered confusions; empty without any."""
    pairs = analysis.names_at_risk(view.dataset, recovered(replace(view, part="")).matrices)
    if not pairs:
        return ""
    listed = "; ".join(f"{view.classes[b]} on tasks that are {view.classes[a]}" for a, b in pairs[:_AT_RISK])
    more = f", and {len(pairs) - _AT_RISK} more" if len(pairs) > _AT_RISK else ""
    return (
        f"Labels alone cannot name these classes: in the recovered matrices the most frequent label is {listed}{more}. "
        "Without gold on validation to match the classes, their names may be swapped."
    )


@cached
def recovered(view: RunView) -> RecoveredConfusion:
    """Confusions of the workers, and summaries of them."""
    now = view.recovered_at
    return analysis.recovered_confusion(
        view.dataset,
        view.own,
        now.common_confusion,
        now.omega,
        view.result.group,
        seeds=view.result.seeds,
        seed=view.shown_seed,
        effective=_explained(view),
        counts=view.counts,
    )


def _explained(view: RunView) -> FloatArray:
    """(S, R, C, C) confusion behind each worker's labels by the method's matrices and its ω, if it has any."""
    now, own = view.recovered_at, view.own
    if view.part == "own":
        return own
    mixed = analysis.effective_confusion(view.dataset, own, now.common_confusion, now.omega, view.result.group)
    return np.where(np.isnan(mixed), own, mixed)


def observed(view: View) -> WorkerConfusion:
    """Confusions observed in the labels, by the reference."""
    return view.of(analysis.worker_confusion)


@cached
def skill_comparison(view: RunView) -> SkillComparison:
    """Learnt skills against those that the labels show."""
    counts = view.counts
    shown = _explained(view) if counts is None else np.stack([confusion_of_counts(one) for one in counts])
    return analysis.skill_comparison(observed(view), shown, seeds=view.result.seeds, seed=view.shown_seed)


@cached
def shares(view: RunView) -> RecoveredShares:
    """The largest confusions in the labels beside those of the chosen seed, else of every seed."""
    now, result = view.recovered_at, view.result
    seed = view.seed if view.seed in result.seeds else None
    parts = view.own, now.common_confusion, now.omega, result.group
    return analysis.recovered_shares(
        view.dataset, view.truth, *parts, seeds=result.seeds, seed=seed, counts=view.counts
    )


def recovered_in_words(view: RunView, largest: RecoveredShares) -> tuple[str, ...]:
    """Sentences about how many of the labels' largest confusions a run recovered, by seed, and how they are counted."""

    def share_within(within: BoolArray) -> str:
        counts = [int(row.sum()) for row in within]
        if len(set(counts)) == 1:
            return f"{counts[0]}" + f" in each of {len(counts)} seeds" * (len(counts) > 1)
        return f"{', '.join(map(str, counts[:-1]))} and {counts[-1]} in seeds {', '.join(map(str, largest.seeds))}"

    mean = ""
    if len(largest.seeds) > 1 and not _not_comparable(view):
        mean = f"{largest.within.sum()} in the mean over seeds, "
    words = f"Of the {len(largest.cells)} largest confusions in the labels, {view.run_name} recovered {mean}"
    words += f"{share_within(largest.within_by_seed)}."
    if (common := largest.common_within_by_seed) is not None:
        words += f" Its common confusion recovered {share_within(common)}, compared with the labels that it explains."
    about = f"the run's share lies within the 95 % interval of the labels' share (reference: {largest.reference})."
    return words, f"Recovered: {about}"


def contradicted_tasks(view: RunView) -> Exhibit:
    """Tasks whose most probable class by the run is a label of none of their workers, the surest first.

    Probabilities are the posterior ``q`` of the training tasks where the run has one, else the predictions for all
    annotated tasks; of the seed that is shown, or the mean over seeds. Index = task number; a click chooses a task.
    """
    dataset, (tasks, probabilities) = view.dataset, _probabilities(view)
    predicted = probabilities.argmax(1)
    key = dataset.task.astype(np.int64) * dataset.n_classes + dataset.label
    labelled = dataset.annotated[tasks]
    contradicted = labelled & ~np.isin(tasks * dataset.n_classes + predicted, key)
    rows = np.flatnonzero(contradicted)
    rows = rows[np.argsort(-probabilities[rows, predicted[rows]], kind="stable")]
    shown, classes = tasks[rows], np.array([*view.classes, "unknown"], object)
    labels = view.of(task_disagreement)
    table = pd.DataFrame(
        {
            "task": dataset.task_ids[shown],
            "class by the run": classes[predicted[rows]],
            "probability": probabilities[rows, predicted[rows]],
            "most given": classes[labels.winner[shown]],
            "share": labels.share[shown],
            "annotations": labels.n_annotations[shown],
            view.reference: classes[labels.reference_label[shown]],
        },
        index=shown,
    )
    source = "features and labels together" if view.result.q is not None else "the features alone"
    notes = [
        f"On {len(rows):,} of {int(labelled.sum()):,} annotated tasks, the most probable class by {source} is one that "
        "no worker gave."
    ]
    known = labels.reference_label[shown] >= 0
    if known.any():
        right = int((predicted[rows] == labels.reference_label[shown])[known].sum())
        voted = int((labels.winner[shown] == labels.reference_label[shown])[known].sum())
        notes.append(
            f"Where {view.reference} knows the class ({int(known.sum()):,} of them), it agrees with the run on "
            f"{right:,} and with the most frequent label on {voted:,}."
        )
    title = f"Tasks on which {view.run_name} contradicts every label"
    return Exhibit("contradicted-tasks", title, None, table, tuple(notes), "", view.to_task)


def posterior(view: RunView) -> FloatArray:
    """(S, n_tasks, C) of the training tasks' classes, by the run's posterior or else its classifier; NaN elsewhere."""
    result = view.result
    rows = result.split == 0
    selected = result.probabilities["selected"][:, rows] if result.q is None else result.q
    out = np.full((len(selected), view.dataset.n_tasks, selected.shape[2]), np.nan)
    out[:, result.task[rows]] = selected
    return out


@cached
def shared(view: RunView) -> SharedPart | None:
    """Part of the labels that shared mistakes explain; None if the run keeps no counts of this epoch."""
    counts = worker_counts(view.result, view.dataset, view.at)
    if counts is None:
        return None
    return analysis.shared_part(view.dataset, counts, posterior(view), seeds=view.result.seeds, seed=view.shown_seed)


def _probabilities(view: RunView) -> tuple[np.ndarray, FloatArray]:
    """Task numbers (n,), and class probabilities (n, C) of the seed shown or the mean over seeds."""
    result = view.result
    selected = result.probabilities["selected"] if result.q is None else result.q
    tasks = result.task[: selected.shape[1]].astype(np.int64)
    at = view.shown_seed
    chosen = selected.mean(0) if at is None else selected[result.seeds.index(at)]
    return tasks, np.asarray(chosen, np.float64)


@cached
def confusion_correction(view: RunView, worker: int = 0, *, dark: bool = False) -> Exhibit | None:
    """A worker's confusion minus the one without the correction of the worker's group.

    None for methods without corrections, and at epochs of which none are kept. A click chooses the cell.

    Args:
        worker: number of the worker.
    """
    of_seeds = view.result.correction if view.at == "selected" else view.result.last.get("correction")
    if of_seeds is None or view.at not in ("selected", "last"):
        return None
    seeds = view.result.seeds
    shown = slice(None) if view.shown_seed is None else [seeds.index(view.shown_seed)]
    corrected, correction = (np.mean(part[shown], 0)[worker] for part in (view.own, of_seeds))
    called = view.workers[worker]
    figure = figures.confusion(
        [corrected, corrected - correction],
        [escaped(c) for c in view.classes],
        difference="only",
        dark=dark,
        title="Correction",
        subtitle=escaped(f"{called}: with the group's correction − without"),
    )
    table = cells(view.classes, share=corrected, correction=correction)
    alt = f"What the correction of the group of {called} changes in the confusion"
    return Exhibit("confusion-correction", "Correction", figure, table, (), alt, view.clicked)
