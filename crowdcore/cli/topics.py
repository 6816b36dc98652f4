"""`crowdcore topics` and `crowdcore ratings topics`: what texts are about, and which label each topic speaks for."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
import typer

from crowdcore.cli._options import Device, Json, Out, Settings, settings
from crowdcore.cli._output import print_json, print_table, save_table
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data import CrowdDataset, RatingDataset
from crowdcore.data.dataset import SPLITS

Words = Annotated[int, typer.Option(min=1, help="Number of words to show per topic.")]


def topics(
    ds: CrowdDataset,
    words: Words = 10,
    set: Settings = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
) -> None:
    """Topics of texts, with classes and workers' confusions learnt together (MA-sLDAc).

    --set n_topics=30 and the like; --out writes task, label and posterior of the texts that it learnt from.
    """
    from crowdcore.data.writers import write_aggregated
    from crowdcore.learning import fit_topics

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


def rating_topics(
    ds: RatingDataset,
    words: Words = 10,
    set: Settings = None,
    device: Device = "auto",
    out: Out = None,
    json: Json = False,
) -> None:
    """Topics of texts, with true ratings, workers' biases and precisions learnt together (MA-sLDAr).

    --set n_topics=30 and the like; --out writes the ratings of the training texts and of those for test.
    """
    from crowdcore.learning import fit_rating_topics

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
