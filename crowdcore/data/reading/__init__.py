"""Read a dataset in three steps: a table (`data.tables`), what it means, and the dataset.

A reader of `data.readers` opens a format: its columns by role are `Raw`. `understand` cleans them and decides what the
labels are: `Understood`. `assemble` numbers them: a `CrowdDataset` or `RatingDataset`, and the report of every loss.
"""

from __future__ import annotations

from crowdcore.data.reading.examine import (
    Import,
    RatingImport,
    examine,
    examine_ratings,
    examine_source,
    read_dataset,
    read_ratings,
)

__all__ = ["Import", "RatingImport", "examine", "examine_ratings", "examine_source", "read_dataset", "read_ratings"]
