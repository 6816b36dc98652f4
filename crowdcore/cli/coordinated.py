"""`crowdcore coordinated`: workers who act together, and what they change."""

from __future__ import annotations

from crowdcore.cli._options import Accept, DatasetName, Figure, HideNames, Json, Out, Read, ReferenceName
from crowdcore.cli._output import print_json, print_table, save_exhibit
from crowdcore.cli._runs import open_view

_SHOWN = ["group", "workers", "adjusted p", "shared tasks", "labels changed", "become right", "become wrong"]


def coordinated(
    dataset: DatasetName,
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Which workers copy each other or push the same mistake, and what do they change? --out writes the groups."""
    from crowdcore import exhibits

    seen = open_view(dataset, reference, hide_names, read=read, accept=accept)
    exhibit = exhibits.coordinated.coordinated_workers(seen)
    save_exhibit(exhibit, out, figure)
    if json:
        changed = seen.renamed(exhibits.coordinated.coordinated(seen)).changed_labels()
        told = {"dataset": seen.dataset.name, "reference": seen.reference, "groups": exhibit.table}
        print_json({**told, "changed labels": changed, "notes": exhibit.notes})
        return
    title = f"{seen.dataset.name}: coordinated workers (reference: {seen.reference})"
    print_table(exhibit.table[_SHOWN], title, exhibit.notes, wrapped=["workers"])
