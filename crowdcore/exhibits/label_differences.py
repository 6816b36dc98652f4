"""Where two results label tasks differently, and who is right there."""

from __future__ import annotations

from dataclasses import replace

from crowdcore import analysis, figures
from crowdcore.core.drawable import escaped
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.comparison import Results
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.learning.results import predictions

SPLITS = {"test": "Test tasks", "train": "Training tasks", "valid": "Validation tasks", "all": "All tasks"}


def prediction_disagreement(results: Results, dataset: CrowdDataset, split: str = "test") -> analysis.LabelDisagreement:
    """The results' labels (most probable class of the mean over seeds) and gold, in pairs, on the tasks of a split."""
    labellings = predictions.labellings(results, dataset, split)
    return analysis.label_disagreement(dataset, labellings, predictions.gold_of(results, dataset, split))


def prediction_differences(results: Results, dataset: CrowdDataset, split: str = "test") -> Exhibit:
    """Share of the tasks of a split that each pair of results labels differently; a click chooses a pair."""
    found = prediction_disagreement(results, dataset, split)
    title = f"Where the runs differ: {SPLITS[split].lower()}"
    figure = figures.label_disagreement(replace(found, names=tuple(map(escaped, found.names))), title=title)
    notes = ("A run's label is the most probable class of the mean over its seeds, at the selected epoch.",)
    alt = "Share of tasks that each pair of runs labels differently"
    return Exhibit(
        "label-disagreement",
        title,
        figure,
        found.frame,
        notes,
        alt,
        lambda row, column: {"first": found.names[row], "second": found.names[column]},
    )


def differing_predictions(
    results: Results, dataset: CrowdDataset, first: str, second: str, split: str = "test"
) -> Exhibit:
    """The tasks of a split that two results (or a result and gold) label differently; index = task number."""
    labellings = predictions.labellings(results, dataset, split)
    gold = predictions.gold_of(results, dataset, split)
    frame = analysis.label_difference(dataset, labellings[first], labellings[second], gold)
    if predictions.GOLD in (first, second):
        sure = "first_probability" if first == predictions.GOLD else "second_probability"
        frame = frame.drop(columns=[predictions.GOLD, sure])
    elif not (gold >= 0).any():
        frame = frame.drop(columns=predictions.GOLD)
    return Exhibit("differing-tasks", f"{SPLITS[split]} that {first} and {second} label differently", None, frame)
