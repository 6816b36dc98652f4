"""LabelMe and Music: our methods under one protocol against public code on the same features.

    CROWDCORE_DATA=<their folder> python -m benchmarks.learning_labelme [labelme|music] [seeds] [method …]

The presets `labelme-table` and `music-table`: network of 128 ReLU units with 50 % dropout, Adam, cosine schedule,
batches of 64; selected on the 500 validation tasks of LabelMe, on 70 of Music's 700 training songs (another 70 for
every seed). The authors' variant of CoNAL runs as its authors run it. The figures of public code are those of five
seeds (CoNAL's authors: fifteen on LabelMe), measured once on the same features and splits: test accuracy best, last,
selected, and the standard deviation of each (0 where none was kept, as for GeoCrowdNet and CCC's best and last).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from crowdcore.core.types import FloatArray
from crowdcore.data import load_dataset
from crowdcore.learning import methods, train
from crowdcore.learning.presets import get
from testkit.training import train_as

# name of the public code, (best, last, selected), their standard deviations, seeds
Peer = tuple[str, tuple[float, ...], tuple[float, ...], int]
PEERS: dict[str, dict[str, Peer]] = {
    "labelme": {
        "dl-mv": ("maml", (85.34, 80.22, 84.34), (0.89, 0.42, 0.87), 5),
        "dl-mv (targets=hard)": ("maml", (85.34, 80.22, 84.34), (0.89, 0.42, 0.87), 5),
        "dl-ds": ("maml + crowd-kit", (85.98, 82.39, 85.39), (0.62, 0.32, 0.76), 5),
        "crowd-layer": ("maml", (87.76, 85.22, 87.10), (0.65, 0.39, 1.23), 5),
        "trace": ("maml", (85.69, 82.49, 84.75), (0.57, 0.49, 1.05), 5),
        "conal": ("maml", (86.87, 82.37, 86.60), (0.34, 0.39, 0.74), 5),
        "conal (variant=authors)": ("authors", (87.54, 82.22, 86.50), (1.96, 2.81, 2.28), 15),
        "max-mig": ("authors", (88.60, 86.04, 87.37), (0.24, 0.51, 0.69), 5),
        "doctor-net": ("Max-MIG's authors", (86.46, 85.61, 85.56), (0.23, 0.69, 0.36), 5),
        "unionnet (variant=b)": ("maml", (87.49, 83.89, 86.99), (0.57, 0.59, 1.00), 5),
        "geocrowdnet (volume=f)": ("maml F", (87.32, 83.91, 87.07), (0.0, 0.0, 0.0), 5),
        "geocrowdnet (volume=w)": ("maml W", (87.49, 84.04, 87.17), (0.0, 0.0, 0.0), 5),
        "ccc": ("authors", (88.65, 87.26, 87.86), (0.0, 0.0, 0.62), 5),
        "dl-true": ("maml", (94.24, 93.45, 93.72), (0.22, 0.25, 0.28), 5),
    },
    "music": {
        "dl-mv": ("maml", (67.93, 64.33, 63.13), (0.90, 2.20, 1.28), 5),
        "dl-mv (targets=hard)": ("maml", (67.93, 64.33, 63.13), (0.90, 2.20, 1.28), 5),
        "dl-ds": ("maml + crowd-kit", (69.27, 67.60, 65.40), (1.36, 1.70, 1.02), 5),
        "crowd-layer": ("maml", (69.87, 68.47, 66.60), (1.15, 1.02, 0.98), 5),
        "trace": ("maml", (68.07, 64.67, 64.07), (1.10, 1.49, 1.29), 5),
        "conal": ("maml", (68.93, 67.27, 66.73), (1.36, 1.14, 1.18), 5),
        "conal (variant=authors)": ("authors", (73.47, 68.47, 69.13), (1.15, 1.50, 1.69), 5),
        "max-mig": ("authors", (72.07, 70.93, 69.00), (0.68, 1.12, 1.21), 5),
        "doctor-net": ("Max-MIG's authors", (60.73, 60.00, 58.27), (0.49, 0.63, 1.58), 5),
        "unionnet (variant=b)": ("maml", (69.07, 67.53, 65.13), (0.95, 1.20, 1.34), 5),
        "geocrowdnet (volume=f)": ("maml F", (70.27, 68.80, 65.33), (0.0, 0.0, 0.0), 5),
        "geocrowdnet (volume=w)": ("maml W", (70.33, 69.47, 65.13), (0.0, 0.0, 0.0), 5),
        "ccc": ("authors", (75.13, 73.27, 72.53), (0.0, 0.0, 1.39), 5),
        "dl-true": ("maml", (80.80, 80.20, 79.33), (0.81, 1.15, 0.63), 5),
    },
}
TELLING = ("targets", "e_step", "connection", "variant", "start", "leave_one_out", "folds", "volume")
TEST = 2  # the test split among the splits of a result
COLUMNS = ("best", "last", "selected")


def label(method: str, settings: Mapping[str, Any]) -> str:
    """The method with the settings that distinguish its rows."""
    telling = {k: v for k, v in settings.items() if k in TELLING}
    if "lr" in settings and "variant" not in settings:
        telling["lr"] = settings["lr"]
    return f"{method} ({', '.join(f'{k}={v}' for k, v in telling.items())})" if telling else method


def accuracies(dataset: str, method: str, given: dict[str, Any], seeds: int) -> tuple[dict[str, FloatArray], float]:
    """Test accuracy in percent per column, (seeds,) each; and that of the mean of all seeds' selected predictions."""
    crowd = load_dataset(dataset)
    if dataset == "labelme":
        results = [train(crowd, method, seeds=seeds, **given)]
    else:
        results = [train_as(crowd, method, seeds=[s], holdout_seed=s, **given) for s in range(seeds)]
    mean = np.concatenate([r.posterior("test") for r in results]).mean(0).argmax(1)
    together = 100 * float((mean == results[0].gold[results[0].split == TEST]).mean())
    return {at: 100 * np.concatenate([r.accuracy("test", at=at) for r in results]) for at in COLUMNS}, together


def main() -> None:
    torch.set_num_threads(1)
    datasets = [a for a in sys.argv[1:] if a in PEERS] or list(PEERS)
    seeds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 10)
    names = [a for a in sys.argv[1:] if a in methods.names()] or methods.names()
    for dataset in datasets:
        print(
            f"{dataset}, {seeds} seeds, test accuracy in % (mean ± standard deviation): {', '.join(COLUMNS)}; "
            "ensemble: mean of the selected models' predictions"
        )
        reached: dict[str, bool] = {}
        preset = get(f"{dataset}-table")
        for (method, own), (_, settings) in zip(preset.methods, preset.runs, strict=True):
            if method not in names:
                continue
            start = time.perf_counter()
            (ours, together), name = accuracies(dataset, method, settings, seeds), label(method, own)
            line = f"  {name:44s}" + " ".join(f"{v.mean():6.2f} ± {v.std():4.2f}" for v in ours.values())
            line += f"  ensemble {together:6.2f}"
            if name in PEERS[dataset]:
                peer, means, deviations, n = PEERS[dataset][name]
                error = [
                    np.hypot(d / np.sqrt(n), v.std() / np.sqrt(seeds))
                    for d, v in zip(deviations, ours.values(), strict=True)
                ]
                least = [v.mean() >= m - e for v, m, e in zip(ours.values(), means, error, strict=True)]
                marks = " ".join(
                    f"{m:.2f}{'' if ok else ' (ours is lower)'}" for m, ok in zip(means, least, strict=True)
                )
                line += f"  | {peer}: {marks}"
                row = f"{method} ({peer})"
                reached[row] = reached.get(row, False) or least[-1]
            print(f"{line}  [{time.perf_counter() - start:.0f} s]", flush=True)
        if not reached:
            continue
        below = [row for row, ok in reached.items() if not ok]
        met = "MET" if not below else f"NOT MET by {', '.join(below)}"
        print(
            f"  selected accuracy no lower than public code by more than one standard error (the better variant): {met}"
        )


if __name__ == "__main__":
    main()
