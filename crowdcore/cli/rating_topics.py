"""`crowdcore ratings topics`: what rated texts are about, and which rating each topic speaks for."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from crowdcore.cli._options import Accept, Device, Json, Out, Read, Settings, settings
from crowdcore.cli._output import print_json, print_table, save_table
from crowdcore.cli.rating_training import RatingsName
from crowdcore.cli.ratings import open_ratings
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import SPLITS

__all__ = ["topics"]


def topics(
    dataset: RatingsName,
    words: Annotated[int, typer.Option(min=1, help="Words to show of each topic.")] = 10,
    set: Settings = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Topics of texts, with true ratings, workers' biases and precisions learnt together (MA-sLDAr).

    --set n_topics=30 and the like; --out writes the ratings of the training texts and of those for test.
    """
    from crowdcore.learning import fit_rating_topics

    ds = open_ratings(dataset, read, accept)
    model = fit_rating_topics(ds, device=device, **settings(set))
    assert ds.media is not None and ds.media.columns is not None  # else it had been refused
    new = np.flatnonzero(ds.split == SPLITS.index("test"))
    predicted = model.predict(ds.media.columns["text"].reindex(new).fillna("").astype(str))
    errors = {"training": _errors(model.mean, ds.gold[model.tasks]), "test": _errors(predicted, ds.gold[new])}
    if out:
        found = {"task": ds.task_ids[np.append(model.tasks, new)], "rating": np.append(model.mean, predicted)}
        save_table(pd.DataFrame(found), out)
    workers = pd.DataFrame({"worker": ds.worker_ids, "bias": model.bias, "noise": model.precision**-0.5})
    table = model.words(words)
    if json:
        facts = {"dataset": ds.name, "texts": len(model.tasks), "vocabulary": len(model.vocabulary), "errors": errors}
        run = {"iterations": len(model.bound), "bound": model.bound[-1], "settings": model.settings.model_dump()}
        print_json({**facts, **run, "topics": table, "workers": workers})
        return
    print_table(table, f"{ds.name}: topics of {len(model.tasks):,} texts", wrapped=("words",))
    print_table(workers.dropna(), "Workers: bias and noise around the truth", limit=15)
    for name, of in errors.items():
        if of:
            said = f"MAE {of['mae']:.4f}, RMSE {of['rmse']:.4f}, R² {100 * of['r2']:.1f} %"
            print(f"Ratings of the {name} texts against gold: {said}.")


def _errors(rating: FloatArray, gold: FloatArray) -> dict[str, float]:
    """MAE, RMSE and R² where gold is known; nothing without gold."""
    from crowdcore.learning.ratings.result import rating_scores

    scores = rating_scores(rating[None], gold)
    return {name: float(value[0]) for name, value in scores.items() if not np.isnan(value[0])}
