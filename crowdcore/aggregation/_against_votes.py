"""A fit against the votes: classes lost or inflated, classes exchanged, and fits that found no classes at all.

The likelihood of latent classes is (nearly) the same if the classes are exchanged, so that nothing but the votes says
which is which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdcore.core.counts import vote_counts, vote_shares, winners
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

if TYPE_CHECKING:
    from crowdcore.aggregation.base import AggregationResult

_BLOCK = 1 << 14  # tasks that are checked at once
_TASKS, _SHARE = 10, 0.05  # a class that wins the votes on fewer tasks, or a smaller share of them, can't be lost
_LOST = 0.3  # a class keeps at least this share of the tasks that it wins by votes
_INFLATED = 2.5  # a class gets at most so many times the tasks that it wins by votes, or the votes that it has
_RISE = 0.05  # … and this share of all tasks more
_CHANCE = 2.0  # standard errors of agreement up to which it may be chance
_LIKELIER = 3.0  # nats by which one of two fits on the votes' side has to be likelier
_REMEDY = "Compare with the majority vote, add smoothing, or give some true labels."


class _Block(NamedTuple):
    """Votes (n, C) and posterior (n, C) of some tasks that are judged."""

    votes: FloatArray
    posterior: FloatArray

    @property
    def labels(self) -> FloatArray:
        """(n, C) 1 for the most probable class."""
        return np.asarray(np.eye(self.posterior.shape[1])[self.posterior.argmax(1)])


def _blocks(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None) -> Iterator[_Block]:
    """The annotated tasks that have a posterior and are not known."""
    judged = dataset.annotated & ~np.isnan(posterior[:, 0])
    if known is not None:
        judged &= known < 0
    for first in range(0, dataset.n_tasks, _BLOCK):
        kept = judged[first : first + _BLOCK]
        rows = slice(*dataset.task_start[[first, first + len(kept)]])
        votes = vote_counts(dataset.task[rows] - first, dataset.label[rows], len(kept), dataset.n_classes)
        yield _Block(votes[kept], posterior[first : first + _BLOCK][kept])


def lost_classes(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None = None) -> tuple[str, ...]:
    """Warnings about classes whose share of the labels differs much from their share of the votes, but known tasks."""
    n_tasks, (won, given, labelled) = 0, np.zeros((3, dataset.n_classes))
    for block in _blocks(dataset, posterior, known):
        n_tasks += len(block.votes)
        won += winners(block.votes, "share").sum(0)
        given += vote_shares(block.votes).sum(0)
        labelled += block.posterior.sum(0)
    lost = (np.minimum(won, given) >= max(_TASKS, _SHARE * n_tasks)) & (labelled < _LOST * won)
    inflated = (labelled > _INFLATED * np.maximum(won, given)) & (labelled - np.maximum(won, given) > _RISE * n_tasks)
    return tuple(
        f"Class {dataset.classes[c]} {'is all but lost' if lost[c] else 'is inflated'}: {labelled[c]:.0f} of {n_tasks} "
        f"tasks have it, against {won[c]:.0f} by majority vote. {_REMEDY}"
        for c in np.flatnonzero(lost | inflated)
    )


def agreement(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None = None) -> float:
    """Standard errors over tasks by which the labels of a posterior (n_tasks, C) agree with the votes beyond chance.

    ``z = √n mean x / sd x`` with ``x_i = Σ_c (1[z_i = c] - z̄_c) (v_i(c) - v̄(c))``; shares v of the votes say more than
    the winner of each task does. Exchanging the classes of two changes the sign alone. Known tasks are not judged.
    """
    n, sums = 0, np.zeros((2, dataset.n_classes))
    for block in _blocks(dataset, posterior, known):
        n += len(block.votes)
        sums += vote_shares(block.votes).sum(0), block.labels.sum(0)
    shares, mean = sums / max(n, 1)
    total = squares = 0.0
    for block in _blocks(dataset, posterior, known):
        x = ((block.labels - mean) * (vote_shares(block.votes) - shares)).sum(1)
        total, squares = total + float(x.sum()), squares + float(x @ x)
    spread = squares - total**2 / max(n, 1)
    return total / spread**0.5 if spread > 1e-12 * max(squares, 1e-300) else float(np.sign(total)) * n


def collapsed(dataset: CrowdDataset, posterior: FloatArray, known: IntArray | None = None) -> bool:
    """Whether a posterior is no nearer to the votes than chance, though it labels more than a few tasks otherwise."""
    n, same = 0, 0.0
    for block in _blocks(dataset, posterior, known):
        n, same = n + len(block.votes), same + float((block.labels * winners(block.votes, "share")).sum())
    return n - same >= max(_TASKS, _SHARE * n) and agreement(dataset, posterior, known) < _CHANCE


def exchanged(dataset: CrowdDataset, known: IntArray | None, posterior: FloatArray) -> bool:
    """Whether a model of two classes that is the same with both exchanged has them against the votes.

    Known tasks say which class is which; then it has not.
    """
    return dataset.n_classes == 2 and not _named(known) and agreement(dataset, posterior, known) < 0


NO_SIDE = (
    "The fit has collapsed: its labels agree with the votes no better than chance, so that it may have exchanged the "
    f"classes or found something else than them. {_REMEDY}"
)


def votes_side(dataset: CrowdDataset, known: IntArray | None, fits: Sequence[AggregationResult]) -> AggregationResult:
    """Of fits of one model the one on the votes' side: the likeliest of those, if it leads clearly, else the nearest.

    Known tasks take part in the likelihood; where there are some, it decides alone if it is clear.
    """
    objective = [float(fit.log_likelihood[-1]) for fit in fits]
    near = [agreement(dataset, fit.posterior, known) for fit in fits]
    open_to = [k for k in range(len(fits)) if _named(known) or near[k] > _CHANCE] or [int(np.argmax(near))]
    likeliest, nearest = max(open_to, key=objective.__getitem__), max(open_to, key=near.__getitem__)
    return fits[likeliest if objective[likeliest] > objective[nearest] + _LIKELIER else nearest]


def _named(known: IntArray | None) -> bool:
    """Whether some true classes say which class is which."""
    return known is not None and bool((known >= 0).any())
