"""Dataset -> frozen result: pure functions, each with the reference that it takes for the truth.

Everything public is an attribute of this package: ``analysis.shared_mistakes(dataset, "gold").percent``.
"""

from crowdcore.analysis.mistake_cell import MistakeCell, mistake_cell, mistake_list
from crowdcore.analysis.reference import Reference, ReferenceLike, available_references, resolve_reference
from crowdcore.analysis.shared_mistakes import SharedMistakes, shared_mistakes
from crowdcore.analysis.worker_confusion import WorkerConfusion, worker_confusion
from crowdcore.analysis.worker_distance import WorkerDistance, confusion_distance, worker_distance
from crowdcore.analysis.worker_order import WorkerOrder, order_workers

__all__ = [
    "MistakeCell",
    "Reference",
    "ReferenceLike",
    "SharedMistakes",
    "WorkerConfusion",
    "WorkerDistance",
    "WorkerOrder",
    "available_references",
    "confusion_distance",
    "mistake_cell",
    "mistake_list",
    "order_workers",
    "resolve_reference",
    "shared_mistakes",
    "worker_confusion",
    "worker_distance",
]
