"""Panels of judges: effective votes, correlated errors, judges who are right alone, and judges who can go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd

from crowdcore import analysis
from crowdcore.analysis.panels.leanings import PanelLeanings
from crowdcore.analysis.panels.moments import mean_correlation
from crowdcore.analysis.panels.opinion import MANY
from crowdcore.analysis.panels.panel import DROP, KEEP, MERGE, RECALIBRATE, UNDECIDED
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import Exhibit, cached, escaped, none_of
from crowdcore.exhibits.view import View

if TYPE_CHECKING:
    from crowdcore.analysis import HonestScore, Panel, PanelPeople

T = TypeVar("T")
_MOST = 3  # groups described in words
_SHARES = "share mistakes beyond what is hard for all: correlation {found:.2f} where the others explain {expected:.2f}"
_COPIES = "make nearly the same mistakes: correlation {found:.2f}"
_NONE = "No judges were found who share mistakes beyond what is hard for all."
_NO_COPIES = (
    "No two judges make nearly the same mistakes; who shares some beyond what is hard for all takes five to say."
)
_UNKNOWN = "Effective votes are not known: no two of {} judges have errors to compare on 30 items of both."
_INFERRED = (
    "The truth is inferred from the same verdicts, so shared mistakes are partly taken for truth: effective votes have "
    "a range, and nobody can be told to go. A few gold labels decide it."
)
_ORDER = (DROP, MERGE, RECALIBRATE, UNDECIDED, KEEP)
_ALONE = "Leaning aside, {} judges count as {:.1f} to {:.1f} votes: verdicts without gold do not decide it."
_ABOUT = " About {:.1f} if their opinion shows the truth as that of 24 language models did on comments."
_FEW = 6  # judges named in a sentence, and below a matrix beside its rows
_LOSS = 0.02  # of accuracy that is surely not lost where judges are said to go


@cached
def of_view(view: View) -> Panel:
    """Panel by the view's reference, with its names of workers; where these are hidden, families have numbers.

    Raises:
        DataError: the workers are no panel, or too few items have a known class.
    """
    panel = view.renamed(view.of(analysis.panel))
    if view.hidden:
        number = pd.factorize(pd.Series(panel.families))[0]
        panel = replace(panel, families=tuple(f"family {k + 1}" for k in number))
    return panel


def _panel(view: View) -> Panel | str:
    return _or_why(lambda: of_view(view))


def _or_why(make: Callable[[], T]) -> T | str:
    """Return a result, or the reason why there is none."""
    try:
        return make()
    except DataError as error:
        return str(error)


def headline(view: View) -> tuple[str, ...]:
    """Sentences about a panel's effective votes, judges who err together, and whom to drop; or why it is no panel."""
    panel = _panel(view)
    if isinstance(panel, str):
        return (panel,)
    judges, (raw, within) = len(panel.families), panel.votes
    about = f"about {raw.kish:.1f} votes ({raw.kish_low:.1f} to {raw.kish_high:.1f})"
    last = _part(panel) if panel.sub_panel is not None else _INFERRED
    if np.isnan(within.kish if panel.sub_panel is None else raw.kish):
        return (_UNKNOWN.format(judges), *panel.notes, last)
    first = f"{judges} judges count as {about}: their errors correlate by {mean_correlation(panel.correlation):.2f}."
    if panel.sub_panel is None:
        first = _ALONE.format(judges, within.kish_low, within.kish_high)
        first += _ABOUT.format(within.kish) if panel.opinion > MANY and len(panel.classes) == 2 else ""
    elif raw.kish_high > 0.9 * judges and not panel.kin:
        first = f"{judges} judges count as {about}: no dependence of their errors was found."
    return (first, *_groups(panel), *panel.notes, last)


def _groups(panel: Panel) -> tuple[str, ...]:
    """Sentences about the groups that share most mistakes."""
    sentences = []
    for one in panel.kin[:_MOST]:
        words = _SHARES if one.expected == one.expected else _COPIES
        words = words.format(found=one.correlation, expected=one.expected)
        sentences.append(f"{_join([str(panel.worker_ids[j]) for j in one.members])} {words}.")
    return tuple(sentences) or (_NONE if len(panel.families) > 4 else _NO_COPIES,)


def _part(panel: Panel) -> str:
    """Sentence about the judges to drop; its numbers are of items that did not choose them."""
    part = panel.sub_panel
    assert part is not None
    gone = np.setdiff1d(np.arange(len(panel.families)), part.members)
    where = f"on {part.n:,} items that did not choose them"
    if not len(gone):
        return "No smaller panel was found that is as accurate."
    stay, away = (_join([str(panel.worker_ids[j]) for j in some]) for some in (part.members, gone))
    points = f"{100 * part.accuracy:+.1f} points ({100 * part.low:+.1f} to {100 * part.high:+.1f})"
    beside = f"{points} beside the whole panel's {100 * part.whole:.1f} % {where}"
    if part.low < -_LOSS:
        some = f"without {away}" if len(gone) <= len(part.members) else f"with {stay} alone"
        return f"No smaller panel is surely as good: {some} the vote is {beside}."
    if len(part.members) == 1:
        return f"Keep {stay} alone: its accuracy is {beside}, at {100 * part.cost:.0f} % of the cost."
    if len(gone) <= len(part.members):
        return f"Drop {away}: the vote of the rest is {beside}, at {100 * part.cost:.0f} % of the cost."
    return f"Keep {stay}: their vote is {beside}, at {100 * part.cost:.0f} % of the cost."


def _join(names: list[str]) -> str:
    """Join names; of many, the first ones and the number of others."""
    if len(names) > _FEW:
        return f"{', '.join(names[: _FEW - 1])} and {len(names) - _FEW + 1} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@cached
def panel_errors(view: View) -> Exhibit:
    """Correlations of judges' errors as a matrix, by family; a click shows the items of two judges."""
    from crowdcore.figures.heatmap import heatmap
    from crowdcore.figures.theme import DIVERGING, room_below

    name, title = "panel-errors", "Whose errors go together"
    panel = _panel(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    order = panel.order
    matrix = panel.correlation[np.ix_(order, order)].copy()
    np.fill_diagonal(matrix, np.nan)
    names = [escaped(panel.worker_ids[j]) for j in order]
    figure = heatmap(
        matrix,
        names,
        names,
        text=np.where(np.isnan(matrix), "", np.char.mod("%.2f", np.nan_to_num(matrix))),
        hover="%{y}<br>%{x}<br>correlation of errors <b>%{z:.2f}</b>, %{customdata[0]:,} items",
        customdata=panel.shared[np.ix_(order, order)][..., None],
        scale=DIVERGING,
        low=-1.0,
        high=1.0,
        unit="correlation",
        title=title,
        subtitle=escaped(f"judges by family · reference: {view.reference}"),
    )
    if len(order) > _FEW:  # the rows have the names
        figure.update_layout(height=figure.layout.height - room_below(names, 40)).update_xaxes(showticklabels=False)
    same, other = panel.family_correlation()
    words = [f"within families {same:.2f}"] * (same == same) + [f"between families {other:.2f}"] * (other == other)
    notes = (*headline(view), *([f"Mean correlation of errors {', '.join(words)}."] if words else []))

    def click(row: int, column: int) -> dict[str, str]:
        return {"worker": str(panel.worker_ids[order[row]]), "other": str(panel.worker_ids[order[column]])}

    alt = f"{title}: a matrix of {plural(len(order), 'judge')}, ordered by family"
    return Exhibit(name, title, figure, panel.pairs_frame, notes, alt, click)


@cached
def panel_alone(view: View) -> Exhibit:
    """Judges who are right where all others are wrong; a click on a bar shows these items."""
    import plotly.graph_objects as go

    from crowdcore.figures import theme

    name, title = "panel-alone", "Who is right alone"
    panel = _panel(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    order = panel.order
    names = [escaped(panel.worker_ids[j]) for j in order]
    bars = go.Bar(
        x=panel.alone[order],
        y=np.arange(len(order)),
        orientation="h",
        marker_color=theme.ACCENT,
        customdata=np.array(names, object),
        hovertemplate="%{customdata}: right alone on <b>%{x:,}</b> items<extra></extra>",
    )
    figure = theme.figure(bars, title=title, subtitle=escaped(f"items · reference: {view.reference}"))
    figure.update_layout(height=int(np.clip(26 * len(order), 160, 700)) + 150)
    figure.update_yaxes(**theme.named(names), range=[len(order) - 0.5, -0.5])
    figure.update_xaxes(range=None if panel.alone.any() else [0, 1])
    table = panel.frame()[["worker", "family", "alone", "alone_expected"]].iloc[order]
    many = f"At least ¾ of the judges are wrong on {100 * panel.many_wrong:.2f} % of the items; independent errors"
    notes = (f"{many} would give {100 * panel.many_expected:.2f} %.",)

    def click(number: int) -> dict[str, str]:
        judge = str(panel.worker_ids[order[number]])
        return {"worker": judge, "other": judge}

    return Exhibit(name, title, figure, table, notes, f"{title}: a bar for each judge, ordered by family", click)


@cached
def panel_judges(view: View) -> Exhibit:
    """Verdict on each judge, and what the vote gains without it; a click on a row shows the worker."""
    name, title = "panel-judges", "Each judge, and the vote without it"
    panel = _panel(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    points = {"without": 100 * panel.without, "low": 100 * panel.without_low, "high": 100 * panel.without_high}
    changes = {"without, points" + f" {end}" * (end != "without"): values for end, values in points.items()}
    table = panel.frame()[["worker", "family", "verdict", "reason", "accuracy", "kappa", "alone"]].assign(**changes)
    rank = pd.Series(panel.verdicts).map({word: place for place, word in enumerate(_ORDER)})
    table = table.iloc[np.lexsort((-np.nan_to_num(panel.without), rank))]
    counts = pd.Series(panel.verdicts).value_counts()
    verdicts = ", ".join(f"{word} {counts[word]}" for word in _ORDER if word in counts)
    notes = [f"{verdicts[0].upper()}{verdicts[1:]}."]
    if panel.sub_panel is not None:
        notes.append(
            "Intervals hold for all judges together. Each is left out alone: two who may go may not go together."
        )
    return Exhibit(name, title, None, table, tuple(notes), "", lambda row: view.to_worker(int(row)))


@cached
def panel_votes(view: View) -> Exhibit:
    """Number of independent votes that the panel counts as, by two measures, with intervals."""
    name, title = "panel-votes", "Effective votes"
    panel = _panel(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    table = panel.votes_frame().rename(columns={"truth": "reference"})
    notes = (
        "Within classes, a judge who leans to one class whatever the item is not taken for alike; raw, it is.",
        *(() if panel.sub_panel is not None else (_INFERRED,)),
    )
    return Exhibit(name, title, None, table, notes)


@cached
def panel_items(view: View, worker: str, other: str) -> Exhibit:
    """The items on which two judges are wrong, or, of one judge, those on which it alone is right.

    Args:
        view: whose judges.
        worker: a judge.
        other: another one, or the same.

    Raises:
        SettingError: no such judge.
    """
    name = "panel-items"
    a, b = view.worker_number(worker), view.worker_number(other)
    alone = a == b
    title = f"Items on which {worker} alone is right" if alone else f"Items on which {worker} and {other} are wrong"
    panel = _panel(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    rows = panel.items(worker, None if alone else other)
    given = [column for column in rows if column not in ("task", "true", "wrong judges")]
    columns = {"task": rows["task"], "true": rows["true"], "given": rows[given[0]]}
    extra = {} if alone else {"other's label": rows[given[1]]}
    table = pd.DataFrame({**columns, **extra, "wrong judges": rows["wrong judges"]})
    table = table.sort_values("wrong judges", ascending=False, kind="stable")
    notes = () if len(table) else ("There is none.",)
    return Exhibit(name, title, None, table, notes, "", lambda row: view.to_task(int(row)))


@cached
def panel_score(view: View, passes: str = "") -> Exhibit:
    """Share of items that pass and accuracy of the labels, with prediction-powered intervals from few gold labels.

    Args:
        view: of judges and some gold, drawn at random.
        passes: the class that passes; default: the last one.

    Raises:
        SettingError: no such class.
    """
    name, title = "panel-score", "Score with honest intervals"
    score = _score(view, passes)
    if isinstance(score, str):
        return none_of(name, title, score)
    of = {"share": "measure", "estimate": "score", "low": "score low", "high": "score high", "verdicts": "by verdicts"}
    table = score.frame().rename(columns=lambda name: of.get(name, name.replace("_", " ").replace("gold", "by gold")))
    share, low, high = (100 * float(part[0]) for part in (score.estimate, score.low, score.high))
    words = f"{share:.1f} % of the items are {score.names[0].removeprefix('passes: ')} ({low:.1f} to {high:.1f} %)"
    first = f"{words}, by gold of {score.n_gold:,} of {score.n_items:,} items and the verdicts on all."
    after = 100 * (score.next_high[0] - score.next_low[0])
    more = f"Gold of {len(score.next_items)} more would make this interval about {after:.1f} points wide."
    return Exhibit(name, title, None, table, (first, *score.notes, *([more] if len(score.next_items) else [])))


@cached
def panel_score_next(view: View, passes: str = "") -> Exhibit:
    """Items to label next, so that the intervals of the score shrink and still hold; a click opens the item.

    Args:
        view: as of `panel_score`.
        passes: the class that passes; default: the last one.
    """
    name = "panel-score-next"
    score = _score(view, passes)
    if isinstance(score, str):
        return none_of(name, "Label these next", score)
    table = pd.DataFrame({"task": score.task_ids[score.next_items]}, index=score.next_items)
    note = "Drawn at random, evenly over the verdicts. Label all of them: leaving out hard ones would bend the score."
    notes = (note,) if len(table) else ("All items have gold.",)
    title = f"Label these {len(table)} next"
    return Exhibit(name, title, None, table, notes, "", lambda row: view.to_task(int(row)))


def _score(view: View, passes: str) -> HonestScore | str:
    """Score of the majority vote, or of the labels in view."""
    passes = view.classes[view.class_number(passes)] if passes else view.classes[-1]
    return _or_why(lambda: analysis.honest_score(view.dataset, passes, None if view.truth.checked else view.truth))


@cached
def panel_people(view: View) -> Exhibit:
    """Agreement of judges with people, and the alternative-annotator test: may a judge stand for a person?"""
    name, title = "panel-people", "Judges beside people"
    panel = _people(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    table = panel.frame()
    passing = [str(worker) for worker in table["worker"][table["passes"]]] or ["No judge"]
    test, (low, high) = f"alternative-annotator test at ε = {panel.epsilon:g}", table["kappa"].agg(["min", "max"])
    first = f"{_join(passing)} passed the {test}; κ with the vote of people is {low:.2f} to {high:.2f}."
    people = f"Taken for people: {_join([str(panel.worker_ids[k]) for k in panel.people])}."
    return Exhibit(name, title, None, table, (first, people, *panel.notes))


@cached
def panel_people_items(view: View) -> Exhibit:
    """Items on which all judges contradict the vote of people; a click opens the item."""
    name, title = "panel-people-items", "Items on which all judges contradict people"
    panel = _people(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    right = panel.right[panel.right >= 0]
    note = f"Of {len(right):,} with gold, people are right on {int(right.sum()):,}, the others were misjudged by them."
    notes = (note,) if len(right) else ("There is no gold that says who is right.",) if len(panel.right) else ("None.",)
    return Exhibit(name, title, None, panel.items(), notes, "", lambda row: view.to_task(int(row)))


@cached
def panel_people_confusions(view: View) -> Exhibit:
    """Labels by all judges together where people's vote is another class."""
    name, title = "panel-people-confusions", "Where judges differ from people"
    panel = _people(view)
    if isinstance(panel, str):
        return none_of(name, title, panel)
    return Exhibit(name, title, None, panel.confusion_frame(), ("Share: of all judges' labels on these items.",))


@cached
def panel_leanings(view: View) -> Exhibit:
    """Biases of judges beside the answer: the position where it was shown, its length, and who wrote it."""
    return _leanings(view, "panel-leanings", "What moves judges beside the answer", PanelLeanings.frame)


@cached
def panel_flips(view: View) -> Exhibit:
    """Contradictions of judges with themselves: on swapped answers, and on the same ones once more."""
    return _leanings(view, "panel-flips", "Who contradicts itself", PanelLeanings.flips_frame)


def _leanings(view: View, name: str, title: str, part: Callable[[PanelLeanings], pd.DataFrame]) -> Exhibit:
    leans = _or_why(lambda: view.renamed(analysis.panel_leanings(view.dataset)))
    if isinstance(leans, str):
        return none_of(name, title, leans)
    table = part(leans)
    return (
        Exhibit(name, title, None, table, leans.notes) if len(table) else none_of(name, title, "Nothing tells of it.")
    )


def _people(view: View) -> PanelPeople | str:
    return _or_why(lambda: view.renamed(analysis.panel_people(view.dataset)))


def failures(view: View, least_votes: float, least_kappa: float) -> tuple[str, ...]:
    """Sentences about the limits that a panel breaks.

    Args:
        view: of judges with gold.
        least_votes: effective votes (raw, Kish) that the panel must count as.
        least_kappa: κ with the reference that each judge must have.

    Raises:
        DataError: the workers are no panel.
        CrowdError: the reference is inferred from the same verdicts.
    """
    panel = of_view(view)
    if panel.sub_panel is None:
        raise CrowdError(f"A panel is not checked against {view.reference!r}, which is inferred from its verdicts.")
    kish, kappa, judges, lines = panel.votes[0].kish, panel.kappa, len(panel.families), []
    if kish < least_votes:
        lines = [f"{judges} judges count as {_below(kish, least_votes, 1)} votes, fewer than {least_votes:g}."]
    elif kish != kish and least_votes > 0:
        lines = [_UNKNOWN.format(judges)]
    names = [str(name) for name in panel.worker_ids]
    if unknown := [names[j] for j in range(judges) if kappa[j] != kappa[j]]:
        lines.append(f"κ with {view.reference} is not known, for no verdict or one class alone: {_join(unknown)}.")
    if low := [f"{names[j]} ({_below(kappa[j], least_kappa, 2)})" for j in range(judges) if kappa[j] < least_kappa]:
        lines.append(f"κ with {view.reference} is below {least_kappa:g}: {_join(low)}.")
    return tuple(lines)


def _below(value: float, limit: float, digits: int) -> str:
    """Format a value below a limit with as many digits as show that it is."""
    return next((text for k in range(digits, 9) if float(text := f"{value:.{k}f}") < limit), str(value))
