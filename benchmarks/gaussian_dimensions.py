"""Dimensions of `gaussian-em` chosen by the labels' likelihood, where no gold is known.

    CROWDCORE_DATA=<folder with labelme, mnist, …> python -m benchmarks.gaussian_dimensions [seed …] [set …]

Accuracy with 300 dimensions, with 100, and with those under which the labels are more likely, at the last epoch: of
`labelme` on its 500 validation tasks (a mean of four seeds, no test labels), of the sets of `benchmarks.auto` on their
test tasks (each seed another crowd, default 12000; differences are paired, ± standard error).
"""

from __future__ import annotations

import re
import sys

import numpy as np
import torch

from benchmarks.auto import SETS, SETTINGS
from benchmarks.gaussian import HEAD
from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import train

DIMENSIONS = (300, 100)


def row(crowd: CrowdDataset, split: str, settings: dict[str, object]) -> list[float]:
    """Accuracy in percent with each number of dimensions, and with the likelier one."""
    results = [train(crowd, "gaussian-em", select_on="none", dimensions=d, **settings) for d in DIMENSIONS]
    likelihood = [float(re.findall(r"likelihood \((.*?)\)", " ".join(r.notes))[0]) for r in results]
    accuracy = [100 * float(r.accuracy(split).mean()) for r in results]
    return [*accuracy, accuracy[int(np.argmax(likelihood))]]


def main() -> None:
    torch.set_num_threads(1)
    seeds = [int(a) for a in sys.argv[1:] if a.isdigit()] or [12000]
    words = [word for word in sys.argv[1:] if not word.isdigit()]
    names = [name for name in ("labelme", *SETS) if any(word in name for word in words) or not words]
    print("| set | crowds | 300 dimensions | 100 − 300 | the likelier − 300 |\n|---|---|---|---|---|")
    for name in names:
        if name == "labelme":
            rows = [row(load_dataset(name), "valid", {**HEAD, "seeds": 4})]
        else:
            rows = [row(SETS[name](seed), "test", SETTINGS) for seed in seeds]
        accuracy = np.array(rows)
        apart = accuracy[:, 1:] - accuracy[:, :1]
        cells = " | ".join(f"{mean:+.1f}" for mean in apart[0])
        if len(accuracy) > 1:
            error = apart.std(0, ddof=1) / np.sqrt(len(accuracy))
            cells = " | ".join(f"{mean:+.1f} ± {e:.1f}" for mean, e in zip(apart.mean(0), error, strict=True))
        print(f"| {name} | {len(accuracy)} | {accuracy[:, 0].mean():.1f} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
