"""Learning from crowds, the only layer that knows torch: train a classifier and recover what its crowd did.

``train(dataset, method="conal", seeds=5).accuracy("test")``; `methods` and `backbones` list what there is. Torch is
loaded by what computes with it; reading a result needs none.
"""

from typing import Any

import lazy_loader

from crowdcore.core.errors import need_extra

_import, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _import(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise need_extra("Training", "torch") from error
