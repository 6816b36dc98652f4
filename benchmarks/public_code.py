"""Public code beside ours on Music, with the same songs held out and the same 300 test songs.

    CROWDCORE_DATA=<their folder> python -m benchmarks.public_code ccc <checkout of Hansong-Zhang/CCC> [hold-outs]
    CROWDCORE_DATA=<their folder> python -m benchmarks.public_code gold <checkout of maml> [hold-outs]

The first needs fast-pytorch-kmeans 0.2, the second lightning, scikit-activeml and omegaconf; maml is
ies-research/multi-annotator-machine-learning. Hold-out s is that of `benchmarks.learning_labelme`: 70 of the 700
training songs, whose gold selects the epoch (among equals the one with the lowest loss), with seed s. Printed are means
± standard deviations over the hold-outs at the epoch selected, at the last and at the best, of theirs and of ours, and
the paired difference, ours minus theirs, ± its standard error.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from benchmarks import _public_ccc
from benchmarks._public_ccc import Songs
from benchmarks.ccc_music import SETTINGS
from crowdcore.core.types import FloatArray
from crowdcore.data import load_dataset
from crowdcore.data.dataset import CrowdDataset
from crowdcore.learning.presets import get
from crowdcore.learning.results.result import TrainingResult
from testkit.training import train_as

_DEEPER: dict[str, Any] = {"backbone": "benchmarks.public_code:Deeper", "backbone_settings": {}}
_PAIRS: dict[str, dict[str, tuple[dict[str, Any], Any]]] = {  # name -> our settings, their settings
    "ccc": {
        "the paper's settings": ({"method": "ccc", **SETTINGS["authors"]}, 0.5),
    },
    "gold": {
        "the papers' network": ({"method": "dl-true"}, [128]),
        "maml's network for Music": ({"method": "dl-true", **_DEEPER}, [256, 128]),
    },
}


class Deeper(nn.Sequential):
    """maml's network for Music: 256 and 128 ReLU units, each normalised before, with 50 % dropout after."""

    def __init__(self) -> None:
        sizes = itertools.pairwise((124, 256, 128))
        hidden = ((nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(0.5)) for a, b in sizes)
        super().__init__(*itertools.chain(*hidden), nn.Linear(128, 10))


class Row(NamedTuple):
    """One model on one hold-out: accuracies in %."""

    valid: float
    selected: float
    last: float
    best: float


def ours(music: CrowdDataset, holdout: int, settings: dict[str, Any]) -> tuple[Row, TrainingResult]:
    """Run ours with one hold-out."""
    result = train_as(
        music, seeds=[holdout], holdout_seed=holdout, **{"method": "conal", **get("music-table").training, **settings}
    )
    at = [100 * float(result.accuracy("test", at=epoch)[0]) for epoch in ("selected", "last", "best")]
    return Row(100 * float(result.accuracy("valid", at="selected")[0]), *at), result


def songs(music: CrowdDataset, result: TrainingResult) -> list[Songs]:
    """Training, validation and test songs of a run of ours, standardised on the first."""
    assert music.features is not None
    parts = [result.task[result.split == role] for role in range(3)]
    x = music.features[np.arange(music.n_tasks)].astype(np.float32)
    x = (x - x[parts[0]].mean(0)) / x[parts[0]].std(0)
    labels = np.full((music.n_tasks, music.n_workers), -1)
    labels[music.task, music.worker] = music.label
    return [Songs(x[tasks], music.gold[tasks].astype(np.int64), labels[tasks]) for tasks in parts]


def gold(checkout: Path, train: Songs, valid: Songs, test: Songs, hidden: list[int], seed: int) -> FloatArray:
    """Validation accuracy and loss, test accuracy of maml's classifier on gold, (epochs, 3), in %, by its settings."""
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    code = importlib.import_module("maml.classifiers")
    layers = importlib.import_module("maml.architectures._tabnet").gt_tabnet(10, train.features.shape[1], hidden, 0.5)
    torch.manual_seed(seed)
    model = code.AggregateClassifier(
        n_classes=10,
        gt_embed_x=layers[0](),
        gt_output=layers[1](),
        optimizer_gt_dict={"lr": 1e-2, "weight_decay": 0},
        lr_scheduler=torch.optim.lr_scheduler.CosineAnnealingLR,
        lr_scheduler_dict={"T_max": 50},
    )
    (optimiser,), (schedule,) = model.configure_optimizers()
    x, z = torch.from_numpy(train.features), torch.from_numpy(train.gold)
    rights = []
    for _ in range(50):
        model.train()
        for batch in torch.randperm(len(x)).split(64)[: len(x) // 64]:  # it drops the last, smaller one
            optimiser.zero_grad()
            model.training_step({"x": x[batch], "z_agg": z[batch]}, 0).backward()
            optimiser.step()
        schedule.step()
        model.eval()
        p = [model.predict_step({"x": torch.from_numpy(part.features)}, 0)["p_class"].numpy() for part in (valid, test)]
        right = [100 * (q.argmax(1) == part.gold).mean() for q, part in zip(p, (valid, test), strict=True)]
        rights.append((right[0], -np.log(p[0][np.arange(len(p[0])), valid.gold]).mean(), right[1]))
    return np.array(rights)


def row(epochs: FloatArray) -> Row:
    """Make a row of validation accuracies and losses and test accuracies of all epochs."""
    at = np.lexsort((epochs[:, 1], -epochs[:, 0]))[0]
    return Row(*map(float, (epochs[at, 0], epochs[at, 2], epochs[-1, 2], epochs[:, 2].max())))


def main() -> None:
    torch.set_num_threads(1)
    if len(sys.argv) < 3 or sys.argv[1] not in _PAIRS:
        print(__doc__)
        return
    part, checkout, n = sys.argv[1], Path(sys.argv[2]).resolve(), int((*sys.argv[3:], "10")[0])
    music, public = load_dataset("music"), {"ccc": _public_ccc.accuracies, "gold": gold}[part]
    print("| | | validation | selected | last | best |\n|---|---|---|---|---|---|", flush=True)
    for name, (settings, theirs) in _PAIRS[part].items():
        rows = []
        for s in range(n):
            mine, result = ours(music, s, settings)
            rows.append((row(public(checkout, *songs(music, result), theirs, s)), mine))
            print(name, s, *rows[-1], file=sys.stderr, flush=True)
        values = np.array(rows)  # (hold-outs, theirs and ours, columns)
        for k, whose in enumerate(("public", "ours")):
            cells = [f"{v.mean():.2f} ± {v.std():.2f}" for v in values[:, k].T]
            print(f"| {name} | {whose} | {' | '.join(cells)} |")
        more = (values[:, 1] - values[:, 0]).T
        cells = [f"{d.mean():+.2f} ± {d.std(ddof=1) / np.sqrt(n):.2f}" for d in more]
        print(f"| | difference | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
