"""`crowdcore ratings train`, `compare` and `biases`: learn from labels that are numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
import typer

from crowdcore.cli._command import Drawn, Shown
from crowdcore.cli._options import (
    Checkpoint,
    Device,
    Epochs,
    HideNames,
    Json,
    OutFolder,
    Seed,
    Seeds,
    Settings,
    with_epochs,
)
from crowdcore.cli._output import Printed, print_json, print_table
from crowdcore.cli._training import train_one
from crowdcore.core.errors import SettingError
from crowdcore.data import RatingDataset
from crowdcore.learning.settings import SEEDS

if TYPE_CHECKING:
    from crowdcore.core.types import FloatArray
    from crowdcore.learning import RatingsResult

_METRICS: tuple[Literal["mae", "rmse", "r2"], ...] = ("mae", "rmse", "r2")

MethodName = Annotated[
    str, typer.Option("--method", "-m", help="crowd-layer, dl-em, dl-mean, dl-true, doctor-net or wdn.")
]


def train(
    ds: RatingDataset,
    method: MethodName = "crowd-layer",
    seeds: Seeds = SEEDS,
    seed: Seed = None,
    epochs: Epochs = None,
    device: Device = "auto",
    set: Settings = None,
    out: OutFolder = None,
    checkpoint: Checkpoint = None,
    json: Json = False,
) -> None:
    """Train a network that predicts ratings; errors are of the selected | last | best epoch on the test split."""
    learn(ds, method, seed or seeds, device, with_epochs(set, epochs), out, checkpoint, json)


def learn(
    ds: RatingDataset,
    method: str,
    seeds: int | Sequence[int],
    device: str,
    given: Mapping[str, Any],
    out: Path | None,
    checkpoint: Path | None,
    json: bool,
) -> None:
    """Train, and print the errors."""
    from crowdcore.learning import train_ratings

    result = train_one(train_ratings, ds, method, seeds, device, given, checkpoint)
    if out:
        result.save(out)
    table = _errors(result)
    if json:
        print_json(
            {"dataset": ds.name, "method": result.title, "seeds": result.seeds, "errors": table, "notes": result.notes}
        )
        return
    title = f"{ds.name}: test errors of {result.title}, mean ± standard deviation over {len(result.seeds)} seeds"
    print_table(table.assign(**{m: table[m].map(_spread) for m in _METRICS}), title, result.notes)


def compare(
    ds: RatingDataset,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="A row of the paper's table, such as 'DL-CL (B)'; default: all.")
    ] = None,
    seeds: Seeds = 10,
    epochs: Epochs = None,
    device: Device = "auto",
    set: Settings = None,
    at: Annotated[str, typer.Option(help="Epoch: selected, last or best.")] = "selected",
) -> Shown:
    """Train the rows of the crowd layer's table with the same seeds, and test them against DL-MEAN."""
    from crowdcore.learning import RATING_ROWS, compare_ratings, train_ratings

    results = {}
    for name in row or RATING_ROWS:
        if name not in RATING_ROWS:
            raise SettingError("--row", f"be one of {', '.join(RATING_ROWS)}", name)
        method, own = RATING_ROWS[name]
        given = {**with_epochs(set, epochs), **own}
        results[name] = train_one(train_ratings, ds, method, seeds, device, given)
    table = compare_ratings(results, at)  # type: ignore[arg-type]  # a wrong epoch is refused
    notes = next(iter(results.values())).notes
    facts = {"at": at, "seeds": seeds, "table": table, "notes": notes}
    return Shown(facts, [Printed(table, f"{ds.name}: test errors of the {at} epoch, {seeds} seeds", notes)], table)


def biases(
    ds: RatingDataset,
    run: Annotated[Path | None, typer.Option(help="A folder that `ratings train --out` wrote; default: train.")] = None,
    connection: Annotated[str, typer.Option(help="Connection of the trained crowd layer: b or s+b.")] = "b",
    seeds: Seeds = SEEDS,
    epochs: Epochs = None,
    device: Device = "auto",
    least: Annotated[int, typer.Option(help="Minimum number of ratings of a worker.", min=1)] = 10,
    hide_names: HideNames = False,
) -> Drawn:
    """Learnt biases of the workers beside the true ones (Rodrigues & Pereira 2018, Fig. 4)."""
    from crowdcore.exhibits.ratings import rating_biases
    from crowdcore.learning import load_ratings_result, train_ratings

    given = {**with_epochs(None, epochs), "connection": connection}
    result = load_ratings_result(run) if run else train_one(train_ratings, ds, "crowd-layer", seeds, device, given)
    shown = rating_biases(ds, result, least=least, hidden=hide_names)
    facts = {"name": shown.name, "title": shown.title, "notes": shown.notes, "table": shown.table}
    return Drawn(facts, [Printed(shown.table, shown.title, shown.notes)], shown)


def _errors(result: RatingsResult) -> pd.DataFrame:
    """A row per epoch that counts, with the (S,) errors of the test split."""
    epochs: tuple[Literal["selected", "last", "best"], ...] = ("selected", "last", "best")
    return pd.DataFrame([{"epoch": at, **{m: result.score(m, at=at) for m in _METRICS}} for at in epochs])


def _spread(values: FloatArray) -> str:
    return f"{values.mean():.4f}" + (f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else "")
