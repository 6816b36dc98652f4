"""Contents of a report on a dataset and its runs: sections of exhibits, and the facts that reproduce them.

Each part of a report turns the dataset or the results into exhibits.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from crowdcore.analysis.reference import ReferenceLike
from crowdcore.core.errors import CrowdError, DataError, SettingError
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.pseudonyms import hide_names
from crowdcore.data.ratings import Labelled
from crowdcore.exhibits import (
    Exhibit,
    comparison as exhibits,
    confusions as exhibits_of_runs,
    differences,
    omega as exhibits_of_omega,
    overview as data,
    ratings,
    verdicts,
    view as view_of,
    worker_skills,
)
from crowdcore.exhibits.comparison import candidates, found_spans
from crowdcore.exhibits.exhibit import escaped
from crowdcore.exhibits.mistakes import shared_mistakes
from crowdcore.exhibits.recovered import RunView, of_run
from crowdcore.exhibits.workers import worker_distances, worker_ranking
from crowdcore.figures.heatmap import MAX_CELLS
from crowdcore.learning.comparison import variation
from crowdcore.learning.comparison.comparability import explain_missing_gold
from crowdcore.learning.validation import selected_by

if TYPE_CHECKING:
    from crowdcore.learning.api import Learnt


@dataclass(frozen=True, eq=False)
class Material:
    """Input of the parts of a report.

    Args:
        view: view of the dataset's own exhibits: a `View`, for ratings a `RatingView`.
        dataset: the dataset, its workers under the names that the report shows.
        results: name -> result, all on this dataset.
        others: results on the crowds, for sweeps.
        crowds: other datasets.
    """

    view: Any
    dataset: Any
    results: Mapping[str, Any]
    others: Sequence[Any] = ()
    crowds: Sequence[Labelled] = ()


Part: TypeAlias = Callable[[Material], Iterable[Exhibit | None]]


def _workers(of: Material) -> Iterator[Exhibit]:
    """Ranking of the workers, and distances between them."""
    yield worker_ranking(of.view)
    distances = worker_distances(of.view)
    many = of.dataset.n_workers > MAX_CELLS  # pairs enough to fill a report
    yield replace(distances, table=pd.DataFrame({"worker": of.view.workers})) if many else distances


def _accuracy(of: Material) -> Iterator[Exhibit | None]:
    """Accuracies at the selected, last and best epoch, seed by seed, and tests of their differences."""
    yield found_spans(of.results)
    yield exhibits.accuracies(of.results)
    yield candidates(of.results)
    if explain_missing_gold([*of.results.values()]):
        return
    yield exhibits.seeds(of.results)
    yield from differences.tests(of.results)
    yield from differences.rank_changes(of.results)
    yield exhibits.scores(of.results)


def _sweeps(of: Material) -> Iterator[Exhibit]:
    """Accuracy, or RMSE of ratings, along every setting that varies, and along properties of other crowds."""
    results = [*of.results.values(), *of.others]
    known = variation.facts_of_runs(results, (of.dataset, *of.crowds))
    names = ", ".join(dict.fromkeys(r.dataset for r in of.others))
    notes = (f"Runs on {names} take part here only.",) if names else ()
    for axis in () if explain_missing_gold([*of.results.values()]) else variation.axes(known):
        drawn = exhibits.along(results, known, axis)
        yield replace(drawn, notes=(*drawn.notes, *notes))


def _recovery(of: Material) -> Iterator[Exhibit | None]:
    """Distances from the truth of a simulated crowd."""
    yield exhibits.recovery(of.results, of.dataset)
    yield exhibits.truth(of.results, of.dataset, None)
    yield exhibits.truth(of.results, of.dataset, int(of.dataset.labels_per_worker.argmax()))


def _biases(of: Material) -> Iterator[Exhibit]:
    """Learnt and true biases of the runs that learn them."""
    for name, result in of.results.items():
        if "bias" in result.workers["selected"] and of.view.dataset.has_gold:
            shown = ratings.rating_biases(of.view.dataset, result, hidden=of.view.hidden)
            yield replace(shown, name=f"{shown.name}-{'-'.join(name.split())}", title=f"{shown.title}: {name}")


def _confusions(of: Material) -> Iterator[Exhibit]:
    """Confusions of the workers in each run, and those they share."""
    views = [view for view in _views(of) if view.result.worker_confusion is not None]
    for view in views:
        if len(exhibits_of_runs.commons(view)) == 1:
            common = exhibits_of_runs.recovered_confusion(view)
            if common is not None:
                yield _name_run(common, view, f"Common confusion of {view.run_name}", "common")
        workers = worker_skills.recovered_workers(view)
        yield _name_run(workers, view, workers.title)
        every = exhibits_of_runs.every_confusion(view)
        yield _name_run(every, view, every.title)
    if views:
        yield worker_skills.skills(views)


def _omega(of: Material) -> Iterator[Exhibit]:
    """Section on common noise in the runs."""
    for view in _views(of):
        if view.result.omega is None or np.isnan(view.result.omega).all():
            continue
        for name, shown in {
            "omega": exhibits_of_omega.omega_ranking(view),
            "omega-halves": exhibits_of_omega.omega_halves(view),
            "omega-classes": exhibits_of_omega.omega_spread(view, "class"),
        }.items():
            yield _name_run(shown, view, f"{shown.title}: {view.run_name}", name)


def _views(of: Material) -> list[RunView]:
    return [of_run(of.view, result, name) for name, result in of.results.items()]


def _name_run(shown: Exhibit, view: RunView, title: str, name: str = "") -> Exhibit:
    """Name the run of an exhibit, and the seed where there is no mean over seeds."""
    _, why = view.result.shown_seed
    figure = None if shown.figure is None else go.Figure(shown.figure).update_layout(title_text=escaped(title))
    slug = "-".join(view.run_name.split())
    notes = (*([why] if why else []), *shown.notes)
    return replace(shown, name=f"{name or shown.name}-{slug}", title=title, figure=figure, notes=notes)


DATA_PARTS: Mapping[str, tuple[str, Part]] = {
    "verdicts": (
        "Verdicts: what to do",
        lambda of: (
            show(of.view)
            for show in (
                verdicts.verdicts,
                verdicts.worker_verdicts,
                verdicts.mistakes_in_words,
                verdicts.task_verdicts,
            )
        ),
    ),
    "overview": (
        "The dataset at a glance",
        lambda of: (
            show(of.view)
            for show in (data.overview, data.annotations_per_worker, data.class_balance, data.annotation_entropy)
        ),
    ),
    "agreement": ("Agreement between workers", lambda of: [data.agreement(of.view)]),
    "mistakes": ("Shared mistakes", lambda of: [shared_mistakes(of.view)]),
    "annotators": ("Annotators", _workers),
}
_CURVES: Part = lambda of: (exhibits.curves(of.results, metric) for metric in exhibits.curve_metrics(of.results))  # noqa: E731
_COST: Part = lambda of: [exhibits.cost(of.results)]  # noqa: E731
RUN_PARTS: Mapping[str, tuple[str, Part]] = {
    "accuracy": ("Accuracy", _accuracy),
    "classes": ("Accuracy per class", lambda of: [exhibits.classes(of.results)]),
    "curves": ("Learning curves", _CURVES),
    "calibration": ("Calibration", lambda of: [exhibits.calibration(of.results)]),
    "cost": ("Time and cost", _COST),
    "sweeps": ("Along what varies", _sweeps),
    "recovery": ("Recovery of the truth", _recovery),
    "confusions": ("Recovered confusions", _confusions),
    "omega": ("Noise source ω", _omega),
}
PARTS: Mapping[str, tuple[str, Part]] = {**DATA_PARTS, **RUN_PARTS}
"""Name -> title and function; parts of runs need some."""
_OF_RATINGS: Mapping[str, tuple[str, Part]] = {
    "overview": ("The ratings at a glance", lambda of: [ratings.summary(of.view), ratings.agreement(of.view)]),
    "workers": ("Workers", lambda of: [ratings.worker_bias(of.view), ratings.errors_alike(of.view)]),
    "shared": ("Shared bias", lambda of: [ratings.shared_bias(of.view)]),
    "truth": ("True ratings", lambda of: [ratings.aggregators(of.view)]),
}
_OF_RATING_RUNS: Mapping[str, tuple[str, Part]] = {
    "errors": ("Errors", lambda of: [exhibits.rating_errors(of.results), differences.rating_differences(of.results)]),
    "curves": ("Learning curves", _CURVES),
    "sweeps": ("Along what varies", _sweeps),
    "biases": ("Learnt biases", _biases),
    "cost": ("Time and cost", _COST),
}


def parts_of(dataset: Labelled, runs: bool = True) -> Mapping[str, tuple[str, Part]]:
    """Name -> title and function of the parts for a dataset's kind of labels; without runs those on the data only."""
    of_data, of_runs = (_OF_RATINGS, _OF_RATING_RUNS) if dataset.kind.numeric else (DATA_PARTS, RUN_PARTS)
    return {**of_data, **of_runs} if runs else of_data


@dataclass(frozen=True, eq=False)
class Trained:
    """A run of a report.

    Args:
        id: id of the run.
        result: its result.
        command: the command line that computes it again.
        name: name that a user gave it.
    """

    id: str
    result: Learnt
    command: str
    name: str = ""


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report.

    Args:
        name: key in `PARTS`.
        title: its heading.
        exhibits: its exhibits.
        words: reason why there is nothing to show, or "".
    """

    name: str
    title: str
    exhibits: tuple[Exhibit, ...]
    words: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """Contents of a report.

    Args:
        dataset: its name.
        fingerprint: its content hash.
        reference: truth of the dataset's own figures.
        pseudonymised: True if workers go by pseudonyms.
        sections: in the order of `PARTS`, then how it was made.
        made: time of making, UTC.
        runs: one entry per run: name, id, method, settings, seeds, versions, device, command and so on.
        command: the command line that makes this report again.
    """

    dataset: str
    fingerprint: str
    reference: str
    pseudonymised: bool
    sections: tuple[Section, ...]
    made: datetime
    runs: tuple[dict[str, Any], ...]
    command: str

    @property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """Exhibits of all sections."""
        return tuple(exhibit for section in self.sections for exhibit in section.exhibits)


def build(
    dataset: Labelled,
    runs: Sequence[Trained] = (),
    parts: Sequence[str] | None = None,
    *,
    crowds: Sequence[CrowdDataset] = (),
    reference: ReferenceLike = "gold",
    show_names: bool = False,
    command: str = "",
) -> Report:
    """Build a report on a dataset, runs on it as it is now, and runs on ``crowds``, which take part in sweeps only.

    ``parts`` are names of `PARTS`; default: all that apply. ``command`` is the command line that makes this report
    again.
    """
    known, of_data = parts_of(dataset), parts_of(dataset, runs=False)
    chosen = [part for part in known if part in parts] if parts is not None else [*known]
    for part in parts or ():
        if part not in known:
            raise SettingError("parts", f"be among {', '.join(known)}", part)
        if part not in of_data and not runs:
            raise SettingError("runs", f"hold at least one for the part {part!r}", [])
    if not runs:
        chosen = [part for part in chosen if part in of_data]
    own, guests = _split_by_dataset(dataset, runs, crowds)
    if guests and not (own and "sweeps" in chosen):
        raise DataError(
            f"Run {guests[0].id} was trained on {guests[0].result.dataset}, which takes part in sweeps only",
            f"Keep the part 'sweeps', and choose at least one run on {dataset.name}.",
        )
    names = _names(own)
    results: dict[str, Any] = dict(zip(names, (run.result for run in own), strict=True))
    others = [run.result for run in guests]
    shown = view_of(dataset, reference, hidden=not show_names)
    own_names = show_names or dataset.kind.numeric
    material = Material(shown, dataset if own_names else hide_names(dataset), results, others, crowds)  # type: ignore[type-var]
    sections = _sections(material, chosen, known)
    runs = [*own, *guests]
    names += _names(runs)[len(own) :]
    how = Section("how", "How it was made", tuple(_how(names, runs)))
    return Report(
        dataset.name,
        dataset.fingerprint,
        shown.truth.name,
        not show_names,
        (*sections, *([how] if runs else [])),
        datetime.now(UTC),
        tuple(_facts(name, run) for name, run in zip(names, runs, strict=True)),
        command,
    )


def _names(runs: Sequence[Trained]) -> list[str]:
    return variation.names([variation.facts(run.result) for run in runs], [run.name for run in runs])


def command_line(
    dataset: str, runs: Sequence[str], parts: Sequence[str], reference: str, show_names: bool, out: str
) -> str:
    """Write ``crowdcore report …`` with the options of a report; empty parts and reference stand for the defaults."""
    words = ["crowdcore", "report", dataset, *(word for run in runs for word in ("--run", run))]
    words += [word for part in parts for word in ("--part", part)]
    words += ["--reference", reference] if reference else []
    return shlex.join([*words, *(["--names"] if show_names else []), "--accept", "--out", out])


def _split_by_dataset(
    dataset: Labelled, runs: Sequence[Trained], crowds: Sequence[CrowdDataset]
) -> tuple[list[Trained], list[Trained]]:
    """Split runs into those on the dataset and those on the crowds."""
    own = [run for run in runs if run.result.fingerprint == dataset.fingerprint]
    guests = [run for run in runs if run.result.fingerprint != dataset.fingerprint]
    known = {crowd.fingerprint for crowd in crowds}
    for run in guests:
        if run.result.fingerprint not in known:
            names = " or ".join(dict.fromkeys(each.name for each in (dataset, *crowds)))
            raise DataError(
                f"Run {run.id} was trained on {run.result.dataset} with other annotations than those of {names}",
                "A report is about one dataset as it is now; choose runs on it.",
            )
    return own, guests


def _sections(of: Material, chosen: Sequence[str], parts: Mapping[str, tuple[str, Part]]) -> list[Section]:
    """Make the chosen parts; those without exhibits or words are left out."""
    sections = []
    for part in chosen:
        title, make = parts[part]
        try:
            exhibits = tuple(_portable(exhibit) for exhibit in make(of) if exhibit is not None)
        except CrowdError as refusal:
            sections.append(Section(part, title, (), str(refusal)))
        else:
            sections += [Section(part, title, exhibits)] if exhibits else []
    return sections


def _portable(exhibit: Exhibit) -> Exhibit:
    """Replace points of WebGL, which compiles code at run time, so that any policy allows them; drop empty columns."""
    if len(exhibit.table):
        exhibit = replace(exhibit, table=exhibit.table.dropna(axis=1, how="all"))
    if exhibit.figure is None or all(trace.type != "scattergl" for trace in exhibit.figure.data):
        return exhibit
    drawn = exhibit.figure.to_plotly_json()
    traces = [{**t, "type": "scatter"} if t["type"] == "scattergl" else t for t in drawn["data"]]
    return replace(exhibit, figure=go.Figure(traces, drawn["layout"]))


def _facts(name: str, run: Trained) -> dict[str, Any]:
    """Facts of a run for JSON."""
    r = run.result
    return {
        "name": name,
        "id": run.id,
        "dataset": r.dataset,
        "method": r.method,
        "settings": r.settings,
        "training": r.training,
        "seeds": list(r.seeds),
        "validated_on": r.validated_on,
        "selected_by": selected_by(r.validated_on),
        "selected_epoch": r.selected_epoch.tolist(),
        "seconds": r.seconds,
        "device": r.device,
        "versions": r.versions,
        "notes": list(r.notes),
        "command": run.command,
    }


def _how(names: Sequence[str], runs: Sequence[Trained]) -> list[Exhibit]:
    """Tables of settings and versions, a column per run, and of command lines."""
    if not runs:
        return []
    known = [variation.facts(run.result) for run in runs]
    rows = [key for key in dict.fromkeys(key for one in known for key in one) if not key.startswith("name: ")]
    settings = {
        "setting": [variation.in_words(key) for key in rows],
        **{name: [_in_words(one.get(key, "–")) for key in rows] for name, one in zip(names, known, strict=True)},
    }
    packages = dict.fromkeys(p for run in runs for p in run.result.versions)
    versions = {"what": ["seeds", "epochs selected on", "device", *packages]}
    for name, r in zip(names, (run.result for run in runs), strict=True):
        own = [", ".join(map(str, r.seeds)), r.validated_on or "nothing (last)", r.device]
        versions[name] = [*own, *(r.versions.get(p, "–") for p in packages)]
    commands = pd.DataFrame({"run": names, "id": [r.id for r in runs], "command": [r.command for r in runs]})
    return [
        Exhibit("settings", "Settings of every run", None, pd.DataFrame(settings)),
        Exhibit("versions", "Seeds, what selected epochs, devices and versions", None, pd.DataFrame(versions)),
        Exhibit("commands", "The command lines that compute the runs again", None, commands),
    ]


def _in_words(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
