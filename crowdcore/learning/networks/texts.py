"""Features of texts: TF-IDF, then truncated singular value decomposition, kept for new texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from crowdcore.core.errors import DataError
from crowdcore.core.types import AnyArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.media import given_texts
from crowdcore.data.rows import Rows, read_npz


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """Feature extractor for texts.

    Args:
        vocabulary: (V,) words.
        idf: (V,) inverse document frequencies.
        components: (D, V) right singular vectors of the TF-IDF matrix.

    Examples:
        >>> texts = ["a good film", "a bad film", "good good film"]
        >>> TextFeatures.of(texts, dimensions=2)(["a film"]).shape
        (1, 2)
    """

    vocabulary: AnyArray
    idf: FloatArray
    components: FloatArray

    @classmethod
    def of(cls, texts: Sequence[str], dimensions: int = 200, seed: int = 0) -> TextFeatures:
        """Learn the words that at least two of some texts have, and D directions at most.

        Raises:
            DataError: there are not two such words.
        """
        vectoriser = TfidfVectorizer(sublinear_tf=True, min_df=2)
        try:
            weights = vectoriser.fit_transform(texts)
        except ValueError as error:
            raise DataError(f"The texts have no words in common ({error})", "Give features of another kind.") from error
        most = min(dimensions, weights.shape[1])
        components = TruncatedSVD(most, random_state=seed).fit(weights).components_
        return cls(np.array(vectoriser.get_feature_names_out(), str), vectoriser.idf_, components)

    @cached_property
    def _vectoriser(self) -> Any:
        vectoriser = TfidfVectorizer(sublinear_tf=True, vocabulary=self.vocabulary)
        vectoriser.idf_ = self.idf
        return vectoriser

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        """(n, D) float32."""
        return np.asarray(self._vectoriser.transform(texts) @ self.components.T, np.float32)

    def save(self, file: Path | str) -> None:
        """Write an ``.npz`` without Python objects."""
        with Path(file).open("wb") as out:
            np.savez_compressed(out, vocabulary=self.vocabulary, idf=self.idf, components=self.components)

    @classmethod
    def load(cls, file: Path | str) -> TextFeatures:
        """Read what `save` wrote.

        Raises:
            DataError: damaged, or another file.
        """
        names = ("vocabulary", "idf", "components")
        members = read_npz(Path(file), names)
        missing = [name for name in names if name not in members]
        if missing:
            raise DataError(f"{', '.join(missing)} missing", "Give a file that `TextFeatures.save` wrote.", file=file)
        return cls(*(members[name] for name in names))


def text_features(dataset: CrowdDataset, dimensions: int = 200) -> tuple[CrowdDataset, TextFeatures]:
    """Add features of its texts to a dataset; return it and the extractor for new texts.

    Words and directions are learnt from training tasks (and tasks of no split) alone.

    Args:
        dataset: tasks with texts.
        dimensions: D at most.

    Raises:
        DataError: no texts, or no words that two of them have.

    Examples:
        >>> import pandas as pd
        >>> from dataclasses import replace
        >>> import crowdcore as cc
        >>> from crowdcore.data.dataset import Media
        >>> demo = cc.load_dataset("demo")
        >>> texts = pd.DataFrame({"text": [f"written {demo.classes[c]}" for c in demo.gold]})
        >>> seen, makes = text_features(replace(demo, media=Media(columns=texts)), dimensions=5)
        >>> makes(["a new text"]).shape
        (1, 5)
    """
    given = given_texts(dataset)
    present, texts = given.notna().to_numpy(), given.fillna("").astype(str).to_numpy()
    seen = TextFeatures.of(texts[present & (dataset.split <= 0)].tolist(), dimensions)
    rows = np.where(present, np.cumsum(present) - 1, 0)
    features = Rows((seen(texts[present].tolist()),), np.where(present, 0, -1).astype(np.int8), rows)
    return replace(dataset, features=features), seen
