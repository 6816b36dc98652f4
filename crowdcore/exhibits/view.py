"""What an exhibit is of: a dataset, what is taken for the truth, and whether workers' names may be read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from crowdcore.analysis.reference import Reference, ReferenceLike, resolve_reference
from crowdcore.core.drawable import drawable
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.pseudonyms import pseudonyms

__all__ = ["View", "cached"]

T = TypeVar("T")

cached = lru_cache(maxsize=16)
"""Computes once per arguments; datasets, references and results count as the object that they are. Nobody may change
what it returns."""


@dataclass(frozen=True)
class View:
    """What to look at.

    Args:
        dataset: the annotations.
        truth: the reference, which stands for the true labels; `view` makes it of a name.
        hidden: show pseudonyms instead of worker ids, everywhere.
    """

    dataset: CrowdDataset
    truth: Reference
    hidden: bool = False

    @property
    def reference(self) -> str:
        """The reference's name, as figures show it."""
        return self.truth.name

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.dataset.classes

    @property
    def workers(self) -> tuple[str, ...]:
        """(n_workers,) what to call each worker: its id, or a pseudonym that is stable for the same data."""
        return worker_names(self.dataset, self.hidden)

    def drawable(self, result: T) -> T:
        """A copy of a result for a figure: workers by the names that may be read, every name escaped once."""
        return drawable(result, self.workers)


def view(dataset: CrowdDataset, reference: ReferenceLike = "gold", *, hidden: bool = False) -> View:
    """A view of a dataset; a reference given by name is fitted once.

    Raises:
        DataError: gold asked for, but there is none.
        SettingError: no such reference, or one of another shape.

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore import exhibits
        >>> exhibits.view(cc.load_dataset("demo"), "gold", hidden=True).workers[0] != "w01"
        True
    """
    truth = resolve_reference(dataset, reference) if not isinstance(reference, str) else named(dataset, reference)
    return View(dataset, truth, hidden)


@cached
def named(dataset: CrowdDataset, reference: str) -> Reference:
    """A reference by name, fitted once per dataset."""
    return resolve_reference(dataset, reference)


@cached
def worker_names(dataset: CrowdDataset, hidden: bool) -> tuple[str, ...]:
    """(n_workers,) ids or pseudonyms."""
    return tuple(pseudonyms(dataset)) if hidden else tuple(map(str, dataset.worker_ids))
