"""`crowdcore compare`: accuracies of many methods on one or more datasets, side by side, and tests of differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import pandas as pd
import pyarrow as pa
import typer

from crowdcore import aggregation, analysis, exhibits
from crowdcore.analysis.recovery.seeds import seeds_in_words
from crowdcore.cli import _command as opt
from crowdcore.cli._output import print_json, print_notes, print_readable, save_figure, save_table, say
from crowdcore.cli.aggregate import accuracy, span_facts
from crowdcore.cli.train import accuracy_table, span_rows, train_one
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data import CrowdDataset, catalogue
from crowdcore.data.pseudonyms import hide_names as without_names
from crowdcore.data.writers.tables import markdown as markdown_of
from crowdcore.learning.settings import SEEDS

if TYPE_CHECKING:
    from crowdcore.learning import TrainingResult

    Results: TypeAlias = Mapping[str, TrainingResult]

_OWN = ("aggregation", "learning")  # tables that JSON holds as rows of their own


@dataclass(frozen=True, eq=False)
class Compared:
    """A table for files and machines, and the one for people.

    Args:
        frame: all columns.
        shown: those that a terminal has room for, in words; empty where there is nothing to show.
        title: of what is shown.
        notes: caveats, or why there is nothing to show.
    """

    frame: pd.DataFrame
    shown: pd.DataFrame
    title: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Trained:
    """A method trained on a dataset."""

    dataset: CrowdDataset
    result: TrainingResult


def compare(
    datasets: Annotated[
        list[str],
        typer.Argument(help="Datasets by name or path.", autocompletion=opt.completes(catalogue.list_datasets)),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="An aggregator or a learning method; may be repeated. Default: all aggregators for such labels.",
        ),
    ] = None,
    seeds: opt.Seeds = SEEDS,
    epochs: opt.Epochs = None,
    device: opt.Device = "auto",
    set: opt.Settings = None,
    hide_names: opt.HideNames = False,
    json: opt.Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    out: opt.OutFolder = None,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> None:
    """Compare methods: aggregators by the labels they infer, learning methods by their classifier's test accuracy.

    A setting may name its method: --set conal.embedding=40.
    """
    crowds = list(_distinct([opt.open_crowd(name, read, accept) for name in dict.fromkeys(datasets)]))
    methods = dict.fromkeys(method or ())
    learners = [m for m in methods if m not in aggregation.aggregators]
    aggregators = [m for m in methods if m in aggregation.aggregators] if method else None
    inferred: list[dict[str, Any]] = []
    trained: list[Trained] = []
    given = opt.with_epochs(set, epochs) | {"accept": accept}
    for ds in crowds:
        inferred += _infer(ds, aggregation.fitting(ds) if aggregators is None else aggregators)
        for name in learners:
            own = {k.removeprefix(f"{name}."): v for k, v in given.items() if "." not in k or k.startswith(f"{name}.")}
            trained.append(Trained(ds, train_one(ds, name, seeds, device, own)))
    tables = _inferred_tables(inferred) if inferred else {}
    learnt: list[dict[str, Any]] = []
    if trained:
        from crowdcore.learning.comparison.summary import recovered, row

        learnt = [row(one.result) for one in trained]
        tables |= _trained_tables(trained, learnt, datasets, seeds)
    if out:
        _write(out, {kind: one.frame for kind, one in tables.items() if len(one.frame)}, trained)
    if json:
        shown = (replace(one, dataset=without_names(one.dataset)) if hide_names else one for one in trained)
        facts = [fact | {"recovered": recovered(t.result, t.dataset)} for fact, t in zip(learnt, shown, strict=True)]
        parts = {kind.replace("-", "_"): one.frame for kind, one in tables.items() if kind not in _OWN}
        print_json({"aggregation": inferred, "learning": facts, **parts})
    elif markdown:
        say("\n\n".join(_markdown(one.shown) for one in tables.values() if len(one.shown)))
    else:
        _print(tables)
        print_notes(_notes_by_method([*inferred, *learnt]))


def _distinct(datasets: Sequence[CrowdDataset]) -> Iterator[CrowdDataset]:
    """Give datasets distinct names: the second of a name becomes ``name (2)``."""
    names = [ds.name for ds in datasets]
    for k, ds in enumerate(datasets):
        before = names[:k].count(ds.name)
        yield replace(ds, name=f"{ds.name} ({before + 1})") if before else ds


def _infer(ds: CrowdDataset, aggregators: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Row of each aggregator on one dataset; a note says if the dataset breaks its assumptions."""
    if aggregators and not ds.has_gold:
        raise CrowdError(f"{ds.name} has no gold labels on annotated tasks, so aggregators cannot be compared on it.")
    for name in aggregators:
        row: dict[str, Any] = {"dataset": ds.name, "method": name}
        try:
            result = aggregation.get(name).fit(ds)
        except DataError as refusal:
            yield {**row, "accuracy": float("nan"), "seconds": float("nan"), "notes": [str(refusal)]}
            continue
        row |= {"accuracy": accuracy(ds, result), **span_facts(ds, result.labels)}
        yield {**row, "seconds": result.seconds, "notes": list(result.notes)}


def _inferred_tables(rows: list[dict[str, Any]]) -> dict[str, Compared]:
    """Accuracies of aggregators in %, methods × datasets in the given order; of tags also scores of spans."""
    frame = pd.DataFrame(rows)
    wide = frame.pivot(index="method", columns="dataset", values="accuracy")
    wide = (100 * wide.loc[frame["method"].unique(), frame["dataset"].unique()]).round(1)
    wide = wide.rename_axis(columns=None).reset_index()
    tables = {"aggregation": Compared(wide, wide, "Inferred labels: accuracy in %")}
    if "span_f1" in frame:
        spans = frame.dropna(subset="span_f1")
        measures = {f"span_{m}": m for m in ("precision", "recall", "f1")}
        spans = pd.concat([spans[["dataset", "method"]], (100 * spans[list(measures)]).round(1)], axis=1)
        spans = spans.rename(columns=measures)
        shown = spans.map(lambda value: f"{value:.1f}" if isinstance(value, float) else value)
        tables["aggregation-spans"] = Compared(spans, shown, "Inferred tags: spans, in %")
    return tables


def _trained_tables(
    trained: Sequence[Trained], rows: list[dict[str, Any]], datasets: Sequence[str], seeds: int
) -> dict[str, Compared]:
    """Test accuracies of learning methods, of tags also scores of spans, and tests of their differences."""
    from crowdcore.learning.comparison.summary import ensemble_name

    results = [one.result for one in trained]
    frame = accuracy_table(rows, kinds=True)
    unseen = ["annotations/s", "seeds", "selected by", "names", *(["dataset"] if len(datasets) == 1 else [])]
    ensembles = {ensemble_name(r.method): "+ ensemble" for r in results}
    title = f"Test accuracy in % on {', '.join(datasets)}, {seeds_in_words([seeds])}"
    shown = frame.drop(columns=unseen).replace({"method": ensembles})
    tables = {"learning": Compared(frame, shown, title, _caveats(results))}
    scored = [(one, row) for one in trained for row in span_rows(one.dataset, one.result)]
    if scored:
        spans = pd.DataFrame([{"dataset": one.dataset.name, "method": one.result.method, **row} for one, row in scored])
        tables["spans"] = Compared(spans, spans, f"Spans of the test split in %, {seeds_in_words([seeds])}")
    by_dataset: dict[str, dict[str, TrainingResult]] = {}
    for r in results:
        by_dataset.setdefault(r.dataset, {})[r.method] = r
    for name, (title, test) in _TESTS.items():
        tables[name] = _join_tests(title, [(dataset, one) for dataset, of in by_dataset.items() for one in test(of)])
    return tables


def _caveats(results: Sequence[TrainingResult]) -> tuple[str, ...]:
    """Notes on what selected the epochs and named the classes, and on what makes the results incomparable."""
    from crowdcore.learning.comparison.comparability import NAMES, names_by, warnings
    from crowdcore.learning.validation import WAYS, selected_by

    ways = ", ".join(dict.fromkeys(WAYS[selected_by(r.validated_on)] for r in results))
    names = ", ".join(dict.fromkeys(NAMES.get(names_by(r), names_by(r)) for r in results))
    notes = [f"Epochs selected by: {ways}. Class names: {names}."]
    if any(len(r.seeds) > 1 for r in results):
        notes.append("Ensemble: the mean of the seeds' predictions, at no further training.")
    for dataset in dict.fromkeys(r.dataset for r in results):
        notes += warnings({r.method: r for r in results if r.dataset == dataset})
    return tuple(dict.fromkeys(notes))


def _join_tests(title: str, parts: Sequence[tuple[str, Compared]]) -> Compared:
    """Join the tests on all datasets in one table, each note once."""
    empty = pd.DataFrame()
    frames = [one.frame.assign(dataset=name, caveat=" ".join(one.notes)) for name, one in parts if len(one.frame)]
    shown = [one.shown.assign(dataset=name) for name, one in parts if len(one.shown)]
    if not shown:
        joined = empty
    elif len({name for name, _ in parts}) > 1:
        joined = pd.concat(shown, ignore_index=True)
    else:
        joined = shown[0].drop(columns="dataset")
    notes = dict.fromkeys(note for _, one in parts for note in one.notes)
    return Compared(pd.concat(frames, ignore_index=True) if frames else empty, joined, title, tuple(notes))


def _over_tasks(results: Results) -> list[Compared]:
    from crowdcore.analysis.method_tests import SEEDS_AND_TASKS
    from crowdcore.learning.comparison import significance

    tests = significance.over_tasks(results)
    if isinstance(tests, str):
        return [Compared(pd.DataFrame(), pd.DataFrame(), notes=(tests,))]
    reach = zip(100 * tests.difference, 100 * tests.low, 100 * tests.high, strict=True)
    shown = {
        "first": tests.first,
        "second": tests.second,
        "difference": [f"{d:+z.1f} [{low:z.1f}, {high:z.1f}]" for d, low, high in reach],
        "p": tests.adjusted,
        "McNemar p": tests.mcnemar_adjusted,
    }
    words = "p: paired bootstrap of the mean accuracy over seeds (at least 0.0001). McNemar p: of the ensembles."
    return [Compared(tests.frame(), pd.DataFrame(shown), notes=(f"{tests.caveat} {words}", SEEDS_AND_TASKS))]


def _over_seeds(results: Results) -> list[Compared]:
    from crowdcore.learning.comparison import significance

    tests = significance.over_seeds(results)
    if isinstance(tests, str):
        return [Compared(pd.DataFrame(), pd.DataFrame(), notes=(tests,))]
    names = {"first": tests.first, "second": tests.second}
    shown = {**names, "difference": [f"{100 * d:+z.2f}" for d in tests.difference], "p": tests.adjusted}
    return [Compared(tests.frame(), pd.DataFrame(shown), notes=(tests.caveat,))]


def _selection(results: Results) -> list[Compared]:
    from crowdcore.learning.comparison.significance import rank_changes

    compared = []
    for change in rank_changes(results):
        frame = change.frame()
        shown = {
            "run": frame["run"],
            "from": frame["from %"].round(2),
            "to": frame["to %"].round(2),
            "change": [f"{c:+z.2f}" for c in frame["change (points)"]],
            "p tasks": change.over_tasks,
            "p seeds": change.over_seeds,
            "rank": [f"{a} → {b}" for a, b in change.rank.tolist()],
        }
        compared.append(Compared(frame, pd.DataFrame(shown), notes=(change.sentence,)))
    return compared


_TESTS: dict[str, tuple[str, Callable[[Results], list[Compared]]]] = {
    "task-tests": ("Tests over test tasks: difference in points [95 % interval], p after Holm", _over_tasks),
    "paired-tests": ("Tests over seeds (Wilcoxon): difference in points, p after Holm", _over_seeds),
    "selection": ("What selects the epoch: test accuracy in %, p after Holm", _selection),
}


def _write(folder: Path, tables: dict[str, pd.DataFrame], trained: Sequence[Trained]) -> None:
    """Write tables as CSV; for each learning result its history, and its common confusions (first seed) as figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, frame in tables.items():
        save_table(frame, folder / f"{kind}.csv")
    for one in trained:
        result, stem = one.result, f"{one.result.dataset}-{one.result.method}"
        save_table(result.history, folder / f"{stem}-history.parquet")
        if result.common_confusion is not None:
            for g, figure in enumerate(figures := _common_confusions(one)):
                save_figure(figure, folder / f"{stem}-common{f'-{g}' if len(figures) > 1 else ''}.html")


def _common_confusions(trained: Trained) -> list[Any]:
    ds, result = trained.dataset, trained.result
    seen = exhibits.view(ds, analysis.default_reference(ds))
    run = exhibits.recovered.of_run(seen, result, f"{result.method} on {result.dataset}", seed=result.seeds[0])
    commons = range(len(exhibits.confusions.commons(run)))
    shown = (exhibits.confusions.recovered_confusion(run, -1 - g) for g in commons)
    return [one.figure for one in shown if one is not None]


def _print(tables: dict[str, Compared]) -> None:
    """Print each table with its notes, and each note once."""
    printed: set[str] = set()
    for one in tables.values():
        notes = tuple(note for note in one.notes if note not in printed)
        printed |= set(notes)
        print_readable(one.shown, one.title, notes) if len(one.shown) else print_notes(notes)


def _notes_by_method(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """List each note with the methods it is about."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for note in row["notes"]:
            about.setdefault(note, []).append(f"{row['method']} on {row['dataset']}")
    return tuple(f"{', '.join(dict.fromkeys(methods))}: {note}" for note, methods in about.items())


def _markdown(frame: pd.DataFrame) -> str:
    """Write a Markdown table; in columns of numbers the largest is bold."""
    best = {str(name): column.max() for name, column in frame.items() if column.dtype.kind == "f"}
    return markdown_of(pa.Table.from_pandas(frame, preserve_index=False), best).rstrip()
