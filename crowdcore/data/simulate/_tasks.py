"""Choice of the tasks that a simulated crowd labels: classes, and a number per split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pydantic import Field

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.splitting import take_tasks


class TaskChoice(Settings):
    """A part of a dataset; the default is all of it.

    Examples:
        >>> import crowdcore as cc
        >>> TaskChoice(classes=("one", "seven"), n_train=50).of(cc.load_dataset("demo")).classes
        ('one', 'seven')
    """

    classes: tuple[str, ...] = Field(
        default=(), description="Only tasks of these true classes, in this order; empty: all."
    )
    n_train: int | None = Field(default=None, ge=1, description="Training tasks at most.")
    n_valid: int | None = Field(default=None, ge=0, description="Validation tasks at most.")
    n_test: int | None = Field(default=None, ge=0, description="Test tasks at most.")

    def of(self, dataset: CrowdDataset) -> CrowdDataset:
        """The tasks chosen, without annotations.

        Raises:
            SettingError: a class that the dataset does not have.
        """
        unknown = next((c for c in self.classes if c not in dataset.classes), None)
        if unknown is not None:
            raise SettingError(
                "classes", f"name classes of {dataset.name}", unknown, f"It has {', '.join(dataset.classes)}."
            )
        codes = [dataset.classes.index(c) for c in self.classes] or list(range(dataset.n_classes))
        number: IntArray = np.full(dataset.n_classes + 1, -1, np.int32)  # the last is that of unknown gold
        number[codes] = np.arange(len(codes))
        gold = number[dataset.gold]
        chosen = np.ones(dataset.n_tasks, bool) if not self.classes else gold >= 0
        parts = [np.flatnonzero(chosen & (dataset.split < 0))]
        parts += [
            np.flatnonzero(chosen & (dataset.split == k))[: getattr(self, f"n_{s}")] for k, s in enumerate(SPLITS)
        ]
        if self.n_train is not None and not len(parts[1]):
            parts[0] = parts[0][: self.n_train]  # a dataset without splits trains on all it has
        rows = np.sort(np.concatenate(parts))
        tasks = take_tasks(dataset.where(np.zeros(dataset.n_annotations, bool)), rows)
        return replace(
            tasks,
            classes=tuple(dataset.classes[c] for c in codes),
            worker_ids=dataset.worker_ids[:0],
            gold=gold[rows],
            extra=None,
            file_row=None,
            truth=None,
            notes=(),
        )
