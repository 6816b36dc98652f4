"""`crowdcore aggregate`: infer the true labels."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from crowdcore import aggregation
from crowdcore.aggregation.base import AggregationResult
from crowdcore.analysis import tagging_scores
from crowdcore.cli import _command as opt
from crowdcore.cli._output import STANDARD, print_json, print_notes, print_table, writing
from crowdcore.core.errors import SettingError
from crowdcore.core.types import IntArray
from crowdcore.data import CrowdDataset
from crowdcore.data.tags import scheme_of


class Temper(StrEnum):
    """Evidence by which a posterior is tempered."""

    dependence = "dependence"
    gold = "gold"


def accuracy(ds: CrowdDataset, result: AggregationResult) -> float:
    """Share of annotated tasks with gold whose inferred label is the gold one; NaN without gold."""
    judged = ds.annotated & (ds.gold >= 0)
    return float((result.labels[judged] == ds.gold[judged]).mean()) if judged.any() else float("nan")


def counted(ds: CrowdDataset, result: AggregationResult) -> dict[str, object]:
    """Count the tasks that got a label; of a crowd that tags tokens, the tokens and sentences."""
    n = int((result.labels >= 0).sum())
    if ds.sentences is None:
        return {"tasks": n}
    return {"tokens": n, "sentences": len(np.unique(ds.sentences.of_task[result.labels >= 0]))}


def span_facts(ds: CrowdDataset, labels: IntArray, of: str = "") -> dict[str, float]:
    """Precision, recall and F1 of the spans by gold, where there are spans and gold."""
    if ds.sentences is None or scheme_of(ds) is None or not (ds.gold[labels >= 0] >= 0).any():
        return {}
    scores = tagging_scores(ds, labels)
    return {f"{of}span_precision": scores.precision, f"{of}span_recall": scores.recall, f"{of}span_f1": scores.f1}


def aggregate(
    ds: CrowdDataset,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help=f"One of: {', '.join(aggregation.names())}.",
            autocompletion=opt.completes(aggregation.names),
        ),
    ] = "auto",
    set: opt.Settings = None,
    gold: Annotated[
        bool, typer.Option("--with-gold", help="Fix tasks with gold to their gold label (semi-supervised).")
    ] = False,
    temper: Annotated[
        Temper | None,
        typer.Option(help="Calibrate the posterior: by the labels' dependence, or on the gold labels."),
    ] = None,
    new: Annotated[
        Path | None,
        typer.Option(
            help="Write tags for sentences that nobody tagged (crf-ma).",
            metavar="FILE",
            callback=opt.is_table,
        ),
    ] = None,
    out: opt.Out = None,
    json: opt.Json = False,
) -> None:
    """Infer one label per task from many workers' labels; --out writes task, label, posterior and difficulty."""
    from crowdcore.data.writers import write_aggregated

    known = ds.gold if gold else None
    result = aggregation.get(method, **opt.settings(set)).fit(ds, known=known)
    if new and not result.tagger:
        raise SettingError("--new", "go with --method crf-ma, which learns to tag sentences", method)
    tagged = result.tagger.tag_new(ds) if result.tagger else np.full(ds.n_tasks, -1)
    if temper:
        result = aggregation.temper(result, ds, ds.gold if temper == Temper.gold else None, known=known)
    sure = None if temper else aggregation.confidence(ds, result, None if gold else ds.gold, known=known)
    notes = (*result.notes, *(sure.warnings if sure else ()))
    if new:
        write_aggregated(ds, tagged, new)
    if out:
        q, hard, foil = result.posterior, result.difficulty, result.foil
        with writing(out) as file:
            write_aggregated(ds, result.labels, file, posterior=q, difficulty=hard, foil=foil)
    if out == STANDARD:
        return
    gold_used = gold or temper == Temper.gold  # so that it cannot judge the labels
    facts = {
        "dataset": ds.name,
        "method": result.method,
        **counted(ds, result),
        "accuracy": float("nan") if gold_used else accuracy(ds, result),
        **({} if gold_used else span_facts(ds, result.labels)),
        **(span_facts(ds, tagged, "new_") if (tagged >= 0).any() else {}),
        "iterations": len(result.log_likelihood),
        "converged": result.converged,
        "stopped": result.stopped,
        "log_likelihood": result.log_likelihood[-1] if len(result.log_likelihood) else None,
        "seconds": result.seconds,
    }
    shares = dict(zip(ds.classes, np.bincount(result.labels[result.labels >= 0], minlength=ds.n_classes), strict=True))
    if json:
        print_json(facts | {"settings": result.settings, "notes": notes, "labels_per_class": shares})
        return
    rows = {name: value for name, value in facts.items() if value is not None and value == value}  # no NaN
    rows |= {f"labels: {name}": n for name, n in shares.items()}
    print_table(pd.DataFrame({"quantity": list(rows), "value": list(rows.values())}), f"{ds.name}: {method}", notes)
    if not out:
        print_notes(("--out FILE writes the labels.",))
