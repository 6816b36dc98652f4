from . import backbones as backbones
from . import methods as methods
from .api import (
    split_settings as split_settings,
)
from .api import (
    sweep as sweep,
)
from .api import (
    train as train,
)
from .classifier import CrowdClassifier as CrowdClassifier
from .recovery.plan import RecoveryPlan as RecoveryPlan
from .recovery.study import (
    RecoveryStudy as RecoveryStudy,
)
from .recovery.study import (
    study_recovery as study_recovery,
)
from .results.result import TrainingResult as TrainingResult
from .results.result_files import load_result as load_result
from .settings import TrainSettings as TrainSettings
from .training.events import (
    EpochEvent as EpochEvent,
)
from .training.events import (
    Event as Event,
)
from .training.events import (
    NoteEvent as NoteEvent,
)
