"""Runs on a page: their pickers, names and times, and what can be done with those chosen in the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import streamlit as st

from crowdcore import runs
from crowdcore.core.errors import CrowdError
from crowdcore.core.files import workspace
from crowdcore.data.uploads import dataset_title
from crowdcore.learning import learners
from crowdcore.learning.learners import setting_title, settings_in_words
from crowdcore.runs import Run
from crowdcore.runs.run import describe_spec
from dashboard import state
from dashboard.components.guard import attempt, refused_before
from dashboard.components.link import link
from dashboard.components.text import as_text, count
from dashboard.services import runs as recorded
from dashboard.services.runs import all_runs, readable, runs_of, spelled, training_fault

if TYPE_CHECKING:
    from crowdcore.runs import Run

LISTED = 12  # names that the question before deleting lists
PLACES = 4  # datasets with links of their own
_FREE: dict[str, Any] = {"accept_new_options": True, "placeholder": "Choose, or type one and press Enter"}


def about_chosen(chosen: list[Run]) -> None:
    """Links, buttons, differences, and what people put on runs."""
    refused_before()
    if st.session_state.pop("runs-saved", False):
        st.toast("Saved.", icon=":material/save:")
    if not chosen:
        return
    names = run_names(chosen)
    title = as_text(names[chosen[0].id]) if len(chosen) == 1 else f"{count(len(chosen), 'run')} chosen"
    st.header(title)
    with st.container(horizontal=True, vertical_alignment="center"):
        _links(chosen)
        _cancel(chosen)
        _delete(chosen, names)
    if len(chosen) == 1:
        _marks(chosen[0])
        return
    _differences(chosen)
    _tags(chosen)


def _links(chosen: Sequence[Run]) -> None:
    """To the runs on Train, and to Compare; one of each for every dataset."""
    places: dict[str, list[str]] = {}
    for run in chosen:
        ids = places.setdefault(app_dataset(run), [])
        ids += [found for found in [run.spec.parent or run.id] if found not in ids]
    elsewhere = places.pop("", [])
    on = len(places) > 1
    for name, ids in list(places.items())[:PLACES]:
        _link("train", "Open", "open_in_full", name, ids, on, "Progress, curves, log and model")
    for name, ids in list(comparable(chosen).items())[:PLACES]:
        _link("compare", f"Compare {len(ids)}", "leaderboard", name, ids, on, "Accuracies, tests, curves")
    if elsewhere:
        about = "Trained from the command line on files that the app has not opened: "
        st.caption(as_text(f"{about}{count(len(elsewhere), 'run')}."))


def _link(page: str, label: str, icon: str, dataset: str, ids: list[str], on: bool, about: str) -> None:
    link(page, as_text(f"{label} on {dataset}" if on else label), icon=icon, help=about, dataset=dataset, runs=ids)


def app_dataset(run: Run) -> str:
    """What the app calls the dataset of a run; "" where the app cannot open it."""
    path = Path(run.spec.dataset)
    if not path.is_absolute():
        return run.spec.dataset
    return path.name if path.parent == workspace() / "datasets" else ""


def comparable(chosen: Sequence[Run]) -> dict[str, list[str]]:
    """Dataset -> those of the runs that can be compared on it; datasets with fewer than two are left out."""
    found: dict[str, list[str]] = {}
    for run in chosen:
        name = app_dataset(run)
        try:
            fits = bool(name) and not run.spec.parent and run.spec.search is None and readable(run, name)
        except CrowdError:  # its dataset cannot be opened any more
            continue
        if fits:
            found.setdefault(name, []).append(run.id)
    return {name: runs for name, runs in found.items() if len(runs) > 1}


def _cancel(chosen: Sequence[Run]) -> None:
    live = [run.id for run in chosen if not run.has_ended]
    if live:
        label = f"Cancel {len(live)}" if len(chosen) > 1 else "Cancel"
        about = "Stop them; what they have learnt is kept"
        st.button(label, icon=":material/stop_circle:", help=about, on_click=attempt, args=(_cancel_all, live))


def _cancel_all(run_ids: Sequence[str]) -> None:
    for run_id in run_ids:
        recorded.act(runs.cancel, run_id)


def _delete(chosen: Sequence[Run], names: dict[str, str]) -> None:
    """Say which runs will be gone, and delete exactly those."""
    ids = [run.id for run in chosen]
    live = sum(not run.has_ended for run in chosen)
    with st.popover("Delete" if len(ids) == 1 else f"Delete {len(ids)}", icon=":material/delete:"):
        if live:
            st.markdown(f"{count(live, 'of these still waits or runs', 'of these still wait or run')}: cancel first.")
            return
        st.markdown(f"Delete {count(len(ids), 'run')} with curves, models and logs? This cannot be undone.")
        lines = [f"- {as_text(f'{names[run.id]}, {run.spec.dataset}')}" for run in chosen[:LISTED]]
        if len(chosen) > LISTED:
            lines.append(f"- and {len(chosen) - LISTED} more")
        st.markdown("\n".join(lines))
        trials = sum(run.spec.parent in ids and run.id not in ids for run in all_runs())
        if trials:
            st.caption(f"{count(trials, 'trial')} of these searches stay; “Trials of searches” lists them.")
        label = f"Delete {count(len(ids), 'run')} for good"
        st.button(label, type="primary", key="delete-chosen", on_click=attempt, args=(recorded.act, runs.delete, ids))


def _differences(chosen: Sequence[Run]) -> None:
    frame = runs.settings_table(chosen, learners.settings_in_words, learners.setting_title)
    st.markdown("**What differs**")
    if len(frame):
        st.dataframe(frame, hide_index=True, column_config={"setting": st.column_config.TextColumn("", pinned=True)})
    else:
        st.caption("They have the same settings, seeds and data.")


def _marks(run: Run) -> None:
    """Name, note and tags of one run."""
    keys = {what: f"mark-{what}-{run.id}" for what in ("name", "note", "tags")}
    with st.form(f"marks-{run.id}", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            _field(st.text_input, "Name", keys["name"], run.name, max_chars=120, placeholder=run.title)
            _field(st.multiselect, "Tags", keys["tags"], list(run.tags), options=_known_tags(), **_FREE)
        _field(st.text_area, "Note", keys["note"], run.note, max_chars=4000, height=80)
        st.form_submit_button("Save", icon=":material/save:", on_click=attempt, args=(_save, run, keys))


def _field(draw: Callable[..., Any], label: str, key: str, value: object, **options: Any) -> None:
    """A widget that starts with what the record says, and anew when the record changes."""
    if st.session_state.get(f"{key}-known") != value:
        st.session_state[key] = st.session_state[f"{key}-known"] = value
    draw(label, key=key, **options)


def _known_tags() -> list[str]:
    return sorted({tag for run in all_runs() for tag in run.tags}, key=str.casefold)


def _save(run: Run, keys: dict[str, str]) -> None:
    values = {what: st.session_state[key] for what, key in keys.items()}
    recorded.act(runs.rename, run.id, values["name"])
    recorded.act(runs.set_note, run.id, values["note"])
    gone = [tag for tag in run.tags if tag not in values["tags"]]
    recorded.act(runs.change_tags, [run.id], values["tags"], gone)
    st.session_state["runs-saved"] = True


def _tags(chosen: Sequence[Run]) -> None:
    """Put tags on all of them, or take them away."""
    ids = [run.id for run in chosen]
    with st.form("tags-of-several", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.multiselect("Tags", _known_tags(), key="tags-chosen", **_FREE)
        st.form_submit_button("Put on all", icon=":material/new_label:", on_click=attempt, args=(_tag, ids, True))
        st.form_submit_button("Take off all", icon=":material/label_off:", on_click=attempt, args=(_tag, ids, False))


def _tag(run_ids: Sequence[str], on: bool) -> None:
    words = st.session_state["tags-chosen"]
    recorded.act(runs.change_tags, run_ids, *((words, []) if on else ([], words)))


SUGGESTED = 6  # runs that are shown while nobody has chosen


def pick_runs(optional: bool = False) -> list[Run]:
    """Draw the picker of the runs that are ticked, or say what to do where there is nothing to pick.

    Args:
        optional: say nothing where there is nothing to pick.

    Returns:
        The runs to show, in the order chosen; while nobody has chosen, the newest one of each method.
        Empty only where there is nothing to pick.
    """
    offered = _offered(lambda run: True, "", optional)
    if not offered:
        return []
    names, chosen = _labelled(offered), _ticked(offered)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bound = state.bind("runs", chosen)
        shown = "Choose finished runs"
        st.multiselect("Runs", list(names), format_func=names.__getitem__, placeholder=shown, wrap=True, **bound)
        table_link(state.get("dataset"), chosen)
    for name in chosen:
        _unfinished(offered[name], names[name])
    return [offered[name] for name in chosen]


def pick_run(only: Callable[[Run], bool], rather: Callable[[Run], bool], without: str) -> Run | None:
    """Draw the picker of one run, which then stands first among those that are ticked.

    Args:
        only: which of the finished runs can be picked.
        rather: which of several that are ticked is shown.
        without: what to say where there are finished runs, but none that ``only`` lets through.
    """
    offered = _offered(only, without)
    if not offered:
        return None
    names, ticked = _labelled(offered), _ticked(offered)
    shown = next((name for name in ticked if rather(offered[name])), ticked[0])
    widget = f"{state.page()}-runs"

    def picked() -> None:
        name = st.session_state[widget]
        state.put(runs=[name, *(other for other in ticked if other not in (name, shown))])

    state.show(widget, shown)
    st.selectbox("Run", list(names), format_func=names.__getitem__, key=widget, on_change=picked)
    _unfinished(offered[shown], names[shown])
    return offered[shown]


def _offered(only: Callable[[Run], bool], without: str, optional: bool = False) -> dict[str, Run]:
    """Runs that can be picked, by id, newest first; what to do where there are none is said unless optional."""
    dataset = state.get("dataset")
    finished = [run for run in runs_of(dataset) if readable(run, dataset)]
    offered = {run.id: run for run in finished if only(run)}
    if not offered and not optional:
        title = as_text(dataset_title(dataset))
        untrained = f"Nothing has been trained on {title} yet. Start a run, and come back when it has finished."
        nothing((finished and without) or untrained)
    return offered


def _labelled(offered: Mapping[str, Run]) -> dict[str, str]:
    labels = run_labels(runs_of(state.get("dataset")))
    return {name: labels[name] for name in offered}


def _ticked(offered: Mapping[str, Run]) -> list[str]:
    """The runs that are ticked, as far as they are offered; the newest of each method while none is."""
    asked = state.get_many("runs")
    chosen = [name for name in asked if name in offered]
    if len(chosen) < len(asked):
        gone = len(asked) - len(chosen)
        st.caption(f"{count(gone, 'chosen run')} cannot be shown here: unfinished, deleted, or on other data.")
    if not chosen:
        newest = {run.spec.method: run.id for run in reversed(list(offered.values())) if run.state == "finished"}
        chosen = [name for name in offered if name in newest.values()][:SUGGESTED] or list(offered)[:1]
    return chosen


def _unfinished(run: Run, name: str) -> None:
    if run.state != "finished":
        st.caption(as_text(f"{name}: {run.state} at {run.at}; values so far."))


def table_link(dataset: str, shown: list[str]) -> None:
    """The way to the table of the dataset's runs, with those that are shown chosen."""
    link(
        "runs",
        "Choose in a table",
        help="All runs with their settings, scores, notes and tags; choose rows there, then Compare",
        datasets=[spelled(dataset)],
        runs=shown,
    )


def nothing(why: str) -> None:
    """Why no run can be shown, and what to do."""
    if fault := training_fault():
        st.info(as_text(fault), icon=":material/download:")
        return
    st.info(why, icon=":material/model_training:")
    with st.container(key="next-step"):  # a link that looks like a primary button
        link("train")


def run_title(found: Run) -> str:
    """What it is called, else its method and what differs from its defaults."""
    return found.name or run_asked(found)


def run_asked(found: Run) -> str:
    """Its method and what differs from its defaults, whatever it is called."""
    return describe_spec(found.spec, settings_in_words, setting_title)


def run_label(found: Run) -> str:
    """A run for people: its name, method, what differs from its defaults, seeds, when; other runs never change it."""
    n = len(found.spec.seeds)
    words = [*([found.name] if found.name else []), run_asked(found), f"{n} seed{'s' if n != 1 else ''}"]
    return " · ".join([*words, *([when(found.created)] if found.created else [])])


def run_labels(listed: Sequence[Run]) -> dict[str, str]:
    """Id -> label of each of all the runs of a dataset; of several that read alike, the later ones have their id."""
    seen: set[str] = set()
    labels = {}
    for found in reversed(listed):
        label = run_label(found)
        labels[found.id] = f"{label} · {found.id[:4]}" if label in seen else label
        seen.add(label)
    return {found.id: labels[found.id] for found in listed}


def run_names(shown: Sequence[Run]) -> dict[str, str]:
    """Id -> what tells each of these runs from the others, as short as can be."""
    names = runs.short_names(shown, settings_in_words)
    times = Counter(names.values())
    return {run_id: name if times[name] == 1 else f"{name} · {run_id[:8]}" for run_id, name in names.items()}


def viewer_zone() -> str:
    """The time zone of whoever looks."""
    try:
        return ZoneInfo(st.context.timezone or "UTC").key
    except (KeyError, ValueError):
        return "UTC"


def when(moment: datetime) -> str:
    """A moment on the clock of whoever looks."""
    return f"{moment.astimezone(ZoneInfo(viewer_zone())):%-d %b %Y, %H:%M}"
