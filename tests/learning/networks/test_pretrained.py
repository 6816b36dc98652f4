"""Pretrained features: computed once, kept on disk, and a sentence when the weights cannot be had."""

from __future__ import annotations

from dataclasses import replace
from urllib.error import URLError

import numpy as np
import pytest
import torch
from torch import nn

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data.dataset import Media
from crowdcore.data.rows import Rows
from crowdcore.learning import embedding, train
from tests.learning.helpers import featured_crowd


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (60, 8, 8), dtype=np.uint8)
    rows = Rows((images,), np.where(np.arange(60) == 59, -1, 0).astype(np.int8), np.arange(60))
    return replace(featured_crowd(), features=None, media=Media(images=rows)), images


@pytest.fixture
def network(monkeypatch):
    """A convolution in VGG's place, counting how often it is asked for."""
    torch.manual_seed(0)
    convolution, asked = nn.Conv2d(3, 5, 16, stride=16), []
    monkeypatch.setattr(embedding, "_convolutions", lambda: asked.append(1) or convolution)
    return convolution, asked


def test_features_are_the_networks_and_computed_once(pictures, network, tmp_path):
    crowd, images = pictures
    convolution, asked = network
    first = embedding.vgg16_features(crowd, cache=tmp_path, batch_size=7, device="cpu")
    again = embedding.vgg16_features(crowd, cache=tmp_path, device="cpu")
    assert len(asked) == 1
    assert first.features.shape == (60, 5) and not first.features.present[59]
    picture = torch.from_numpy(images[4]).float().expand(3, 8, 8)[None] / 255
    large = torch.nn.functional.interpolate(picture, (224, 224), mode="bilinear")
    mean, scale = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    with torch.no_grad():
        expected = convolution((large - mean[:, None, None]) / scale[:, None, None]).mean((-2, -1))
    np.testing.assert_allclose(again.features[np.array([4])], expected.numpy(), atol=1e-5)
    assert isinstance(again.features.arrays[0], np.memmap)
    result = train(again, "vanilla", seeds=1, epochs=1)
    assert result.input_shape == (5,) and len(result.task) == 59


def test_other_images_are_other_features(pictures, network, tmp_path):
    crowd, images = pictures
    embedding.vgg16_features(crowd, cache=tmp_path)
    other = replace(crowd, media=Media(images=Rows.from_array(255 - images)))
    embedding.vgg16_features(other, cache=tmp_path)
    assert len(network[1]) == 2 == len(list(tmp_path.iterdir()))


def test_without_network_or_images_there_is_a_sentence(pictures, tmp_path, monkeypatch):
    crowd, _ = pictures
    with pytest.raises(DataError, match="has no images"):
        embedding.vgg16_features(featured_crowd())

    def refused(**_):
        raise URLError("no route to host")

    monkeypatch.setattr("torchvision.models.vgg16", refused)
    with pytest.raises(CrowdError, match=r"could not be fetched from https://.*no route to host.* Put that file at"):
        embedding.vgg16_features(crowd, cache=tmp_path)
