"""The parts of the page on confusions."""

from dashboard.components.recovered.choice import Choice, choose, choose_omega
from dashboard.components.recovered.matrices import matrices
from dashboard.components.recovered.ranking import ranking

__all__ = ["Choice", "choose", "choose_omega", "matrices", "ranking"]
