"""`crowdcore compare`: accuracies of many methods on one or more datasets, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from crowdcore import aggregation
from crowdcore.cli._options import (
    Accept,
    Device,
    Epochs,
    HideNames,
    Json,
    Read,
    Seeds,
    Settings,
    is_folder,
    open_dataset,
    settings,
)
from crowdcore.cli._output import print_json, print_notes, print_table, save_figure, save_table
from crowdcore.cli._tests import Told, tests
from crowdcore.cli._training import over_seeds, span_rows, table, train_one
from crowdcore.cli.aggregate import accuracy, span_facts
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data import CrowdDataset
from crowdcore.learning.settings import SEEDS

if TYPE_CHECKING:
    from crowdcore.learning import TrainingResult

_OWN = ("aggregation", "learning")  # tables that JSON holds as rows of their own


def compare(
    datasets: Annotated[list[str], typer.Argument(help="Datasets by name or path.")],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="An aggregator or a learning method; may be repeated. Default: all aggregators for such labels.",
        ),
    ] = None,
    seeds: Seeds = SEEDS,
    epochs: Epochs = None,
    device: Device = "auto",
    set: Settings = None,
    hide_names: HideNames = False,
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write tables and figures to this folder.", callback=is_folder)
    ] = None,
    read: Read = None,
    accept: Accept = False,
) -> None:
    """Compare methods: aggregators by the labels they infer, learning methods by their classifier's test accuracy.

    A setting may name its method: --set conal.embedding=40.
    """
    methods = dict.fromkeys(method or ())
    named = [m for m in methods if m in aggregation.aggregators]
    learners = [m for m in methods if m not in aggregation.aggregators]
    inferred: list[dict[str, Any]] = []
    results: list[TrainingResult] = []
    trained_on: list[CrowdDataset] = []
    said: list[dict[str, Any]] = []
    tagged: list[dict[str, Any]] = []
    for ds in _told_apart([open_dataset(name, read, accept) for name in dict.fromkeys(datasets)]):
        aggregators = named if method else aggregation.fitting(ds)
        if aggregators and not ds.has_gold:
            raise CrowdError(
                f"{ds.name} has no gold labels on annotated tasks, so aggregators cannot be compared on it."
            )
        inferred += [_inferred(ds, m) for m in aggregators]
        trained = [_trained(ds, m, seeds, epochs, device, settings(set), accept) for m in learners]
        results, said = results + trained, said + [_recovered(r, ds, hide_names) for r in trained]
        tagged += [{"dataset": ds.name, "method": r.method, **row} for r in trained for row in span_rows(ds, r)]
        trained_on += [ds] * len(trained)
    tables: dict[str, Told] = {}
    if inferred:
        frame = _accuracies(inferred)
        tables["aggregation"] = Told(frame, frame, "Inferred labels: accuracy in %")
        if (spans := _spans(inferred)) is not None:
            shown = spans.map(lambda value: f"{value:.1f}" if isinstance(value, float) else value)
            tables["aggregation-spans"] = Told(spans, shown, "Inferred tags: spans, in %")
    learnt: list[dict[str, Any]] = []
    if results:
        from crowdcore.learning.comparison.summary import ensemble_name, row

        learnt = [row(r) for r in results]
        frame = table(learnt, kinds=True)
        unseen = ["annotations/s", "seeds", "selected by", "names", *(["dataset"] if len(datasets) == 1 else [])]
        title = f"Test accuracy in % on {', '.join(datasets)}, {over_seeds(seeds)}"
        shown = frame.drop(columns=unseen).replace({"method": {ensemble_name(m): "+ ensemble" for m in learners}})
        tables["learning"] = Told(frame, shown, title, _compared(results))
        if tagged:
            spans = pd.DataFrame(tagged)
            tables["spans"] = Told(spans, spans, f"Spans of the test split in %, {over_seeds(seeds)}")
        tables |= tests(results)
    if out:
        _write(out, {kind: told.frame for kind, told in tables.items() if len(told.frame)}, results, trained_on)
    if json:
        learnt = [{**row, "recovered": found} for row, found in zip(learnt, said, strict=True)]
        parts = {kind.replace("-", "_"): told.frame for kind, told in tables.items() if kind not in _OWN}
        print_json({"aggregation": inferred, "learning": learnt, **parts})
    elif markdown:
        print("\n\n".join(_markdown(told.shown) for told in tables.values() if len(told.shown)))
    else:
        _print(tables)
        print_notes(_told_once([*inferred, *learnt]))


def _told_apart(datasets: Sequence[CrowdDataset]) -> Iterator[CrowdDataset]:
    """The datasets; of several with one name the second is called ``name (2)``."""
    names = [ds.name for ds in datasets]
    for k, ds in enumerate(datasets):
        before = names[:k].count(ds.name)
        yield replace(ds, name=f"{ds.name} ({before + 1})") if before else ds


def _print(tables: dict[str, Told]) -> None:
    """Each table with its notes; a note that several have comes once."""
    heard: set[str] = set()
    for told in tables.values():
        notes = tuple(note for note in told.notes if note not in heard)
        heard |= set(notes)
        if len(told.shown):
            print_table(told.shown, told.title, notes)
        else:
            print_notes(notes)


def _inferred(ds: CrowdDataset, name: str) -> dict[str, Any]:
    """One aggregator on one dataset; a method whose assumptions it breaks is a row that says so."""
    row: dict[str, Any] = {"dataset": ds.name, "method": name}
    try:
        result = aggregation.get(name).fit(ds)
    except DataError as refusal:
        return {**row, "accuracy": float("nan"), "seconds": float("nan"), "notes": [str(refusal)]}
    found = {"accuracy": accuracy(ds, result), **span_facts(ds, result.labels)}
    return {**row, **found, "seconds": result.seconds, "notes": list(result.notes)}


def _accuracies(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Methods × datasets, percent, in the order asked for."""
    frame = pd.DataFrame(rows)
    wide = frame.pivot(index="method", columns="dataset", values="accuracy")
    wide = (100 * wide.loc[frame["method"].unique(), frame["dataset"].unique()]).round(1)
    return wide.rename_axis(columns=None).reset_index()


def _spans(rows: list[dict[str, Any]]) -> pd.DataFrame | None:
    """Precision, recall and F1 of the spans that aggregators found, percent; None where nobody tagged any."""
    measures = ["precision", "recall", "f1"]
    found = pd.DataFrame([row for row in rows if "span_f1" in row])
    if found.empty:
        return None
    table = (100 * found[[f"span_{m}" for m in measures]]).round(1).set_axis(measures, axis=1)
    return pd.concat([found[["dataset", "method"]], table], axis=1)


def _trained(
    ds: CrowdDataset, method: str, seeds: int, epochs: int | None, device: str, given: dict[str, Any], accept: bool
) -> TrainingResult:
    from crowdcore import learning

    own = {k.removeprefix(f"{method}."): v for k, v in given.items() if "." not in k or k.startswith(f"{method}.")}
    own |= {"accept": accept} | ({} if epochs is None else {"epochs": epochs})
    return train_one(learning.train, ds, method, seeds, device, own)


def _recovered(result: TrainingResult, ds: CrowdDataset, hide_names: bool) -> dict[str, Any]:
    from crowdcore.data.pseudonyms import hide_names as without_names
    from crowdcore.learning.comparison.summary import recovered

    return recovered(result, without_names(ds) if hide_names else ds)


def _compared(results: list[TrainingResult]) -> tuple[str, ...]:
    """What selected the epochs and named the classes, and what else to bear in mind."""
    from crowdcore.learning.comparison.comparability import NAMES, WAYS, names_by, selected_by, warnings

    ways = ", ".join(dict.fromkeys(WAYS[selected_by(r.validated_on)] for r in results))
    names = ", ".join(dict.fromkeys(NAMES.get(names_by(r), names_by(r)) for r in results))
    notes = [f"Epochs selected by: {ways}. Class names: {names}."]
    if any(len(r.seeds) > 1 for r in results):
        notes.append("Ensemble: the mean of the seeds' predictions, at no further training.")
    for dataset in dict.fromkeys(r.dataset for r in results):
        notes += warnings({r.method: r for r in results if r.dataset == dataset})
    return tuple(dict.fromkeys(notes))


def _write(
    folder: Path, tables: dict[str, pd.DataFrame], results: list[TrainingResult], datasets: list[CrowdDataset]
) -> None:
    """Tables as CSV; for each learning result its history, and its common confusions (first seed) as figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, frame in tables.items():
        save_table(frame, folder / f"{kind}.csv")
    for result, ds in zip(results, datasets, strict=True):
        stem = f"{result.dataset}-{result.method}"
        save_table(result.history, folder / f"{stem}-history.parquet")
        if result.common_confusion is not None:
            for g, figure in enumerate(figures := _common_confusions(result, ds)):
                save_figure(figure, folder / f"{stem}-common{f'-{g}' if len(figures) > 1 else ''}.html")


def _common_confusions(result: TrainingResult, ds: CrowdDataset) -> list[Any]:
    from crowdcore import analysis, exhibits

    seen = exhibits.view(ds, analysis.default_reference(ds))
    run = exhibits.recovered.of_run(seen, result, f"{result.method} on {result.dataset}", seed=result.seeds[0])
    commons = range(len(exhibits.confusions.commons(run)))
    shown = (exhibits.confusions.recovered_confusion(run, -1 - g) for g in commons)
    return [one.figure for one in shown if one is not None]


def _told_once(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Each note with the methods it is about."""
    about: dict[str, list[str]] = {}
    for row in rows:
        for note in row["notes"]:
            about.setdefault(note, []).append(f"{row['method']} on {row['dataset']}")
    return tuple(f"{', '.join(dict.fromkeys(who))}: {note}" for note, who in about.items())


def _markdown(frame: pd.DataFrame) -> str:
    """A Markdown table; in columns of numbers the largest is bold."""
    columns = {}
    for name, column in frame.items():
        best = column.max() if column.dtype.kind == "f" else None
        columns[name] = [
            "–" if pd.isna(v) else f"**{v}**" if best is not None and v == best else str(v) for v in column
        ]
    lines = [f"| {' | '.join(map(str, columns))} |", "|---" * len(columns) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in zip(*columns.values(), strict=True))])
