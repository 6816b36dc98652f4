"""Controls of how a file is read, one for each setting, and the labels of buttons."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.data.readers import readers
from dashboard import state
from dashboard.services import uploads

if TYPE_CHECKING:
    from crowdcore.data.reading.examine import RatingValues

KINDS = {"classes": "Classes, or tags of tokens", "ratings": "Ratings: numbers, or words in an order"}
YES_NO = {True: "Yes", False: "No"}
CHOICES: dict[str, dict[Any, str]] = {
    "repeats": {"keep": "Keep all", "first": "Keep the first", "last": "Keep the last", "majority": "Majority"},
    "multi_select": {"drop": "Leave out", "keep": "Each combination is a class"},
    "flagged": {"keep": "Keep", "drop": "Leave out"},
    "unmarked": {"drop": "Leave out", "keep": "Seen: nothing to mark"},
    "header": YES_NO,
    "turn": YES_NO,
    "decimal": {".": "Point: 1,234.5", ",": "Comma: 1.234,5"},
    "delimiter": {",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Bar |", " ": "Blank"},
}
TITLES = {
    **{role: role.capitalize() for role in ("task", "worker", "label", "gold", "split", "text", "image", "audio")},
    "time": "Time of the label",
    "group": "Keep together",
    "workers": "Worker columns (wide table)",
    "fill": "Fill empty cells from above",
    "classes": "Classes, in their order",
    "missing": "Cells that mean “no label”",
    "repeats": "Repeats",
    "multi_select": "Several choices",
    "flagged": "Flagged by the tool",
    "unmarked": "Texts without a span",
    "question": "Question to read",
    "header": "The first row holds the column names",
    "skip": "Lines above the column names",
    "extra_headers": "Rows below them that explain",
    "turn": "Rows are workers, columns are tasks",
    "delimiter": "Delimiter",
    "decimal": "Sign before decimals",
    "encoding": "Encoding",
    "format": "Format",
    "sheet": "Sheet",
}
COLUMN = ("worker", "label", "gold", "split", "text", "image", "audio", "time", "group")
COLUMNS = ("task", "workers", "fill")
WORDS = ("classes", "missing")
NUMBERS = ("skip", "extra_headers")
LINES = ("question", "sheet")
_OF_NAMES = ("merge_classes", "merge_workers", "multi_select")  # mean nothing once another column is chosen
_MANY = 60  # names that a box lists
_MERGES = 4  # that a button names
_NONE = {"missing": "Treat no cell as missing", "fill": "Leave empty cells empty"}
_BUTTONS: dict[str, str | dict[Any, str]] = {
    **{role: f"Read the {role} from {{}}" for role in ("task", *COLUMN)},
    "workers": "Read {} as workers",
    "fill": "Fill {} from above",
    "missing": "Treat {} as missing",
    "classes": "Keep the classes {}",
    "question": "Read {}",
    "sheet": "Read the sheet {}",
    "encoding": "Read as {}",
    "format": "Read as {}",
    "skip": "Skip {} lines above the column names",
    "extra_headers": "Skip {} rows below the column names",
    "header": {True: "The first row holds the column names", False: "The first row is data"},
    "turn": {True: "Rows are workers: turn the table", False: "Rows are tasks: do not turn the table"},
    "quotes": {True: "Quotes enclose cells", False: "Quotes are letters"},
    "totals": {True: "It holds totals: leave it out", False: "It is a task: keep it"},
    "gold_worker": "The labels of {} are the true classes",
    "kind": {"classes": "They are classes", "ratings": "They are ratings"},
    "repeats": CHOICES["repeats"],
    "multi_select": {"drop": "Leave them out", "keep": "Make each combination a class"},
    "flagged": {"keep": "Keep them", "drop": "Leave them out"},
    "unmarked": {"drop": "Leave them out", "keep": "They were seen: keep them"},
    **dict.fromkeys(("merge_classes", "merge_workers"), "Merge them"),
    "merge_tasks": {True: "They are one task", False: "They are different tasks"},
    "decimal": {".": "Commas part thousands", ",": "Commas stand before decimals"},
}


@dataclass(frozen=True)
class Known:
    """Choices that a file offers.

    Args:
        path: of the file.
        columns: its columns.
        roles: role -> column, as it is read now.
        workers: the columns read as workers.
        classes: the classes found.
    """

    path: str
    columns: tuple[str, ...] = ()
    roles: Mapping[str, str] | None = None
    workers: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


def reading(
    path: str,
    mapping: dict[str, Any],
    setting: str,
    value: object,
    kept: Callable[[Any], object] = lambda value: value,
    forget: Collection[str] = (),
    place: str = "",
) -> dict[str, Any]:
    """Arguments that tie a widget to a setting of how a file is read; None forgets it.

    Args:
        path: of the file.
        mapping: how it is read.
        setting: a key of it.
        value: what the widget shows now.
        kept: what is kept of what the widget shows.
        forget: settings that mean nothing once this one changes.
        place: tells widgets of the same setting apart.
    """
    key = f"{place}{setting}-{path}"

    def chosen() -> None:
        for name in (setting, *forget):
            mapping.pop(name, None)
        if (value := kept(st.session_state[key])) is not None:
            mapping[setting] = value

    state.show(key, value)
    return {"key": key, "on_change": chosen}


def button_of(choice: Mapping[str, Any]) -> str:
    """Label of the button for a choice: ``Read the task from doc_id + sent_id``."""
    first, *others = [_button(setting, value) for setting, value in choice.items()]
    return ", ".join([first, *(words[:1].lower() + words[1:] for words in others)])


def _button(setting: str, value: Any) -> str:
    if setting in _NONE and not value:
        return _NONE[setting]
    if isinstance(value, dict) and len(value) <= _MERGES:
        return "Read " + ", ".join(f"“{'”, “'.join(names)}” as “{into}”" for into, names in value.items())
    words = [*value] if isinstance(value, list | tuple | dict) else [value]
    joined = (" + " if setting == "task" else ", ").join(f"“{word}”" for word in words)
    label = _BUTTONS.get(setting)
    if isinstance(label, str):
        shown = str(value) if setting in ("encoding", "format", *NUMBERS) else joined
        return label.format(shown)
    plain = (label or CHOICES.get(setting, {})).get(value) if isinstance(value, str | bool) else None
    return plain if plain and label else f"{TITLES.get(setting, setting)}: {plain or joined}"


def control(setting: str, known: Known, mapping: dict[str, Any], place: str = "") -> bool:
    """Draw the control of a setting; False for one that is set elsewhere on the page."""
    path, value, title = known.path, mapping.get(setting), TITLES.get(setting, setting)
    kept: Callable[[Any], object]

    def choose_one(setting: str, words: Mapping[Any, str], typed: bool = False) -> None:
        options = [*words] + ([value] if value is not None and value not in words else [])
        bound = reading(path, mapping, setting, value, place=place)
        show, hint = (lambda option: words.get(option, str(option))), "Detected"
        st.selectbox(title, options, index=None, format_func=show, placeholder=hint, accept_new_options=typed, **bound)

    if setting in COLUMN:
        seen = value or (known.roles or {}).get(setting)
        bound = reading(path, mapping, setting, seen if seen in known.columns else None, forget=_OF_NAMES, place=place)
        st.selectbox(title, known.columns, index=None, placeholder="Choose" if place else "None", **bound)
    elif setting in COLUMNS:
        detected = {"task": (known.roles or {}).get("task"), "workers": known.workers}.get(setting) or ()
        shown = _several(value if value is not None else detected)
        shown = [name for name in shown if name in known.columns]
        if len(shown) > _MANY:
            shown = []
        kept = _task if setting == "task" else lambda names: tuple(names) or None
        forget = _OF_NAMES if setting == "task" else ()
        bound = reading(path, mapping, setting, shown, kept, forget, place)
        many = setting == "workers" and len(known.workers) > _MANY
        hint = f"{len(known.workers):,} columns" if many else "Choose" if place else "None"
        st.multiselect(title, known.columns, placeholder=hint, **bound)
    elif setting in WORDS:
        words = _several(value)
        bound = reading(path, mapping, setting, words, lambda names: tuple(names) or None, place=place)
        options = [*dict.fromkeys((*words, *(("-1", "NA", ".", "-") if setting == "missing" else ()), *known.classes))]
        holder = "Empty cells" if setting == "missing" and value is None else "Choose or type"
        st.multiselect(title, options[: len(words) + _MANY], placeholder=holder, accept_new_options=True, **bound)
    elif setting in NUMBERS:
        st.number_input(title, 0, None, placeholder="Detected", **reading(path, mapping, setting, value, place=place))
    elif setting in LINES:
        bound = reading(path, mapping, setting, value or "", lambda text: text.strip() or None, place=place)
        st.text_input(title, placeholder="Detected", **bound)
    elif setting == "encoding":
        letters = {name: ", ".join(words) for name, words in uploads.decoded(path).items()}
        choose_one(setting, {name: f"{name}: {words}" if words else name for name, words in letters.items()}, True)
    elif setting == "format":
        choose_one(setting, {name: name for name in sorted(readers)})
    elif setting in CHOICES:
        choose_one(setting, CHOICES[setting])
    else:
        return False
    return True


def _several(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _task(names: Sequence[str]) -> object:
    """One column, several, or none."""
    return tuple(names) if len(names) > 1 else names[0] if names else None


_FORM = {
    "Columns": ("task", "worker", "label", "gold", "time", "workers"),
    "Labels": ("missing", "repeats", "question"),
    "Table": ("header", "skip", "extra_headers", "turn", "fill", "delimiter", "decimal", "encoding", "sheet", "format"),
}


def otherwise(known: Known, mapping: dict[str, Any], codes: Collection[str] = ()) -> None:
    """All controls of how the file is read, folded.

    Args:
        known: what there is to choose from.
        mapping: how the file is read.
        codes: codes of what was found; a tool's settings are offered where they mean something.
    """
    of_tools = {"multi_select": "several-choices", "flagged": "flagged", "unmarked": "unmarked"}
    with st.expander("Read it otherwise", expanded=False):
        for title, settings in _FORM.items():
            st.markdown(f"**{title}**")
            with st.container(horizontal=True):
                for setting in settings:
                    with st.container(width=250):
                        control(setting, known, mapping)
                for setting, code in of_tools.items() if title == "Labels" else ():
                    if code in codes or setting in mapping:
                        with st.container(width=250):
                            control(setting, known, mapping)
        if mapping:
            st.button("Undo all choices", icon=":material/undo:", on_click=mapping.clear, key=f"undo-{known.path}")


def ask_kind(path: str, mapping: dict[str, Any], kind_read: str | None) -> None:
    """Picker of the kind of labels; another kind drops the settings that mean nothing for it."""
    key = f"kind-{path}"

    def chosen() -> None:
        choose_kind(mapping, st.session_state[key])

    state.show(key, mapping.get("kind", kind_read))
    title_of, label = KINDS.__getitem__, "The labels are"
    st.radio(label, list(KINDS), index=None, format_func=title_of, key=key, on_change=chosen, horizontal=True)


def choose_kind(mapping: dict[str, Any], kind: str) -> None:
    """Read the labels as another kind."""
    for name in set(mapping) & uploads.OF_A_KIND:
        del mapping[name]
    mapping["kind"] = kind


def ask_scale(path: str, mapping: dict[str, Any], rated: RatingValues) -> bool:
    """Ask for the lowest and highest rating, or the words in order; return whether they are known now."""
    if rated.low is None:
        _ask_words(path, mapping, rated.words)
        return len(mapping.get("levels", ())) > 1
    with st.container(horizontal=True):
        low = _ask_end(path, mapping, "low", "Lowest", rated.low)
        high = _ask_end(path, mapping, "high", "Highest", rated.high)
    st.caption(f"The ratings of the file go from {rated.low:g} to {rated.high:g}.")
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
