"""Workers: their distances, their quality, pairs who err alike, and the labels without some of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis import WorkerConfusion, WorkerOrder
from crowdcore.analysis.coordinated.copying import LEAST
from crowdcore.analysis.coordinated.groups import in_one_group
from crowdcore.analysis.statistics import row_shares
from crowdcore.analysis.verdicts.workers import TOGETHER
from crowdcore.analysis.workers.distance import Distance
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import Exhibit, cells, escaped
from crowdcore.exhibits.verdicts import LEVEL, workers_judged
from crowdcore.exhibits.view import View, cached, copy_evidence, wrong_together
from crowdcore.exhibits.worker_words import listed

if TYPE_CHECKING:
    from crowdcore.analysis import WhatIf, WorkerDistance
    from crowdcore.core.types import AnyArray


KINDS: Mapping[Distance, str] = {
    "shrunken-mse": "Errors beyond chance",
    "mse": "Mean squared difference",
    "shared-mse": "… over shared classes",
    "jensen-shannon": "Jensen–Shannon",
}
"""Distances between workers -> words."""
_TOGETHER = "Workers who act together confirm each other: without gold, their accuracy does not show how good they are."
_ORDER = (
    "Flagged workers come first, then the others by the lower end of their accuracy's interval: a few right labels put "
    "nobody first."
)
Window: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


@cached
def worker_distances(
    view: View, kind: Distance = "shrunken-mse", groups: int | None = None, window: Window | None = None
) -> Exhibit:
    """Distances between the workers' confusions: the clustered matrix with its tree (CCC, Fig. 3).

    Args:
        kind: a key of `KINDS`.
        groups: number of groups to cut the tree into; default: chosen by the tree.
        window: visible range of x and of y, for crowds with more workers than cells can be drawn.
    """
    dist, order = _distance(view, kind), _order(view, kind, groups)
    figure = figures.worker_distance(view.drawable(dist), view.drawable(order), view=window)
    places = order.order

    def click(row: int, column: int) -> dict[str, str]:
        return {"worker": view.workers[places[row]], "other": view.workers[places[column]]}

    def table() -> pd.DataFrame:
        places = np.argsort(view.workers) if view.hidden else np.arange(len(view.workers))
        square = np.ix_(places, places)
        called = pd.Index([view.workers[n] for n in places])
        return replace(dist, worker_ids=called, matrix=dist.matrix[square], overlap=dist.overlap[square]).frame()

    alt = "Distances between workers, similar ones side by side"
    seen = view.of(analysis.worker_confusion), view.truth.checked
    shrunken = (beyond_chance(*seen),) if kind == "shrunken-mse" else ()
    notes = (*shrunken, f"Order and groups: {order.method}.")
    return Exhibit(f"distance-{kind}", "Distances between workers", figure, table, notes, alt, click)


def distance_cell(view: View, kind: Distance, groups: int | None, worker: str, other: str) -> tuple[int, int]:
    """Row and column of a pair in the matrix of `worker_distances`."""
    order = _order(view, kind, groups).order
    row, column = (int(np.flatnonzero(order == view.worker_number(name))[0]) for name in (worker, other))
    return row, column


def worker_groups(view: View, kind: Distance = "shrunken-mse", groups: int | None = None) -> Exhibit:
    """Workers in the order of the matrix, with group, annotations and accuracy; index = worker number."""
    ordering, good = _order(view, kind, groups), view.of(analysis.worker_quality)
    table = pd.DataFrame(
        {
            "worker": view.names_of(ordering.order),
            "group": ordering.groups[ordering.order] + 1,
            "annotations": good.n_annotations[ordering.order],
            "accuracy": good.accuracy[ordering.order],
        },
        index=ordering.order,
    )
    words = set_apart(view.of(analysis.worker_confusion), ordering, gold=view.truth.checked)
    return Exhibit(f"groups-{kind}", "Groups of workers", None, table, words)


def worker_pair(view: View, worker: str, other: str, kind: Distance = "shrunken-mse") -> Exhibit:
    """Distance of two workers, and the tasks and mistakes that they have in common."""
    a, b, dist = view.worker_number(worker), view.worker_number(other), _distance(view, kind)
    both, alike, expected = _in_common(view, a, b)
    row = {
        "worker": worker,
        "other": other,
        "distance": dist.matrix[a, b],
        "classes both labelled": dist.overlap[a, b],
        "tasks both labelled": both,
        "wrong alike": alike,
        "expected": expected,
    }
    distance = "–" if np.isnan(row["distance"]) else f"{row['distance']:.2g}"
    words = f"Distance {distance}; both labelled {dist.overlap[a, b]} of {len(dist.classes)} classes."
    if both:
        words += (
            f" Of {plural(both, 'task')} that both labelled, they made the same mistake on {alike} (reference: "
            f"{view.reference}); {expected:.1f} are expected if they err independently and all tasks are equally hard."
        )
    else:
        words += " They have no common task whose truth is known."
    return Exhibit("pair", f"{worker} and {other}", None, pd.DataFrame([row]), (words,))


@cached
def _in_common(view: View, a: int, b: int) -> tuple[int, int, float]:
    """Number of tasks that both labelled, of those on which both were wrong alike, and their number by chance."""
    two = view.dataset.where(np.isin(view.dataset.worker, (a, b)))
    pair = analysis.pair_mistakes(two, view.truth)
    if not len(pair.worker_a):
        return 0, 0, float("nan")
    return int(pair.both_labelled[0]), int(pair.wrong_alike[0]), float(pair.expected[0])


@cached
def worker_quality(view: View) -> Exhibit:
    """Quality of workers: those with a signal first, then by their least skill; index = worker number."""
    quality, alone = view.of(analysis.worker_quality), view.of(analysis.without_each).frame()
    judged = workers_judged(view)
    signals = np.select(
        [judged.verdict == "remove", judged.together, judged.drifts],
        [np.where(quality.answers_single, "single answer", "guesses"), "acts with others", "becomes worse"],
        "",
    )
    frame = pd.DataFrame(
        {
            "worker": list(view.workers),
            "signal": signals,
            "accuracy": quality.accuracy,
            "acc. low": quality.accuracy_low,
            "acc. high": quality.accuracy_high,
            "annotations": quality.n_annotations,
            "balanced accuracy": quality.skill,
            "bits per label": quality.information,
            "agreement κ": quality.agreement_kappa,
            "with majority": quality.majority_agreement,
            "labels changed without": alone["changed"],
            **({"accuracy without": alone["accuracy_change"]} if view.truth.checked else {}),
        }
    )
    table = frame.iloc[quality.ranking(signals != "")]

    def click(number: int) -> dict[str, str]:
        return {"worker": view.workers[number], "view": "One worker"}

    notes = (_ORDER, *([_TOGETHER] if judged.together.any() and not view.truth.checked else []), *quality.notes)
    return Exhibit("workers", "How good each worker is", None, table, notes, click=click)


@cached
def worker_ranking(view: View) -> Exhibit:
    """Accuracy of each worker with its interval, in the order of its table, which is that of `worker_quality`."""
    quality = view.drawable(view.of(analysis.worker_quality))
    judged = workers_judged(view)
    suspect = {"guessing": judged.verdict == "remove", "together": judged.together, "worse": judged.drifts}
    return replace(worker_quality(view), figure=figures.worker_ranking(quality, **suspect), click=None)


@cached
def worker(view: View, worker: str) -> Exhibit:
    """Numbers of one worker."""
    quality, one = view.of(analysis.worker_quality), view.worker_number(worker)
    row = {
        "worker": worker,
        "annotations": quality.n_annotations[one],
        "accuracy": quality.accuracy[one],
        "acc. low": quality.accuracy_low[one],
        "acc. high": quality.accuracy_high[one],
        "balanced accuracy": quality.skill[one],
        "bits per label": quality.information[one],
        "bits possible": quality.information_limit[one],
        "agreement κ": quality.agreement_kappa[one],
    }
    return Exhibit("worker", worker, None, pd.DataFrame([row], index=[one]))


@cached
def worker_confusion(view: View, worker: str | None = None) -> Exhibit:
    """Confusion of one worker; default: of all annotations together."""
    confusion = view.of(analysis.worker_confusion)
    title = "All workers together" if worker is None else worker
    number = None if worker is None else view.worker_number(worker)
    matrix = confusion.crowd if number is None else confusion.matrices[number]
    counts = confusion.crowd_counts if number is None else confusion.counts[number]
    shown = view.drawable(confusion)
    figure = figures.confusion(
        matrix,
        shown.classes,
        counts=counts,
        scale_max=1.0,
        title=escaped(title),
        subtitle=f"share of each row · reference: {escaped(view.reference)}",
    )
    table = cells(view.classes, count=counts, share=matrix)

    alt = f"Confusion of {title}: true classes downwards, given labels to the right"
    return Exhibit(f"confusion-{'crowd' if worker is None else worker}", title, figure, table, (), alt, view.clicked)


@cached
def worker_pairs(view: View) -> Exhibit:
    """Pairs who act together, then those with most tasks in common or wrong alike twice, the surest first."""
    pairs, tags = wrong_together(view), view.dataset.kind.sequential
    columns: dict[str, AnyArray] = {key: view.names_of(getattr(pairs, key)) for key in ("worker_a", "worker_b")}
    columns |= {key: getattr(pairs, key).copy() for key in ("both_labelled", "agreed")}
    columns |= {key: np.full(len(pairs.agreed), np.nan) for key in ("expected_agreed", "adjusted p")}
    columns |= {key: getattr(pairs, key) for key in ("wrong_alike", "expected_beyond")}
    if not tags:  # the same tasks, equal labels and expectations as in the verdicts
        of, n = copy_evidence(view), view.dataset.n_workers
        key, tested = pairs.worker_a * n + pairs.worker_b, of.worker_a * n + of.worker_b
        there = np.isin(tested, key)
        place = np.searchsorted(key, tested[there])
        columns["both_labelled"][place], columns["agreed"][place] = of.both[there], of.agreed[there]
        columns["expected_agreed"][place], columns["adjusted p"][place] = of.expected[there], of.adjusted[there]
    named = in_one_group(pairs, workers_judged(view).groups) & (not tags)
    often = np.isin(np.arange(len(named)), np.argsort(-columns["both_labelled"], kind="stable")[:_MOST])
    rows = np.flatnonzero(named | often | (pairs.wrong_alike >= 2))
    chance = np.nan_to_num(columns["adjusted p"][rows], nan=2.0)
    rows = rows[np.lexsort((-columns["both_labelled"][rows], chance, ~named[rows]))]
    table = pd.DataFrame({key: values[rows] for key, values in {**columns, "named": named}.items()})
    if view.hidden:
        table[["worker_a", "worker_b"]] = np.sort(table[["worker_a", "worker_b"]].to_numpy(), axis=1)

    def click(row: int) -> dict[str, str]:
        return {"worker": str(table["worker_a"][row]), "other": str(table["worker_b"][row]), "view": "Distances"}

    words = (describe_pairs(view, table), *(() if tags else (NAMED,) if view.truth.checked else (NAMED, VOTED)))
    return Exhibit("pairs", "Pairs of workers who agree", None, table, words, click=click)


@cached
def corrected_labels(view: View) -> Exhibit:
    """Labels of strict and lenient workers that change when their lean is taken out, if classes have an order."""
    names, of = np.array(view.classes, object), view.dataset
    if of.sentences is not None or not analysis.is_ordered(of):
        none = pd.DataFrame({"corrected": ["none: the classes have no order"]})
        words = "Only where three or more classes are numbers can a worker be strict or lenient."
        return Exhibit("corrected-labels", "Labels without the workers' lean", None, none, (words,))
    mended = analysis.without_lean(of)
    rows = np.flatnonzero(mended.label != of.label)
    table = pd.DataFrame(
        {
            "task": of.task_ids[of.task[rows]],
            "worker": view.names_of(of.worker[rows]),
            "label": names[of.label[rows]],
            "corrected": names[mended.label[rows]],
        }
    )
    words = f"Of {of.n_annotations:,} labels {len(rows):,} become another class when their worker's lean is taken out."
    return Exhibit("corrected-labels", "Labels without the workers' lean", None, table, (words,))


@cached
def what_if(view: View, without: tuple[str, ...]) -> Exhibit:
    """Changes of the majority vote without some workers, in numbers."""
    vote = _what_if(view, without)
    numbers = {
        "annotations left out": vote.n_annotations,
        "labels changed": len(vote.changed),
        "tasks left without label": len(vote.unlabelled),
        "accuracy before": vote.accuracy_before,
        "accuracy after": vote.accuracy_after,
    }
    return Exhibit("what-if-numbers", f"Without {', '.join(without)}", None, pd.DataFrame([numbers]))


@cached
def what_if_tasks(view: View, without: tuple[str, ...]) -> Exhibit:
    """The tasks whose majority vote changes without some workers; index = task number."""
    vote = _what_if(view, without)
    table = vote.frame().set_index(np.sort(np.concatenate([vote.changed, vote.unlabelled])))
    return Exhibit("what-if", f"Labels that change without {', '.join(without)}", None, table)


@cached
def _what_if(view: View, without: tuple[str, ...]) -> WhatIf:
    gone = np.array([view.worker_number(name) for name in without], np.intp)
    return analysis.what_if(view.dataset, gone, reference=view.truth)


@cached
def _distance(view: View, kind: Distance) -> WorkerDistance:
    return analysis.confusion_distance(view.of(analysis.worker_confusion), kind)


@cached
def _order(view: View, kind: Distance, groups: int | None) -> WorkerOrder:
    return analysis.order_workers(_distance(view, kind), groups)


_MOST = 10  # pairs with most tasks in common that are listed in any case
NAMED = (
    f"Named are pairs in one group that acts together, as on Home: in an honest crowd any with a chance of at most "
    f"{100 * TOGETHER * LEVEL:.1f} %. Groups of more than half of the crowd are not named."
)
VOTED = "Wrong alike is by a majority vote, as there is no gold; who is named is judged by everybody but the two."
_OF_TOKENS = "Not tested: the tokens of a sentence are not independent tasks."


def describe_pairs(view: View, table: pd.DataFrame, worker: str = "") -> str:
    """Describe the named pairs, of all workers or of one."""
    if view.dataset.kind.sequential:
        return _OF_TOKENS
    named = table[table["named"]]
    if not len(named):
        return nobody_together(view, worker)
    pairs = [f"{a} with {b}" for a, b in named.iloc[:, :2].to_numpy(object)]
    named_pairs = f"{worker} with {listed(sorted(named['other']), 4)}" if worker else listed(pairs, 4)
    return f"These seem to act together: {named_pairs}. They may copy, have shared a teacher, or be one person."


def nobody_together(view: View, worker: str = "") -> str:
    """Say that no pair is named, and of how many pairs the labels could tell, of all workers or of one."""
    pairs, n, own = copy_evidence(view), view.dataset.n_workers, slice(None)
    who, found = "workers act together", "No workers who act together were found"
    if worker:
        number = view.worker_number(worker)
        own = (pairs.worker_a == number) | (pairs.worker_b == number)
        who, found = f"anybody acts with {worker}", f"Nobody who acts with {worker} was found"
    both, enough = pairs.both[own], pairs.enough(TOGETHER * LEVEL)[own]
    needed = f"about {max(np.median(enough), LEAST):.0f} tasks" if len(both) else ""
    if able := int((both >= enough).sum()):
        every = plural(n - 1 if worker else n * (n - 1) // 2, "pair")
        return f"{found}. The labels could tell for {able:,} of {every}: a pair needs {needed} in common."
    have = f"up to {both.max():,} in common, and need {needed}" if len(both) else f"fewer than {LEAST} tasks in common"
    return f"These labels cannot tell whether {who}: pairs have {have}."


_SHRUNKEN = "Confusions are shrunk towards the crowd's (empirical Bayes), more so for workers with few labels."
_CAVEAT = "Any tree can be cut into groups, and these come from the same labels: this is a description, not a test."
_NOTHING = "No mistake sets one of these groups apart."
_NO_GOLD = "Without gold, group differences are not shown: the same labels would also decide what is a mistake."
_DRAWS = 19  # crowds of equal workers, whose widest class is exceeded by chance once in 20
_FEWEST = 20  # wrong labels, in the group and outside, below which there is no sentence
_CLEAR = 5.0  # standard errors, for its probability: groups formed by chance differ by up to four


def beyond_chance(confusion: WorkerConfusion, gold: bool) -> str:
    """Sentence about the part of the workers' differences that is more than chance.

    Args:
        gold: whether people judged the truth; a model of the same labels fits or hides chance differences.
    """
    if not gold:
        return f"{_SHRUNKEN} Without gold, whether workers differ beyond chance is not tested."
    spread = analysis.spread_of_workers(confusion)
    if spread.max() <= _by_chance(confusion):
        return f"{_SHRUNKEN} Workers differ no more than chance explains: nothing sets groups apart."
    widest = confusion.classes[int(spread.argmax())]
    return f"{_SHRUNKEN} Workers differ most on the class {widest}: intraclass correlation {spread.max():z.2f}."


def _by_chance(confusion: WorkerConfusion) -> float:
    """Limit of the largest variation among workers who are all like the crowd, exceeded once in 20."""
    rng, n = np.random.default_rng(0), np.rint(confusion.evidence).astype(np.int64)
    rows = np.nan_to_num(row_shares(confusion.crowd_counts))
    widest = 0.0
    for _ in range(_DRAWS):
        counts = rng.multinomial(n, rows).astype(np.float64)
        drawn = replace(confusion, counts=counts, matrices=row_shares(counts))
        widest = max(widest, float(analysis.spread_of_workers(drawn).max()))
    return widest


def set_apart(confusion: WorkerConfusion, order: WorkerOrder, *, gold: bool) -> tuple[str, ...]:
    """Sentences about the mistake that most sets each group apart, by shares of the wrong labels inside and outside.

    Shares of all labels would not do, as groups of weak workers make most mistakes more often.

    Args:
        gold: whether people judged the truth; a model of the same labels follows the groups.
    """
    if order.n_groups < 2:
        return ()
    if not gold:
        return (_NO_GOLD, _CAVEAT)
    from scipy.stats import hypergeom, norm

    wrong = np.where(np.eye(len(confusion.classes), dtype=bool), 0, confusion.counts)
    every, words = wrong.sum(0), []
    for group in range(order.n_groups):
        own = wrong[order.groups == group].sum(0)
        others = every - own
        n, m = own.sum(), others.sum()
        if min(n, m) < _FEWEST:
            continue
        share, theirs = own / n, others / m
        log_p = hypergeom.logsf(own - 1, n + m, every, n)
        true, given = np.unravel_index(log_p.argmin(), log_p.shape)
        if log_p[true, given] <= norm.logsf(_CLEAR):
            words.append(
                f"“{confusion.classes[true]}” called “{confusion.classes[given]}” is {100 * share[true, given]:.0f} % "
                f"of the wrong labels of group {group + 1}, and {100 * theirs[true, given]:.0f} % of the others'."
            )
    return (*(words or [_NOTHING]), _CAVEAT)
