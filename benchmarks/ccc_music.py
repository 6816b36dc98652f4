"""CCC on Music: settings chosen on training songs, never on test songs, and CCC beside a crowd layer.

    CROWDCORE_DATA=<their folder> python -m benchmarks.ccc_music [test] [splits] [row …]

In every split another 140 of the 700 training songs judge, and 56 of the other 560 select the epoch, as the songs held
out do in `benchmarks.learning_labelme`. All rows of `SETTINGS` meet the same splits and seeds. Printed are means ±
standard deviations of the accuracy over the splits, at the epoch selected, at the last and at the best, then those of
each split; and the result of the row with the best validation accuracy. With `test` the 300 songs of the test split
judge, as in `benchmarks.learning_labelme`: to report a row, not to choose one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.splitting import take_tasks
from crowdcore.learning.presets import get
from testkit.training import train_as

_TABLE3 = {"correction_rate": 0.3, "n_groups": 20, "meta_size": 160}
_ADAM = {"epochs": 200, "batch_size": 128, "lr": 1e-2}  # the paper's optimiser
_PLAIN: dict[str, Any] = {"start": "identity", "noise_lr": 1.0}  # its start, and one learning rate for all
SETTINGS: dict[str, dict[str, Any]] = {
    "protocol of the table, paper's groups": {**_TABLE3},
    "… without corrections": {**_TABLE3, "correction_rate": 0.0},
    "… from the identity, one learning rate": {**_TABLE3, **_PLAIN},
    "… our defaults for groups and meta sets": {},
    "paper's optimiser, our start": {**_TABLE3, **_ADAM},
    "paper's optimiser, constant, our start": {**_TABLE3, **_ADAM, "schedule": "constant"},
    "paper": {**_TABLE3, **_ADAM, **_PLAIN, "schedule": "constant"},
    "paper, cosine": {**_TABLE3, **_ADAM, **_PLAIN},
    "authors": {**_TABLE3, **_ADAM, **_PLAIN, "schedule": "constant", "variant": "authors"},
    "authors, cosine": {**_TABLE3, **_ADAM, **_PLAIN, "variant": "authors"},
    "authors without dropout": {
        **{**_TABLE3, **_ADAM, **_PLAIN, "schedule": "constant", "variant": "authors"},
        "backbone_settings": {"batch_norm": True, "dropout": 0.0},
    },
    "crowd layer, protocol of the table": {"method": "crowd-layer"},
}
N_JUDGES = 140


def judged(music: CrowdDataset, split: int) -> CrowdDataset:
    """The training songs, of which some others judge in every split, their labels unseen."""
    songs = take_tasks(music, np.flatnonzero(music.split == 0))
    role = np.zeros(songs.n_tasks, np.int8)
    role[np.random.default_rng(1000 + split).permutation(songs.n_tasks)[:N_JUDGES]] = 2
    return replace(songs, split=role).where(role[songs.task] == 0)


def main() -> None:
    torch.set_num_threads(1)
    on_test = "test" in sys.argv[1:2]
    n_splits, *rows = [int(argument) for argument in sys.argv[1 + on_test :]] or [6]
    music, protocol = load_dataset("music"), get("music-table").training
    first = 0 if on_test else 1000
    valid, judge = {}, {}
    for row in rows or range(len(SETTINGS)):
        name, own = list(SETTINGS.items())[row]
        results = [
            train_as(
                music if on_test else judged(music, s),
                seeds=[s],
                holdout_seed=first + s,
                **{"method": "ccc", **protocol, **own},
            )
            for s in range(n_splits)
        ]
        print(f"{row} {name}")
        for at in ("selected", "last", "best"):
            values = 100 * np.concatenate([r.accuracy("test", at=at) for r in results])
            print(f"  {at:8s} {values.mean():.2f} ± {values.std():.2f}: {values.round(1).tolist()}", flush=True)
        judge[name] = 100 * np.concatenate([r.accuracy("test", at="selected") for r in results])
        valid[name] = 100 * np.concatenate([r.accuracy("valid", at="selected") for r in results])
        print(
            f"  valid    {valid[name].mean():.2f} ± {valid[name].std():.2f}: {valid[name].round(1).tolist()}",
            flush=True,
        )
    best = max(valid, key=lambda name: valid[name].mean())
    print(f"chosen by validation for all splits: {best}: {judge[best].mean():.2f} ± {judge[best].std():.2f}")
    each = np.argmax(list(valid.values()), axis=0)
    values = np.array(list(judge.values()))[each, np.arange(n_splits)]
    print(f"chosen by validation for each split: {values.mean():.2f} ± {values.std():.2f}: {values.round(1).tolist()}")


if __name__ == "__main__":
    main()
