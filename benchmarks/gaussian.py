"""`gaussian-em` on LabelMe, Music and leaves: accuracy in its three settings, calibration, ablations, learning curves.

    CROWDCORE_DATA=<their folder> python -m benchmarks.gaussian [part …] [dataset …] [method …] [seen …] [seeds]

Methods of `accuracy` and `time` are `gaussian-em` (default), `auto` and `dl-em`; seen without labels, in `accuracy`,
are the features of `no` tasks, those of `validation`, or those of `all` tasks (all three, one table each). Rows are
selected by `gold` and by `none`, or only by the one named.

Selected on the 500 validation tasks of LabelMe, on 70 of Music's 700 training songs (another 70 for every seed), on a
ninth of leaves' training tasks (ten folds). Only `accuracy`, `ceiling` (gold labels in the same network) and
`calibration` look at test splits; `ablation` and `labels` (learning curves) judge the targets by gold of the training
tasks, and classifiers by validation gold.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import torch

from crowdcore.core.types import FloatArray
from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.training import metrics
from testkit.training import train_as

HEAD = {"backbone": "mlp", "epochs": 40, "schedule": "cosine", "lr": 0.003}
SETS = ("labelme", "music", "leaves")
METHODS = ("gaussian-em", "auto", "dl-em")
UNLABELLED = ("no", "validation", "all")
SELECTED = ("gold", "none")
ABLATIONS: Mapping[str, dict[str, Any]] = {
    "as it is": {},
    "linear space": {"gamma": 0, "dimensions": 100},
    "γ = 1": {"gamma": 1.0},
    "100 dimensions": {"dimensions": 100},
    "shrinkage 0.3": {"shrinkage": 0.3},
    "shrinkage 0.03": {"shrinkage": 0.03},
    "5 rounds": {"rounds": 5},
    "no balance": {"balance": 0.0},
    "balance 1": {"balance": 1.0},
    "sharpening 1": {"sharpening": 1.0},
    "no pooling": {"pooling": 0.0},
}


def folds(name: str, seeds: int, select_on: str = "gold") -> Iterator[tuple[CrowdDataset, dict[str, Any]]]:
    """The dataset and settings of each repetition."""
    crowd = load_dataset(name)
    if name == "labelme" or (name == "music" and select_on == "none"):
        yield crowd, {"seeds": seeds, "select_on": select_on}
        return
    if name == "music":
        for s in range(seeds):
            yield crowd, {"seeds": [s], "select_on": "holdout", "holdout_seed": s}
        return
    fold = np.random.default_rng(0).permutation(crowd.n_tasks) % 10
    for s in range(min(seeds, 10)):
        split = np.where(fold == s, 2, np.where(fold == (s + 1) % 10, 1, 0))
        yield replace(crowd, split=split), {"seeds": [s], "select_on": select_on}


def trained(
    name: str, seeds: int, method: str = "gaussian-em", select_on: str = "gold", **settings: Any
) -> list[TrainingResult]:
    """Results of all repetitions."""
    return [train_as(crowd, method, **{**HEAD, **how, **settings}) for crowd, how in folds(name, seeds, select_on)]


def chosen(some: Sequence[str]) -> Sequence[str]:
    """Those that the command line names, or all."""
    return [a for a in sys.argv[1:] if a in some] or some


def spread(values: list[FloatArray] | FloatArray) -> str:
    """Mean ± sample deviation in per cent."""
    flat = 100 * np.concatenate([np.atleast_1d(v) for v in values])
    return f"{np.nanmean(flat):.2f} ± {np.nanstd(flat, ddof=1):.2f}" if len(flat) > 1 else f"{flat[0]:.2f}"


def targets_right(result: TrainingResult) -> tuple[float, float]:
    """Share of training tasks whose posterior q has the gold class, and its calibration error; NaN without one."""
    if result.q is None:  # of a mean whose heaviest part infers no posterior
        return np.nan, np.nan
    gold = result.gold[: result.q.shape[1]]
    known = gold >= 0
    q = result.q[:1, known].astype(np.float64)
    return float(metrics.accuracy(q, gold[known])[0]), float(metrics.calibration_error(q, gold[known])[0])


def weights(results: Sequence[TrainingResult]) -> str:
    """Mean weight that `auto` gives each candidate."""
    tried = [r.candidates.set_index(r.candidates["candidate"].str.split().str[0])["weight"] for r in results]
    mean = sum(tried) / len(tried)
    return ", ".join(f"{name} {weight:.2f}" for name, weight in mean.items())


def accuracy(sets: Sequence[str], seeds: int, methods: Sequence[str]) -> None:
    """Print test accuracy, a table per set of features seen without labels; the ensemble is the mean over seeds."""
    for unlabelled in chosen(UNLABELLED):
        print(f"\nFeatures without labels: {unlabelled}\n")
        heads = (
            "",
            "method",
            "selected by",
            "test",
            "ensemble",
            "calibration error, classifier / posterior",
            "q right",
        )
        print(f"| {' | '.join(heads)} | weights |\n{'|---' * (len(heads) + 1)}|")
        for name, select, method in itertools.product(sets, chosen(SELECTED), methods):
            print(
                f"| {name} | {method} | {select} | {accuracy_of(name, seeds, method, select, unlabelled)} |", flush=True
            )


def ceiling(sets: Sequence[str], seeds: int, _: Sequence[str]) -> None:
    """Test accuracy of the same network on gold labels."""
    for name in sets:
        print(f"{name}: {spread([r.accuracy('test') for r in trained(name, seeds, 'dl-true')])}", flush=True)


def accuracy_of(name: str, seeds: int, method: str, select: str, unlabelled: str) -> str:
    """The cells of one row."""
    seen = {} if method == "dl-em" else {"unlabelled": unlabelled}
    result = trained(name, seeds, method, select, **seen)
    of = [targets_right(r) for r in result]
    together = "–"
    if name != "leaves":
        p = np.concatenate([r.posterior("test") for r in result]).astype(np.float64).mean(0, keepdims=True)
        together = spread(metrics.accuracy(p, result[0].gold[result[0].split == 2]))
    error = spread([r.scores("test")["calibration_error"].to_numpy() for r in result])
    right, of_q = (spread(np.array(column)) for column in zip(*of, strict=True))
    words = weights(result) if method == "auto" else ""
    return f"{spread([r.accuracy('test') for r in result])} | {together} | {error} / {of_q} | {right} | {words}"


def calibration(sets: Sequence[str], seeds: int, _: Sequence[str]) -> None:
    """Print calibration errors in per cent, beside those of equally sure calibrated probabilities on as many tasks."""
    print("| | selected by | tasks | posterior | if calibrated | test tasks | classifier | if calibrated |")
    print("|---|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for name in sets:
        for select in ("gold", "none"):
            cells: list[tuple[float, ...]] = []
            for result in trained(name, seeds, select_on=select):
                assert result.q is not None
                for q, p in zip(result.q, result.posterior("test"), strict=True):
                    gold = result.gold[: len(q)], result.gold[result.split == 2]
                    both = [x[g >= 0].astype(np.float64) for x, g in zip((q, p), gold, strict=True)]
                    errors = [
                        (len(x), metrics.calibration_error(x[None], g[g >= 0])[0], least_error(x, rng))
                        for x, g in zip(both, gold, strict=True)
                    ]
                    cells.append((*errors[0], *errors[1]))
            columns = [np.array(column) for column in zip(*cells, strict=True)]
            words = [f"{c.mean():.0f}" if k % 3 == 0 else spread(c) for k, c in enumerate(columns)]
            print(f"| {name} | {select} | {' | '.join(words)} |", flush=True)


def least_error(p: FloatArray, rng: np.random.Generator, draws: int = 100) -> float:
    """Mean calibration error of calibrated (n, C) probabilities: true classes are drawn from them."""
    edges = p.cumsum(1)[:, :-1]
    truths = [(rng.random((len(p), 1)) > edges).sum(1) for _ in range(draws)]
    return float(np.mean([metrics.calibration_error(p[None], truth)[0] for truth in truths]))


def ablation(sets: Sequence[str], seeds: int, _: Sequence[str]) -> None:
    """Print the contribution of each part: validation accuracy, and the share of training tasks with right targets."""
    print("| | " + " | ".join(f"{name}: validation | targets right" for name in sets) + " |")
    print("|---" * (2 * len(sets) + 1) + "|")
    for words, settings in ABLATIONS.items():
        cells = []
        for name in sets:
            result = trained(name, seeds, **settings)
            cells += [
                spread([r.accuracy("valid") for r in result]),
                spread(np.array([targets_right(r)[0] for r in result])),
            ]
        print(f"| {words} | {' | '.join(cells)} |", flush=True)


def labels(sets: Sequence[str], seeds: int, _: Sequence[str]) -> None:
    """Learning curves: so many labels a task, or so many workers, drawn at random; targets right on training tasks."""
    heads = ("", "kept", "labels", "votes right", "targets right", "validation", "dl-em: validation")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in sets:
        crowd = load_dataset(name)
        for kind, amount in (
            ("labels a task", 1),
            ("labels a task", 2),
            ("labels a task", 3),
            ("workers", 0.25),
            ("workers", 0.5),
            ("all", 0),
        ):
            rows: list[tuple[float, float, float, float]] = []
            for s in range(seeds):
                some = fewer(crowd, kind, amount, s)
                how = {
                    "seeds": [s],
                    **({"select_on": "gold"} if name == "labelme" else {"select_on": "holdout", "holdout_seed": s}),
                }
                own, other = (train_as(some, method, **{**HEAD, **how}) for method in ("gaussian-em", "dl-em"))
                votes = np.zeros((some.n_tasks, some.n_classes))
                np.add.at(votes, (some.task, some.label), 1)
                judged = (some.gold >= 0) & some.annotated & (some.split <= 0)
                right = float((votes.argmax(1) == some.gold)[judged].mean())
                rows.append((right, targets_right(own)[0], own.accuracy("valid")[0], other.accuracy("valid")[0]))
            cells = [spread(np.array(column)) for column in zip(*rows, strict=True)]
            print(f"| {name} | {amount or ''} {kind} | {some.n_annotations:,} | {' | '.join(cells)} |", flush=True)


def fewer(crowd: CrowdDataset, kind: str, amount: float, seed: int) -> CrowdDataset:
    """Some annotations of a crowd: at most so many of each task, or those of a share of the workers."""
    rng = np.random.default_rng(seed)
    if kind == "workers":
        kept = rng.permutation(crowd.n_workers)[: max(1, round(amount * crowd.n_workers))]
        keep = np.isin(crowd.worker, kept)
    else:
        order = np.lexsort((rng.random(crowd.n_annotations), crowd.task))
        rank = np.empty(crowd.n_annotations, np.int64)
        rank[order] = np.arange(crowd.n_annotations) - crowd.task_start[crowd.task[order]]
        keep = rank < amount if amount else np.ones(crowd.n_annotations, bool)
    return crowd.where(keep)


def seconds(sets: Sequence[str], _: int, methods: Sequence[str]) -> None:
    """Time of a run with one seed, choice included, and of dl-em, one after the other.

    The imports of PyTorch's optimisers at their first use are made before, as in runs of the app.
    """
    import_module("torch._dynamo")
    for name, select, method in itertools.product(sets, chosen(SELECTED), (*methods, "dl-em")):
        began, work = time.perf_counter(), time.process_time()
        trained(name, 1, method, select)
        words = f"{time.perf_counter() - began:.1f} s on the clock, {time.process_time() - work:.1f} s of processors"
        print(f"{name}, selected by {select}, {method}: {words}", flush=True)


PARTS = {
    "accuracy": accuracy,
    "ceiling": ceiling,
    "calibration": calibration,
    "ablation": ablation,
    "labels": labels,
    "time": seconds,
}


def main() -> None:
    torch.set_num_threads(1)
    sets = chosen(SETS)
    methods = [a for a in sys.argv[1:] if a in METHODS] or METHODS[:1]
    seeds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 10)
    for part in chosen(tuple(PARTS)):
        print(f"\n## {part}\n")
        PARTS[part](sets, seeds, methods)


if __name__ == "__main__":
    main()
