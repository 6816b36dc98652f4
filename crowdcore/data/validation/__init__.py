"""The import doctor: what a file was understood to hold, and what taking it in would drop or merge.

`examine` reads and reports; `Import.dataset` takes it in; `read_dataset` does both and refuses to lose anything
unless that is accepted.
"""

from __future__ import annotations

from crowdcore.data.validation.examine import Import, examine, examine_source, read_dataset

__all__ = ["Import", "examine", "examine_source", "read_dataset"]
