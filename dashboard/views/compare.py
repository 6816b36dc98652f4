"""Compare: what several training runs came to, side by side."""

from __future__ import annotations

from dashboard import state
from dashboard.components import compared
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.run_choice import pick_runs
from dashboard.services import compare, opening

TABS = {
    "Accuracy": compared.accuracy,
    "Significance": compared.significance,
    "Selection": compared.selection,
    "Curves": compared.curves,
    "Calibration": compared.calibration,
    "Differences": compared.disagreement,
    "Sweeps": compared.sweeps,
    "Recovery": compared.recovery,
}
RATING_TABS = {
    "Errors": compared.errors,
    "Curves": compared.curves,
    "Sweeps": compared.sweeps,
    "Biases": compared.biases,
}


@fragment
def draw() -> None:
    """The runs, and one view of them.

    What was recovered can be judged on simulated crowds alone; where all that was trained are searches, sweeps are all
    there is to see.
    """
    heading()
    dataset = state.get("dataset")
    searched = bool(compare.searches(dataset))
    runs = tuple(run.id for run in pick_runs(optional=searched))
    if not runs and not searched:
        return
    known = TABS if opening.kind(dataset) == "classes" else RATING_TABS
    shown = state.one_of("view", list(known)) or next(iter(known))
    known[shown if runs else "Sweeps"](runs)


page("compare", draw, ratings=draw)
