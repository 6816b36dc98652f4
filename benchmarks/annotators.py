"""The annotators' page on a crowd of CIFAR-10H's size, and whether its tests of pairs keep their promises.

1. Time: 2,571 workers and 514,200 annotations. Claims: confusions, distances (mean squared), order, groups, figure
   and its JSON together in under 1 s, the JSON under 3 MB. Beside it SciPy's `cdist` for the distances, which a
   plain implementation would call; the other kinds, pairs, quality and what-if are timed without a claim.
2. Order: SciPy's `optimal_leaf_ordering` against ours on 300 workers. Claim: ours is never longer.
3. Pairs: workers who err independently, each in their own way. Claim: the share of crowds with any pair at
   q <= 0.05 (every discovery is false there) is at most 5 % plus two standard errors of the simulation, for the
   plain null and for the one beyond shared mistakes, the latter also with hard tasks that mislead everyone alike.
   The power to find a worker who copies another is printed without a claim.
4. Bits per label of workers who guess: the plain estimate against the adjusted one, which must be nearer to 0.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import cdist, squareform
from scipy.special import entr

from crowdcore import analysis, figures
from crowdcore.analysis.workers.distance import optimal_leaves
from crowdcore.analysis.workers.quality import information
from crowdcore.data.dataset import CrowdDataset
from testkit.erring import crowd, draw

REDRAW_BOUND, PAYLOAD_BOUND, REPEATS = 1.0, 3.0, 5
LEVEL, CROWDS, COPIED = 0.05, 300, 60
DESIGNS = {"sparse (59 workers, 3 labels a task)": (1000, 59, 8, 3), "team of 20, 5 classes": (120, 20, 5, 20)}
DESIGNS |= {"team of 39, 2 classes": (108, 39, 2, 39)}


def cifar_10h_sized() -> CrowdDataset:
    """10,000 tasks, each worker labels 200 of them; skills differ and five schools share their mistakes."""
    rng = np.random.default_rng(0)
    n_workers, n_tasks, n_classes = 2571, 10_000, 10
    task = np.concatenate([rng.choice(n_tasks, 200, replace=False) for _ in range(n_workers)])
    worker = np.repeat(np.arange(n_workers), 200)
    gold = rng.integers(n_classes, size=n_tasks)
    skill = rng.beta(18, 2, n_workers)[:, None, None]
    school = rng.dirichlet(np.full(n_classes, 0.3), (5, n_classes))[rng.integers(5, size=n_workers)]
    confusion = skill * np.eye(n_classes) + (1 - skill) * school
    return crowd(task, worker, draw(confusion[worker, gold[task]], rng), gold, n_workers)


def independent(design: tuple[int, int, int, int], hard: float, rng: np.random.Generator) -> CrowdDataset:
    """Workers with loads and confusions of their own; a share of hard tasks misleads everyone the same way."""
    n_tasks, n_workers, n_classes, per_task = design
    gold = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n_tasks - n_classes)]
    keys = np.log(rng.beta(1.5, 3, n_workers)) + rng.gumbel(size=(n_tasks, n_workers))
    worker = np.argsort(-keys, 1)[:, :per_task].ravel()
    task = np.repeat(np.arange(n_tasks), per_task)
    skill = rng.beta(5, 3, n_workers)[:, None, None]
    confusion = skill * np.eye(n_classes) + (1 - skill) * rng.dirichlet(np.full(n_classes, 0.5), (n_workers, n_classes))
    chance = confusion[worker, gold[task]]
    mislead = 0.3 * np.eye(n_classes) + 0.7 * np.roll(np.eye(n_classes), 1, 1)
    is_hard = (rng.random(n_tasks) < hard)[task][:, None]
    chance = np.where(is_hard, 0.3 * chance + 0.7 * mislead[gold[task]], chance)
    return crowd(task, worker, draw(chance, rng), gold, n_workers)


def with_copier(dataset: CrowdDataset) -> CrowdDataset:
    """Let worker 1 repeat the label of worker 0 on every task of both."""
    label = dataset.label.copy()
    source = dict(zip(dataset.task[dataset.worker == 0], dataset.label[dataset.worker == 0], strict=True))
    for j in np.flatnonzero(dataset.worker == 1):
        label[j] = source.get(dataset.task[j], label[j])
    return crowd(dataset.task, dataset.worker, label, dataset.gold, dataset.n_workers)


def median_seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    def once() -> float:
        began = clock()
        action()
        return clock() - began

    action()
    return statistics.median(once() for _ in range(REPEATS))


def verdict(met: bool) -> str:
    return "met" if met else "NOT met"


def times() -> None:
    dataset = cifar_10h_sized()
    confusion = analysis.worker_confusion(dataset)
    distance = analysis.confusion_distance(confusion)
    order = analysis.order_workers(distance)
    flat = np.nan_to_num(confusion.matrices).reshape(dataset.n_workers, -1)
    print(f"{dataset.n_workers:,} workers, {dataset.n_annotations:,} annotations, medians of {REPEATS}:")

    def redraw() -> str:
        distance = analysis.worker_distance(dataset)
        return str(figures.worker_distance(distance, analysis.order_workers(distance)).to_json())

    parts: dict[str, Callable[[], object]] = {
        "worker_confusion": lambda: analysis.worker_confusion(dataset),
        "distance, mse": lambda: analysis.confusion_distance(confusion),
        "SciPy's cdist for the same": lambda: cdist(flat, flat, "sqeuclidean"),
        "distance, shared-mse": lambda: analysis.confusion_distance(confusion, "shared-mse"),
        "distance, jensen-shannon": lambda: analysis.confusion_distance(confusion, "jensen-shannon"),
        "order_workers": lambda: analysis.order_workers(distance),
        "figure and JSON": lambda: figures.worker_distance(distance, order).to_json(),
        "pair_mistakes": lambda: analysis.pair_mistakes(dataset),
        "worker_quality": lambda: analysis.worker_quality(dataset),
        "without_each": lambda: analysis.without_each(dataset),
    }
    for name, action in parts.items():
        print(f"  {name:28}{median_seconds(action):7.3f} s")
    total, payload = median_seconds(redraw), len(redraw()) / 1e6
    busy = median_seconds(redraw, time.process_time)
    print(
        f"claim: distances redrawn in under {REDRAW_BOUND:g} s: {total:.3f} s ({busy:.3f} s of processor time): "
        f"{verdict(total < REDRAW_BOUND)}"
    )
    print(f"claim: under {PAYLOAD_BOUND:g} MB to the browser: {payload:.2f} MB: {verdict(payload < PAYLOAD_BOUND)}")


def leaf_orders() -> None:
    ratios, ours_seconds, scipy_seconds = [], [], []
    for seed in range(10):
        points = np.random.default_rng(seed).random((300, 4))
        matrix = cdist(points, points)
        tree = linkage(squareform(matrix, checks=False), "average")
        began = time.perf_counter()
        ours = optimal_leaves(tree, matrix)
        between = time.perf_counter()
        theirs = leaves_list(optimal_leaf_ordering(tree, squareform(matrix, checks=False)))
        scipy_seconds.append(time.perf_counter() - between)
        ours_seconds.append(between - began)
        ratios.append(matrix[ours[:-1], ours[1:]].sum() / matrix[theirs[:-1], theirs[1:]].sum())
    print(
        f"leaf order of 300 workers, ours against SciPy's: length {statistics.median(ratios):.3f} x, time "
        f"{statistics.median(ours_seconds) / statistics.median(scipy_seconds):.2f} x\n"
        f"claim: never longer: {max(ratios):.3f} x at most: {verdict(max(ratios) <= 1 + 1e-12)}"
    )


def pairs() -> None:
    rng = np.random.default_rng(0)
    kept = []
    for name, design in DESIGNS.items():
        for hard in (0.0, 0.2):
            mistakes = [analysis.pair_mistakes(independent(design, hard, rng)) for _ in range(CROWDS)]
            plain = np.mean([(r.q_value <= LEVEL).any() for r in mistakes])
            beyond = np.mean([(r.q_beyond <= LEVEL).any() for r in mistakes])
            kept += [beyond] if hard else [plain, beyond]
            copies = [analysis.pair_mistakes(with_copier(independent(design, hard, rng))) for _ in range(COPIED)]
            copied = [(r.worker_a == 0) & (r.worker_b == 1) for r in copies]
            hits = np.mean([(r.q_beyond[pair] <= LEVEL).any() for r, pair in zip(copies, copied, strict=True)])
            shared = np.mean([r.both_labelled[pair].sum() for r, pair in zip(copies, copied, strict=True)])
            print(
                f"  {name}, {100 * hard:.0f} % hard tasks: any false pair in {100 * plain:.1f} % of crowds, "
                f"beyond shared mistakes {100 * beyond:.1f} %; copier of {shared:.0f} tasks found in {100 * hits:.0f} %"
            )
    bound = LEVEL + 2 * np.sqrt(LEVEL * (1 - LEVEL) / CROWDS)
    print(f"claim: at most 5 % (bound {100 * bound:.1f} %): {100 * max(kept):.1f} %: {verdict(max(kept) <= bound)}")


def bits() -> None:
    rng, prior, nearer = np.random.default_rng(0), np.full(8, 1 / 8), []
    for n_labels in (20, 50, 200, 1000):
        counts = rng.multinomial(n_labels, np.full(64, 1 / 64), 300).reshape(-1, 8, 8).astype(float)
        rows = counts / np.maximum(counts.sum(2, keepdims=True), 1)
        weight = np.where(counts.sum(2) > 0, prior, 0)
        weight /= weight.sum(1, keepdims=True)
        seen = entr(np.einsum("ra,rab->rb", weight, rows)).sum(1) - (weight * entr(rows).sum(2)).sum(1)
        plain, adjusted = seen.mean() / np.log(2), np.nanmean(information(counts, prior)[0])
        nearer.append(adjusted < plain)
        print(f"  guessing, {n_labels:4} labels, 8 classes: {plain:.3f} bits plain, {adjusted:.3f} adjusted (true: 0)")
    print(f"claim: adjusted bits are nearer to the truth at every size: {verdict(all(nearer))}")


def main() -> None:
    times()
    leaf_orders()
    pairs()
    bits()


if __name__ == "__main__":
    main()
