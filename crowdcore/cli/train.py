"""`crowdcore train`: learn a classifier from a crowd."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import (
    Accept,
    DatasetName,
    Device,
    Epochs,
    Json,
    Read,
    Seed,
    Seeds,
    Settings,
    open_dataset,
    settings,
)
from crowdcore.cli._output import print_json, print_table


def train(
    dataset: DatasetName,
    method: Annotated[
        str, typer.Option("--method", "-m", help="A learning method, such as conal or crowd-layer.")
    ] = "conal",
    seeds: Seeds = 5,
    seed: Seed = None,
    epochs: Epochs = None,
    device: Device = "auto",
    set: Settings = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the result in this folder.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Keep checkpoints in this folder, and go on from what is there.")
    ] = None,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Train one method with several seeds; accuracies are of the selected | last | best epoch on the test split."""
    from crowdcore.cli._training import table, train_one
    from crowdcore.learning.comparison import row

    ds = open_dataset(dataset, accept, read)
    given = settings(set) | ({} if epochs is None else {"epochs": epochs})
    result = train_one(ds, method, seed or seeds, device, given, checkpoint=checkpoint)
    if out:
        result.save(out)
    facts = row(result)
    if json:
        print_json(facts | {"common_confusion": result.common_confusion, "classes": result.classes})
        return
    title = f"Test accuracy in %, mean ± standard deviation over {len(result.seeds)} seeds"
    print_table(table([facts]), title, tuple(result.notes))
