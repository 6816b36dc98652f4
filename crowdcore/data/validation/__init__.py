"""Validation of imports: what a file holds, and what importing would drop or merge.

`examine` reads and reports; `Import.dataset` takes it in; `read_dataset` does both and refuses to lose anything
unless that is accepted.
"""

from __future__ import annotations

from crowdcore.data.validation.examine import Import, examine, examine_source, read_dataset

__all__ = ["Import", "examine", "examine_source", "read_dataset"]
