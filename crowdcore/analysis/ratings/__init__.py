"""Crowds whose labels are numbers: who is off by how much, and what the crowd has in common."""
