"""`crowdcore simulate`: plant a crowd with known mistakes, and see which methods recover them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer

from crowdcore import analysis
from crowdcore.cli import _command as opt
from crowdcore.cli._output import print_json, print_notes, print_readable, print_table, save_exhibit, save_table
from crowdcore.cli.train import PresetName
from crowdcore.core.errors import CrowdError, SettingError, either
from crowdcore.core.shown import progress
from crowdcore.data import CrowdDataset, RatingDataset, simulate as simulators
from crowdcore.data.catalogue import full_name
from crowdcore.data.report import plural

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled
    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.recovery.plan import RecoveryPlan


def simulate(
    simulator: Annotated[
        str | None, typer.Argument(help="Name of a simulator; without one, lists simulators and presets.")
    ] = None,
    set: opt.Settings = None,
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="NAME=[A,B]", help="A setting to vary; may be repeated."),
    ] = None,
    on: Annotated[str | None, typer.Option(help="Plant on the gold of this dataset, a name or a path.")] = None,
    classes: Annotated[str | None, typer.Option(help="Only its tasks of these classes, separated by commas.")] = None,
    method: Annotated[
        list[str] | None, typer.Option("--method", "-m", help="A learning method to train; may be repeated.")
    ] = None,
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="NAME=VALUE",
            help="A setting of the training, or METHOD.NAME=VALUE for one method; may be repeated.",
        ),
    ] = None,
    preset: PresetName = None,
    crowds: Annotated[int | None, typer.Option(help="Crowds at each point.", min=1)] = None,
    seeds: opt.AnySeeds = None,
    epochs: opt.Epochs = None,
    device: opt.Device = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the crowd to this folder; with methods, the table to this file."),
    ] = None,
    figure: opt.Figure = None,
    json: opt.Json = False,
    accept: opt.Accept = False,
) -> None:
    """Plant a crowd with known mistakes, and show which aggregators recover them; with --method, train on it.

    crowdcore simulate synthetic --set common_strength=0.7 --out folder

    crowdcore simulate ratings --set shared_low=2 --set spammers=3

    crowdcore simulate conal --on labelme -m conal -m trace --seeds 3
    """
    if simulator is None and preset is None:
        _list(json)
        return
    given, varied, trained = opt.settings(set), opt.settings(over, "--over"), opt.settings(train, "--train")
    plan = _plan(simulator, preset, given, varied, on, classes, method, trained)
    training = plan.training if epochs is None else {**plan.training, "epochs": epochs}
    plan = plan.model_copy(
        update={"crowds": crowds or plan.crowds, "seeds": seeds or plan.seeds, "training": training, "accept": accept}
    )
    if plan.methods:
        _study(plan, device, out, figure, json)
    else:
        _plant(plan, out, figure, json)


def _list(json: bool) -> None:
    """Print the simulators and the presets."""
    from crowdcore.learning.recovery.plan import PRESETS

    known = simulators.REGISTRY.usable()
    if json:
        facts = {
            name: {
                "title": model.title,
                "paper": model.paper,
                "makes_tasks": model.makes_tasks,
                "schema": model.model_json_schema(),
            }
            for name, model in known.items()
        }
        plans = {name: {"title": title, "plan": plan.model_dump()} for name, (title, plan) in PRESETS.items()}
        print_json({"simulators": facts, "presets": plans})
        return
    frame = pd.DataFrame(
        {
            "simulator": list(known),
            "what it plants": [model.title for model in known.values()],
            "tasks": ["its own" if model.makes_tasks else "given with --on" for model in known.values()],
        }
    )
    notes = tuple(f"--set of {name}: {', '.join(model.model_fields)}." for name, model in known.items())
    print_table(frame, "Simulators: crowdcore simulate NAME", notes)
    presets = pd.DataFrame([{"preset": name, "table": title} for name, (title, _) in PRESETS.items()])
    print_table(presets, "Presets: crowdcore simulate --preset NAME")


def _plan(
    simulator: str | None,
    preset: str | None,
    given: dict[str, Any],
    over: dict[str, Any],
    on: str | None,
    classes: str | None,
    methods: list[str] | None,
    train: dict[str, Any],
) -> RecoveryPlan:
    """Make a plan from the options, which replace those of a preset one by one."""
    from crowdcore.learning.recovery import plan as recovery_plan

    base = recovery_plan.RecoveryPlan() if preset is None else recovery_plan.preset(preset)
    if preset is not None and simulator not in (None, base.simulation):
        raise SettingError("--preset", f"go without a simulator, or with {base.simulation!r}", simulator)
    simulation = simulator or base.simulation
    if not (on or base.dataset or simulators.get(simulation).makes_tasks):
        raise SettingError("--on", f"name a dataset with gold, as {simulation!r} labels tasks that are given", on)
    wrong = next((name for name, values in over.items() if not isinstance(values, list)), None)
    if wrong is not None:
        raise SettingError("--over", "look like NAME=[A,B,…]", f"{wrong}={over[wrong]}")
    chosen = [c.method for c in base.methods] if methods is None else methods
    own: dict[str, dict[str, Any]] = {name: {} for name in chosen}
    shared: dict[str, Any] = {}
    for name, value in train.items():
        owner, dot, setting = name.rpartition(".")
        if dot and owner not in own:
            raise SettingError("--train", f"name one of the methods {', '.join(own) or '(none)'}", name)
        (own[owner] if dot else shared)[setting] = value
    kept = base.methods if methods is None else [recovery_plan.Candidate(method=name) for name in dict.fromkeys(chosen)]
    candidates = [c.model_copy(update={"settings": {**c.settings, **own[c.method]}}) for c in kept]
    varying = {name: value for name, value in base.over.items() if name not in given} | over
    tasks = base.tasks.model_dump() | ({} if classes is None else {"classes": [c.strip() for c in classes.split(",")]})
    return recovery_plan.RecoveryPlan(
        simulation=simulation,
        settings={**base.settings, **given},
        over=varying,
        dataset=base.dataset if on is None else full_name(on),
        tasks=tasks,
        crowds=base.crowds,
        methods=[c.model_dump() for c in candidates],
        training={**base.training, **shared},
        seeds=base.seeds,
    )


def _plant(plan: RecoveryPlan, out: Path | None, figure: Path | None, json: bool) -> None:
    """Plant one crowd, write it, and describe it."""
    from crowdcore.data.writers import write_folder
    from crowdcore.learning.recovery.plan import plant

    points = plan.points()
    if len(points) * plan.crowds > 1:
        raise CrowdError(
            f"This plants {len(points) * plan.crowds} crowds. Name a --method to train on them, or plant one."
        )
    crowd = plant(plan, points[0])
    if out:
        write_folder(crowd, out)
    shown, facts, sentence = _ratings(crowd) if isinstance(crowd, RatingDataset) else _labels(crowd)
    if figure:
        save_exhibit(shown[0], None, figure)
    if json:
        print_json(facts)
        return
    for exhibit in shown:
        print_readable(exhibit.table, exhibit.title, exhibit.notes)
    written = f"Written to {out}, with what generated it in truth.npz."
    print_notes((sentence, *([written] if out else [])))


def _labels(crowd: CrowdDataset) -> tuple[list[Exhibit], dict[str, Any], str]:
    """Planted labels and classes, and the recovery of planted tags."""
    from crowdcore.exhibits import planted, view
    from crowdcore.exhibits.planted import planted_crowd

    plants, shown = analysis.planted(crowd), [planted_crowd(crowd)]
    misleading = [crowd.classes[c] for c in plants.misleading]
    facts = _facts(crowd) | {"right_labels": plants.right, "right_majority_votes": plants.majority}
    facts |= {"misleading_classes": misleading, "classes": plants.frame()}
    if crowd.kind.sequential:
        shown.append(planted.tag_recovery(view(crowd)))
        facts["recovery"] = shown[-1].table
    sentence = (
        f"{crowd.n_annotations:,} labels by {crowd.n_workers:,} workers on {facts['labelled_tasks']:,} tasks; "
        f"{100 * plants.right:.1f} % of them are right, and so are {100 * plants.majority:.1f} % of the majority votes."
    )
    return shown, facts, sentence


def _ratings(crowd: RatingDataset) -> tuple[list[Exhibit], dict[str, Any], str]:
    """Planted parameters of ratings, and their recovery."""
    from crowdcore.exhibits import planted

    shown = [planted.planted_ratings(crowd), planted.rating_recovery(crowd)]
    facts = _facts(crowd) | {"workers": shown[0].table, "recovery": shown[1].table}
    sentence = (
        f"{crowd.n_annotations:,} ratings from {crowd.low:g} to {crowd.high:g} by {crowd.n_workers:,} workers on "
        f"{facts['labelled_tasks']:,} tasks."
    )
    return shown, facts, sentence


def _facts(crowd: Labelled) -> dict[str, Any]:
    return {
        "name": crowd.name,
        "tasks": crowd.n_tasks,
        "labelled_tasks": int(crowd.annotated.sum()),
        "workers": crowd.n_workers,
        "annotations": crowd.n_annotations,
        "settings": crowd.truth.settings if crowd.truth else {},
    }


def _study(plan: RecoveryPlan, device: str, out: Path | None, figure: Path | None, json: bool) -> None:
    """Train on the planted crowds, and compare with the truth."""
    from crowdcore.exhibits.planted import study_errors
    from crowdcore.learning import study_recovery
    from crowdcore.learning.recovery.study import MEASURES, spelled

    if out is not None and out.suffix not in opt.TABLES:
        raise SettingError("--out", f"end in {either(opt.TABLES)} where methods are trained", str(out))
    with progress() as tell:
        study = study_recovery(plan, device=device, on_progress=tell)
    varied = list(spelled(plan.over))
    words = f"{plan.simulation} · {plural(plan.crowds, 'crowd')} × {plural(plan.seeds, 'seed')}"
    shown = study_errors(study.table, varied, {c.name: c.method for c in plan.methods}, words)
    if out:
        save_table(study.table, out)
    save_exhibit(shown, None, figure)
    if json:
        print_json({"plan": plan.model_dump(), "crowds": study.crowds, "table": study.table, "summary": shown.table})
        return
    columns = [*varied, "method", *(c for c in MEASURES if c in shown.table), "seconds"]
    points = plural(len(plan.points()), "point")
    title = f"Who recovered what: {words}, {points}"
    print_table(study.crowds.drop(columns="crowd") if plan.crowds == 1 else study.crowds, "What was planted")
    print_readable(shown.table[columns], title, (*study.notes, *shown.notes), limit=200)
