"""Noise source: which labels a run attributes to the confusion that all workers share, and which to their own."""

from __future__ import annotations

from functools import partial

from crowdcore.exhibits.omega import has_true_omega
from dashboard import state
from dashboard.components import omega
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.recovered import choose, folded

FOLDED = {
    "Tasks": omega.tasks,
    "Classes": omega.classes,
    "Workers": omega.workers,
    "Truth": omega.truth,
    "How to read ω": omega.notes,
}


@fragment
def draw() -> None:
    """The pickers and the ranking per class with the ends of one of them; the rest is folded."""
    heading()
    choice = choose("omega", "No finished run separates common from individual noise.")
    if choice is None:
        return
    omega.ranking(choice)
    for name, part in FOLDED.items():
        if name != "Truth" or has_true_omega(choice.view):
            folded(name, partial(part, choice), open=name == "Tasks" and bool(state.get("half") or state.get("true")))


page("omega", draw)
