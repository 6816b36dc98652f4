"""The small crowd and the built methods of `crowdcore.testing`, and gradients by differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdcore.learning.base import CrowdMethod
from crowdcore.testing import featured_crowd as featured_crowd
from crowdcore.testing.methods import (
    CPU as CPU,
    EMBEDDING as EMBEDDING,
    HIDDEN as HIDDEN,
    N_CLASSES as N_CLASSES,
    N_WORKERS as N_WORKERS,
    built as built,
    gradients as gradients,
    in_double as in_double,
    objective as objective,
    same_results as same_results,
    small as small,
)


def numerical_gradient(function: Any, module: CrowdMethod, name: str, entries: int = 4) -> tuple[Any, Any]:
    """Flat positions in parameter ``name`` and central differences of ``function()`` there."""
    parameter = dict(module.named_parameters())[name].detach().view(-1)
    where = np.random.default_rng(0).permutation(len(parameter))[:entries]
    step, slopes = 1e-6, []
    for k in where:
        before = parameter[k].item()
        parameter[k] = before + step
        up = function()
        parameter[k] = before - step
        down = function()
        parameter[k] = before
        slopes.append((up - down) / (2 * step))
    return where, np.array(slopes)
