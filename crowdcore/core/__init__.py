"""Errors, registries and kernels, used by every layer."""
