"""`crowdcore overview`: what this crowd did, and what to do about it."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdcore.cli._options import Accept, DatasetName, HideNames, Json, Out, Read, ReferenceName
from crowdcore.cli._output import print_json, print_table, save_exhibit
from crowdcore.cli._runs import open_view

Share = Annotated[float, typer.Option(help="Share of the typical worker's skill below which a worker is removed.")]
Trust = Annotated[float, typer.Option(help="Share of the typical skill above which a worker is trusted.")]
Confused = Annotated[float, typer.Option(help="Share of a class from which a confusion is worth training.")]
Sure = Annotated[float, typer.Option(help="Probability from which a task's label is taken.")]


def overview(
    dataset: DatasetName,
    reference: ReferenceName = "",
    remove: Share = 1 / 3,
    trust: Trust = 1 / 2,
    confused: Confused = 0.2,
    sure: Sure = 0.9,
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Whom to trust, train, check or remove; which tasks to label again; --out writes the list of actions."""
    from crowdcore import exhibits

    seen = open_view(dataset, reference, hide_names, read=read, accept=accept)
    ds, made = seen.dataset, exhibits.verdicts
    counts, todo = made.verdicts(seen, remove, trust, confused, sure), made.actions(seen, remove, trust, confused, sure)
    workers, tasks = made.worker_verdicts(seen, remove, trust, confused), made.task_verdicts(seen, sure)
    mistakes = made.mistakes_in_words(seen)
    save_exhibit(todo, out, None)
    if json:
        print_json(
            {
                "dataset": ds.name,
                "reference": seen.reference,
                "verdicts": counts.table,
                "workers": workers.table,
                "mistakes": mistakes.table,
                "tasks": tasks.table,
                "notes": counts.notes,
            }
        )
        return
    print_table(counts.table, f"{ds.name}: verdicts (reference: {seen.reference})", counts.notes)
    columns = ["worker", "verdict", "reason", "labels", "labels changed without"]
    print_table(workers.table[columns], workers.title, limit=20, wrapped=("reason",))
    print_table(mistakes.table[["sentence", "q_value"]], mistakes.title, wrapped=("sentence",))
    columns = ["task", "verdict", "label", "probability", "second label", "labels", "reason"]
    print_table(tasks.table[columns], tasks.title, limit=10, wrapped=("reason",))
