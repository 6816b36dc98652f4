"""The method to begin with where nobody names one; torch is not loaded here."""

from __future__ import annotations

from crowdcore.data.ratings import Labelled, RatingDataset


def usual_method(dataset: Labelled) -> str:
    """The crowd layer, which explains labels of every kind, where they are numbers or tags; CoNAL of classes."""
    return "crowd-layer" if isinstance(dataset, RatingDataset) or dataset.of_words else "conal"
