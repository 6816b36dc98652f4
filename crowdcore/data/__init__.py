"""Files to `CrowdDataset`: reading, checking, writing, finding and simulating crowds."""

from __future__ import annotations

from crowdcore.data.catalogue import list_datasets, load_dataset
from crowdcore.data.dataset import SPLITS, CrowdDataset, Media, SimulatedTruth
from crowdcore.data.rows import Rows

__all__ = ["SPLITS", "CrowdDataset", "Media", "Rows", "SimulatedTruth", "list_datasets", "load_dataset"]
