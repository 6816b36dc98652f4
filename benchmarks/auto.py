"""Gains, ties and losses of `auto` against the methods it chooses from, and others.

    CROWDCORE_DATA=<folder with leaves, mnist, …> python -m benchmarks.auto [seeds] [set …] [--gold | --none]

Seeds: how many, from 0 on, or a list as in `5000,5001`. Each crowd is reported on stderr as soon as it is measured.

Sets: simulated features with CoNAL's, Tanno's and CCC's crowds, among them those where clusters of features do not
follow classes; MNIST and Fashion-MNIST under the same crowds; `leaves` in folds. Every seed is another crowd on other
tasks (of leaves: another fold). Each set is learnt twice: with gold of 20 validation tasks, and without any gold.
Test accuracy is that of the mean of two replicas, paired over seeds with the best other method of the set.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from crowdcore.core.errors import DataError
from crowdcore.data import load_dataset, simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate.base import as_tasks
from testkit.training import train_as

METHODS = ("gaussian-em", "dl-em", "conal", "max-mig")
N_TRAIN, N_VALID, N_TEST, N_CLASSES, N_FEATURES = 250, 20, 1000, 5, 12
TOTAL = N_TRAIN + N_VALID + N_TEST
SETTINGS = {"seeds": 2, "epochs": 15, "batch_size": 50, "lr": 5e-3, "device": "cpu"}
WITHIN = 0.5  # percentage points


def tasks(
    seed: int, gold_and_centres: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]], n_train: int = N_TRAIN
) -> CrowdDataset:
    """Tasks around the centres that a function draws, with unit noise."""
    rng = np.random.default_rng(seed)
    n = n_train + N_VALID + N_TEST
    gold, centres = (part[:n] for part in gold_and_centres(rng))
    features = (centres + rng.standard_normal(centres.shape)).astype(np.float32)
    return as_tasks((features, gold), "simulated", np.repeat([0, 1, 2], [n_train, N_VALID, N_TEST]))


def blobs(rng: np.random.Generator, apart: float = 1.0, shares: object = None) -> tuple[np.ndarray, np.ndarray]:
    """One cluster per class."""
    gold = rng.choice(N_CLASSES, TOTAL, p=shares)  # type: ignore[call-overload]
    gold[:N_CLASSES] = np.arange(N_CLASSES)
    return gold, apart * rng.standard_normal((N_CLASSES, N_FEATURES))[gold]


def crossing(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Clusters far apart that every class falls into alike; classes differ in three features only."""
    gold, centres = blobs(rng)
    cluster = rng.integers(6, size=len(gold))
    centres[:, 3:] = (3 * rng.standard_normal((6, N_FEATURES - 3)))[cluster]
    centres[:, :3] *= 2
    return gold, centres


def xor(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Each of four classes has four clusters at corners of a cube, so that class means coincide."""
    corner = rng.integers(16, size=TOTAL)
    bits = (corner[:, None] >> np.arange(4)) & 1
    gold = (bits[:, 0] ^ bits[:, 1]) + 2 * (bits[:, 2] ^ bits[:, 3])
    centres = np.zeros((TOTAL, N_FEATURES))
    centres[:, :4] = 2.5 * (2 * bits - 1)
    return gold, centres


def many(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four clusters per class at random places."""
    cluster = rng.integers(4 * N_CLASSES, size=TOTAL)
    return cluster % N_CLASSES, 1.5 * rng.standard_normal((4 * N_CLASSES, N_FEATURES))[cluster]


def common(seed: int, source: CrowdDataset, **settings: object) -> CrowdDataset:
    return simulate.conal(source, seed=seed, n_workers=20, **settings)


def skilled(seed: int, source: CrowdDataset, **settings: object) -> CrowdDataset:
    return simulate.tanno(source, seed=seed, kind="hammer-spammer", **settings)


def alike(seed: int, source: CrowdDataset, share: float = 0.6, n_examples: int = 3) -> CrowdDataset:
    """Mistakes of a task are shared, and its features foretell them.

    A share of the labels are what the task looks like to everyone: the class of the nearest of a few shared
    examples. The other labels are the worker's own.
    """
    crowd, rng = skilled(seed, source, skill=0.5, n_workers=5), np.random.default_rng(seed)
    x, label = np.asarray(source.features[np.arange(source.n_tasks)], np.float64), crowd.label.copy()
    examples = [x[rng.choice(np.flatnonzero(source.gold == c), n_examples)] for c in range(source.n_classes)]
    distance = [((x[:, None] - few) ** 2).sum(2).min(1) for few in examples]
    seen = rng.random(len(label)) < share
    label[seen] = np.argmin(distance, 0)[crowd.task[seen]]
    return replace(crowd, label=label, truth=None)


def unequal(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return blobs(rng, 1.0, [0.7, 0.15, 0.08, 0.05, 0.02])


def noise(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return blobs(rng, 0.25)


def pictures(name: str, seed: int) -> CrowdDataset:
    """Some tasks of an image set, other ones for every seed, as pixels."""
    whole, rng = load_dataset(name), np.random.default_rng(seed)
    assert whole.media is not None and whole.media.images is not None
    kept = {0: N_TRAIN + N_VALID, 2: N_TEST}
    rows = np.concatenate([np.sort(rng.permutation(np.flatnonzero(whole.split == s))[:n]) for s, n in kept.items()])
    pixels = whole.media.images[rows].reshape(len(rows), -1).astype(np.float32) / 255
    order = np.concatenate([rng.permutation(kept[0]), np.arange(kept[0], len(rows))])
    return as_tasks((pixels[order], whole.gold[rows][order]), name, np.repeat([0, 1, 2], [N_TRAIN, N_VALID, N_TEST]))


def leaves(seed: int) -> CrowdDataset:
    """A half of the leaves for testing, without labels; 20 for validation."""
    whole = load_dataset("leaves")
    order = np.random.default_rng(seed).permutation(whole.n_tasks)
    split = np.zeros(whole.n_tasks, np.int8)
    split[order[:192]], split[order[192:212]] = 2, 1
    return replace(whole, split=split).where(split[whole.task] == 0)


SETS: dict[str, Callable[[int], CrowdDataset]] = {
    "clusters, common confusion .4": lambda s: common(s, tasks(s, blobs)),
    "clusters, common confusion .8": lambda s: common(s, tasks(s, blobs), common_strength=0.8, proportion=0.7),
    "clusters, hammer-spammers": lambda s: skilled(s, tasks(s, blobs), skill=0.4, n_workers=5),
    "features nearly noise": lambda s: common(s, tasks(s, noise)),
    "clusters cross classes": lambda s: common(s, tasks(s, crossing)),
    "XOR of clusters": lambda s: common(s, tasks(s, xor)),
    "four clusters per class": lambda s: common(s, tasks(s, many)),
    "unequal classes": lambda s: skilled(s, tasks(s, unequal), skill=0.5, labels="one"),
    "clusters, tasks look alike": lambda s: alike(s, tasks(s, blobs)),
    "XOR, tasks look alike": lambda s: alike(s, tasks(s, xor)),
    "unequal, tasks look alike": lambda s: alike(s, tasks(s, unequal)),
    "one worker": lambda s: skilled(s, tasks(s, blobs), skill=0.6, n_workers=1),
    "60 tasks, a label each": lambda s: skilled(s, tasks(s, blobs, 60), skill=0.6, labels="one"),
    "MNIST, common confusion .4": lambda s: common(s, pictures("mnist", s)),
    "MNIST, CCC's COR-I": lambda s: simulate.ccc(pictures("mnist", s), seed=s, patterns="COR-I", per_pattern=6),
    "MNIST, one label of diverse": lambda s: simulate.tanno(pictures("mnist", s), seed=s, kind="diverse", labels="one"),
    "Fashion, common confusion .8": lambda s: common(
        s, pictures("fashion_mnist", s), common_strength=0.8, proportion=0.5
    ),
    "Fashion, CCC's IND-III": lambda s: simulate.ccc(
        pictures("fashion_mnist", s), seed=s, patterns="IND-III", per_pattern=6
    ),
    "leaves": leaves,
}
GOLD = {"gold": "gold", "no gold": "none"}


def measured(name: str, gold: str, seed: int) -> tuple[dict[str, float], np.ndarray, float]:
    """Return the accuracies of one crowd, and report them on stderr."""
    by_method, weight, seconds = accuracies(SETS[name](seed), GOLD[gold])
    words = ", ".join(f"{method} {accuracy:.2f}" for method, accuracy in by_method.items())
    shares = " ".join(f"{share:.2f}" for share in weight)
    print(f"{name}, {gold}, seed {seed}: {words}; weights {shares}; {seconds:.0f} s", file=sys.stderr, flush=True)
    return by_method, weight, seconds


def accuracies(crowd: CrowdDataset, select_on: str) -> tuple[dict[str, float], np.ndarray, float]:
    """Test accuracy in percent of every method and of auto; the weights that auto gives them; its seconds."""
    accuracies = {
        method: 100 * float(train_as(crowd, method, select_on=select_on, **SETTINGS).accuracy(ensemble=True)[0])
        for method in METHODS
    }
    began = time.perf_counter()
    result = train_as(crowd, "auto", select_on=select_on, **SETTINGS)
    accuracies["auto"] = 100 * float(result.accuracy(ensemble=True)[0])
    tried = result.candidates
    weight = tried.set_index(tried["candidate"].str.split().str[0])["weight"].reindex(METHODS).fillna(0).to_numpy()
    return accuracies, weight, time.perf_counter() - began


def main() -> None:
    torch.set_num_threads(1)
    numbers = [a for a in sys.argv[1:] if a.replace(",", "").isdigit()]
    parts = [a for a in sys.argv[1:] if a not in numbers and not a.startswith("--")]
    names = [name for name in SETS if any(a in name for a in parts)] or list(SETS)
    golds = [gold for gold, select_on in GOLD.items() if f"--{select_on}" in sys.argv[1:]] or list(GOLD)
    given = numbers[0] if numbers else "5"
    which = [int(a) for a in given.split(",") if a] if "," in given else list(range(int(given)))
    seeds = len(which)
    print("| set | gold | " + " | ".join(METHODS) + " | auto | weights | auto − best other | | seconds |")
    print("|---|---|" + "---|" * (len(METHODS) + 5))
    verdicts: list[str] = []
    for name in names:
        for gold in golds:
            try:
                runs = [measured(name, gold, seed) for seed in which]
            except DataError as error:
                print(f"| {name} | not measured: {error} |")
                break
            table = {m: np.array([run[m] for run, _, _ in runs]) for m in (*METHODS, "auto")}
            best = max(METHODS, key=lambda m: table[m].mean())
            apart = table["auto"] - table[best]
            error = apart.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
            verdict = "loses" if apart.mean() < -WITHIN else "gains" if apart.mean() > WITHIN else "ties"
            verdicts.append(verdict)
            words = " ".join(f"{weight:.2f}" for weight in np.mean([weight for _, weight, _ in runs], 0))
            cells = " | ".join(f"{table[m].mean():.1f}" for m in (*METHODS, "auto"))
            took = np.mean([seconds for _, _, seconds in runs])
            print(
                f"| {name} | {gold} | {cells} | {words} | {apart.mean():+.1f} ± {error:.1f} ({best}) | {verdict} "
                f"| {took:.0f} |",
                flush=True,
            )
    print(", ".join(f"{v} {verdicts.count(v)}" for v in ("gains", "ties", "loses")))


if __name__ == "__main__":
    main()
