from . import (
    aggregation as aggregation,
    comparison as comparison,
    confusions as confusions,
    coordinated as coordinated,
    differences as differences,
    fits as fits,
    glossary as glossary,
    mistakes as mistakes,
    omega as omega,
    overview as overview,
    planted as planted,
    ratings as ratings,
    recovered as recovered,
    review as review,
    tasks as tasks,
    two_rounds as two_rounds,
    verdicts as verdicts,
    worker_page as worker_page,
    worker_skills as worker_skills,
    workers as workers,
)
from .exhibit import Exhibit as Exhibit, between as between
from .view import View as View, view as view
