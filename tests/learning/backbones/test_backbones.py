"""Every backbone found in the folder, and one's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from crowdcore.core.errors import CrowdError
from crowdcore.data.dataset import Media
from crowdcore.data.rows import Rows
from crowdcore.learning import backbones, train
from crowdcore.learning.networks.layers import Dropout
from crowdcore.learning.networks.network import Augment, Crop
from testkit.training import train_as
from tests.learning.helpers import featured_crowd


def shape_of(name):
    return (3, 32, 32) if backbones.wants_images(name) else (5,) if name == "tagger" else (6,)


@pytest.mark.parametrize("name", backbones.names())
def test_outputs_gradients_and_repeatable_weights(name):
    backbone = backbones.REGISTRY.find(name)
    assert backbone.name == name and backbone.title and backbone.__doc__
    networks = []
    for _ in range(2):
        torch.manual_seed(0)
        networks.append(backbones.build(name, shape_of(name), 4, {}))
    x = torch.randint(2, (2, 5)) if name == "tagger" else torch.randn(2, *shape_of(name))
    out = networks[0].train()(x)
    assert out.shape == (2, 4)
    out.square().sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in networks[0].parameters())
    a, b = (n.eval()(x) for n in (networks[1], networks[1]))
    assert torch.equal(a, b)


@pytest.mark.parametrize("name", [n for n in backbones.names() if backbones.wants_images(n)])
def test_image_networks_take_28_and_refuse_features(name):
    assert backbones.build(name, (1, 28, 28), 10, {}).eval()(torch.zeros(1, 1, 28, 28)).shape == (1, 10)
    with pytest.raises(CrowdError, match="takes images"):
        backbones.build(name, (6,), 4, {})
    with pytest.raises(CrowdError, match="at least"):
        backbones.build(name, (3, 4, 4), 4, {})


def test_sizes_are_the_papers():
    def count(name, shape):
        return sum(p.numel() for p in backbones.build(name, shape, 10, {}).parameters())

    assert count("mlp", (512,)) == 512 * 128 + 128 + 128 * 10 + 10
    assert count("linear", (512,)) == 5130
    assert count("vgg16", (3, 32, 32)) == pytest.approx(14.7e6, rel=0.01)
    assert count("resnet18", (3, 32, 32)) == pytest.approx(11.17e6, rel=0.01)
    assert count("resnet34", (3, 32, 32)) == pytest.approx(21.28e6, rel=0.01)


class Own(nn.Module):
    """A user's network, with torch's own dropout."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Dropout(0.5), nn.Linear(width, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


OWN = {"backbone": f"{__name__}:Own", "backbone_settings": {"width": 9}}


def test_ones_own_network_by_import_path():
    network = backbones.build(OWN["backbone"], (6,), 3, OWN["backbone_settings"])
    assert network.layers[2].__class__ is Dropout
    crowd = featured_crowd()
    alone = train(crowd, "crowd-layer", seeds=2, epochs=3, **OWN)
    stacked = train_as(crowd, "crowd-layer", seeds=2, epochs=3, stack="all", **OWN)
    np.testing.assert_allclose(alone.curves["loss"], stacked.curves["loss"], rtol=1e-4)


def with_images(n_tasks=48):
    crowd = featured_crowd(n_tasks=n_tasks)
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 60, (n_tasks, 16, 16), dtype=np.uint8)
    for c in range(3):
        pictures[crowd.gold == c, 5 * c : 5 * c + 5] += 150
    return replace(crowd, media=Media(images=Rows.from_array(pictures)))


def test_images_train_with_augmentation_and_reduced_precision():
    crowd = with_images()
    result = train(
        crowd,
        "crowd-layer",
        seeds=2,
        epochs=12,
        batch_size=8,
        lr=3e-3,
        backbone="cnn",
        augment="affine",
        backbone_settings={"width": 8, "hidden": 16, "dropout": 0.1},
        precision="bfloat16",
    )
    assert result.input_shape == (1, 16, 16)
    assert result.accuracy("test").mean() > 0.6
    assert result.predict_proba(crowd.media.images[:5]).shape == (2, 5, 3)


def test_augmentation_moves_pictures_and_rests_in_evaluation():
    torch.manual_seed(0)
    augment, x = Augment(flip=True), torch.rand(64, 1, 16, 16)
    assert torch.equal(augment.eval()(x), x)
    moved = augment.train()(x)
    assert moved.shape == x.shape and not torch.allclose(moved, x)
    assert torch.isfinite(moved).all()
    line = torch.zeros(256, 1, 16, 16)
    line[..., :4] = 1
    left = Augment(flip=False)(line)[..., :8].sum() / Augment(flip=False)(line).sum()
    both = Augment(flip=True)(line)[..., :8].sum() / Augment(flip=True)(line).sum()
    assert left > 0.9 and 0.3 < both < 0.7


def test_crops_are_torchvisions_with_a_place_for_every_image():
    from torchvision.transforms import v2  # loads torch._dynamo, which every process would do when it collects

    torch.manual_seed(0)
    crop, x = Crop(flip=True), torch.rand(120, 2, 8, 12)
    assert torch.equal(crop.eval()(x), x)
    cropped, padded = crop.train()(x), v2.functional.pad(x, [2, 1])  # margins of 12 / 8 and 8 / 8
    crops = [v2.functional.crop(padded, top, left, 8, 12) for top in range(3) for left in range(5)]
    every = torch.stack([*crops, *map(v2.functional.horizontal_flip, crops)])
    same = (every == cropped).flatten(2).all(2)
    assert (same.sum(0) == 1).all() and same.any(1).sum() > 25, "one place each, and nearly all places occur"


def test_cropped_training_reproduces_and_leaves_evaluation_alone():
    crowd = with_images()
    settings = {"epochs": 4, "lr": 0.01, "batch_size": 8, "backbone": "cnn", "augment": "crop+flip"}
    settings |= {"backbone_settings": {"width": 4, "hidden": 8}}
    again, cropped = (train(crowd, "dl-mv", seeds=seeds, **settings) for seeds in ([3, 4], [4]))
    np.testing.assert_array_equal(again.probabilities["last"][1], cropped.probabilities["last"][0])
    plain = train(crowd, "dl-mv", seeds=[4], **{**settings, "augment": "no"})
    assert not np.allclose(cropped.probabilities["last"], plain.probabilities["last"], atol=1e-3)
    pictures = crowd.media.images[:5]
    np.testing.assert_array_equal(cropped.predict_proba(pictures), cropped.predict_proba(pictures))
    np.testing.assert_allclose(cropped.predict_proba(pictures), cropped.probabilities["selected"][:, :5], atol=1e-5)
