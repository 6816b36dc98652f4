"""Running learning methods from the command line: progress with time left, rows and tables of their accuracies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crowdcore.data import CrowdDataset

if TYPE_CHECKING:
    from crowdcore.learning import Event, TrainingResult

__all__ = ["over_seeds", "table", "train_one"]


@contextmanager
def _progress(title: str) -> Iterator[Any]:
    """A progress bar on standard error, which shows only where a person looks on; yields a listener of events."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from crowdcore.learning.training.events import EpochEvent

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        line = bar.add_task(title, total=1.0)

        def listen(event: Event) -> None:
            if isinstance(event, EpochEvent):  # notes are told once, with the result
                bar.update(line, completed=event.done, description=f"{title}, {event.at}")

        yield listen


def train_one(
    dataset: CrowdDataset,
    method: str,
    seeds: int | Sequence[int],
    device: str,
    settings: Mapping[str, Any],
    **checkpoint: Any,
) -> TrainingResult:
    """Train one method with a progress bar."""
    from crowdcore import learning

    with _progress(f"{method} on {dataset.name}") as listen:
        return learning.train(dataset, method, seeds=seeds, device=device, on_event=listen, **checkpoint, **settings)


def over_seeds(n_seeds: int) -> str:
    """What the numbers of `table` are over so many seeds."""
    return "one seed" if n_seeds == 1 else f"mean ± standard deviation over {n_seeds} seeds"


def table(rows: list[dict[str, Any]], kinds: bool = False) -> pd.DataFrame:
    """The rows for people: accuracies in % as mean ± standard deviation over seeds, then the ensemble of the seeds.

    Args:
        rows: from `comparison.row`.
        kinds: say too what selected the epochs and named the classes.
    """
    from crowdcore.learning.comparison.features_seen import SEEN
    from crowdcore.learning.comparison.selected_by import WAYS
    from crowdcore.learning.comparison.summary import NAMES, together_name

    def spread(entry: dict[str, Any], at: str) -> str:
        mean, std = 100 * entry[f"{at}_mean"], 100 * entry[f"{at}_std"]
        return "–" if np.isnan(mean) else f"{mean:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")

    told = []
    several = len({r["features_seen"] for r in rows}) > 1
    for r in sorted(rows, key=lambda r: list(SEEN).index(r["features_seen"])):
        common = {
            "seeds": len(r["seeds"]),
            "seconds": f"{r['seconds']:.1f}",
            "annotations/s": f"{r['annotations_per_second']:,.0f}",
        }
        if several:
            common |= {"features without labels": SEEN[r["features_seen"]]}
        if kinds:
            common |= {"selected by": WAYS[r["selected_by"]], "names": NAMES.get(r["names"], r["names"])}
        reached = {at: spread(r, at) for at in ("selected", "last", "best")}
        told.append({"dataset": r["dataset"], "method": r["method"], **reached, **common})
        if len(r["seeds"]) > 1 and not np.isnan(r["ensemble_selected"]):
            together = {at: f"{100 * r[f'ensemble_{at}']:.2f}" for at in ("selected", "last")} | {"best": "–"}
            name = together_name(r["method"])
            told.append({"dataset": r["dataset"], "method": name, **together, **common, "seconds": "–"})
    return pd.DataFrame(told)
