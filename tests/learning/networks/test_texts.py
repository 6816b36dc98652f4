"""Features of texts and of images by a pretrained network: computed once, kept on disk, the same for new ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from crowdcore.core.errors import DataError
from crowdcore.data.dataset import Media
from crowdcore.data.rows import Rows
from crowdcore.learning import TextFeatures, embedding, text_features, train
from crowdcore.learning.embedding import embed
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
    features, _ = text_features(crowd, dimensions=5)
    train_texts = [t for t, s in zip(texts, crowd.split, strict=True) if s == 0]
    vectoriser = TfidfVectorizer(sublinear_tf=True, min_df=2)
    svd = TruncatedSVD(5, random_state=0).fit(vectoriser.fit_transform(train_texts))
    expected = svd.transform(vectoriser.transform(texts[:-1]))
    assert features.features is not None
    np.testing.assert_allclose(features.features[np.arange(59)], expected, atol=1e-6)
    assert not features.features.present[59]


def test_new_texts_are_predicted_with_what_was_kept(written, tmp_path):
    crowd, texts = written
    features, seen = text_features(crowd)
    result = train(features, "gaussian-em", seeds=1, epochs=2, select_on="none", rounds=5, balance=0.3)
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


@pytest.fixture
def pictures():
    images = np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8)
    rows = Rows((images,), np.where(np.arange(60) == 59, -1, 0).astype(np.int8), np.arange(60))
    return replace(featured_crowd(), features=None, media=Media(images=rows)), images


def test_features_are_the_networks_of_enlarged_images_and_computed_once(pictures, tmp_path, monkeypatch):
    crowd, images = pictures
    first = embed(crowd, cache=tmp_path, device="cpu")
    assert first.kind == "efficientnet" and first.dataset.features.shape == (60, 1280)
    assert not first.dataset.features.present[59] and first.dataset.media.images is not None
    network, picture = embedding._network(), torch.from_numpy(images[4]).float().expand(3, 8, 8)[None] / 255
    large = torch.nn.functional.interpolate(picture, (112, 112), mode="bilinear")
    with torch.no_grad():
        expected = network.extract_features(2 * large - 1).mean((-2, -1))
    monkeypatch.delattr(embedding, "_network")
    again = embed(crowd, cache=tmp_path).dataset
    np.testing.assert_allclose(again.features[np.array([4])], expected.numpy(), atol=1e-3)
    assert isinstance(again.features.arrays[0], np.memmap)
    result = train(again, "vanilla", seeds=1, epochs=1)
    assert result.input_shape == (1280,) and len(result.task) == 59


def test_other_images_are_other_features(pictures, tmp_path, monkeypatch):
    crowd, images = pictures
    monkeypatch.setattr(embedding, "_computed", lambda images, present, device: np.zeros((len(present), 2)))
    embed(crowd, "efficientnet", cache=tmp_path)
    embed(replace(crowd, media=Media(images=Rows.from_array(255 - images))), "efficientnet", cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
