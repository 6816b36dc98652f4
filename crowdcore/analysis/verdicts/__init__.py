"""Verdicts: whom to trust, train, check or remove, and which tasks to label again."""

from __future__ import annotations

REMOVE, TRUST, CONFUSED, SURE, LEVEL = 2 / 3, 1 / 2, 0.2, 0.9, 0.05
"""Default thresholds and level of `worker_verdicts`, `task_verdicts`, pages, commands and checks, all alike."""
VERDICT_WORDS = {"underpowered": "undecided"}
"""Words for verdicts, of workers and of rules, that differ from their keys."""


def verdict_word(verdict: str) -> str:
    """Return the word for a verdict in tables and pages."""
    return VERDICT_WORDS.get(verdict, verdict)
