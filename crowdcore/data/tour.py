"""Tour of the demo dataset; `crowdcore app` prints it."""

from __future__ import annotations

from typing import NamedTuple

DEMO = "demo"


class Step(NamedTuple):
    """A question, and the page that answers it.

    Args:
        question: one short line.
        view: the page's file in ``dashboard/views``, without its ending.
        path: the page's address in the app.
        tab: the page's tab that answers it; empty: its first.
    """

    question: str
    view: str
    path: str
    tab: str = ""


TOUR = (
    Step("Whom can I trust, and what do I fix first?", "overview", "overview"),
    Step("Which mistake do most workers share?", "mistakes", "shared-mistakes"),
    Step("Who answers at random, who copies whom?", "annotators", "annotators", "Ranking"),
    Step("Does a classifier learn who is wrong?", "train", "train"),
)
