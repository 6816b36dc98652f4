"""`View`: a dataset of any kind of label with its reference, and with workers' names or pseudonyms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np

from crowdcore.core.errors import SettingError, did_you_mean
from crowdcore.exhibits.exhibit import cached as cached, drawable, renamed

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import TypeVar as WithDefault

    from crowdcore.analysis import PairMistakes, RatingTruth
    from crowdcore.analysis.coordinated.copying import Copying
    from crowdcore.analysis.reference import Reference, ReferenceLike
    from crowdcore.core.types import AnyArray
    from crowdcore.data.dataset import CrowdDataset
    from crowdcore.data.ratings import Labelled, RatingDataset

    D = WithDefault("D", CrowdDataset, RatingDataset, default=CrowdDataset)
    R = WithDefault("R", Reference, RatingTruth, default=Reference)
else:
    D, R = TypeVar("D"), TypeVar("R")

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class View(Generic[D, R]):
    """A dataset with its reference: classes or tags by default, ratings as ``View[RatingDataset, RatingTruth]``.

    Args:
        truth: the reference, which stands for the true labels; `view` makes it from a name.
        hidden: show pseudonyms instead of worker ids, everywhere.
        columns: show the further columns of the annotations too; they may reveal who a worker is.
    """

    dataset: D
    truth: R
    hidden: bool = False
    columns: bool = False

    @property
    def reference(self) -> str:
        """Name of the reference, as in figures."""
        return self.truth.name

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the labels in their order."""
        return self.dataset.label_names

    @property
    def workers(self) -> tuple[str, ...]:
        """(n_workers,) names of the workers: ids, or pseudonyms that are stable for the same data."""
        return worker_names(self.dataset, self.hidden)

    @property
    def listed(self) -> tuple[str, ...]:
        """(n_workers,) names in the order to choose from; pseudonyms by number, which reveals no names."""
        return tuple(sorted(self.workers)) if self.hidden else self.workers

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes from reading the file, without hidden names."""
        return _notes(self.dataset) if self.hidden else self.dataset.notes

    @property
    def extra(self) -> pd.DataFrame | None:
        """Further columns of the annotations that may be shown."""
        return self.dataset.extra if self.columns else None

    def of(self, analysis: Callable[Concatenate[D, R, P], T], *settings: P.args, **named: P.kwargs) -> T:
        """Return the result of an analysis by this reference, computed once: ``view.of(worker_quality)``."""
        return _result(analysis, self.dataset, self.truth, *settings, **named)

    def renamed(self, result: T) -> T:
        """Copy a result for a table, with the view's names of workers."""
        return renamed(result, self.workers)

    def in_order(self, table: pd.DataFrame, by: str = "worker") -> pd.DataFrame:
        """Sort a table by pseudonym if names are hidden, as the order of names would reveal them."""
        return table.sort_values(by, kind="stable") if self.hidden else table

    def drawable(self, result: T) -> T:
        """Copy a result for a figure, with the view's names of workers, every name escaped once."""
        return drawable(result, self.workers)

    def class_number(self, name: str) -> int:
        """Number of a class.

        Raises:
            SettingError: no such class.
        """
        return _number("class", name, self.classes)

    def worker_number(self, name: str) -> int:
        """Number of a worker, by the view's name.

        Raises:
            SettingError: no such worker.
        """
        return _number("worker", name, self.workers)

    def clicked(self, row: int, column: int) -> dict[str, str]:
        """Selection by a click on a cell of a matrix of true classes and given labels."""
        return {"true": self.classes[row], "given": self.classes[column]}

    def to_task(self, number: int) -> dict[str, str]:
        """Selection by a click on a row with a task's number."""
        return {"task": str(self.dataset.task_ids[number])}

    def to_worker(self, number: int) -> dict[str, str]:
        """Selection by a click on a row with a worker's number."""
        return {"worker": self.workers[number]}

    def names_of(self, workers: AnyArray) -> AnyArray:
        """(n,) names of workers given by number."""
        return np.array(self.workers, object)[workers]


@overload
def view(
    dataset: CrowdDataset, reference: ReferenceLike = "", *, hidden: bool = False, columns: bool | None = None
) -> View: ...
@overload
def view(
    dataset: RatingDataset, reference: str | RatingTruth = "", *, hidden: bool = False, columns: bool | None = None
) -> View[RatingDataset, RatingTruth]: ...
@overload
def view(
    dataset: Labelled, reference: Any = "", *, hidden: bool = False, columns: bool | None = None
) -> View[Any, Any]: ...
def view(dataset: Any, reference: Any = "", *, hidden: bool = False, columns: bool | None = None) -> Any:
    """Make a view of a dataset; a reference given by name is fitted once.

    Args:
        dataset: its labels may be of any kind.
        reference: ``"gold"``, an aggregator with settings (``"dawid-skene smoothing=0.1"``), a result or a `Reference`;
            default: gold, and of ratings without gold the mean of the other workers.
        hidden: show pseudonyms instead of worker ids.
        columns: show the further columns of the annotations; default: where names are shown.

    Raises:
        DataError: gold asked for, but there is none.
        SettingError: no such reference, or one of another shape.

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore import exhibits
        >>> exhibits.view(cc.load_dataset("demo"), "gold", hidden=True).workers[0] != "w01"
        True
    """
    if not isinstance(reference, str):
        from crowdcore.analysis.reference import resolve_reference

        truth = reference if dataset.kind.numeric else resolve_reference(dataset, reference)
    elif dataset.kind.numeric:
        truth = _rating_truth(dataset, reference or ("gold" if dataset.has_gold else "mean"))
    else:
        truth = named(dataset, reference or "gold")
    return View(dataset, truth, hidden, not hidden if columns is None else columns)


TaggedView: TypeAlias = View
"""View of a crowd that tags tokens, for exhibits that apply to no other."""


def named(dataset: CrowdDataset, reference: str) -> Reference:
    """Return a reference by name, fitted once per dataset; that of marks anew after each mark."""
    from crowdcore.analysis.reference import REVIEWED
    from crowdcore.marks import marks_version

    return _reference_of_fit(dataset, reference, marks_version(dataset) if reference in REVIEWED else None)


@cached
def _rating_truth(dataset: RatingDataset, reference: str) -> RatingTruth:
    from crowdcore import analysis

    return analysis.rating_truth(dataset, reference)


@cached
def _reference_of_fit(dataset: CrowdDataset, reference: str, version: object) -> Reference:
    from crowdcore.analysis.reference import Reference, resolve_reference
    from crowdcore.exhibits.fits import fitted, is_fit

    if is_fit(reference):
        fit = fitted(dataset, reference)
        return Reference.of_fit(fit, reference)
    return resolve_reference(dataset, reference)


def wrong_together(view: View) -> PairMistakes:
    """Pairs by `pair_reference`, computed once for all views with the same one."""
    from crowdcore import analysis
    from crowdcore.analysis.mistakes.pair_mistakes import pair_reference

    return _judged_by(view, pair_reference(view.truth)).of(analysis.pair_mistakes)


def copy_evidence(view: View) -> Copying:
    """Pairs by `copy_reference`, computed once for all views with the same one."""
    from crowdcore.analysis.coordinated.copying import copy_reference, copying
    from crowdcore.analysis.verdicts.peers import peer_beliefs

    judged = _judged_by(view, copy_reference(view.truth))
    return judged.of(copying, judged.of(peer_beliefs))


def _judged_by(view: View, by: ReferenceLike) -> View:
    return replace(view, truth=named(view.dataset, by)) if isinstance(by, str) else view


@cached
def worker_names(dataset: Labelled, hidden: bool) -> tuple[str, ...]:
    """(n_workers,) ids or pseudonyms."""
    from crowdcore.data.pseudonyms import pseudonyms

    return tuple(pseudonyms(dataset)) if hidden else tuple(map(str, dataset.worker_ids))


@cached
def _notes(dataset: Labelled) -> tuple[str, ...]:
    from crowdcore.data.pseudonyms import hidden_in

    return hidden_in(dataset.notes, dataset)


@cached
def _result(
    analysis: Callable[Concatenate[D, R, P], T], dataset: D, truth: R, *settings: P.args, **named: P.kwargs
) -> T:
    return analysis(dataset, truth, *settings, **named)


def _number(what: str, name: str, names: tuple[str, ...]) -> int:
    try:
        return names.index(name)
    except ValueError:
        some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise SettingError(what, f"be one of {some}", name, did_you_mean(name, names)) from None
