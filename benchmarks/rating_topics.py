"""MA-sLDAr on rated texts beside simple methods on the same words: errors on new texts, and the workers' biases.

``CROWDCORE_DATA=… python -m benchmarks.rating_topics [dataset] --seeds 3`` prints a row for each seed, one start each:
MAE and RMSE in points of ten, R², the mean rating of new texts, processor seconds, R² of the training texts' posterior
means, and the correlation of learnt with true biases over workers with ten ratings or more.

``--fifths 2`` judges on fifths of the rated tasks that are held out instead of test; settings are chosen there.
``--settings '{"iterations": 30}'`` changes some. ``--beside`` adds sLDA (the same model with the true ratings), and
ridge regression on SVD of the word counts and on topics of LDA, which sees no ratings.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.decomposition import LatentDirichletAllocation, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crowdcore as cc
from crowdcore.core.types import AnyArray, FloatArray, IntArray
from crowdcore.data.dataset import SPLITS
from crowdcore.data.ratings import RatingDataset
from crowdcore.learning.ratings.result import rating_scores
from crowdcore.learning.topics.ratings import RatingTopicModel

VALID, TEST = SPLITS.index("valid"), SPLITS.index("test")


def row(name: str, split: str, predicted: FloatArray, gold: FloatArray, began: float, *more: str) -> None:
    """Print one row."""
    values = {metric: float(value[0]) for metric, value in rating_scores(predicted[None], gold).items()}
    cells = [f"{10 * values['mae']:.3f}", f"{10 * values['rmse']:.3f}", f"{100 * values['r2']:.1f}"]
    cells += [f"{predicted.mean():.3f}", f"{time.process_time() - began:.0f}", *more]
    print("|", name, "|", split, "|", " | ".join(cells), "|", flush=True)


def with_truth(ratings: RatingDataset) -> RatingDataset:
    """A crowd whose only worker gives the true ratings."""
    task = np.unique(ratings.task)
    parts = {"task": task, "worker": np.zeros(len(task), np.int64), "rating": ratings.gold[task]}
    return RatingDataset(
        ratings.name, ratings.low, ratings.high, ratings.task_ids, pd.Index(["gold"]), **parts,
        gold=ratings.gold, split=ratings.split, media=ratings.media,
    )  # fmt: skip


def splits(ratings: RatingDataset, fifths: int) -> Iterator[tuple[str, RatingDataset, IntArray]]:
    """Yield the name of each held-out part, the dataset without it, and its tasks."""
    if not fifths:
        yield "test", ratings, np.flatnonzero(ratings.split == TEST)
    rated = np.flatnonzero(ratings.annotated & (ratings.split <= 0))
    order = np.random.default_rng(0).permutation(rated)
    for fifth in range(fifths):
        split = ratings.split.copy()
        split[order[fifth::5]] = VALID
        yield f"fifth {fifth}", replace(ratings, split=split), np.sort(order[fifth::5])


def beside(model: RatingTopicModel, ratings: RatingDataset, texts: AnyArray, new: IntArray, split: str) -> None:
    """Print ridge regression on SVD and LDA of the model's words, on mean and on true ratings."""
    counts = CountVectorizer(vocabulary=model.vocabulary).transform(texts)
    known = model.tasks
    for name, parts in (("128 SVD", TruncatedSVD(128, random_state=0)), ("LDA, 20 topics", lda())):
        began = time.process_time()
        features = make_pipeline(parts, StandardScaler())
        seen, unseen = features.fit_transform(counts[known]), features.transform(counts[new])
        for answers, ratings_of_task in (
            ("mean ratings", cc.aggregation.ratings.get("mean").fit(ratings).rating),
            ("true ratings", ratings.gold),
        ):
            ridge = RidgeCV(np.logspace(-2, 6, 33)).fit(seen, ratings_of_task[known])
            row(f"ridge on {name}, {answers}", split, ridge.predict(unseen), ratings.gold[new], began)


def lda() -> LatentDirichletAllocation:
    """Model of topics that ignores ratings."""
    return LatentDirichletAllocation(20, random_state=0, learning_method="batch", max_iter=30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", nargs="?", default="movie_reviews")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--fifths", type=int, default=0, choices=range(6))
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--beside", action="store_true")
    given = parser.parse_args()
    ratings = cc.load_ratings(given.dataset, accept=True)
    assert ratings.media is not None and ratings.media.columns is not None
    texts = ratings.media.columns["text"].reindex(np.arange(ratings.n_tasks)).fillna("").astype(str).to_numpy()
    off = ratings.rating - ratings.gold[ratings.task]
    true = np.bincount(ratings.worker, np.nan_to_num(off), ratings.n_workers) / np.maximum(ratings.labels_per_worker, 1)
    print("| method | on | MAE | RMSE | R², % | mean | seconds | training: R², % | r of biases |")
    print("|---|---|---|---|---|---|---|---|---|")
    for split, training, new in splits(ratings, given.fifths):
        gold = ratings.gold[new]
        for seed in range(given.seeds):
            began, settings = time.process_time(), {"starts": 1, "seed": seed, **given.settings}
            model = cc.learning.fit_rating_topics(training, device="cpu", **settings)
            busy = (ratings.labels_per_worker >= 10) & ~np.isnan(model.bias)
            r2 = float(rating_scores(model.mean[None], ratings.gold[model.tasks])["r2"][0])
            more = f"{100 * r2:.1f}", f"{np.corrcoef(true[busy], model.bias[busy])[0, 1]:.3f}"
            row(f"MA-sLDAr, seed {seed}", split, model.predict(texts[new]), gold, began, *more)
            if given.beside:
                began = time.process_time()
                slda = cc.learning.fit_rating_topics(with_truth(training), device="cpu", **settings)
                row(f"sLDA, seed {seed}", split, slda.predict(texts[new]), gold, began)
        if given.beside:
            beside(model, training, texts, new, split)


if __name__ == "__main__":
    main()
