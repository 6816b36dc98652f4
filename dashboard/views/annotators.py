"""Workers: how alike they are, how good, what each confuses, who is wrong with whom, and who acts together."""

from __future__ import annotations

from dashboard import state
from dashboard.components.annotators import alike, ranking, together, worker
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment

VIEWS = {"Ranking": ranking, "One worker": worker, "Together": together, "Distances": alike}


@fragment
def draw() -> None:
    """The page."""
    if state.get("view") in ("Pairs", "Coordinated"):  # of an older address
        state.put(view="Together")
    heading()
    VIEWS.get(state.get("view"), ranking)()


page("annotators", draw)
