"""`crowdcore info | mistakes | distances | quality | coordinated | spans`: the statistics of the analysis pages."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
import typer

from crowdcore.cli._command import Drawn, Shown, TaggedView
from crowdcore.cli._options import Json
from crowdcore.cli._output import Printed, print_json, print_table
from crowdcore.exhibits import View


def info(seen: View, json: Json = False) -> None:
    """Summarise a dataset: counts, noise rates, agreement, and notes from reading it."""
    from crowdcore import analysis
    from crowdcore.analysis.reference import notes_on_unjudged

    ds = seen.dataset
    summary, agreement = seen.of(analysis.summary), seen.renamed(analysis.agreement(ds))
    if json:
        facts = {"dataset": ds.name, "fingerprint": ds.fingerprint, "notes": seen.notes}
        print_json({**facts, "summary": summary, "agreement": agreement})
        return
    notes = (*seen.notes, *notes_on_unjudged(ds, seen.truth))
    print_table(summary.frame(), f"{ds.name}: summary (reference: {summary.reference})", notes)
    print_table(agreement.frame(), "Agreement between workers")


def mistakes(seen: View) -> Drawn:
    """Which mistakes do workers share? Percentage of workers behind each confusion (Fig. 1 of CoNAL)."""
    from crowdcore import analysis, exhibits
    from crowdcore.analysis.reference import notes_on_unjudged

    result, name = seen.of(analysis.shared_mistakes), seen.dataset.name
    frame = result.frame()
    wrong = frame[frame["true"] != frame["given"]].sort_values("percent", ascending=False)
    shown = wrong[["true", "given", "percent", "workers", "expected", "tasks", "carriers", "annotations", "q_value"]]
    title = f"{name}: shared mistakes (reference: {result.reference})"
    facts = {"dataset": name, "mistakes": result}
    notes = (result.null, *notes_on_unjudged(seen.dataset, seen.truth))
    return Drawn(facts, [Printed(shown, title, notes, 15)], exhibits.mistakes.shared_mistakes(seen))


def distances(
    seen: View,
    kind: Annotated[
        Literal["shrunken-mse", "mse", "shared-mse", "jensen-shannon"],
        typer.Option(help="The distance: of errors beyond chance, or mse as in CCC's Fig. 3, or over shared classes."),
    ] = "shrunken-mse",
    groups: Annotated[int | None, typer.Option(help="Cut the tree into this many groups.")] = None,
) -> Drawn:
    """How far apart are the workers' confusions (--kind mse: CCC, Fig. 3), and which workers group together?"""
    from crowdcore import analysis, exhibits

    ds = seen.dataset
    distance = seen.renamed(analysis.worker_distance(ds, seen.truth, kind=kind))
    found = analysis.order_workers(distance, n_groups=groups)
    order = found.order
    facts = {"dataset": ds.name, "workers": seen.workers, "distance": distance, "order": order, "groups": found.groups}
    matrix = np.where(np.eye(ds.n_workers, dtype=bool), np.nan, distance.matrix)
    nearest = np.where(np.isnan(matrix).all(1), 0, np.nanargmin(np.where(np.isnan(matrix), np.inf, matrix), axis=1))
    columns = {
        "worker": seen.names_of(order),
        "group": found.groups[order],
        "nearest": seen.names_of(nearest[order]),
        "distance": matrix[order, nearest[order]],
        "overlap": distance.overlap[order, nearest[order]],
    }
    title = f"{ds.name}: workers in tree order ({kind}, reference: {distance.reference})"
    words = exhibits.workers.worker_groups(seen, kind, groups).notes
    drawn = exhibits.workers.worker_distances(seen, kind, groups)
    return Drawn(facts, [Printed(pd.DataFrame(columns), title, words)], drawn)


def quality(seen: View) -> Shown:
    """How good is each worker: accuracy, skill, bits per label, single-answer and random-answer signals."""
    from crowdcore import analysis

    result, name = seen.renamed(seen.of(analysis.worker_quality)), seen.dataset.name
    frame = seen.in_order(result.frame())
    facts = {"dataset": name, "reference": result.reference, "workers": frame}
    return Shown(facts, [Printed(frame, f"{name}: workers (reference: {result.reference})")], frame)


def coordinated(seen: View) -> Drawn:
    """Which workers copy each other or push the same mistake, and what do they change? --out writes the groups."""
    from crowdcore import exhibits

    exhibit, name = exhibits.coordinated.coordinated_workers(seen), seen.dataset.name
    changed = seen.renamed(exhibits.coordinated.coordinated(seen)).changed_labels()
    facts = {"dataset": name, "reference": seen.reference, "groups": exhibit.table, "changed labels": changed}
    columns = ["group", "workers", "adjusted p", "shared tasks", "labels changed", "become right", "become wrong"]
    title = f"{name}: coordinated workers (reference: {seen.reference})"
    printed = Printed(exhibit.table[columns], title, exhibit.notes, wrapped=["workers"])
    return Drawn({**facts, "notes": exhibit.notes}, [printed], exhibit)


def spans(seen: TaggedView) -> Drawn:
    """Who finds the spans: precision, recall, F1, kinds of errors, types taken for others, boundary errors."""
    from crowdcore.exhibits import spans as made

    name, scores, errors = seen.dataset.name, made.span_scores(seen), made.span_errors(seen)
    types, boundaries = made.span_types(seen), made.span_boundaries(seen)
    parts = {"workers": scores.table, "types": types.table, "boundaries": boundaries.table}
    columns = ["worker", "sentences", "precision", "recall", "f1", "f1_low", "f1_high", "invalid_tags"]
    wrong = types.table[types.table["true"] != types.table["given"]].sort_values("percent", ascending=False)
    printed = [
        Printed(scores.table[columns], f"{name}: spans (reference: {seen.reference})", scores.notes, 60),
        Printed(errors.table, errors.title, errors.notes, 60),
        Printed(wrong[["true", "given", "percent", "workers", "annotations"]], types.title, limit=15),
        Printed(boundaries.table, boundaries.title, boundaries.notes),
    ]
    return Drawn({"dataset": name, "reference": seen.reference, **parts}, printed, scores)
