"""Item response: able workers, hard tasks, and tasks that mislead."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from crowdcore.aggregation._em import EMAggregator, start_posterior, too_few_labels
from crowdcore.aggregation.base import AggregationResult, agreement, votes_side
from crowdcore.core.counts import clamp, soft_confusion_counts
from crowdcore.core.errors import DataError
from crowdcore.core.latent_classes import LatentClasses, LatentPriors
from crowdcore.core.settings import setting
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

if TYPE_CHECKING:
    from crowdcore.core.latent_loops import Tasks

_EVEN = 0.1  # labels of each wrong class by which the crowd's shares of wrong labels are drawn to even ones
_ALONE = 100.0  # labels on tasks with a foil by which 1 - φ is drawn to 0.15
_PATIENCE = 2  # iterations without a gain: w may cost one a little of it
_GLANCE = 20  # iterations after which the other side is left if it is not the votes'
_FEW = 10  # labels per worker that an ability should rest on


class ItemResponse(EMAggregator):
    """Item response model with a latent true class: abilities, difficulties, and foils of single tasks.

    Task i has a class ``z_i ~ ρ``, a difficulty d_i and perhaps a foil f_i, a wrong class of its own, all latent:
    ``P(y_i^r = z_i) = σ(s β_r(z_i) - d_i)`` (Rasch's model where s = 1; s = 0.3 on tasks where ability matters less). A
    wrong label is b with probability ``w_rz(b)``, on a task with foil ``φ 1[b = f_i] + (1 - φ) w_rz(b)``. So on hard
    tasks most labels may be wrong, and able workers are believed against the majority.

    Few parameters are free: d has a distribution on a grid, common to all tasks, each wrong class is as likely the
    foil, ``β_r(c) ~ N(m_r, s_c²)``, ``m_r ~ N(m, s_m²)``, and ``w_rz`` is drawn to the crowd's by κ labels. EM over
    (z, d, f), with one Newton step for β in each M-step, accelerated by Anderson's method: a step that would lower the
    objective is not taken. ``log_likelihood`` contains the log density of β, ρ and φ, but not that of w,
    which moves with the counts and may lower it a little: EM stops when two iterations gain nothing.

    With two classes, the likelihood is nearly the same if the classes are exchanged and abilities and difficulties are
    reflected, so that EM from the votes may end upside down. Both sides are fitted, the second from the first one's
    exchanged posterior, and the one that agrees with the vote shares is kept; of two that do, the likelier one. The
    second is left after twenty iterations if it is against the votes, as it is in most crowds.

    ``difficulty`` is the share of the crowd's labels that are expected to be wrong; ``foil`` the class that a task
    misleads to. ``worker_weight`` is the expected accuracy.
    """

    name: ClassVar[str] = "item-response"
    title: ClassVar[str] = "Item response"
    paper: ClassVar[str] = (
        "After Rasch, 1960, and Bachrach, Graepel, Minka & Guiver, ICML 2012, arXiv:1206.6386 (DARE); foils added"
    )

    of_tasks: ClassVar[str] = (
        "Difficulty: the share of labels expected to be wrong if every worker labelled the task. Foil: the wrong class "
        "that the task, more likely than not, misleads workers to, if there is one."
    )

    max_iterations: int = setting(200, "Iterations at most", "Maximum number of iterations.", ge=1)
    smoothing: float = setting(
        5.0,
        "Strength of pooling (labels)",
        "Labels κ by which a worker's shares of wrong labels are drawn to the crowd's.",
        gt=0,
    )
    ability_mean: float = setting(1.0, "Ability: prior mean", "Prior mean m of the workers' abilities, in log-odds.")
    ability_deviation: float = setting(
        1.0, "Ability: prior standard deviation", "Prior standard deviation s_m of the workers' abilities.", gt=0
    )
    class_deviation: float = setting(
        1.0,
        "Ability per class: standard deviation",
        "Prior standard deviation s_c of a worker's abilities on single classes around the worker's mean.",
        gt=0,
    )

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        if dataset.n_classes < 2:
            raise DataError(f"{dataset.name} has one class only", "At least two classes are needed.")
        first = self._side(dataset, known, start_posterior(dataset, known, start))
        if dataset.n_classes > 2 or start is not None:
            return first
        other = replace(first, posterior=first.posterior[:, ::-1])
        glance = self.model_copy(update={"max_iterations": min(_GLANCE, self.max_iterations)})
        seen = glance._side(dataset, known, start_posterior(dataset, known, other))
        if known is None and agreement(dataset, seen.posterior) <= 0:
            return first
        return votes_side(dataset, known, (first, self._side(dataset, known, start_posterior(dataset, known, other))))

    def _side(self, dataset: CrowdDataset, known: IntArray | None, guess: FloatArray) -> AggregationResult:
        """EM from a posterior (n_tasks, C)."""
        n, labels = dataset.n_classes, (dataset.task, dataset.worker, dataset.label)
        fit = LatentClasses(
            _tasks(dataset, known),
            soft_confusion_counts(*labels, guess, dataset.n_workers),
            (guess.sum(0) + 1) / (guess.sum() + n),
            LatentPriors(
                class_deviation=self.class_deviation,
                worker_mean=self.ability_mean,
                worker_deviation=self.ability_deviation,
                drawn=self.smoothing,
                even=_EVEN,
                alone_drawn=_ALONE,
            ),
        )
        trace = self.iterate(fit.accelerated_step, dataset.n_annotations, patience=_PATIENCE)
        posterior, difficulty, foil = fit.posterior()
        clamp(posterior, known)
        prior, confusion = fit.class_share, fit.confusion()
        confusion[dataset.labels_per_worker == 0] = np.nan
        return self.result(
            dataset,
            posterior,
            known=known,
            confusion=confusion,
            counts=soft_confusion_counts(*labels, posterior, dataset.n_workers),
            prior=prior,
            worker_weight=confusion.diagonal(axis1=1, axis2=2) @ prior,
            difficulty=difficulty,
            foil=foil,
            notes=too_few_labels(dataset, _FEW),
            **trace._asdict(),
        )


def _tasks(dataset: CrowdDataset, known: IntArray | None) -> Tasks:
    """Annotations and candidates of `LatentClasses`: the classes that somebody gave, and one for all others."""
    n = dataset.n_classes
    may = np.zeros((dataset.n_tasks, n + 1), bool)
    may[dataset.task, dataset.label] = True
    n_given = may.sum(1)
    may[n_given == n - 1] = True
    may[:, n] = (n_given > 0) & (n_given < n - 1)
    if known is not None:
        given = np.flatnonzero((known >= 0) & dataset.annotated)
        may[given] = False
        may[given, known[given]] = True
    task, candidate = np.nonzero(may)
    start = np.searchsorted(task, np.arange(dataset.n_tasks + 1))
    worker, label = dataset.worker.astype(np.int64), dataset.label.astype(np.int64)
    return dataset.task_start, worker, label, np.ones(dataset.n_workers, bool), start, candidate
