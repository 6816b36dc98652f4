"""The tabs of the page on ω."""

from dashboard.components.omega.spread import classes, workers
from dashboard.components.omega.tasks import tasks
from dashboard.components.omega.truth import truth

__all__ = ["classes", "tasks", "truth", "workers"]
