"""`crowdcore train | topics`, `crowdcore ratings train | compare | biases`: learn from a crowd."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import numpy as np
import pandas as pd
import typer

from crowdcore import learning
from crowdcore.analysis.recovery.seeds import seeds_in_words
from crowdcore.cli import _command as opt
from crowdcore.cli._command import Drawn, Shown, as_drawn
from crowdcore.cli._output import Printed, print_json, print_table, save_table, say
from crowdcore.core.errors import SettingError
from crowdcore.core.shown import progress
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data import CrowdDataset, RatingDataset, list_datasets
from crowdcore.data.dataset import SPLITS
from crowdcore.data.ratings import Labelled
from crowdcore.data.settings import need_classes
from crowdcore.learning import methods, presets
from crowdcore.learning.settings import SEEDS

if TYPE_CHECKING:
    from crowdcore.learning import Event, RatingsResult, TrainingResult

Row = tuple[str, str, dict[str, Any]]
"""Label, method and settings of a run."""
_NO_ACCURACY = (
    "There is no accuracy: no test task has a gold label. A column `gold` gives some, --read test_share=0.2 draws test "
    "tasks."
)


def _list_presets(wanted: bool) -> None:
    if not wanted:
        return
    rows = [
        {"preset": p.name, "table": p.title, "dataset": p.dataset, "methods": len(p.methods), "seeds": len(p.seeds)}
        for p in presets.PRESETS.values()
    ]
    print_table(pd.DataFrame(rows), "Presets", tuple(f"{p.name}: {p.note}" for p in presets.PRESETS.values() if p.note))
    raise typer.Exit()


OptionalDataset = Annotated[
    str | None,
    typer.Argument(
        metavar="DATASET",
        help="Name of a dataset or a path to one; default: the preset's.",
        show_default=False,
        autocompletion=opt.completes(list_datasets),
    ),
]
PresetName = Annotated[str | None, typer.Option("--preset", help="A documented table, which other options change.")]
ListPresets = Annotated[
    bool, typer.Option("--presets", callback=_list_presets, is_eager=True, help="List the presets.")
]
Words = Annotated[int, typer.Option(min=1, help="Number of words to show per topic.")]


def choose_runs(
    preset: str | None,
    dataset: str | None,
    method: list[str] | None,
    given: Mapping[str, Any],
    n: int,
    seeds: list[int] | None,
    read: Callable[[str], Labelled],
) -> tuple[str, Labelled, list[Row], tuple[int, ...]]:
    """Choose name, dataset, runs and seeds of a command, by a preset or by methods.

    ``given`` wins over a preset's settings; without methods, the usual one of the labels is taken. ``n`` seeds (0: the
    preset's, or the default), or exactly ``seeds``.
    """
    from crowdcore.learning.learners import usual_method

    if preset is None:
        if dataset is None:
            raise SettingError("DATASET", "be given, unless a preset is", None, "`crowdcore datasets` lists them.")
        opened = read(dataset)
        rows = [(name, name, dict(given)) for name in method or [usual_method(opened)]]
        return dataset, opened, rows, tuple(seeds or range(n or SEEDS))
    if method:
        raise SettingError("--method", "be left out with --preset, which has methods of its own", method[0])
    chosen = presets.get(preset)
    rows = [
        (label, name, {**settings, **given}) for label, (name, settings) in zip(chosen.labels, chosen.runs, strict=True)
    ]
    name = dataset or chosen.dataset
    return name, read(name), rows, tuple(seeds or (range(n) if n else chosen.seeds))


def train(
    dataset: OptionalDataset = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            help="A learning method, such as trace; default: conal, of ratings and tags crowd-layer.",
            autocompletion=opt.completes(methods.names),
        ),
    ] = None,
    preset: PresetName = None,
    seeds: opt.AnySeeds = None,
    seed: opt.Seed = None,
    epochs: opt.Epochs = None,
    device: opt.Device = "auto",
    set: opt.Settings = None,
    out: opt.OutFolder = None,
    checkpoint: opt.Checkpoint = None,
    json: opt.Json = False,
    read: opt.Read = None,
    accept: opt.Accept = False,
    list_presets: ListPresets = False,
) -> None:
    """Train one method, or all of a preset, with several seeds.

    Accuracies, or of labels that are numbers errors, are of the selected | last | best epoch on the test split.
    """
    from crowdcore.learning.comparison.summary import row

    _, ds, runs, which = choose_runs(
        preset,
        dataset,
        [method] if method else None,
        opt.with_epochs(set, epochs),
        seeds or 0,
        seed,
        lambda name: opt.open_labels(name, read, accept),
    )
    facts: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    for label, one, own in runs:
        part = label.replace("/", "-") if preset else ""  # a folder of its own for each run of a preset
        result = train_one(ds, one, which, device, {**own, "accept": accept}, checkpoint, part)
        if out:
            result.save(out / part)
        if result.numeric:
            _print_errors(result, json)
            return
        facts.append(row(result) | {"method": label})
        spans += [{"method": label, **scores} for scores in span_rows(need_classes(ds), result)]
        notes |= dict.fromkeys(result.notes)
        if json and not preset:
            more = {"common_confusion": result.common_confusion, "classes": result.classes}
            print_json(facts[0] | more | ({"spans": spans} if spans else {}))
            return
    if json:
        print_json(facts)
        return
    if not any(np.isfinite(one["last_mean"]) for one in facts):
        notes[_NO_ACCURACY] = None
    print_table(accuracy_table(facts), f"Test accuracy in %, {seeds_in_words([len(which)])}", tuple(notes))
    if spans:
        print_table(pd.DataFrame(spans), f"Spans of the test split, {seeds_in_words([len(which)])}")


def train_one(
    dataset: Labelled,
    method: str,
    seeds: int | Sequence[int],
    device: str,
    settings: Mapping[str, Any],
    checkpoint: Path | None = None,
    part: str = "",
) -> Any:
    """Train one method with a progress bar, and checkpoints in a folder's part."""
    from crowdcore.learning.training.events import EpochEvent

    with progress() as tell:

        def listen(event: Event) -> None:
            if isinstance(event, EpochEvent):  # notes come with the result
                tell(event.done, f"{method} on {dataset.name}, {event.at}")

        own = {"device": device, "on_event": listen, "checkpoint": checkpoint and checkpoint / part, **settings}
        return learning.train(dataset, method, seeds=seeds, **own)


def span_rows(dataset: CrowdDataset, result: TrainingResult) -> list[dict[str, str]]:
    """Precision, recall and F1 in % of the spans that a tagger finds, at two epochs.

    Empty for a crowd that tags no tokens, or without gold in the test split.
    """
    from crowdcore.learning.comparison.comparability import TEST

    rows = []
    known = (result.gold[result.split == TEST] >= 0).any()
    for at in ("selected", "last") if dataset.kind.sequential and known else ():
        scores = 100 * learning.tagged_spans(dataset, result, at=at).drop(columns="seed")
        rows.append({"epoch": at, **{str(name): _spread(of.to_numpy(), 2) for name, of in scores.items()}})
    return rows


def _spread(values: FloatArray, digits: int) -> str:
    """Mean and, of several, standard deviation."""
    return f"{values.mean():.{digits}f}" + (f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else "")


def accuracy_table(rows: list[dict[str, Any]], kinds: bool = False) -> pd.DataFrame:
    """Format rows of `comparison.summary.row`: accuracies in % as mean ± standard deviation, and of the ensemble.

    ``kinds``: add columns for what selected the epochs and named the classes.
    """
    from crowdcore.learning.comparison.comparability import NAMES, SEEN
    from crowdcore.learning.comparison.summary import ensemble_name
    from crowdcore.learning.validation import WAYS

    def spread(entry: dict[str, Any], at: str) -> str:
        mean, std = 100 * entry[f"{at}_mean"], 100 * entry[f"{at}_std"]
        return "–" if np.isnan(mean) else f"{mean:.2f}" + ("" if np.isnan(std) else f" ± {std:.2f}")

    shown = []
    some = any(r["features_seen"] != "no" for r in rows)
    for r in sorted(rows, key=lambda r: list(SEEN).index(r["features_seen"])):
        common = {
            "seeds": len(r["seeds"]),
            "seconds": f"{r['seconds']:.1f}",
            "annotations/s": f"{r['annotations_per_second']:,.0f}",
        }
        if some:
            common |= {"features without labels": SEEN[r["features_seen"]]}
        if kinds:
            common |= {"selected by": WAYS[r["selected_by"]], "names": NAMES.get(r["names"], r["names"])}
        reached = {at: spread(r, at) for at in ("selected", "last", "best")}
        shown.append({"dataset": r["dataset"], "method": r["method"], **reached, **common})
        if len(r["seeds"]) > 1 and not np.isnan(r["ensemble_selected"]):
            together = {at: f"{100 * r[f'ensemble_{at}']:.2f}" for at in ("selected", "last")} | {"best": "–"}
            name = ensemble_name(r["method"])
            shown.append({"dataset": r["dataset"], "method": name, **together, **common, "seconds": "–"})
    return pd.DataFrame(shown)


def _print_errors(result: RatingsResult, json: bool) -> None:
    """Print test errors at three epochs, for all seeds."""
    from crowdcore.learning.ratings.result import METRICS
    from crowdcore.learning.results.result import At

    epochs = {at: {m: result.score(m, at=at) for m in METRICS} for at in get_args(At)}
    table = pd.DataFrame([{"epoch": at, **scores} for at, scores in epochs.items()])
    name, method, notes = result.dataset, result.title, result.notes
    if json:
        print_json({"dataset": name, "method": method, "seeds": result.seeds, "errors": table, "notes": notes})
        return
    shown = table.assign(**{m: [_spread(values, 4) for values in table[m]] for m in METRICS})
    print_table(shown, f"{name}: test errors of {method}, {seeds_in_words([len(result.seeds)])}", notes)


def compare_ratings(
    ds: RatingDataset,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="A row of the paper's table, such as 'DL-CL (B)'; default: all.")
    ] = None,
    seeds: opt.Seeds = 10,
    epochs: opt.Epochs = None,
    device: opt.Device = "auto",
    set: opt.Settings = None,
    at: Annotated[str, typer.Option("--epoch", "--at", help="Epoch: selected, last or best.")] = "selected",
) -> Shown:
    """Train the rows of the crowd layer's table with the same seeds, and test them against DL-MEAN."""
    known, results = learning.RATING_ROWS, {}
    for name in row or known:
        if name not in known:
            raise SettingError("--row", f"be one of {', '.join(known)}", name)
        method, own = known[name]
        given = {**opt.with_epochs(set, epochs), **own}
        results[name] = train_one(ds, method, seeds, device, given)
    table = learning.compare_ratings(results, at)  # type: ignore[arg-type]  # a wrong epoch is refused
    notes = next(iter(results.values())).notes
    facts = {"at": at, "seeds": seeds, "table": table, "notes": notes}
    return Shown(facts, [Printed(table, f"{ds.name}: test errors of the {at} epoch, {seeds} seeds", notes)], table)


def biases(
    ds: RatingDataset,
    run: opt.Run = None,
    connection: Annotated[str, typer.Option(help="Connection of the trained crowd layer: b or s+b.")] = "b",
    seeds: opt.Seeds = SEEDS,
    epochs: opt.Epochs = None,
    device: opt.Device = "auto",
    least: Annotated[int, typer.Option(help="Minimum number of ratings of a worker.", min=1)] = 10,
    hide_names: opt.HideNames = False,
) -> Drawn:
    """Show learnt biases of the workers beside the true ones (Rodrigues & Pereira 2018, Fig. 4).

    --run also takes a folder that `ratings train --out` wrote; without it, a crowd layer is trained.
    """
    from crowdcore.exhibits.ratings import rating_biases

    if run and not Path(run).is_dir():
        result = next(iter(opt.results_of([run]).values()))
        if not result.numeric:
            raise SettingError("--run", "be one that learnt ratings", run)
    elif run:
        result = learning.load_ratings_result(run)
    else:
        given = {**opt.with_epochs(None, epochs), "connection": connection}
        result = train_one(ds, "crowd-layer", seeds, device, given)
    return as_drawn(rating_biases(ds, result, least=least, hidden=hide_names), ds.name)


def topics(
    ds: Labelled,
    words: Words = 10,
    set: opt.Settings = None,
    device: opt.Device = "auto",
    out: opt.Out = None,
    json: opt.Json = False,
) -> None:
    """Learn topics of texts together with classes or ratings and workers' confusions or biases (MA-sLDA).

    --set n_topics=30 and the like; --out writes the labels of the texts.
    """
    given = {"device": device, **opt.settings(set)}
    fitted = _rating_topics(ds, out, **given) if isinstance(ds, RatingDataset) else _class_topics(ds, out, **given)
    model, judged, more, lines = fitted
    table = model.words(words)
    facts = {"dataset": ds.name, "texts": len(model.tasks), "vocabulary": len(model.vocabulary), **judged}
    facts |= {"iterations": len(model.bound), "bound": model.bound[-1], "settings": model.settings.model_dump()}
    facts |= {"topics": table, **{name: of.frame for name, of in more.items()}}
    if json:
        print_json(facts)
        return
    print_table(table, f"{ds.name}: topics of {len(model.tasks):,} texts", wrapped=("words",))
    for of in more.values():
        print_table(*of._replace(frame=of.frame.dropna()))
    for line in lines:
        say(line)


Topics = tuple[Any, dict[str, Any], dict[str, Printed], list[str]]
"""Model, scores by gold, further tables by name, and sentences for people."""


def _class_topics(ds: CrowdDataset, out: Path | None, **given: Any) -> Topics:
    """Fit MA-sLDAc; ``out``: task, label and posterior of the training texts."""
    from crowdcore.data.writers import write_aggregated

    model = learning.fit_topics(ds, **given)
    posterior = np.full((ds.n_tasks, ds.n_classes), np.nan)
    posterior[model.tasks] = model.posterior
    labels = np.full(ds.n_tasks, -1)
    labels[model.tasks] = model.posterior.argmax(1)
    if out:
        write_aggregated(ds, labels, out, posterior=posterior)
    new = np.flatnonzero((ds.split == SPLITS.index("test")) & ds.known)
    hits = labels[model.tasks] == ds.gold[model.tasks], model.predict_proba(_texts(ds, new)).argmax(1) == ds.gold[new]
    accuracies = {
        "training": float(hits[0][ds.known[model.tasks]].mean()) if ds.known[model.tasks].any() else float("nan"),
        "test": float(hits[1].mean()) if len(new) else float("nan"),
    }
    known = [f"{name} {100 * share:.1f} %" for name, share in accuracies.items() if share == share]
    line = f"Accuracy of the classes: {', '.join(known) or 'unknown without gold'}."
    return model, {"accuracy": accuracies["training"], "test_accuracy": accuracies["test"]}, {}, [line]


def _rating_topics(ds: RatingDataset, out: Path | None, **given: Any) -> Topics:
    """Fit MA-sLDAr; ``out``: ratings of the training and test texts."""
    from crowdcore.learning.ratings.result import rating_scores

    model = learning.fit_rating_topics(ds, **given)
    new = np.flatnonzero(ds.split == SPLITS.index("test"))
    predicted = model.predict(_texts(ds, new))
    errors = {}
    for name, rating, of in (("training", model.mean, model.tasks), ("test", predicted, new)):
        scores = rating_scores(rating[None], ds.gold[of])
        errors[name] = {metric: float(value[0]) for metric, value in scores.items() if not np.isnan(value[0])}
    if out:
        ratings = {"task": ds.task_ids[np.append(model.tasks, new)], "rating": np.append(model.mean, predicted)}
        save_table(pd.DataFrame(ratings), out)
    workers = pd.DataFrame({"worker": ds.worker_ids, "bias": model.bias, "noise": model.precision**-0.5})
    lines = [
        f"Ratings of the {name} texts against gold: MAE {of['mae']:.4f}, RMSE {of['rmse']:.4f}, "
        f"R² {100 * of['r2']:.1f} %."
        for name, of in errors.items()
        if of
    ]
    of_workers = Printed(workers, "Workers: bias and noise around the truth", limit=15)
    return model, {"errors": errors}, {"workers": of_workers}, lines


def _texts(ds: Labelled, tasks: IntArray) -> pd.Series:
    assert ds.media is not None and ds.media.columns is not None  # training refuses datasets without texts
    return ds.media.columns["text"].reindex(tasks).fillna("").astype(str)
