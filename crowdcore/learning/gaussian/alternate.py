"""Rounds of a network on the posterior, and Gaussian classes of what the network's last layer sees."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.gaussian.fit import Chosen, choose_gaussians
from crowdcore.learning.method_settings import GaussianSettings
from crowdcore.learning.networks.layers import Linear
from crowdcore.learning.networks.network import make_network
from crowdcore.learning.networks.targets import cross_entropy
from crowdcore.learning.training.data import Batch, Data
from crowdcore.learning.training.loop import Replica
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.training.trainer import train_stack


class _OnTargets(CrowdMethod):
    """A network alone, on given targets."""

    name: ClassVar[str] = "on-targets"
    learns_confusions: ClassVar[bool] = False

    def loss(self, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy with the targets."""
        assert batch.target is not None
        return {"cross_entropy": cross_entropy(self.log_probs(batch.features), batch.target)}


def without_last_layer(network: nn.Module) -> nn.Module:
    """The network up to what its last linear layer takes, as buffers: it is not trained any more.

    Raises:
        SettingError: it has no such layer inside.
    """
    linear = [name for name, module in network.named_modules() if name and isinstance(module, nn.Linear | Linear)]
    if not linear:
        raise SettingError("alternate", "be 0 for a network without a linear layer", type(network).__name__)
    network.set_submodule(linear[-1], nn.Identity())
    for module in network.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            delattr(module, name)
            module.register_buffer(name, parameter.detach())
    return network


def fit_alternating(problem: Problem, settings: GaussianSettings) -> Chosen:
    """Gaussian classes of the inputs; then, ``alternate`` times, a network on their posterior and Gaussian classes of
    its last layer. The networks are trained as the problem's settings say, with seed 0."""
    found = choose_gaussians(problem, settings)
    for _ in range(settings.alternate):
        targets = found.fit.posterior.numpy().astype(np.float32)
        data = Data(problem, torch.device(problem.device), targets=targets)
        replicas = [Replica(Settings(), 0)]
        outcome = train_stack(data, _OnTargets, replicas, problem.training, lambda epoch, metrics, seconds: False)
        network = make_network(problem.training, problem.input_shape)(problem.n_classes)
        state = {name.removeprefix("classifier."): torch.tensor(v[0]) for name, v in outcome.model.items()}
        network.load_state_dict(state)
        found = choose_gaussians(problem, settings, without_last_layer(network).eval())
    return found
