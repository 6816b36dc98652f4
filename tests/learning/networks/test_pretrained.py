"""Features by a pretrained network: what it sees, computed once, kept on disk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from crowdcore.data.dataset import Media
from crowdcore.data.rows import Rows
from crowdcore.learning import pretrained, train
from crowdcore.learning.embedding import embed
from tests.learning.helpers import featured_crowd


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
    network, picture = pretrained._network(), torch.from_numpy(images[4]).float().expand(3, 8, 8)[None] / 255
    large = torch.nn.functional.interpolate(picture, (112, 112), mode="bilinear")
    with torch.no_grad():
        expected = network.extract_features(2 * large - 1).mean((-2, -1))
    monkeypatch.delattr(pretrained, "_network")
    again = embed(crowd, cache=tmp_path).dataset
    np.testing.assert_allclose(again.features[np.array([4])], expected.numpy(), atol=1e-3)
    assert isinstance(again.features.arrays[0], np.memmap)
    result = train(again, "vanilla", seeds=1, epochs=1)
    assert result.input_shape == (1280,) and len(result.task) == 59


def test_other_images_are_other_features(pictures, tmp_path, monkeypatch):
    crowd, images = pictures
    monkeypatch.setattr(pretrained, "_computed", lambda images, present, device: np.zeros((len(present), 2)))
    embed(crowd, "efficientnet", cache=tmp_path)
    embed(replace(crowd, media=Media(images=Rows.from_array(255 - images))), "efficientnet", cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
