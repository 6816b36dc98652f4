"""crowdcore: who makes which labelling mistakes, which of those are shared, and what is the truth behind them?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import CrowdError, DataError, SettingError

if TYPE_CHECKING:
    from crowdcore import aggregation, analysis, data, figures
    from crowdcore.data import CrowdDataset, from_frame, list_datasets, load_dataset, read_dataset

__version__ = "0.1.0"
__all__ = [
    "CrowdDataset",
    "CrowdError",
    "DataError",
    "SettingError",
    "aggregation",
    "analysis",
    "data",
    "figures",
    "from_frame",
    "list_datasets",
    "load_dataset",
    "read_dataset",
]

_FOLDERS = {"aggregation", "analysis", "data", "figures", "learning", "runs"}


def __getattr__(name: str) -> Any:
    """Import layers on first use, so that ``import crowdcore`` stays light."""
    if name in _FOLDERS:
        return importlib.import_module(f"crowdcore.{name}")
    if name in __all__:
        return getattr(importlib.import_module("crowdcore.data"), name)
    raise AttributeError(f"module 'crowdcore' has no attribute {name!r}")
