"""Running learning methods from the command line: progress with time left, rows and tables of their accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from crowdcore.cli._output import progress
from crowdcore.data import CrowdDataset

if TYPE_CHECKING:
    from crowdcore.learning import Event, TrainingResult

__all__ = ["over_seeds", "span_rows", "table", "train_one"]


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
    from crowdcore.learning.training.events import EpochEvent

    with progress() as tell:

        def listen(event: Event) -> None:
            if isinstance(event, EpochEvent):  # notes are told once, with the result
                tell(event.done, f"{method} on {dataset.name}, {event.at}")

        return learning.train(dataset, method, seeds=seeds, device=device, on_event=listen, **checkpoint, **settings)


def span_rows(dataset: CrowdDataset, result: TrainingResult) -> list[dict[str, str]]:
    """Precision, recall and F1 in % of the spans that a tagger finds, of the selected and the last epoch."""
    from crowdcore.learning import tagged_spans

    rows = []
    for at in ("selected", "last"):
        found = 100 * tagged_spans(dataset, result, at=at).drop(columns="seed")
        told = {str(m): f"{v.mean():.2f}" + (f" ± {v.std():.2f}" if len(v) > 1 else "") for m, v in found.items()}
        rows.append({"epoch": at, **told})
    return rows


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
