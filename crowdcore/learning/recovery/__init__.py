"""A study of who recovers planted noise: plan, run, measures and figures."""
