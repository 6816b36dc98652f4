from . import (
    aggregation as aggregation,
    comparison as comparison,
    confusion_sources as confusion_sources,
    confusions as confusions,
    contradicted as contradicted,
    corrections as corrections,
    fits as fits,
    label_differences as label_differences,
    mistakes as mistakes,
    omega as omega,
    one_fit as one_fit,
    overview as overview,
    planted as planted,
    recovered as recovered,
    recovery_study as recovery_study,
    tasks as tasks,
    training as training,
    tried as tried,
    worker_skills as worker_skills,
    workers as workers,
)
from .exhibit import Exhibit as Exhibit
from .view import View as View, view as view
