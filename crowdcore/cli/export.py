"""`crowdcore export`: write a dataset in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, HideNames, Json, Read, open_dataset
from crowdcore.cli._output import print_json


def export(
    dataset: DatasetName,
    target: Annotated[
        Path, typer.Argument(help="A folder (our format), or a .csv, .parquet (long table) or .conll file.")
    ],
    hide_names: HideNames = False,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Write a dataset as a folder in our format, its annotations as one long table, or its tags as CoNLL columns."""
    from crowdcore.data.pseudonyms import hide_names as without_names, in_order
    from crowdcore.data.writers import write_conll, write_folder, write_long

    ds = open_dataset(dataset, accept, read)
    ds = in_order(without_names(ds)) if hide_names else ds
    if target.suffix in {".csv", ".parquet"}:
        write_long(ds, target)
    elif target.suffix == ".conll":
        write_conll(ds, target)
    else:
        write_folder(ds, target)
    facts = {"dataset": ds.name, "written": str(target), "annotations": ds.n_annotations, "tasks": ds.n_tasks}
    print_json(facts) if json else print(f"{ds.name}: {ds.n_annotations} annotations on {ds.n_tasks} tasks -> {target}")
