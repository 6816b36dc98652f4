"""Tables and figures of CCC: Zhang et al., Coupled Confusion Correction, AAAI 2024."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from crowdcore import analysis, exhibits
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate import TaskChoice
from crowdcore.learning.recovery.plan import RecoveryPlan
from crowdcore.reproduce import shown as drawn
from crowdcore.reproduce.conal import real
from crowdcore.reproduce.entry import BEST, LAST, Entry, Measure, Part, Scale, leads

_PAPER = "CCC (Zhang et al., AAAI 2024)"
_METHODS = {
    "MajorVote": "dl-mv",
    "CrowdLayer": "crowd-layer",
    "DoctorNet": "doctor-net",
    "Max-MIG": "max-mig",
    "CoNAL": "conal",
    "UnionNet": "unionnet",
    "CCC": "ccc",
}
_DATA = {"CIFAR-10": "cifar10_images", "Fashion-MNIST": "fashion_mnist"}
_NUMBERS = ("I", "II", "III", "IV")
# Method, kind of confusion, epoch, then sets I to IV on CIFAR-10 and I to IV on Fashion-MNIST.
_TABLE_1 = """
MajorVote IND Best 55.08±0.38 47.85±2.20 54.27±1.91 66.94±1.01 84.89±2.24 79.94±2.30 76.72±1.00 89.03±0.75
MajorVote IND Last 41.14±0.37 32.90±0.71 42.00±0.39 60.18±1.95 61.00±0.65 51.31±0.56 56.88±0.29 78.02±0.52
CrowdLayer IND Best 63.06±1.49 53.50±1.24 59.39±1.21 69.09±0.62 88.83±0.61 84.77±2.09 87.01±3.05 90.31±0.42
CrowdLayer IND Last 54.78±0.49 43.71±0.62 53.17±0.34 67.51±0.91 75.89±0.19 66.39±0.21 66.67±0.47 84.67±0.20
DoctorNet IND Best 69.63±0.86 63.43±1.46 69.77±2.02 76.25±0.47 90.54±0.23 88.78±0.68 88.29±1.20 90.96±0.32
DoctorNet IND Last 66.80±1.12 57.95±1.09 65.40±0.98 74.60±0.45 83.01±0.13 76.07±0.49 75.77±0.20 86.78±0.19
Max-MIG IND Best 71.63±1.15 65.52±0.99 69.73±1.09 75.97±0.39 91.03±0.38 90.15±0.45 90.07±0.49 91.32±0.25
Max-MIG IND Last 66.47±0.48 56.63±0.46 61.68±0.63 73.19±0.59 82.16±0.32 73.33±0.39 73.53±0.47 86.16±0.37
CoNAL IND Best 67.28±1.24 59.27±1.53 65.93±0.15 78.16±0.27 89.95±0.30 87.62±0.88 89.13±0.44 91.72±0.14
CoNAL IND Last 56.18±0.30 47.02±0.65 57.16±0.49 71.96±0.53 75.27±0.17 65.80±0.32 71.16±0.29 86.67±0.25
UnionNet IND Best 74.67±0.82 68.92±0.96 71.52±1.14 79.29±0.65 91.30±0.37 90.09±0.42 89.67±0.58 91.61±0.25
UnionNet IND Last 74.44±0.60 63.41±0.75 67.00±0.42 78.78±0.74 88.22±0.19 78.29±0.29 79.09±0.54 90.56±0.21
CCC IND Best 80.16±0.23 75.33±0.43 78.28±0.25 83.06±0.26 92.59±0.01 91.93±0.18 92.50±0.13 93.23±0.06
CCC IND Last 79.50±0.12 73.52±0.39 77.20±0.26 82.56±0.07 92.51±0.06 91.58±0.39 92.17±0.04 93.14±0.06
MajorVote COR Best 59.18±3.38 63.26±1.39 67.03±1.00 67.39±1.63 85.73±1.51 85.22±1.99 89.38±0.38 89.25±0.70
MajorVote COR Last 43.57±0.61 50.36±0.76 59.04±0.62 57.97±1.07 60.83±0.57 66.11±0.83 79.69±0.77 75.68±0.46
CrowdLayer COR Best 62.51±1.12 67.45±1.03 69.24±0.69 70.07±0.40 88.49±0.44 89.87±0.17 90.19±0.28 89.88±0.23
CrowdLayer COR Last 54.61±0.52 62.70±0.41 66.27±0.28 68.64±0.50 76.02±0.20 79.15±0.17 85.33±0.09 83.93±0.19
DoctorNet COR Best 67.30±1.28 74.01±0.62 73.87±0.48 77.52±0.49 89.29±0.37 90.54±0.32 90.36±0.21 90.86±0.21
DoctorNet COR Last 63.02±0.92 71.48±1.22 72.19±0.41 76.80±0.59 82.38±0.17 84.78±0.37 86.65±0.18 87.28±0.16
Max-MIG COR Best 71.69±0.68 74.55±0.56 76.83±0.30 75.81±0.68 90.27±0.07 91.26±0.17 91.38±0.16 91.17±0.28
Max-MIG COR Last 67.19±0.33 73.28±0.60 75.82±0.46 73.94±0.60 81.20±0.33 84.58±0.49 88.14±0.21 84.83±0.49
CoNAL COR Best 69.33±0.46 72.21±0.30 75.97±0.19 79.82±0.49 89.48±0.34 90.79±0.40 91.37±0.10 92.02±0.14
CoNAL COR Last 58.24±0.63 64.10±0.27 68.42±0.65 73.82±0.83 75.49±0.30 78.36±0.28 85.93±0.40 88.47±0.47
UnionNet COR Best 74.46±0.43 78.13±0.43 80.02±0.51 80.99±0.66 90.83±0.40 91.52±0.14 91.94±0.22 92.31±0.22
UnionNet COR Last 72.84±0.31 77.58±0.47 79.37±0.62 80.85±0.66 85.32±0.21 88.60±0.37 91.82±0.41 92.24±0.32
CCC COR Best 80.77±0.10 81.84±0.14 83.32±0.13 82.72±0.11 91.93±0.09 92.87±0.06 93.01±0.07 93.18±0.10
CCC COR Last 80.07±0.22 81.50±0.09 83.07±0.13 82.53±0.20 91.75±0.11 92.70±0.07 92.88±0.07 93.10±0.09
"""
# LabelMe best and last, CIFAR-10N best and last, Music best and last.
_TABLE_2 = {
    "MajorVote": ("80.72±0.45", "77.19±1.18", "81.08±0.34", "80.89±0.25", "67.67±0.98", "62.00±1.05"),
    "CrowdLayer": ("84.01±0.36", "82.32±0.41", "80.43±0.25", "80.14±0.28", "71.67±0.50", "69.33±0.93"),
    "DoctorNet": ("82.32±0.49", "81.73±0.49", "83.68±0.33", "83.32±0.29", "67.33±0.74", "65.33±0.75"),
    "Max-MIG": ("86.28±0.35", "83.16±0.66", "83.25±0.47", "83.12±0.63", "75.33±0.69", "71.67±0.93"),
    "CoNAL": ("87.46±0.53", "84.85±0.91", "82.51±0.15", "80.92±0.28", "74.00±0.89", "68.67±1.88"),
    "UnionNet": ("85.19±0.42", "82.66±0.38", "82.66±1.12", "82.32±1.09", "72.33±0.58", "68.33±0.91"),
    "CCC": ("87.65±1.10", "84.79±0.80", "86.36±0.05", "86.12±0.12", "76.22±0.42", "72.89±0.68"),
}
_TABLE_3 = {  # workers, labels per task, N.R.1 and N.R.2 in %
    "LabelMe": ("59", "2.5", "11.10", "25.95"),
    "CIFAR-10N": ("747", "3", "02.13", "17.71"),
    "Music": ("44", "4.2", "12.71", "43.97"),
}
_PLANTED = {"n_groups": 30, "meta_size": 1000, "warm_up": 1 / 6, "meta_layers": "last"}  # CCC's settings in Table 3 …
_MUSIC = {"correction_rate": 0.3, "n_groups": 20, "meta_size": 160}
"""… where they are not our defaults."""
_NO_TEST = "CIFAR-10N has no test images here: its 50,000 tasks are the training images, and it trains on pixels"


def _of_summary(of: Callable[[analysis.Summary], float], result: None, dataset: CrowdDataset) -> float:
    return float(of(analysis.summary(dataset, "gold")))


def _statistics(scale: Scale) -> list[Part]:
    summary: dict[str, Any] = {
        "workers": lambda s: s.n_workers,
        "labels per task": lambda s: s.n_annotations / s.n_annotated,
        "tasks without a right label (N.R.1), %": lambda s: 100 * s.noise.tasks_without_truth,
        "wrong labels (N.R.2), %": lambda s: 100 * s.noise.wrong_annotations,
        "workers with 20 labels or fewer, %": lambda s: 100 * np.mean(s.annotations_per_worker <= 20),
    }
    measures = [Measure(name, partial(_of_summary, of)) for name, of in summary.items()]
    whole = {"CIFAR-10N": "all 50,000 tasks; the paper lists 45,000 for training."}
    printed = {name: dict(zip(measures, (*numbers, "many"), strict=True)) for name, numbers in _TABLE_3.items()}
    return [Part("crowd", n, p, n.lower().replace("-", ""), differs=whole.get(n, "")) for n, p in printed.items()]


def _median_distance(result: None, dataset: Any) -> float:
    distance = analysis.worker_distance(dataset, "gold", kind="mse").matrix
    return float(np.median(distance[np.triu_indices(len(distance), 1)]))


def _figure_3(scale: Scale) -> list[Part]:
    stated = {Measure("median distance of two workers", _median_distance): "many blue patches"}
    differs = {"LabelMe": "", "CIFAR-10N": "the worker ids of the public files carry no information on the labels."}
    return [Part("all pairs", n, stated, n.lower().replace("-", ""), differs=d) for n, d in differs.items()]


def _planted(row: str, paper: dict[Measure, str], on: str, settings: dict[str, Any], scale: Scale, **own: Any) -> Part:
    """A row on one of CCC's planted crowds."""
    small = scale == "small"
    tasks = TaskChoice(n_train=4000, n_test=1000) if small else TaskChoice()
    crowd = RecoveryPlan(simulation="ccc", settings=settings, dataset=_DATA[on], tasks=tasks)
    training: dict[str, Any] = {"epochs": 20, "lr": 1e-3, "batch_size": 64} if small else {
        "backbone": "resnet34" if on == "CIFAR-10" else "resnet18", "epochs": 60, "lr": 1e-2, "batch_size": 128,
        "optimizer": "sgd", "weight_decay": 5e-4, "schedule": "step",
    }  # fmt: skip
    network = (
        "4,000 training images and 128 ReLU units, 20 epochs of Adam; CCC with 5 of them to warm up, meta sets of 800 "
        "tasks and 25 groups of workers unless another number is given; "
        if small
        else ""
    )
    steps = "" if small else "the learning rate drops after epochs 30 and 45 instead of 40; "
    pixels = "images from JPEG; " if on == "CIFAR-10" else ""
    differs = f"{network}{steps}{pixels}methods start from their first stage; workers who follow others are drawn once."
    given = {**training, **(_PLANTED if row == "CCC" and not small else {}), **own}
    return Part(row, "", paper, crowd, _METHODS[row], given, 1 if small else 3, differs=differs)


def _table_1(scale: Scale) -> list[Part]:
    printed: dict[tuple[str, str, str], dict[Measure, str]] = {}
    for line in _TABLE_1.split("\n")[1:-1]:
        row, kind, epoch, *numbers = line.split()
        for k, number in enumerate(numbers):
            column = list(_DATA)[k // 4], f"{kind}-{_NUMBERS[k % 4]}"
            printed.setdefault((*column, row), {})[BEST if epoch == "Best" else LAST] = number
    parts = []
    for (on, patterns, row), paper in sorted(printed.items(), key=lambda item: item[0][:2]):
        part = _planted(row, paper, on, {"patterns": patterns}, scale)
        left_out = scale == "small" and (on == "CIFAR-10" or not patterns.endswith("-I"))
        absent = "only at --scale paper" if left_out else ""
        parts.append(Part(**{**vars(part), "column": f"{on} {patterns}", "absent": absent}))
    return parts


def _table_2(scale: Scale) -> list[Part]:
    parts = []
    for k, dataset in enumerate(("LabelMe", "CIFAR-10N", "Music")):
        for row, numbers in _TABLE_2.items():
            paper = {BEST: numbers[2 * k], LAST: numbers[2 * k + 1]}
            if dataset == "CIFAR-10N":
                parts.append(Part(row, dataset, paper, absent=_NO_TEST))
                continue
            full = {"epochs": 200, "batch_size": 128, "lr": 1e-4 if dataset == "LabelMe" else 1e-2}
            settings = {} if scale == "small" else {**full, "schedule": "constant"}
            settings |= {"select_on": "none"} if dataset == "Music" else {}  # all 700 songs train, as in Table 3
            settings |= _MUSIC if (row, dataset) == ("CCC", "Music") else {}
            parts.append(real(dataset, row, _METHODS[row], paper, scale, settings, 3))
    return parts


def _figure_4(scale: Scale) -> list[Part]:
    small = scale == "small"
    on = "Fashion-MNIST" if small else "CIFAR-10"
    parts = []
    for k in (1, 3) if small else (1, 3, 5, 7, 9):
        for row in ("CrowdLayer", "CCC"):
            part = _planted(row, {BEST: "", LAST: ""}, on, {"patterns": "IND-I", "per_task": k}, scale)
            parts.append(Part(**{**vars(part), "column": f"{on}, labels per task", "at": float(k)}))
    for groups in (5, 30) if small else (5, 10, 20, 30, 50, 100):
        part = _planted("CCC", {BEST: "", LAST: ""}, on, {"patterns": "IND-I"}, scale, n_groups=groups)
        parts.append(Part(**{**vars(part), "column": f"{on}, groups of workers", "at": float(groups)}))
    return parts


_REAL = "LabelMe and Music with 3 seeds"
_VOTES = "MajorVote is trained on the shares of the votes, not on the class with most of them."
_CLAIM = "“superior performance than state-of-the-art approaches”"
_BEATS = {f"{_CLAIM} (best epoch)": leads("CCC", BEST), f"{_CLAIM} (last epoch)": leads("CCC", LAST)}
_SPARSE = "“in the sparsest case … significant improvement (17.15% on best and 32.95% on last)”"

ENTRIES = (
    Entry(
        "ccc-fig1", "Labels per worker, and noise rates", f"{_PAPER}, Fig. 1 and Table 3", _statistics,
        "the statistic, of all of LabelMe, CIFAR-10N and Music", "the same",
        draw=drawn.of_dataset(exhibits.overview.annotations_per_worker),
    ),
    Entry(
        "ccc-fig3", "Distances between workers", f"{_PAPER}, Fig. 3", _figure_3,
        "the statistic, of all of LabelMe and CIFAR-10N", "the same",
        draw=drawn.of_dataset(partial(exhibits.workers.worker_distances, kind="mse")),
    ),
    Entry(
        "ccc-tab1", "Test accuracy on planted crowds", f"{_PAPER}, Table 1", _table_1,
        "IND-I and COR-I on 4,000 images of Fashion-MNIST and a small network, 1 seed",
        "all sets on CIFAR-10 (ResNet-34) and Fashion-MNIST (ResNet-18), 3 seeds", _VOTES, draw=drawn.dots(LAST),
        claims=_BEATS,
    ),
    Entry(
        "ccc-tab2", "Test accuracy on real crowds", f"{_PAPER}, Table 2", _table_2,
        f"{_REAL}: on LabelMe conal-tab1's runs where it has the method", f"{_REAL}, 200 epochs",
        f"{_VOTES} On LabelMe CCC's meta sets are 200 of 1,000 images, in the paper 1,000 of 10,000 augmented ones.",
        draw=drawn.dots(LAST), claims=_BEATS,
    ),
    Entry(
        "ccc-fig4", "Accuracy by sparsity and number of groups", f"{_PAPER}, Fig. 4", _figure_4,
        "1 and 3 labels per task, 5 and 30 groups, on 4,000 images of Fashion-MNIST, 1 seed",
        "1 to 9 labels per task, 5 to 100 groups, on CIFAR-10 (ResNet-34), 3 seeds",
        draw=drawn.along("value", LAST),
        claims={_SPARSE: leads("CCC", LAST)},
    ),
)  # fmt: skip
