"""Which methods recover what."""

from __future__ import annotations

from dashboard.services.learners import about_method, learners
from dashboard.services.runs import training_fault

_PARTS = {"worker_confusion": "recovers no confusions", "omega": "does not tell common from individual noise"}


def recovering(part: str) -> list[str]:
    """Names of the methods that recover a part: ``worker_confusion``, ``common_confusion``, ``omega`` …"""
    return [] if training_fault() else [n for n in learners() if part in about_method(n)["recovers"]]


def without(method: str, part: str) -> str:
    """What to say of a method that does not recover a part."""
    others = [name for name in recovering(part) if name != method]
    return f"This run of {method} {_PARTS[part]}. Methods that do: {', '.join(others)}."
