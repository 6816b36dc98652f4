"""What a run recovered, read from its result: the arrays that the pages on confusions and on ω show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from dashboard.services._cache import kept
from dashboard.services.datasets import reference
from dashboard.services.learners import about_method, learners
from dashboard.services.runs import result, training_fault

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.analysis import RecoveredConfusion, SkillComparison
    from crowdcore.core.types import FloatArray
    from crowdcore.learning.results.result import RecoveredAt, TrainingResult

__all__ = [
    "EACH",
    "View",
    "at_risk",
    "epoch_names",
    "epochs_in_words",
    "has_confusions",
    "omega_at",
    "recovered",
    "recovering",
    "seed_names",
    "skill_comparison",
    "unmoved_in_words",
    "why_no_mean",
]

EACH = "each"
STILL = 0.02  # distance from the start below which a matrix shows the start


class View(NamedTuple):
    """Which part of a run is looked at.

    Args:
        run: its id.
        seed: "" for the mean over seeds, `EACH` for every seed by itself, or one of them.
        at: "selected", "last", or an epoch of which matrices were kept; 0 is the start.
        part: "" for what all labels of a worker follow, "own" for the worker's own confusion.
    """

    run: str
    seed: str = ""
    at: str = "selected"
    part: str = ""


def recovering(part: str) -> list[str]:
    """Names of the methods that recover a part: ``worker_confusion``, ``common_confusion``, ``omega`` …"""
    return [] if training_fault() else [n for n in learners() if part in about_method(n)["recovers"]]


def has_confusions(found: TrainingResult) -> bool:
    """Whether there is any confusion to show."""
    return found.worker_confusion is not None or found.common_confusion is not None


def epoch_names(run_id: str) -> dict[str, str]:
    """Epochs that can be shown, in order: key of `View.at` -> words. Older results know the selected one only."""
    found = result(run_id)
    last, selected = int(found.last_epoch.max()), found.selected_epoch
    names: dict[float, tuple[str, str]] = {
        int(e): (str(e), "start" if e == 0 else f"epoch {e}") for e in found.kept_epochs if e < last
    }
    if found.last:
        names[last] = "last", f"last ({last})"
    low, high = int(selected.min()), int(selected.max())
    words = f"selected ({low if low == high else f'{low} to {high}'})"
    names[float(np.median(selected)) - 0.1] = "selected", words
    return dict(names[e] for e in sorted(names))


def _epoch(found: TrainingResult, at: str) -> Literal["selected", "last"] | int:
    """`View.at` as a result calls it; the selected epoch where the run kept nothing of the one asked for."""
    if at == "last" and found.last:
        return "last"
    return int(at) if at.isdecimal() and int(at) in found.kept_epochs else "selected"


def _recovered_at(view: View) -> RecoveredAt:
    """The confusions and ω at the epoch of a view."""
    found = result(view.run)
    return found.recovered_at(_epoch(found, view.at))


def omega_at(view: View) -> FloatArray:
    """(S, n_annotations) ω at the epoch of a view."""
    omega = _recovered_at(view).omega
    assert omega is not None, "asked for ω of a run without"
    return omega


def why_no_mean(opened: CrowdDataset | str, run_id: str, at: str) -> str:
    """Why the seeds of a run must not be averaged, in a sentence; empty where they may be."""
    reason = _reason(opened, run_id, at)
    return f"The mean over seeds is not offered: {reason}." if reason else ""


@kept
def _reason(opened: CrowdDataset, run_id: str, at: str) -> str:
    from crowdcore import analysis

    found = result(run_id)
    if len(found.seeds) < 2 or not has_confusions(found):
        return ""
    epochs = found.selected_epoch if at == "selected" else [1] * len(found.seeds)
    compared = _own(_recovered_at(View(run_id, at=at)), opened)
    judged = analysis.seeds_comparable(
        compared, epochs, seeds=found.seeds, classes=found.classes, at_last=not found.validated_on
    )
    return judged.reason


def seed_names(opened: CrowdDataset | str, run_id: str, at: str = "selected") -> dict[str, str]:
    """What can be shown of a run's seeds: their mean (key "") if they are comparable, all, and each by itself."""
    seeds = result(run_id).seeds
    several = len(seeds) > 1
    mean = {"": f"Mean of {len(seeds)} seeds"} if several and not _reason(opened, run_id, at) else {}
    every = {EACH: f"All {len(seeds)} seeds, one by one"} if several else {}
    return mean | every | {str(seed): f"Seed {seed}" for seed in seeds}


def seed_of(opened: CrowdDataset | str, view: View) -> int | None:
    """The seed that a view shows; None is the mean. Where there is no mean to show it is the first seed."""
    seeds = result(view.run).seeds
    one = next((s for s in seeds if str(s) == view.seed), None)
    return seeds[0] if one is None and (view.seed == EACH or _reason(opened, view.run, view.at)) else one


def epochs_in_words(opened: CrowdDataset | str, view: View) -> str:
    """Which epochs the model is from."""
    found = result(view.run)
    last = int(found.last_epoch.max())
    if view.at == "0":
        return "Values at the start, before any training."
    if view.at not in {"selected", "last"}:
        return f"Values after epoch {view.at} of {last}."
    if view.at == "last" or not found.validated_on:
        return f"Values at the last epoch ({last})."
    one = None if view.seed == EACH else seed_of(opened, view)
    epochs = [int(e) for e, s in zip(found.selected_epoch, found.seeds, strict=True) if one is None or s == one]
    several = f"{', '.join(map(str, epochs[:-1]))} and {epochs[-1]}" if len(epochs) > 1 else str(epochs[0])
    listed = several if len(epochs) <= 10 else f"{min(epochs)} to {max(epochs)}"
    return f"Values at the epoch{'s' if len(epochs) > 1 else ''} chosen on validation ({listed} of {last})."


def unmoved_in_words(opened: CrowdDataset, view: View, worker: int | None = None) -> str:
    """That matrices are still where the method starts, measured as distance; empty where they are not, or unknown.

    Args:
        opened: the dataset.
        view: of the run.
        worker: speak of this worker's matrix alone, -1 - g for a common one.
    """
    found = result(view.run)
    if view.at == "0":
        return ""
    one = None if view.seed == EACH else seed_of(opened, view)
    rows = [s for s, seed in enumerate(found.seeds) if one is None or seed == one]
    own, common = (
        None if (moved := found.moved(part, _epoch(found, view.at))) is None else moved[rows].mean(0)
        for part in ("worker_confusion", "common_confusion")
    )
    if worker is not None:
        values = own if worker >= 0 else common
        far = 1.0 if values is None else float(np.atleast_1d(values)[worker if worker >= 0 else -1 - worker])
        shows = "It shows the start, not what was learnt."
        return f"This matrix has hardly left its start (moved {100 * far:.1f} %). {shows}" if far < STILL else ""
    words = []
    if common is not None and (np.asarray(common) < STILL).all():
        words.append(f"the common confusion has moved {100 * float(np.mean(common)):.1f} %")
    some = opened.labels_per_worker > 0
    if own is not None and (n := int((own[some] < STILL).sum())) > some.sum() / 2:
        words.append(f"the matrices of {n} of {int(some.sum())} workers have moved less than {100 * STILL:g} %")
    if not words:
        return ""
    starts = ", ".join(dict.fromkeys(filter(None, found.start)))
    shown = f"the start ({starts})" if starts else "the start"
    return f"From the start {' and '.join(words)}. What they show is {shown}, not what was learnt."


@kept
def at_risk(opened: CrowdDataset, view: View) -> list[tuple[int, int]]:
    """Classes whose tasks would most often get another label, with that label, by the recovered confusions."""
    from crowdcore import analysis

    return analysis.names_at_risk(opened, recovered(opened, view._replace(part="")).matrices)


@kept
def recovered(opened: CrowdDataset, view: View) -> RecoveredConfusion:
    """The workers' confusions and what sums them up; a method with one confusion for all gives it to each."""
    from crowdcore import analysis

    found = result(view.run)
    now = _recovered_at(view)
    return analysis.recovered_confusion(
        opened,
        _own(now, opened),
        now.common_confusion,
        now.omega,
        found.group,
        seeds=found.seeds,
        seed=seed_of(opened, view),
        effective=None if view.part == "own" else _effective(opened, view),
    )


@kept
def skill_comparison(opened: CrowdDataset, which: str, view: View) -> SkillComparison:
    """Learnt skills against those that the labels show."""
    from crowdcore import analysis

    found = result(view.run)
    own = _own(_recovered_at(view), opened) if view.part == "own" else _effective(opened, view)
    return analysis.skill_comparison(
        analysis.worker_confusion(opened, reference(opened, which)), own, seeds=found.seeds, seed=seed_of(opened, view)
    )


def _own(found: RecoveredAt, opened: CrowdDataset) -> FloatArray:
    """(S, R, C, C) confusions of the workers."""
    if found.worker_confusion is not None:
        return found.worker_confusion
    assert found.common_confusion is not None, "asked for confusions of a run without"
    common = found.common_confusion[:, None]
    return np.broadcast_to(common, (len(common), opened.n_workers, *common.shape[2:]))


def _effective(opened: CrowdDataset, view: View) -> FloatArray:
    """(S, R, C, C) what all labels of each worker follow; workers without ω by their own confusion."""
    from crowdcore import analysis

    found = result(view.run)
    now = _recovered_at(view)
    own = _own(now, opened)
    mixed = analysis.effective_confusion(opened, own, now.common_confusion, now.omega, found.group)
    return np.where(np.isnan(mixed), own, mixed)
