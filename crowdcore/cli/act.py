"""`crowdcore overview | next | rounds`: what to do about a crowd, and what changed since."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdcore.cli._command import Drawn, Shown
from crowdcore.cli._options import Accept, DatasetName, HideNames, Read, ReferenceName, open_dataset
from crowdcore.cli._output import Printed
from crowdcore.cli._runs import reference_named
from crowdcore.core.errors import SettingError
from crowdcore.exhibits import View, view

Share = Annotated[float, typer.Option(help="Share of the typical worker's skill below which workers are removed.")]
Trust = Annotated[float, typer.Option(help="Share of the typical worker's skill above which workers are trusted.")]
Confused = Annotated[
    float, typer.Option(help="Share of a class labelled as another from which the worker needs training.")
]
Sure = Annotated[float, typer.Option(help="Probability from which a task's label is accepted.")]


def overview(
    seen: View, remove: Share = 1 / 3, trust: Trust = 1 / 2, confused: Confused = 0.2, sure: Sure = 0.9
) -> Shown:
    """Whom to trust, train, check or remove; which tasks to label again; --out writes the list of actions."""
    from crowdcore.exhibits import verdicts as made

    name, counts = seen.dataset.name, made.verdicts(seen, remove, trust, confused, sure)
    workers, tasks = made.worker_verdicts(seen, remove, trust, confused), made.task_verdicts(seen, sure)
    mistakes = made.mistakes_in_words(seen)
    facts = {
        "dataset": name,
        "reference": seen.reference,
        "verdicts": counts.table,
        "workers": workers.table,
        "mistakes": mistakes.table,
        "tasks": tasks.table,
        "notes": counts.notes,
    }
    of_worker = workers.table[["worker", "verdict", "reason", "labels", "labels changed without"]]
    of_task = tasks.table[["task", "verdict", "label", "probability", "second label", "labels", "reason"]]
    printed = [
        Printed(counts.table, f"{name}: verdicts (reference: {seen.reference})", counts.notes),
        Printed(of_worker, workers.title, limit=20, wrapped=("reason",)),
        Printed(mistakes.table[["sentence", "q_value"]], mistakes.title, wrapped=("sentence",)),
        Printed(of_task, tasks.title, limit=10, wrapped=("reason",)),
    ]
    return Shown(facts, printed, made.actions(seen, remove, trust, confused, sure))


def next_labels(
    seen: View,
    budget: Annotated[int, typer.Option(help="Labels to ask for.", min=1)] = 100,
    capacity: Annotated[int, typer.Option(help="Maximum number of labels per worker; 0 = no limit.", min=0)] = 0,
    worker: Annotated[
        list[str] | None, typer.Option(help="A worker who is available; repeatable. Default: all.")
    ] = None,
    explore: Annotated[
        float, typer.Option(help="Weight of the information about the workers' confusions.", min=0)
    ] = 0.0,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="Include workers flagged by `crowdcore overview`.")
    ] = False,
) -> Shown:
    """Plan a budget of labels where they are most informative; --out writes the assignments."""
    from crowdcore.exhibits import next_labels as made

    asked = budget, capacity, explore, tuple(worker or ()), flagged
    assigned, workers = made.next_labels(seen, *asked), made.next_labels(seen, *asked, "worker")
    name = seen.dataset.name
    facts = {"dataset": name, "assignments": assigned.table, "workers": workers.table, "notes": assigned.notes}
    printed = [
        Printed(workers.table, f"{name}: {workers.title}", limit=20),
        Printed(assigned.table, assigned.title, assigned.notes, 20),
    ]
    return Shown(facts, printed, assigned)


def rounds(
    first: DatasetName,
    second: Annotated[str, typer.Argument(help="The second round; without it, --by splits the first dataset.")] = "",
    by: Annotated[str, typer.Option(help="How to split one dataset: halves, date, or a column.")] = "",
    at: Annotated[
        str, typer.Option(help="Where the second round begins, or its value in the column; for halves, the seed.")
    ] = "",
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    read: Read = None,
    accept: Accept = False,
) -> Drawn:
    """What improved from one round to the next, who changed, and is it more than noise? --out writes the workers."""
    from crowdcore import analysis
    from crowdcore.exhibits import two_rounds as made

    if bool(second) == bool(by):
        given = f"SECOND {second!r} and --by {by!r}" if second else "neither"
        raise SettingError("rounds", "be two datasets, or one and --by halves, date or a column", given)
    ds = open_dataset(first, read, accept)
    if second:
        ds, by = analysis.join_rounds(ds, open_dataset(second, read, accept)), "round"
    seen = view(ds, reference_named(reference, ds), hidden=hide_names)
    measures, mistakes, workers = (
        show(seen, by, at) for show in (made.two_rounds, made.round_mistakes, made.round_workers)
    )
    facts = {
        "dataset": ds.name,
        "reference": seen.reference,
        "rounds": measures.title,
        "measures": measures.table,
        "mistakes": mistakes.table,
        "workers": workers.table,
        "notes": measures.notes,
    }
    printed = [
        Printed(measures.table, f"{ds.name}: {measures.title} (reference: {seen.reference})", measures.notes),
        Printed(mistakes.table, mistakes.title, mistakes.notes, 15),
        Printed(workers.table, workers.title, workers.notes, 20),
    ]
    return Drawn(facts, printed, workers)
