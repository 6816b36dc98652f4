"""The parts of the Sandbox page: planting crowds, training on them, and who found the planted mistakes."""

from dashboard.components.sandbox.planting import planting
from dashboard.components.sandbox.results import results, training

__all__ = ["planting", "results", "training"]
