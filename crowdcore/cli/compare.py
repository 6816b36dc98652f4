"""`crowdcore compare`: accuracies of many methods on one or more datasets, side by side."""

from __future__ import annotations

from typing import Annotated, Any

import pandas as pd
import typer

from crowdcore import aggregation
from crowdcore.cli._options import Accept, Json, Out, open_dataset
from crowdcore.cli._output import print_json, print_table, save_table
from crowdcore.cli.aggregate import accuracy
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data import CrowdDataset


def _row(ds: CrowdDataset, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"dataset": ds.name, "method": name}
    try:
        result = aggregation.get(name).fit(ds)
    except DataError as refusal:  # a method whose assumptions this dataset breaks is a row that says so
        return {**row, "accuracy": float("nan"), "seconds": float("nan"), "notes": [str(refusal)]}
    return {**row, "accuracy": accuracy(ds, result), "seconds": result.seconds, "notes": list(result.notes)}


def compare(
    datasets: Annotated[list[str], typer.Argument(help="Datasets by name or path.")],
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="A method; may be repeated. Default: every aggregator.")
    ] = None,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table (methods × datasets).")] = False,
    out: Out = None,
    accept: Accept = False,
) -> None:
    """Accuracy of every aggregator on datasets with gold: share of annotated tasks with gold labelled right."""
    rows = []
    for name in datasets:
        ds = open_dataset(name, accept)
        if not ds.has_gold:
            raise CrowdError(f"{ds.name} has no gold labels on annotated tasks, so accuracies cannot be compared.")
        rows += [_row(ds, m) for m in method or aggregation.names()]
    frame = pd.DataFrame(rows)
    wide = frame.pivot(index="method", columns="dataset", values="accuracy")[frame["dataset"].unique()]
    if out:
        save_table(frame.assign(notes=frame["notes"].str.join(" ")), out)
    if json:
        print_json(rows)
    elif markdown:
        print(_markdown(wide.loc[frame["method"].unique()]))
    else:
        notes = {f"{r['method']} on {r['dataset']}: {note}": None for r in rows for note in r["notes"]}
        print_table((100 * wide).round(2).reset_index(), "Accuracy in %", tuple(notes))


def _markdown(table: pd.DataFrame) -> str:
    """A Markdown table of percentages, the best of each column in bold."""
    best = table.max()
    lines = [f"| method | {' | '.join(table.columns)} |", "|---" * (len(table.columns) + 1) + "|"]
    for name, row in table.iterrows():
        cells = [
            "–" if pd.isna(v) else f"{'**' if v == best[c] else ''}{100 * v:.1f}{'**' if v == best[c] else ''}"
            for c, v in row.items()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
