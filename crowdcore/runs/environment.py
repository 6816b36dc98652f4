"""What a run was computed with: versions and the machine; no paths, no names of people, no variables' values."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "numba",
    "pydantic",
    "safetensors",
    "torch",
    "torchvision",
    "mlflow",
)


def environment() -> dict[str, str]:
    """Name -> version or description, one flat dictionary."""
    import crowdcore

    found = {"crowdcore": crowdcore.__version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": str(os.cpu_count() or 1),
    }
