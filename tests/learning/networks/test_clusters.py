"""K-means that can be mapped over replicas."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.cluster import KMeans as Reference

from crowdcore.learning.networks.layers import KMeans


def test_it_finds_what_scikit_learn_finds_from_the_same_start():
    torch.manual_seed(0)
    x = (3 * torch.randn(2, 4, 3)).repeat_interleave(6, 1) + torch.randn(2, 24, 3)
    k_means, again = KMeans(4, rounds=30), KMeans(4)
    again.load_state_dict(k_means.state_dict())
    start = again._draw(x)
    for points, centres, clusters in zip(x, start, k_means(x), strict=True):
        reference = Reference(4, init=centres.numpy(), n_init=1, tol=0).fit(points.numpy())
        np.testing.assert_array_equal(clusters, reference.labels_)


def test_centres_start_far_from_each_other():
    torch.manual_seed(0)
    x = torch.tensor([0.0] * 20 + [1.0, 5.0])[None, :, None]
    drawn = torch.cat([KMeans(3)._draw(x) for _ in range(20)])
    assert (drawn.sort(1).values == torch.tensor([0.0, 1.0, 5.0])[:, None]).all()


def test_more_clusters_than_different_points_leave_some_empty():
    x = torch.tensor([[[0.0], [0.0], [1.0]]])
    first, same, other = KMeans(3)(x)[0]
    assert first == same != other
