"""Files to `CrowdDataset`: reading, checking, writing, finding and simulating crowds."""

from __future__ import annotations

import importlib
from typing import Any

from crowdcore.data.catalogue import DatasetInfo, describe_datasets, list_datasets, load_dataset
from crowdcore.data.columns import MappingError
from crowdcore.data.dataset import SPLITS, CrowdDataset, Media, SimulatedTruth
from crowdcore.data.frames import examine_frame, from_frame
from crowdcore.data.report import Finding, ImportReport
from crowdcore.data.rows import Rows
from crowdcore.data.settings import ReadSettings
from crowdcore.data.validation import Import, examine, read_dataset
from crowdcore.data.writers import neutralise, write_aggregated, write_folder, write_long

__all__ = [
    "SPLITS",
    "CrowdDataset",
    "DatasetInfo",
    "Finding",
    "Import",
    "ImportReport",
    "MappingError",
    "Media",
    "ReadSettings",
    "Rows",
    "SimulatedTruth",
    "describe_datasets",
    "examine",
    "examine_frame",
    "from_frame",
    "list_datasets",
    "load_dataset",
    "neutralise",
    "read_dataset",
    "write_aggregated",
    "write_folder",
    "write_long",
]


def __getattr__(name: str) -> Any:
    """Import the simulations and the sources on first use."""
    if name in {"simulate", "sources"}:
        return importlib.import_module(f"crowdcore.data.{name}")
    raise AttributeError(f"module 'crowdcore.data' has no attribute {name!r}")
