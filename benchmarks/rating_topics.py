"""MA-sLDAr on rated texts: errors on the test split, and the workers' biases beside the true ones.

``CROWDCORE_DATA=… python -m benchmarks.rating_topics [dataset] [seeds] [iterations]`` (default: movie_reviews 1 100)
prints a row for each seed, one start each: MAE and RMSE in points of ten, R², the same of the training texts'
posterior means, the correlation of learnt with true biases over workers with ten ratings or more, processor seconds.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import crowdcore as cc
from crowdcore.data.dataset import SPLITS
from crowdcore.learning.ratings.result import rating_scores


def main() -> None:
    name, seeds, iterations, *_ = [*sys.argv[1:], *("movie_reviews", "1", "100")[len(sys.argv) - 1 :]]
    ratings = cc.load_ratings(name, accept=True)
    assert ratings.media is not None and ratings.media.columns is not None
    new = np.flatnonzero(ratings.split == SPLITS.index("test"))
    texts = ratings.media.columns["text"].reindex(new).fillna("").astype(str)
    off = ratings.rating - ratings.gold[ratings.task]
    n = np.maximum(ratings.labels_per_worker, 1)
    true = np.bincount(ratings.worker, np.nan_to_num(off), ratings.n_workers) / n
    print("| seed | MAE | RMSE | R², % | training: MAE | RMSE | R², % | r of biases | iterations | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for seed in range(int(seeds)):
        began = time.process_time()
        settings = {"starts": 1, "seed": seed, "iterations": int(iterations)}
        model = cc.learning.fit_rating_topics(ratings, device="cpu", **settings)
        seconds, cells = time.process_time() - began, []
        for rating, gold in ((model.predict(texts), ratings.gold[new]), (model.mean, ratings.gold[model.tasks])):
            found = {metric: float(value[0]) for metric, value in rating_scores(rating[None], gold).items()}
            cells += [f"{10 * found['mae']:.3f}", f"{10 * found['rmse']:.3f}", f"{100 * found['r2']:.1f}"]
        busy = (ratings.labels_per_worker >= 10) & ~np.isnan(model.bias)
        cells += [f"{np.corrcoef(true[busy], model.bias[busy])[0, 1]:.3f}", str(len(model.bound)), f"{seconds:.0f}"]
        print("|", seed, "|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
