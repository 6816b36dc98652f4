"""Verdicts: whom to trust, train, check or remove, and which tasks to label again."""

from __future__ import annotations

REMOVE, TRUST, CONFUSED, SURE = 2 / 3, 1 / 2, 0.2, 0.9
"""Default thresholds of `worker_verdicts`, `task_verdicts`, pages, commands and checks, which say the same."""
