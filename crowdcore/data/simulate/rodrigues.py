"""Binary annotators by sensitivity and specificity."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Share, setting
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.simulate._draw import draw_labels
from crowdcore.data.simulate.base import ClassSimulation, Crowd, TaskSource, wrong_classes


class Rodrigues(ClassSimulation):
    """Every worker r labels every task: 1 with probability α_r where z = 1, 0 with probability β_r where z = 0."""

    name: ClassVar[str] = "rodrigues"
    title: ClassVar[str] = "Binary workers (crowd layer)"
    paper: ClassVar[str] = "Rodrigues, Pereira: Deep Learning from Crowds, AAAI 2018, Image classification"

    sensitivity: tuple[Share, ...] = setting(
        (0.6, 0.9, 0.5, 0.9, 0.9),
        "Sensitivity of each worker",
        "α_r, P(label 1 | class 1) of each worker.",
        min_length=1,
    )
    specificity: tuple[Share, ...] = setting(
        (0.7, 0.8, 0.5, 0.2, 0.9),
        "Specificity of each worker",
        "β_r, P(label 0 | class 0) of each worker.",
        min_length=1,
    )

    def _annotate(self, tasks: CrowdDataset, labelled: IntArray, rng: np.random.Generator) -> Crowd:
        if tasks.n_classes != 2:
            raise wrong_classes(tasks, "two")
        alpha, beta = np.array(self.sensitivity), np.array(self.specificity)
        if len(alpha) != len(beta):
            raise SettingError("specificity", f"have one value for each of the {len(alpha)} workers", self.specificity)
        confusion = np.stack([np.stack([beta, 1 - beta], 1), np.stack([1 - alpha, alpha], 1)], 1)
        task = np.repeat(labelled, len(alpha))
        worker = np.tile(np.arange(len(alpha), dtype=np.int32), len(labelled))
        label = draw_labels(confusion, worker, tasks.gold[task], rng)
        return Crowd(task, worker, label, SimulatedTruth(worker_confusion=confusion), len(alpha))


def rodrigues(source: TaskSource, **settings: Any) -> CrowdDataset:
    """Label binary tasks as the crowd-layer paper does; settings are the fields of `Rodrigues`."""
    return Rodrigues(**settings).run(source)
