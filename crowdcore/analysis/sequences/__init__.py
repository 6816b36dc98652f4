"""Crowds that tag tokens: spans of workers beside the true ones."""
