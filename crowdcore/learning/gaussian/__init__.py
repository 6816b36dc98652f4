"""Gaussian classes in a fixed feature space, fitted by EM together with the workers' confusions."""
