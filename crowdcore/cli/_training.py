"""Running learning methods from the command line: progress with time left, rows and tables of their accuracies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from crowdcore.cli._output import progress
from crowdcore.data import CrowdDataset
from crowdcore.data.ratings import Labelled

if TYPE_CHECKING:
    from crowdcore.learning import Event, TrainingResult

T = TypeVar("T")


def train_one(
    train: Callable[..., T],
    dataset: Labelled,
    method: str,
    seeds: int | Sequence[int],
    device: str,
    settings: Mapping[str, Any],
    checkpoint: Path | None = None,
) -> T:
    """Train one method by `learning.train` or `train_ratings`, with a progress bar."""
    from crowdcore.learning.training.events import EpochEvent

    with progress() as tell:

        def listen(event: Event) -> None:
            if isinstance(event, EpochEvent):  # notes are told once, with the result
                tell(event.done, f"{method} on {dataset.name}, {event.at}")

        own = {"device": device, "on_event": listen, "checkpoint": checkpoint, **settings}
        return train(dataset, method, seeds=seeds, **own)


def span_rows(dataset: CrowdDataset, result: TrainingResult) -> list[dict[str, str]]:
    """Precision, recall and F1 in % of the spans that a tagger finds, of two epochs.

    Nothing of a crowd that tags no tokens, or where no gold of the test split is known.
    """
    from crowdcore.learning import tagged_spans
    from crowdcore.learning.comparison.comparability import TEST

    rows = []
    known = (result.gold[result.split == TEST] >= 0).any()
    for at in ("selected", "last") if dataset.sentences is not None and known else ():
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
    from crowdcore.learning.comparison.comparability import NAMES, SEEN, WAYS
    from crowdcore.learning.comparison.summary import ensemble_name

    def spread(entry: dict[str, Any], at: str) -> str:
        mean, std = 100 * entry[f"{at}_mean"], 100 * entry[f"{at}_std"]
        return "–" if np.isnan(mean) else f"{mean:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")

    told = []
    some = any(r["features_seen"] != "no" for r in rows)
    for r in sorted(rows, key=lambda r: list(SEEN).index(r["features_seen"])):
        common = {
            "seeds": len(r["seeds"]),
            "seconds": f"{r['seconds']:.1f}",
            "annotations/s": f"{r['annotations_per_second']:,.0f}",
        }
        if some:
            common |= {"features without labels": SEEN[r["features_seen"]]}
        if kinds:
            common |= {"selected by": WAYS[r["selected_by"]], "names": NAMES.get(r["names"], r["names"])}
        reached = {at: spread(r, at) for at in ("selected", "last", "best")}
        told.append({"dataset": r["dataset"], "method": r["method"], **reached, **common})
        if len(r["seeds"]) > 1 and not np.isnan(r["ensemble_selected"]):
            together = {at: f"{100 * r[f'ensemble_{at}']:.2f}" for at in ("selected", "last")} | {"best": "–"}
            name = ensemble_name(r["method"])
            told.append({"dataset": r["dataset"], "method": name, **together, **common, "seconds": "–"})
    return pd.DataFrame(told)
