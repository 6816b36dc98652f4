"""Spellings that may be one name, and labels that name several: what becomes what, with one button that turns back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import pandas as pd
import streamlit as st

from dashboard.components.text import as_text, count

if TYPE_CHECKING:
    from crowdcore.data import ImportReport
    from crowdcore.data.report import Role, Variants

_ABOUT: dict[Role, tuple[str, str, str]] = {
    "label": ("merge_classes", "class", "classes"),
    "worker": ("merge_workers", "worker", "workers"),
}
_ROWS = 8  # that are seen before the table scrolls


def open_questions(report: ImportReport) -> bool:
    """Whether some spellings may be one name and are kept apart, or labels may name several classes."""
    return any(not v.merged for v in report.variants) or any(f.code == "multi-select" for f in report.findings)


def merging(report: ImportReport, mapping: dict[str, Any], path: str) -> None:
    """Draw what was found of each kind; a button changes ``mapping``, how the file at ``path`` is read."""
    for role in _ABOUT:
        if found := [variants for variants in report.variants if variants.role == role]:
            _spellings(role, found, mapping, path)
    _combinations(report, mapping, path)


def _spellings(role: Role, found: list[Variants], mapping: dict[str, Any], path: str) -> None:
    setting, one, many = _ABOUT[role]
    apart = [variants for variants in found if not variants.merged]
    asked = setting in mapping
    with st.container(border=True):
        st.subheader(f"{count(len(found), one, many)} spelled in several ways")
        table = _table(found)
        st.dataframe(table, hide_index=True, height=35 + 33 * min(len(table), _ROWS), key=f"variants-{role}-{path}")
        if asked:
            _button(f"Keep {many} apart again", "undo", f"apart-{role}-{path}", lambda: mapping.pop(setting, None))
        elif apart:
            names = [variants.name for variants in apart]
            chosen = names
            if len(names) > 1:
                chosen = st.multiselect(f"Merge into these {many}", names, names, key=f"chosen-{role}-{path}")
            others = {v.name: tuple(sorted({n for n in v.becomes if n != v.name})) for v in apart if v.name in chosen}
            _button(
                f"Merge {count(sum(map(len, others.values())), 'variant')}",
                "merge",
                f"merge-{role}-{path}",
                lambda: mapping.update({setting: others}),
                disabled=not others,
            )
        else:
            st.caption("They differ only in surrounding spaces or in the encoding of accents, which are ignored.")


def _combinations(report: ImportReport, mapping: dict[str, Any], path: str) -> None:
    finding = next((f for f in report.findings if f.code == "multi-select"), None)
    of_tool = any(f.code == "several-choices" for f in report.findings)  # asked elsewhere
    dropped = mapping.get("multi_select") == "drop" and not of_tool
    if finding is None and not dropped:
        return
    with st.container(border=True):
        st.subheader("Labels with several classes")
        if finding is not None:
            st.write(as_text(finding.sentence + "."))
            label = f"Leave {count(finding.count, 'label')} out"
            _button(label, "content_cut", f"drop-{path}", lambda: mapping.update(multi_select="drop"))
        else:
            st.write("They are left out, as listed above.")
            _button("Keep them as classes", "undo", f"keep-{path}", lambda: mapping.pop("multi_select", None))


def _button(label: str, icon: str, key: str, act: Callable[[], Any], disabled: bool = False) -> None:
    st.button(label, icon=f":material/{icon}:", key=key, on_click=act, disabled=disabled)


def _table(found: list[Variants]) -> pd.DataFrame:
    """Each spelling, quoted so that blanks and loose accents are seen, its number of rows, what it is read as."""
    rows = [
        (ascii(spelling) if spelling != normalize("NFC", spelling) else repr(spelling), rows, becomes)
        for variants in found
        for spelling, rows, becomes in zip(variants.spellings, variants.counts, variants.becomes, strict=True)
    ]
    return pd.DataFrame(rows, columns=["written as", "labels", "read as"])
