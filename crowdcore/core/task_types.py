"""Compiled loops over tasks of known classes: their types, and pairs of workers who share them.

All take annotations sorted by (task, worker), one per task and worker, every task with a known true class; and each
worker's labels as sparse rows: the labels of row k, a (worker, true class) that occurs, with how often each was given,
are ``row_label[row_start[k] : row_start[k + 1]]`` and ``row_count[…]``; ``row`` (A,) is the row of each annotation.
The pairs take Σ_i n_i² steps, and memory for those that occur.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from crowdcore.core.compiled import compiled
from crowdcore.core.types import FloatArray, IntArray

_MOST = 1e250  # of a product of hints
_IN_ONE = 16  # chances, of at least 1e-6, that are multiplied before they are scaled
_RAREST, _SHOWN = 0.001, 0.06  # least chance of being wrong alike; least that n labels can show: _SHOWN / n


@compiled
def fit_step(
    start: int,
    stop: int,
    task_start: IntArray,
    row: IntArray,
    wrong: IntArray,
    label: IntArray,
    hint: FloatArray,
    chance: FloatArray,
    prior: FloatArray,
    slope: FloatArray,
    alone: float,
    n_classes: int,
    level: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The E-step of task types on the tasks ``start:stop``.

    ``chance`` (2, n_rows, D) is that of a right and of a wrong label. Fills ``level`` (n_tasks, D), the likelihood of
    each task's right and wrong labels up to a factor. Returns the expected tasks of each type (D, 2); each row's
    expected labels at each difficulty (n_rows, D); and of its right labels the expected slopes (n_rows,).
    """
    n_rows, n_levels = chance.shape[1:]
    n_tasks = np.zeros((n_levels, 2))
    labels, right_slope = np.zeros((n_rows, n_levels)), np.zeros(n_rows)
    foil, likelihood, own = np.ones(n_classes), np.empty(n_levels), np.empty(n_levels)
    for i in range(start, stop):
        first, last = task_start[i], task_start[i + 1]
        for d in range(n_levels):
            own[d] = 1.0
        toward, foiled = float(n_classes - 1), 1.0 / max(n_classes - 1, 1)
        for j in range(first, last):
            of = chance[wrong[j], row[j]]
            for d in range(n_levels):
                own[d] *= of[d]
            if (j - first) % _IN_ONE == _IN_ONE - 1:
                largest = _largest(own)
                for d in range(n_levels):
                    own[d] /= largest
            if wrong[j]:
                before = foil[label[j]]
                foil[label[j]] = min(before * hint[j], _MOST)
                toward += foil[label[j]] - before
                foiled *= alone
        foiled *= toward
        scale, total, mean_slope = 1.0 / _largest(own), 0.0, 0.0
        for d in range(n_levels):
            own[d] *= scale
            level[i, d] = own[d]
            likelihood[d] = own[d] * (prior[d, 0] + prior[d, 1] * foiled)
        for d in range(n_levels):
            total += likelihood[d]
        scale = 1.0 / total
        for d in range(n_levels):
            likelihood[d] *= scale
            n_tasks[d, 0] += own[d] * scale
            n_tasks[d, 1] += own[d] * (scale * foiled)
        for d in range(n_levels):
            mean_slope += slope[d] * likelihood[d]
        for j in range(first, last):
            foil[label[j]] = 1.0
            if not wrong[j]:
                right_slope[row[j]] += mean_slope
            of = labels[row[j]]
            for d in range(n_levels):
                of[d] += likelihood[d]
    for d in range(n_levels):
        n_tasks[d, 0] *= prior[d, 0]
        n_tasks[d, 1] *= prior[d, 1]
    return n_tasks, labels, right_slope


@compiled
def _largest(values: FloatArray) -> float:
    """As NumPy's, whose compiled form takes half a second to make."""
    largest = values[0]
    for value in values:
        largest = max(largest, value)
    return float(largest)


@compiled
def count_partners(
    task_start: IntArray, task: IntArray, worker: IntArray, by_worker: IntArray, worker_start: IntArray
) -> IntArray:
    """(n_workers,) how many workers of a higher number share a task with each worker."""
    n_workers = len(worker_start) - 1
    last = np.full(n_workers, -1, np.int64)
    partners = np.zeros(n_workers, np.int64)
    for r in range(n_workers):
        for p in range(worker_start[r], worker_start[r + 1]):
            j = by_worker[p]
            for k in range(j + 1, task_start[task[j] + 1]):
                if last[worker[k]] != r:
                    last[worker[k]] = r
                    partners[r] += 1
    return partners


@compiled
def fill_pairs(
    first: int,
    last: int,
    task_start: IntArray,
    task: IntArray,
    worker: IntArray,
    label: IntArray,
    by_worker: IntArray,
    worker_start: IntArray,
    row: IntArray,
    wrong: IntArray,
    hint: FloatArray,
    row_start: IntArray,
    row_size: IntArray,
    row_true: IntArray,
    row_label: IntArray,
    row_count: IntArray,
    crowd: FloatArray,
    drawn: float,
    right: FloatArray,
    prior: FloatArray,
    alone: float,
    level: FloatArray,
    n_classes: int,
    pair_start: IntArray,
    partner: IntArray,
    counts: IntArray,
    moments: FloatArray,
) -> None:
    """Fill ``partner`` (n_pairs,), ``counts`` (n_pairs, 4) and ``moments`` (n_pairs, 8) of the workers ``first:last``.

    ``by_worker`` lists the annotations by (worker, true class), worker r's pairs begin at ``pair_start[r]``.
    Counts: both labelled, both wrong, wrong alike, alike. Moments: of wrong alike three cumulants for workers who err
    independently, and the mean given the tasks' types; the mean of alike given them; the excess of concordance, and
    its variance and third cumulant.
    """
    n_workers = len(worker_start) - 1
    count = np.zeros((n_workers, 4), np.int64)
    moment = np.zeros((n_workers, 8))
    shared = np.zeros(n_workers, np.int64)  # tasks of the class in hand
    overlap, ways, other = np.zeros(n_workers), np.zeros((n_workers, 3)), np.zeros(n_workers, np.int64)
    wrong_size, wrong_crowd = _wrong_labels(row_start, row_true, row_label, row_count, crowd)
    crowd_alike = _squares(crowd)
    met, met_here = np.empty(n_workers, np.int64), np.empty(n_workers, np.int64)
    foil = np.ones(n_classes)
    for r in range(first, last):
        n_met, p = 0, worker_start[r]
        while p < worker_start[r + 1]:
            mine, n_here = row[by_worker[p]], 0
            while p < worker_start[r + 1] and row[by_worker[p]] == mine:
                j = by_worker[p]
                i = task[j]
                toward, n_wrong = float(n_classes - 1), 0
                for k in range(task_start[i], task_start[i + 1]):
                    if wrong[k] and k != j:
                        before = foil[label[k]]
                        foil[label[k]] = min(before * hint[k], _MOST)
                        toward += foil[label[k]] - before
                        n_wrong += 1
                for k in range(j + 1, task_start[i + 1]):
                    s = worker[k]
                    if count[s, 0] == 0:
                        met[n_met] = s
                        n_met += 1
                    if shared[s] == 0:
                        met_here[n_here] = s
                        n_here += 1
                        other[s] = row[k]
                        one, two, three = _ways_alike(mine, row[k], row_start, row_true, row_label, row_count)
                        ways[s, 0], ways[s, 1], ways[s, 2] = one, two, three
                        overlap[s] = _overlap(
                            ways[s, 0],
                            wrong_size[mine],
                            wrong_size[row[k]],
                            wrong_crowd[mine] + wrong_crowd[row[k]],
                            crowd_alike[row_true[mine]],
                            drawn,
                        )
                    shared[s] += 1
                    count[s, 0] += 1
                    count[s, 1] += wrong[j] and wrong[k]
                    count[s, 2] += wrong[j] and label[j] == label[k]
                    count[s, 3] += label[j] == label[k]
                    without, seen = foil[label[k]], toward
                    if wrong[k]:
                        foil[label[k]] = without / hint[k]
                        seen += foil[label[k]] - without
                    if n_wrong == wrong[k]:  # no other label shows the foil
                        hinted = min(wrong_size[mine], 1.0) + min(wrong_size[row[k]], 1.0)
                    else:
                        hinted = _toward(mine, foil, row_start, row_true, row_label, row_count) / max(
                            wrong_size[mine], 1.0
                        )
                        hinted += _toward(row[k], foil, row_start, row_true, row_label, row_count) / max(
                            wrong_size[row[k]], 1.0
                        )
                    foil[label[k]] = without
                    taken = 1 - alone
                    misled = taken**2 + alone**2 * overlap[s] + taken * alone * hinted / max(seen, 1e-300)
                    foiled = alone ** (n_wrong - wrong[k]) * seen / max(n_classes - 1, 1)
                    total = both = mean = mean_other = alike = 0.0
                    for d in range(len(prior)):
                        one, two = right[mine, d], right[row[k], d]
                        weight = level[i, d]
                        weight /= ((1 - one) if wrong[j] else one) * ((1 - two) if wrong[k] else two)
                        plain, steered = weight * prior[d, 0], weight * prior[d, 1] * foiled
                        total += plain + steered
                        both += one * two * (plain + steered)
                        mean += one * (plain + steered)
                        mean_other += two * (plain + steered)
                        alike += (1 - one) * (1 - two) * (plain * overlap[s] + steered * misled)
                    if total > 0:
                        moment[s, 3] += alike / total
                        moment[s, 4] += (both + alike) / total
                        outcome = 2 if label[j] != label[k] else wrong[j]
                        known = min(row_size[mine], row_size[row[k]])
                        alike = max(alike / total, _SHOWN / known, _RAREST)
                        _add_copying(outcome, mean / total, mean_other / total, both / total, alike, moment[s])
                for k in range(task_start[i], task_start[i + 1]):
                    foil[label[k]] = 1.0
                p += 1
            for q in range(n_here):
                s = met_here[q]
                _add_moments(shared[s], ways[s], row_size[mine], row_size[other[s]], moment[s])
                shared[s] = 0
        met[:n_met].sort()
        for q in range(n_met):
            s, to = met[q], pair_start[r] + q
            partner[to] = s
            for c in range(4):
                counts[to, c], count[s, c] = count[s, c], 0
            for c in range(8):
                moments[to, c], moment[s, c] = moment[s, c], 0.0


@compiled
def _add_copying(outcome: int, p: float, q: float, right: float, alike: float, moment: FloatArray) -> None:
    """Add to ``moment[5:8]`` the log likelihood ratio of copying half of the labels, less its mean, and two cumulants.

    Outcomes: 0 both right, 1 wrong alike, 2 neither; ``right`` and ``alike`` are the chances of the first two, p and
    q those of either being right.
    """
    right = min(right, 1 - alike)
    first = np.log(0.5 + 0.5 * sqrt(max(p * q, right**2)) / max(right, _RAREST))
    second = np.log(0.5 + 0.5 * sqrt(max((1 - p) * (1 - q), alike**2)) / alike)
    third = np.log(0.5)
    mean = right * first + alike * second + (1 - right - alike) * third
    a, b, c = first - mean, second - mean, third - mean
    moment[5] += a if outcome == 0 else b if outcome == 1 else c
    moment[6] += right * a**2 + alike * b**2 + (1 - right - alike) * c**2
    moment[7] += right * a**3 + alike * b**3 + (1 - right - alike) * c**3


@compiled
def _wrong_labels(
    row_start: IntArray, row_true: IntArray, row_label: IntArray, row_count: IntArray, crowd: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n_rows,) the wrong labels of each row, and the same with each weighed by its share of the crowd's."""
    size, weighed = np.zeros(len(row_true)), np.zeros(len(row_true))
    for r in range(len(row_true)):
        for k in range(row_start[r], row_start[r + 1]):
            if row_label[k] != row_true[r]:
                size[r] += row_count[k]
                weighed[r] += row_count[k] * crowd[row_true[r], row_label[k]]
    return size, weighed


@compiled
def _squares(crowd: FloatArray) -> FloatArray:
    """(C,) chance that two wrong labels of the crowd are equal, by true class."""
    alike = np.zeros(len(crowd))
    for a in range(len(crowd)):
        for b in range(len(crowd)):
            alike[a] += crowd[a, b] ** 2
    return alike


@compiled
def _overlap(alike: float, first: float, second: float, weighed: float, crowd_alike: float, drawn: float) -> float:
    """Chance that wrong labels of two rows are equal: of their shares, or of those drawn to the crowd's, if larger."""
    own = alike / max(first * second, 1.0)
    alike += drawn * weighed + drawn**2 * crowd_alike
    return float(max(own, alike / ((first + drawn) * (second + drawn))))


@compiled
def _toward(
    of: int, foil: FloatArray, row_start: IntArray, row_true: IntArray, row_label: IntArray, row_count: IntArray
) -> float:
    """Sum of ``foil`` over a row's wrong labels."""
    total = 0.0
    for k in range(row_start[of], row_start[of + 1]):
        if row_label[k] != row_true[of]:
            total += row_count[k] * foil[row_label[k]]
    return total


@compiled
def _ways_alike(
    mine: int, other: int, row_start: IntArray, row_true: IntArray, row_label: IntArray, row_count: IntArray
) -> tuple[float, float, float]:
    """Ways to choose one, two and three pairs of equal wrong labels: ``[y^J] Π_b Σ_j (n_b)_j (k_b)_j y^j / j!``."""
    c1 = c2 = c3 = 0.0
    x, y = row_start[mine], row_start[other]
    while x < row_start[mine + 1] and y < row_start[other + 1]:
        if row_label[x] < row_label[y]:
            x += 1
        elif row_label[x] > row_label[y]:
            y += 1
        else:
            if row_label[x] != row_true[mine]:
                u, v = float(row_count[x]), float(row_count[y])
                g1 = u * v
                g2 = g1 * (u - 1) * (v - 1) / 2
                g3 = g2 * (u - 2) * (v - 2) / 3
                c3 += c2 * g1 + c1 * g2 + g3
                c2 += c1 * g1 + g2
                c1 += g1
            x += 1
            y += 1
    return c1, c2, c3


@compiled
def _add_moments(m: int, ways: FloatArray, size: int, other_size: int, moment: FloatArray) -> None:
    """Add the exact cumulants of equal wrong labels among m tasks when both rows are dealt at random.

    The factorial moments of order J are ``(m)_J / ((n)_J (k)_J) * J!`` times `_ways_alike`.
    """
    c1, c2, c3 = ways[0], ways[1], ways[2]
    if c1 == 0:
        return
    n, k = float(size), float(other_size)
    scale = m / (n * k)
    f1 = scale * c1
    f2 = f3 = 0.0
    if m > 1:
        scale2 = scale * (m - 1) / ((n - 1) * (k - 1))
        f2 = scale2 * 2 * c2
        if m > 2:
            f3 = scale2 * (m - 2) / ((n - 2) * (k - 2)) * 6 * c3
    moment[0] += f1
    moment[1] += f2 + f1 - f1 * f1
    moment[2] += f3 + 3 * f2 + f1 - 3 * (f2 + f1) * f1 + 2 * f1**3
