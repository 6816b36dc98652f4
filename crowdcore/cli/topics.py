"""`crowdcore topics`: what texts are about, and which class each topic speaks for."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from crowdcore.cli._options import Accept, DatasetName, Device, Json, Out, Read, Settings, open_dataset, settings
from crowdcore.cli._output import print_json, print_table
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import SPLITS

__all__ = ["topics"]


def topics(
    dataset: DatasetName,
    words: Annotated[int, typer.Option(min=1, help="Words to show of each topic.")] = 10,
    set: Settings = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Topics of texts, with classes and workers' confusions learnt together (MA-sLDAc).

    --set n_topics=30 and the like; --out writes task, label and posterior of the texts that it learnt from.
    """
    from crowdcore.data.writers import write_aggregated
    from crowdcore.learning import fit_topics

    ds = open_dataset(dataset, accept, read)
    model = fit_topics(ds, device=device, **settings(set))
    posterior = np.full((ds.n_tasks, ds.n_classes), np.nan)
    posterior[model.tasks] = model.posterior
    labels = np.full(ds.n_tasks, -1)
    labels[model.tasks] = model.posterior.argmax(1)
    if out:
        write_aggregated(ds, labels, out, posterior=posterior)
    assert ds.media is not None and ds.media.columns is not None  # else it had been refused
    new = np.flatnonzero((ds.split == SPLITS.index("test")) & (ds.gold >= 0))
    guessed = model.predict_proba(ds.media.columns["text"].reindex(new).fillna("").astype(str)).argmax(1)
    right, right_new = (_accuracy(ds.gold[at], of) for at, of in ((model.tasks, labels[model.tasks]), (new, guessed)))
    facts = {
        "dataset": ds.name,
        "texts": len(model.tasks),
        "vocabulary": len(model.vocabulary),
        "accuracy": right,
        "test_accuracy": right_new,
        "iterations": len(model.bound),
        "bound": model.bound[-1],
    }
    table = model.words(words)
    if json:
        print_json({**facts, "settings": model.settings.model_dump(), "topics": table})
        return
    print_table(table, f"{ds.name}: topics of {len(model.tasks):,} texts", wrapped=("words",))
    known = {name: share for name, share in (("training", right), ("test", right_new)) if share == share}
    told = [f"{name} {100 * share:.1f} %" for name, share in known.items()]
    print(f"Accuracy of the classes: {', '.join(told) or 'unknown without gold'}.")


def _accuracy(gold: IntArray, label: IntArray) -> float:
    """Share of tasks with gold whose label it is; NaN without gold."""
    known = gold >= 0
    return float((gold[known] == label[known]).mean()) if known.any() else float("nan")
