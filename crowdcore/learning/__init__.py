"""Learning from crowds, the only layer that knows torch: train a classifier and recover what its crowd did.

``train(dataset, method="conal", seeds=5).accuracy("test")``; `methods` and `backbones` list what there is.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    from crowdcore.core.errors import need_extra

    raise need_extra("torch", "learning", "Training") from error

from crowdcore.learning import backbones, methods
from crowdcore.learning.api import split_settings, sweep, train
from crowdcore.learning.classifier import CrowdClassifier
from crowdcore.learning.events import EpochEvent, Event, NoteEvent
from crowdcore.learning.result import TrainingResult
from crowdcore.learning.result_files import load_result
from crowdcore.learning.settings import TrainSettings

__all__ = [
    "CrowdClassifier",
    "EpochEvent",
    "Event",
    "NoteEvent",
    "TrainSettings",
    "TrainingResult",
    "backbones",
    "load_result",
    "methods",
    "split_settings",
    "sweep",
    "train",
]
