"""Any control, then any other: what a page then shows is what its address shows to somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import state
from tests.dashboard.app_page import open_page

KINDS = ("selectbox", "multiselect", "toggle", "select_slider", "slider", "number_input")
SAID = ("title", "header", "subheader", "markdown", "caption", "info", "warning", "error", "success", "code")
FOLLOW = {
    ("runs", "first"),
    ("runs", "second"),
    ("runs", "beside"),
    ("sort", "column"),
    ("budget", "capacity"),
    ("available", "capacity"),
    ("epoch", "half"),
    ("runs", "half"),
}
"""Controls of whose choices another decides what there is: names of the runs, bins of ω …"""


def controls(test: AppTest) -> dict[str, Any]:
    """Those of the page that its address names, by their key there, but for limits, which need a column first."""
    page = test.session_state["page"]
    found = {w.key.removeprefix(f"{page}-").split("-")[0]: w for kind in KINDS for w in test.main.get(kind) if w.key}
    mine = {key: w for key, w in found.items() if key in state.PAGES[page] and w.key.startswith(page)}
    return {key: w for key, w in mine.items() if not w.disabled and not key.endswith(("least", "most"))}


def shown(test: AppTest) -> dict[str, Any]:
    """What the page says and draws, and what its controls show."""
    assert not test.exception and not test.error
    found: dict[str, Any] = {kind: [str(part.value) for part in test.main.get(kind)] for kind in SAID}
    found["metric"] = [f"{part.label}: {part.value}" for part in test.main.get("metric")]
    found["tables"] = [frame.value.to_csv() for frame in test.main.get("dataframe")]
    found["figures"] = [chart.proto.spec for chart in test.main.get("plotly_chart")]
    return found | {"controls": {key: str(widget.value) for key, widget in controls(test).items()}}


def turn(widget: Any) -> None:
    """Choose something else."""
    if widget.type == "toggle":
        widget.set_value(not widget.value)
    elif widget.type in ("slider", "number_input"):
        widget.set_value(widget.value + 1)
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
    """The keys in an order in which any two are neighbours once: zigzags across a circle."""
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
        ("compare", {"view": "Curves"}),
        ("compare", {"view": "Differences"}),
        ("compare", {"view": "Recovery"}),
        ("aggregate", {"methods": ["majority-vote", "dawid-skene"]}),
    ],
    ids=lambda value: value if isinstance(value, str) else "".join(value.get("view", "")),
)
def test_any_two_controls(page: str, address: dict[str, Any], found: SimpleNamespace) -> None:
    test, other = (open_page(page, dataset="crowd", **address) for _ in range(2))
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
