"""What a report may hold: each part turns the dataset or the results into exhibits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.reference import Reference
from crowdcore.core.drawable import drawable, escaped
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import Exhibit, View, comparison as exhibits, overview as data
from crowdcore.exhibits.mistakes import shared_mistakes
from crowdcore.exhibits.workers import worker_distances, worker_ranking
from crowdcore.figures.heatmap import MAX_CELLS
from crowdcore.figures.theme import looks
from crowdcore.learning.comparison import variation
from crowdcore.learning.comparison.comparability import shown_seed
from crowdcore.learning.comparison.judged import basis
from crowdcore.learning.results.result import TrainingResult

__all__ = ["DATA_PARTS", "PARTS", "RUN_PARTS", "Material"]


@dataclass(frozen=True, eq=False)
class Material:
    """What the parts are made of.

    Args:
        dataset: its workers already go by the names that the report shows.
        reference: what the dataset's parts take for the truth.
        results: name -> result, all on this dataset.
        others: results on the crowds, for sweeps.
        crowds: other datasets.
        view: what the dataset's own exhibits show.
    """

    dataset: CrowdDataset
    reference: Reference
    results: Mapping[str, TrainingResult]
    others: Sequence[TrainingResult] = ()
    crowds: Sequence[CrowdDataset] = ()
    view: View = field(kw_only=True)


Part: TypeAlias = Callable[[Material], Iterator[Exhibit | None]]


def overview(of: Material) -> Iterator[Exhibit]:
    """Counts, noise and balance."""
    yield data.overview(of.view)
    yield data.annotations_per_worker(of.view)
    yield data.class_balance(of.view)
    yield data.annotation_entropy(of.view)


def agreement(of: Material) -> Iterator[Exhibit]:
    """How far workers agree."""
    yield data.agreement(of.view)


def mistakes(of: Material) -> Iterator[Exhibit]:
    """Fig. 1 of the CoNAL paper, with chance in mind."""
    yield shared_mistakes(of.view)


def annotators(of: Material) -> Iterator[Exhibit]:
    """Worker by worker, and how alike they are."""
    yield worker_ranking(of.view)
    distances = worker_distances(of.view)
    many = of.dataset.n_workers > MAX_CELLS  # pairs enough to fill a report
    yield replace(distances, table=pd.DataFrame({"worker": of.view.workers})) if many else distances


def accuracy(of: Material) -> Iterator[Exhibit]:
    """Selected, last and best, seed by seed, and what may be said of differences."""
    yield exhibits.accuracies(of.results)
    if basis([*of.results.values()]):
        return
    yield exhibits.seeds(of.results)
    yield from exhibits.tests(of.results)
    yield from exhibits.rank_changes(of.results)
    yield exhibits.scores(of.results)


def classes(of: Material) -> Iterator[Exhibit]:
    """Accuracy per class."""
    yield exhibits.classes(of.results)


def curves(of: Material) -> Iterator[Exhibit]:
    """Every metric that was followed."""
    for metric in exhibits.curve_metrics(of.results):
        yield exhibits.curves(of.results, metric)


def calibration(of: Material) -> Iterator[Exhibit | None]:
    """Reliability of the test posterior."""
    yield exhibits.calibration(of.results)


def cost(of: Material) -> Iterator[Exhibit]:
    """Time, throughput, device."""
    yield exhibits.cost(of.results)


def sweeps(of: Material) -> Iterator[Exhibit]:
    """Accuracy along every setting that varies, and along what other crowds differ in."""
    known = [variation.facts(r, of.dataset) for r in of.results.values()]
    crowds = {crowd.fingerprint: crowd for crowd in of.crowds}
    known += [variation.facts(r, crowds[r.fingerprint]) for r in of.others]
    names = ", ".join(dict.fromkeys(r.dataset for r in of.others))
    notes = (f"Runs on {names} take part here only.",) if names else ()
    for axis in () if basis([*of.results.values()]) else variation.axes(known):
        drawn = exhibits.along([*of.results.values(), *of.others], known, axis)
        yield replace(drawn, notes=(*drawn.notes, *notes))


def recovery(of: Material) -> Iterator[Exhibit | None]:
    """How near the truth of a simulated crowd."""
    yield exhibits.recovery(of.results, of.dataset)
    yield exhibits.truth(of.results, of.dataset, None)
    busiest = int(of.dataset.labels_per_worker.argmax())
    yield exhibits.truth(of.results, of.dataset, busiest)


def confusions(of: Material) -> Iterator[Exhibit]:
    """What each run says of the workers, and of what they share."""
    observed = analysis.worker_confusion(of.dataset, of.reference)
    compared, methods = {}, []
    for name, r in of.results.items():
        if r.worker_confusion is None:
            continue
        seed, notes = _seed(r)
        mixed = analysis.effective_confusion(of.dataset, r.worker_confusion, r.common_confusion, r.omega, r.group)
        effective = np.where(np.isnan(mixed), r.worker_confusion, mixed)
        found = analysis.recovered_confusion(
            of.dataset,
            *(r.worker_confusion, r.common_confusion, r.omega, r.group),
            seeds=r.seeds,
            seed=seed,
            effective=effective,
        )
        slug = "-".join(name.split())
        if found.common is not None and found.common.ndim == 2:
            figure = figures.confusion(
                found.common,
                [escaped(c) for c in found.classes],
                title="Common confusion",
                subtitle=f"{escaped(name)} · {found.combined}",
            )
            yield Exhibit(f"common-{slug}", f"Common confusion of {name}", figure, found.matrices_frame([]), notes)
        title = f"What {name} says of each worker ({found.combined})"
        yield Exhibit(f"workers-{slug}", title, None, found.frame(), notes)
        cells = found.matrices_frame()
        yield Exhibit(f"confusions-{slug}", f"Every worker's confusion by {name}", None, cells)
        compared[escaped(name)] = analysis.skill_comparison(observed, effective, seeds=r.seeds, seed=seed)
        methods.append(r.method)
    if compared:
        colors = [look.color for look in looks(methods)]
        figure = figures.skills({n: drawable(c) for n, c in compared.items()}, colors=colors)
        tables = [c.frame().assign(run=n) for n, c in compared.items()]
        yield Exhibit("skills", "Skill of each worker, learnt and observed", figure, pd.concat(tables))


def omega(of: Material) -> Iterator[Exhibit]:
    """Where the runs see common noise."""
    for name, r in of.results.items():
        if r.omega is None or np.isnan(r.omega).all():
            continue
        slug = "-".join(name.split())
        seed, notes = _seed(r)
        ranking = analysis.omega_ranking(of.dataset, r.omega, of.reference, seeds=r.seeds, seed=seed)
        values = r.omega.mean(0) if seed is None else r.omega[0]
        judged = analysis.judge_omega(float(np.nanstd(values)), ranking.seed_correlation)
        shown, notes = drawable(ranking), (*notes, *filter(None, [judged.words]))
        title = f"Tasks by ω̄: {name}"
        drawn = figures.omega_ranking(shown, title=escaped(title))
        yield Exhibit(f"omega-{slug}", title, drawn, ranking.frame(), notes)
        halves = figures.omega_halves(shown)
        yield Exhibit(f"omega-halves-{slug}", f"True classes in the halves: {name}", halves, ranking.halves())
        spread = analysis.omega_spread(of.dataset, r.omega, "class", of.reference, seeds=r.seeds, seed=seed)
        figure = figures.omega_spread(drawable(spread), title=escaped(f"ω per true class: {name}"))
        yield Exhibit(f"omega-classes-{slug}", f"ω per true class: {name}", figure, spread.frame())


def _seed(r: TrainingResult) -> tuple[int | None, tuple[str, ...]]:
    """None for the mean over seeds, or the first of them where they are not comparable, which the note says."""
    seed, why = shown_seed(r)
    return seed, (why,) if why else ()


DATA_PARTS: Mapping[str, tuple[str, Part]] = {
    "overview": ("The dataset at a glance", overview),
    "agreement": ("Agreement between workers", agreement),
    "mistakes": ("Shared mistakes", mistakes),
    "annotators": ("Annotators", annotators),
}
RUN_PARTS: Mapping[str, tuple[str, Part]] = {
    "accuracy": ("Accuracy", accuracy),
    "classes": ("Accuracy per class", classes),
    "curves": ("Learning curves", curves),
    "calibration": ("Calibration", calibration),
    "cost": ("Time and cost", cost),
    "sweeps": ("Along what varies", sweeps),
    "recovery": ("Recovery of the truth", recovery),
    "confusions": ("Recovered confusions", confusions),
    "omega": ("Noise source ω", omega),
}
PARTS: Mapping[str, tuple[str, Part]] = {**DATA_PARTS, **RUN_PARTS}
"""Name -> title and what makes it; those of runs need some."""
