"""The page Items where labels are numbers: a list of tasks, and one task with its ratings."""

import streamlit as st

from crowdcore.data.media import has_media
from crowdcore.exhibits import Exhibit, ratings
from crowdcore.exhibits.ratings import RatingView
from crowdcore.exhibits.tasks import task_number
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import heading
from dashboard.components.guard import fragment, live
from dashboard.components.link import link
from dashboard.components.media import LARGE, media
from dashboard.components.pickers import optional, picker
from dashboard.components.text import as_text, count, number

FILTERS = ("sort", "worker", "other", "column", "least", "most")


def draw() -> None:
    """Draw the page: one task if the address names one, else the list."""
    one() if state.get("task") else listing()


def in_numbers(view: RatingView) -> None:
    """Summary of the ratings without its notes, and agreement of workers."""
    file = f"{state.get('dataset')}-ratings"
    grid = st.grid(2, min_column_width=380, gap="small")
    with grid.cell():
        show(ratings.summary(view), "summary", file=file, noun="measure", rows=12, notes=False)
    with grid.cell():
        show(ratings.agreement(view), "agreement", file=f"{file}-agreement", noun="coefficient")


@fragment
def listing() -> None:
    """Filters and table; a row of the table opens the page of its task."""
    if state.get("task"):
        st.rerun()
    heading()
    view = looked_at()
    with st.container(horizontal=True):
        order = picker("Order", "sort", ratings.SORTS, width=330)
        listed = sorted(view.workers)
        optional("Rated by", "worker", listed, "Anyone")
        optional("And by", "other", listed, "Anyone")
    exhibit = listed_tasks(view)
    with live("listed"):
        if not len(exhibit.table):
            nobody = "No task was rated by both." if state.get("other") else "No task has a rating."
            st.info(nobody, icon=":material/filter_alt_off:")
            return
        st.caption(f"{count(len(exhibit.table), 'task')}, {as_text(ratings.SORTS[order].lower())}.")
    show(exhibit, "tasks", file=f"{state.get('dataset')}-tasks", noun="task", rows=16, limits="")


def listed_tasks(view: RatingView) -> Exhibit:
    """The tasks that pass the filters of the address."""
    order = state.one_of("sort", list(ratings.SORTS)) or "surprise"
    worker, other = (state.one_of(key, view.workers) or "" for key in ("worker", "other"))
    return ratings.rated_tasks(view, order, worker, other)  # type: ignore[arg-type]


def one() -> None:
    """One task: the item, its rating by the reference and by an aggregator, and each worker's."""
    dataset, view, name = state.get("dataset"), looked_at(), state.get("task")
    links(view, name)
    heading(as_text(name))
    task = ratings.rated_task(view, name)
    grid = st.grid(2, min_column_width=380, gap="medium")
    with grid.cell():
        if not has_media(view.dataset):
            st.caption("This dataset has no images, texts or sounds of its items.")
        media(dataset, task_number(view.dataset, name), LARGE)
        with st.container(horizontal=True):
            st.metric(as_text(view.truth.name), number(task.reference))
            st.metric(as_text(ratings.ESTIMATE), number(task.estimate))
            st.metric("95 % interval", f"{number(task.low)} – {number(task.high)}")
            st.metric("Mean rating", number(task.mean))
            st.metric("Spread of ratings", number(task.spread))
    with grid.cell():
        if not task.n_ratings:
            st.info("No worker has rated this task.", icon=":material/star_half:")
            return
        exhibit, file = ratings.task_ratings(view, name), f"{dataset}-{name}-ratings"
        show(Exhibit(exhibit.name, exhibit.title, exhibit.figure, exhibit.table), "picture", file=file)
        table = Exhibit(exhibit.name, exhibit.title, None, exhibit.table, exhibit.notes, click=exhibit.click)
        show(table, "labels", file=file, noun="rating")
        st.caption("A rating leads to all ratings of its worker.")


def links(view: RatingView, name: str) -> None:
    """Back to the list, and to the tasks before and after in it."""
    chosen = {key: state.get(key) for key in FILTERS}
    names = listed_tasks(view).table["task"].tolist()
    at = names.index(name) if name in names else -1
    with st.container(horizontal=True):
        link("tasks", "All tasks", icon="arrow_back", **chosen)
        link("ratings")
        if at > 0:
            link("tasks", "Previous task", icon="navigate_before", task=names[at - 1], **chosen)
        if 0 <= at < len(names) - 1:
            link("tasks", "Next task", icon="navigate_next", task=names[at + 1], **chosen)
