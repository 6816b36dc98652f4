"""What a dataset lends itself to: whether it can be trained on, what would help, and with which method to begin.

Torch is not loaded here.
"""

from __future__ import annotations

from crowdcore.data import CrowdDataset
from crowdcore.data.images import image_names
from crowdcore.data.ratings import Labelled, RatingDataset


def usual_method(dataset: Labelled) -> str:
    """The crowd layer, which explains labels of every kind, where they are numbers or tags; CoNAL of classes."""
    return "crowd-layer" if isinstance(dataset, RatingDataset) or dataset.of_words else "conal"


def suggested_methods(dataset: Labelled) -> list[str]:
    """Methods to begin with: `auto` of classes with features (of images, each of its trials would train a network)."""
    classes = isinstance(dataset, CrowdDataset) and not dataset.of_words
    return ["auto"] if classes and dataset.features is not None else [usual_method(dataset)]


def plantable(dataset: Labelled) -> bool:
    """Whether nobody has labelled a dataset whose true classes are known: one to plant a crowd on."""
    return isinstance(dataset, CrowdDataset) and dataset.n_annotations == 0 and bool((dataset.gold >= 0).any())


def embeddable(dataset: Labelled) -> str:
    """The texts or images, in words, of labelled tasks without features; "" if there are none."""
    if (
        not isinstance(dataset, CrowdDataset)
        or dataset.n_annotations == 0
        or dataset.features is not None
        or dataset.media is None
        or dataset.media.images is not None
    ):
        return ""
    columns = dataset.media.columns
    named = image_names(dataset)
    found = columns["text"] if columns is not None and "text" in columns else named
    if found is None or not found.notna().any():
        return ""
    n, noun = int(found.notna().sum()), "image" if found is named else "text"
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def untrainable(dataset: Labelled) -> str:
    """Why nothing can be trained on a dataset, and what would help; empty if something can."""
    if dataset.n_annotations == 0:
        plant = "Plant a crowd on its true classes on the page Sandbox, or open" if plantable(dataset) else "Open"
        return (
            f"It has no annotations, so there is nothing to learn from. {plant} a file on the Data page that has a "
            "label per row: task, worker, label."
        )
    if not isinstance(dataset, CrowdDataset):
        how = "Bring a folder with `features_train.npy` (a row per task, in the order of `tasks.csv`)."
        return "" if dataset.features is not None else f"It has no features, so a network has nothing to look at. {how}"
    if dataset.of_words:
        return ""
    if noun := embeddable(dataset):
        return f"It has {noun}, but no features yet: the page Train makes them."
    if dataset.features is None and (dataset.media is None or dataset.media.images is None):
        return (
            "It has neither features nor images, so a classifier has nothing to look at. Bring a table with a column "
            "`text`, a ZIP of a table with a column `image` and those files, or a ZIP of a dataset folder with "
            "`features_train.npy` (a row per task, in the order of `tasks.csv`) to the Data page; of embeddings of "
            "your own `crowdcore embed TABLE FOLDER --given FILE.npy` makes such a folder. Without them the labels can "
            "still be aggregated."
        )
    return ""
