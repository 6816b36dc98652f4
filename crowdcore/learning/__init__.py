"""Learning from crowds, the only layer that knows torch: train a classifier and recover what its crowd did.

``train(dataset, method="conal", seeds=5).accuracy("test")``; `methods` and `backbones` list what there is. Torch is
loaded by what computes with it; reading a result needs none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdcore.learning import backbones, methods
    from crowdcore.learning.api import split_settings, sweep, train
    from crowdcore.learning.classifier import CrowdClassifier
    from crowdcore.learning.recovery.plan import RecoveryPlan
    from crowdcore.learning.recovery.study import RecoveryStudy, study_recovery
    from crowdcore.learning.results.result import TrainingResult
    from crowdcore.learning.results.result_files import load_result
    from crowdcore.learning.settings import TrainSettings
    from crowdcore.learning.training.events import EpochEvent, Event, NoteEvent

__all__ = [
    "CrowdClassifier",
    "EpochEvent",
    "Event",
    "NoteEvent",
    "RecoveryPlan",
    "RecoveryStudy",
    "TrainSettings",
    "TrainingResult",
    "backbones",
    "load_result",
    "methods",
    "split_settings",
    "study_recovery",
    "sweep",
    "train",
]

_FOLDERS = {"backbones", "methods"}
_HOME = {
    "CrowdClassifier": "classifier",
    "EpochEvent": "training.events",
    "Event": "training.events",
    "NoteEvent": "training.events",
    "RecoveryPlan": "recovery.plan",
    "RecoveryStudy": "recovery.study",
    "TrainSettings": "settings",
    "TrainingResult": "results.result",
    "load_result": "results.result_files",
    "split_settings": "api",
    "study_recovery": "recovery.study",
    "sweep": "api",
    "train": "api",
}


def __getattr__(name: str) -> Any:
    """Import on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"{__name__}.{name if name in _FOLDERS else _HOME[name]}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from crowdcore.core.errors import need_extra

        raise need_extra("torch", "learning", "Training") from error
    return module if name in _FOLDERS else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
