"""Exhibits of simulated crowds: planted confusions and biases, and their recovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from crowdcore import aggregation, analysis, figures
from crowdcore.analysis import RatingRecovery, RatingTruth, TagRecovery
from crowdcore.analysis.recovery.planted import KINDS, RatingBiases, bias_correlation
from crowdcore.core.types import BoolArray, FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled, RatingDataset
from crowdcore.exhibits.exhibit import Exhibit, cells, escaped
from crowdcore.exhibits.fits import OF_TAGS, read_fit
from crowdcore.exhibits.view import View, cached, named
from crowdcore.learning.recovery import study as measures
from crowdcore.learning.recovery.study import BOUNDS, MEASURES, NOTES, summary
from crowdcore.learning.results.result import TrainingResult

Kind = Literal["common", "effective", "own"]
_FEW = 6  # classes of which three matrices fit beside each other


@cached
def planted_crowd(crowd: CrowdDataset) -> Exhibit:
    """Common confusion, a worker's own, and the resulting labels; of many classes only two of these."""
    plants, truth = analysis.planted(crowd), crowd.truth
    shown = {}
    if truth is not None and truth.common_confusion is not None and truth.common_confusion.ndim == 2:
        shown["common"] = truth.common_confusion
    if truth is not None and truth.worker_confusion is not None and (not shown or crowd.n_classes <= _FEW):
        shown[f"own: {crowd.worker_ids[0]}"] = truth.worker_confusion[0]
    shown["all labels"] = plants.confusion
    figure = figures.confusion(
        list(shown.values()),
        [escaped(c) for c in crowd.classes],
        names=[escaped(name) for name in shown],
        scale_max=1.0,
        title="What is planted",
        subtitle="row: true class · column: given label",
    )
    alt = "Planted confusion matrices, and the resulting labels by true class"
    notes = (plants.sentence, *crowd.notes)
    return Exhibit("planted", f"{crowd.name}: what was planted", figure, plants.frame, notes, alt)


def _settings(crowd: Labelled) -> dict[str, Any]:
    return {} if crowd.truth is None else {k: v for k, v in crowd.truth.settings.items() if k != "bias"}


def _varied(crowds: Sequence[Labelled]) -> list[str]:
    """Settings in which planted crowds differ, the seed aside."""
    known = [_settings(crowd) for crowd in crowds]
    keys = dict.fromkeys(key for one in known for key in one if key != "seed")
    return [key for key in keys if len({str(one.get(key)) for one in known}) > 1]


def crowd_names(crowds: Mapping[str, Labelled]) -> dict[str, str]:
    """Names of planted crowds shown together: their differences, else their names."""
    if len(crowds) == 1:
        return {name: name for name in crowds}
    varied, words = _varied(list(crowds.values())), {}
    for name, crowd in crowds.items():
        known = _settings(crowd)
        words[name] = ", ".join(f"{key.replace('_', ' ')} {known.get(key)}" for key in varied)
    if len(set(words.values())) < len(crowds):
        seeds = {name: _settings(crowd).get("seed") for name, crowd in crowds.items()}
        words = {name: f"{words[name] if varied else 'crowd'}, seed {seeds[name]}" for name in crowds}
    if len(set(words.values())) == len(crowds):
        return words
    return {name: f"{words[name]} ({name[-6:]})" for name in crowds}


def recovery_errors(
    crowds: Mapping[str, CrowdDataset], results: Mapping[tuple[str, str], TrainingResult], methods: Mapping[str, str]
) -> Exhibit:
    """Accuracy and errors of every method on planted crowds.

    Args:
        crowds: name -> crowd.
        results: names of a crowd and of a method -> its result there.
        methods: name -> registered method.
    """
    varied = _varied(list(crowds.values()))
    known = {name: _settings(crowd) for name, crowd in crowds.items()}
    heads = {
        name: {**measures.spelled({key: one.get(key) for key in varied}), "crowd": one.get("seed", 0)}
        for name, one in known.items()
    }
    trained_on = list(dict.fromkeys(name for name, _ in results))
    rows = [_bounds(crowds[name]).assign(**heads[name]) for name in trained_on]
    rows += [_score(r, crowds[name]).assign(method=called, **heads[name]) for (name, called), r in results.items()]
    columns = [key.replace("_", " ") for key in varied]
    first = next(iter(crowds))
    words = f"{len(trained_on)} crowds" if len(trained_on) > 1 else f"{known[first].get('simulation', '')} · {first}"
    return study_errors(measures.assembled(rows, columns), columns, methods, words)


_bounds = cached(measures.bounds)


@cached
def _score(result: TrainingResult, crowd: CrowdDataset) -> pd.DataFrame:
    """Errors of a result against what was planted, and its duration: one row per seed."""
    return measures.judge(result, crowd).assign(seconds=result.seconds / len(result.seeds))


def matrix_kinds(crowd: CrowdDataset) -> dict[Kind, str]:
    """Kinds of planted matrices, with their titles."""
    truth = crowd.truth
    if truth is None:
        return {}
    common = truth.common_confusion is not None and truth.common_confusion.ndim == 2
    own = truth.worker_confusion is not None
    words: dict[Kind, str] = {
        "common": "Common confusion",
        "effective": "Effective confusion",
        "own": "Own confusion",
    }
    known = {"common": common, "effective": own, "own": common and own}
    return {kind: title for kind, title in words.items() if known[kind]}


def planted_and_learnt(
    crowd: CrowdDataset, results: Mapping[str, TrainingResult], kind: Kind, worker: int = 0
) -> Exhibit | None:
    """Planted matrix beside the learnt ones; None where no method learns it.

    Args:
        crowd: with its truth.
        results: name of each method -> its result.
        kind: one of `matrix_kinds`.
        worker: number of the worker, unless it is the common one.
    """
    truth = crowd.truth
    if truth is None:
        return None
    true = {
        "common": truth.common_confusion,
        "own": truth.worker_confusion,
        "effective": measures.true_effective(crowd),
    }[kind]
    learnt = {}
    for called, result in results.items():
        learnt_values = getattr(cached(measures.learnt_of)(result, crowd), kind)
        if learnt_values is not None:
            learnt[called] = learnt_values if kind == "common" else learnt_values[:, worker]
    if true is None or not learnt:
        return None
    of = "" if kind == "common" else f" of {crowd.worker_ids[worker]}"
    planted = true if kind == "common" else true[worker]
    what = f"{matrix_kinds(crowd)[kind]}{of}"
    return matrices(what, planted, learnt, crowd.classes, "mean over seeds, selected epoch")


_DRAWN = ("accuracy", "F1 of spans", "common error", "own error", "effective error")


def study_errors(table: pd.DataFrame, varied: Sequence[str], methods: Mapping[str, str], subtitle: str = "") -> Exhibit:
    """Accuracy and errors of every method; along a setting, if one varies.

    Args:
        table: of a `RecoveryStudy`.
        varied: names of the columns in which crowds differ.
        methods: name -> registered method.
        subtitle: about the crowds.
    """
    measures = {name: MEASURES[name] for name in _DRAWN if table[name].notna().any()}
    shown = table.assign(method=table["method"].map(escaped))
    called = {escaped(name): method for name, method in methods.items()}
    several = [name for name in varied if table[name].nunique() > 1]
    title = "Accuracy, and errors (further left is better)"
    if several:
        title = "Accuracy (higher is better) and errors (lower is better)"
        numbers = [name for name in several if table[name].dtype.kind in "if"]
        x = (numbers or several)[-1]
        others = [name for name in several if name != x]
        column = ", ".join(others)
        if len(others) > 1:
            shown = shown.assign(**{column: [", ".join(map(str, row)) for row in shown[others].to_numpy(object)]})
        if x not in numbers:
            shown = shown.assign(**{x: shown[x].astype(str)})
        figure = figures.recovery_along(
            shown, x, measures, methods=called, columns=column, bounds=BOUNDS, title=title, subtitle=escaped(subtitle)
        )
    else:
        figure = figures.recovery_errors(
            shown, measures, methods=called, bounds=BOUNDS, title=title, subtitle=escaped(subtitle)
        )
    return Exhibit("recovery", "Who recovered what", figure, summary(table, varied), NOTES)


def matrices(
    what: str, truth: FloatArray, learnt: Mapping[str, FloatArray], classes: Sequence[str], subtitle: str = ""
) -> Exhibit:
    """Planted matrix beside the learnt ones, on one scale, each with its error.

    Args:
        what: name of the matrix.
        truth: (C, C).
        learnt: name -> (S, C, C) one per seed; their mean is drawn, and the mean of their errors stated.
        classes: names.
        subtitle: about the crowd.
    """
    means = {name: np.asarray(confusions.mean(0)) for name, confusions in learnt.items()}
    errors = {name: float(((confusions - truth) ** 2).sum(-1).mean()) for name, confusions in learnt.items()}
    figure = figures.confusion(
        [truth, *means.values()],
        [escaped(c) for c in classes],
        names=["planted", *(f"{escaped(name)}<br>error {errors[name]:.3f}" for name in means)],
        scale_max=1.0,
        title=escaped(what),
        subtitle=escaped(subtitle),
    )
    figure.update_annotations(align="left").update_layout(margin_t=104)
    table = cells(classes, **{"planted": truth, **means})
    notes = (
        "Error: squared distance between a row of the learnt and of the planted matrix, mean over rows and seeds.",
    )
    return Exhibit("planted-and-learnt", what, figure, table, notes)


RATING_FITS = ("mean", "median", "raykar-em", "raykar-em gold=20%", "gold")
"""Aggregators to begin with, one of them shown the gold of 20 % of the rated tasks; gold is the upper limit."""
_RATING_ERRORS = {
    "truth error": "true ratings",
    "bias error": "biases",
    "own bias error": "own biases",
    "shared bias error": "shared bias",
}
_RATING_NOTES = (
    "Root mean square errors in the unit of the ratings. True ratings: rated tasks whose gold the aggregator was not "
    "given. Biases: each worker's mean of rating − recovered truth, compared with the planted bias; own biases: "
    "without the mean over workers. Shared bias: the crowd's, over the range of the truth. The row gold uses the true "
    "ratings, so its errors are only chance.",
    "Without gold, a bias that all workers share cannot be distinguished from the truth: it shifts the recovered "
    "truth.",
)


_ALIKE = (
    "Errs like: the worker whose errors are most correlated with this one's, among those with at least 10 tasks in "
    "common. A copier errs like the worker who was copied."
)


@cached
def planted_ratings(crowd: RatingDataset) -> Exhibit:
    """Planted lines of the workers, and the bias that all share in the ratings."""
    recovery, truth = _recover_ratings(crowd, "gold"), crowd.truth
    assert truth is not None
    figure = figures.rating_shared_bias(recovery.shared, planted=recovery.planted_shared, title="What is planted")
    table = pd.DataFrame(
        {
            "worker": crowd.worker_ids,
            "role": recovery.worker_role,
            "ratings": recovery.n_ratings,
            "planted bias": truth.worker_bias,
            "planted scale": truth.worker_scale,
            "planted noise": truth.worker_noise,
        }
    )
    notes = (
        *crowd.notes,
        "A worker's bias in the middle of the range and slope on the truth, including the shared bias, and the "
        "standard deviation around that line.",
    )
    alt = "Bias of the crowd over the range of the truth, as planted and as the ratings show it"
    return Exhibit("planted", f"{crowd.name}: what was planted", figure, table, notes, alt)


def rating_recovery(crowd: RatingDataset, compared: tuple[str, ...] = RATING_FITS) -> Exhibit:
    """Errors of aggregators in truth and biases.

    Args:
        crowd: simulated, with its truth.
        compared: names of fits such as ``raykar-em gold=20%``, or gold.
    """
    recoveries = {name: _recover_ratings(crowd, name) for name in compared}
    table = pd.DataFrame(
        {
            "method": list(recoveries),
            "truth error": [one.rmse for one in recoveries.values()],
            "bias error": [one.bias_error for one in recoveries.values()],
            "own bias error": [one.own_bias_error for one in recoveries.values()],
            "shared bias error": [one.shared_error for one in recoveries.values()],
            "scale error": [one.scale_error for one in recoveries.values()],
        }
    )
    figure = _fit_errors(table, _RATING_ERRORS, [*recoveries], "Errors (further left is better)", crowd.name)
    alt = "Errors of truth and biases, a row per aggregator"
    return Exhibit("rating-recovery", "Who recovered what", figure, table, _RATING_NOTES, alt)


def _fit_errors(
    table: pd.DataFrame, errors: Mapping[str, str], methods: Sequence[str], title: str, crowd: str
) -> go.Figure:
    """Figure of the errors (column -> words) of each row's fit, whose method sets its colour."""
    called = table["method"].map(escaped)
    shown, colors = table.assign(method=called, crowd=0, seed=0), dict(zip(called, methods, strict=True))
    return figures.recovery_errors(shown, errors, methods=colors, title=title, subtitle=escaped(crowd))


def recovered_biases(crowd: RatingDataset, name: str) -> Exhibit:
    """Workers' biases by an aggregator, against the planted ones."""
    recovery = _recover_ratings(crowd, name)
    known = ~np.isnan(recovery.bias) & ~np.isnan(recovery.planted_bias)
    r = bias_correlation(crowd, recovery.planted_bias[known], recovery.bias[known])
    ids = pd.Index(map(escaped, map(str, recovery.worker_ids)))
    drawn = RatingBiases(ids, recovery.n_ratings, recovery.planted_bias, recovery.bias[None], 1, np.array([r]), r)
    figure = figures.rating_biases(drawn, title="Recovered and planted biases", subtitle=escaped(name))
    figure.update_xaxes(title="planted bias").update_yaxes(title="recovered bias: mean of rating − recovered truth")
    alt = f"Biases of the workers, planted and recovered by {name}"
    return Exhibit(
        "recovered-biases", "Recovered and planted biases", figure, _with_most_alike(crowd, recovery), (_ALIKE,), alt
    )


def recovered_shared_bias(crowd: RatingDataset, name: str) -> Exhibit:
    """Shared bias over the range of an aggregator's truth, beside the planted one."""
    recovery = _recover_ratings(crowd, name)
    figure = figures.rating_shared_bias(recovery.shared, planted=recovery.planted_shared)
    table = recovery.shared.frame().assign(**{"planted bias": recovery.planted_shared})
    alt = f"Bias of the crowd over the range of the truth, planted and recovered by {name}"
    return Exhibit("recovered-shared-bias", "Recovered and planted shared bias", figure, table, (), alt)


def _with_most_alike(crowd: RatingDataset, recovery: RatingRecovery) -> pd.DataFrame:
    """A row per worker, with the other one whose errors are most alike."""
    pairs = recovery.pairs
    ends = np.r_[pairs.worker_a, pairs.worker_b], np.r_[pairs.worker_b, pairs.worker_a]
    every = pd.DataFrame({"worker": crowd.worker_ids[ends[0]], "errs like": crowd.worker_ids[ends[1]]})
    every["error correlation"] = np.tile(pairs.error_correlation, 2)
    most = every.sort_values("error correlation", ascending=False, kind="stable").drop_duplicates("worker")
    return recovery.frame().merge(most, on="worker", how="left")


@cached
def _recover_ratings(crowd: RatingDataset, name: str) -> RatingRecovery:
    method, settings, percent = read_fit(name)
    if method in ("gold", "mean"):  # the mean of the others, as on the page Ratings
        return analysis.rating_recovery(crowd, analysis.rating_truth(crowd, method))
    shown = _with_gold_shown(crowd, percent)
    known = np.where(shown, crowd.gold, np.nan) if percent else None
    fitted = aggregation.ratings.get(method, **settings).fit(crowd, known=known).rating
    judging = crowd.annotated & ~np.isnan(crowd.gold) & ~shown
    return analysis.rating_recovery(crowd, RatingTruth(name, fitted, fitted[crowd.task]), judging)


def _with_gold_shown(crowd: RatingDataset, percent: int) -> BoolArray:
    """The rated tasks with gold whose gold is shown."""
    rated = np.flatnonzero(crowd.annotated & ~np.isnan(crowd.gold))
    shown = np.zeros(crowd.n_tasks, bool)
    shown[np.random.default_rng(0).permutation(rated)[: round(len(rated) * percent / 100)]] = True
    return shown


TAG_FITS = (*OF_TAGS[:2], "dawid-skene", *OF_TAGS[2:])
"""Aggregators to begin with."""
_TAG_ERRORS = {
    "f1": "F1 of spans",
    "missed error": "missed",
    "boundary error": "boundaries",
    "type error": "types",
}
_TAG_NOTES = (
    "F1: of the spans that the aggregator infers. The other columns are errors of the workers' statistics if its tags "
    "replace the true ones (0 for the true tags). Missed, boundaries, types: shares of the true spans, root mean "
    "square over workers. Confusions of tags: mean squared distance between rows.",
)


@cached
def tag_recovery(view: View, compared: tuple[str, ...] = TAG_FITS) -> Exhibit:
    """Errors of aggregators in the true tags, and in the workers' errors by gold.

    Args:
        view: of a crowd that tags tokens, with gold.
        compared: names of fits.
    """
    recoveries = {name: _recover_tags(view.dataset, name) for name in compared}
    rows = [
        {
            "method": name,
            "f1": one.scores.f1,
            **{f"{kind} error": one.rate_error(kind) for kind in KINDS},
            "crowd confusion error": one.crowd_error,
            "own confusion error": one.own_error,
        }
        for name, one in recoveries.items()
    ]
    table = pd.DataFrame(rows)
    title = "F1 (further right is better) and errors (further left is better)"
    figure = _fit_errors(table, _TAG_ERRORS, [read_fit(name)[0] for name in recoveries], title, view.dataset.name)
    alt = "F1 of spans, and errors of what is found of the workers, a row per aggregator"
    return Exhibit("tag-recovery", "Who recovered what", figure, table, _TAG_NOTES, alt)


@cached
def recovered_tags(view: View, fit: str, worker: str = "") -> Exhibit:
    """Tags by true tag, beside those by the tags of a fit.

    Args:
        view: of a crowd that tags tokens, with gold.
        fit: the fit whose tags replace the true ones.
        worker: name of the worker; empty: all workers.
    """
    recovery = _recover_tags(view.dataset, fit)
    at = view.worker_number(worker) if worker else -1
    planted, learnt = (one.matrices[at] if worker else one.crowd for one in (recovery.true, recovery.found))
    what = f"Tags of {worker or 'all workers'}"
    return matrices(what, planted, {fit: learnt[None]}, view.classes, "by true tags, and by inferred ones")


@cached
def recovered_errors(view: View, fit: str) -> Exhibit:
    """Share of the true spans that each worker missed, cut otherwise or took for another type, by gold and by a fit.

    Args:
        view: of a crowd that tags tokens, with gold.
        fit: the fit whose tags replace the true ones.
    """
    table = _recover_tags(view.dataset, fit).frame()
    number = {str(worker): n for n, worker in enumerate(view.dataset.worker_ids)}
    workers = [number[str(worker)] for worker in table["worker"]]
    table["worker"] = view.names_of(np.array(workers))
    truth = view.dataset.truth
    if truth is not None and truth.worker_role and not view.hidden:
        table.insert(1, "role", [truth.worker_role[n] for n in workers])
    return Exhibit("recovered-errors", f"Errors of the workers, recovered by {fit}", None, view.in_order(table), ())


@cached
def _recover_tags(crowd: CrowdDataset, name: str) -> TagRecovery:
    return analysis.tag_recovery(crowd, named(crowd, name))


errors = study_errors
"""Name of the exhibit in crowdcore 0.3."""
