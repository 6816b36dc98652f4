"""Two rounds side by side: changes of right labels, of mistakes and of workers, tested against noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdcore import analysis, figures
from crowdcore.analysis.two_rounds.compare import BETWEEN, CONTROL, WITHIN
from crowdcore.analysis.two_rounds.split import DATE, HALVES, ROUND
from crowdcore.core.errors import SettingError
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import Exhibit, cell_of
from crowdcore.exhibits.view import View, cached

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.analysis import Rounds

_LEVEL = 0.05
_BY_CHANCE = (
    "This is a chance check: the workers were halved at random, so every difference below is chance. It shows how "
    "large differences are that mean nothing."
)


@cached
def two_rounds(view: View, by: str = "", at: str = "") -> Exhibit:
    """Changes from one round to the next: right labels, agreement, wrong labels of each class.

    Args:
        view: a dataset that holds both rounds.
        by: date, a column of the annotations, or halves (a chance check); default: the column ``round``.
        at: where the second round begins, or its value of the column; of halves the seed.
    """
    rounds = _rounds(view, by, at)
    table = _percent(rounds.measures_frame())
    sizes = zip(rounds.n_annotations.tolist(), rounds.n_tasks.tolist(), rounds.n_workers.tolist(), strict=True)
    rows = [f"{plural(n, 'label')} on {plural(t, 'task')} by {plural(w, 'worker')}" for n, t, w in sizes]
    title = f"{rounds.names[0]} → {rounds.names[1]}".capitalize()
    notes = (
        _BY_CHANCE if rounds.by_chance else _in_short(view, rounds),
        f"First: {rounds.names[0]}, {rows[0]}. Second: {rounds.names[1]}, {rows[1]}.",
        rounds.truth,
        WITHIN if rounds.within else BETWEEN,
        CONTROL,
    )
    return Exhibit("two-rounds", "Chance check" if rounds.by_chance else title, None, table, notes)


@cached
def round_mistakes(view: View, by: str = "", at: str = "") -> Exhibit:
    """Mistakes of either round, with those that came or went first.

    Args:
        view: a dataset that holds both rounds.
        by: date, a column of the annotations, or halves (a chance check); default: the column ``round``.
        at: where the second round begins, or its value of the column; of halves the seed.
    """
    table = _percent(_rounds(view, by, at).mistakes_frame())
    notes: tuple[str, ...] = (
        "“First”, “second”: share of the labels on tasks of the true class; “workers”: how many made the mistake.",
    )
    if not table["change"].astype(bool).any():
        notes = ("No single mistake changed beyond noise.", *notes)
    return Exhibit("round-mistakes", "Mistakes that appeared or disappeared", None, table, notes, click=cell_of(table))


@cached
def round_workers(view: View, by: str = "", at: str = "") -> Exhibit:
    """Workers, the surest change first; index = worker number.

    Args:
        view: a dataset that holds both rounds.
        by: date, a column of the annotations, or halves (a chance check); default: the column ``round``.
        at: where the second round begins, or its value of the column; of halves the seed.
    """
    rounds = view.renamed(_rounds(view, by, at))
    table = _percent(rounds.workers_frame())
    notes = (
        "Share of right labels on the classes that a worker saw in both rounds; 95 % intervals of the difference.",
    )
    some = table["difference (points)"].notna().any()
    figure = figures.round_workers(view.drawable(_rounds(view, by, at))) if some else None
    alt = "Each worker's share of right labels"
    return Exhibit("round-workers", "Who changed", figure, table, notes, alt, view.to_worker)


def _rounds(view: View, by: str, at: str) -> Rounds:
    if view.hidden and by not in {HALVES, DATE, ROUND}:
        raise SettingError("by", f"be {HALVES} or {DATE} while names are hidden, as columns may tell them", by)
    return view.of(analysis.rounds, by=by, at=at)


def _percent(table: pd.DataFrame) -> pd.DataFrame:
    """Convert shares to percentages."""
    names = {
        "first": "first %",
        "second": "second %",
        "difference": "difference (points)",
        "from": "from %",
        "to": "to %",
    }
    here = [name for name in names if name in table]
    return table.assign(**{name: 100 * table[name] for name in here}).rename(columns=names)


def _in_short(view: View, rounds: Rounds) -> str:
    """Summarise the changes in a few sentences."""
    if not rounds.alarm:
        return "Nothing changed beyond noise."
    sentences = []
    words = ("Right labels", "Agreement")
    for word, q, first, second in zip(
        words, rounds.q_measures, rounds.measures.first, rounds.measures.second, strict=True
    ):
        if q <= _LEVEL:
            sentences.append(f"{word}: {100 * first:.1f} % → {100 * second:.1f} %.")
    noisier = np.flatnonzero(rounds.q_noise <= _LEVEL)
    for more, what in ((False, "Fewer"), (True, "More")):
        some = [f"“{view.classes[c]}”" for c in noisier if (rounds.noise.second[c] > rounds.noise.first[c]) == more]
        sentences += [f"{what} wrong labels on {_join_names(some)}."] if some else []
    mistakes = rounds.mistakes_frame()
    phrases = {"came": "Mistakes that appeared", "went": "Mistakes that disappeared"}
    for word in ("came", "went", "more often", "less often"):
        some = [f"“{a}” called “{b}”" for a, b in mistakes[mistakes["change"] == word][["true", "given"]].to_numpy()]
        sentences += [f"{phrases.get(word, word.capitalize())}: {_join_names(some)}."] if some else []
    workers = view.renamed(rounds).workers_frame()
    for word in ("better", "worse"):
        some = workers["worker"][workers["change"] == word].tolist()
        sentences += [f"Workers who became {word}: {_join_names(some)}."] if some else []
    return " ".join(sentences)


def _join_names(names: list[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
