"""Should scores of `gaussian-em` leave out one task, or a fold of five? Paired on tasks that neither train nor select.

    CROWDCORE_DATA=<folder with labelme, music, leaves, mnist, …> python -m benchmarks.gaussian_folds [seed …] [set …]

LabelMe and Music as in `benchmarks.gaussian_networks` with two networks' seeds, no test labels; the sets of
`benchmarks.auto` (each seed another crowd, default 13000), selected by 20 tasks with gold and by nothing. Differences
(one task - fold of five) are in percentage points ± standard error over halves, folds or crowds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.auto import GOLD, SETS, SETTINGS
from benchmarks.gaussian import HEAD, targets_right
from benchmarks.gaussian_networks import Case, cases
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import train

REAL = ("labelme", "music")


def problems(name: str, seeds: list[int]) -> Iterator[Case]:
    """What selects, the crowd and how it is trained."""
    if name in REAL:
        for select, crowd, how in cases(name):
            yield select, crowd, {**HEAD, **how, "seeds": 2}
        return
    for seed in seeds:
        for select_on in GOLD.values():
            yield select_on.replace("none", "nothing"), SETS[name](seed), {**SETTINGS, "select_on": select_on}


def row(crowd: CrowdDataset, settings: dict[str, Any]) -> FloatArray:
    """Accuracy, targets right, calibration errors of classifier and targets, in percent; seconds of processor time."""
    began = time.process_time()
    result = train(crowd, "gaussian-em", **settings)
    seconds = time.process_time() - began
    right, of_q = targets_right(result)
    error = float(result.scores("test")["calibration_error"].mean())
    return np.array([100 * float(result.accuracy("test").mean()), 100 * right, 100 * error, 100 * of_q, seconds])


def main() -> None:
    torch.set_num_threads(1)
    seeds = [int(a) for a in sys.argv[1:] if a.isdigit()] or [13000]
    asked = [a for a in sys.argv[1:] if not a.isdigit()]
    heads = ("set", "selected by", "problems", "fold of five: right", "right", "targets right")
    print(f"| {' | '.join(heads)} | calibration error, classifier | … posterior | time |\n{'|---' * (len(heads) + 3)}|")
    for name in [name for name in (*REAL, *SETS) if any(a in name for a in asked) or not asked]:
        found: dict[str, list[FloatArray]] = {}
        for select, crowd, settings in problems(name, seeds):
            both = [row(crowd, {**settings, "folds": folds}) for folds in (5, None)]
            found.setdefault(select, []).append(np.array(both))
        for select, rows in found.items():
            fold, one = np.array(rows).swapaxes(0, 1)
            apart, time_ratio = (one - fold)[:, :-1], one[:, -1].sum() / fold[:, -1].sum()
            cells = [f"{mean:+.1f}" for mean in apart.mean(0)]
            if len(apart) > 1:
                error = apart.std(0, ddof=1) / np.sqrt(len(apart))
                cells = [f"{cell} ± {e:.1f}" for cell, e in zip(cells, error, strict=True)]
            base = f"{fold[:, 0].mean():.1f}"
            print(
                f"| {name} | {select} | {len(rows)} | {base} | {' | '.join(cells)} | × {time_ratio:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
