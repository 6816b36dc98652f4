"""MA-sLDAc on corpora drawn from its model, against topics and a regression learnt one after the other.

    python -m benchmarks.topics [corpora]

240 texts of 60 words for training and 200 new ones, six topics, three classes, three labels per text of six workers who
are right on 35 to 80 % of the tasks, one of whom swaps two classes. The references learn from majority vote, or from
Dawid and Skene's estimates: scikit-learn's LDA with as many topics, or TF-IDF, then logistic regression. Means ±
standard deviations over the corpora, in %.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from crowdcore import aggregation
from crowdcore.learning import fit_topics
from testkit.corpus import TOPICS, Corpus, N as N_TRAIN


def compared(seed: int) -> dict[str, float]:
    """Accuracy on training texts and on new ones."""
    corpus = Corpus(seed)
    crowd, counts, gold = corpus.dataset(), sparse.csr_matrix(corpus.counts), corpus.gold
    model = fit_topics(crowd, counts=counts, n_topics=TOPICS, seed=seed)
    values = {
        "MA-sLDAc, training texts": (model.posterior.argmax(1) == gold[:N_TRAIN]).mean(),
        "MA-sLDAc, new texts": (model.predict_proba(counts[N_TRAIN:]).argmax(1) == gold[N_TRAIN:]).mean(),
    }
    lda = LatentDirichletAllocation(TOPICS, random_state=seed, max_iter=60).fit(counts[:N_TRAIN])
    inputs = {"LDA": lda.transform(counts), "TF-IDF": TfidfTransformer().fit(counts[:N_TRAIN]).transform(counts)}
    for name in ("majority-vote", "dawid-skene"):
        labels = aggregation.get(name).fit(crowd).labels[:N_TRAIN]
        values[f"{name}, training texts"] = (labels == gold[:N_TRAIN]).mean()
        for words, x in inputs.items():
            predicted = LogisticRegression(max_iter=1000).fit(x[:N_TRAIN], labels).predict(x[N_TRAIN:])
            values[f"{words} + {name}, new texts"] = (predicted == gold[N_TRAIN:]).mean()
    return values


def main() -> None:
    results = [compared(seed) for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10)]
    for name in results[0]:
        values = 100 * np.array([one[name] for one in results])
        print(f"{name:36s} {values.mean():.1f} ± {values.std():.1f}")


if __name__ == "__main__":
    main()
