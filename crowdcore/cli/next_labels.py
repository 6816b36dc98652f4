"""`crowdcore next`: which tasks to give to which workers next."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, HideNames, Json, Out, Read, open_dataset
from crowdcore.cli._output import print_json, print_table, save_exhibit


def next_labels(
    dataset: DatasetName,
    budget: Annotated[int, typer.Option(help="Labels to ask for.", min=1)] = 100,
    capacity: Annotated[int, typer.Option(help="Most labels of each worker; 0 = no limit.", min=0)] = 0,
    worker: Annotated[
        list[str] | None, typer.Option(help="A worker who is available; repeatable. Default: all.")
    ] = None,
    explore: Annotated[float, typer.Option(help="Weight of what is learnt about the workers.", min=0)] = 0.0,
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Spend a budget of labels where they are expected to tell most; --out writes the assignments."""
    from crowdcore import exhibits

    ds = open_dataset(dataset, accept, read)
    seen = exhibits.view(ds, "majority-vote", hidden=hide_names)
    asked = budget, capacity, explore, tuple(worker or ())
    assigned = exhibits.next_labels.next_labels(seen, *asked)
    workers = exhibits.next_labels.next_labels_per_worker(seen, *asked)
    save_exhibit(assigned, out, None)
    if json:
        shown = {"dataset": ds.name, "assignments": assigned.table, "workers": workers.table, "notes": assigned.notes}
        print_json(shown)
        return
    print_table(workers.table, f"{ds.name}: {workers.title}", limit=20)
    print_table(assigned.table, assigned.title, assigned.notes, limit=20)
