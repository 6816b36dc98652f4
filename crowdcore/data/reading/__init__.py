"""Read a dataset in three steps: a table (`data.tables`), the meaning of its columns, and the dataset.

A reader of `data.readers` returns the columns by role, `Raw`. `understand` cleans them and decides what the labels
are, `Understood`. `assemble` numbers them and returns a `CrowdDataset` or `RatingDataset` and the report of every loss.
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
