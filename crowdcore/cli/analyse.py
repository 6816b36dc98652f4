"""`crowdcore show | info | overview | mistakes | … | check | glossary`: figures and tables of the pages."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
import pandas as pd
import typer
from pydantic import TypeAdapter, ValidationError

from crowdcore import analysis, exhibits
from crowdcore.analysis.verdicts import CONFUSED, REMOVE, SURE, TRUST
from crowdcore.cli import _command as opt
from crowdcore.cli._command import Drawn, Runs, Shown, as_drawn, call, choose_reference, openers_of, options_of
from crowdcore.cli._output import Printed, print_json, print_note, print_readable, print_table, save_exhibit, say
from crowdcore.core.errors import DataError, SettingError, did_you_mean
from crowdcore.data.report import examples_of, in_words
from crowdcore.exhibits import View, between, view
from crowdcore.exhibits.catalogue import catalogue
from crowdcore.exhibits.view import TaggedView

Share = Annotated[float, typer.Option(help="Share of the typical worker's skill below which workers are removed.")]
Trust = Annotated[float, typer.Option(help="Share of the typical worker's skill above which workers are trusted.")]
Confused = Annotated[
    float, typer.Option(help="Share of a class labelled as another from which the worker needs training.")
]
Sure = Annotated[float, typer.Option(help="Probability from which a task's label is accepted.")]


def info(seen: View) -> Shown:
    """Summarise a dataset: counts, noise rates, agreement, and notes from reading it."""
    from crowdcore.analysis.reference import note_on_confidence, notes_on_unjudged

    ds = seen.dataset
    summary, agreement = seen.of(analysis.summary), seen.renamed(analysis.agreement(ds))
    examples = examples_of(ds, seen.workers)
    facts = {"dataset": ds.name, "fingerprint": ds.fingerprint, "notes": seen.notes, "examples": examples}
    understood = (f"For example: {in_words(examples, numeric=False)}.",) if examples else ()
    sure = filter(None, (note_on_confidence(ds, seen.truth),))
    notes = (*understood, *seen.notes, *notes_on_unjudged(ds, seen.truth), *sure)
    table = summary.frame()
    printed = [
        Printed(table, f"{ds.name}: summary (reference: {summary.reference})", notes),
        Printed(agreement.frame(), "Agreement between workers"),
    ]
    return Shown({**facts, "summary": summary, "agreement": agreement}, printed, table)


def mistakes(seen: View) -> Drawn:
    """Show the mistakes that workers share: percentage of workers behind each confusion (Fig. 1 of CoNAL)."""
    result, name = seen.of(analysis.shared_mistakes), seen.dataset.name
    exhibit = exhibits.mistakes.shared_mistakes(seen)
    frame = result.frame()
    wrong = frame[frame["true"] != frame["given"]].sort_values("percent", ascending=False)
    columns = ["true", "given", "percent", "workers", "expected", "tasks", "carriers", "annotations", "q_value"]
    title = f"{name}: shared mistakes (reference: {result.reference})"
    return Drawn({"dataset": name, "mistakes": result}, [Printed(wrong[columns], title, exhibit.notes, 15)], exhibit)


def distances(
    seen: View,
    kind: Annotated[
        Literal["shrunken-mse", "mse", "shared-mse", "jensen-shannon"],
        typer.Option(help="The distance: of errors beyond chance, or mse as in CCC's Fig. 3, or over shared classes."),
    ] = "shrunken-mse",
    groups: Annotated[int | None, typer.Option(help="Cut the tree into this many groups.")] = None,
) -> Drawn:
    """Show how far apart the workers' confusions are (--kind mse: CCC, Fig. 3), and which workers group together."""
    ds = seen.dataset
    distance = seen.renamed(analysis.worker_distance(ds, seen.truth, kind=kind))
    tree = analysis.order_workers(distance, n_groups=groups)
    order = tree.order
    matrix = np.where(np.eye(ds.n_workers, dtype=bool), np.nan, distance.matrix)
    nearest = np.where(np.isnan(matrix).all(1), 0, np.nanargmin(np.where(np.isnan(matrix), np.inf, matrix), axis=1))
    columns = {
        "worker": seen.names_of(order),
        "group": tree.groups[order],
        "nearest": seen.names_of(nearest[order]),
        "distance": matrix[order, nearest[order]],
        "overlap": distance.overlap[order, nearest[order]],
    }
    facts = {"dataset": ds.name, "workers": seen.workers, "distance": distance, "order": order, "groups": tree.groups}
    title = f"{ds.name}: workers in tree order ({kind}, reference: {distance.reference})"
    notes = exhibits.workers.worker_groups(seen, kind, groups).notes
    drawn = exhibits.workers.worker_distances(seen, kind, groups)
    return Drawn(facts, [Printed(pd.DataFrame(columns), title, notes)], drawn)


def quality(seen: View) -> Shown:
    """Show how good each worker is: accuracy, skill, bits per label, single-answer and random-answer signals."""
    result, name = seen.renamed(seen.of(analysis.worker_quality)), seen.dataset.name
    frame = seen.in_order(result.frame())
    facts = {"dataset": name, "reference": result.reference, "workers": frame}
    return Shown(facts, [Printed(frame, f"{name}: workers (reference: {result.reference})")], frame)


def coordinated(seen: View) -> Drawn:
    """Show workers who copy each other or push the same mistake, and what they change. --out writes the groups."""
    exhibit, name = exhibits.coordinated.coordinated_workers(seen), seen.dataset.name
    changed = seen.renamed(exhibits.coordinated.coordinated(seen)).changed_labels()
    columns = ["group", "workers", "adjusted p", "shared tasks", "labels changed", "become right", "become wrong"]
    title = f"{name}: coordinated workers (reference: {seen.reference})"
    facts = {"dataset": name, "reference": seen.reference, "groups": exhibit.table, "changed labels": changed}
    printed = Printed(exhibit.table[columns], title, exhibit.notes, wrapped=["workers"])
    return Drawn({**facts, "notes": exhibit.notes}, [printed], exhibit)


def panel(
    seen: View,
    score: Annotated[str, typer.Option(help="The class that passes: its share by few gold labels instead.")] = "",
    people: Annotated[bool, typer.Option("--people", help="Judges beside the people among them instead.")] = False,
    person: Annotated[
        list[str] | None,
        typer.Option(
            help="Who is a person, with --people, several times if need be; default: by a column, else by names."
        ),
    ] = None,
    leanings: Annotated[
        bool, typer.Option("--leanings", help="What moves judges instead: position, length, own answers; repeats.")
    ] = False,
) -> Drawn:
    """Show how many votes a panel of judges counts as, whose errors go together, and who can go.

    With --score, --out writes the tasks to label next.
    """
    from crowdcore.analysis.panels.people import who_are_people
    from crowdcore.exhibits import panel as made

    name = seen.dataset.name
    if person:
        of_people, extra = who_are_people(seen.dataset, person)[seen.dataset.worker], seen.dataset.extra
        kinds = pd.DataFrame({"person or model": np.where(of_people, "person", "model")})
        kinds = kinds if extra is None else pd.concat([kinds, extra.reset_index(drop=True)], axis=1)
        seen, people = replace(seen, dataset=replace(seen.dataset, extra=kinds)), True
    if score or people or leanings:
        if leanings:
            several = [made.panel_leanings(seen), made.panel_flips(seen)]
            several = [one for one in several if not one.table.empty] or several
        elif people:
            several = [made.panel_people(seen), made.panel_people_confusions(seen), made.panel_people_items(seen)]
        else:
            several = [made.panel_score(seen, score), made.panel_score_next(seen, score)]
        if several[0].table.empty:
            raise DataError(several[0].notes[0].removesuffix("."))
        printed = [Printed(one.table, f"{name}: {one.title}", one.notes, 20) for one in several]
        facts = {one.name: one.table for one in several}
        return Drawn({"dataset": name, **facts, "notes": several[0].notes}, printed, several[-1 if score else 0])
    errors, alone = made.panel_errors(seen), made.panel_alone(seen)
    if errors.figure is None:
        raise DataError(errors.notes[0].removesuffix("."))
    judges, votes = made.panel_judges(seen), made.panel_votes(seen)
    printed = [
        Printed(votes.table, f"{name}: effective votes (reference: {seen.reference})", (*errors.notes, *alone.notes)),
        Printed(judges.table, judges.title, judges.notes, wrapped=("reason",)),
        Printed(errors.table, errors.title, limit=10),
    ]
    parts = {"votes": votes.table, "judges": judges.table, "pairs": errors.table, "notes": errors.notes}
    return Drawn({"dataset": name, "reference": seen.reference, **parts}, printed, replace(errors, table=judges.table))


def spans(seen: TaggedView) -> Drawn:
    """Show how well workers find spans: precision, recall, F1, kinds of errors, confused types, boundary errors."""
    from crowdcore.exhibits import mistakes as made

    name, scores, errors = seen.dataset.name, made.span_scores(seen), made.span_errors(seen)
    types, boundaries = made.span_types(seen), made.span_boundaries(seen)
    columns = ["worker", "sentences", "precision", "recall", "f1", "f1_low", "f1_high", "invalid_tags"]
    wrong = types.table[types.table["true"] != types.table["given"]].sort_values("percent", ascending=False)
    printed = [
        Printed(scores.table[columns], f"{name}: spans (reference: {seen.reference})", scores.notes, 60),
        Printed(errors.table, errors.title, errors.notes, 60),
        Printed(wrong[["true", "given", "percent", "workers", "annotations"]], types.title, limit=15),
        Printed(boundaries.table, boundaries.title, boundaries.notes),
    ]
    parts = {"workers": scores.table, "types": types.table, "boundaries": boundaries.table}
    return Drawn({"dataset": name, "reference": seen.reference, **parts}, printed, scores)


def overview(
    seen: View, remove: Share = REMOVE, trust: Trust = TRUST, confused: Confused = CONFUSED, sure: Sure = SURE
) -> Shown:
    """Show whom to trust, train, check or remove, and which tasks to label again; --out writes the list of actions."""
    from crowdcore.exhibits import verdicts as made

    name, counts = seen.dataset.name, made.verdicts(seen, remove, trust, confused, sure)
    workers, tasks = made.worker_verdicts(seen, remove, trust, confused), made.task_verdicts(seen, sure)
    sentences = made.mistakes_in_words(seen)
    parts = {"verdicts": counts, "workers": workers, "mistakes": sentences, "tasks": tasks}
    of_worker = workers.table[["worker", "verdict", "reason", "labels", "labels changed without"]]
    of_task = tasks.table[["task", "verdict", "label", "probability", "second label", "labels", "reason"]]
    printed = [
        Printed(counts.table, f"{name}: verdicts (reference: {seen.reference})", counts.notes),
        Printed(of_worker, workers.title, limit=20, wrapped=("reason",)),
        Printed(sentences.table[["sentence"]], sentences.title, sentences.notes[:1], wrapped=("sentence",)),
        Printed(of_task, tasks.title, limit=10, wrapped=("reason",)),
    ]
    facts = {"dataset": name, "reference": seen.reference, **{key: part.table for key, part in parts.items()}}
    return Shown({**facts, "notes": counts.notes}, printed, made.actions(seen, remove, trust, confused, sure))


def next_labels(
    seen: View,
    budget: Annotated[int, typer.Option(help="Labels to ask for.", min=1)] = 100,
    capacity: Annotated[int, typer.Option(help="Maximum number of labels per worker; 0 = no limit.", min=0)] = 0,
    worker: Annotated[
        list[str] | None, typer.Option(help="A worker who is available; repeatable. Default: all.")
    ] = None,
    explore: Annotated[
        float, typer.Option(help="Weight of the information about the workers' confusions.", min=0)
    ] = 0.0,
    flagged: Annotated[
        bool, typer.Option("--flagged", help="Include workers flagged by `crowdcore overview`.")
    ] = False,
) -> Shown:
    """Plan a budget of labels where they are most informative; --out writes the assignments."""
    from crowdcore.exhibits import review as made

    choices = budget, capacity, explore, tuple(worker or ()), flagged
    assigned, workers = made.next_labels(seen, *choices), made.next_labels(seen, *choices, "worker")
    name = seen.dataset.name
    facts = {"dataset": name, "assignments": assigned.table, "workers": workers.table, "notes": assigned.notes}
    printed = [
        Printed(workers.table, f"{name}: {workers.title}", limit=20),
        Printed(assigned.table, assigned.title, assigned.notes, 20),
    ]
    return Shown(facts, printed, assigned)


def rounds(
    first: opt.DatasetName,
    second: Annotated[str, typer.Argument(help="The second round; without it, --by splits the first dataset.")] = "",
    by: Annotated[
        str, typer.Option(help="What separates the rounds of one dataset: date, a column, or halves (a chance check).")
    ] = "",
    at: Annotated[
        str, typer.Option(help="Where the second round begins, or its value in the column; for halves, the seed.")
    ] = "",
    reference: opt.ReferenceName = "",
    hide_names: opt.HideNames = False,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> Drawn:
    """Show what improved from one round to the next, and who changed, beyond noise. --out writes the workers."""
    from crowdcore.exhibits import two_rounds as made

    if second and by:
        given = f"SECOND {second!r} and --by {by!r}"
        raise SettingError("rounds", "be two datasets, or one and --by date or a column", given)
    ds = opt.open_crowd(first, read, accept)
    if second:
        ds, by = analysis.join_rounds(ds, opt.open_crowd(second, read, accept)), "round"
    truth, note = choose_reference(reference, ds)
    seen = view(ds, truth, hidden=hide_names)
    measures, changed, workers = (
        show(seen, by, at) for show in (made.two_rounds, made.round_mistakes, made.round_workers)
    )
    parts = {"measures": measures.table, "mistakes": changed.table, "workers": workers.table}
    facts = {"dataset": ds.name, "reference": seen.reference, "rounds": measures.title, **parts}
    printed = [
        Printed(measures.table, f"{ds.name}: {measures.title} (reference: {seen.reference})", measures.notes),
        Printed(changed.table, changed.title, changed.notes, 15),
        Printed(workers.table, workers.title, workers.notes, 20),
    ]
    return Drawn({**facts, "notes": measures.notes}, printed, workers, note)


def check(
    dataset: opt.DatasetName = "",
    rules: Annotated[
        Path | None, typer.Option(help="Rules (.yaml, .toml, .json); default: all at recommended limits.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Rules that the data cannot decide also fail.")] = False,
    panel: Annotated[bool, typer.Option("--panel", help="Check a panel of judges against gold instead.")] = False,
    min_votes: Annotated[float, typer.Option(help="With --panel: effective votes it must count as.", min=0)] = 2.0,
    min_kappa: Annotated[float, typer.Option(help="With --panel: κ with gold that each judge must have.")] = 0.4,
    junit: Annotated[
        Path | None, typer.Option(help="Also write JUnit XML to this file.", callback=opt.ends_in())
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page to this file.", callback=opt.ends_in())] = None,
    example_rules: Annotated[
        bool, typer.Option("--example-rules", help="Print a commented file of rules, and exit.")
    ] = False,
    hide_names: opt.HideNames = False,
    json: opt.Json = False,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> None:
    """Check a crowd against rules: exit code 0 if all hold, 1 if one fails, 2 for bad input or rules."""
    from crowdcore.exhibits.exhibit import renamed
    from crowdcore.exhibits.view import worker_names

    if example_rules:
        say(analysis.example_rules())
        return
    if not dataset:
        raise SettingError("DATASET", "be given", "nothing", "`crowdcore datasets` lists those there are.")
    limits = analysis.read_rules(rules) if rules else None
    ds = opt.open_crowd(dataset, read, accept)
    if panel:
        _check_panel(view(ds, "gold", hidden=hide_names), min_votes, min_kappa, json)
    check = renamed(analysis.check(ds, limits), worker_names(ds, hide_names))
    for file, text in ((junit, analysis.junit_xml(check, strict)), (html, analysis.check_page(check, strict))):
        if file:
            file.write_text(text, encoding="utf-8")
    failed = check.failed(strict)
    if json:
        facts = {"dataset": check.dataset, "fingerprint": check.fingerprint, "reference": check.reference}
        print_json({**facts, "failed": [o.rule for o in failed], "rules": check.frame()})
    else:
        columns = ["rule", "verdict", "sentence", "workers"]
        title = f"{check.dataset}: {len(failed)} of {len(check.outcomes)} rules failed (reference: {check.reference})"
        print_readable(check.frame()[columns], title, wrapped=("sentence", "workers"))
    sys.exit(1 if failed else 0)


def _check_panel(seen: View, min_votes: float, min_kappa: float, json: bool) -> NoReturn:
    """Print the limits that a panel breaks, and exit with code 1 if there are any."""
    from crowdcore.exhibits import panel as made

    failed = made.failures(seen, min_votes, min_kappa)
    if json:
        print_json({"dataset": seen.dataset.name, "reference": seen.reference, "failed": failed})
    else:
        for sentence in failed or (made.headline(seen)[0],):
            say(sentence)
    sys.exit(1 if failed else 0)


def glossary(
    word: Annotated[str, typer.Argument(help="Only columns with this in their name or meaning.")] = "",
    json: opt.Json = False,
) -> None:
    """Explain each column of the tables in a sentence."""
    from crowdcore.exhibits.glossary import glossary as every

    table = every().table
    matches = table[(table["column"] + " " + table["meaning"]).str.contains(word, case=False, regex=False)]
    print_json(matches) if json else print_table(matches, "Glossary", limit=len(matches), wrapped=("meaning",))


def show(
    exhibit: Annotated[
        str,
        typer.Argument(
            help="What to show; without it, all that can be shown is listed.", autocompletion=opt.completes(catalogue)
        ),
    ] = "",
    dataset: opt.DatasetName = "demo",
    reference: opt.ReferenceName = "",
    set: opt.Settings = None,
    run: Runs = None,
    only: Annotated[
        tuple[str, float, float] | None,
        typer.Option(
            "--between", metavar="COLUMN MIN MAX", help="Only rows with a value in this range; inf: no limit."
        ),
    ] = None,
    hide_names: opt.HideNames = False,
    json: opt.Json = False,
    out: opt.Out = None,
    figure: opt.Figure = None,
    read: opt.Read = None,
    accept: opt.Accept = False,
) -> None:
    """Show a figure or table of the app's pages: its numbers here, its picture with --figure."""
    known = catalogue()
    if not exhibit:
        listed = pd.DataFrame([_list_row(name, function) for name, function in known.items()])
        print_json(listed) if json else print_table(listed, "Exhibits", limit=len(listed), wrapped=("what", "choices"))
        return
    if exhibit not in known:
        raise SettingError("exhibit", "be one that `crowdcore show` lists", exhibit, did_you_mean(exhibit, known))
    function = known[exhibit]
    shared = {"dataset": dataset, "reference": reference, "run": run, "hide_names": hide_names}
    options = {**shared, "read": read, "accept": accept, **_choices(exhibit, function, set or [])}
    made, opened, note = call(function, options)
    several = [one for one in (made if isinstance(made, list) else [made]) if one is not None]
    if not several:
        raise DataError(f"There is no {exhibit} here", "`crowdcore show` says what it needs.")
    if only:
        several = [replace(one, table=between(one.table, *only)) for one in several]
    if len(several) > 1 and (out or figure):
        raise SettingError("exhibit", "be a single one to write to a file", exhibit)
    print_note(note)
    for one in several:
        save_exhibit(one, out, figure)
    shown = [as_drawn(one, _name_of(next(iter(opened.values())))) for one in several]
    if json:
        print_json([one.facts for one in shown] if len(shown) > 1 else shown[0].facts)
        return
    for one in shown:
        one.put()


def _name_of(subject: Any) -> str:
    """Name of the dataset that an exhibit is about, by its first argument."""
    if isinstance(subject, dict | list):  # results by name, or views of several runs
        subject = next(iter(subject.values() if isinstance(subject, dict) else subject))
    of = getattr(subject, "dataset", subject)  # of a view a dataset, of a result its name
    return of if isinstance(of, str) else str(of.name)


def _choices_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Options of an exhibit: those of its view beyond the shared options, and its own parameters."""
    shared = inspect.signature(show).parameters
    openers = [inspect.signature(opener, eval_str=True) for opener in openers_of(function).values()]
    extra = [p for opener in openers for p in opener.parameters.values() if p.name not in shared]
    return {p.name: p for p in (*extra, *options_of(function))}


def _list_row(name: str, function: Callable[..., Any]) -> dict[str, str]:
    """Row of the list: name, first sentence, choices with their defaults."""
    words = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
    of_runs = any("run" in inspect.signature(opener).parameters for opener in openers_of(function).values())
    choices = [f"{c.name}={'…' if c.default is c.empty else c.default}" for c in _choices_of(function).values()]
    return {
        "exhibit": name,
        "what": " ".join(words.split()),
        "choices": " ".join([*(["--run ID"] if of_runs else []), *choices]),
    }


def _choices(exhibit: str, function: Callable[..., Any], pairs: list[str]) -> dict[str, Any]:
    """Convert ``NAME=VALUE`` pairs to the types of the parameters; repeated names make a list."""
    choices = _choices_of(function)
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in choices:
            raise SettingError("--set", f"be NAME=VALUE, with a name among {', '.join(choices) or 'none'}", pair)
        given.setdefault(name, []).append(value)
    arguments = {}
    for name, parameter in choices.items():
        if name in given:
            arguments[name] = _value(name, parameter.annotation, given[name])
        elif parameter.default is parameter.empty:
            raise SettingError(name, f"be chosen: `crowdcore show {exhibit} DATASET -s {name}=…`", "nothing")
    return arguments


def _value(name: str, kind: Any, texts: list[str]) -> Any:
    """Convert a value to the type of its parameter."""
    try:
        return TypeAdapter(kind).validate_python(texts if str(kind).startswith("tuple") else texts[-1])
    except ValidationError as error:
        raise SettingError(name, f"satisfy: {error.errors()[0]['msg'].lower()}", texts[-1]) from error
