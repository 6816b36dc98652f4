"""Recovery studies of planted noise: plan, run, measures and figures."""
