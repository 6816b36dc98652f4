"""What to plant: a simulator with its settings, what varies, a look at the first crowd, and the button."""

import numpy as np
import streamlit as st

from crowdcore import analysis, exhibits
from crowdcore.core.spelling import spell, spell_settings
from crowdcore.data import RatingDataset
from crowdcore.data.ratings import Labelled
from crowdcore.learning.recovery.plan import PRESETS, RecoveryPlan, preset
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.guard import fragment, refusals, refused_before
from dashboard.components.sandbox.aggregators import aggregators
from dashboard.components.sandbox.crowd_form import crowd_form
from dashboard.components.table import numbers
from dashboard.components.text import as_text, count, number, percent
from dashboard.services import datasets, sandbox

MANY = 40  # crowds from which planting is refused: nobody waits for so many trainings


@fragment
def planting() -> None:
    """The form and what it would plant."""
    dataset = state.get("dataset")
    _presets()
    grid = st.grid(2, min_column_width=420, gap="medium")
    with grid.cell():
        wanted = crowd_form(dataset)
    crowd = None
    with grid.cell(), refusals():
        found = sandbox.plan(dataset, *wanted)
        with st.spinner("Planting …"):
            crowd = sandbox.preview(dataset, found)
        _preview(crowd)
        _button(dataset, found)
    if crowd is not None:
        with refusals():
            aggregators(crowd)


def _presets() -> None:
    """The documented tables, each by one click."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(
            "Presets", width="content", help="Each fills in the form for one of the documented simulated tables."
        )
        for name, (title, _) in PRESETS.items():
            st.button(
                name.capitalize(), key=f"preset-{name}", help=title, type="tertiary", on_click=_fill, args=(name,)
            )


def _fill(name: str) -> None:
    """Have the address say what a preset plants and trains."""
    found = preset(name)
    if found.dataset and found.dataset != state.get("dataset"):
        if found.dataset not in datasets.names():
            st.session_state["refused"] = (
                f"The preset {name} plants on {found.dataset}, which was not found. `crowdcore datasets` lists what "
                "is; CROWDCORE_DATA can name more folders."
            )
            return
        state.put(dataset=found.dataset)
    settings = {key: value for key, value in found.model_dump(mode="json")["tasks"].items() if value}
    state.put(
        crowd=sandbox.spell_crowd(found.simulation, found.settings),
        vary=[spell_settings({setting: values}) for setting, values in found.over.items()],
        tasks=sandbox.spell_tasks(settings),
        repeats=str(found.crowds) if found.crowds > 1 else None,
        methods=[spell(c.method, c.settings) for c in found.methods],
        settings=spell_settings({"seeds": found.seeds, **found.training}),
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
    for note in crowd.notes:
        st.caption(as_text(note))


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


def _button(dataset: str, found: RecoveryPlan) -> None:
    """Keep the crowds."""
    n = len(found.points()) * found.crowds
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(f"Plant {count(n, 'crowd')}", type="primary", icon=":material/potted_plant:", disabled=n > MANY):
            with refusals(), st.spinner(f"Planting {count(n, 'crowd')} …"):
                state.put(planted=sandbox.plant(dataset, found), shown=None, worker=None)
                st.rerun()
        words = f"At most {MANY} crowds at once." if n > MANY else found.words if n > 1 else ""
        st.caption(as_text(f"{words}{'. Shown above: the first.' if 1 < n <= MANY else ''}") or " ", width="stretch")
    refused_before()
