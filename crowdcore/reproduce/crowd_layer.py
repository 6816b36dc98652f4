"""Tables and figures of the crowd layer: Rodrigues, Pereira, Deep Learning from Crowds, AAAI 2018."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdcore import analysis
from crowdcore.core.types import FloatArray
from crowdcore.data.catalogue import dataset_folders
from crowdcore.data.simulate import TaskChoice
from crowdcore.learning.recovery.plan import RecoveryPlan
from crowdcore.reproduce import shown as drawn
from crowdcore.reproduce.conal import real
from crowdcore.reproduce.entry import SELECTED, Entry, Found, Measure, Part, Scale, leads

_PAPER = "Crowd layer (Rodrigues, Pereira, AAAI 2018)"
_PUBLISHED: dict[str, Any] = {"start": "identity", "noise_lr": 1.0}  # one learning rate, from the identity
_TABLE_1: dict[str, tuple[str, dict[str, Any], str, str]] = {  # method, settings, Dogs vs. Cats, LabelMe
    "MA-sLDAc": ("", {}, "", "78.120 (± 0.397)"),
    "DL-MV": ("dl-mv", {"targets": "hard"}, "71.377 (± 1.123)", "76.744 (± 1.208)"),
    "DL-DS": ("dl-ds", {}, "76.750 (± 1.282)", "80.792 (± 1.066)"),
    "DL-EM": ("dl-em", {}, "80.184 (± 1.454)", "82.677 (± 0.981)"),
    "DL-DN": ("doctor-net", {}, "79.005 (± 1.347)", "81.888 (± 1.114)"),
    "DL-WDN": ("wdn", {}, "76.822 (± 2.838)", "82.410 (± 0.783)"),
    "DL-CL (VW)": ("crowd-layer", {**_PUBLISHED, "connection": "vw"}, "79.534 (± 1.064)", "81.051 (± 0.899)"),
    "DL-CL (VW+B)": ("crowd-layer", {**_PUBLISHED, "connection": "vw+b"}, "79.688 (± 1.406)", "81.886 (± 0.893)"),
    "DL-CL (MW)": ("crowd-layer", _PUBLISHED, "80.265 (± 1.230)", "83.151 (± 0.877)"),
    "DL-TRUE": ("dl-true", {}, "84.912 (± 1.248)", "90.038 (± 0.652)"),
}
_BEST = "DL-CL (MW)"
_PETS = "dogs_vs_cats"
_YOUR_PETS = (
    f"A dataset {_PETS} takes the place of CIFAR-10's cats and dogs: `crowdcore embed ./PETS DATA/{_PETS} --kind "
    "pixels --side 64 --read test_share=0.5` makes it of your images in PETS/cat and PETS/dog, and DATA must be among "
    "the folders of CROWDCORE_DATA."
)
_NO_WORDS = "a model of words, for which the images must be turned into visual words, and the images are not here"


def _pets(row: str, paper: dict[Measure, str], scale: Scale) -> Part:
    """A row on dogs and cats: the user's images if there are some, else CIFAR-10's."""
    method, settings, _, _ = _TABLE_1[row]
    small, given = scale == "small", _PETS in dataset_folders()
    tasks = TaskChoice(
        classes=() if given else ("cat", "dog"), n_train=3000 if small else None, n_test=1000 if small else None
    )
    crowd = RecoveryPlan(simulation="rodrigues", dataset=_PETS if given else "cifar10_images", tasks=tasks)
    training = {"backbone": "cnn", "epochs": 12 if small else 50, "lr": 2e-3, "batch_size": 32, "select_on": "none"}
    images = (
        f"{'3,000 images at most' if small else 'all images'} of the dataset {_PETS}, of the size that they have there"
        if given
        else f"{'3,000' if small else '10,000'} cats and dogs of CIFAR-10 (32×32, from JPEG) instead of 12,500 of "
        "Kaggle's, which are not here"
    )
    differs = f"{images}; the same five annotators; no batch normalisation; the last epoch counts."
    return Part(
        row, "Dogs vs. Cats", paper, crowd, method, {**training, **settings}, 1 if small else 30, differs=differs
    )


def _table_1(scale: Scale) -> list[Part]:
    pets = [_pets(row, {SELECTED: numbers[2]}, scale) for row, numbers in _TABLE_1.items() if numbers[2]]
    return [
        *pets,
        *(
            real("LabelMe", row, method, {SELECTED: printed}, scale, settings, 30)
            if method
            else Part(row, "LabelMe", {SELECTED: printed}, absent=_NO_WORDS)
            for row, (method, settings, _, printed) in _TABLE_1.items()
        ),
    ]


def _diagonals(result: Any) -> FloatArray:
    """(S, R·C) of the learnt weights W."""
    weights = np.diagonal(result.model["matrices.weight"], axis1=-2, axis2=-1)
    return np.asarray(weights, np.float64).reshape(len(weights), -1)


def _of_truth(result: Any, dataset: Any) -> FloatArray:
    true = np.diagonal(dataset.truth.worker_confusion, axis1=1, axis2=2).ravel()
    return np.array([np.corrcoef(true, one)[0, 1] for one in _diagonals(result)])


def _of_observed(result: Any, dataset: Any) -> FloatArray:
    """Correlation of learnt with observed cells, over the six workers with most annotations and the rows they show."""
    busiest = np.argsort(-dataset.labels_per_worker, kind="stable")[:6]
    seen = analysis.worker_confusion(dataset, "gold").matrices[busiest]
    known = ~np.isnan(seen)
    return np.array([np.corrcoef(seen[known], own[busiest][known])[0, 1] for own in result.worker_confusion])


def _figure_2(scale: Scale) -> list[Part]:
    stated = {
        Measure("correlation of W's diagonals with the true sensitivities and specificities", _of_truth): "strong"
    }
    return [_pets(_BEST, stated, scale)]


def _figure_3(scale: Scale) -> list[Part]:
    stated = {Measure("correlation of six learnt confusions with the true ones", _of_observed): "resemble each other"}
    return [real("LabelMe", _BEST, "crowd-layer", stated, scale, _PUBLISHED, 30)]


def _first_seed(outcome: Found) -> FloatArray:
    first: FloatArray = _diagonals(outcome.result)[0]
    return first


_SMALL = "3,000 cats and dogs with 1 seed"
_FULL = "all cats and dogs with 30 seeds"

ENTRIES = (
    Entry(
        "crowdlayer-tab1", "Accuracy on Dogs vs. Cats and LabelMe", f"{_PAPER}, Table 1", _table_1,
        f"{_SMALL}, LabelMe with 3 seeds", f"{_FULL}, LabelMe with 30 seeds", _YOUR_PETS,
        draw=drawn.dots(SELECTED),
        claims={"“the MW approach is the one that gives the best average accuracy” (gold aside)": leads(
            _BEST, SELECTED, without=("DL-TRUE",)
        )},
    ),
    Entry(
        "crowdlayer-fig2", "True sensitivities and specificities against W's diagonals", f"{_PAPER}, Fig. 2", _figure_2,
        f"{_SMALL}, crowdlayer-tab1's run", f"{_FULL}, crowdlayer-tab1's run", _YOUR_PETS,
        draw=drawn.scatter(_first_seed, "diagonal of W"),
    ),
    Entry(
        "crowdlayer-fig3", "Learnt weights and true confusions on LabelMe", f"{_PAPER}, Fig. 3", _figure_3,
        "crowdlayer-tab1's run, 3 seeds", "crowdlayer-tab1's run, 30 seeds", draw=drawn.matrices(),
    ),
)  # fmt: skip
