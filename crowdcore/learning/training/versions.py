"""Versions of what computes a result."""

from __future__ import annotations

import platform

import numpy as np
import torch

import crowdcore


def versions() -> dict[str, str]:
    """Package -> version."""
    return {
        "crowdcore": crowdcore.__version__,
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
