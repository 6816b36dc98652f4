"""`crowdcore info | mistakes | distances | quality`: the statistics of the analysis pages."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
import typer

from crowdcore.cli._options import Accept, DatasetName, Figure, HideNames, Json, Out, Read, ReferenceName
from crowdcore.cli._output import print_json, print_table, save_exhibit, save_table
from crowdcore.cli._runs import open_view


def info(
    dataset: DatasetName,
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Summarise a dataset: counts, noise rates, agreement, what was noticed while reading."""
    from crowdcore import analysis

    seen = open_view(dataset, reference, hide_names, read=read, accept=accept)
    ds = seen.dataset
    summary = seen.of(analysis.summary)
    agreement = seen.renamed(analysis.agreement(ds))
    if json:
        print_json(
            {
                "dataset": ds.name,
                "fingerprint": ds.fingerprint,
                "notes": seen.notes,
                "summary": summary,
                "agreement": agreement,
            }
        )
        return
    print_table(summary.frame(), f"{ds.name}: summary (reference: {summary.reference})", seen.notes)
    print_table(agreement.frame(), "Agreement between workers")


def mistakes(
    dataset: DatasetName,
    reference: ReferenceName = "",
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Which mistakes do workers share? Percentage of workers behind each confusion (Fig. 1 of CoNAL)."""
    from crowdcore import analysis, exhibits

    seen = open_view(dataset, reference, read=read, accept=accept)
    ds = seen.dataset
    exhibit, result = exhibits.mistakes.shared_mistakes(seen), seen.of(analysis.shared_mistakes)
    save_exhibit(exhibit, out, figure)
    if json:
        print_json({"dataset": ds.name, "mistakes": result})
        return
    frame = result.frame()
    wrong = frame[frame["true"] != frame["given"]].sort_values("percent", ascending=False)
    shown = wrong[["true", "given", "percent", "workers", "expected", "tasks", "carriers", "annotations", "q_value"]]
    print_table(shown, f"{ds.name}: shared mistakes (reference: {result.reference})", (result.null,), limit=15)


def distances(
    dataset: DatasetName,
    reference: ReferenceName = "",
    kind: Annotated[Literal["mse", "shared-mse", "jensen-shannon"], typer.Option(help="The distance.")] = "mse",
    groups: Annotated[int | None, typer.Option(help="Cut the tree into this many groups.")] = None,
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """How far apart are the workers' confusion matrices (Fig. 3 of CCC), and which workers group together?"""
    from crowdcore import analysis, exhibits

    seen = open_view(dataset, reference, hide_names, read=read, accept=accept)
    ds = seen.dataset
    exhibit = exhibits.workers.worker_distances(seen, kind, groups)
    distance = seen.renamed(analysis.worker_distance(ds, seen.truth, kind=kind))
    order = analysis.order_workers(distance, n_groups=groups)
    save_exhibit(exhibit, out, figure)
    if json:
        print_json(
            {
                "dataset": ds.name,
                "workers": seen.workers,
                "distance": distance,
                "order": order.order,
                "groups": order.groups,
            }
        )
        return
    matrix = np.where(np.eye(ds.n_workers, dtype=bool), np.nan, distance.matrix)
    nearest = np.where(np.isnan(matrix).all(1), 0, np.nanargmin(np.where(np.isnan(matrix), np.inf, matrix), axis=1))
    frame = pd.DataFrame(
        {
            "worker": seen.names_of(order.order),
            "group": order.groups[order.order],
            "nearest": seen.names_of(nearest[order.order]),
            "distance": matrix[order.order, nearest[order.order]],
            "overlap": distance.overlap[order.order, nearest[order.order]],
        }
    )
    print_table(frame, f"{ds.name}: workers in tree order ({kind}, reference: {distance.reference})")


def quality(
    dataset: DatasetName,
    reference: ReferenceName = "",
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """How good is each worker: accuracy, skill, bits per label, single-answer and random-answer signals."""
    from crowdcore import analysis

    seen = open_view(dataset, reference, hide_names, read=read, accept=accept)
    ds = seen.dataset
    result = seen.renamed(seen.of(analysis.worker_quality))
    frame = seen.in_order(result.frame())
    if out:
        save_table(frame, out)
    if json:
        print_json({"dataset": ds.name, "reference": result.reference, "workers": frame})
        return
    print_table(frame, f"{ds.name}: workers (reference: {result.reference})")
