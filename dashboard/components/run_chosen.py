"""Actions on the runs that are ticked; of one its files and log, of several their differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from crowdcore import runs
from crowdcore.core.files import workspace
from crowdcore.data.dictionary import csv_bytes
from crowdcore.learning import learners
from crowdcore.runs import Run
from crowdcore.runs.run import leading
from dashboard import state
from dashboard.components.fits import reference_button
from dashboard.components.guard import attempt, refusals, refused_before
from dashboard.components.link import link
from dashboard.components.run_choice import run_names
from dashboard.components.table import download
from dashboard.components.text import as_text, count, duration
from dashboard.components.train_form import prefill
from dashboard.services import opening, runs as recorded, train
from dashboard.services.runs import all_runs, readable

SPLITS = {"test": "test", "valid": "validation", "best_valid": "best validation"}
REACHED = {"selected": "selected epoch", "last": "last", "best": "best on test"}
LINES = 40  # of a log
LOG_EVERY = 2.0  # seconds between two looks at the log of a live run
LISTED = 12  # names that the question before deleting lists
PLACES = 4  # datasets with links of their own
_FREE: dict[str, Any] = {"accept_new_options": True, "placeholder": "Choose, or type one and press Enter"}


def about_chosen(chosen: list[Run]) -> None:
    """Show links, buttons, the outcome of one run or the differences of several, and notes."""
    refused_before()
    if st.session_state.pop("runs-saved", False):
        st.toast("Saved.", icon=":material/save:")
    if not chosen:
        return
    names = run_names(chosen)
    st.header(as_text(names[chosen[0].id]) if len(chosen) == 1 else f"{count(len(chosen), 'run')} chosen")
    with st.container(horizontal=True, vertical_alignment="center"):
        _links(chosen)
        if len(chosen) == 1:
            _refill_form(chosen[0])
            dataset = state.get("dataset")
            if opening.kind(dataset) == "classes" and readable(chosen[0], dataset):
                reference_button(f"run:{chosen[0].id}", "what it predicts")
        if live := [run.id for run in chosen if not run.has_ended]:
            label, about = f"Cancel{f' {len(live)}' * (len(chosen) > 1)}", "Stop them; what they have learnt is kept"
            st.button(label, icon=":material/stop_circle:", help=about, on_click=attempt, args=(cancel_all, live))
        _delete(chosen, names)
    if len(chosen) == 1:
        with st.container():  # what comes and goes in it does not move the log's fragment
            _show_outcome(chosen[0])
        with st.expander("Log", expanded=chosen[0].state == "failed", icon=":material/notes:"):
            _log(chosen[0])
        return
    st.markdown("**What differs**")
    frame = runs.settings_table(chosen, learners.settings_in_words, learners.setting_title)
    if len(frame):
        st.dataframe(frame, hide_index=True, column_config={"setting": st.column_config.TextColumn("", pinned=True)})
    else:
        st.caption("They have the same settings, seeds and data.")
    _tags(chosen)


def _show_outcome(run: Run) -> None:
    """Show outcome, files, name, note and tags of a run."""
    for text in filter(None, (run_outcome(run) if run.state == "finished" else "", run.note)):
        st.caption(as_text(text))
    if run.message:
        (st.error if run.state == "failed" else st.info)(as_text(run.message))
    _take_along(run)
    _marks(run)
    if run.spec.search is None:
        st.caption("The same on the command line")
        st.code(runs.command_line(run.spec), language=None, wrap_lines=True)


def _links(chosen: Sequence[Run]) -> None:
    """Links to Compare and to the runs of each dataset."""
    places: dict[str, list[str]] = {}
    for run in chosen:
        ids = places.setdefault(app_dataset(run), [])
        ids += [run_id for run_id in [run.spec.parent or run.id] if run_id not in ids]
    elsewhere = places.pop("", [])
    for name, ids in list(places.items())[:PLACES]:
        if name != state.get("dataset") or any(run.spec.parent for run in chosen):
            label = "Open" if name == state.get("dataset") else f"Open on {name}"
            link("train", as_text(label), icon="open_in_full", dataset=name, runs=ids, help="Progress, curves, log")
        if len(ids) > 1:
            shown = as_text(f"Compare {len(ids)}" + (f" on {name}" if len(places) > 1 else ""))
            link("compare", shown, icon="leaderboard", dataset=name, runs=ids, help="Accuracies, tests, curves")
    if elsewhere:
        about = "Trained from the command line on files that the app has not opened: "
        st.caption(as_text(f"{about}{count(len(elsewhere), 'run')}."))


def app_dataset(run: Run) -> str:
    """Name of a run's dataset in the app; "" where the app cannot open it."""
    path = Path(run.spec.dataset)
    if not path.is_absolute():
        return run.spec.dataset
    return path.name if path.parent == workspace() / "datasets" else ""


def cancel_all(run_ids: Sequence[str]) -> None:
    """Ask these runs to stop."""
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
    """A widget that shows the recorded value, again whenever the record changes."""
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
    """Add tags to all runs, or remove them."""
    ids = [run.id for run in chosen]
    with st.form("tags-of-several", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.multiselect("Tags", _known_tags(), key="tags-chosen", **_FREE)
        st.form_submit_button("Put on all", icon=":material/new_label:", on_click=attempt, args=(_tag, ids, True))
        st.form_submit_button("Take off all", icon=":material/label_off:", on_click=attempt, args=(_tag, ids, False))


def _tag(run_ids: Sequence[str], on: bool) -> None:
    words = st.session_state["tags-chosen"]
    recorded.act(runs.change_tags, run_ids, *((words, []) if on else ([], words)))


def run_outcome(run: Run) -> str:
    """Reason why a run waits, or its outcome."""
    if run.state == "queued":
        return run.message or "waits for its turn"
    words: list[str] = [run.state] if run.state != "finished" else []
    if reached := _test_scores(run):
        words.append(reached)
    else:
        words += [f"{score} last" for score in measured_now(run) if score.startswith(SPLITS["valid"])]
    if run.started and run.ended:
        words.append(duration((run.ended - run.started).total_seconds()))
    return " · ".join([*words, *([run.device] if run.device else []), *([run.message] if run.message else [])])


def measured_now(run: Run) -> list[str]:
    """Score of each split after the newest epoch, in words."""
    measure = leading(run.scores)
    if measure is None:
        return []
    known = {f"{split}_{measure.name}": words for split, words in SPLITS.items()}
    return [
        f"{words} {measure.words} {measure.format_mean(run.scores[s])}" for s, words in known.items() if s in run.scores
    ]


def _test_scores(run: Run) -> str:
    """Test score at three epochs, in words; "" without gold there."""
    measure = leading(run.scores)
    if measure is None:
        return ""
    known = {at: f"test_{measure.name}_{at}" for at in REACHED}
    scores = [f"{measure.format(run.scores, s)} ({REACHED[at]})" for at, s in known.items() if s in run.scores]
    return f"test {measure.words}: {' · '.join(scores)}" if scores else ""


def _refill_form(run: Run) -> None:
    """Button that fills the form with the run's settings."""
    if run.spec.search is None and st.button(
        "Run again with …", icon=":material/replay:", help="Fill the form above with its settings"
    ):
        prefill(train.draft_of(state.get("dataset"), run.spec))
        st.toast("The form above holds its settings.", icon=":material/replay:")
        st.rerun()


def _take_along(run: Run) -> None:
    if not run.has_result:
        return
    name = f"{run.spec.method}-{run.id[:8]}"
    with st.container(horizontal=True, vertical_alignment="center"):
        download("Predictions", lambda: csv_bytes(runs.predictions(run.id)), f"{name}-predictions.csv")
        kinds = recorded.model_kinds() if opening.kind(state.get("dataset")) == "classes" else {}
        for kind, words in kinds.items():
            download(f"Model ({words})", partial(recorded.model_archive, run.id, kind), f"{name}-{kind}.zip")


def _log(run: Run) -> None:
    """Show the last lines of the log, refreshed while the run is live."""

    def look() -> None:
        with refusals():
            lines = runs.log_lines(run.id, LINES)
            st.code("\n".join(lines) or "Nothing yet.", language=None, wrap_lines=True, height=260)

    st.fragment(look, run_every=None if run.has_ended else LOG_EVERY)()
