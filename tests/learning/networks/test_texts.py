"""Features of texts: what scikit-learn makes, kept in a file, and the same for new texts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import Media
from crowdcore.learning import TextFeatures, text_features, train
from tests.learning.helpers import featured_crowd

WORDS = [["good", "fine", "bright"], ["bad", "dull", "grey"], ["odd", "queer", "strange"]]


@pytest.fixture
def written():
    """Sixty texts of four words, most of them of the task's class; the last task has none."""
    crowd, rng = featured_crowd(), np.random.default_rng(0)
    texts = [
        " ".join(rng.choice(WORDS[c if rng.random() < 0.8 else rng.integers(3)]) for _ in range(4)) for c in crowd.gold
    ]
    columns = pd.DataFrame({"text": [*texts[:-1], None]}, index=range(60))
    return replace(crowd, features=None, media=Media(columns=columns)), texts


def test_features_are_scikit_learns_and_learnt_on_train(written):
    crowd, texts = written
    found, _ = text_features(crowd, dimensions=5)
    train_texts = [t for t, s in zip(texts, crowd.split, strict=True) if s == 0]
    vectoriser = TfidfVectorizer(sublinear_tf=True, min_df=2)
    svd = TruncatedSVD(5, random_state=0).fit(vectoriser.fit_transform(train_texts))
    expected = svd.transform(vectoriser.transform(texts[:-1]))
    assert found.features is not None
    np.testing.assert_allclose(found.features[np.arange(59)], expected, atol=1e-6)
    assert not found.features.present[59]


def test_new_texts_are_predicted_with_what_was_kept(written, tmp_path):
    crowd, texts = written
    found, seen = text_features(crowd)
    result = train(found, "gaussian-em", seeds=1, epochs=2, select_on="none", rounds=5, balance=0.3)
    seen.save(tmp_path / "seen.npz")
    loaded = TextFeatures.load(tmp_path / "seen.npz")
    np.testing.assert_array_equal(loaded(texts), seen(texts))
    p = result.predict_proba(loaded(["good bright fine", "grey dull", "never seen"]))
    assert p[0].argmax(1)[:2].tolist() == [0, 1]


def test_datasets_without_texts_or_common_words_are_refused(written):
    crowd, _ = written
    with pytest.raises(DataError, match="has no texts"):
        text_features(featured_crowd())
    columns = pd.DataFrame({"text": [f"w{i}" for i in range(60)]}, index=range(60))
    with pytest.raises(DataError, match="no words in common"):
        text_features(replace(crowd, media=Media(columns=columns)))
