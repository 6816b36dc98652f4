"""Confusions and noise sources of trained runs and simulations."""
