"""Dataset -> frozen result: pure functions, each with the reference that it takes for the truth.

Everything public is an attribute of this package: ``analysis.shared_mistakes(dataset, "gold").percent``.
"""

from crowdcore.analysis.mistake_cell import MistakeCell, mistake_cell, mistake_list
from crowdcore.analysis.reference import Reference, ReferenceLike, available_references, resolve_reference
from crowdcore.analysis.shared_mistakes import SharedMistakes, shared_mistakes

__all__ = [
    "MistakeCell",
    "Reference",
    "ReferenceLike",
    "SharedMistakes",
    "available_references",
    "mistake_cell",
    "mistake_list",
    "resolve_reference",
    "shared_mistakes",
]
