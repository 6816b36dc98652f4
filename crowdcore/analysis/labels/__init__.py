"""Labels as they are: counts, noise, agreement and disagreement."""
