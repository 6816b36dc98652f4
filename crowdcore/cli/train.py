"""`crowdcore train`: learn a classifier from a crowd."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from crowdcore.cli._options import (
    Accept,
    AnySeeds,
    Checkpoint,
    Device,
    Epochs,
    Json,
    OutFolder,
    Read,
    Seed,
    Settings,
    open_labels,
    with_epochs,
)
from crowdcore.cli._output import print_json, print_table
from crowdcore.cli._presets import ListPresets, OptionalDataset, PresetName, rows_of
from crowdcore.cli.rating_training import learn as learn_ratings
from crowdcore.data import RatingDataset

_NO_ACCURACY = (
    "There is no accuracy: no test task has a gold label. A column `gold` gives some, --read test_share=0.2 draws test "
    "tasks."
)


def train(
    dataset: OptionalDataset = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", help="A learning method, such as trace; default: conal, of ratings and tags crowd-layer."
        ),
    ] = None,
    preset: PresetName = None,
    seeds: AnySeeds = None,
    seed: Seed = None,
    epochs: Epochs = None,
    device: Device = "auto",
    set: Settings = None,
    out: OutFolder = None,
    checkpoint: Checkpoint = None,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
    presets: ListPresets = False,
) -> None:
    """Train one method, or all of a preset, with several seeds.

    Accuracies, or of labels that are numbers errors, are of the selected | last | best epoch on the test split.
    """
    from crowdcore import learning
    from crowdcore.cli._training import over_seeds, span_rows, table, train_one
    from crowdcore.learning.comparison.summary import row

    given = with_epochs(set, epochs)
    opened = partial(open_labels, read=read, accept=accept)
    fit = partial(learning.train, accept=accept)
    _, ds, rows, which = rows_of(preset, dataset, [method] if method else None, given, seeds or 0, seed, opened)
    if isinstance(ds, RatingDataset):
        learn_ratings(ds, rows[0][1], which, device, given, out, checkpoint, json)
        return
    facts: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    for label, one, own in rows:
        part = label.replace("/", "-") if preset else ""  # a folder of its own for each run of a preset
        result = train_one(fit, ds, one, which, device, own, checkpoint and checkpoint / part)
        if out:
            result.save(out / part)
        facts.append(row(result) | {"method": label})
        spans += [{"method": label, **found} for found in span_rows(ds, result)]
        notes |= dict.fromkeys(result.notes)
        if json and not preset:
            more = {"common_confusion": result.common_confusion, "classes": result.classes}
            print_json(facts[0] | more | ({"spans": spans} if spans else {}))
            return
    if json:
        print_json(facts)
        return
    if not any(np.isfinite(one["last_mean"]) for one in facts):
        notes[_NO_ACCURACY] = None
    print_table(table(facts), f"Test accuracy in %, {over_seeds(len(which))}", tuple(notes))
    if spans:
        print_table(pd.DataFrame(spans), f"Spans of the test split, {over_seeds(len(which))}")
