"""The tabs of the page on annotators."""

from dashboard.components.annotators.coordinated import coordinated
from dashboard.components.annotators.distances import alike
from dashboard.components.annotators.pairs import pairs
from dashboard.components.annotators.ranking import ranking
from dashboard.components.annotators.worker import worker

__all__ = ["alike", "coordinated", "pairs", "ranking", "worker"]
