"""`make pictures`: one picture of every figure of the library, on the demo dataset, into docs/pictures/.

``python -m tests.docs.pictures shared_mistakes skills`` draws only these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import optuna
import pandas as pd
import plotly.graph_objects as go

from crowdcore import aggregation, analysis, figures, load_dataset
from crowdcore.data import simulate
from crowdcore.exhibits import ratings
from crowdcore.exhibits.differences import rank_changes
from crowdcore.exhibits.ratings import rating_view
from crowdcore.learning import RecoveryPlan, RecoveryStudy, TrainingResult, study_recovery, train
from crowdcore.learning.comparison.summary import class_bands
from crowdcore.learning.recovery.study import BOUNDS, MEASURES
from testkit.planted import ATTACKED, DRIFTING, attacked_crowd, planted_crowd, two_rounds
from testkit.steps import small
from tests.docs.runner import DOCS
from tests.rated_crowd import rated_crowd

FOLDER = DOCS / "pictures"
METHODS = ("crowd-layer", "trace", "conal")
WORKER = 3  # somebody with many labels
LEARNT = {"crowd-layer": "crowd-layer", "conal": "conal"}
DRAWN_MEASURES = {name: MEASURES[name] for name in ("accuracy", "effective error")}
dataset = cache(lambda: load_dataset("demo"))
confusion = cache(lambda: analysis.worker_confusion(dataset()))
summary = cache(lambda: analysis.summary(dataset()))
spans = cache(lambda: analysis.span_scores(simulate.tags(n_sentences=200, seed=1)))
quality = cache(lambda: analysis.worker_quality(dataset()))


@cache
def fits() -> dict[str, aggregation.AggregationResult]:
    return {name: aggregation.get(name).fit(dataset()) for name in ("majority-vote", "dawid-skene", "conal-em")}


@cache
def runs() -> dict[str, TrainingResult]:
    return {method: train(dataset(), method, seeds=3, epochs=12) for method in METHODS}


@cache
def study() -> RecoveryStudy:
    plan = RecoveryPlan(
        simulation="conal",
        dataset="demo",
        settings={"per_task": 5},
        over={"common_strength": [0.2, 0.4, 0.6]},
        methods=[{"method": "crowd-layer"}, {"method": "conal"}],
        training={"epochs": 8},
        seeds=1,
    )
    return study_recovery(plan, device="cpu")


@cache
def search() -> optuna.Study:
    """Eight trials of two settings; the recorded value is accuracy on the validation split."""
    space = {
        "lr": optuna.distributions.FloatDistribution(1e-4, 1e-1, log=True),
        "weight_decay": optuna.distributions.FloatDistribution(1e-6, 1e-1, log=True),
    }
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(8):
        trial = study.ask(space)
        result = train(dataset(), "dl-mv", seeds=1, epochs=3, **trial.params)
        study.tell(trial, float(result.accuracy("valid").mean()))
    return study


def drifting() -> analysis.WorkerOverTime:
    """A simulated worker who guesses in the second half of the time."""
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    blocks = analysis.worker_over_time(crowd, worker=DRIFTING)
    assert blocks is not None
    return blocks


def hurried() -> analysis.WorkerSpeedOverTime:
    """The same worker, who answers three times as fast in that half."""
    crowd = planted_crowd(1, n_tasks=600, n_workers=15, skill=(0.6, 0.95), even=True)
    assert crowd.extra is not None
    at = np.argsort(crowd.extra["timestamp"].to_numpy()[own := np.flatnonzero(crowd.worker == DRIFTING)])
    seconds = np.random.default_rng(1).lognormal(2.0, 0.4, crowd.n_annotations)
    seconds[own[at[len(at) // 2 :]]] /= 3
    blocks = analysis.worker_speed_over_time(replace(crowd, extra=crowd.extra.assign(seconds=seconds)), worker=DRIFTING)
    assert blocks is not None
    return blocks


def changed() -> analysis.Rounds:
    """Two rounds of a simulated crowd; one worker guesses in the second."""
    crowd = two_rounds(1, "tasks", {"n_tasks": 900, "even": True}, changes=True)
    return analysis.rounds(crowd, by="round")


def coordinated() -> analysis.CoordinatedWorkers:
    """A simulated crowd in which three workers push a class and two others copy one."""
    crowd = attacked_crowd(1, "push", 3, 0.9, **ATTACKED["4 classes, sparse"])
    return analysis.coordinated_workers(simulate.copy_leader(crowd, [8, 9], 7, 0.9))


def omega(compute: Callable[..., Any]) -> Any:
    """Return ω by CoNAL's run."""
    result = runs()["conal"]
    return compute(dataset(), result.omega, seeds=result.seeds)


@cache
def rated() -> Any:
    """Ratings of a simulated crowd that underrates what is good."""
    crowd = rated_crowd(1000, 40, 5, bias_sd=0.06, shared=lambda truth: -0.3 * np.maximum(truth - 0.6, 0))[0]
    inside = (crowd.rating >= 0) & (crowd.rating <= 1)
    return replace(crowd.where(inside), low=0.0, high=1.0)


def trials() -> pd.DataFrame:
    """Return the table that `figures.search_history` draws."""
    values = [trial.value for trial in search().trials]
    settings = pd.DataFrame([trial.params for trial in search().trials])
    numbers = np.arange(1, len(values) + 1)
    best = np.maximum.accumulate(np.array(values, float))
    return pd.DataFrame({"trial": numbers, "validation_accuracy": values, "best": best}).join(settings)


def bands(metric: str) -> list[analysis.Band]:
    curves = {name: result.curves[metric] for name, result in runs().items()}
    return [analysis.band(name, name, np.arange(1, len(values) + 1), values) for name, values in curves.items()]


DRAWN: dict[str, Callable[[], go.Figure]] = {
    "labels_per_worker": lambda: figures.labels_per_worker(summary()),
    "labels_per_task": lambda: figures.labels_per_task(summary()),
    "class_balance": lambda: figures.class_balance(summary().balance),
    "annotation_entropy": lambda: figures.annotation_entropy(summary().entropy),
    "agreement": lambda: figures.agreement(analysis.agreement(dataset())),
    "shared_mistakes": lambda: figures.shared_mistakes(analysis.shared_mistakes(dataset())),
    "confusion": lambda: figures.confusion(
        [confusion().crowd, confusion().matrices[WORKER]], dataset().classes, names=["everybody", "w04"]
    ),
    "confusion_intervals": lambda: figures.confusion_intervals(
        analysis.credible_intervals(fits()["dawid-skene"]), WORKER, dataset().classes
    ),
    "confusion_grid": lambda: figures.confusion_grid(
        confusion().matrices[:6], dataset().classes, names=list(dataset().worker_ids[:6])
    ),
    "worker_distance": lambda: figures.worker_distance(analysis.worker_distance(dataset())),
    "worker_ranking": lambda: figures.worker_ranking(quality()),
    "worker_over_time": lambda: figures.worker_over_time(drifting()),
    "worker_speed_over_time": lambda: figures.worker_speed_over_time(hurried()),
    "round_workers": lambda: figures.round_workers(changed()),
    "coordinated_workers": lambda: figures.coordinated_workers(coordinated()),
    "pair_mistakes": lambda: figures.pair_mistakes(
        analysis.pair_mistakes(dataset()), groups=analysis.worker_verdicts(dataset()).groups
    ),
    "rating_bias": lambda: figures.rating_bias(analysis.rating_workers(rated(), analysis.rating_truth(rated()))),
    "rating_shared_bias": lambda: figures.rating_shared_bias(
        analysis.shared_bias(rated(), analysis.rating_truth(rated()))
    ),
    "rating_biases": lambda: figures.rating_biases(
        analysis.rating_biases(rated(), aggregation.ratings.get("raykar-em").fit(rated()).bias[None])
    ),
    "task_ratings": lambda: ratings.task_ratings(rating_view(rated()), "t12").figure,
    "rating_errors_alike": lambda: figures.rating_errors_alike(
        analysis.rating_pairs(rated(), analysis.rating_truth(rated())), most=20
    ),
    "label_disagreement": lambda: figures.label_disagreement(analysis.label_disagreement(dataset(), {**fits()})),
    "calibration": lambda: figures.calibration(
        {name: analysis.calibration(fit, dataset().gold) for name, fit in fits().items()}
    ),
    "log_likelihood": lambda: figures.log_likelihood(
        {name: fit for name, fit in fits().items() if len(fit.log_likelihood)}, dataset().n_annotations
    ),
    "learning_curves": lambda: figures.learning_curves(
        bands("test_accuracy"),
        "test accuracy",
        selected=[result.selected_epoch for result in runs().values()],
        title="Test accuracy",
    ),
    "seed_accuracies": lambda: figures.seed_accuracies(
        [r.accuracy("test") for r in runs().values()],
        [analysis.band(name, name, ["selected"], [r.accuracy("test")]) for name, r in runs().items()],
        [float(r.accuracy("test", ensemble=True)[0]) for r in runs().values()],
    ),
    "class_accuracy": lambda: figures.class_accuracy(class_bands(runs(), "selected")),
    "accuracy_along": lambda: figures.accuracy_along(
        [
            analysis.band(method, method, list(by_strength.index), [[value] for value in by_strength])
            for method in ("crowd-layer", "conal")
            for by_strength in [study().table.query("method == @method").groupby("common strength")["accuracy"].mean()]
        ],
        "common strength",
    ),
    "critical_difference": lambda: figures.critical_difference(
        analysis.critical_difference({name: r.accuracy("test") for name, r in runs().items()})
    ),
    "rank_changes": lambda: rank_changes(runs())[0].figure,
    "search_history": lambda: figures.search_history(trials(), "dl-mv"),
    "search_importance": lambda: figures.search_importance(optuna.importance.get_param_importances(search()), "dl-mv"),
    "span_errors": lambda: figures.span_errors(spans()),
    "span_f1": lambda: figures.span_f1(spans()),
    "skills": lambda: figures.skills(
        {
            name: analysis.skill_comparison(confusion(), runs()[name].worker_confusion, seeds=runs()[name].seeds)
            for name in ("crowd-layer", "trace")
        }
    ),
    "omega_ranking": lambda: figures.omega_ranking(omega(analysis.omega_ranking)),
    "omega_halves": lambda: figures.omega_halves(omega(analysis.omega_ranking)),
    "omega_spread": lambda: figures.omega_spread(omega(analysis.omega_spread)),
    "omega_truth": lambda: figures.omega_truth(omega(analysis.omega_truth)),
    "recovery_errors": lambda: figures.recovery_errors(
        study().table.query("`common strength` == 0.4"), DRAWN_MEASURES, methods=LEARNT, bounds=BOUNDS
    ),
    "recovery_along": lambda: figures.recovery_along(
        study().table, "common strength", DRAWN_MEASURES, methods=LEARNT, bounds=BOUNDS
    ),
}


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or DRAWN:
        figure = DRAWN[name]().update_layout(paper_bgcolor="white", plot_bgcolor="white")
        png = figure.to_image("png", width=760, height=figure.layout.height or 460, scale=1.5)
        file = FOLDER / f"{name.replace('_', '-')}.png"
        file.write_bytes(small(png))
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
