"""Mistakes and who shares them."""
