"""Workers: their ranking, one worker's confusions, groups and pairs that err together, distances."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits import Exhibit, View
from dashboard import state
from dashboard.components.exhibit import folded, looked_at, panels, show, show_notes
from dashboard.components.frame import heading, page
from dashboard.components.guard import fragment
from dashboard.components.link import REVIEW, badge, link
from dashboard.components.media import cards
from dashboard.components.pickers import optional, picker, several
from dashboard.components.table import numbers, table
from dashboard.components.text import as_text, count, number, percent

if TYPE_CHECKING:
    from crowdcore.analysis.workers.distance import Distance


def ranking() -> None:
    """The workers with their intervals, as a figure and as a table; then the what-if."""
    view = looked_at()
    show(exhibits.workers.worker_ranking(view), "ranking", notes=False)
    exhibit = exhibits.workers.worker_quality(view)
    show(exhibit, "quality", noun="worker", rows=14, limits="")
    st.header("What if you left some out?")
    without = several("Leave out", "without", view.listed, "Choose workers")
    flagged = exhibit.table.loc[exhibit.table["signal"] != "", "worker"].tolist()
    if not without:
        look = "looks" if len(flagged) == 1 else "look"
        hint = f" {', '.join(map(str, flagged[:6]))} {look} unreliable: see the column “signal”." if flagged else ""
        st.caption(as_text(f"Choose workers to see how the majority vote changes without them.{hint}"))
        return
    consequences(view, tuple(without))


def consequences(view: View, without: tuple[str, ...]) -> None:
    """Changes of the majority vote without some workers."""
    vote = exhibits.workers.what_if(view, without).table.iloc[0]
    grid = st.grid(4, min_column_width=150, gap="xsmall")
    for what in ("annotations left out", "labels changed", "tasks left without label"):
        with grid.cell():
            st.metric(what.capitalize(), f"{vote[what]:,.0f}", border=True)
    change = vote["accuracy after"] - vote["accuracy before"]
    with grid.cell():
        delta = None if change != change else f"{100 * change:+z.2f} points"
        st.metric("Majority vote is right", percent(vote["accuracy after"], 2), delta, border=True)
    changed = exhibits.workers.what_if_tasks(view, without)
    tasks = changed.table
    if len(tasks):
        st.caption(f"{count(len(tasks), 'task')} whose majority vote changes:")
        cards(tasks, lambda row: f"{row['before']} → {row['after'] or 'none'}", "what-if")
        show(changed, "changed", file=f"{state.get('dataset')}-what-if", noun="task")


def worker() -> None:
    """Picker, numbers, the two matrices, and the tasks behind a cell."""
    view = looked_at()
    busiest = view.workers[int(view.dataset.labels_per_worker.argmax())]
    one = picker("Worker", "worker", view.listed, busiest, width=420)  # ids may be addresses
    exhibit = exhibits.workers.worker(view, one)
    facts = exhibit.table.iloc[0]
    judged = exhibits.worker_page.worker_verdict(view, one).table.iloc[0]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="rule-worker"):
        badge(judged["verdict"])
        st.markdown(as_text(judged["reason"]), width="stretch")
    low, high = percent(facts["acc. low"], 0), percent(facts["acc. high"], 0)
    cells = (
        ("Annotations", f"{facts['annotations']:,}", None),
        ("Accuracy", percent(facts["accuracy"]), f"95 % interval {low} to {high}"),
        ("Balanced accuracy", percent(facts["balanced accuracy"]), "Mean over classes of the share of right labels"),
        ("Information", percent(facts["bits per label"] / facts["bits possible"], 0), "Of what a perfect label tells"),
        ("Agreement", number(facts["agreement κ"], 2), "With the others on the same tasks: 0 by chance, 1 always"),
    )
    matrices(view, one)
    numbers(cells, 130)
    behind(view, one, judged)


def matrices(view: View, name: str) -> None:
    """The worker's matrix, whose cells lead to tasks, and the crowd's."""
    true, given = (state.one_of(key, view.classes) for key in ("true", "given"))
    cell = (view.class_number(true), view.class_number(given)) if true and given else None
    made = exhibits.workers.worker_confusion
    panels((made(view, name), "confusion-own"), (made(view, None), "confusion-crowd"), cell=cell)
    if cell is None:
        st.caption("Click a cell to see the tasks behind it.")
        return
    label = as_text(f"Tasks that are {true} and that {name} labelled {given}")
    link("tasks", label, true=true, given=given, worker=name)
    link("review", REVIEW, true=true, given=given, workers=[name])


def pace(view: View, name: str, speed: Exhibit) -> None:
    """Duration of the worker's answers beside the others', in numbers and over time."""
    own: dict[Any, Any] = speed.table.loc[view.worker_number(name)].to_dict()
    cells = (
        ("Median answer", f"{own['seconds']:.3g} s", f"Of {own['n']:,.0f} comparable answers"),
        ("Beside the others", f"×{own['relative']:.2f}", "Median of the answer's seconds over the median of its task"),
        ("Too fast", percent(own["fast"]), as_text(speed.notes[0])),
    )
    numbers(cells, 130)
    show_notes(speed.notes[1:])
    over_time = exhibits.worker_page.worker_speed_over_time(view, name)
    if over_time.figure is not None:
        show(over_time, "speed")


def behind(view: View, name: str, judged: pd.Series[Any]) -> None:
    """Evidence of the verdict: confusions, partners, times, the vote without the worker, and the message."""
    page = exhibits.worker_page
    grid = st.grid(2, min_column_width=380, gap="medium")
    with grid.cell():
        st.header("Confusions")
        show(page.worker_mistakes(view, name), "mistakes", noun="mistake", rows=6)
        link("review", "Review and mark all labels against the reference", show="wrong", workers=[name])
    with grid.cell():
        st.header("Partners")
        partners = page.worker_partners(view, name)
        show(partners, "partners", noun="partner", rows=6, notes=False)
        if len(partners.table):
            st.caption(as_text(partners.notes[0]))
    over_time = page.worker_over_time(view, name)
    if over_time.figure is not None:
        st.header("Over time")
        show(over_time, "over-time")
    speed = page.worker_speed(view)
    if "worker" in speed.table:
        st.header("Speed")
        pace(view, name, speed)
    st.header("Without this worker")
    link(
        "annotators",
        as_text(f"Of the majority vote, {judged['without']}: see which"),
        icon="person_off",
        view="Ranking",
        without=[name],
    )
    st.header("Message to the worker")
    st.code(judged["message"], language=None, wrap_lines=True)


def together() -> None:
    """Groups of workers who act together; then pairs, first those who do."""
    view = looked_at()
    coordinated(view)
    st.header("Pairs")
    with st.spinner("Comparing pairs of workers …", show_time=True):
        exhibit = exhibits.workers.worker_pairs(view)
    if not len(exhibit.table):
        st.info("No two workers labelled the same task.")
        return
    show(replace(exhibit, notes=exhibit.notes[view.dataset.sentences is None :]), "pairs", noun="pair", rows=14)


GROUPS = {"": "By the tree", **{str(n): str(n) for n in range(1, 13)}}
LINKED = 100  # workers up to which each group has a link: an address must stay short
CELLS = 300  # workers up to which every pair is drawn as a cell


def alike() -> None:
    """Matrix with tree on the left, the chosen pair and the groups on the right."""
    view = looked_at()
    with st.container(horizontal=True):
        kind = picker("Distance", "kind", exhibits.workers.KINDS, width=260)
        chosen = picker("Groups", "groups", GROUPS, width=160)
    groups = int(chosen) if chosen else None
    one, other = (state.one_of(key, view.workers) for key in ("worker", "other"))
    zoom = f"zoom-{state.get('dataset')}-{view.reference}-{kind}-{groups}"

    def zoomed(x: tuple[float, float], y: tuple[float, float]) -> None:
        st.session_state[zoom] = x, y

    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        drawn = exhibits.workers.worker_distances(view, kind, groups, st.session_state.get(zoom))
        cell = exhibits.workers.distance_cell(view, kind, groups, one, other) if one and other else None
        show(drawn, "distance", cell=cell, on_window=zoomed if len(view.workers) > CELLS else None)
    with grid.cell():
        with st.container(horizontal=True):
            optional("Worker", "worker", view.listed, "Choose one")
            optional("Beside", "other", view.listed, "Choose another")
        if one and other:
            both(view, kind, one, other)
        else:
            st.caption("Choose two workers, or click a cell, to compare them.")
        listed = exhibits.workers.worker_groups(view, kind, groups)
        show(listed, "groups", noun="worker", rows=12)
        members = listed.table.groupby("group")["worker"].agg(list)
        with st.container(horizontal=True):
            for group, names in members.items() if len(view.workers) <= LINKED and len(members) <= len(GROUPS) else ():
                link("review", f"Mistakes of group {group}", show="wrong", workers=names)


def both(view: View, kind: Distance, one: str, other: str) -> None:
    """The chosen pair in words, with links to the two."""
    if one == other:
        st.markdown(f"**{as_text(one)}**")
    else:
        words = exhibits.workers.worker_pair(view, one, other, kind).notes[0]
        st.markdown(f"**{as_text(one)}** and **{as_text(other)}**. {as_text(words)}")
    with st.container(horizontal=True):
        for name in dict.fromkeys((one, other)):
            link("annotators", as_text(name), icon="person", view="One worker", worker=name)
        if one != other:
            link("review", "Tasks on which both make the same mistake", show="alike", workers=[one, other])


def coordinated(view: View) -> None:
    """Groups with what changes without them, then the chosen group."""
    if view.dataset.sentences is not None:
        why = "Not searched for here: the tokens of a sentence are not independent tasks. Spans shows who errs how."
        st.info(why, icon=":material/format_ink_highlighter:")
        link("spans")
        return
    with st.spinner("Searching for workers who act together …", show_time=True):
        exhibit = exhibits.coordinated.coordinated_workers(view)
    groups = len(exhibit.table)
    if not groups:
        st.info(as_text(exhibits.workers.worker_pairs(view).notes[0]), icon=":material/group:")
        folded("How this is tested", lambda: show_notes(exhibit.notes[1:]))
        return
    acts = "acts" if groups == 1 else "act"
    may = "They may copy, have shared a teacher, or be one person."
    st.warning(f"**{count(groups, 'group')}** of workers {acts} together. {may}", icon=":material/group:")
    show(exhibit, "coordinated", notes=False)
    show_notes(exhibit.notes[:groups])
    folded("How this is tested", lambda: show_notes(exhibit.notes[groups:]))
    table(exhibit.table, "coordinated-groups", name=f"{state.get('dataset')}-coordinated", noun="group")
    names = [str(number) for number in range(1, groups + 1)]
    st.header("One group")
    one_group(view, int(picker("Group", "together", names, width=260)))


def one_group(view: exhibits.View, together: int) -> None:
    """Links to the group's labels, the change of the common confusion, and the labels that change."""
    members = exhibits.coordinated.members(view, together)
    with st.container(horizontal=True):
        link("review", "Review their labels against the reference", show="wrong", workers=list(members))
        if len(members) == 2:
            link("review", "Tasks on which both make the same mistake", show="alike", workers=list(members))
        link("annotators", "Without them", icon="person_off", view="Ranking", without=list(members))
    true, given = (state.one_of(key, view.classes) for key in ("true", "given"))
    cell = (view.class_number(true), view.class_number(given)) if true and given else None
    grid = st.grid(2, min_column_width=400, gap="small")
    with grid.cell():
        dark = st.context.theme.type == "dark"
        show(exhibits.coordinated.coordinated_confusion(view, together, dark=dark), "common", cell=cell)
        if cell is None:
            st.caption("Click a cell to see the group's labels behind it.")
        else:
            label = as_text(f"The group's labels “{given}” on tasks that are {true}")
            link("review", label, true=true, given=given, workers=list(members))
    with grid.cell():
        st.caption("Majority-vote labels that change without the group:")
        show(exhibits.workers.what_if_tasks(view, members), "without-group", noun="task", rows=12)


VIEWS = {"Ranking": ranking, "One worker": worker, "Together": together, "Distances": alike}


@fragment
def draw() -> None:
    """Draw the page."""
    heading()
    VIEWS.get(state.get("view"), ranking)()


page("annotators", draw)
