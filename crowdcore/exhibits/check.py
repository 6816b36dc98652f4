"""Does the crowd keep its rules?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdcore import analysis
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    from crowdcore.analysis import Check, Rules


def check(view: View, rules: str = "") -> Exhibit:
    """A verdict on every rule: pass, fail, or underpowered.

    Args:
        view: whose labels.
        rules: a file of rules; default: all rules at recommended limits.
    """
    found = checked(view, analysis.read_rules(rules) if rules else None)
    return Exhibit("check", f"Rules (reference: {view.reference})", None, found.frame())


@cached
def checked(view: View, rules: Rules | None = None) -> Check:
    """The verdicts themselves, with the names that may be read of workers."""
    return view.renamed(analysis.check(view.dataset, rules, reference=view.truth))
