"""Karger, Oh and Shah's message passing."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crowdcore.aggregation.base import AggregationResult, Aggregator, exchanged
from crowdcore.aggregation.majority_vote import weighted_votes
from crowdcore.core.counts import clamp, vote_counts, vote_shares
from crowdcore.core.errors import DataError
from crowdcore.core.settings import setting
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset

_UNEVEN = 5.0  # times the median number of labels that the busiest worker may give without a note


class KOS(Aggregator):
    """Iterative message passing for two classes, with answers ``A_ir = ±1``.

    ``x_{i→r} = Σ_{r' ≠ r} A_ir' y_{r'→i}``, then ``y_{r→i} = Σ_{i' ≠ i} A_i'r x_{i'→r}``; the label of task i is
    the sign of ``Σ_r A_ir y_{r→i}``. One message per annotation, so nothing is ever tasks × workers. The paper
    starts from Gaussian messages; here all start at 1 (the first round is then a leave-one-out vote), so that the
    answer depends neither on a seed nor on the order of tasks and workers. Messages are rescaled to mean square 1
    each round, which changes no sign.

    The posterior is the share of the absolute message weight that speaks for a class: ``½ (1 ± Σ_r A_ir y_{r→i} /
    Σ_r |y_{r→i}|)``; its side of ½ is the paper's answer, its size is no calibrated probability. A task whose
    messages are all 0 (its workers did nothing else) keeps its vote shares. Known tasks send their true sign with
    the full weight of their messages. Stops when no task changes its side for ``patience`` rounds.
    """

    name: ClassVar[str] = "kos"
    title: ClassVar[str] = "KOS message passing"
    paper: ClassVar[str] = "Karger, Oh & Shah 2014, Budget-optimal task allocation; doi:10.1287/opre.2013.1235"

    max_iterations: int = setting(100, "Rounds at most", "Maximum number of rounds of messages.", ge=1, le=100_000)
    patience: int = setting(10, "Rounds without a change", "Stop after this many rounds without a changed label.", ge=1)

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        if dataset.n_classes != 2:
            raise DataError(
                f"KOS is defined for two classes only, but {dataset.name} has {dataset.n_classes}",
                "Use 'm-msr' or 'one-coin' for more.",
            )
        task, worker = dataset.task, dataset.worker
        answer = 1.0 - 2.0 * dataset.label
        truth = None if known is None else np.where(known >= 0, 1.0 - 2.0 * known, 0.0)[task]
        message = np.ones(dataset.n_annotations)
        side, quiet, settled = np.zeros(dataset.n_tasks), 0, False
        for _ in range(self.max_iterations):
            voice = answer * message
            belief = np.bincount(task, voice, dataset.n_tasks)[task] - voice
            if truth is not None:
                full = np.bincount(task, np.abs(message), dataset.n_tasks)[task]
                belief = np.where(truth == 0, belief, truth * full)
            praise = answer * belief
            message = np.bincount(worker, praise, dataset.n_workers)[worker] - praise
            scale = np.sqrt(np.mean(message**2))
            if scale == 0:  # no worker labelled two tasks that others labelled too
                settled = True
                break
            message = message / scale
            new_side = np.sign(np.bincount(task, answer * message, dataset.n_tasks))
            quiet = quiet + 1 if np.array_equal(new_side, side) else 0
            side = new_side
            settled = quiet >= self.patience
            if settled:
                break

        # The two votes of Σ|y|: a message y < 0 speaks for the other class.
        agree, against = (weighted_votes(dataset, np.maximum(sign * message, 0.0)) for sign in (1, -1))
        votes = vote_counts(task, dataset.label, dataset.n_tasks, 2)
        posterior = vote_shares(agree + against[:, ::-1], fallback=votes)
        reliability = np.bincount(worker, message, dataset.n_workers) / np.maximum(dataset.labels_per_worker, 1)
        if exchanged(dataset, known, posterior):
            posterior, reliability = posterior[:, ::-1].copy(), -reliability
        clamp(posterior, known)
        return self.result(
            dataset,
            posterior,
            known=known,
            worker_weight=np.where(dataset.labels_per_worker > 0, reliability, np.nan),
            converged=settled,
            stopped=f"no label changed for {self.patience} rounds"
            if settled
            else f"cap of {self.max_iterations} rounds",
            notes=_uneven(dataset),
        )


def _uneven(dataset: CrowdDataset) -> tuple[str, ...]:
    given = dataset.labels_per_worker[dataset.labels_per_worker > 0]
    ratio = float(given.max() / np.median(given))
    if ratio <= _UNEVEN:
        return ()
    return (
        f"KOS assumes that workers label similar numbers of tasks, but one gave {ratio:.0f} times the median; "
        "the messages of such workers drown the others, and the result may be no better than chance.",
    )
