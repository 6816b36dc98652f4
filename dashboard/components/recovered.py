"""The parts of the page *Confusions*: the run and epoch to show, and the confusions that it recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import streamlit as st

from crowdcore import exhibits
from crowdcore.learning import learners
from dashboard import state
from dashboard.components.exhibit import show
from dashboard.components.frame import hidden_names
from dashboard.components.link import link
from dashboard.components.media import cards
from dashboard.components.pickers import named, picker
from dashboard.components.run_choice import pick_runs, run_labels, run_names
from dashboard.components.table import table
from dashboard.components.text import as_text, count, number, percent
from dashboard.services import datasets
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
    """What the page shows.

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


def choose() -> Choice | None:
    """The pickers of the page on confusions; None where there is nothing to show, which has been said."""
    dataset = state.get("dataset")
    parts = ("worker_confusion", "common_confusion")
    names = ", ".join(_recovering("worker_confusion"))
    bar = _bar(parts)
    run = _run(bar, parts, f"No finished run has recovered confusions. Methods that do: {as_text(names)}.")
    if run is None:
        return None
    view = _view(run)
    if not view.has_confusions:
        _lacks(run, "worker_confusion")
        return None
    others = {other.id: other for other in _runs(parts) if other.id != run.id}
    labels = run_labels(runs_of(dataset))
    options = {"": "Nothing", **{other: labels[other] for other in others}}
    second = next((name for name in state.get_many("runs")[1:] if name in options), "")
    if second:  # a link that names two runs
        state.put(runs=run.id, beside=state.get("beside") or second)
    with bar:
        beside = named("Compare with", "beside", options) if len(options) > 1 else ""
        seed = _seed(view)
        part: Literal["", "own"] = ""
        if view.result.omega is not None:
            part = named("A worker's matrix", "part", PARTS, width=220)
    shown = [run, *([others[beside]] if beside else [])]
    called = run_names(shown)
    return Choice(run.id, *(_view(one, seed, part, called[one.id]) for one in shown))


def choose_omega() -> Choice | None:
    """The pickers of the page on ω; None where there is nothing to show, which has been said."""
    names = ", ".join(_recovering("omega"))
    bar = _bar(("omega",))
    run = _run(
        bar, ("omega",), f"No finished run separates common from individual noise. Methods that do: {as_text(names)}."
    )
    if run is None:
        return None
    view = _view(run)
    if view.result.omega is None:
        _lacks(run, "omega")
        return None
    with bar:
        seed = _seed(view)
    return Choice(run.id, _view(run, seed))


def epochs(choice: Choice) -> None:
    """The slider over the epochs that were kept, and what to know of those on screen."""
    view = choice.view
    options = {str(key): words for key, words in exhibits.recovered.epochs(view.result).items()}
    if len(options) > 1:
        st.select_slider("Epoch", list(options), format_func=options.__getitem__, **state.bind("epoch", str(view.at)))
    st.caption(as_text(f"{exhibits.recovered.epoch_in_words(view)} {exhibits.recovered.why_no_mean(view)}"))
    for of in filter(None, (view, choice.beside)):
        still = exhibits.recovered.unmoved_in_words(of)
        which = f"{of.run_name}: " if choice.beside else ""
        if still:
            st.warning(as_text(which + still), icon=":material/hourglass_empty:")
    for note in view.result.notes:
        st.caption(as_text(note))


def _view(run: Run, seed: Seed = None, part: Literal["", "own"] = "", called: str = "") -> RunView:
    """The run at the epoch that the address names, if it kept that."""
    seen, at = datasets.view(state.get("dataset"), state.get("reference"), hidden_names()), state.get("epoch")
    epoch: Epoch = int(at) if at.isdecimal() else "last" if at == "last" else "selected"
    called = called or run_names([run])[run.id]
    return exhibits.recovered.of_run(seen, result(run.id), called, seed=seed, at=epoch, part=part)


def _seed(view: RunView) -> Seed:
    """The seed to show; in addresses their mean is ""."""
    offered = {"" if key is None else str(key): (key, words) for key, words in exhibits.recovered.seeds(view).items()}
    return offered[named("Seeds", "seed", {key: words for key, (_, words) in offered.items()}, width=220)][0]


def _runs(parts: tuple[str, ...]) -> list[Run]:
    """Runs that can be shown: those whose method recovers some of the parts."""
    dataset = state.get("dataset")
    return [run for run in runs_of(dataset) if _able(run, parts) and readable(run, dataset)]


def _bar(parts: tuple[str, ...]) -> DeltaGenerator:
    """Where the pickers go: side by side, if there is something to pick."""
    return st.container(horizontal=bool(_runs(parts)), vertical_alignment="bottom")


def _run(bar: DeltaGenerator, parts: tuple[str, ...], without: str) -> Run | None:
    """One of the runs that recovered some of the parts, or one that the address names."""
    asked = state.get_many("runs")

    def able(run: Run) -> bool:
        return _able(run, parts)

    with bar:
        runs = pick_runs(
            several=False, label="Run", only=lambda run: run.id in asked or able(run), rather=able, without=without
        )
    return runs[0] if runs else None


def _recovering(part: str) -> list[str]:
    """Names of the methods that recover a part; none where nothing can be trained."""
    return [] if training_fault() else learners.recovering(part)


def _able(run: Run, parts: tuple[str, ...]) -> bool:
    return any(run.spec.method in _recovering(part) for part in parts)


def _lacks(run: Run, part: str) -> None:
    """What a run's method does not have, and where to train one that has it."""
    others = [name for name in _recovering(part) if name != run.spec.method]
    words = f"This run of {run.spec.method} {_LACKING[part]}. Methods that do: {', '.join(others)}."
    st.info(as_text(words), icon=":material/info:")
    link("train")


WIDE = 12  # classes from which small matrices take the page's whole width


def matrices(choice: Choice) -> None:
    """The small matrices, then the chosen one."""
    one(choice, small(choice))


def small(choice: Choice) -> Scale:
    """The common confusion and a page of workers, on one colour scale, which it returns; a click chooses a cell."""
    view, beside = choice.view, choice.beside
    n_common = len(exhibits.confusions.commons(view))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sort = named("Workers", "sort", exhibits.confusions.sorts(view), width=220)
        pages = exhibits.confusions.pages(view, sort)
        asked = state.get("group")
        page = min(max(int(asked), 1), len(pages)) if asked.isdecimal() else 1
        if len(pages) > 1:
            with st.container(width="content"):
                _turn(page, len(pages))
        shown = state.get("diagonal") != "no"
        diagonal = st.toggle(
            "Diagonal",
            help="Off: hides correct labels, so that the colours show differences between mistakes.",
            **state.bind("diagonal", shown, say=("", "no")),
        )
        log = st.toggle(
            "Logarithmic colours",
            help="Shows differences between small probabilities: each step of the colours is a factor.",
            **state.bind("scale", state.get("scale") == "log", say=("log", "")),
        )
    scale: Scale = "log" if log else "linear"
    board = st.grid(1 if len(view.classes) > WIDE else 2, min_column_width=440, gap="small")
    on_page = [*(-1 - g for g in range(n_common)), *(pages[page - 1] if pages else ())]
    top = None if diagonal else exhibits.confusions.largest_mistake(view, on_page, beside)
    for who in on_page:
        drawn = exhibits.confusions.confusion_grid(view, who, beside, scale, top)
        with board.cell():
            show(drawn, f"small-{who}" if who >= 0 else f"common-{-who}", file=choice.file(drawn))
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
    return scale


def _turn(page: int, n_pages: int) -> None:
    """Which page of workers."""
    key = f"workers-page-of-{n_pages}"

    def turned() -> None:
        state.put(group=str(st.session_state[key]))

    state.show(key, page)
    st.pagination(n_pages, key=key, on_change=turned, max_visible_pages=5)


def one(choice: Choice, scale: Scale) -> None:
    """The chosen matrix with its numbers from every source, and the difference of the first two that compare."""
    view, classes = choice.view, choice.view.classes
    names = exhibits.confusions.who_names(view)
    numbers = list(names)
    chosen = state.index_of("worker", list(names.values())) or 0
    who = numbers[chosen]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        picker("Matrix", "worker", list(names.values()), chosen)
        if who >= 0:
            st.markdown(_in_numbers(view, who))
    still = exhibits.recovered.unmoved_in_words(view, who)
    if still:
        st.warning(as_text(still), icon=":material/hourglass_empty:")
    cell = state.index_of("true", classes), state.index_of("given", classes)
    marked = None if cell[0] is None or cell[1] is None else (cell[0], cell[1])
    board = st.grid(3, min_column_width=min(150 + 28 * len(classes), 700), gap="small")
    for source in exhibits.confusions.side_by_side(view, choice.beside):
        drawn = exhibits.confusions.recovered_confusion(view, who, source, choice.beside, scale)
        if drawn is None:
            continue
        key = "beside" if source == choice.beside else source if isinstance(source, str) else _learnt(source)
        with board.cell():
            show(drawn, f"one-{key}", file=f"{choice.file(drawn)}-{key}", cell=marked)
    if view.seed != exhibits.recovered.EACH:
        dark = st.context.theme.type == "dark"
        minus = exhibits.confusions.confusion_difference(view, who, choice.beside, dark=dark)
        correction = exhibits.recovered.confusion_correction(view, who, dark=dark) if who >= 0 else None
        for key, drawn in (("difference", minus), ("correction", correction)):
            if drawn is not None:
                with board.cell():
                    show(drawn, key, file=choice.file(drawn), cell=marked)
    tasks(view, who, names[who], marked)


def _learnt(source: RunView) -> str:
    return f"learnt{'' if source.seed is None else source.seed}"


def tasks(view: RunView, who: int, name: str, marked: tuple[int, int] | None) -> None:
    """From the chosen cell to the tasks behind it."""
    if marked is None:
        st.caption("Click a cell to see the tasks behind it.")
        return
    true, given = (view.classes[c] for c in marked)
    n = len(exhibits.confusions.tasks_behind(view, *marked, who if who >= 0 else None))
    by = f"{name} labelled" if who >= 0 else "somebody labelled"
    label = as_text(f"{count(n, 'task')} that {'is' if n == 1 else 'are'} {true} and {by} {given}")
    link("tasks", label, true=true, given=given, worker=name if who >= 0 else None)


def _in_numbers(view: RunView, worker: int) -> str:
    """What sums a worker up."""
    found = exhibits.recovered.recovered(view)
    words = [count(found.n_annotations[worker], "annotation"), f"skill **{percent(found.skill[worker])}**"]
    if found.distance is not None:
        words.append(f"distance from common **{number(found.distance[worker], 5)}**")
    if found.common_share is not None:
        words.append(f"common noise **{percent(found.common_share[worker])}**")
    return " · ".join(words)


def ranking(choice: Choice) -> None:
    """Skills, what they say together, and the sortable table; a row leads to the worker's matrix."""
    view, beside = choice.view, choice.beside
    runs = [*view.one_by_one(), *([] if beside is None else [beside])]
    skills = exhibits.worker_skills.skills(runs, state.index_of("worker", view.workers))
    show(skills, "skills", file=choice.file(skills))
    sort = named("Order", "sort", exhibits.confusions.sorts(view), width=220)
    found = exhibits.worker_skills.recovered_workers(view, sort, beside)

    def opened(worker: int) -> None:
        state.put(worker=view.workers[worker], view="Matrices")

    table(found.table, "workers", name=choice.file(found), noun="worker", rows=14, on_row=opened)
    st.caption(as_text(f"{found.notes[0]} Click a row to see the worker's matrix."))


def contradicted(choice: Choice) -> None:
    """How many there are, the tasks themselves with links to their pages, and all as a table."""
    found = exhibits.recovered.contradicted_tasks(choice.view)
    for note in found.notes:
        st.caption(as_text(note))
    if not len(found.table):
        st.info("Every task has a label that this run agrees with.", icon=":material/check_circle:")
        return
    rows = zip(found.table["class by the run"], found.table["probability"], found.table["most given"], strict=True)
    captions = [f"{name} ({percent(p, 0)}), labelled {given}" for name, p, given in rows]
    cards(state.get("dataset"), found.table.index.tolist(), captions, "contradicted")
    link("review", "Review and mark the tasks of another class by this run", by="task", against=f"run:{choice.run}")
    table(found.table, "contradicted", name=choice.file(found), noun="task", rows=14)


def sentences(choice: Choice) -> None:
    """Names in doubt, then the largest shared confusions, each a link to its tasks."""
    view = choice.view
    at_risk = exhibits.recovered.at_risk_in_words(view)
    if at_risk:
        st.warning(as_text(at_risk), icon=":material/warning:")
    if view.at == 0 or exhibits.recovered.unmoved_in_words(view, -1 if exhibits.confusions.commons(view) else None):
        return  # the largest cells of a start say nothing about the workers
    found = exhibits.confusions.largest_confusions(view)
    if not len(found.table):
        return
    with st.container(border=True, gap="xsmall"):
        st.markdown(as_text(found.notes[0]))
        for row in found.table.to_dict("records"):
            _line(row)
        st.caption(as_text(found.notes[1]))


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
