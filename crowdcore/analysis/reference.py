"""`Reference`: the labels that a statistic treats as the truth, with the name shown in figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import pandas as pd

from crowdcore import aggregation
from crowdcore.aggregation._confidence import of_posterior
from crowdcore.aggregation.base import AggregationResult, Aggregator
from crowdcore.core.counts import most_probable
from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.by_name import ByTask, by_task, class_numbers, in_pandas
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door
from crowdcore.data.report import plural
from crowdcore.marks import current_marks, read_marks

REVIEWED = ("reviewed", "reviewed+gold")
"""References by marks of people: alone, or with gold where nothing is marked."""


@dataclass(frozen=True, eq=False)
class Reference(Shown):
    """Labels or probabilities treated as the truth.

    Args:
        name: ``"gold"``, ``"reviewed"``, an aggregator's name, ``"run:<id>"``; shown in every figure based on it.
        labels: (n_tasks,) int32 most probable class, -1 = unknown.
        posterior: (n_tasks, C) rows sum to 1 (NaN = unknown), or None for a hard reference.
        difficulty: (n_tasks,) difficulty of each task, if the aggregator estimates it.
        foil: (n_tasks,) the wrong class that a task misleads to, -1 = none, if the aggregator estimates it.
        collapsed: whether an aggregator's labels agree with the votes no better than chance.
    """

    name: str
    labels: IntArray
    posterior: FloatArray | None = None
    difficulty: FloatArray | None = None
    foil: IntArray | None = None
    collapsed: bool = False

    @classmethod
    def of_fit(cls, fit: AggregationResult, name: str = "") -> Reference:
        """Return the result of an aggregator as a reference, named after its method by default."""
        return cls(name or fit.method, fit.labels, fit.posterior, fit.difficulty, fit.foil, fit.collapsed)

    @property
    def soft(self) -> bool:
        """Return whether statistics take soft counts."""
        return self.posterior is not None

    @property
    def checked(self) -> bool:
        """Return whether it is gold or reviewed gold, and not inferred from the labels that it judges."""
        return self.name in {"gold", *REVIEWED}

    @property
    def aggregated(self) -> bool:
        """Return whether an aggregator, with any settings, inferred it from the labels that it judges."""
        method = self.name.partition(" ")[0]
        return method in aggregation.names() or method.startswith("crowd-kit:")

    @property
    def known(self) -> BoolArray:
        """(n_tasks,) tasks with a reference label."""
        return np.asarray(self.labels >= 0)


def as_judge(dataset: CrowdDataset, truth: Reference) -> Reference:
    """Leave out of a reference the tasks on which it cannot judge labels.

    An aggregator only repeats the labels of a worker who shares no task with another one. Any other reference is
    returned unchanged.
    """
    repeated = dataset.task[_alone(dataset)[dataset.worker]] if truth.aggregated else np.empty(0, np.int64)
    if not len(repeated):
        return truth
    labels, posterior = truth.labels.copy(), truth.posterior
    labels[repeated] = -1
    if posterior is not None:
        posterior = posterior.copy()
        posterior[repeated] = np.nan
    return replace(truth, labels=labels, posterior=posterior)


def notes_on_unjudged(dataset: CrowdDataset, truth: Reference) -> tuple[str, ...]:
    """Sentences about the workers whom `as_judge` leaves out, and about a reference that has collapsed, if any.

    Examples:
        >>> import pandas as pd
        >>> import crowdcore as cc
        >>> rows = pd.DataFrame({"task": ["1", "2"], "worker": ["ann", "ann"], "label": ["cat", "dog"]})
        >>> dataset = cc.from_frame(rows)
        >>> print(*notes_on_unjudged(dataset, resolve_reference(dataset, "auto")))
        1 worker shares no task with others, and 'auto' repeats their labels: without gold their accuracy is unknown.
    """
    fault = explain_unjudged(dataset, truth)
    doubt = (
        f"{truth.name!r} has collapsed: its labels agree with the votes no better than chance. Judge by another one."
    )
    return (*([doubt] if truth.collapsed else []), *([f"{fault}."] if fault else []))


def note_on_confidence(dataset: CrowdDataset, truth: Reference) -> str:
    """Warn of a reference whose probabilities are too high; empty for hard references and shares of votes.

    Examples:
        >>> import crowdcore as cc
        >>> dataset = cc.load_dataset("demo")
        >>> note_on_confidence(dataset, resolve_reference(dataset, "one-coin"))
        ''
    """
    if truth.posterior is None or truth.name.split()[0] in _SHARED_OUT or "gold=" in truth.name:
        return ""
    sure = of_posterior(dataset, truth.posterior, dataset.gold)
    return f"{truth.name!r}: {sure.words} Tasks are shown with lower ones." if sure and sure.too_sure else ""


_SHARED_OUT = frozenset({"majority-vote", "wawa", "zero-based-skill", "kos"})
"""Aggregators whose posterior is a share of votes."""


def note_on_inferred(truth: Reference) -> str:
    """Explain how an inferred truth biases shares of right labels, and in which direction; empty for gold.

    Measured against gold on simulated crowds (`python -m benchmarks.notes`).

    Examples:
        >>> note_on_inferred(Reference("gold", np.zeros(1, np.int32)))
        ''
    """
    if truth.checked:
        return ""
    inferred = f"The reference {truth.name!r} comes from the same labels"
    if truth.soft and truth.name.partition(" ")[0] in _SHARED_OUT:
        return (
            f"{inferred}: each counts as right for the share of its task's votes that agree, its own among them. With "
            "three labels a task or more, shares of right labels are too low where workers err independently. They are "
            "too high where tasks have fewer labels or most workers make the same mistakes."
        )
    if truth.aggregated:
        return (
            f"{inferred}: mistakes that most workers of a task make count as right, so shares of right labels are too "
            "high where workers err alike. With three labels a task or more by workers who err independently, they are "
            "right on average."
        )
    return f"The reference {truth.name!r} is not gold: its mistakes count for or against the workers."


def explain_unjudged(dataset: CrowdDataset, truth: Reference) -> str:
    """Explain which workers `as_judge` leaves out; without a full stop, for errors."""
    n = int(_alone(dataset).sum()) if truth.aggregated else 0
    share = f"{plural(n, 'worker')} {'shares' if n == 1 else 'share'} no task with others"
    return f"{share}, and {truth.name!r} repeats their labels: without gold their accuracy is unknown" if n else ""


def _alone(dataset: CrowdDataset) -> BoolArray:
    """(n_workers,) whether the worker labelled something, but no task that another worker labelled."""
    first = np.zeros(dataset.n_tasks, dataset.worker.dtype)
    first[dataset.task[::-1]] = dataset.worker[::-1]
    shared = np.zeros(dataset.n_tasks, bool)
    shared[dataset.task[dataset.worker != first[dataset.task]]] = True
    alone = dataset.labels_per_worker > 0
    alone[dataset.worker[shared[dataset.task]]] = False
    return alone


class Judging(Protocol):
    """An object that can serve as a reference: a trained result, or a run."""

    def as_reference(self, dataset: CrowdDataset) -> Reference:
        """Return its predictions for the dataset's tasks as a reference."""


ReferenceLike: TypeAlias = "str | Reference | AggregationResult | Judging | ByTask | None"
"""References that `resolve_reference` takes; None: gold where there is some, else the model ``"auto"``."""


@door
def available_references(dataset: CrowdDataset, *, inferred: bool = True) -> list[str]:
    """List the names that `resolve_reference` takes for this dataset, gold first; ``inferred``: with aggregators."""
    gold, marked = dataset.has_gold, bool(read_marks(dataset))
    reviewed = [*REVIEWED] if marked and gold else [REVIEWED[0]] if marked else []
    return [*(["gold"] if gold else []), *reviewed, *(aggregation.fitting(dataset) if inferred else [])]


@door
def default_reference(dataset: CrowdDataset) -> str:
    """Name of the default reference: gold where there is some, else the model ``"auto"``.

    Examples:
        >>> import crowdcore as cc
        >>> default_reference(cc.load_dataset("demo"))
        'gold'
    """
    return "gold" if dataset.has_gold else "auto"


@door
def resolve_reference(dataset: CrowdDataset, reference: ReferenceLike = None) -> Reference:
    """Return the reference that a name, a result or values per task stand for.

    Args:
        reference: ``"gold"``, ``"reviewed"`` or ``"reviewed+gold"`` (the marks in the workspace, see
            `reviewed_gold`), an aggregator's name (fitted with its default settings) or an aggregator, what either
            returns, a trained result, a run or ``"run:<id>"``; classes by task (a series or mapping, by name or
            number), an array with one for each task, or probabilities (n_tasks, C); a `Reference` stays as it is.
            None: `default_reference`.

    Raises:
        DataError: gold or marks asked for, but no annotated task has any.
        SettingError: no such reference, or one of other tasks or classes.

    Examples:
        >>> import crowdcore as cc
        >>> demo = cc.load_dataset("demo")
        >>> cc.analysis.resolve_reference(demo, "dawid-skene").name
        'dawid-skene'
        >>> int(cc.analysis.resolve_reference(demo, {"digit-0001": "one"}).known.sum())
        1
    """
    given: Any = default_reference(dataset) if reference is None else reference
    if isinstance(given, str):
        if given == "gold":
            if not dataset.has_gold:
                raise DataError(
                    f"{dataset.name} has no gold labels on annotated tasks",
                    "Use another reference, such as 'majority-vote' or 'dawid-skene'.",
                )
            return Reference("gold", dataset.gold)
        if re.fullmatch("(run:)?[0-9a-f]{32}", given):  # runs are a layer above
            return cast(Reference, import_module("crowdcore.runs").reference(given.removeprefix("run:"), dataset))
        if given in REVIEWED:
            return reviewed_gold(dataset, else_gold=given != REVIEWED[0])
        if given not in aggregation.aggregators:
            known = [*available_references(dataset)]
            remedy = f"{did_you_mean(given, known)}Known: {', '.join(known)}."
            raise SettingError("reference", "name one that exists", given, remedy)
    if isinstance(given, str | Aggregator) or (isinstance(given, type) and issubclass(given, Aggregator)):
        given = aggregation.get(given).fit(dataset)
    if isinstance(given, AggregationResult):
        if given.task_ids is not None and not given.task_ids.equals(dataset.task_ids):
            remedy = "`aggregation.align` takes it over to a dataset that has grown."
            raise SettingError("reference", f"be fitted to the tasks of {dataset.name}", given.method, remedy)
        given = Reference.of_fit(given)
    if isinstance(given, Reference):
        if len(given.labels) != dataset.n_tasks:
            raise SettingError("reference", f"cover {dataset.n_tasks} tasks", len(given.labels))
        return given
    if hasattr(given, "as_reference"):
        return cast(Reference, given.as_reference(dataset))
    return _reference_of_values(dataset, given)


def _reference_of_values(dataset: CrowdDataset, values: ByTask) -> Reference:
    """Make a reference of the caller's values; a series keeps its name if that is an aggregator's."""
    called = str(getattr(values, "name", ""))
    name = called if called in aggregation.aggregators else "given"
    if isinstance(values := in_pandas(values), pd.DataFrame):
        if "label" not in values and not set(dataset.classes).issubset(values):
            raise SettingError("reference", "have a column `label`, or one for each class", list(values))
        values = values["label"] if "label" in values else values[list(dataset.classes)]
    if isinstance(values, pd.Series | Mapping) or np.ndim(values) != 2:
        return Reference(name, class_numbers(dataset, values, "reference"))
    posterior = by_task(dataset, values, "reference").astype(np.float64)
    rows = posterior[~np.isnan(posterior).all(1)]
    if posterior.shape[1] != dataset.n_classes or (rows < 0).any() or not np.allclose(rows.sum(1), 1, atol=1e-4):
        must = f"hold probabilities of {dataset.n_classes} classes, which sum to 1"
        raise SettingError("reference", must, posterior.shape)
    return Reference(name, np.where(np.isnan(posterior[:, 0]), -1, most_probable(posterior)), posterior)


@door
def reviewed_gold(dataset: CrowdDataset, *, else_gold: bool = False, workspace: Path | str | None = None) -> Reference:
    """Return the classes marked in the workspace as the truth; a task that is marked unclear is unknown.

    Args:
        else_gold: tasks without a mark keep their gold label instead of being unknown.
        workspace: the folder that keeps the marks; None: ``CROWDCORE_WORKSPACE``, else ``workspace``.

    Raises:
        DataError: nothing is marked.

    Examples:
        >>> import tempfile
        >>> import crowdcore as cc
        >>> demo, folder = cc.load_dataset("demo"), tempfile.mkdtemp()
        >>> mark = cc.marks.add_mark(demo, "digit-0001", "seven", workspace=folder)
        >>> int(cc.analysis.reviewed_gold(demo, workspace=folder).known.sum())
        1
    """
    marks = current_marks(dataset, workspace)
    if not marks:
        raise DataError(
            f"Nobody has marked tasks of {dataset.name}",
            "Mark some on the page Review or with `crowdcore marks`, or use another reference.",
        )
    labels = dataset.gold.astype(np.int32) if else_gold else np.full(dataset.n_tasks, -1, np.int32)
    number = {name: c for c, name in enumerate(("", *dataset.classes), -1)}
    labels[dataset.task_ids.get_indexer(pd.Index([*marks]))] = [number[mark.truth] for mark in marks.values()]
    return Reference(REVIEWED[else_gold], labels)
