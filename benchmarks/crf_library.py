"""CRF-MA's M-step by python-crfsuite beside our own field: spans after each iteration, in %, and processor seconds.

``pip install python-crfsuite; CROWDCORE_DATA=… python -m benchmarks.crf_library [iterations] [dataset]`` (default: 3,
conll_ner). Both start from the tags of BSC-seq. A fifth of the tagged sentences lose their tags: ``new`` is the F1 on
them, judged by their gold, which no model sees. Ours is shown with 10 rounds of L-BFGS at the start and with its
default. The library learns each sequence ``round(4 γ)`` times, 50 rounds from zero in every iteration, with our prior
(c2 = 2 in ``c2 ‖w‖²``, as the data weigh four times as much).
"""

from __future__ import annotations

import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite

import crowdcore as cc
from crowdcore.aggregation.crf_ma import WorkerPaths
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.sentences import Sentences
from crowdcore.data.word_features import word_matrix

COPIES, ROUNDS = 4, 50


def items(sentences: Sentences, features: IntArray) -> list[Any]:
    """Feature names of each token of each sentence, in the library's format."""
    x = word_matrix(sentences)[:, features]
    tokens = [[str(j) for j in x.indices[a:b]] for a, b in pairwise(x.indptr)]
    return [pycrfsuite.ItemSequence(tokens[a:b]) for a, b in pairwise(sentences.start)]


class Library:
    """CRF-MA with the library's field, for workers who tagged whole sentences."""

    def __init__(self, crowd: cc.CrowdDataset, file: str) -> None:
        self.crowd, self.file, self.paths = crowd, file, WorkerPaths.of(crowd)
        assert (self.paths.label >= 0).all()
        self.features = np.unique(word_matrix(self.paths.sentences).indices)
        self.x = items(self.paths.sentences, self.features)
        label, start = self.paths.label, self.paths.chains.start
        self.y = [[crowd.classes[c] for c in label[a:b]] for a, b in pairwise(start)]
        self.present = crowd.labels_per_worker > 0
        self.reliability: FloatArray = self.present / self.present.sum()
        agreed = cc.aggregation.get("bsc-seq").fit(crowd).posterior[self.paths.tasks]
        log = np.log(np.maximum(agreed, 1e-9))[self.paths.token, label]
        self.share = self.shares(np.add.reduceat(log, start[:-1]))

    def shares(self, log: FloatArray) -> FloatArray:
        """γ from logarithms."""
        sentence = self.paths.sentence
        top = np.full(len(self.x), -np.inf)
        np.maximum.at(top, sentence, log)
        share = np.exp(log - top[sentence])
        return np.asarray(share / np.bincount(sentence, share)[sentence])

    def iterate(self) -> None:
        """Fit the field and the reliabilities to γ, then γ to them."""
        sentence, worker, n = self.paths.sentence, self.paths.worker, self.crowd.n_workers
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.select("lbfgs")
        trainer.set_params({"c2": COPIES / 2, "max_iterations": ROUNDS, "feature.possible_transitions": True})
        for path, copies in enumerate(np.rint(COPIES * self.share).astype(int)):
            for _ in range(copies):
                trainer.append(self.x[sentence[path]], self.y[path])
        trainer.train(self.file)
        rivals = np.bincount(worker, 1 / np.bincount(sentence, self.reliability[worker])[sentence], n)
        won = np.bincount(worker, self.share, n) + self.present
        self.reliability = won / (rivals + self.present.sum())
        self.tagger = pycrfsuite.Tagger()
        self.tagger.open(self.file)
        log = np.empty(len(self.y))
        before = -1
        for path in np.argsort(sentence, kind="stable"):
            if sentence[path] != before:
                before = sentence[path]
                self.tagger.set(self.x[before])
            log[path] = np.log(max(self.tagger.probability(self.y[path]), 1e-300))
        log += self.paths.n_given * np.log(self.crowd.n_classes) + np.log(np.maximum(self.reliability[worker], 1e-300))
        self.share = self.shares(log)

    def labels(self, new: IntArray) -> IntArray:
        """(n_tasks,) labels by γ in tagged sentences, and by the field in those of the ``new`` tasks."""
        crowd, paths = self.crowd, self.paths
        labels = np.full(crowd.n_tasks, -1)
        labels[paths.tasks] = paths.per_token(np.eye(crowd.n_classes)[paths.label], self.share).argmax(1)
        assert crowd.sentences is not None
        tags = [tag for x in items(crowd.sentences.take(new), self.features) for tag in self.tagger.tag(x)]
        labels[new] = [crowd.classes.index(tag) for tag in tags]
        return labels


def main() -> None:
    iterations = int(sys.argv[1]) if sys.argv[1:] else 3
    dataset = cc.load_dataset(sys.argv[2] if sys.argv[2:] else "conll_ner")
    sentences = dataset.sentences
    assert sentences is not None
    tagged = np.flatnonzero(np.logical_or.reduceat(dataset.annotated, sentences.start[:-1]))
    new = sentences.tasks(np.sort(np.random.default_rng(0).choice(tagged, len(tagged) // 5, replace=False)))
    crowd = dataset.where(~np.isin(dataset.task, new))
    old = np.flatnonzero(crowd.annotated)

    def row(name: str, iteration: int, labels: IntArray, seconds: float) -> None:
        f1 = (f"{100 * cc.analysis.tagging_scores(dataset, labels, tasks=of).f1:.1f}" for of in (old, new))
        print(f"| {name} | {iteration} |", " | ".join(f1), f"| {seconds:.0f} |", flush=True)

    print("| M-step by | iteration | tagged: F1 | new: F1 | seconds |\n|---|---|---|---|---|")
    for rounds in (10, cc.aggregation.CRFMA().start_rounds):
        for n in (1, iterations, cc.aggregation.CRFMA().max_iterations):
            began = time.process_time()
            result = cc.aggregation.CRFMA(start_rounds=rounds, max_iterations=n).fit(crowd)
            seconds = time.process_time() - began
            assert result.tagger is not None
            labels = np.where(crowd.annotated, result.labels, result.tagger.tag_new(crowd))
            row(f"ours, {rounds} rounds at the start", len(result.log_likelihood), labels, seconds)
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        library = Library(crowd, str(Path(folder) / "field"))
        for n in range(1, iterations + 1):
            library.iterate()
            seconds = time.process_time() - began
            row("python-crfsuite", n, library.labels(new), seconds)


if __name__ == "__main__":
    main()
