"""A page of another package: a function of the page's `View`, which draws with Streamlit or returns exhibits."""

from __future__ import annotations

from crowdcore.core.registry import load_plugin
from dashboard import state
from dashboard.components.exhibit import looked_at, show
from dashboard.components.frame import heading, page
from dashboard.pages import ADDED


def draw() -> None:
    """The page that the address names, else the first."""
    title = state.get("view") if state.get("view") in ADDED else next(iter(ADDED))
    heading(title)
    plugin = load_plugin("page", ADDED[title], lambda drawn: "" if callable(drawn) else "is no function")(looked_at())
    for number, one in enumerate([] if plugin is None else plugin if isinstance(plugin, list | tuple) else [plugin]):
        show(one, f"own-{title}-{number}")


page("own", draw)
