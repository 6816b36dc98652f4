"""Form and preview of a planted crowd, and the aggregators that recover it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from crowdcore import analysis, exhibits
from crowdcore.core import spelling
from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.settings import FormField, form_fields
from crowdcore.core.spelling import spell, spell_settings
from crowdcore.data import RatingDataset, simulate
from crowdcore.data.catalogue import dataset_title
from crowdcore.data.ratings import Labelled
from crowdcore.data.simulate import Simulation
from crowdcore.exhibits import Exhibit, planted
from crowdcore.learning.recovery.plan import PRESETS, RecoveryPlan, preset, simulators, usual_simulator
from dashboard import state
from dashboard.components.exhibit import show, show_notes
from dashboard.components.guard import fragment, refusals, refused_before
from dashboard.components.method_form import method_form
from dashboard.components.pickers import picker
from dashboard.components.table import numbers, table
from dashboard.components.text import as_text, count, number, percent
from dashboard.services import datasets, opening, sandbox

ALL = "all workers"


def aggregators(crowd: Labelled) -> None:
    """Errors of aggregators, and the result of one of them beside what was planted."""
    if isinstance(crowd, RatingDataset):
        st.header("Which aggregators recover it")
        _errors(planted.rating_recovery(crowd))
        by = _pick_fit(planted.RATING_FITS, "raykar-em gold=20%")
        grid = st.grid(2, min_column_width=420, gap="medium")
        exhibit = planted.recovered_biases(crowd, by)
        with grid.cell():
            show(exhibit, "biases", file=f"{crowd.name}-biases", notes=False)
        with grid.cell():
            show(planted.recovered_shared_bias(crowd, by), "shared-bias", file=f"{crowd.name}-shared-bias")
        table(exhibit.table, "workers", name=f"{crowd.name}-workers", noun="worker")
        st.caption(as_text(exhibit.notes[0]))
    elif crowd.sentences is not None:
        st.header("Which aggregators recover it")
        view = exhibits.view(crowd)
        _errors(planted.tag_recovery(view))
        workers = [ALL, *map(str, crowd.worker_ids[crowd.labels_per_worker > 0])]
        with st.container(horizontal=True):
            by = _pick_fit(planted.TAG_FITS, "bsc-seq")
            whose = picker("Tags of", "whose", workers, width=200)
        show(planted.recovered_tags(view, by, "" if whose == ALL else whose), "tags", file=f"{crowd.name}-tags")
        st.subheader("Share of true spans, by kind of error")
        exhibit = planted.recovered_errors(view, by)
        table(exhibit.table, "kinds", name=f"{crowd.name}-kinds", noun="worker")


def _errors(exhibit: Exhibit) -> None:
    show(exhibit, "aggregators", file=exhibit.name, notes=False)
    table(exhibit.table, "aggregators-table", name=exhibit.name, noun="aggregator")
    show_notes(exhibit.notes)


def _pick_fit(compared: tuple[str, ...], usual: str) -> str:
    """Picker of the aggregator whose result is shown."""
    return picker("As recovered by", "by", compared, usual, width=260)


FormValues = tuple[str, list[str], str, int]
FIRST = (
    "shared_low", "shared_high", "bias_sd", "scale_sd", "noise", "spammers", "copiers",
    "shared_confusion", "missed", "boundary", "confused", "careless", "n_sentences", "per_sentence",
    "pattern", "common_strength", "individual_strength", "proportion", "omega_spread", "kind", "skill", "labels",
    "patterns", "n_workers", "per_task", "per_pattern", "seed",
)  # fmt: skip
READINGS = (
    "Individual strength .7 is read as the share of wrong labels in a worker's own confusion; if .7 shall be the share "
    "of right ones, as “annotators of high quality” suggests, enter .3.",
    "ω spread 1: two thirds of the labels have an ω between .27 and .73. ω spread 4: three fifths have one below .1 or "
    "above .9, so that nearly every label clearly comes from one of the two confusions.",
)


def crowd_form(dataset: str) -> FormValues:
    """Draw the form; returns the simulator's line, what varies, the tasks' line and how many crowds."""
    usual = usual_simulator(opening.labelled(dataset))
    line, name, settings = _crowd_of_address(dataset, usual)
    if st.session_state.get("sandbox-drawn") != (line, *_query()):  # an address led here: new fields with its values
        st.session_state["sandbox-filled"] = st.session_state.get("sandbox-filled", 0) + 1
    key = f"crowd-{st.session_state['sandbox-filled']}"
    model = simulate.get(name)
    _simulator(dataset, name, model, key)
    tasks = "" if model.makes_tasks else _tasks(dataset, key)
    chosen = _settings(model, settings, key)
    vary = _vary(form_fields(model), chosen, key)
    repeats = _repeats(key)
    now = sandbox.spell_crowd(name, chosen)
    _remember(now, vary, tasks, repeats, usual)
    st.session_state["sandbox-drawn"] = (now, *_query())
    return now, vary, tasks, repeats


def _query() -> tuple[str, ...]:
    """Values of the address about the crowds, except their simulator."""
    return tuple(map(state.get, ("vary", "tasks", "repeats")))


def _crowd_of_address(dataset: str, usual: str) -> tuple[str, str, dict[str, Any]]:
    """Line, simulator and settings of the address, or the dataset's usual ones where these do not fit."""
    line = state.get("crowd") or usual
    try:
        name, settings = sandbox.read_crowd(line)
        titles = simulators(opening.labelled(dataset))
        if opening.kind(dataset) == "ratings" and name not in titles:
            must = f"be one of {', '.join(titles)}, as {dataset_title(dataset)} has ratings and no classes"
            raise SettingError("crowd", must, name)
    except CrowdError as refusal:
        st.error(as_text(refusal), icon=":material/block:")
        return usual, usual, {}
    return line, name, settings


def _simulator(dataset: str, name: str, model: type[Simulation], key: str) -> None:
    """The picker of the simulator."""
    titles = simulators(opening.labelled(dataset))
    options = list(titles) if name in titles else [name, *titles]
    words = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    st.selectbox(
        "Simulator",
        options,
        index=options.index(name),
        format_func=lambda n: titles.get(n, n),
        key=f"{key}-simulator",
        on_change=lambda: state.put(crowd=st.session_state[f"{key}-simulator"], vary=None, tasks=None),
        help=as_text(f"{words} ({model.paper})"),
    )


def _settings(model: type[Simulation], settings: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The simulator's settings: those of `FIRST`, then lists, and the others behind a button."""
    fields = form_fields(model)
    lists = [field for field in fields.values() if field.kind == "list"]
    later = [n for n in fields if n not in FIRST and fields[n] not in lists]
    others = [n for n in fields if n not in later]
    chosen = {**settings, **method_form(model, settings, key, without=[*later, *(field.name for field in lists)])}
    chosen |= {field.name: _list(field, settings, key) for field in lists if field.name != "targets"}
    if later:
        with st.popover("More settings", type="tertiary"):
            chosen |= method_form(model, settings, key, without=others)
            chosen |= {field.name: _list(field, settings, key) for field in lists if field.name == "targets"}
    if "omega_spread" in fields:
        with st.popover("How to read strength and spread", type="tertiary"):
            show_notes(READINGS)
    return chosen


def _list(field: FormField, settings: Mapping[str, Any], key: str) -> list[Any] | None:
    """The field of a setting that holds several numbers."""
    text = st.text_input(
        field.title,
        ", ".join(map(str, settings.get(field.name, field.default) or ())),
        key=f"{key}-{field.name}",
        placeholder="at random" if field.default is None else None,
        help=as_text(field.description),
    )
    return spelling.read_values(text) or None


def _tasks(dataset: str, key: str) -> str:
    """Form for the tasks of the dataset; returns them as a line."""
    st.caption(
        f"Planted on the gold of **{as_text(dataset_title(dataset))}**, the dataset chosen in the sidebar; "
        "its own labels are left out."
    )
    try:
        known = sandbox.read_tasks(state.get("tasks"))
    except CrowdError as refusal:
        st.error(as_text(refusal), icon=":material/block:")
        known = {}
    classes = list(opening.dataset(dataset).classes)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.multiselect(
            "Classes",
            classes,
            [c for c in known.get("classes", []) if c in classes],
            key=f"{key}-classes-{dataset}",
            placeholder="All classes",
            format_func=str,
        )
        most = st.number_input(
            "Training tasks at most", 1, None, known.get("n_train"), key=f"{key}-n-train", placeholder="all", width=170
        )
    tasks = {**known, "classes": chosen, "n_train": most}
    return sandbox.spell_tasks({setting: value for setting, value in tasks.items() if value})


def _vary(fields: Mapping[str, FormField], chosen: Mapping[str, Any], key: str) -> list[str]:
    """Form for settings that vary; returns lines with their values, which replace those elsewhere in the form."""
    known = sandbox.read_vary(state.get_many("vary"))
    names = st.multiselect(
        "Vary",
        [n for n in fields if n not in {"seed", "targets"}],
        [n for n in known if n in fields],
        key=f"{key}-vary",
        placeholder="Nothing: one kind of crowd",
        format_func=lambda n: fields[n].title,
        help="Plant a crowd for each value, to see how recovery changes. Several: all combinations.",
    )
    varied = []
    for name in names:
        label, options = f"Values of {fields[name].title.lower()}", fields[name].choices
        if options:
            values = st.multiselect(label, options, known.get(name, options), key=f"{key}-vary-{name}")
        else:
            start = known.get(name, [chosen.get(name, fields[name].default)])
            text = st.text_input(label, ", ".join(map(str, start)), key=f"{key}-vary-{name}", help="With commas.")
            values = spelling.read_values(text)
        if values:
            varied.append(spelling.spell_settings({name: list(values)}))
    return varied


def _repeats(key: str) -> int:
    """Number of crowds of each kind."""
    return st.number_input(
        "Crowds of each kind",
        1,
        10,
        state.whole("repeats", 1, 1, 10),
        key=f"{key}-repeats",
        help="They differ only in the seed: seed, seed + 1, …",
        width=160,
    )


def _remember(crowd: str, vary: list[str], tasks: str, repeats: int, usual: str) -> None:
    """Write the form into the address, unless it is untouched."""
    shown: dict[str, Any] = {
        "crowd": crowd,
        "vary": vary,
        "tasks": tasks,
        "repeats": str(repeats) if repeats > 1 else "",
    }
    before = {**{name: state.get(name) for name in ("crowd", "tasks", "repeats")}, "vary": state.get_many("vary")}
    untouched = not before["crowd"] and crowd == usual and not vary and repeats == 1
    if shown != before and not untouched:
        state.put(**shown)


MANY = 40  # crowds from which planting is refused: nobody waits for so many trainings


@fragment
def planting() -> None:
    """The form, and a preview of the crowd."""
    dataset = state.get("dataset")
    _presets()
    grid = st.grid(2, min_column_width=420, gap="medium")
    with grid.cell():
        values = crowd_form(dataset)
    crowd = None
    with grid.cell(), refusals():
        plan = sandbox.plan(dataset, *values)
        with st.spinner("Planting …"):
            crowd = sandbox.preview(dataset, plan)
        _preview(crowd)
        _button(dataset, plan)
    if crowd is not None:
        with refusals():
            aggregators(crowd)


def _presets() -> None:
    """A button for each of the documented tables."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(
            "Presets", width="content", help="Each fills in the form for one of the documented simulated tables."
        )
        for name, (title, _) in PRESETS.items():
            st.button(
                name.capitalize(), key=f"preset-{name}", help=title, type="tertiary", on_click=_fill, args=(name,)
            )


def _fill(name: str) -> None:
    """Write a preset's crowds and trainings into the address."""
    chosen = preset(name)
    if chosen.dataset and chosen.dataset != state.get("dataset"):
        if chosen.dataset not in datasets.names():
            st.session_state["refused"] = (
                f"The preset {name} plants on {chosen.dataset}, which was not found. `crowdcore datasets` lists what "
                "is; CROWDCORE_DATA can name more folders."
            )
            return
        state.put(dataset=chosen.dataset)
    settings = {key: value for key, value in chosen.model_dump(mode="json")["tasks"].items() if value}
    state.put(
        crowd=sandbox.spell_crowd(chosen.simulation, chosen.settings),
        vary=[spell_settings({setting: values}) for setting, values in chosen.over.items()],
        tasks=sandbox.spell_tasks(settings),
        repeats=str(chosen.crowds) if chosen.crowds > 1 else None,
        methods=[spell(c.method, c.settings) for c in chosen.methods],
        settings=spell_settings({"seeds": chosen.seeds, **chosen.training}),
        planted=None,
    )


def _preview(crowd: Labelled) -> None:
    """The first crowd: numbers, a sentence, matrices; of ratings the shared bias."""
    if isinstance(crowd, RatingDataset):
        _preview_ratings(crowd)
        return
    judged, shown = analysis.planted(crowd), exhibits.planted.planted_crowd(crowd)
    cells = (
        ("Right labels", percent(judged.right), None),
        ("Right votes", percent(judged.majority), "Tasks whose majority vote is right."),
        ("Workers", f"{crowd.n_workers:,}", None),
        ("Labels per task", number(crowd.n_annotations / max(int(crowd.annotated.sum()), 1), 2), None),
    )
    numbers(cells, 120)
    say = st.warning if len(judged.misleading) else st.info
    say(as_text(judged.sentence), icon=":material/priority_high:" if len(judged.misleading) else ":material/check:")
    show(shown, "planted", file=f"{crowd.name}-planted", notes=False)
    show_notes(crowd.notes)


def _preview_ratings(crowd: RatingDataset) -> None:
    truth = analysis.rating_truth(crowd, "gold")
    workers = analysis.rating_workers(crowd, truth)
    cells = (
        ("Ratings", f"{crowd.n_annotations:,}", None),
        ("Error of a rating", number(float(np.average(workers.mae, weights=workers.n)), 2), "Mean absolute error."),
        ("Workers", f"{crowd.n_workers:,}", None),
        ("Ratings per task", number(crowd.n_annotations / max(int(crowd.annotated.sum()), 1), 2), None),
    )
    numbers(cells, 120)
    shown = exhibits.planted.planted_ratings(crowd)
    show(shown, "planted", file=f"{crowd.name}-planted")


def _button(dataset: str, plan: RecoveryPlan) -> None:
    """Button that plants the crowds, and their number."""
    n = len(plan.points()) * plan.crowds
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(f"Plant {count(n, 'crowd')}", type="primary", icon=":material/potted_plant:", disabled=n > MANY):
            with refusals(), st.spinner(f"Planting {count(n, 'crowd')} …"):
                state.put(planted=sandbox.plant(dataset, plan))
                st.rerun()
        words = f"At most {MANY} crowds at once." if n > MANY else plan.words if n > 1 else ""
        st.caption(as_text(f"{words}{'. Shown above: the first.' if 1 < n <= MANY else ''}") or " ", width="stretch")
    refused_before()
