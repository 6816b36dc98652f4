"""What methods recover on LabelMe with the settings that the Train page starts with, against what gold shows.

    CROWDCORE_DATA=<its folder> python -m benchmarks.learning_recovered [seeds]

Per method, mean over seeds of the selected epoch: over the workers with at least 20 labels, Spearman's correlation of
the recovered skill with the one observed by gold and the mean absolute difference (skill: mean diagonal over the
classes that a worker labelled; for CoNAL of the ω-weighted mixture); the standard deviation of ω over annotations;
inside city → street in the common confusion; and how many of the five largest shared confusions, of the common matrix
or else of the workers' matrices weighted by their labels, are among the five largest observed. Gold of training tasks
is used here to judge, nowhere to train.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from scipy.stats import spearmanr

from crowdcore.analysis import effective_confusion, worker_confusion
from crowdcore.core.types import FloatArray
from crowdcore.data import CrowdDataset, load_dataset
from crowdcore.learning import TrainingResult, train

METHODS = ("crowd-layer", "trace", "conal")
LEAST = 20  # labels of a worker
BOUNDS = {"rank correlation": 0.7, "difference": 0.1, "sd of ω": 0.1, "inside city → street": 0.12, "of five": 3}


def skills(crowd: CrowdDataset, confusion: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Recovered and observed skill of the workers with enough labels, (S, n) and (n,)."""
    observed = worker_confusion(crowd, "gold")
    many, known = crowd.labels_per_worker >= LEAST, observed.evidenced

    def skill(matrices: FloatArray) -> FloatArray:
        diagonal = np.where(known, np.diagonal(matrices, axis1=-2, axis2=-1), 0)
        return np.asarray((diagonal.sum(-1) / known.sum(1))[..., many])

    return skill(confusion), skill(np.nan_to_num(observed.matrices))


def largest(matrix: FloatArray, n: int = 5) -> set[int]:
    """Cells of the largest entries off the diagonal."""
    return set(np.argsort(-(matrix * (1 - np.eye(len(matrix)))).ravel())[:n].tolist())


def judged(crowd: CrowdDataset, result: TrainingResult) -> dict[str, FloatArray]:
    """(S,) of each measure; those that the method does not have are left out."""
    found = result.recovered_at("selected")
    assert found.worker_confusion is not None
    learnt, seen = skills(crowd, effective_confusion(crowd, *found, group=result.group))
    measures = {
        "rank correlation": np.array([spearmanr(one, seen).statistic for one in learnt]),
        "difference": np.abs(learnt - seen).mean(1),
    }
    weight = crowd.labels_per_worker / crowd.n_annotations
    shared = found.common_confusion
    if shared is None:
        shared = np.einsum("r,srab->sab", weight, found.worker_confusion)
    else:
        city, street = crowd.classes.index("insidecity"), crowd.classes.index("street")
        measures["inside city → street"] = shared[:, city, street]
    if found.omega is not None:
        measures["sd of ω"] = np.nanstd(found.omega, axis=1)
    gold = crowd.gold[crowd.task]
    observed = np.zeros((crowd.n_classes, crowd.n_classes))
    np.add.at(observed, (gold[gold >= 0], crowd.label[gold >= 0]), 1)
    observed /= observed.sum(1, keepdims=True)
    measures["of five"] = np.array([len(largest(one) & largest(observed)) for one in shared], float)
    return measures


def main() -> None:
    torch.set_num_threads(1)
    seeds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 6)
    crowd = load_dataset("labelme")
    print(f"LabelMe, defaults, {seeds} seeds, selected epoch: mean (lowest … highest seed)")
    for method in METHODS:
        result = train(crowd, method, seeds=seeds)
        print(f"  {method}: validation accuracy {100 * result.accuracy('valid').mean():.1f} %")
        for name, values in judged(crowd, result).items():
            low = name == "difference"
            met = values.mean() <= BOUNDS[name] if low else values.mean() >= BOUNDS[name]
            print(
                f"    {name:22s} {values.mean():.3f} ({values.min():.3f} … {values.max():.3f})  "
                f"claimed {'≤' if low else '≥'} {BOUNDS[name]}: {'MET' if met else 'NOT MET'}",
                flush=True,
            )


if __name__ == "__main__":
    main()
