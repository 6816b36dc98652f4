"""Datasets by name, and their references."""

import sys
from typing import Any

import streamlit as st

from crowdcore import aggregation, runs
from crowdcore.analysis.reference import REVIEWED, Reference, available_references
from crowdcore.data import CrowdDataset
from crowdcore.exhibits.fits import is_fit
from crowdcore.exhibits.view import View, cached, named, view as make_view, worker_names
from dashboard.services.opening import dataset, labelled, version
from dashboard.services.uploads import list_uploads, named_file

DEMO, RUN = "demo", "run:"
FIRST = ["gold", "auto", "majority-vote", "dawid-skene", *REVIEWED]


def names() -> list[str]:
    """Datasets to choose from: those this session planted, the uploads, then the named ones."""
    import crowdcore as cc

    uploaded = (upload.dataset for upload in list_uploads() if upload.dataset)
    return list(dict.fromkeys([*st.session_state.get("uploads", []), *uploaded, *cc.list_datasets()]))


def default_dataset() -> str:
    """The dataset named on the command line after ``--``, else the demo, else the first."""
    known = names()
    arguments = [] if named_file() else sys.argv[1:2]
    return arguments[0] if arguments else DEMO if DEMO in known else known[0] if known else ""


def references(name: str, chosen: str = "") -> list[str]:
    """Names of references, the best first; then the fits that were chosen or offered (`offer`)."""
    opened = labelled(name)
    if not isinstance(opened, CrowdDataset):
        return [*(["gold"] if opened.has_gold else []), *aggregation.ratings.names()]
    available = [*available_references(opened, inferred=False), *cached(aggregation.fitting)(opened)]
    available.sort(key=lambda which: FIRST.index(which) if which in FIRST else len(FIRST))
    more = [fit for fit in dict.fromkeys(st.session_state.get("offered", {}).get(name, ())) if fit not in available]
    new = chosen and chosen not in [*available, *more] and (chosen.startswith(RUN) or is_fit(chosen))
    return [*available, *more, *([chosen] if new else [])]


def offer(name: str, fit: str) -> None:
    """Add a fit of an aggregator, or a run, to this session's `references`."""
    st.session_state.setdefault("offered", {}).setdefault(name, []).append(fit)


def other_names(name: str, hidden: bool) -> dict[str, str]:
    """Worker names where names are shown instead of hidden, or the reverse -> names here."""
    here, there = (worker_names(labelled(name), of) for of in (hidden, not hidden))
    known = set(here)
    return {other: now for other, now in zip(there, here, strict=True) if other not in known}


def reference(of: str | CrowdDataset, which: str) -> Reference:
    """A reference, fitted once; of a run, its latest result."""
    opened = dataset(of) if isinstance(of, str) else of
    if which.startswith(RUN):
        run_id = which.removeprefix(RUN)
        return _learnt(opened, run_id, version(run_id))
    return named(opened, which)


@cached
def _learnt(opened: CrowdDataset, run_id: str, version: int) -> Reference:
    return runs.reference(run_id, opened)


def view(name: str, which: str, hidden: bool = False, columns: bool = False) -> View[Any, Any]:
    """View of a dataset with its reference, for exhibits."""
    opened = labelled(name)
    truth = which if opened.kind.numeric else reference(name, which)
    return make_view(opened, truth, hidden=hidden, columns=columns)


def rounds(first: str, second: str, which: str, hidden: bool = False) -> View:
    """Two datasets as the rounds of one, by a reference that is fitted to both together."""
    from crowdcore.analysis import default_reference, join_rounds

    both = cached(join_rounds)(dataset(first), dataset(second))
    usable = which in available_references(both) or is_fit(which)
    return View(both, reference(both, which if usable else default_reference(both)), hidden)
