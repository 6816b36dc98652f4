"""Exhibits of results, finished or training: accuracies, errors, spans, curves, calibration, cost, recovery, searches.

Results are given by the names that they have in figures and tables (`variation.names`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis import Band
from crowdcore.analysis.recovery.seeds import seeds_in_words
from crowdcore.core.errors import DataError
from crowdcore.core.types import FloatArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits.differences import (
    Results as Results,
    over_seeds as over_seeds,
    over_tasks as over_tasks,
    rank_changes as rank_changes,
    ranks as ranks,
    tests as tests,
)
from crowdcore.exhibits.exhibit import Exhibit, cells, escaped, none_of
from crowdcore.learning import curve_metrics as measured
from crowdcore.learning.comparison import summary, variation
from crowdcore.learning.comparison.comparability import NAMES, SEEN, TEST, Kept, explain_missing_gold, warnings
from crowdcore.learning.comparison.summary import AT, AT_WORDS as AT_WORDS, EPOCHS, deviation
from crowdcore.learning.curve_metrics import ACCURACY, SelectionScore
from crowdcore.learning.ratings.result import RatingsResult
from crowdcore.learning.recovery.study import learnt_of, true_effective
from crowdcore.learning.results.predictions import span_scores as judged
from crowdcore.learning.results.result import At, TrainingResult
from crowdcore.learning.validation import WAYS

AnyResult: TypeAlias = TrainingResult | RatingsResult
RatingResults: TypeAlias = Mapping[str, RatingsResult]
AnyResults: TypeAlias = Results | RatingResults
_SPAN_SCORES = {"precision": "precision", "recall": "recall", "f1": "F1", "token_accuracy": "accuracy"}
_ERRORS: Mapping[Literal["mae", "rmse", "r2"], str] = {"mae": "MAE", "rmse": "RMSE", "r2": "R²"}


def accuracies(results: Results) -> Exhibit:
    """Test accuracy in percent at the selected, last and best epoch: each result, then the ensemble of its seeds.

    Results that used features without labels follow the others, and a column marks them.
    """
    why = explain_missing_gold(list(results.values()))
    if why:
        return none_of("accuracy", "Test accuracy", why)
    rows: list[dict[str, object]] = []
    facts = {name: summary.row(result) for name, result in results.items()}
    some = any(of["features_seen"] != "no" for of in facts.values())
    for name in sorted(facts, key=lambda name: list(SEEN).index(facts[name]["features_seen"])):
        of, result = facts[name], results[name]
        kind = {"features without labels": SEEN[of["features_seen"]]} if some else {}
        kind |= {"selected by": WAYS[of["selected_by"]], "names": NAMES.get(of["names"], of["names"])}
        columns: dict[str, object] = {}
        for at in summary.AT:
            head = "best, optimistic" if at == "best" else at
            columns |= {f"{head} %": 100 * of[f"{at}_mean"], f"{head} ±": 100 * of[f"{at}_std"]}
        rows.append({"run": name, **columns, "seeds": len(result.seeds), **kind})
        if len(result.seeds) > 1:
            together = {f"{at} %": 100 * of[f"ensemble_{at}"] for at in summary.EPOCHS}
            row = {"run": summary.ensemble_name(name), **together, "seeds": len(result.seeds), **kind}
            rows.append(row)
    notes = ["The best epoch on the test split is optimistic: compare it only with papers that report it."]
    if len(rows) > len(results):
        notes.append(
            "Ensemble: the most probable class of the mean of the seeds' probabilities, at no further training. It has "
            "no best epoch, as predictions are not stored for every epoch."
        )
    return Exhibit("accuracy", "Test accuracy", None, _drop_empty_columns(rows), (*notes, *warnings(results)))


def seeds(results: Results, at: At = "selected") -> Exhibit:
    """Test accuracy of every seed, and of the ensemble of all."""
    why = explain_missing_gold(list(results.values()))
    if why:
        return none_of("seeds", "Test accuracy of every seed", why)
    reached = {name: summary.accuracies(r) for name, r in results.items()}
    bands = [analysis.band(escaped(name), r.method, [at], [reached[name][at]]) for name, r in results.items()]
    several = at != "best" and any(len(r.seeds) > 1 for r in results.values())
    together = [summary.ensemble_accuracy(r, at) for r in results.values()] if at != "best" and several else []
    figure = figures.seed_accuracies(
        [a[at] for a in reached.values()],
        bands,
        together,
        subtitle=f"{AT_WORDS[at]}, {_seeds_in_words(results.values())}{' · star: ensemble' if several else ''}",
    )
    rows = [pd.DataFrame(dict(reached[n])).assign(run=n, seed=r.seeds) for n, r in results.items()]
    return Exhibit("seeds", "Test accuracy of every seed", figure, pd.concat(rows)[["run", "seed", *summary.AT]])


def classes(results: Results, at: Kept = "selected") -> Exhibit:
    """Accuracy among the test tasks of each class."""
    bands = summary.class_bands(results, at)
    if not bands:
        return none_of("classes", "Test accuracy per class", explain_missing_gold(list(results.values())))
    drawn = [replace(b, name=escaped(b.name), x=np.array([escaped(c) for c in b.x])) for b in bands]
    table = analysis.band_frame(bands, "class", "accuracy").rename(columns={"values": "seeds"})
    tasks: dict[tuple[str, str], int] = {}
    for name, r in results.items():
        gold = r.gold[r.split == TEST]
        n = np.bincount(gold[gold >= 0], minlength=len(r.classes)).tolist()
        tasks |= {(name, c): k for c, k in zip(r.classes, n, strict=True)}
    table["test tasks"] = [tasks[key] for key in zip(table["run"], table["class"], strict=True)]
    figure = figures.class_accuracy(drawn, subtitle=f"{AT_WORDS[at]}, {_seeds_in_words(results.values())}")
    return Exhibit("classes", "Test accuracy per class", figure, _drop_empty_columns(table))


def scores(results: Results, at: Kept = "selected") -> Exhibit:
    """Accuracy, macro F1, negative log-likelihood and calibration error on the test split."""
    title = f"Scores on the test split, {AT_WORDS[at].lower()}"
    table = summary.scores(results, at)
    if table.empty:
        return none_of("scores", title, explain_missing_gold(list(results.values())))
    heads = {"accuracy": "accuracy %", "macro_f1": "macro F1 %", "nll": "NLL (nats)"}
    heads["calibration_error"] = "calibration error %"
    columns = {"run": table["run"]}
    for score, head in heads.items():
        scale = 100 if head.endswith("%") else 1
        columns |= {head: scale * table[score], f"{head.removesuffix(' %')} ±": scale * table[f"{score} ±"]}
    return Exhibit("scores", title, None, _drop_empty_columns(pd.DataFrame(columns)))


def cost(results: AnyResults) -> Exhibit:
    """Device, time and throughput."""
    notes = ("Seconds are wall time, all seeds together; annotations/s count every seed and epoch.",)
    return Exhibit("cost", "Time and cost", None, summary.cost(results), notes)


def curve_metrics(results: AnyResults) -> dict[str, str]:
    """Metric -> title, of all that any of the results recorded; the most important first."""
    return measured.curve_metrics(m for r in results.values() for m in r.curves)


def curves(
    results: AnyResults,
    metric: str = "test_accuracy",
    smooth: int = 1,
    log_epochs: bool = False,
    log_values: bool = False,
    all_values: bool = False,
) -> Exhibit:
    """One metric over epochs; see `figures.learning_curves` for smoothing and axes."""
    having: AnyResults = {name: r for name, r in results.items() if metric in r.curves}  # type: ignore[assignment]
    bands, words = summary.curve_bands(having, metric), measured.in_words(metric)
    figure = figures.learning_curves(
        [replace(b, name=escaped(b.name)) for b in bands],
        words,
        selected=[r.selected_epoch for r in having.values()],
        percent=measured.is_share(metric),
        smooth=smooth,
        log_epochs=log_epochs,
        log_values=log_values,
        all_values=all_values,
        title=words,
    )
    table = analysis.band_frame(bands, "epoch", metric).rename(columns={"values": "seeds"})
    return Exhibit(f"curves-{metric.replace('_', '-')}", f"{words} by epoch", figure, _drop_empty_columns(table))


def calibration(results: Results) -> Exhibit | None:
    """Reliability of the test posterior; None where no gold judges it."""
    curves = {}
    for name, r in results.items():
        gold = r.gold[r.split == TEST]
        if (gold >= 0).any():
            curves[name] = analysis.calibration_of_seeds(r.method, r.posterior("test"), gold)
    if not curves:
        return None
    figure = figures.calibration({escaped(n): c for n, c in curves.items()}, title="Calibration on the test split")
    tables = [c.frame().query("tasks > 0").rename(columns={"tasks": "labels"}).assign(run=n) for n, c in curves.items()]
    table = pd.concat(tables, ignore_index=True)
    several = any(len(results[n].seeds) > 1 for n in curves)
    notes = (
        ("All seeds together; the intervals count every task once, as seeds see the same tasks.",) if several else ()
    )
    return Exhibit(
        "calibration", "Share of right labels by their probability", figure, table[["run", *table.columns[:-1]]], notes
    )


def along(results: Sequence[AnyResult], known: Sequence[variation.Facts], x: str, at: At = "selected") -> Exhibit:
    """Test accuracy, of ratings RMSE and of tags F1 of spans, along a setting or a property of the crowd."""
    words, (score, values) = variation.in_words(x), summary.test_scores(results)
    title = f"Test {score.measure} by {words}"
    why = explain_missing_gold(results)
    if why:
        return none_of("along", title, why)
    bands = variation.along(results, known, x, [of[at] for of in values])
    drawn = [replace(b, name=escaped(b.name)) for b in bands]
    over = f"{AT_WORDS[at]}, {_seeds_in_words(results)}"
    y = f"test {score.measure}"
    figure = figures.accuracy_along(drawn, words, y, share=not score.lowest, title=title, subtitle=over)
    without = sorted({r.method for r, one in zip(results, known, strict=True) if x not in one})
    notes = (f"Left out, as they have no {words}: {', '.join(without)}.",) if without else ()
    name = "along-" + "-".join(words.split())
    return Exhibit(name, title, figure, _drop_empty_columns(analysis.band_frame(bands, words, score.measure)), notes)


def recovery(results: Results, dataset: CrowdDataset) -> Exhibit | None:
    """Errors of each result against the truth that generated the crowd; None where that is unknown."""
    rows = []
    for name, result in results.items():
        errors = summary.recovery(result, dataset)
        if errors:
            columns: dict[str, object] = {"run": name}
            for what, values in errors.items():
                columns |= {what: values.mean(), f"{what} ±": summary.deviation(values)}
            rows.append(columns)
    if not rows:
        return None
    notes = ["Recovery error: mean over workers and true classes of the squared distance of the rows, 0 to 2 (Tanno)."]
    every, table = pd.DataFrame(rows), _drop_empty_columns(rows)
    undefined = [c for c in every.columns.difference(table.columns, sort=False) if not c.endswith("±")]
    notes += [f"Not defined here: {', '.join(undefined)}."] if undefined else []
    return Exhibit("recovery", "How near the recovered confusions come to the truth", None, table, tuple(notes))


def truth(results: Results, dataset: CrowdDataset, worker: int | None, called: str = "") -> Exhibit | None:
    """The truth beside what each result recovered (CoNAL, Figs. 5 and 7), on one colour scale.

    Means over seeds where seeds can be compared (`analysis.seeds_comparable`), else the first seed, as its name says.

    Args:
        results: those without such a confusion are left out.
        dataset: with its truth.
        worker: whose confusion; None: the common one.
        called: name to show for the worker.
    """
    if dataset.truth is None:
        return None
    true = dataset.truth.common_confusion if worker is None else true_effective(dataset)
    if true is None:
        return None
    matrices: dict[str, FloatArray] = {"truth": np.asarray(true if worker is None else true[worker], np.float64)}
    for name, r in results.items():
        learnt = learnt_of(r, dataset)
        of_all = learnt.common if worker is None else learnt.effective
        if of_all is None:
            continue
        of_seeds = of_all if worker is None else of_all[:, worker]
        seed, _ = r.shown_seed
        matrices[name if seed is None else f"{name}, seed {seed}"] = of_seeds.mean(0) if seed is None else of_seeds[0]
    if len(matrices) == 1 or matrices["truth"].ndim != 2:
        return None
    worker_name = "" if worker is None else called or str(dataset.worker_ids[worker])
    what = f"Confusion of {worker_name}" if worker_name else "Common confusion"
    several = any(len(r.seeds) > 1 for r in results.values())
    figure = figures.confusion(
        list(matrices.values()),
        [escaped(c) for c in dataset.classes],
        names=[escaped(n) for n in matrices],
        title=escaped(what),
        subtitle=f"what generated the labels, and what was learnt{' (mean over seeds)' * several}",
    )
    return Exhibit(f"truth-{worker_name or 'common'}", what, figure, cells(dataset.classes, **matrices))


def _seeds_in_words(results: Iterable[AnyResult]) -> str:
    """Name the combination of these results' seeds, for subtitles."""
    return seeds_in_words(len(r.seeds) for r in results)


def _drop_empty_columns(rows: Sequence[Mapping[str, object]] | pd.DataFrame) -> pd.DataFrame:
    """Drop columns that are all NaN, such as deviations of single seeds."""
    return pd.DataFrame(rows).dropna(axis=1, how="all")


def found_spans(results: Results) -> Exhibit | None:
    """Precision, recall and F1 of test spans, in percent; None if no result tags sentences with gold."""
    rows = []
    for name, result in results.items():
        for at in EPOCHS:
            try:
                scores = 100 * judged(result, "test", at)[["precision", "recall", "f1", "token_accuracy"]]
            except DataError:
                continue
            row: dict[str, object] = {"run": name, "epoch": at}
            for measure, words in _SPAN_SCORES.items():
                row |= {f"{words} %": scores[measure].mean(), f"{words} ±": deviation(scores[measure].to_numpy())}
            rows.append({**row, "seeds": len(result.seeds)})
    if not rows:
        return None
    notes = (
        "A span counts where all its tokens and its type are right (as seqeval counts). Accuracy is the share of right "
        "tokens; it says less, as most tokens are outside of any span.",
    )
    return Exhibit("found-spans", "Spans of the test split", None, _drop_empty_columns(rows), notes)


def rating_errors(results: RatingResults) -> Exhibit:
    """Test errors in the unit of the ratings and R², at the selected, last and best epoch."""
    rows: list[dict[str, object]] = []
    for name, result in results.items():
        selected_by = result.validated_on or "the last epoch"
        for at in AT:
            row: dict[str, object] = {"run": name, "epoch": "best, optimistic" if at == "best" else at}
            for measure, words in _ERRORS.items():
                try:
                    errors = result.score(measure, at=at)
                except DataError as refusal:
                    return none_of("rating-errors", "Test errors", str(refusal))
                row |= {words: errors.mean(), f"{words} ±": deviation(errors)}
            rows.append({**row, "seeds": len(result.seeds), "selected by": selected_by})
    notes = (
        "Mean absolute and root mean squared error in the unit of the ratings; R² is 1 for no error, and 0 for the "
        "mean true rating.",
        "The best epoch on the test split is optimistic: compare it only with papers that report it.",
    )
    return Exhibit("rating-errors", "Test errors", None, _drop_empty_columns(rows), notes)


class Measured(NamedTuple):
    """A metric of a run so far.

    Args:
        name: of the run.
        method: registered name.
        curve: columns epoch, mean and std over seeds.
        n_seeds: number of seeds.
    """

    name: str
    method: str
    curve: pd.DataFrame
    n_seeds: int


def training_curves(
    runs: Sequence[Measured],
    metric: str,
    smooth: int = 1,
    axes: Sequence[str] = (),
    *,
    until: int = 0,
    table: Callable[[], pd.DataFrame] | None = None,
) -> Exhibit:
    """One metric of runs by epoch, finished or not.

    Args:
        runs: their measurements.
        metric: its name.
        smooth: epochs whose mean a line shows.
        axes: those of ``log_epochs``, ``log_values`` and ``all_values`` of `figures.learning_curves` to turn on.
        until: epoch at which the runs will end.
        table: makes the numbers; default: those that are drawn.
    """
    bands = []
    for run in runs:
        part = run.curve.sort_values("epoch")
        mean, std = part["mean"].to_numpy(float), part["std"].to_numpy(float)
        seeds = np.full(len(part), run.n_seeds)
        bands.append(Band(escaped(run.name), run.method, part["epoch"].to_numpy(), mean, std, seeds))
    words = measured.in_words(metric)
    figure = figures.learning_curves(
        bands,
        words,
        percent=measured.is_share(metric),
        smooth=smooth,
        until=until,
        title=words,
        log_epochs="log_epochs" in axes,
        log_values="log_values" in axes,
        all_values="all_values" in axes,
    )
    figure.update_layout(uirevision=f"{metric} {tuple(axes)}")

    def drawn() -> pd.DataFrame:
        return pd.concat([run.curve.assign(run=run.name, method=run.method) for run in runs], ignore_index=True)

    alt = f"{words} by epoch, one curve per run"
    return Exhibit(f"training-{metric}", f"{words} by epoch", figure, table or drawn, (), alt)


def search_history(trials: pd.DataFrame, method: str, score: SelectionScore = ACCURACY) -> Exhibit:
    """Validation score by trial, and the best so far.

    Args:
        trials: of `runs.search_trials`.
        method: registered name.
        score: measure that the trials are compared by.
    """
    figure = figures.search_history(trials, method, score.column, score.words)
    title = f"{score.words[0].upper()}{score.words[1:]} by trial, and the best so far"
    return Exhibit("search-history", title, figure, trials)


def search_importance(shares: Mapping[str, float], method: str) -> Exhibit | None:
    """Share of the variance that each setting explains; None if it is unknown for all.

    Args:
        shares: of `runs.search_importances`.
        method: registered name.
    """
    if not shares:
        return None
    table = pd.DataFrame({"setting": list(shares), "importance": list(shares.values())})
    title = "Share of the variance that each setting explains"
    return Exhibit("search-importance", title, figures.search_importance(shares, method), table)


def candidates(results: Mapping[str, TrainingResult]) -> Exhibit | None:
    """Candidates that methods tried, and their fit to tasks left out of training; None if no method chose."""
    tables = [r.candidates.assign(run=name) for name, r in results.items() if r.tried]
    if not tables:
        return None
    tried = pd.concat(tables, ignore_index=True)
    table = pd.DataFrame(
        {
            "run": tried["run"],
            "candidate": tried["candidate"],
            "validation %": 100 * tried["accuracy"].astype(float),
            "log-likelihood of a task's labels": tried["likelihood"].astype(float),
            "weight in the mean": tried["weight"].astype(float),
            "likeliest in %": 100 * tried["chosen_in"],
        }
    )
    notes = (
        "Measured on tasks that the candidate was not fitted on. Predictions are the mean of the candidates' "
        "probabilities with these weights. Likeliest in: share of resamples of these tasks in which it is the most "
        "likely of the remaining candidates. It does not account for mistakes that all candidates make.",
    )
    return Exhibit("candidates", "Candidates that were tried", None, table.dropna(axis=1, how="all"), notes)
