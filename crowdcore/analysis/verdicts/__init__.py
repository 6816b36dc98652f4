"""Verdicts: whom to trust, train, check or remove, and which tasks to label again."""
