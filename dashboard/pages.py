"""The menu: eight places, each with its modes, and the addresses of the pages behind them.

Other packages add pages to *More* by entry points of the group ``crowdcore.pages``; see `views.own`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from crowdcore.core.registry import plugged_in


class Mode(NamedTuple):
    """One way to look at a place.

    Args:
        label: what its link says.
        page: the page's file in ``views``, without its ending.
        view: of that page; empty where it has but one.
        of: kinds of labels that it is for: classes, tags, ratings; simulated: whose truth is known; models: of language
            models; all.
    """

    label: str
    page: str
    view: str = ""
    of: str = "classes"


class Place(NamedTuple):
    """An entry of the menu, which opens its first mode that fits the dataset."""

    title: str
    icon: str
    modes: tuple[Mode, ...]


ADDED = {entry.name.replace("-", " ").capitalize(): entry for entry in plugged_in("crowdcore.pages").values()}
"""Title -> page of another package."""
MENU = (
    Place(
        "Home",
        "home",
        (
            Mode("Overview", "overview", "Overview", "all"),
            Mode("Numbers", "overview", "Numbers"),
            Mode("Open a file", "overview", "Open a file", "all"),
            Mode("Report", "report", of="all"),
        ),
    ),
    Place(
        "Mistakes",
        "grid_on",
        (
            Mode("Spans", "spans", of="tags"),
            Mode("Shared mistakes", "mistakes"),
            Mode("Shared bias", "ratings", "shared", "ratings"),
        ),
    ),
    Place(
        "Workers",
        "groups",
        (
            Mode("Panel", "panel", of="models"),
            *(Mode(name, "annotators", name) for name in ("Ranking", "One worker", "Together", "Distances")),
            Mode("Bias", "ratings", "bias", "ratings"),
            Mode("Who errs alike", "ratings", "pairs", "ratings"),
        ),
    ),
    Place(
        "Items", "list_alt", (Mode("Look", "tasks", of="all"), Mode("Review", "review"), Mode("Next labels", "next"))
    ),
    Place("Labels", "how_to_vote", (Mode("Labels", "aggregate"), Mode("True ratings", "ratings", "truth", "ratings"))),
    Place("Runs", "model_training", (Mode("Runs", "train", of="all"),)),
    Place(
        "Compare",
        "leaderboard",
        (
            Mode("Accuracy", "compare", "Accuracy"),
            Mode("Significance", "compare", "Significance"),
            Mode("Confusions", "confusions"),
            Mode("Noise source ω", "omega"),
            Mode("Differences", "compare", "Differences"),
            Mode("Errors", "compare", "Errors", "ratings"),
            Mode("Calibration", "compare", "Calibration"),
            Mode("Selection", "compare", "Selection"),
            Mode("Sweeps", "compare", "Sweeps", "all"),
            Mode("Recovery", "compare", "Recovery", "simulated"),
            Mode("Biases", "compare", "Biases", "ratings"),
        ),
    ),
    Place(
        "More",
        "more_horiz",
        (
            Mode("Check", "check"),
            Mode("Two rounds", "rounds"),
            Mode("Sandbox", "sandbox", of="all"),
            Mode("Reproduction", "reproduction", of="all"),
            Mode("Glossary", "glossary", of="all"),
            *(Mode(title, "own", title) for title in ADDED),
        ),
    ),
)
PATHS: Mapping[str, str] = {"mistakes": "shared-mistakes"}
"""Addresses that are not the page's name."""
REDIRECTS: Mapping[str, str] = {"home": "", "data": "", "mistakes": "shared-mistakes"} | {
    "workers": "annotators",
    "items": "tasks",
    "labels": "aggregate",
    "noise-source": "omega",
    "next-labels": "next",
    "two-rounds": "rounds",
    "runs": "train",
}
"""Former addresses, and titles that are none -> address of the page."""


def place_of(page: str, view: str = "") -> Place:
    """Place of a page, or of one of its views, in the menu."""
    view = view or ("bias" if page == "ratings" else "")
    places = [place for place in MENU if any(mode.page == page for mode in place.modes)]
    return next((place for place in places if any(mode[1:3] == (page, view) for mode in place.modes)), places[0])


MODES = tuple(mode for place in MENU for mode in place.modes)
TITLES: Mapping[str, str] = {mode.page: mode.label for mode in reversed(MODES)} | {
    "overview": "Home",
    "mistakes": "Mistakes",
    "annotators": "Workers",
    "ratings": "Ratings",
    "tasks": "Items",
    "compare": "Compare",
}
ICONS: Mapping[str, str] = {page: place_of(page).icon for page in TITLES}
