"""Any control, then any other: the page then equals what its address shows to somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import state
from tests.dashboard.app_page import open_page

KINDS = ("selectbox", "multiselect", "toggle", "checkbox", "select_slider", "slider", "number_input", "text_input")
KINDS += ("button_group",)
FORMS = {
    "overview": ("trust", "wcolumn"),
    "check": ("Max shared mistakes", "Labels per task", "strict"),
    "sandbox": ("Common strength (share of wrong labels)", "Vary", "Crowds of each kind"),
    "train": ("Trace", "Seeds", "metric", "axes", "states"),
}
"""Pages with many fields -> those that are turned: by their key in the address, or by their label."""
OTHERS = {"workers": "tasks", "tasks": "workers"}
"""A value of a segmented control -> another."""
BESIDE = {"overview": ("reference", "names"), "report": ("reference", "names"), "check": ("names",)}
BESIDE |= {"ratings": ("reference", "names")}
"""Pages on which the controls beside the page are turned, too."""
SAID = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success", "code")
FOLLOW = {
    ("runs", "first"),
    ("runs", "second"),
    ("runs", "beside"),
    *((key, "column") for key in ("sort", "worker", "other")),  # of the table, which can be limited
    ("budget", "capacity"),
    ("available", "capacity"),
    ("epoch", "half"),
    ("runs", "half"),
}
"""Controls of whose choices another decides what there is: names of the runs, bins of ω …"""


def controls(test: AppTest) -> dict[str, Any]:
    """The controls that the page's address names, by their key there, without limits, which need a column first."""
    page = test.session_state["page"]
    drawn = [w for kind in KINDS for place in (test.main, test.sidebar) for w in place.get(kind) if w.key]
    study = {w.key.removeprefix(f"{page}-").split("-")[0]: w for w in drawn if w.key.startswith(f"{page}-")}
    mine = {key: w for key, w in study.items() if key in (*state.PAGES[page], *BESIDE.get(page, ()))}
    if page in FORMS:
        of_form = {w.label: w for w in drawn} | mine
        mine = {name: of_form[name] for name in (*FORMS[page], *BESIDE.get(page, ())) if name in of_form}
    return {key: w for key, w in mine.items() if not w.disabled and not key.endswith(("least", "most"))}


def shown(test: AppTest) -> dict[str, Any]:
    """Return the page's text and figures, and the values of its controls."""
    assert not test.exception and not test.error
    study: dict[str, Any] = {kind: [str(part.value) for part in test.main.get(kind)] for kind in SAID}
    study["metric"] = [f"{part.label}: {part.value}" for part in test.main.get("metric")]
    study["tables"] = [frame.value.to_csv() for frame in test.main.get("dataframe")]
    study["figures"] = [chart.proto.spec for chart in test.main.get("plotly_chart")]
    return study | {"controls": {key: str(widget.value) for key, widget in controls(test).items()}}


def turn(widget: Any) -> None:
    """Choose something else."""
    if widget.type in ("toggle", "checkbox"):
        widget.set_value(not widget.value)
    elif widget.type == "number_input" and isinstance(widget.value, float) and widget.value < 1:  # a share
        widget.set_value(0.5 if widget.value != 0.5 else 0.4)
    elif widget.type in ("slider", "number_input"):
        widget.set_value((widget.value or 0) + 1)
    elif widget.type == "text_input":  # seeds
        widget.set_value("3" if widget.value != "3" else "4")
    elif widget.type == "button_group" and widget.proto.click_mode == widget.proto.SINGLE_SELECT:
        widget.set_value(OTHERS[widget.value])
    elif widget.type == "button_group":  # axes, of which none is chosen at first, and the parts of a report
        widget.set_value(widget.value[1:] if len(widget.value) > 1 else [] if widget.value else ["log_values"])
    elif widget.type == "select_slider":  # of epochs
        widget.set_value("last" if widget.value == "0" else "0")
    elif widget.type == "multiselect":
        now = list(map(widget.format_func, widget.value))
        widget.set_value([name for name in widget.options if name not in now][:1])
    else:
        options = list(widget.options)
        now = options.index(widget.format_func(widget.value)) if widget.value is not None else -1
        widget.set_value(options[(now + 1) % len(options)])


def beside_each_other(keys: list[str]) -> Iterator[str]:
    """Order the keys so that any two are neighbours once: zigzags across a circle."""
    n = len(keys) + len(keys) % 2
    places = [(start + (k + 1) // 2 * (-1) ** (k + 1)) % n for start in range(n // 2) for k in range(n)]
    return (keys[place] for place in places if place < len(keys))


@pytest.mark.parametrize(
    ("page", "address"),
    [
        ("mistakes", {"true": "class 1", "given": "class 2"}),
        ("confusions", {}),
        ("omega", {"view": "Tasks"}),
        ("annotators", {"view": "Distances"}),
        ("annotators", {"view": "Together"}),
        ("tasks", {}),
        ("review", {}),
        ("next", {}),
        ("rounds", {"by": "halves"}),
        ("compare", {"view": "Differences"}),
        ("compare", {"view": "Recovery"}),
        ("aggregate", {"methods": ["majority-vote", "dawid-skene"]}),
        ("overview", {}),
        ("tasks", {"dataset": "rated"}),
        ("overview", {"dataset": "rated"}),
        ("ratings", {"dataset": "rated", "view": "shared", "part": "1"}),
        ("ratings", {"dataset": "rated", "view": "bias", "worker": "w2"}),
        ("ratings", {"dataset": "rated", "view": "pairs", "worker": "w2", "other": "w3"}),
        ("ratings", {"dataset": "rated", "view": "truth"}),
        ("train", {}),
        ("report", {}),
        ("check", {}),
        ("sandbox", {"crowd": "synthetic n_tasks=120 n_valid=20 n_test=20 n_workers=5 n_classes=3"}),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("view", value.get("dataset", "")),
)
def test_any_two_controls(page: str, address: dict[str, Any], study: SimpleNamespace) -> None:
    turn_any_two(page, address)


def turn_any_two(page: str, address: dict[str, Any]) -> None:
    """Turn the controls of a page, any two after one another."""
    test, other = (open_page(page, **{"dataset": "crowd", **address}) for _ in range(2))
    keys, before = list(controls(test)), ""
    for key in beside_each_other(keys):
        earlier = shown(test)["controls"]
        if key not in earlier:
            continue
        turn(controls(test)[key])
        now = shown(test.run())
        changed = {(key, k) for k, value in now["controls"].items() if k != key and earlier.get(k, value) != value}
        assert changed <= FOLLOW, (before, key)
        assert now["controls"][key] != earlier[key], (before, key)
        other.query_params.clear()
        for name, value in test.query_params.items():
            other.query_params[name] = value
        assert shown(other.run()) == now, (before, key)
        before = key
