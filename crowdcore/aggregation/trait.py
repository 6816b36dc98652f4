"""One trait of verdicts: an order of tasks for judges who share mistakes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from crowdcore.aggregation._em import EMAggregator, Trace, label_table
from crowdcore.aggregation._stack import Factor, Order, normal_scores, residuals, stacked
from crowdcore.aggregation.base import AggregationResult
from crowdcore.core.counts import clamp, vote_counts, winners
from crowdcore.core.em import em_step
from crowdcore.core.errors import DataError, SettingError
from crowdcore.core.memory import need_room
from crowdcore.core.settings import setting
from crowdcore.core.types import BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset

_GRID = np.linspace(-4, 4, 31)  # values of the trait, in its standard deviations
_SLOPE = 1.2  # that judges start with
_NEWTON = 3  # steps of an M-step
_BY_VOTES, _BY_SHARE = 1.0, 2.0  # belief in the border of the votes, and in that of a stated share
_MOST = 500_000  # scores that the factor is fitted to, those of evenly spaced tasks
_NO_BORDER = (
    "Labels do not show where the border between {0} and {1} lies: {1} got {2:.0f} % of the tasks, as by the majority "
    "vote. 25 gold labels of tasks drawn at random would show its share to within 20 points, 100 to within 10: give "
    "them as known (`--with-gold`), or the share as a setting."
)
_BY_GOLD = (
    "{1} is expected on {2:.0f} % of the tasks, by gold of {3:,}: true where these were drawn at random from all tasks."
)
_STATED = "{1} got {2:.0f} % of the tasks, as stated: labels do not show where the border lies."


class Trait(EMAggregator):
    """One trait of the tasks that all judges see, each with a slope and a border: Rasch's and Birnbaum's models.

    ``θ_i ~ N(0, 1)``, ``P(y_i^r = 1) = σ(a_r θ_i + b_r)``, by EM over θ on a grid with three Newton steps for (a, b);
    ``a_r ~ N(ā, τ²)`` and ``b_r ~ N(b̄, s²)`` around their means, each judge counting by the number of verdicts.
    There are no classes in the model, so judges may share all mistakes: a task on which most are wrong is one far on
    the wrong side. Verdicts tell the order of the tasks, and nothing about where one class ends: the likelihood is the
    same for every border. The border is put where the second class has its share of the tasks, the stated one or that
    of the majority vote, and ``P(z_i = 1) = σ(E θ_i - border)``: slope 1 is an assumption, made for panels whose
    mistakes are shared; where they are not, the probabilities are too low. ``worker_weight`` is a_r.

    With ``known`` classes, `stacked` moves the border by them, and weighs what each judge says beside the trait. They
    must be of tasks drawn at random; few hardly move anything, many let each judge count by what it is worth. With a
    column of ``scores``, the order is one factor of these, by rank within each judge, and labels say which end is the
    second class.

    For two classes; verdicts may be missing. An earlier result changes nothing, as the fit starts from the votes.
    """

    name: ClassVar[str] = "trait"
    title: ClassVar[str] = "One trait of verdicts"
    paper: ClassVar[str] = (
        "Bock & Aitkin, Psychometrika 46, 1981, doi:10.1007/BF02293801 (two-parameter logistic model)"
    )

    share: float | None = setting(
        None,
        "Share of the second class",
        "Share of the tasks that have the second class; none: as by votes.",
        gt=0,
        lt=1,
    )
    scores: str = setting(
        "", "Column of scores", "Further column with each label's score, to order tasks by; empty: by the labels."
    )
    slope_deviation: float = setting(
        1.0, "Slopes: prior standard deviation", "Prior standard deviation τ of the judges' slopes.", gt=0
    )
    border_deviation: float = setting(
        2.0, "Borders: prior standard deviation", "Prior standard deviation s of the judges' borders.", gt=0
    )

    def _fit(self, dataset: CrowdDataset, known: IntArray | None, start: AggregationResult | None) -> AggregationResult:
        if dataset.n_classes != 2:
            raise DataError(
                f"One trait is defined for two classes only, but {dataset.name} has {dataset.n_classes}",
                "Use 'dawid-skene' or 'auto' for more.",
            )
        order, trace = self._by_scores(dataset) if self.scores else self._by_verdicts(dataset)
        judged = np.flatnonzero(dataset.annotated)
        place = order.place[judged]
        share = self.share
        if share is None:
            votes = vote_counts(dataset.task, dataset.label, dataset.n_tasks, 2)[judged]
            share = float(winners(votes, "share")[:, 1].mean())
        border, given = _cut(place, share), 0 if known is None else int((known[judged] >= 0).sum())
        belief = _BY_VOTES if self.share is None else _BY_SHARE
        second = expit(order.place - border) if known is None or not given else stacked(order, border, known, belief)
        result = np.stack([1 - second, second], 1)
        clamp(result, known)
        if given:
            share = float(result[judged, 1].mean())
        called = map(repr, dataset.classes)
        note = _BY_GOLD if given else _NO_BORDER if self.share is None else _STATED
        return self.result(
            dataset,
            result,
            known=known,
            prior=np.array([1 - share, share]),
            worker_weight=np.where(dataset.labels_per_worker > 0, order.weight, np.nan),
            notes=(note.format(*called, 100 * share, given),),
            **trace._asdict(),
        )

    def _by_verdicts(self, dataset: CrowdDataset) -> tuple[Order, Trace]:
        need_room(dataset.name, dataset.n_tasks, len(_GRID))
        table = label_table(dataset, None)
        weight = dataset.labels_per_worker / dataset.n_annotations
        given = np.bincount(dataset.worker, dataset.label, dataset.n_workers)
        border: FloatArray = logit((given + 0.5) / (dataset.labels_per_worker + 1)) * _SLOPE
        slope: FloatArray = np.full(dataset.n_workers, _SLOPE)
        means = _SLOPE, float(weight @ border)
        chance = np.exp(-(_GRID**2) / 2)
        log_chance = np.log(chance / chance.sum())
        posterior = np.empty((dataset.n_tasks, len(_GRID)))

        def step() -> float:
            nonlocal slope, border, means
            line = np.multiply.outer(slope, _GRID) + border[:, None]
            log_given = np.stack([-np.logaddexp(0, line), -np.logaddexp(0, -line)], 1).reshape(-1, len(_GRID))
            sums = em_step(table, log_given, log_chance, posterior)
            counts = sums.counts.reshape(-1, 2, len(_GRID))
            for _ in range(_NEWTON):
                slope, border = self._newton(counts[:, 1], counts.sum(1), slope, border, means)
            means = float(weight @ slope), float(weight @ border)
            return sums.log_likelihood

        trace = self.iterate(step, dataset.n_annotations)
        side = 1.0 if means[0] >= 0 else -1.0
        place = posterior @ _GRID
        p = expit(slope[dataset.worker] * place[dataset.task] + border[dataset.worker])
        left = residuals(dataset, dataset.label - p, p * (1 - p))
        return Order(np.where(dataset.annotated, side * place, np.nan), side * slope, left), trace

    def _by_scores(self, dataset: CrowdDataset) -> tuple[Order, Trace]:
        columns = pd.DataFrame() if dataset.extra is None else dataset.extra
        if self.scores not in columns or not pd.api.types.is_numeric_dtype(columns[self.scores]):
            numbers = ", ".join(columns.select_dtypes("number").columns) or "none"
            raise SettingError("scores", f"name a column of numbers ({numbers})", self.scores)
        score = columns[self.scores].to_numpy(np.float64)
        known, step = np.isfinite(score), -(-dataset.n_annotations // _MOST)
        z = np.zeros(len(score))
        z[known] = normal_scores(dataset.worker[known], score[known], dataset.n_workers)

        def factor(some: BoolArray) -> Factor:
            return Factor(dataset.task[some], dataset.worker[some], z[some], (dataset.n_tasks, dataset.n_workers))

        fit, every = factor(known & (dataset.task % step == 0)), factor(known)
        trace = self.iterate(fit.step, dataset.n_annotations)
        every.loading, every.psi = fit.loading, fit.psi
        place, _ = every.places()
        side = 1.0 if place[dataset.task] @ (dataset.label - dataset.label.mean()) >= 0 else -1.0
        off = np.where(known, z - fit.loading[dataset.worker] * place[dataset.task], 0.0)
        left = residuals(dataset, off, fit.psi[dataset.worker])
        return Order(np.where(dataset.annotated, side * place, np.nan), side * fit.loading / fit.psi, left), trace

    def _newton(
        self, ones: FloatArray, every: FloatArray, slope: FloatArray, border: FloatArray, means: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray]:
        """A Newton step from the expected verdicts of the second class and of both, (n_workers, grid)."""
        tau, s = self.slope_deviation**2, self.border_deviation**2
        p = expit(np.multiply.outer(slope, _GRID) + border[:, None])
        off, bend = ones - every * p, every * p * (1 - p)
        up_a, up_b = off @ _GRID - (slope - means[0]) / tau, off.sum(1) - (border - means[1]) / s
        aa, ab, bb = bend @ _GRID**2 + 1 / tau, bend @ _GRID, bend.sum(1) + 1 / s
        det = aa * bb - ab**2
        more = np.clip((bb * up_a - ab * up_b) / det, -1, 1), np.clip((aa * up_b - ab * up_a) / det, -1, 1)
        return slope + more[0], border + more[1]


def _cut(theta: FloatArray, share: float) -> float:
    """Value above which ``share`` of the tasks lie: in the nearest gap between different values."""
    value, count = np.unique(np.round(theta, 9), return_counts=True)
    ends = np.r_[(value[0] + _GRID[0]) / 2, (value[1:] + value[:-1]) / 2, (value[-1] + _GRID[-1]) / 2]
    off = np.abs(np.r_[0, count.cumsum()] / count.sum() - (1 - share))
    return float(ends[off <= off.min() + 1e-12].mean())
