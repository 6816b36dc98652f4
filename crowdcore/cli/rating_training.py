"""`crowdcore ratings train`, `compare` and `biases`: learn from labels that are numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
import typer

from crowdcore.cli._options import (
    Accept,
    Device,
    Epochs,
    Figure,
    HideNames,
    Json,
    Out,
    Read,
    Seed,
    Seeds,
    Settings,
    settings,
)
from crowdcore.cli._output import print_json, print_table, progress, save_exhibit, save_table
from crowdcore.cli.ratings import open_ratings
from crowdcore.core.errors import SettingError
from crowdcore.learning.settings import SEEDS

if TYPE_CHECKING:
    from crowdcore.core.types import FloatArray
    from crowdcore.data import RatingDataset
    from crowdcore.learning import Event, RatingsResult

__all__ = ["biases", "compare", "learn", "train"]

_METRICS: tuple[Literal["mae", "rmse", "r2"], ...] = ("mae", "rmse", "r2")

RatingsName = Annotated[str, typer.Argument(help="Name of a dataset whose labels are numbers, or a path to one.")]
MethodName = Annotated[
    str, typer.Option("--method", "-m", help="crowd-layer, dl-em, dl-mean, dl-true, doctor-net or wdn.")
]


def train(
    dataset: RatingsName,
    method: MethodName = "crowd-layer",
    seeds: Seeds = SEEDS,
    seed: Seed = None,
    epochs: Epochs = None,
    device: Device = "auto",
    set: Settings = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the result in this folder.")] = None,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Train a network that predicts ratings; errors are of the selected | last | best epoch on the test split."""
    learn(open_ratings(dataset, read, accept), method, seed or seeds, device, _given(set, epochs), out, json)


def learn(
    ds: RatingDataset,
    method: str,
    seeds: int | Sequence[int],
    device: str,
    given: Mapping[str, Any],
    out: Path | None,
    json: bool,
) -> None:
    """Train, and print the errors."""
    result = _trained(ds, method, seeds, device, given)
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
    dataset: RatingsName,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="A row of the paper's table, such as 'DL-CL (B)'; default: all.")
    ] = None,
    seeds: Seeds = 10,
    epochs: Epochs = None,
    device: Device = "auto",
    set: Settings = None,
    at: Annotated[str, typer.Option(help="Epoch: selected, last or best.")] = "selected",
    out: Out = None,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Train the rows of the crowd layer's table with the same seeds, and test them against DL-MEAN."""
    from crowdcore.learning import RATING_ROWS, compare_ratings

    ds, results = open_ratings(dataset, read, accept), {}
    for name in row or RATING_ROWS:
        if name not in RATING_ROWS:
            raise SettingError("--row", f"be one of {', '.join(RATING_ROWS)}", name)
        method, own = RATING_ROWS[name]
        results[name] = _trained(ds, method, seeds, device, {**_given(set, epochs), **own})
    table = compare_ratings(results, at)  # type: ignore[arg-type]  # a wrong epoch is refused
    if out:
        save_table(table, out)
    notes = next(iter(results.values())).notes
    if json:
        print_json({"at": at, "seeds": seeds, "table": table, "notes": notes})
        return
    print_table(table, f"{ds.name}: test errors of the {at} epoch, {seeds} seeds", notes)


def biases(
    dataset: RatingsName,
    run: Annotated[Path | None, typer.Option(help="A folder that `ratings train --out` wrote; default: train.")] = None,
    connection: Annotated[str, typer.Option(help="Of the crowd layer that is trained: b or s+b.")] = "b",
    seeds: Seeds = SEEDS,
    epochs: Epochs = None,
    device: Device = "auto",
    least: Annotated[int, typer.Option(help="Ratings from which a worker counts.", min=1)] = 10,
    hide_names: HideNames = False,
    json: Json = False,
    out: Out = None,
    figure: Figure = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Learnt biases of the workers beside the true ones (Rodrigues & Pereira 2018, Fig. 4)."""
    from crowdcore.exhibits.rating_biases import rating_biases
    from crowdcore.learning import load_ratings_result

    ds = open_ratings(dataset, read, accept)
    given = {**_given(None, epochs), "connection": connection}
    result = load_ratings_result(run) if run else _trained(ds, "crowd-layer", seeds, device, given)
    shown = rating_biases(ds, result, least=least, hidden=hide_names)
    save_exhibit(shown, out, figure)
    if json:
        print_json({"name": shown.name, "title": shown.title, "notes": shown.notes, "table": shown.table})
        return
    print_table(shown.table, shown.title, shown.notes)


def _given(pairs: list[str] | None, epochs: int | None) -> dict[str, Any]:
    return settings(pairs) | ({} if epochs is None else {"epochs": epochs})


def _trained(
    dataset: RatingDataset, method: str, seeds: int | Sequence[int], device: str, given: Mapping[str, Any]
) -> RatingsResult:
    """Train one method with a progress bar."""
    from crowdcore.learning import EpochEvent, train_ratings

    with progress() as tell:

        def listen(event: Event) -> None:
            if isinstance(event, EpochEvent):
                tell(event.done, f"{method} on {dataset.name}, {event.at}")

        return train_ratings(dataset, method, seeds=seeds, device=device, on_event=listen, **given)


def _errors(result: RatingsResult) -> pd.DataFrame:
    """A row per epoch that counts, with the (S,) errors of the test split."""
    epochs: tuple[Literal["selected", "last", "best"], ...] = ("selected", "last", "best")
    return pd.DataFrame([{"epoch": at, **{m: result.score(m, at=at) for m in _METRICS}} for at in epochs])


def _spread(values: FloatArray) -> str:
    return f"{values.mean():.4f}" + (f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else "")
