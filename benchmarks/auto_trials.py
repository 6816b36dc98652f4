"""Trials of `auto` where no task has gold: their scores and choice, and how far these can be trusted.

    CROWDCORE_DATA=<folder with labelme, music, …> python -m benchmarks.auto_trials [seed …] [set …]

Sets are `labelme`, `music`, and those of `benchmarks.auto`, each seed another crowd (default 2000, which no choice was
made on). Judged by gold of training tasks, which no method sees, and out of fold: no test labels. Calibration errors of
the candidates are those of their probabilities as trained, and at the power that `auto` raises them to; η is the share
of pairs of labels of one task that agree beyond independent mistakes; *doubt* is the warning of `auto` on its choice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from benchmarks.auto import SETS, SETTINGS
from benchmarks.gaussian import HEAD
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning import train
from crowdcore.learning.choice import Choice, Scores
from crowdcore.learning.results.predictions import raised
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training import metrics
from crowdcore.learning.training.problem import make_problem
from crowdcore.learning.trials import Trials

METHODS = ("gaussian-em", "dl-em", "conal")  # candidates where no gold judges
REAL = ("labelme", "music")


class Watched(Trials):
    """Trials whose predictions out of fold are kept."""

    def _scores(self, tried: Mapping[str, FloatArray], folds: int) -> list[Scores]:
        self.tried = dict(tried)
        return super()._scores(tried, folds)


def crowds(words: list[str], seeds: list[int]) -> Iterator[tuple[str, CrowdDataset, dict[str, Any]]]:
    """Yield name, crowd and settings of the trainer."""
    for name in (name for name in REAL if name in words or not words):
        yield name, load_dataset(name), HEAD
    given = {k: v for k, v in SETTINGS.items() if k in TrainSettings.model_fields}
    for name in SETS:
        if name != "leaves" and (any(word in name for word in words) or not words):
            for seed in seeds:
                yield f"{name} ({seed})", SETS[name](seed), given


def row(trials: Watched, choice: Choice, gold: IntArray) -> str:
    """The cells of one crowd."""
    cells: dict[str, tuple[str, str, str]] = {}
    for score, weight in zip(choice.scores, choice.weight, strict=True):
        p = trials.tried[score.candidate][trials.train]
        known = (gold >= 0) & ~np.isnan(p[:, 0])  # trials end before all folds are predicted where tasks are many
        p = p[known]
        right = 100 * (p.argmax(1) == gold[known]).mean()
        own, tempered = (100 * metrics.calibration_error(q[None], gold[known])[0] for q in (p, raised(p, score.power)))
        cells[score.candidate] = f"{right:.1f}", f"{weight:.2f}", f"{own:.1f} → {tempered:.1f}"
    columns = zip(*(cells[name] for name in METHODS), strict=True)
    doubt = choice.doubt or ""
    text = "cannot be decided" if "cannot be decided" in doubt else "not told apart" if doubt else "none"
    return " | ".join([*(" / ".join(column) for column in columns), f"{trials.shared:.2f}", text])


def main() -> None:
    torch.set_num_threads(1)
    seeds = [int(a) for a in sys.argv[1:] if a.isdigit()] or [2000]
    print(f"{' / '.join(METHODS)}\n")
    heads = ("set", "right out of fold, %", "weight", "calibration error → at its power, %", "η", "doubt")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name, crowd, given in crowds([a for a in sys.argv[1:] if not a.isdigit()], seeds):
        given = {**given, "select_on": "none"}
        problem = make_problem(crowd, TrainSettings(**given))
        trials = Watched(problem, partial(train, device="cpu"), given, lambda event: None, lambda: False, None, 1.0)
        choice = trials.choice(METHODS)
        assert choice is not None
        print(f"| {name} | {row(trials, choice, crowd.gold[trials.train])} |", flush=True)


if __name__ == "__main__":
    main()
