"""`crowdcore rounds`: two rounds of labelling side by side."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, Figure, HideNames, Json, Out, Read, ReferenceName, open_dataset
from crowdcore.cli._output import print_json, print_table, save_exhibit
from crowdcore.cli._runs import reference_named
from crowdcore.core.errors import SettingError


def rounds(
    first: DatasetName,
    second: Annotated[str, typer.Argument(help="The second round; without it, --by splits the first dataset.")] = "",
    by: Annotated[str, typer.Option(help="How to split one dataset: halves, date, or a column.")] = "",
    at: Annotated[
        str, typer.Option(help="Where the second round begins, or its value of the column; of halves the seed.")
    ] = "",
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """What got better from one round to the next, who changed, and is it more than noise? --out writes the workers."""
    from crowdcore import analysis, exhibits

    if bool(second) == bool(by):
        given = f"SECOND {second!r} and --by {by!r}" if second else "neither"
        raise SettingError("rounds", "be two datasets, or one and --by halves, date or a column", given)
    ds = open_dataset(first, accept, read)
    if second:
        ds, by = analysis.join_rounds(ds, open_dataset(second, accept, read)), "round"
    seen, made = exhibits.view(ds, reference_named(reference, ds), hidden=hide_names), exhibits.two_rounds
    measures, mistakes, workers = (
        show(seen, by, at) for show in (made.two_rounds, made.round_mistakes, made.round_workers)
    )
    save_exhibit(workers, out, figure)
    if json:
        print_json(
            {
                "dataset": ds.name,
                "reference": seen.reference,
                "rounds": measures.title,
                "measures": measures.table,
                "mistakes": mistakes.table,
                "workers": workers.table,
                "notes": measures.notes,
            }
        )
        return
    print_table(measures.table, f"{ds.name}: {measures.title} (reference: {seen.reference})", measures.notes)
    print_table(mistakes.table, mistakes.title, mistakes.notes, limit=15)
    print_table(workers.table, workers.title, workers.notes, limit=20)
