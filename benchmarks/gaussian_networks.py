"""How many networks `gaussian-em` needs: accuracy on tasks that neither train nor select, and time; no test labels.

    CROWDCORE_DATA=<folder with labelme and music> python -m benchmarks.gaussian_networks [set …] [networks …]

LabelMe: with gold, half of the 500 validation tasks select and the other half judge, both ways, six seeds; without, all
500 judge. Music: five folds of the 700 training songs judge, of the others 70 or none select, three seeds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from benchmarks.gaussian import HEAD, asked, spread
from crowdcore.core.types import IntArray
from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import train

SETS = ("labelme", "music")
_TEST, _NONE = 2, -1
Case = tuple[str, CrowdDataset, dict[str, Any]]


def judged_by(crowd: CrowdDataset, tasks: IntArray) -> CrowdDataset:
    """The crowd with these tasks for testing, and without their labels and the test split."""
    split = np.where(crowd.split == _TEST, _NONE, crowd.split)
    split[tasks] = _TEST
    return replace(crowd, split=split).where(split[crowd.task] != _TEST)


def cases(name: str) -> Iterator[Case]:
    """What selects, the crowd and how it is trained."""
    crowd = load_dataset(name)
    if name == "labelme":
        valid = np.random.default_rng(5).permutation(np.flatnonzero(crowd.split == 1))
        how = {"seeds": range(20, 26)}
        for half in range(2):
            yield "gold", judged_by(crowd, valid[half::2]), {**how, "select_on": "gold"}
        yield "nothing", judged_by(crowd, valid), {**how, "select_on": "none"}
        return
    songs = np.random.default_rng(6).permutation(np.flatnonzero(crowd.split == 0))
    for fold in range(5):
        rest, how = judged_by(crowd, songs[fold::5]), {"seeds": range(20, 23)}
        yield "gold", rest, {**how, "select_on": "holdout", "holdout_seed": fold}
        yield "nothing", rest, {**how, "select_on": "none"}


def main() -> None:
    torch.set_num_threads(1)
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()] or [1, 3, 6]
    print(
        "| | selected by | networks | right of those that judge | seconds of processor a seed |\n|---|---|---|---|---|"
    )
    for name in asked(SETS):
        for networks in numbers:
            found: dict[str, list[Any]] = {}
            for select, crowd, how in cases(name):
                began = time.process_time()
                right = train(crowd, "gaussian-em", networks=networks, **HEAD, **how).accuracy("test")
                found.setdefault(select, []).append((right, (time.process_time() - began) / len(right)))
            for select, rows in found.items():
                accuracies, seconds = zip(*rows, strict=True)
                print(
                    f"| {name} | {select} | {networks} | {spread(list(accuracies))} | {np.mean(seconds):.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
