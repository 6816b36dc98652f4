"""Plan of the next labels: the task with the likeliest wrong label first, for the worker whose label tells most."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import digamma, entr

from crowdcore import aggregation
from crowdcore.aggregation.base import AggregationResult
from crowdcore.analysis.workers.confusion import refuse_beyond
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.shown import Shown
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import SPLITS, CrowdDataset
from crowdcore.data.doors import door

_MOST_OUTCOMES = 64  # possible labels of planned assignments that are distinguished for a task
_BLOCK = 2_000_000  # numbers worked on at once
FIT = {"max_iterations": 5}
"""Settings of the pooled Dawid–Skene behind it."""


@dataclass(frozen=True, eq=False)
class NextLabels(Shown):
    """Assignments, the likeliest wrong label first; arrays (n,).

    Attributes:
        task: task numbers.
        worker: worker numbers; nobody gets a task twice.
        gain: expected information of the label in bits, given the assignments before it.
        wrong: (n_tasks,) chance that each task's label is wrong now; NaN of tasks that stay without labels.
        entropy: (n_tasks,) present uncertainty of each task's class in bits; NaN of tasks that stay without labels.
        task_ids: names of all tasks.
        worker_ids: names of all workers.
        method: the aggregator behind the plan.
    """

    task: IntArray
    worker: IntArray
    gain: FloatArray
    wrong: FloatArray
    entropy: FloatArray
    task_ids: pd.Index[str]
    worker_ids: pd.Index[str]
    method: str

    def frame(self) -> pd.DataFrame:
        """One row per assignment: task, worker, expected gain in bits."""
        return pd.DataFrame(
            {"task": self.task_ids[self.task], "worker": self.worker_ids[self.worker], "gain_bits": self.gain}
        )

    def per_worker(self) -> pd.DataFrame:
        """One row per worker with assignments: number of labels, and their expected information in all."""
        number, of, labels = np.unique(self.worker, return_inverse=True, return_counts=True)
        gains = np.bincount(of, self.gain, len(number))
        table = pd.DataFrame({"worker": self.worker_ids[number], "labels": labels, "gain_bits": gains}, index=number)
        return table.sort_values("labels", ascending=False, kind="stable")


@door
def next_labels(
    dataset: CrowdDataset,
    budget: int,
    *,
    workers: Sequence[str] | None = None,
    capacity: int | Mapping[str, int] | None = None,
    explore: float = 0.0,
    fit: AggregationResult | None = None,
    beliefs: FloatArray | None = None,
    open_pairs: BoolArray | None = None,
    settled: BoolArray | None = None,
) -> NextLabels:
    """Spend a budget of labels on the tasks whose labels are likeliest wrong.

    With the posterior q_i of a task, its label is wrong with probability ``1 - max_c q_ic``. The task where that is
    largest comes next; a planned label halves it, so that a task gets several labels only if it is much less certain
    than others. That is the order in which verdicts list tasks to label again, if ``beliefs`` are theirs.

    Among the workers who may be asked, the task goes to the one whose label y has most information about the class,
    ``I(z_i; y) = H(Σ_c q_ic π^r_c) - Σ_c q_ic H(π^r_c)``: little for a worker who guesses. π^r is the mean of its
    Dirichlet posterior, drawn to the crowd's confusion where the worker's labels are few (`PooledDawidSkene`). After
    planned labels, which are unknown, it is the mean over their possible outcomes. A label has information about that
    confusion, too: ``Σ_c q_ic (H(E π^r_c) - E H(π^r_c))``; ``explore`` is the weight of this in choosing a worker.

    Args:
        dataset: the present annotations; tasks without any count as drawn from the class shares, and stay without
            if they are of the validation or test split.
        budget: labels to ask for.
        workers: names of the available workers; default: all.
        capacity: most labels of each worker, or of those in a mapping; default: no limit.
        explore: weight of the information about the workers.
        fit: a fit with confusions and counts; default: five iterations of `PooledDawidSkene`, as EM that is run to its
            end drifts away from the votes where labels are few.
        beliefs: (n_tasks, C) the posterior q, NaN where unknown; default: that of the fit.
        open_pairs: (n_tasks, n_workers) pairs that may be asked; default: all without a label.
        settled: (n_tasks,) tasks whose class is known otherwise, which are not asked for; default: none.

    Returns:
        At most ``budget`` assignments; fewer where no pair is left.

    Raises:
        DataError: no annotations, or more pairs than fit into memory.
        SettingError: a budget, capacity or weight below its least, an unknown worker, or a fit without confusions.

    Examples:
        >>> import crowdcore as cc
        >>> ds = cc.load_dataset("demo")
        >>> fitted = cc.analysis.next_labels(ds, 100, capacity=20)
        >>> len(fitted.task), int(fitted.per_worker()["labels"].max())
        (100, 20)
    """
    for name, value, least in (("budget", budget, 1), ("explore", explore, 0)):
        if not value >= least:
            raise SettingError(name, f"be at least {least}", value)
    refuse_beyond(
        9 * dataset.n_tasks * dataset.n_workers,
        f"{dataset.n_tasks:,} tasks times {dataset.n_workers:,} workers",
        "Look at fewer tasks or workers.",
    )
    left = _capacity(dataset, workers, capacity, budget)
    fitted = aggregation.get("pooled-dawid-skene", **FIT).fit(dataset) if fit is None else fit
    q, confusion, learnt = _beliefs(dataset, fitted, beliefs)
    may = np.ones((dataset.n_tasks, dataset.n_workers), bool) if open_pairs is None else open_pairs.copy()
    may[dataset.task, dataset.worker] = False
    may &= left > 0
    held_back = ~dataset.annotated & (dataset.split > SPLITS.index("train"))
    held_back |= False if settled is None else settled
    may[held_back] = False
    gains = _information(q[:, None], confusion) + explore * q @ learnt.T
    gains[~may] = -np.inf
    task, worker, gain = _choose_labels(gains, q, confusion, learnt * explore, left, budget)
    bits = 1 / np.log(2)
    wrong, entropy = (np.where(held_back, np.nan, of) for of in (1 - q.max(1), entr(q).sum(1) * bits))
    return NextLabels(task, worker, gain * bits, wrong, entropy, dataset.task_ids, dataset.worker_ids, fitted.method)


def _choose_labels(
    gains: FloatArray, q: FloatArray, confusion: FloatArray, learnt: FloatArray, left: IntArray, budget: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Tasks, workers and gains; ``gains`` (n_tasks, n_workers) is kept up to date, -inf where nobody may be asked."""
    wrong = 1 - q.max(1)
    heap = [(-float(wrong[i]), int(i)) for i in np.argsort(-wrong, kind="stable")]  # sorted, so a heap
    outcomes: dict[int, FloatArray] = {}
    chosen: list[tuple[int, int, float]] = []
    gone = left <= 0
    while heap and len(chosen) < budget:
        place, i = heapq.heappop(heap)
        row = gains[i]
        row[gone] = -np.inf
        r = int(row.argmax())
        if not row[r] > 0:
            continue
        chosen.append((i, r, float(row[r])))
        left[r] -= 1
        gone[r] = left[r] <= 0
        row[r] = -np.inf
        outcomes[i] = _split(outcomes.get(i, q[i][None]), confusion[r])
        open_ = np.isfinite(row)
        if open_.any():
            row[open_] = _information(outcomes[i][None], confusion[open_])[0] + q[i] @ learnt[open_].T
            heapq.heappush(heap, (place / 2, i))
    task, worker = (np.array([c[k] for c in chosen], np.int64) for k in (0, 1))
    return task, worker, np.array([c[2] for c in chosen])


def _information(joint: FloatArray, confusion: FloatArray) -> FloatArray:
    """Mutual information in nats of class and label, (n, n_workers).

    ``joint`` (n, K, C) is the probability of outcome k of the planned labels, and class c; it sums to 1.
    """
    spread = entr(confusion).sum(2)
    n, k, n_classes = joint.shape
    fitted = np.empty((n, len(confusion)))
    step = max(1, _BLOCK // max(1, k * confusion.shape[0] * n_classes))
    flat = confusion.transpose(1, 0, 2).reshape(n_classes, -1)
    for start in range(0, n, step):
        some = joint[start : start + step]
        label = (some @ flat).reshape(len(some), k, -1, n_classes)
        fitted[start : start + step] = entr(label).sum((1, 3)) - entr(some.sum(2)).sum(1)[:, None]
    return np.asarray(np.maximum(fitted - joint.sum(1) @ spread.T, 0.0))


def _split(joint: FloatArray, confusion: FloatArray) -> FloatArray:
    """(K C, C) outcomes of one more label; of too many, the most probable, scaled to sum to 1."""
    more = (joint[:, None, :] * confusion.T).reshape(-1, joint.shape[1])
    if len(more) > _MOST_OUTCOMES:
        weight = more.sum(1)
        more = more[np.argpartition(-weight, _MOST_OUTCOMES)[:_MOST_OUTCOMES]]
        more /= more.sum()
    return np.asarray(more)


def _beliefs(
    dataset: CrowdDataset, fit: AggregationResult, beliefs: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Posterior (N, C), mean confusions (R, C, C), and (R, C) information of a label about its row of a confusion.

    A row is Dirichlet with the mean ``π^r_c`` and the concentration ``n^r_c + κ``: the expected labels behind it and
    the strength of pooling. With the concentration a, ``E H = ψ(Σ_l a_l + 1) - Σ_l (a_l / Σ a) ψ(a_l + 1)``.
    """
    if fit.confusion is None or fit.counts is None or fit.prior is None:
        raise SettingError("fit", "have confusions, counts and class shares", fit.method)
    if not dataset.n_annotations:
        raise DataError(f"{dataset.name} has no annotations", "Label some tasks first.")
    known = fit.posterior if beliefs is None else beliefs
    q = np.where(np.isnan(known), fit.prior, known)
    crowd = fit.counts.sum(0) + 0.1 + 0.5 * np.eye(dataset.n_classes)
    crowd /= crowd.sum(1, keepdims=True)
    mean = np.where(np.isnan(fit.confusion), crowd, fit.confusion)
    a = mean * (fit.counts.sum(2, keepdims=True) + max(float(fit.settings.get("smoothing", 0)), 1.0))
    total = a.sum(2, keepdims=True)
    expected = digamma(total[..., 0] + 1) - (a / total * digamma(a + 1)).sum(2)
    return q, mean, np.maximum(entr(mean).sum(2) - expected, 0.0)


def _capacity(
    dataset: CrowdDataset, workers: Sequence[str] | None, capacity: int | Mapping[str, int] | None, budget: int
) -> IntArray:
    """(n_workers,) labels that may still be asked of each."""
    names = list(map(str, dataset.worker_ids))
    number = {name: r for r, name in enumerate(names)}
    each = dict.fromkeys(names, capacity) if isinstance(capacity, int) else dict(capacity or {})
    for name in [*(workers or ()), *each]:
        if name not in number:
            raise SettingError("workers", "be workers of the dataset", name)
    if any(most < 0 for most in each.values()):
        raise SettingError("capacity", "be at least 0", min(each.values()))
    left = np.full(len(names), budget)
    left[[number[name] for name in each]] = list(each.values())
    if workers is not None:
        away = np.ones(len(names), bool)
        away[[number[name] for name in workers]] = False
        left[away] = 0
    return left
