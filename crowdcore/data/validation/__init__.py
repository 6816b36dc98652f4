"""Validation of imports: what a file holds, and what importing would drop or merge.

`examine` reads and reports; `Import.dataset` takes it in; `read_dataset` does both and refuses to lose anything
unless that is accepted.
"""

from __future__ import annotations

from crowdcore.data.validation.door import examine, examine_ratings
from crowdcore.data.validation.examine import Import, examine_source, read_dataset
from crowdcore.data.validation.ratings import RatingImport, examine_rating_source, read_ratings

__all__ = [
    "Import",
    "RatingImport",
    "examine",
    "examine_rating_source",
    "examine_ratings",
    "examine_source",
    "read_dataset",
    "read_ratings",
]
