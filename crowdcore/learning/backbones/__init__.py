"""Networks: the members of this folder are the backbones; ``"package.module:Class"`` names one of your own."""

from __future__ import annotations

import copy
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import SettingError
from crowdcore.core.registry import Registry, import_name

if TYPE_CHECKING:
    from torch import nn

    from crowdcore.learning.backbones.base import Backbone

__all__ = ["REGISTRY", "build", "fills_device", "get", "named", "names", "wants_images"]

REGISTRY: Registry[Backbone] = Registry(__name__, "crowdcore.learning.backbones.base:Backbone", "backbone")


def names() -> list[str]:
    """Names of the built-in backbones."""
    return list(REGISTRY)


def get(name: str | type[Backbone]) -> type[Backbone]:
    """The backbone called ``name``; a class is returned as it is.

    Raises:
        SettingError: no such backbone.
    """
    return REGISTRY.find(name)


_OWN: dict[str, Any] = {}
"""Name -> network, or factory of networks, that no other process could import."""


def named(network: Any) -> str:
    """Name a network that is given by name, as a class or function that makes one, or as a module.

    Raises:
        SettingError: something else.
    """
    if isinstance(network, str):
        return network
    if not callable(network):
        must = "be a name, a class or function that makes a network, or a torch.nn.Module"
        raise SettingError("backbone", must, type(network).__name__)
    if getattr(network, "name", None) in REGISTRY:
        return str(network.name)
    if name := import_name(network):
        return name
    name = f":{getattr(network, '__qualname__', type(network).__name__)}-{len(_OWN)}"
    _OWN[name] = network
    return name


def _user_factory(name: str) -> Any:
    """Factory of a user's own network.

    Raises:
        SettingError: it cannot be imported, or was made in another process.
    """
    if name.startswith(":") and name not in _OWN:
        must = "be a class in a file that can be imported, to be made again in another process"
        raise SettingError("backbone", must, name[1:])
    try:
        return _OWN[name] if name in _OWN else pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise SettingError("backbone", "name something that can be imported", name, f"{error}.") from error


def wants_images(name: str) -> bool:
    """Return True if the backbone prefers images where a dataset has both images and features."""
    return ":" not in name and REGISTRY.find(name).images


def fills_device(name: str) -> bool:
    """Return True if replicas of the backbone run one after another (one's own classes always do)."""
    return ":" in name or REGISTRY.find(name).fills_device


def build(name: str, input_shape: tuple[int, ...], n_outputs: int, settings: Mapping[str, Any]) -> nn.Module:
    """Build a fresh backbone.

    Args:
        name: one of `names`, or ``"package.module:Class"``, which is called with ``settings`` as keywords and must
            map (B, *input_shape) to (B, n_outputs) logits. Its dropout becomes ours, so that runs are repeatable.
        input_shape: of one input.
        n_outputs: usually the number of classes.
        settings: of the backbone.

    Raises:
        SettingError: no such backbone or setting, or outputs of another shape.
    """
    import torch
    from torch import nn

    from crowdcore.learning.networks.layers import own_dropout

    if ":" not in name:
        backbone = REGISTRY.find(name)
        return backbone(input_shape, n_outputs, backbone.Settings(**settings))
    factory = _user_factory(name)
    if isinstance(factory, type) and issubclass(factory, REGISTRY.base):
        return factory(input_shape, n_outputs, factory.Settings(**settings))
    module = copy.deepcopy(factory) if isinstance(factory, nn.Module) else factory(**settings)
    if isinstance(factory, nn.Module):
        for part in module.modules():
            getattr(part, "reset_parameters", lambda: None)()
    if not isinstance(module, nn.Module):
        raise SettingError("backbone", "make a torch.nn.Module", type(module).__name__)
    training = module.training
    with torch.no_grad():
        shape = tuple(module.eval()(torch.zeros(2, *input_shape)).shape)
    if shape != (2, n_outputs):
        raise SettingError(
            "backbone", f"map (2, {', '.join(map(str, input_shape))}) to (2, {n_outputs})", shape, f"This is {name}."
        )
    return own_dropout(module.train(training))
