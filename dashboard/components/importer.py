"""Open a file of one's own: upload it, see what was understood, answer questions, accept."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pandas as pd
import streamlit as st

from crowdcore.core import confined
from crowdcore.core.errors import CrowdError
from crowdcore.data.uploads import digest_of
from dashboard import state
from dashboard.components.table import numbers, table
from dashboard.components.text import WIDGETS, as_text, count, in_app, listed
from dashboard.services import uploads

if TYPE_CHECKING:
    from crowdcore.data import Finding, Import, ImportReport
    from crowdcore.data.reading.examine import RatingValues
    from crowdcore.data.report import Role, Variants


KINDS = {"classes": "Classes, or tags of tokens", "ratings": "Ratings: numbers, or words in an order"}


def reading(
    path: str,
    mapping: dict[str, Any],
    setting: str,
    value: object,
    kept: Callable[[Any], object] = lambda value: value,
    forget: Collection[str] = (),
) -> dict[str, Any]:
    """Arguments that tie a widget to a setting of how a file is read; None forgets it.

    Args:
        path: of the file.
        mapping: how it is read.
        setting: a key of it.
        value: what the widget shows now.
        kept: what is kept of what the widget shows.
        forget: settings that mean nothing once this one changes.
    """
    key = f"{setting}-{path}"

    def chosen() -> None:
        for name in (setting, *forget):
            mapping.pop(name, None)
        if (held := kept(st.session_state[key])) is not None:
            mapping[setting] = held

    state.show(key, value)
    return {"key": key, "on_change": chosen}


def ask_kind(path: str, mapping: dict[str, Any], found: str | None) -> None:
    """What the labels are, if not what was found; settings that mean nothing for the other kind are forgotten."""
    key = f"kind-{path}"

    def chosen() -> None:
        for name in set(mapping) - uploads.COMMON:
            del mapping[name]
        mapping["kind"] = st.session_state[key]

    state.show(key, mapping.get("kind", found))
    said, label = KINDS.__getitem__, "The labels are"
    st.radio(label, list(KINDS), index=None, format_func=said, key=key, on_change=chosen, horizontal=True)


def ask_scale(path: str, mapping: dict[str, Any], found: RatingValues) -> bool:
    """Lowest and highest rating, or the words from low to high; whether they are known now."""
    if found.low is None:
        _ask_words(path, mapping, found.words)
        return len(mapping.get("levels", ())) > 1
    with st.container(horizontal=True):
        low = _ask_end(path, mapping, "low", "Lowest", found.low)
        high = _ask_end(path, mapping, "high", "Highest", found.high)
    st.caption(f"The ratings of the file go from {found.low:g} to {found.high:g}.")
    return low is not None and high is not None


def _ask_end(path: str, mapping: dict[str, Any], name: str, word: str, seen: float | None) -> float | None:
    bound = reading(path, mapping, name, mapping.get(name), lambda end: None if end is None else float(end))
    label = f"{word} rating that can be given"
    st.number_input(label, value=None, placeholder=f"{seen:g} in the file", format="%g", width=260, **bound)
    return mapping.get(name)


def _ask_words(path: str, mapping: dict[str, Any], words: tuple[str, ...]) -> None:
    st.multiselect(
        "Words, from the lowest to the highest",
        words,
        placeholder="Choose the lowest first",
        help="They stand for 1, 2, 3 … in the order in which you choose them.",
        **reading(path, mapping, "levels", list(mapping.get("levels", ())), tuple),
    )


_ABOUT: dict[Role, tuple[str, str, str]] = {
    "label": ("merge_classes", "class", "classes"),
    "worker": ("merge_workers", "worker", "workers"),
}
_ROWS = 8  # that are seen before the table scrolls


def open_questions(report: ImportReport) -> bool:
    """Whether some spellings may be one name and are kept apart, or labels may name several classes."""
    return any(not v.merged for v in report.variants) or any(f.code == "multi-select" for f in report.findings)


def merging(report: ImportReport, mapping: dict[str, Any], path: str) -> None:
    """Draw what was found of each kind; a button changes ``mapping``, how the file at ``path`` is read."""
    for role in _ABOUT:
        if found := [variants for variants in report.variants if variants.role == role]:
            _spellings(role, found, mapping, path)
    _combinations(report, mapping, path)


def _spellings(role: Role, found: list[Variants], mapping: dict[str, Any], path: str) -> None:
    setting, one, many = _ABOUT[role]
    apart = [variants for variants in found if not variants.merged]
    asked = setting in mapping
    with st.container(border=True):
        st.subheader(f"{count(len(found), one, many)} spelled in several ways")
        table = _table(found)
        st.dataframe(table, hide_index=True, height=35 + 33 * min(len(table), _ROWS), key=f"variants-{role}-{path}")
        if asked:
            _button(f"Keep {many} apart again", "undo", f"apart-{role}-{path}", lambda: mapping.pop(setting, None))
        elif apart:
            names = [variants.name for variants in apart]
            chosen = names
            if len(names) > 1:
                chosen = st.multiselect(f"Merge into these {many}", names, names, key=f"chosen-{role}-{path}")
            others = {v.name: tuple(sorted({n for n in v.becomes if n != v.name})) for v in apart if v.name in chosen}
            _button(
                f"Merge {count(sum(map(len, others.values())), 'variant')}",
                "merge",
                f"merge-{role}-{path}",
                lambda: mapping.update({setting: others}),
                disabled=not others,
            )
        else:
            st.caption("They differ only in surrounding spaces or in the encoding of accents, which are ignored.")


def _combinations(report: ImportReport, mapping: dict[str, Any], path: str) -> None:
    finding = next((f for f in report.findings if f.code == "multi-select"), None)
    of_tool = any(f.code == "several-choices" for f in report.findings)  # asked elsewhere
    dropped = mapping.get("multi_select") == "drop" and not of_tool
    if finding is None and not dropped:
        return
    with st.container(border=True):
        st.subheader("Labels with several classes")
        if finding is not None:
            st.write(as_text(finding.sentence + "."))
            label = f"Leave {count(finding.count, 'label')} out"
            _button(label, "content_cut", f"drop-{path}", lambda: mapping.update(multi_select="drop"))
        else:
            st.write("They are left out, as listed above.")
            _button("Keep them as classes", "undo", f"keep-{path}", lambda: mapping.pop("multi_select", None))


def _button(label: str, icon: str, key: str, act: Callable[[], Any], disabled: bool = False) -> None:
    st.button(label, icon=f":material/{icon}:", key=key, on_click=act, disabled=disabled)


def _table(found: list[Variants]) -> pd.DataFrame:
    """Each spelling, quoted so that blanks and loose accents are seen, its number of rows, what it is read as."""
    rows = [
        (ascii(spelling) if spelling != normalize("NFC", spelling) else repr(spelling), rows, becomes)
        for variants in found
        for spelling, rows, becomes in zip(variants.spellings, variants.counts, variants.becomes, strict=True)
    ]
    return pd.DataFrame(rows, columns=["written as", "labels", "read as"])


MINUS_ONE = {("-1",): "No label", (): "A label"}  # setting `missing` -> what -1 is
SEVERAL = {"drop": "Leave out", "keep": "Each combination is a class"}
UNMARKED = {"drop": "Leave out", "keep": "Seen: nothing to mark"}
FLAGGED = {"keep": "Keep", "drop": "Leave out"}
REPEATS = {"keep": "Keep and count all", "first": "Keep the first", "last": "Keep the last", "majority": "Majority"}
_OF_NAMES = ("merge_classes", "merge_workers", "multi_select")  # mean nothing once another column is chosen


def importer() -> None:
    """Draw the steps as far as the user has got."""
    st.markdown(
        "A table with one row per label (**task, worker, label**, optionally **gold**) as CSV, TSV, JSON lines or "
        "Parquet; a table of tasks × workers; an export of Mechanical Turk, Toloka, Appen, SageMaker Ground Truth, "
        "Label Studio, Prodigy, doccano, Argilla or LightTag; or a ZIP of a dataset folder, of a table with the images "
        "that its column **image** names, or of a folder of images for each class. Ratings and spans of texts open too."
    )
    path = chosen_file()
    if path is None:
        confined.server.start()  # what examines files is loaded by the time that one comes
        st.caption("The file stays on this machine, in the app's workspace.")
        return
    mapping: dict[str, Any] = st.session_state.setdefault("mapping", {}).setdefault(path, {})
    place, found = st.container(), None
    try:
        found = understood(path, mapping)
    except CrowdError as error:
        question = getattr(error, "code", "") == "many-numbers"
        with place:
            ask_kind(path, mapping, None if question else "classes")
        if question:
            st.warning(as_text(error.phrased(in_app)), icon=":material/help:")
            return
        if not mapping:
            raise
        st.error(as_text(error.phrased(in_app)), icon=":material/error:")
        st.button("Undo the choices", icon=":material/undo:", on_click=mapping.clear)
        return
    rated = found is not None and found.report.rating_range is not None
    with place:
        ask_kind(path, mapping, "ratings" if rated else "classes")
    if found is not None:
        offer(found, path, mapping)


def understood(path: str, mapping: dict[str, Any]) -> Import | None:
    """What a file holds; None while the user has to say more, which is asked for."""
    how = tuple(sorted(mapping.items()))
    if mapping.get("kind") == "ratings":
        values = uploads.rating_values(path, how)
        if not isinstance(values, tuple) and not ask_scale(path, mapping, values):
            with st.expander("Columns and repeats", expanded=False):
                ask(path, mapping, values.columns, values.roles)
            return None
    found = uploads.examine(path, how)
    if not isinstance(found, tuple):
        return found
    columns, roles = found
    missing = " and the ".join(role for role in ("task", "worker", "label") if role not in roles)
    st.warning(f"No column is recognised as the {missing}. Choose below.", icon=":material/help:")
    ask(path, mapping, columns, roles)
    ask_wide(path, mapping, columns)
    return None


def offer(found: Import, path: str, mapping: dict[str, Any]) -> None:
    """What was understood, what can be read otherwise, and the way in."""
    report(found, path)
    merging(found.report, mapping, path)
    with st.expander("Columns and repeats", expanded=False):
        ask(path, mapping, found.report.columns, found.report.roles)
        if found.report.format == "wide":
            ask_wide(path, mapping, found.report.columns)
        ask_tool(path, mapping, {finding.code for finding in found.report.findings})
    ratings = found.report.rating_range is not None
    if not ratings:
        ask_split(path, mapping, found.report)
    changes = len(found.report.changes)
    label = f"Accept {count(changes, 'change')} and open" if changes else "Open it"
    if st.button(label, type="primary", icon=":material/check:"):
        name = uploads.accept(found, path, tuple(sorted(mapping.items())))
        state.put(dataset=name)
        page = "ratings" if ratings else "overview"
        st.switch_page(f"views/{page}.py", query_params=state.address(page))


def chosen_file() -> str | None:
    """The path of the file that was just uploaded, or that the address names."""
    file, taken = st.file_uploader("File", key="upload", label_visibility="collapsed"), st.session_state.get("received")
    if file is not None and file.file_id != taken:
        state.put(file=digest_of(uploads.receive(file.name, file)))
        st.session_state["received"] = file.file_id
    elif file is None and taken is not None:
        state.put(file=None)
        del st.session_state["received"]
    digest = state.get("file")
    return uploads.receive_again(digest) if digest else None


def ask(path: str, mapping: dict[str, Any], columns: tuple[str, ...], roles: dict[str, str]) -> None:
    """Which column plays which role, and what to do with repeats."""
    with st.container(horizontal=True):
        for role in uploads.MAPPED:
            if role in roles and roles[role] not in columns:
                continue  # a tool's file says so, and leaves no choice
            value = mapping.get(role) or roles.get(role)
            bound = reading(path, mapping, role, value if value in columns else None, forget=_OF_NAMES)
            st.selectbox(role.capitalize(), columns, index=None, **bound)
        bound = reading(path, mapping, "repeats", mapping.get("repeats", "keep"))
        st.selectbox(WIDGETS["repeats"], list(REPEATS), format_func=REPEATS.__getitem__, **bound)


def ask_wide(path: str, mapping: dict[str, Any], columns: tuple[str, ...]) -> None:
    """Which columns of a wide table are workers, and what -1 means."""
    with st.container(horizontal=True):
        bound = reading(path, mapping, "workers", list(mapping.get("workers", ())), lambda names: tuple(names) or None)
        st.multiselect(WIDGETS["workers"], columns, placeholder="Detected", **bound)
        bound = reading(path, mapping, "missing", mapping.get("missing"))
        said = MINUS_ONE.__getitem__
        st.selectbox(WIDGETS["missing"], list(MINUS_ONE), index=None, format_func=said, placeholder="Detected", **bound)


def ask_tool(path: str, mapping: dict[str, Any], found: Collection[str]) -> None:
    """What to do with annotations of a tool's export that were ``found`` to hold several choices, or are flagged."""
    with st.container(horizontal=True):
        for setting, options, code in (
            ("multi_select", SEVERAL, "several-choices"),
            ("flagged", FLAGGED, "flagged"),
            ("unmarked", UNMARKED, "unmarked"),
        ):
            if code in found or setting in mapping:
                bound = reading(path, mapping, setting, mapping.get(setting, next(iter(options))))
                st.selectbox(WIDGETS[setting], list(options), format_func=options.__getitem__, **bound)


def ask_split(path: str, mapping: dict[str, Any], told: ImportReport) -> None:
    """How many tasks validate and test, where the file does not say."""
    if "split" in told.roles:
        return
    with st.expander("Validation and test tasks", expanded=False):
        st.caption("Drawn at random, by class; tasks with the same value in a column can be kept together.")
        with st.container(horizontal=True):
            for setting, label in (("valid_share", "Validation (%)"), ("test_share", "Test (%)")):
                percent = round(100 * mapping.get(setting, 0))
                bound = reading(path, mapping, setting, percent, lambda share: share / 100 or None)
                st.number_input(label, 0, 90, width=150, **bound)
            bound = reading(path, mapping, "split_seed", mapping.get("split_seed", 0), lambda seed: seed or None)
            st.number_input("Seed of the draw", 0, None, width=150, **bound)
            others = [c for c in told.columns if c not in told.roles.values()]
            bound = reading(path, mapping, "group", mapping.get("group"))
            st.selectbox("Keep together", others, index=None, **bound)


def unusable(finding: Finding) -> None:
    """The tasks whose image or text cannot be used, one below the other."""
    more = finding.count - len(finding.examples)
    named = [*finding.examples, *([f"and {more:,} more"] if more else [])]
    st.warning(listed(finding.sentence.partition(":")[0], named, finding.remedy), icon=":material/broken_image:")


def report(found: Import, path: str) -> None:
    """What was understood, what would change, what looks odd."""
    told = found.report
    how = ", ".join(part for part in (told.format, told.encoding) if part)
    roles = ", ".join(f"{role} from {column!r}" for role, column in told.roles.items())
    st.header(f"{as_text(uploads.called(told.source, path))}: what was understood")
    st.caption(as_text(f"{how}. {roles}." if roles else f"{how}."))
    span = told.rating_range and "{:g} to {:g}".format(*told.rating_range)
    cells = {
        "Tokens" if told.n_sentences else "Tasks": f"{told.n_tasks:,}",
        "Workers": f"{told.n_workers:,}",
        "Annotations": f"{told.n_annotations:,}",
        "Range" if span else "Classes": span or f"{len(told.classes):,}",
        "Tasks with gold": f"{told.n_gold:,}",
    }
    numbers(((label, value, None) for label, value in cells.items()), 120)
    held = count(told.n_rows, "cell" if told.format == "wide" else "tag" if told.n_sentences else "row")
    st.caption(f"{held} in the file: {told.n_annotations:,} became annotations, {told.n_left_out:,} are left out.")
    if not span:
        shown = ", ".join(told.classes[:20]) + (" …" if len(told.classes) > 20 else "")
        st.caption(as_text(f"Classes ({told.classes_from}): {shown}"))
    if told.times and not span:
        st.caption(as_text(f"Drift and speed are judged by {' and '.join(map(repr, told.times))}."))
    elif told.format == "long" and not span:
        st.caption("No column called 'timestamp' or 'seconds' holds times, so drift and speed cannot be judged.")
    if told.changes:
        changes = [change.phrased(in_app) for change in told.changes]
        st.warning(listed("Importing would leave out or merge", changes), icon=":material/content_cut:")
    elif open_questions(told):
        st.info("Nothing is dropped or merged yet. Below: names that may be the same.", icon=":material/call_merge:")
    else:
        what = "No label" if told.unusable else "Nothing"
        st.success(f"{what} would be dropped or merged.", icon=":material/check_circle:")
    for finding in told.unusable:
        unusable(finding)
    others = told.frame(in_app)
    apart = others["code"].isin([finding.code for finding in told.unusable])
    others = others[(others["level"] != "change") & ~apart].reset_index(drop=True)
    if len(others):
        table(others, "findings", name="findings", noun="finding")
    if told.rows_counted:
        st.caption(told.rows_counted)
