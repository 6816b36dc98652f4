"""What is usually planted beside a dataset, and how one trains on it; torch is not loaded here."""

from __future__ import annotations

from crowdcore.core import spelling
from crowdcore.data import RatingDataset, simulate
from crowdcore.data.ratings import Labelled

FIRST = ("synthetic", "conal")
_LARGE, _VALID = 4000, 1  # training tasks; the validation split


def simulators(dataset: Labelled) -> dict[str, str]:
    """Name -> title, that for such labels as the dataset's first; those for benchmarks are left out.

    Those that label the tasks of a dataset are left out, too, where its labels are numbers.
    """
    titles = simulate.REGISTRY.map(lambda found: found.title)
    without = {"large"}
    if isinstance(dataset, RatingDataset):
        without |= {one for one in titles if not simulate.get(one).makes_tasks}
    return {one: titles[one] for one in (usual_simulator(dataset), *FIRST, *titles) if one not in without}


def usual_simulator(dataset: Labelled) -> str:
    """The simulator of such labels as the dataset's."""
    if isinstance(dataset, RatingDataset):
        return "ratings"
    return "spans" if dataset.sentences is not None else "synthetic"


def usual_settings(crowd: Labelled) -> str:
    """Seeds and settings of the trainer that suit a planted crowd, as a line; gold names the classes where it can."""
    if isinstance(crowd, RatingDataset):
        return ""
    if crowd.sentences is not None:
        return spelling.spell_settings({"seeds": 1, "epochs": 20, "lr": 0.005, "schedule": "cosine"})
    large = int((crowd.split <= 0).sum()) >= _LARGE
    gold = bool((crowd.gold[crowd.split == _VALID] >= 0).any())
    usual = {
        "seeds": 1,
        **({"epochs": 20, "batch_size": 256} if large else {"epochs": 50}),
        "lr": 0.005,
        "schedule": "cosine",
        **({"names": "validation-gold"} if gold else {}),
    }
    return spelling.spell_settings(usual)
