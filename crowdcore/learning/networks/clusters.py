"""K-means with a fixed number of rounds, so that it can be mapped over replicas."""

from __future__ import annotations

import torch
from torch import Tensor

from crowdcore.learning.networks.layers import Random


class KMeans(Random):
    """K-means from k-means++ (Arthur and Vassilvitskii 2007): Lloyd's rounds from centres drawn far from each other.

    Args:
        n_clusters: G.
        rounds: of Lloyd's algorithm.
    """

    def __init__(self, n_clusters: int, rounds: int = 10) -> None:
        super().__init__()
        self.n_clusters, self.rounds = n_clusters, rounds

    def forward(self, x: Tensor) -> Tensor:
        """(K, n, d), K sets of points -> (K, n) cluster of each; clusters may be empty where points coincide."""
        centres, numbers = self._draw(x), torch.arange(self.n_clusters, device=x.device)
        for _ in range(self.rounds):
            member = (_nearest(x, centres).unsqueeze(1) == numbers.unsqueeze(1)).to(x.dtype)
            size = member.sum(-1, keepdim=True)
            centres = torch.where(size > 0, member @ x / size.clamp_min(1), centres)
        return _nearest(x, centres)

    def _draw(self, x: Tensor) -> Tensor:
        """(K, G, d) points, each drawn with a probability that grows with the squared distance to those before it."""
        u = self.uniform((self.n_clusters, len(x), 1)).to(x.dtype)
        distance, centres = torch.ones_like(x[..., 0]), []
        for k in range(self.n_clusters):
            below = distance.cumsum(-1)
            at = (below <= u[k] * below[:, -1:]).sum(-1).clamp_max(x.shape[1] - 1)
            centres.append(x.gather(1, at.reshape(-1, 1, 1).expand(-1, 1, x.shape[2])))
            to_new = (x - centres[-1]).square().sum(-1)
            distance = to_new if k == 0 else torch.minimum(distance, to_new)
        return torch.cat(centres, 1)


def _nearest(x: Tensor, centres: Tensor) -> Tensor:
    """(K, n) number of the nearest centre; ``‖x‖²`` is the same for all."""
    return (centres.square().sum(-1).unsqueeze(1) - 2 * x @ centres.mT).argmin(-1)
