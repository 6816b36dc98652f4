"""Findings about a file and the refusal of one, with their remedies as buttons and controls."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core.errors import CrowdError, Remedy
from dashboard.components.guard import without_server_paths
from dashboard.components.reading_form import Known, button_of, choose_kind, control
from dashboard.components.text import as_text, count, listed
from dashboard.services import uploads

if TYPE_CHECKING:
    from crowdcore.data import Finding, ImportReport

_ICONS = {"question": ":orange[:material/help:]", "change": ":orange[:material/content_cut:]"}
_ODD = ":blue[:material/info:]"
_UNUSABLE = {"unusable-images": "an image that cannot be used", "blank-texts": "no text"}


def findings(report: ImportReport, known: Known, mapping: dict[str, Any], accepted: set[Hashable]) -> bool:
    """Draw questions, changes and warnings, the notes folded; return whether every question is answered.

    Args:
        report: of the file.
        known: what there is to choose from.
        mapping: how the file is read, which buttons change.
        accepted: the questions whose file was understood rightly, which a button extends.
    """
    notes = [finding for finding in report.findings if finding.level == "note"]
    loud = [finding for finding in report.findings if finding.level != "note"]
    for number, finding in enumerate(loud):
        with st.container(border=True, key=f"finding-{finding.level}-{number}"):
            _draw_finding(finding, known, mapping, accepted, str(number))
    if notes:
        with st.expander(count(len(notes), "note"), expanded=False):
            for number, finding in enumerate(notes):
                st.markdown(as_text(finding.statement))
                _ways(finding.remedies, known, mapping, f"note-{number}-")
    if report.rows_counted:
        st.caption(report.rows_counted)
    return all(identity(question) in accepted for question in report.questions)


def identity(finding: Finding) -> Hashable:
    """Key by which a question is recognised after other changes."""
    return finding.code, finding.column, finding.count, finding.examples


def _draw_finding(finding: Finding, known: Known, mapping: dict[str, Any], accepted: set[Hashable], place: str) -> None:
    answered = identity(finding) in accepted
    icon = ":green[:material/check:]" if answered else _ICONS.get(finding.level, _ODD)
    if finding.code in _UNUSABLE:
        more = finding.count - len(finding.examples)
        named = [*finding.examples, *([f"and {more:,} more"] if more else [])]
        have = "has" if finding.count == 1 else "have"
        what = f"{count(finding.count, 'task')} {have} {_UNUSABLE[finding.code]}"
        st.markdown(f"{icon} {listed(what, named, finding.remedy)}")
    else:
        st.markdown(f"{icon} {as_text(finding.statement)}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _ways(finding.remedies, known, mapping, f"finding-{place}-")
        has_answer = len(finding.remedies) > 1 and any(remedy.when == "so" for remedy in finding.remedies)
        if finding.level == "question" and not has_answer:
            label, act = ("Ask again", accepted.discard) if answered else ("It is right as it is", accepted.add)
            st.button(label, key=f"right-{place}-{known.path}", on_click=act, args=(identity(finding),))


def refused(error: CrowdError, known: Known, mapping: dict[str, Any]) -> None:
    """Show why a file cannot be read as it is, and the remedies."""
    what = error.args[0] if error.args else ""
    st.error(as_text(without_server_paths(str(what))), icon=":material/block:")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _ways(error.remedies, known, mapping, "refused-")
        if mapping:
            st.button("Undo the choices", icon=":material/undo:", on_click=mapping.clear)


def _ways(remedies: Iterable[Remedy], known: Known, mapping: dict[str, Any], place: str) -> None:
    """A button for each value of each remedy, or the control where the value has yet to be chosen."""
    last = ""
    for number, remedy in enumerate(remedies):
        if remedy.of not in ("read", "kind"):
            continue
        of_ratings = not remedy.choices and set(remedy.settings) & {"low", "high", "levels"}
        if remedy.when not in ("so", last) and not of_ratings:
            st.caption(as_text(f"If {remedy.when}:") if remedy.when else "Else:", width="content")
        last = remedy.when
        for which, choice in enumerate(remedy.choices):
            words = button_of(choice)
            if letters := uploads.decoded(known.path).get(choice.get("encoding", "")):
                words += f": {', '.join(letters)}"
            key = f"{place}{number}-{which}-{known.path}"
            about = f"To {remedy.effect}." if remedy.effect else None
            st.button(as_text(words), key=key, help=about, on_click=_choose, args=(mapping, choice))
        if remedy.choices:
            continue
        if of_ratings:
            if mapping.get("kind") != "ratings":
                key = f"{place}{number}-{known.path}"
                st.button("They are ratings", key=key, on_click=choose_kind, args=(mapping, "ratings"))
            continue
        for setting in remedy.settings:
            with st.container(width=250):
                control(setting, known, mapping, f"{place}{number}-")


def _choose(mapping: dict[str, Any], choice: dict[str, Any]) -> None:
    if "kind" in choice:
        choose_kind(mapping, choice["kind"])
    mapping.update({name: tuple(v) if isinstance(v, list) else v for name, v in choice.items()})
