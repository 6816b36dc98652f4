"""Datasets by name, their references, their workers' names, and their items."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core.drawable import drawable
from dashboard.services._cache import dataset, kept, upload_folder
from dashboard.services.fits import fitted, is_fit

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.analysis.reference import Reference

__all__ = ["default_dataset", "drawable", "names", "offer", "reference", "references", "uploaded", "workers"]

DEMO, RUN = "demo", "run:"
FIRST = ["gold", "majority-vote", "dawid-skene"]


def names() -> list[str]:
    """Datasets to choose from: those this session uploaded, then the named ones."""
    import crowdcore as cc

    return [*st.session_state.get("uploads", []), *cc.list_datasets()]


def default_dataset() -> str:
    """The dataset named on the command line after ``--``, else the demo, else the first."""
    known = names()
    asked = sys.argv[1:2]
    return asked[0] if asked else DEMO if DEMO in known else known[0] if known else ""


def uploaded(name: str) -> bool:
    """Whether someone brought this dataset along."""
    return upload_folder(name) is not None


def references(name: str, asked: str = "") -> list[str]:
    """What can be taken for the truth, the best first; then the fits that were asked for or offered (`offer`)."""
    from crowdcore.analysis.reference import available_references

    found = available_references(dataset(name))
    found.sort(key=lambda which: FIRST.index(which) if which in FIRST else len(FIRST))
    more = [*st.session_state.get("offered", {}).get(name, ()), *([asked] if is_fit(asked) or is_run(asked) else [])]
    return [*found, *(fit for fit in dict.fromkeys(more) if fit not in found)]


def offer(name: str, fit: str) -> None:
    """Have `references` list this fit of an aggregator, or run, from now on, for this session."""
    st.session_state.setdefault("offered", {}).setdefault(name, []).append(fit)


def is_run(name: str) -> bool:
    """Whether this names what a run has learnt: ``run:<id>``."""
    return name.startswith(RUN)


@kept
def _reference(opened: CrowdDataset, name: str) -> dict[str, Any]:
    from crowdcore.analysis.reference import resolve_reference

    if is_run(name):
        from crowdcore import runs

        learnt = runs.reference(name.removeprefix(RUN), opened)
        return {"name": name, "labels": learnt.labels, "posterior": learnt.posterior}
    found = fitted(opened, name) if is_fit(name) else resolve_reference(opened, name)
    return {"name": name, "labels": found.labels, "posterior": found.posterior}


def reference(of: str | CrowdDataset, which: str) -> Reference:
    """A reference, fitted once; rebuilt from its arrays so that a reloaded library knows its own class."""
    from crowdcore.analysis.reference import Reference

    return Reference(**_reference(of, which))


@kept
def _pseudonyms(opened: CrowdDataset) -> list[str]:
    from crowdcore.data.pseudonyms import pseudonyms

    return pseudonyms(opened)


def workers(name: str, hidden: bool) -> list[str]:
    """What to call each worker: the id, or a pseudonym that is the same in every session with the same data."""
    return _pseudonyms(name) if hidden else [str(w) for w in dataset(name).worker_ids]
