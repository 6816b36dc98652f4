"""Confusions that runs recovered, of each worker and common to all."""

from __future__ import annotations

from functools import partial

from dashboard.components import recovered
from dashboard.components.exhibit import folded
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment

FOLDED = {
    "How much of it is shared": recovered.shared_part,
    "Every source": recovered.sources,
    "All workers": recovered.small,
    "Workers": recovered.ranking,
    "Contradicted tasks": recovered.contradicted,
}


@fragment
def draw() -> None:
    """Pickers, the largest confusion in one line, and one row of matrices; the rest is folded."""
    heading()
    choice = recovered.choose("worker_confusion", "No finished run has recovered confusions.")
    if choice is None:
        return
    recovered.sentence(choice)
    recovered.matrices(choice)
    recovered.show_caveats(choice)
    recovered.sentences(choice)
    for name, part in FOLDED.items():
        folded(name, partial(part, choice))


page("confusions", draw)
