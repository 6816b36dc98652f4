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

__all__ = ["table", "train_one"]


@contextmanager
def _progress(title: str) -> Iterator[Any]:
    """A progress bar on standard error, which shows only where a person looks on; yields a listener of events."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from crowdcore.learning.events import EpochEvent

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
                bar.update(line, completed=event.done, description=f"{title}, epoch {event.epoch}/{event.epochs}")

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


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows for people: accuracies in % as mean ± standard deviation over seeds."""

    def spread(entry: dict[str, Any], at: str) -> str:
        mean, std = 100 * entry[f"{at}_mean"], 100 * entry[f"{at}_std"]
        return "–" if np.isnan(mean) else f"{mean:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")

    return pd.DataFrame(
        [
            {
                "dataset": r["dataset"],
                "method": r["method"],
                **{at: spread(r, at) for at in ("selected", "last", "best")},
                "seeds": len(r["seeds"]),
                "seconds": f"{r['seconds']:.1f}",
                "annotations/s": f"{r['annotations_per_second']:,.0f}",
            }
            for r in rows
        ]
    )
