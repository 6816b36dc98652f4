"""Does the crowd keep its rules?"""

from __future__ import annotations

from crowdcore import analysis
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import View

__all__ = ["check"]


def check(view: View, rules: str = "") -> Exhibit:
    """A verdict on every rule: pass, fail, or underpowered.

    Args:
        view: whose labels.
        rules: a file of rules; default: all rules at recommended limits.
    """
    found = view.renamed(analysis.check(view.dataset, rules or None, reference=view.truth))
    return Exhibit("check", f"Rules (reference: {view.reference})", None, found.frame())
