"""The parts of the page *Confusions*: the run and epoch to show, and the confusions that it recovered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import streamlit as st

from crowdcore import exhibits
from crowdcore.exhibits.exhibit import escaped
from crowdcore.learning import learners
from dashboard import state
from dashboard.components.exhibit import figure, looked_at, panels, show, show_notes as notes
from dashboard.components.link import link
from dashboard.components.media import cards
from dashboard.components.pickers import picker, switch
from dashboard.components.run_choice import pick_run, run_labels, run_names
from dashboard.components.table import table
from dashboard.components.text import as_text, count, number, percent
from dashboard.services.runs import readable, result, runs_of, training_fault

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from crowdcore.exhibits import Exhibit
    from crowdcore.exhibits.recovered import Epoch, RunView, Seed
    from crowdcore.figures.theme import Scale
    from crowdcore.runs import Run

_LACKING = {"worker_confusion": "recovers no confusions", "omega": "does not tell common from individual noise"}
PARTS: dict[Literal["", "own"], str] = {"": "All labels of a worker", "own": "The worker's own part"}


class Choice(NamedTuple):
    """Selection of the page.

    Args:
        run: its id.
        view: of the run, its seed, its epoch, and which part of it.
        beside: another run.
    """

    run: str
    view: RunView
    beside: RunView | None = None

    def file(self, exhibit: Exhibit) -> str:
        """Name of an exhibit's downloads."""
        return f"{state.get('dataset')}-{exhibit.name}-{self.run[:8]}"


def choose(part: str, without: str) -> Choice | None:
    """Draw the pickers of runs that recover a part; where there are none, tell why and return None.

    Args:
        part: of a run, `omega` or `worker_confusion`.
        without: what to say where runs recover nothing of it, before the names of methods that do.
    """
    parts = (part, "common_confusion") if part == "worker_confusion" else (part,)
    able = {run.id: run for run in _runs(parts)}
    bar = st.container(horizontal=bool(able), vertical_alignment="bottom")
    run_ids = state.get_many("runs")
    with bar:
        run = pick_run(
            only=lambda run: run.id in run_ids or run.id in able,
            rather=lambda run: run.id in able and (bool(run_ids) or run.spec.method in _recovering(parts[-1])),
            without=f"{without} Methods that do: {as_text(', '.join(_recovering(part)))}.",
        )
    if run is None:
        return None
    view = _view(run)
    if not (view.has_confusions if part == "worker_confusion" else view.result.omega is not None):
        _link_to_training(run, part)
        return None
    beside = _pick_second_run(bar, run, able) if part == "worker_confusion" else None
    with bar, st.popover("Seeds, epoch", icon=":material/tune:"):
        seeds = {str("" if key is None else key): key for key in exhibits.recovered.seeds(view)}
        words = dict(zip(seeds, exhibits.recovered.seeds(view).values(), strict=True))
        seed = seeds[picker("Seeds", "seed", words, width=220)]  # their mean is ""
        shown: Literal["", "own"] = ""
        if part == "worker_confusion" and view.result.omega is not None:
            shown = picker("A worker's matrix", "part", PARTS)
        options = {str(key): words for key, words in exhibits.recovered.epochs(view.result).items()}
        if len(options) > 1:
            bound = state.bind("epoch", str(view.at), of=[run.id, *options])
            st.select_slider("Epoch", list(options), format_func=options.__getitem__, **bound)
    runs = [run, *([beside] if beside else [])]
    names = run_names(runs)
    return Choice(run.id, *(_view(one, seed, shown, names[one.id]) for one in runs))


def _pick_second_run(bar: DeltaGenerator, run: Run, able: Mapping[str, Run]) -> Run | None:
    """Another run: the one chosen, else the second of those that are ticked."""
    labels = run_labels(runs_of(state.get("dataset")))
    options = {"none": "Nothing"} | {other: labels[other] for other in able if other != run.id}
    if len(options) == 1:
        return None
    ticked = next((name for name in state.get_many("runs") if name in options), "none")
    with bar:
        return able.get(picker("Compare with", "beside", options, ticked))


def show_caveats(choice: Choice) -> None:
    """Show caveats: epoch, seeds, and parts that have not left their start."""
    view = choice.view
    notes = exhibits.recovered.epoch_in_words(view), exhibits.recovered.why_no_mean(view), *view.result.notes
    st.caption(as_text(" ".join(filter(None, notes))))
    for of in filter(None, (view, choice.beside)):
        still = exhibits.recovered.unmoved_in_words(of)
        which = f"{of.run_name}: " if choice.beside else ""
        if still:
            st.warning(as_text(which + still), icon=":material/hourglass_empty:")
    common = exhibits.recovered.unmoved_in_words(view, -1) if exhibits.confusions.commons(view) else ""
    if common:
        st.warning(as_text(common), icon=":material/hourglass_empty:")


def _view(run: Run, seed: Seed = None, part: Literal["", "own"] = "", name: str = "") -> RunView:
    """The run at the epoch that the address names, if it kept that."""
    at = state.get("epoch")
    epoch: Epoch = int(at) if at.isdecimal() else "last" if at == "last" else "selected"
    name = name or run_names([run])[run.id]
    return exhibits.recovered.of_run(looked_at(), result(run.id), name, seed=seed, at=epoch, part=part)


def _runs(parts: tuple[str, ...]) -> list[Run]:
    """Runs that can be shown: those whose method recovers some of the parts."""
    dataset = state.get("dataset")
    able = {method for part in parts for method in _recovering(part)}
    own = [run for run in runs_of(dataset) if run.spec.method in able or ":" in run.spec.method]  # of one's own: may be
    return [run for run in own if readable(run, dataset)]


def _recovering(part: str) -> list[str]:
    """Names of the methods that recover a part; none where nothing can be trained."""
    return [] if training_fault() else learners.recovering(part)


def _link_to_training(run: Run, part: str) -> None:
    """Name what the run's method lacks, and link to training one that has it."""
    others = [name for name in _recovering(part) if name != run.spec.method]
    words = f"This run of {run.spec.method} {_LACKING[part]}. Methods that do: {', '.join(others)}."
    st.info(as_text(words), icon=":material/info:")
    link("train", "Train")


HEIGHT = 440  # pixels of a matrix of the first row, with its title
ENOUGH = 20  # labels from which a distance is more than chance; workers with fewer come last
WIDE = 12  # classes from which small matrices take the page's whole width


def matrices(choice: Choice) -> None:
    """Common confusion, one worker's, and that of the labels in one row; and the true one, if it is known."""
    view = choice.view
    worker, workers = _worker(view)
    name, cell = view.workers[worker], _marked_cell(view)
    made, common = exhibits.confusions.recovered_confusion, bool(exhibits.confusions.commons(view))
    drawn = [made(view, -1) if common else None, made(view, worker), exhibits.workers.worker_confusion(view)]
    if common and exhibits.confusions.has_truth(view):
        drawn.append(made(view, -1, "truth"))
    if choice.beside is not None:
        drawn += [made(view, one, choice.beside, choice.beside) for one in ((-1, worker) if common else (worker,))]
    there = [exhibit for exhibit in drawn if exhibit is not None]
    board = st.grid(min(len(there), 3), min_column_width=290, gap="small")
    for place, exhibit in enumerate(there):
        with board.cell():
            show(_without_bar(exhibit), f"first-{place}", file=f"{choice.file(exhibit)}-{place}", cell=cell)
    strip(choice, workers, name)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picker("Worker, least like the crowd first", "worker", workers, name, width=260)
        st.markdown(_in_numbers(view, worker))
    tasks(view, -1, name, cell)
    if cell is not None:
        tasks(view, worker, name, cell)


STRIP, CELLS = 12, 160  # thumbnails in a row, and columns of all their cells: more would be too small to see


def strip(choice: Choice, workers: list[str], shown: str) -> None:
    """Thumbnails of the workers' matrices, least like the crowd first; a click shows one of them above."""
    from crowdcore.figures.theme import SEQUENTIAL, figure as drawing, short

    view, size = choice.view, len(choice.view.classes)
    names = workers[: max(2, min(STRIP, CELLS // (size + 1)))]
    matrices = exhibits.confusions.confusions(view, view).matrices
    if len(names) < 2:
        return
    gap = np.full((size, 1), np.nan)
    z = np.hstack([part for name in names for part in (matrices[view.worker_number(name)], gap)])[:, :-1]
    labels, classes = list(map(escaped, names)), list(map(escaped, view.classes))
    about = [[f"{name}: {t} labelled {g}" for name in labels for g in (*classes, "")][:-1] for t in classes]
    thumbnails = {"type": "heatmap", "z": z, "text": np.array(about), "colorscale": SEQUENTIAL, "zmin": 0, "zmax": 1}
    percent = {"customdata": 100 * z, "hovertemplate": "%{text}: %{customdata:.0f} %<extra></extra>"}
    thumbnails |= {"showscale": False, **percent}
    drawn = drawing(thumbnails, title="Workers side by side", height=176, margin={"l": 8, "b": 24})
    called = [f"<b>{s}</b>" if name == shown else s for name in names for s in [escaped(short(name, 12))]]
    ticks = {"tickvals": [k * (size + 1) + (size - 1) / 2 for k in range(len(names))], "ticktext": called}
    drawn.update_xaxes(**ticks, showgrid=False).update_yaxes(autorange="reversed", visible=False)

    def clicked(_: int, column: int) -> None:
        state.put(worker=names[min(column // (size + 1), len(names) - 1)])

    every = exhibits.confusions.every_confusion(view)
    file = choice.file(every)
    alt = f"Matrices of {len(names)} workers side by side; the list below has all workers"
    figure(drawn, "strip", name=file, alt=alt, data=lambda: every.table, on_click=clicked)


def _without_bar(exhibit: Exhibit) -> Exhibit:
    """The matrix without its colour bar, which its numbers replace."""
    from crowdcore.figures.theme import copied

    assert exhibit.figure is not None
    drawn = copied(exhibit.figure).update_layout(height=HEIGHT).update_coloraxes(showscale=False)
    drawn.update_xaxes(title=None).update_yaxes(title=None)
    return replace(exhibit, figure=drawn.update_traces(showscale=False, selector={"type": "heatmap"}))


def _worker(view: RunView) -> tuple[int, list[str]]:
    """Number of the worker to show, by default the one least like the crowd, and all names in that order."""
    order = exhibits.confusions.order(view, "far" if "far" in exhibits.confusions.sorts(view) else "annotations")
    few = exhibits.recovered.recovered(view).n_annotations < ENOUGH
    workers = [view.workers[number] for number in (*order[~few[order]], *order[few[order]])]
    return view.worker_number(workers[state.index_of("worker", workers) or 0]), workers


def _marked_cell(view: RunView) -> tuple[int, int] | None:
    """Row and column of the cell that is chosen."""
    true, given = state.index_of("true", view.classes), state.index_of("given", view.classes)
    return None if true is None or given is None else (true, given)


def small(choice: Choice) -> None:
    """The common confusion and a page of workers, on one colour scale; a click chooses a cell."""
    view, beside = choice.view, choice.beside
    n_common = len(exhibits.confusions.commons(view))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort = picker("Workers", "sort", exhibits.confusions.sorts(view), width=220)
        pages = exhibits.confusions.pages(view, sort)
        page = min(state.whole("group", 1, 1), max(len(pages), 1))
        if len(pages) > 1:
            with st.container(width="content"):
                _turn(page, len(pages))
        about = "Off: hides correct labels, so that the colours show differences between mistakes."
        diagonal = switch("Diagonal", "diagonal", usual=True, help=about)
        about = "Shows differences between small probabilities: each step of the colours is a factor."
        log = switch("Logarithmic colours", "scale", on="log", help=about)
    scale: Scale = "log" if log else "linear"
    board = st.grid(1 if len(view.classes) > WIDE else 2, min_column_width=440, gap="small")
    on_page = [*(-1 - g for g in range(n_common)), *(pages[page - 1] if pages else ())]
    top = None if diagonal else exhibits.confusions.largest_mistake(view, on_page, beside)
    for k in on_page:
        drawn = exhibits.confusions.confusion_grid(view, k, beside, scale, top)
        with board.cell():
            show(drawn, f"small-{k}" if k >= 0 else f"common-{-k}", file=choice.file(drawn))
    words = [exhibits.confusions.errors_in_words(view)]
    if not n_common:
        words.append(
            "This method has no common confusion."
            if view.result.common_confusion is None
            else "Groups differ between seeds: choose one seed to see their confusions."
        )
    elif not exhibits.confusions.has_truth(view):
        words.append("The common confusion is compared with that of all workers' labels.")
    words.append("Grey rows: no labels.")
    st.caption(as_text(" ".join(words)))


def _turn(page: int, n_pages: int) -> None:
    """Picker of the page of workers."""
    key = f"workers-page-of-{n_pages}"

    def turned() -> None:
        state.put(group=str(st.session_state[key]))

    state.show(key, page)
    st.pagination(n_pages, key=key, on_change=turned, max_visible_pages=5)


def sources(choice: Choice) -> None:
    """The worker's matrix and the common ones from every source, the differences and the run's correction."""
    view, cell = choice.view, _marked_cell(choice.view)
    for k in (_worker(view)[0], *(-1 - group for group in range(len(exhibits.confusions.commons(view))))):
        still = exhibits.recovered.unmoved_in_words(view, k) if k >= 0 else ""
        if still:
            st.warning(as_text(still), icon=":material/hourglass_empty:")
        key, board = f"one{k}", st.grid(3, min_column_width=min(150 + 28 * len(view.classes), 700), gap="small")
        for place, source in enumerate(exhibits.confusions.side_by_side(view, choice.beside)):
            drawn = exhibits.confusions.recovered_confusion(view, k, source, choice.beside)
            if drawn is not None:
                with board.cell():
                    show(drawn, f"{key}-{place}", file=f"{choice.file(drawn)}-{place}", cell=cell)
        if view.seed != exhibits.recovered.EACH:
            dark = st.context.theme.type == "dark"
            minus = exhibits.confusions.confusion_difference(view, k, choice.beside, dark=dark)
            correction = exhibits.recovered.confusion_correction(view, k, dark=dark) if k >= 0 else None
            for name, drawn in (("difference", minus), ("correction", correction)):
                if drawn is not None:
                    with board.cell():
                        show(drawn, f"{key}-{name}", file=choice.file(drawn), cell=cell)


def tasks(view: RunView, number: int, name: str, marked: tuple[int, int] | None) -> None:
    """Link from the chosen cell to its tasks."""
    if marked is None:
        st.caption("Click a cell to see the tasks behind it.")
        return
    true, given = (view.classes[c] for c in marked)
    n = len(exhibits.confusions.tasks_behind(view, *marked, number if number >= 0 else None))
    by = f"{name} labelled" if number >= 0 else "somebody labelled"
    label = as_text(f"{count(n, 'task')} that {'is' if n == 1 else 'are'} {true} and {by} {given}")
    link("tasks", label, true=true, given=given, worker=name if number >= 0 else None)


def _in_numbers(view: RunView, worker: int) -> str:
    """Summary of a worker."""
    recovery = exhibits.recovered.recovered(view)
    words = [count(recovery.n_annotations[worker], "annotation"), f"skill **{percent(recovery.skill[worker])}**"]
    if recovery.distance is not None:
        words.append(f"distance from common **{number(recovery.distance[worker], 5)}**")
    if recovery.common_share is not None:
        words.append(f"common noise **{percent(recovery.common_share[worker])}**")
    return " · ".join(words)


def ranking(choice: Choice) -> None:
    """Skills, what they say together, and the sortable table; a row leads to the worker's matrix."""
    view, beside = choice.view, choice.beside
    runs = [*view.one_by_one(), *([] if beside is None else [beside])]
    skills = exhibits.worker_skills.skills(runs, state.index_of("worker", view.workers))
    show(skills, "skills", file=choice.file(skills))
    sort = picker("Order", "sort", exhibits.confusions.sorts(view), width=220)
    exhibit = exhibits.worker_skills.recovered_workers(view, sort, beside)

    def opened(worker: int) -> None:
        state.put(worker=view.workers[worker])

    table(exhibit.table, "workers", name=choice.file(exhibit), noun="worker", rows=14, on_row=opened)
    st.caption(as_text(f"{exhibit.notes[0]} Click a row to see the worker's matrix."))


def contradicted(choice: Choice) -> None:
    """Number of tasks, cards with links to their pages, and a table of all."""
    exhibit = exhibits.recovered.contradicted_tasks(choice.view)
    notes(exhibit.notes)
    if not len(exhibit.table):
        st.info("Every task has a label that this run agrees with.", icon=":material/check_circle:")
        return

    def caption(row: Mapping[Any, Any]) -> str:
        return f"{row['class by the run']} ({percent(row['probability'], 0)}), labelled {row['most given']}"

    cards(exhibit.table, caption, "contradicted")
    link("review", "Review and mark the tasks of another class by this run", by="task", against=f"run:{choice.run}")
    table(exhibit.table, "contradicted", name=choice.file(exhibit), noun="task", rows=14)


def explained() -> None:
    """Picker of a run, and the mistakes in the labels that it attributes to the common confusion."""
    able = {run.id for run in _runs(("worker_confusion", "common_confusion"))}
    run = pick_run(
        only=lambda run: run.id in able,
        rather=lambda run: run.spec.method in _recovering("common_confusion"),
        without="No finished run has recovered confusions.",
    )
    if run is None:
        return
    choice = Choice(run.id, _view(run))
    drawn = exhibits.shared.explained(choice.view, dark=st.context.theme.type == "dark")
    where = f"{state.get('dataset')}-{choice.run[:8]}"
    panels(*((_without_bar(e), e.name) for e in drawn), columns=3, width=290, file=where, notes=False)
    st.caption(as_text(drawn[0].notes[0] if drawn else "This run kept no predictions of this epoch."))


def shared_part(choice: Choice) -> None:
    """Share of the labels that the shared mistake explains, which the data determine, beside the common confusion."""
    drawn = exhibits.shared.shared_part(choice.view)
    if drawn is None:
        st.info("This run kept no predictions of this epoch.", icon=":material/info:")
    else:
        show(drawn, drawn.name, file=choice.file(drawn))


def sentence(choice: Choice) -> None:
    """Show the largest recovered confusion in one line."""
    exhibit = _largest(choice.view)
    if exhibit is not None:
        st.markdown(as_text(exhibit.notes[0]))


def _largest(view: RunView) -> Exhibit | None:
    """The largest shared confusions; None at a start, whose largest cells say nothing about the workers."""
    if view.at == 0 or exhibits.recovered.unmoved_in_words(view, -1 if exhibits.confusions.commons(view) else None):
        return None
    exhibit = exhibits.confusions.largest_confusions(view)
    return exhibit if len(exhibit.table) else None


def sentences(choice: Choice) -> None:
    """Names in doubt, then the largest shared confusions, each a link to its tasks."""
    at_risk = exhibits.recovered.at_risk_in_words(choice.view)
    if at_risk:
        st.warning(as_text(at_risk), icon=":material/warning:")
    exhibit = _largest(choice.view)
    if exhibit is None:
        return
    with st.container(border=True, gap="xsmall"):
        for row in exhibit.table.to_dict("records"):
            _line(row)
        st.caption(as_text(exhibit.notes[1]))


def _line(row: dict[Any, Any]) -> None:
    """One confusion with its tasks one click away."""
    ends = f"{percent(row['low'])} to {percent(row['high'])}"
    words = [f"labels {percent(row['observed'])} ({ends})", "" if row["within"] else "not recovered"]
    if "common" in row:
        words.append(f"common confusion {percent(row['common'])}, labels {percent(row['of common labels'])}")
    if "true common" in row:
        words.append(f"truth {percent(row['true common'])}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        link(
            "tasks",
            as_text(f"{row['true']} → {row['given']} ({count(row['tasks'], 'task')})"),
            true=row["true"],
            given=row["given"],
        )
        st.markdown(" · ".join([f"**{percent(row['recovered'])}**", *map(as_text, filter(None, words))]))
