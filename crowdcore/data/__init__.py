"""Files to `CrowdDataset`: reading, checking, writing, finding and simulating crowds."""

from __future__ import annotations

import importlib
from typing import Any

from crowdcore.data.catalogue import list_datasets, load_dataset
from crowdcore.data.dataset import SPLITS, CrowdDataset, Media, SimulatedTruth
from crowdcore.data.rows import Rows

__all__ = ["SPLITS", "CrowdDataset", "Media", "Rows", "SimulatedTruth", "list_datasets", "load_dataset"]


def __getattr__(name: str) -> Any:
    """Import the simulations and the sources on first use."""
    if name in {"simulate", "sources"}:
        return importlib.import_module(f"crowdcore.data.{name}")
    raise AttributeError(f"module 'crowdcore.data' has no attribute {name!r}")
