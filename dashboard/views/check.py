"""Check: does the crowd keep its rules?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore.exhibits.check import checked
from dashboard import state
from dashboard.components.download import download
from dashboard.components.exhibit import looked_at
from dashboard.components.frame import hidden_names, page
from dashboard.components.guard import fragment, refused_before
from dashboard.components.rules_form import rules_form
from dashboard.components.text import as_text
from dashboard.components.verdict import badge
from dashboard.services import crowd_rules as services

if TYPE_CHECKING:
    from crowdcore.analysis import Check
    from crowdcore.analysis.checks.check import Outcome

VERDICTS = {
    "fail": "The limit is surely broken.",
    "underpowered": "The data cannot tell: its interval holds the limit, or what the rule needs is missing.",
    "pass": "The limit is surely kept.",
}
FEW = 8  # workers of a rule who are named


def draw() -> None:
    """The page."""
    st.title("Check")
    st.caption("Limits that this crowd must keep, for taking delivery of labels or for continuous integration.")
    board()


@fragment
def board() -> None:
    """The rules, the verdict on each, and the files."""
    refused_before()
    view = looked_at()
    rules = services.rules_of(rules_form())
    strict = st.toggle(
        "Underpowered rules fail, too", **state.bind("strict", state.get("strict") == "yes", say=("yes", ""))
    )
    with st.spinner("Checking the rules …", show_time=True):
        found = checked(view, rules)
    numbers(found)
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, made, file, mime, icon in (
            ("JUnit XML", partial(services.junit, found, strict), "check.xml", "application/xml", "code"),
            ("HTML page", partial(services.html, found, strict), "check.html", "text/html", "description"),
            ("Table (CSV)", partial(services.csv, found), "check.csv", "text/csv", "table"),
            ("Rules (YAML)", partial(services.yaml, view, rules), "rules.yaml", "application/yaml", "rule_settings"),
        ):
            download(label, made, file, mime, icon=f":material/{icon}:", key=f"check-{file}")
    st.markdown("The same from the command line, beside the downloaded rules; its exit code is 1 if a rule fails:")
    st.code(services.command_line(state.get("dataset"), strict, hidden_names()), language=None, wrap_lines=True)
    for verdict in VERDICTS:
        for outcome in found.outcomes:
            if outcome.verdict == verdict:
                told(found, outcome)


def numbers(found: Check) -> None:
    """How many rules got which verdict."""
    grid = st.grid(len(VERDICTS), min_column_width=150, gap="xsmall")
    for verdict, meaning in VERDICTS.items():
        with grid.cell():
            number = sum(outcome.verdict == verdict for outcome in found.outcomes)
            st.metric(verdict.capitalize(), number, border=True, help=meaning)


def told(found: Check, outcome: Outcome) -> None:
    """A rule's verdict in a sentence, with links to the workers whom it names."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"verdict-{outcome.rule}"):
        badge(outcome.verdict)
        st.markdown(f"**{as_text(outcome.rule)}**: {as_text(outcome.sentence)}", width="stretch")
    named = found.workers_of(outcome)
    if named and outcome.verdict != "pass":
        with st.container(horizontal=True, gap="xsmall", key=f"named-{outcome.rule}"):
            for worker in named[:FEW]:
                there = state.address("annotators", view="One worker", worker=worker)
                st.page_link("views/annotators.py", label=as_text(worker), icon=":material/person:", query_params=there)
            if len(named) > FEW:
                st.caption(f"and {len(named) - FEW:,} more in the files")


page("check", draw)
