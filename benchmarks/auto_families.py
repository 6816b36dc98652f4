"""Where `auto` gains and loses on three families of features that no choice of its design was made on.

    python -m benchmarks.auto_families [seed …] [--gold | --none] [family …]

Families: sparse counts of words, weak texts (TF-IDF and singular vectors), unequal classes of two clusters each with
heavy tails. Of each family every seed is another set of tasks; its last two bits choose the crowd: independent skills,
mistakes that most workers share, lookalikes on the hardest tasks, or experts, spammers, two adversaries and copiers.
Workers' volumes are log-normal. Test accuracy is that of the mean of two replicas; seconds are of processor time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch

from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.rows import Rows
from crowdcore.learning.networks.texts import TextFeatures
from testkit.training import train_as

N_TRAIN, N_VALID, N_TEST, N_WORKERS = 300, 20, 1000, 25
SETTINGS = {"seeds": 2, "epochs": 15, "batch_size": 50, "lr": 5e-3, "record": False, "device": "cpu"}
METHODS = ("gaussian-em", "dl-em", "conal", "max-mig")  # the last one is no candidate
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


FAMILIES: dict[str, Callable[[np.random.Generator], tuple[FloatArray, IntArray]]] = {
    "sparse counts": counts,
    "weak texts": texts,
    "unequal classes": unequal,
}


def crowd(family: str, seed: int) -> CrowdDataset:
    """A family's tasks with the crowd of the seed; training tasks have two or three labels."""
    rng = np.random.default_rng([seed, *map(ord, family)])
    x, gold = FAMILIES[family](rng)
    kind, c = CROWDS[seed % 4], int(gold.max()) + 1
    volume = np.log(rng.lognormal(0, 0.8, N_WORKERS))
    order = np.argsort(-(volume + rng.gumbel(size=(N_TRAIN, N_WORKERS))), 1)
    used = np.arange(N_WORKERS) < rng.integers(2, 4, N_TRAIN)[:, None]
    task, worker = np.nonzero(used)[0], order[used]
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
    return CrowdDataset(
        f"{family}, {kind}",
        tuple(f"c{k}" for k in range(c)),
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


def main() -> None:
    torch.set_num_threads(1)
    words = [a for a in sys.argv[1:] if not a.isdigit() and not a.startswith("--")]
    seeds = [int(a) for a in sys.argv[1:] if a.isdigit()] or [20000, 20001, 20002, 20003]
    modes = [mode for mode in ("gold", "none") if f"--{mode}" in sys.argv] or ["gold", "none"]
    print(f"| family | selected by | {' | '.join(METHODS)} | auto | auto − best single | seconds ÷ dl-em |")
    print("|---" * (len(METHODS) + 5) + "|")
    for family in (name for name in FAMILIES if not words or any(w in name for w in words)):
        for mode in modes:
            rows = []
            for seed in seeds:
                of = {m: accuracy(crowd(family, seed), m, mode) for m in (*METHODS, "auto")}
                print(family, mode, seed, {m: f"{a:.1f} {s:.1f} s" for m, (a, s) in of.items()}, file=sys.stderr)
                rows.append([*(a for a, _ in of.values()), of["auto"][1] / of["dl-em"][1]])
            mean = np.mean(rows, 0)
            apart = mean[len(METHODS)] - mean[: len(METHODS)].max()
            cells = " | ".join(f"{m:.1f}" for m in mean[:-1])
            print(f"| {family} | {mode} | {cells} | {apart:+.1f} | {mean[-1]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
