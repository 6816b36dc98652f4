"""State of the address bar and the session: plain strings, so that a link reopens the same view.

A view is a handful of named strings. Those of `SHARED` belong to every page, the rest to one page. The session
keeps them; the address bar repeats those of the page on screen. Whoever changed last wins: a widget (`put`
marks it before the script runs) or else the address (a link, the back button, a typed address).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from crowdcore.exhibits import between


def _limits(begin: str) -> tuple[str, ...]:
    """Fields of a filter by number; see `limited`."""
    return (f"{begin}column", f"{begin}least", f"{begin}most")


SHARED = ("dataset", "reference", "names")
CARRIED = ("runs",)  # of every page that has them: what is ticked on one is what others show
PAGES: Mapping[str, tuple[str, ...]] = {
    "overview": ("view", "file", "remove", "trust", "confused", "sure", *_limits("w"), *_limits("t")),
    "sandbox": ("crowd", "vary", "tasks", "repeats", "planted", "methods", "settings", "whose", "by"),
    "mistakes": ("true", "given", "layer", "beside", "marks", "behind", "runs"),
    "annotators": ("view", "kind", "groups", "worker", "other", "true", "given", "without", "together", *_limits("")),
    "panel": ("worker", "other", "passes"),
    "rounds": ("second", "by", "at"),
    "aggregate": ("methods", "gold", "first", "second", "result", "worker", "curve"),
    "tasks": ("task", "show", "true", "given", "worker", "other", "sort", *_limits("")),
    "review": ("by", "show", "true", "given", "workers", "against", "task", "worker"),
    "check": ("rules", "strict"),
    "next": ("budget", "capacity", "available", "flagged", "task", "true", "given"),
    "train": (
        *("methods", "settings", "runs", "view", "metric", "smooth", "axes"),
        *("datasets", "method", "states", "tags", "find", "trials"),
    ),
    "compare": (
        *("runs", "view", "at", "split", "first", "second"),
        *("axis", "crowds", "searches", "worker"),
    ),
    "confusions": (
        *("runs", "beside", "seed", "epoch", "part", "view", "sort", "group", "diagonal", "scale"),
        *("worker", "true", "given"),
    ),
    "omega": ("runs", "seed", "epoch", "view", "half", "true", "worker", "task"),
    "report": ("runs", "parts"),
    "reproduction": ("entry", "scale"),
    "spans": (),
    "ratings": ("view", "worker", "other", "part"),
    "glossary": (),
    "own": ("view",),
}


_MANY = {
    *("rules", "methods", "without", "available", "workers", "runs", "parts", "crowds", "searches", "vary", "planted"),
    *("datasets", "method", "states", "tags", "metric", "axes"),
}


_WORKERS = {"worker", "workers", "other", "without", "available"}
_NAMES = {"true": "class", "given": "class", "worker": "worker", "other": "worker"}
_FLEETING = ("task",)  # forgotten when a page is opened from the menu
_SEPARATOR = "\x1f"


def _memory() -> dict[str, dict[str, str]]:
    return st.session_state.setdefault("view", {name: {} for name in ("shared", *PAGES)})  # type: ignore[no-any-return]


def _drawer(key: str) -> dict[str, str]:
    return _memory()["shared" if key in (*SHARED, *CARRIED) else st.session_state["page"]]


def _params() -> dict[str, str]:
    """The address bar's parameters that are ours."""
    keys = (*SHARED, *PAGES[st.session_state["page"]])
    values = {key: st.query_params.get_all(key) for key in keys}
    return {key: _SEPARATOR.join(texts if key in _MANY else texts[-1:]) for key, texts in values.items() if texts}


def enter(page: str) -> None:
    """Begin a run of ``page``: take over what the address bar says, unless a widget has just changed."""
    arrived = st.session_state.get("page") != page
    st.session_state["page"] = page
    st.session_state["unknown"] = {}
    params = _params()
    moved = params != st.session_state.get("address")
    st.session_state["moved"] = arrived or moved or st.session_state.get("moved", False)
    if (not st.session_state.pop("touched", False) or arrived) and moved:  # a widget of the page before says nothing
        memory = _memory()
        if arrived and not set(params) - set(SHARED):
            for key in _FLEETING:
                memory[page].pop(key, None)
        else:
            memory[page] = {}
            for key in set(CARRIED) & set(PAGES[page]):
                memory["shared"].pop(key, None)
        if params.get("dataset") not in {None, memory["shared"].get("dataset")}:
            _forget_pages()
        for key, value in params.items():
            _drawer(key)[key] = value


def _forget_pages() -> None:
    """Drop the choices of all pages, which mean nothing for another dataset."""
    for page in PAGES:
        _memory()[page] = {}
    for key in CARRIED:
        _memory()["shared"].pop(key, None)


def page() -> str:
    """The page on screen."""
    return str(st.session_state["page"])


def get(key: str, default: str = "") -> str:
    """The value of ``key`` on this page as chosen, else as settled, else ``default``."""
    return _drawer(key).get(key) or st.session_state.get("settled", {}).get(key, default)


def kept() -> dict[str, str]:
    """Choices of this page, except its view and what links of the menu drop."""
    return {key: text for key, text in _memory()[page()].items() if key not in ("view", *_FLEETING)}


def same_items(there: str) -> dict[str, str | list[str]]:
    """The filter of the items on this page, for a link to another page about them."""
    here = page()
    if here == there or not {here, there} <= {"tasks", "review", "next"}:
        return {}
    query: dict[str, str | list[str]] = {key: get(key) for key in ("true", "given")}
    if "next" in (here, there):
        return query
    if get("show") == "disputed":  # the one that both have
        query["show"] = "disputed"
    workers = [get("worker")] if here == "tasks" else get_many("workers")
    return query | ({"workers": workers} if there == "review" else {"worker": workers[0] if len(workers) == 1 else ""})


def chosen(key: str) -> str:
    """The value of ``key`` if it was chosen, else empty."""
    return _drawer(key).get(key, "")


def get_many(key: str) -> list[str]:
    """The values of a key that holds several."""
    return [value for value in get(key).split(_SEPARATOR) if value]


def one_of(key: str, options: Sequence[str]) -> str | None:
    """The value of ``key`` if it is one of ``options``, else None; an unknown name is noted (`unknown_names`)."""
    value = get(key)
    if value in options:
        return value
    if value and key in _NAMES:
        st.session_state.setdefault("unknown", {})[value] = _NAMES[key]
    return None


def unknown_names() -> dict[str, str]:
    """Names in the address that the dataset does not have -> class or worker."""
    return st.session_state.get("unknown", {})  # type: ignore[no-any-return]


def index_of(key: str, options: Sequence[str]) -> int | None:
    """Position of the value of ``key`` among ``options``, or None."""
    value = get(key)
    return list(options).index(value) if value in options else None


def whole(key: str, usual: int, least: int = 0, most: int = 10**6) -> int:
    """The value of ``key`` if it is a whole number between two others, else ``usual``."""
    text = get(key)
    return int(text) if text.isdecimal() and least <= int(text) <= most else usual


def put(**values: str | list[str] | None) -> None:
    """Set values of this page; empty or None forgets. To be called in a widget's callback."""
    if "dataset" in values:
        _forget_pages()
    for key, value in values.items():
        text = _SEPARATOR.join(value) if isinstance(value, list) else value
        if text:
            _drawer(key)[key] = text
        else:
            _drawer(key).pop(key, None)
    st.session_state["touched"] = True


def rename(names: Callable[[], Mapping[str, str]]) -> None:
    """Rename the workers in this page's address."""
    drawer = _memory()[page()]
    for key in _WORKERS & drawer.keys():
        other_names = names()
        drawer[key] = _SEPARATOR.join(other_names.get(name, name) for name in drawer[key].split(_SEPARATOR))


def settle(**values: str) -> None:
    """Set the `SHARED` values that are shown where none is chosen, for the address bar."""
    st.session_state["settled"] = values


def bind(
    key: str,
    value: object,
    *,
    words: tuple[str, str] = ("yes", ""),
    among: Sequence[str] | None = None,
    of: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Arguments that tie a widget to ``key``: it shows ``value`` now, and its change is remembered as text.

    Args:
        key: the name in the address bar; one widget per page.
        value: what the widget shows, of the widget's own type.
        words: those for True and False.
        among: the only values to remember; a browser may still send the title that an option had before.
        of: options that a browser knows by their place: with others, the widget is another one, or the place that
            the browser remembers would mean another value.
    """
    widget = f"{st.session_state['page']}-{key}"
    widget += "" if of is None else f"-{zlib.crc32(_SEPARATOR.join(of).encode()):08x}"
    show(widget, value)
    return {"key": widget, "on_change": _take, "args": (widget, key, words, among)}


def show(widget: str, value: object) -> None:
    """Have a widget, by its key, show a value; the same value again would undo what the user has chosen meanwhile."""
    if widget not in st.session_state or st.session_state[widget] != value:
        st.session_state[widget] = value


def _take(widget: str, key: str, words: tuple[str, str], among: Sequence[str] | None) -> None:
    value = st.session_state[widget]
    if among is not None and value not in among:
        return
    if isinstance(value, bool):
        value = words[0] if value else words[1]
    put(**{key: [str(v) for v in value] if isinstance(value, list) else None if value is None else str(value)})


def publish() -> None:
    """End a run: write the view into the address bar.

    Where a link has just led here, it is written even if nothing differs: the address that the run before sent
    may reach the browser after the link was followed. The browser adds no step to its history for the same address.
    """
    st.session_state.pop("touched", None)
    page = st.session_state["page"]
    view = {key: value for key in (*SHARED, *PAGES[page]) if (value := get(key))}
    st.session_state["address"] = view
    if st.session_state.pop("moved", False) or view != _params():
        others = {k: st.query_params.get_all(k) for k in st.query_params if k not in (*SHARED, *PAGES[page])}
        st.query_params.from_dict({**others, **_unpacked(view)})


def address(page: str, **values: str | list[str] | None) -> dict[str, str | list[str]]:
    """Query parameters of a link to ``page`` that shows ``values``, of the same dataset and reference unless given.

    None leaves a value to the page.
    """
    texts = {key: _SEPARATOR.join(value) if isinstance(value, list) else value for key, value in values.items()}
    common = (*SHARED, *(key for key in CARRIED if key in PAGES[page] and "dataset" not in values))
    shared = {key: get(key) for key in common if get(key) and values.get(key, "") is not None}
    own = {key: text for key, text in texts.items() if text and key in (*SHARED, *PAGES[page])}
    return _unpacked({**shared, **own})


def _unpacked(view: Mapping[str, str]) -> dict[str, str | list[str]]:
    return {key: value.split(_SEPARATOR) if key in _MANY else value for key, value in view.items()}


def limited(frame: pd.DataFrame, begin: str, shares: Collection[str]) -> pd.DataFrame:
    """Draw the filter, and return the rows that pass it.

    Args:
        frame: the whole table.
        begin: of the address's fields ``column``, ``least`` and ``most``.
        shares: columns that are shown in per cent, and so are their limits.
    """
    numbers = [str(name) for name in frame.columns if frame[name].dtype.kind in "iuf"]
    if not numbers:
        return frame
    column = one_of(f"{begin}column", numbers)
    ends = [_number(get(f"{begin}{end}")) for end in ("least", "most")]
    label = f"{column.replace('_', ' ')}: {_words(*ends)}" if column else "Limits"
    with st.popover(label, icon=":material/filter_alt:", key=f"limits-{begin}"):
        st.selectbox("Column", numbers, index=None, placeholder="A column", **bind(f"{begin}column", column))
        unit = " (%)" if column in shares else ""
        for end, title, value in zip(("least", "most"), ("At least", "At most"), ends, strict=True):
            st.number_input(f"{title}{unit}", value=None, disabled=not column, **bind(f"{begin}{end}", value))
    if not column:
        return frame
    least, most = (end if end is None or column not in shares else end / 100 for end in ends)
    return between(frame, column, least, most)


def _number(text: str) -> float | None:
    """The number that the address holds, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _words(least: float | None, most: float | None) -> str:
    ends = [f"≥ {least:g}" if least is not None else "", f"≤ {most:g}" if most is not None else ""]
    return " and ".join(filter(None, ends)) or "any"
