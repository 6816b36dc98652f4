"""Background fits of aggregators, one after another; `crowdcore.exhibits.fits` names and keeps them."""

import tempfile
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import streamlit as st

from crowdcore import CrowdDataset
from crowdcore.core.compiled import is_large
from crowdcore.exhibits.fits import fitted
from dashboard.services.jobs import Job, Jobs
from dashboard.services.opening import dataset


@st.cache_resource(show_spinner=False)
def _jobs() -> Jobs:
    """One queue: a fit takes all cores, and its time would mean nothing beside others."""
    return Jobs("fit")


def _fit(opened: CrowdDataset, name: str) -> None:
    if is_large(opened.n_annotations * opened.n_classes):
        import numba  # noqa: F401  # loaded before the clock of the fit starts
    fitted(opened, name)


def start_fits(of: str, names: Iterable[str], again: bool = False) -> dict[str, Job]:
    """Queue those fits of a dataset that are new; returns the state of each."""
    opened = dataset(of)
    return {name: _jobs().submit((opened.fingerprint, name), partial(_fit, opened, name), again) for name in names}


def wait_for(fits: Iterable[Job], seconds: float) -> None:
    """Wait until all have ended, at most that long."""
    end = time.monotonic() + seconds
    for fit in fits:
        fit.ended.wait(max(0.0, end - time.monotonic()))


def labels_csv(name: str, fit: str) -> bytes:
    """Labels, posterior, difficulties and foils as a CSV that no spreadsheet takes for formulas."""
    from crowdcore.data.writers import write_aggregated

    opened = dataset(name)
    result = fitted(opened, fit)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        write_aggregated(
            opened, result.labels, path, posterior=result.posterior, difficulty=result.difficulty, foil=result.foil
        )
        return path.read_bytes()
