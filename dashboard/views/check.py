"""Check: does the crowd keep its rules?"""

import shlex
from functools import partial

import streamlit as st

from crowdcore.analysis import Check, check_page, junit_xml
from crowdcore.analysis.checks.check import Outcome
from crowdcore.analysis.checks.rules import rules_of, rules_yaml
from crowdcore.analysis.verdicts import verdict_word
from crowdcore.data.dictionary import csv_bytes
from crowdcore.exhibits.overview import checked
from dashboard import state
from dashboard.components.exhibit import looked_at
from dashboard.components.frame import heading, hidden_names, page
from dashboard.components.guard import fragment, refused_before
from dashboard.components.link import badge, link
from dashboard.components.pickers import switch
from dashboard.components.rules_form import FIELDS, rules_form
from dashboard.components.table import download, numbers
from dashboard.components.text import as_text
from dashboard.services.runs import spelled

VERDICTS = {
    "fail": "The limit is broken.",
    "underpowered": "The data cannot decide: the interval contains the limit, or something the rule needs is missing.",
    "pass": "The limit is met.",
}
FEW = 8  # workers of a rule who are named


@fragment
def draw() -> None:
    """The rules, the verdict on each, and the files."""
    heading()
    st.caption("Limits that this crowd must meet, for accepting a delivery of labels or for continuous integration.")
    refused_before()
    view = looked_at()
    rules = rules_of(rules_form())
    strict = switch("Undecided rules fail, too", "strict")
    with st.spinner("Checking the rules …", show_time=True):
        report = checked(view, rules)
    verdicts: list[str] = [outcome.verdict for outcome in report.outcomes]
    numbers((verdict_word(k).capitalize(), str(verdicts.count(k)), meaning) for k, meaning in VERDICTS.items())
    named = rules.model_copy(update={"reference": view.reference})  # so that the command line takes the same
    for verdict in VERDICTS:
        for outcome in report.outcomes:
            if outcome.verdict == verdict:
                show_outcome(report, outcome)
    st.header("Take it along")
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, made, file, icon in (
            ("JUnit XML", partial(junit_xml, report, strict), "check.xml", "code"),
            ("HTML page", partial(check_page, report, strict), "check.html", "description"),
            ("Table (CSV)", lambda: csv_bytes(report.frame()), "check.csv", "table"),
            ("Rules (YAML)", partial(rules_yaml, named), "rules.yaml", "rule_settings"),
        ):
            download(label, made, file, icon=f":material/{icon}:", key=f"check-{file}")
    st.markdown("The same on the command line, beside the downloaded rules; the exit code is 1 if a rule fails:")
    options = [*(["--strict"] if strict else []), *(["--hide-names"] if hidden_names() else [])]
    files = ["--rules", "rules.yaml", "--junit", "check.xml", "--html", "check.html"]
    command = shlex.join(["crowdcore", "check", spelled(state.get("dataset")), *files, *options])
    st.code(command, language=None, wrap_lines=True)


def show_outcome(report: Check, outcome: Outcome) -> None:
    """A rule's verdict in a sentence, with links to the workers whom it names."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"rule-{outcome.rule}"):
        badge(outcome.verdict)
        st.markdown(f"**{as_text(FIELDS[outcome.rule].title)}**: {as_text(outcome.sentence)}", width="stretch")
    named = report.workers_of(outcome)
    if named and outcome.verdict != "pass":
        with st.container(horizontal=True, gap="xsmall", key=f"named-{outcome.rule}"):
            for worker in named[:FEW]:
                link("annotators", as_text(worker), icon="person", view="One worker", worker=worker)
            if len(named) > FEW:
                st.caption(f"and {len(named) - FEW:,} more in the files")


page("check", draw)
