"""Compare: results of several training runs, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import exhibits
from crowdcore.core.errors import CrowdError
from dashboard import state
from dashboard.components.comparison import differing
from dashboard.components.exhibit import looked_at, show, show_notes
from dashboard.components.frame import heading, hidden_names, page
from dashboard.components.guard import fragment
from dashboard.components.pickers import picker, several
from dashboard.components.run_choice import pick_runs, run_labels
from dashboard.components.table import table
from dashboard.components.text import as_text, count
from dashboard.services import compare, opening
from dashboard.services.runs import runs_of

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.comparison.comparability import Kept
    from crowdcore.learning.results.result import At


Runs = tuple[str, ...]
COMMON = "Common"
_ROWS = {"pair": 16, "point": 12, "run": 60}  # of a table before it scrolls


def accuracy(runs: Runs) -> None:
    """The table, every seed, classes, scores and cost."""
    dataset = state.get("dataset")
    why = _no_basis(runs)
    if why:
        _why(why)
        tabled(compare.shown(exhibits.comparison.cost, dataset, runs), "cost", "run")
        return
    spans = compare.shown(exhibits.comparison.found_spans, dataset, runs)
    if spans is not None:
        tabled(spans, "spans", "run", heading=True)
        st.header("Accuracy of tokens")
    at = _epoch()
    _show_exhibit(compare.shown(exhibits.comparison.seeds, dataset, runs, at), "seeds")
    tabled(compare.shown(exhibits.comparison.accuracies, dataset, runs), "accuracy", "run")
    tried = compare.shown(exhibits.comparison.candidates, dataset, runs)
    if tried is not None:
        tabled(tried, "candidates", "run", heading=True)
    if at == "best":
        st.caption("The rest of this page uses the selected epoch: predictions of the best test epoch are not kept.")
    kept: Kept = "last" if at == "last" else "selected"
    _show_exhibit(compare.shown(exhibits.comparison.classes, dataset, runs, kept), "classes")
    tabled(compare.shown(exhibits.comparison.scores, dataset, runs, kept), "scores", "run", heading=True)
    tabled(compare.shown(exhibits.comparison.cost, dataset, runs), "cost", "run", heading=True)


def significance(runs: Runs) -> None:
    """Tests of differences between the runs: over test tasks, and over seeds."""
    at = _epoch()
    if at == "best":
        st.caption("Tests over tasks use the selected epoch: predictions of the best test epoch are not kept.")
    for shown in compare.shown(exhibits.differences.tests, state.get("dataset"), runs, at):
        if shown.figure is not None:
            _show_exhibit(shown, "ranks")
        else:
            tabled(shown, shown.name, "pair", heading=True)


def selection(runs: Runs) -> None:
    """Show how accuracies and ranks change with the selection of the epoch."""
    for shown in compare.shown(exhibits.differences.rank_changes, state.get("dataset"), runs):
        _show_exhibit(shown, shown.name, notes=False)
        tabled(shown, f"{shown.name}-rows", "run", heading=shown.figure is None)


def calibration(runs: Runs) -> None:
    """Reliability of the test posterior, with the scores that go with it."""
    dataset = state.get("dataset")
    exhibit = compare.shown(exhibits.comparison.calibration, dataset, runs)
    if exhibit is None:
        _why(_no_basis(runs))
        return
    _show_exhibit(exhibit, "calibration")
    tabled(compare.shown(exhibits.comparison.scores, dataset, runs, "selected"), "scores", "run")


def disagreement(runs: Runs) -> None:
    """Tasks that two runs label differently."""
    dataset = state.get("dataset")
    opened = opening.dataset(dataset)
    split = picker("Tasks", "split", exhibits.differences.SPLITS, width=200)
    differences = compare.shown(exhibits.differences.prediction_disagreement, dataset, runs, opened, split)
    if len(differences.names) < 2:
        st.info("Choose a second run to see where the two differ.", icon=":material/compare_arrows:")
        return
    shown = compare.shown(exhibits.differences.prediction_differences, dataset, runs, opened, split)

    def tasks(first: str, second: str) -> pd.DataFrame:
        pair = compare.shown(exhibits.differences.differing_predictions, dataset, runs, opened, first, second, split)
        return pair.table

    assert shown.figure is not None
    pair = exhibits.aggregation.most_different(differences)
    differing(differences, shown.figure, pair, tasks, f"{dataset}-{split}", "runs")
    show_notes(shown.notes)


def sweeps(runs: Runs) -> None:
    """Test scores along anything that varies: among runs, among the trials of searches, across other datasets."""
    dataset = state.get("dataset")
    searches = _searches(dataset, bool(runs))
    others = compare.partners(dataset, runs)
    crowds: tuple[str, ...] = ()
    if others:
        words = {name: f"{name} ({count(len(exhibit), 'run')})" for name, exhibit in others.items()}
        about = "Only runs with the same settings are added, and each dataset keeps its own points."
        also = "Also draw their runs with the same methods and settings"
        crowds = tuple(several("Other datasets", "crowds", words, also, help=about))
    trials = [trial for ended in searches.values() for trial in ended]
    everything = (*runs, *trials, *(run for name in crowds for run in others[name]))
    axes = compare.axes(dataset, everything, crowds, tuple(searches))
    if not axes:
        why = (
            "Nothing varies among these runs but their method. Choose runs that differ in a setting, or other datasets."
        )
        st.info(why, icon=":material/tune:")
        return
    with st.container(horizontal=True):
        axis = picker("Along", "axis", axes, width=300)
        at = _epoch()
    st.caption(f"{count(len(everything), 'run')} of {count(1 + len(crowds), 'dataset')}.")
    if trials:
        st.caption("Trials are judged on the validation split. These test scores are not for choosing.")
    exhibit = compare.sweep(dataset, everything, crowds, axis, at)
    _show_exhibit(exhibit, "sweep", notes=False)
    tabled(exhibit, "sweep-rows", "point")


def _searches(dataset: str, optional: bool) -> dict[str, Runs]:
    """The searches whose trials are drawn, with those trials; the newest search where there is nothing else to draw."""
    offered = compare.searches(dataset)
    if not offered:
        return {}
    chosen = [name for name in state.get_many("searches") if name in offered]
    if not chosen and not optional:
        chosen = list(offered)[:1]
    labels = run_labels(runs_of(dataset))
    words = {name: f"{labels[name]} ({count(len(trials), 'trial')})" for name, trials in offered.items()}
    several("Trials of searches", "searches", words, "Also draw the trials of a search", chosen)
    return {name: offered[name] for name in chosen}


def recovery(runs: Runs) -> None:
    """Recovery errors of the runs, on simulated crowds."""
    dataset, view = state.get("dataset"), looked_at()
    exhibit = compare.shown(exhibits.comparison.recovery, dataset, runs, view.dataset)
    if exhibit is None:
        st.info("These methods estimate nothing whose true value is known here.", icon=":material/block:")
        return
    tabled(exhibit, "recovery", "run")
    matrices = compare.shown(exhibits.comparison.truth, dataset, runs, view.dataset, None)
    workers = view.listed if exhibits.confusions.has_truth(view) else ()
    names = [*([] if matrices is None else [COMMON]), *workers]
    if not names:
        return
    shown = picker("Confusion", "worker", names)
    if matrices is None or shown != COMMON:
        number = view.worker_number(shown)
        matrices = compare.shown(exhibits.comparison.truth, dataset, runs, view.dataset, number, shown)
    if matrices is None:
        st.info("No run learnt this confusion.", icon=":material/block:")
    else:
        _show_exhibit(matrices, "truth")


def _epoch() -> At:
    return picker("Epoch", "at", exhibits.comparison.AT_WORDS, width=260)


def _no_basis(runs: Runs) -> str:
    """Reason why the runs have no test accuracy; "" where they have one."""
    from crowdcore.learning.comparison.comparability import explain_missing_gold

    return explain_missing_gold(list(compare.compared(state.get("dataset"), runs).values()))


def _show_exhibit(shown: Exhibit, key: str, notes: bool = True) -> None:
    """The figure with its downloads, and its notes; or why there is none."""
    if shown.figure is not None:
        show(shown, key, file=f"{state.get('dataset')}-{shown.name}", notes=False)
    if notes:
        _notes(shown)


def tabled(shown: Exhibit, key: str, noun: str, heading: bool = False) -> None:
    """The table, and its notes; or why there is none."""
    if heading:
        st.header(shown.title)
    if len(shown.table):
        name = f"{state.get('dataset')}-{shown.name}"
        table(shown.table, key, name=name, noun=noun, rows=min(len(shown.table), _ROWS[noun]))
    _notes(shown)


def _notes(shown: Exhibit) -> None:
    """Notes; of an empty exhibit, the reason why it is empty."""
    for note in shown.notes:
        st.caption(as_text(note)) if len(shown.table) else _why(note)


def _why(sentence: str) -> None:
    st.info(as_text(sentence), icon=":material/block:")


def errors(runs: Runs) -> None:
    """MAE, RMSE and R², differences over seeds, and cost."""
    dataset = state.get("dataset")
    tabled(compare.shown(exhibits.comparison.rating_errors, dataset, runs), "errors", "run")
    differ = compare.shown(exhibits.differences.rating_differences, dataset, runs, _epoch())
    tabled(differ, "differences", "run", heading=True)
    tabled(compare.shown(exhibits.comparison.cost, dataset, runs), "cost", "run", heading=True)


def biases(runs: Runs) -> None:
    """Learnt and true biases of the workers, a figure for each run that learns them."""
    dataset = looked_at().dataset
    for number, (name, result) in enumerate(compare.compared(state.get("dataset"), runs).items()):
        try:
            shown = exhibits.ratings.rating_biases(dataset, result, hidden=hidden_names())
        except CrowdError as refusal:
            st.info(as_text(f"{name}: {refusal}"), icon=":material/block:")
        else:
            show(shown, f"biases-{number}", file=f"{dataset.name}-{shown.name}")


TABS = {
    "Accuracy": accuracy,
    "Significance": significance,
    "Selection": selection,
    "Calibration": calibration,
    "Differences": disagreement,
    "Sweeps": sweeps,
    "Recovery": recovery,
}
RATING_TABS = {
    "Errors": errors,
    "Sweeps": sweeps,
    "Biases": biases,
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


page("compare", draw)
