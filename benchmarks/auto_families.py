"""Gains and losses of `auto` on families of features that no choice of its design was made on.

    python -m benchmarks.auto_families [seed …] [--gold | --none] [family …] [--kept=FILE]

Families: sparse counts of words, weak texts (TF-IDF and singular vectors), unequal classes of two clusters each with
heavy tails, and a curved surface with a crowd of its own, whose generator nothing was tuned on. Of each family every
seed is another set of tasks; its last two bits choose the crowd of the first three: independent skills, mistakes that
most workers share, lookalikes on the hardest tasks, or experts, spammers, two adversaries and copiers. Workers' volumes
are log-normal. Test accuracy is that of the mean of two replicas; seconds are of processor time. The file keeps the
measurements: a second run continues where the first one stopped.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning.networks.texts import TextFeatures
from testkit.training import train_as

N_TRAIN, N_VALID, N_TEST, N_WORKERS = 300, 20, 1000, 25
SETTINGS = {"seeds": 2, "epochs": 15, "batch_size": 50, "lr": 5e-3, "device": "cpu"}
METHODS = ("gaussian-em", "dl-em", "conal", "max-mig")
SEEDS = (20000, 20001, 20002, 20003, 21000, 21001, 21002, 21003)
BOUNDS = {"gold": (1.0, 0.5), "none": (2.5, 0.8)}  # points below the best single method: in a family, and in the mean
LONGEST = 10.0  # times as long as dl-em
CROWDS = ("skills", "shared", "lookalikes", "roles")
_N = N_TRAIN + N_VALID + N_TEST


def counts(rng: np.random.Generator, words: int = 200, length: float = 12.0) -> tuple[FloatArray, IntArray]:
    """Counts of Zipf's words; each class prefers other ones of a quarter."""
    gold = rng.integers(0, 5, _N)
    liking = np.exp(1.0 * rng.normal(size=(5, words)) * (rng.random((5, words)) < 0.25)) / np.arange(2, words + 2)
    rate = liking / liking.sum(1, keepdims=True)
    return rng.poisson(rate[gold] * (length * rng.lognormal(0, 0.5, _N))[:, None]).astype(np.float64), gold


def texts(rng: np.random.Generator, words: int = 1500) -> tuple[FloatArray, IntArray]:
    """Texts of 10 to 30 words, of which few say anything of three classes, through TF-IDF and singular vectors."""
    gold = rng.integers(0, 3, _N)
    liking = np.exp(0.9 * rng.normal(size=(3, words)) * (rng.random((3, words)) < 0.2)) / np.arange(5, words + 5)
    rate = liking / liking.sum(1, keepdims=True)
    written = [" ".join(f"w{w}" for w in rng.choice(words, rng.integers(10, 31), p=rate[c])) for c in gold]
    return TextFeatures.of(written[: N_TRAIN + N_VALID])(written).astype(np.float64), gold


def unequal(rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Six classes of half to a fiftieth of the tasks, each of two clusters with heavy tails."""
    gold = rng.choice(6, _N, p=[0.5, 0.22, 0.12, 0.08, 0.05, 0.03])
    gold[:6] = np.arange(6)
    centres = 0.8 * rng.normal(size=(6, 2, 15))
    return centres[gold, rng.integers(0, 2, _N)] + rng.standard_t(4, (_N, 15)) / np.sqrt(2), gold


def surface(rng: np.random.Generator) -> tuple[FloatArray, IntArray, IntArray, IntArray, IntArray]:
    """Points of a curved surface whose regions are four classes, and a crowd that errs near the edges of regions.

    Ability and log-distance from the edge say how often a worker is right, as in GLAD; most wrong labels are the class
    beyond the edge, and a third of the workers say one class as if it were another one in every second case.

    Returns:
        Features, gold, and task, worker and label of each annotation.
    """
    place, centre = rng.uniform(-1, 1, (_N, 3)), rng.uniform(-1, 1, (12, 3))
    distance = np.sort(((place[:, None] - centre) ** 2).sum(2).reshape(_N, 3, 4).min(1), 1)
    order = ((place[:, None] - centre) ** 2).sum(2).reshape(_N, 3, 4).min(1).argsort(1)
    gold, beyond = order[:, 0], order[:, 1]
    x = np.tanh(place @ rng.normal(size=(3, 24)) + 0.5 * rng.normal(size=24)) + 0.25 * rng.normal(size=(_N, 24))
    task, worker = annotated(rng)
    edge = np.log(np.sqrt(distance[:, 1]) - np.sqrt(distance[:, 0]) + 1e-3) + 2
    right = rng.random(len(task)) < 1 / (1 + np.exp(-(rng.normal(0.6, 0.8, N_WORKERS)[worker] + 0.7 * edge[task])))
    wrong = np.where(rng.random(len(task)) < 0.7, beyond[task], (gold[task] + rng.integers(1, 4, len(task))) % 4)
    label = np.where(right, gold[task], wrong)
    habit, instead = rng.integers(0, 4, N_WORKERS), rng.integers(1, 4, N_WORKERS)
    has = (np.arange(N_WORKERS) % 3 == 0)[worker] & (label == habit[worker]) & (rng.random(len(task)) < 0.5)
    return x, gold, task, worker, np.where(has, (label + instead[worker]) % 4, label)


FAMILIES: dict[str, Callable[[np.random.Generator], tuple[FloatArray, IntArray]]] = {
    "sparse counts": counts,
    "weak texts": texts,
    "unequal classes": unequal,
}
BLIND = "curved surface"


def annotated(rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Task and worker of each annotation: two or three workers a training task, with log-normal volumes."""
    volume = np.log(rng.lognormal(0, 0.8, N_WORKERS))
    order = np.argsort(-(volume + rng.gumbel(size=(N_TRAIN, N_WORKERS))), 1)
    used = np.arange(N_WORKERS) < rng.integers(2, 4, N_TRAIN)[:, None]
    return np.nonzero(used)[0], order[used]


def labels(rng: np.random.Generator, kind: str, x: FloatArray, gold: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Task, worker and label of each annotation of one of the `CROWDS`."""
    task, worker = annotated(rng)
    c = int(gold.max()) + 1
    skill = rng.beta(4, 2.5, N_WORKERS)
    if kind == "roles":
        skill[:3], skill[3:9], skill[9:11] = 0.97, 1 / c, 0.1
    favourite = (np.arange(c) + rng.integers(1, c, (N_WORKERS, c))) % c
    wrong = np.where(rng.random(len(task)) < 0.5, favourite[worker, gold[task]], 0)
    random = (gold[task] + rng.integers(1, c, len(task))) % c
    wrong = np.where((wrong == 0) | (wrong == gold[task]), random, wrong)
    label = np.where(rng.random(len(task)) < skill[worker], gold[task], wrong)
    if kind == "shared":
        mistaken = (rng.random(N_WORKERS) < 0.65)[worker] & (gold[task] == 1) & (rng.random(len(task)) < 0.6)
        label[mistaken] = 2
    if kind == "lookalikes":
        scale = (x - x.mean(0)) / (x.std(0) + 1e-9)
        centres = np.stack([scale[gold == k].mean(0) for k in range(c)])
        distance = ((scale[:N_TRAIN, None] - centres) ** 2).sum(2)
        own = distance[np.arange(N_TRAIN), gold[:N_TRAIN]].copy()
        distance[np.arange(N_TRAIN), gold[:N_TRAIN]] = np.inf
        hard = own - distance.min(1) > np.quantile(own - distance.min(1), 0.65)
        seen = hard[task] & (rng.random(len(task)) < 0.5)
        label[seen] = distance.argmin(1)[task[seen]]
    if kind == "roles":
        of_first = rng.permuted(gold[:N_TRAIN])
        copied = np.where(rng.random(N_TRAIN) < 0.6, gold[:N_TRAIN], of_first)
        repeats = (worker >= 11) & (worker < 15) & (rng.random(len(task)) < 0.9)
        label[repeats] = copied[task[repeats]]
    return task, worker, label


def crowd(family: str, seed: int) -> CrowdDataset:
    """A family's tasks with the crowd of the seed."""
    rng = np.random.default_rng([seed, *map(ord, family)])
    kind = CROWDS[seed % 4]
    if family == BLIND:
        x, gold, task, worker, label = surface(rng)
        kind = "blind"
    else:
        x, gold = FAMILIES[family](rng)
        task, worker, label = labels(rng, kind, x, gold)
    return CrowdDataset(
        f"{family}, {kind}",
        tuple(f"c{k}" for k in range(int(gold.max()) + 1)),
        pd.RangeIndex(_N).astype(str),
        pd.Index([f"w{k:02d}" for k in range(N_WORKERS)]),
        task.astype(np.int32),
        worker.astype(np.int32),
        label.astype(np.int32),
        gold=gold.astype(np.int32),
        split=np.repeat([0, 1, 2], [N_TRAIN, N_VALID, N_TEST]).astype(np.int8),
        features=Rows.from_array(x.astype(np.float32)),
    )


def accuracy(dataset: CrowdDataset, method: str, select_on: str) -> tuple[float, float]:
    """Test accuracy of the mean of the replicas in percent, and seconds of processor time."""
    began = time.process_time()
    result = train_as(dataset, method, select_on=select_on, **SETTINGS)
    return 100 * float(result.accuracy(ensemble=True)[0]), time.process_time() - began


def measured(family: str, seed: int, mode: str, kept: Path | None) -> dict[str, tuple[float, float]]:
    """Accuracy and seconds of every method and auto on one crowd; read from the file of measured ones, or added."""
    key = f"{family} {seed} {mode}"
    lines = kept.read_text().splitlines() if kept and kept.exists() else []
    for known, document in map(json.loads, lines):
        if known == key:
            return dict(document)
    document = {method: accuracy(crowd(family, seed), method, mode) for method in (*METHODS, "auto")}
    print(key, {m: f"{a:.1f} {s:.1f} s" for m, (a, s) in document.items()}, file=sys.stderr, flush=True)
    if kept:
        with kept.open("a") as file:
            file.write(json.dumps([key, document]) + "\n")
    return document


def main() -> None:
    torch.set_num_threads(1)
    words = [a for a in sys.argv[1:] if not a.isdigit() and not a.startswith("--")]
    seeds = [int(a) for a in sys.argv[1:] if a.isdigit()] or list(SEEDS)
    modes = [mode for mode in BOUNDS if f"--{mode}" in sys.argv] or list(BOUNDS)
    kept = next((Path(a.removeprefix("--kept=")) for a in sys.argv if a.startswith("--kept=")), None)
    print(f"| family | selected by | {' | '.join(METHODS)} | auto | auto − best single | seconds ÷ dl-em |")
    print("|---" * (len(METHODS) + 5) + "|")
    apart: dict[str, list[float]] = {mode: [] for mode in modes}
    missed = []
    for family in (name for name in (*FAMILIES, BLIND) if not words or any(w in name for w in words)):
        for mode in modes:
            rows = [measured(family, seed, mode, kept) for seed in seeds]
            right = np.mean([[accuracy for accuracy, _ in row.values()] for row in rows], 0)
            longer = sum(row["auto"][1] for row in rows) / sum(row["dl-em"][1] for row in rows)
            behind = right[-1] - right[:-1].max()
            apart[mode].append(behind)
            cells = " | ".join(f"{accuracy:.1f}" for accuracy in right)
            print(f"| {family} | {mode} | {cells} | {behind:+.1f} | {longer:.1f} |", flush=True)
            if behind < -BOUNDS[mode][0]:
                missed.append(f"{family}, {mode}: {behind:+.1f} (bound −{BOUNDS[mode][0]})")
            if longer > LONGEST:
                missed.append(f"{family}, {mode}: {longer:.1f} × dl-em (bound {LONGEST})")
    for mode, each in apart.items():
        print(f"\nMean over families, {mode}: {np.mean(each):+.2f}")
        missed += [f"mean, {mode}: {np.mean(each):+.2f} (bound −{BOUNDS[mode][1]})"] * (
            np.mean(each) < -BOUNDS[mode][1]
        )
    print(f"\nMissed: {'; '.join(missed) or 'none'}.")


if __name__ == "__main__":
    main()
