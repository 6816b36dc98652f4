"""The parts of the page on confusions."""

from dashboard.components.recovered.choice import Choice, choose, choose_omega, epochs
from dashboard.components.recovered.contradicted import contradicted
from dashboard.components.recovered.matrices import matrices
from dashboard.components.recovered.ranking import ranking
from dashboard.components.recovered.sentences import sentences

__all__ = ["Choice", "choose", "choose_omega", "contradicted", "epochs", "matrices", "ranking", "sentences"]
