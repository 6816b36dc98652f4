"""Errors, registries, kernels: what every layer stands on."""
