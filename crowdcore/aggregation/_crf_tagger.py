"""`CrfTagger`: a conditional random field that has learnt from a crowd, and tags new sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdcore.core.chains import Chains, Crf
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.sentences import Sentences
from crowdcore.data.tags import TagScheme
from crowdcore.data.word_features import word_matrix


@dataclass(frozen=True, eq=False)
class CrfTagger:
    """Tags sentences that nobody has tagged.

    Args:
        classes: the C tags.
        features: (V,) columns of `word_matrix` that occurred in training.
        crf: what was learnt of them.
    """

    classes: tuple[str, ...]
    features: IntArray
    crf: Crf

    def predict(self, sentences: Sentences) -> IntArray:
        """(n_tokens,) tags of each sentence's most probable path, valid IOB2 where the classes are IOB2 tags."""
        scheme = TagScheme.of(self.classes)
        forbidden = None if scheme is None else scheme.invalid
        return self.crf.most_probable(self._inputs(sentences), Chains(sentences.start), forbidden)

    def predict_proba(self, sentences: Sentences) -> FloatArray:
        """(n_tokens, C) probability of each tag."""
        return self.crf.posterior(self._inputs(sentences), Chains(sentences.start))

    def tag_new(self, dataset: CrowdDataset) -> IntArray:
        """(n_tasks,) tags of the sentences of which nobody tagged a token; -1 elsewhere, and without sentences."""
        labels = np.full(dataset.n_tasks, -1)
        if dataset.sentences is not None:
            new = np.flatnonzero(~np.logical_or.reduceat(dataset.annotated, dataset.sentences.start[:-1]))
            if len(new):
                tasks = dataset.sentences.tasks(new)
                labels[tasks] = self.predict(dataset.sentences.take(tasks))
        return labels

    def _inputs(self, sentences: Sentences) -> Any:
        return word_matrix(sentences)[:, self.features]
