"""Fits of aggregators, one after another, out of the way; `crowdcore.exhibits.fits` names and keeps them."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal

import streamlit as st

from crowdcore.core.errors import CrowdError
from crowdcore.exhibits.fits import fitted
from dashboard.services._cache import dataset

if TYPE_CHECKING:
    from crowdcore import CrowdDataset

__all__ = ["Fit", "labels_csv", "start_fits", "wait_for"]

_log = logging.getLogger("dashboard")


@dataclass
class Fit:
    """How far a fit is.

    Attributes:
        state: where it stands.
        began: time (monotonic) at which it began to run.
        words: why it was refused or failed.
        ended: set when it stands still.
    """

    state: Literal["waiting", "running", "done", "refused", "failed"] = "waiting"
    began: float = 0.0
    words: str = ""
    ended: threading.Event = field(default_factory=threading.Event)


class _Queue:
    """Fits one after another on a thread of their own: a fit takes all cores, and alone its time means something."""

    def __init__(self) -> None:
        self.fits: dict[tuple[str, str], Fit] = {}
        self.lock = threading.Lock()
        self.waiting: SimpleQueue[tuple[Fit, CrowdDataset, str]] = SimpleQueue()
        threading.Thread(target=self.serve, daemon=True, name="fits").start()

    def submit(self, opened: CrowdDataset, name: str, again: bool) -> Fit:
        """The fit of that name, queued if it is new (or failed, and is to be tried again)."""
        key = (opened.fingerprint, name)
        with self.lock:
            found = self.fits.get(key)
            if found is None or (again and found.state == "failed"):
                found = self.fits[key] = Fit()
                self.waiting.put((found, opened, name))
            return found

    def serve(self) -> None:
        """Run what is queued, for ever."""
        from crowdcore.core.kernels import compiled

        while True:
            fit, opened, name = self.waiting.get()
            compiled(opened.n_annotations * opened.n_classes)  # loaded before the clock starts
            fit.began, fit.state = time.monotonic(), "running"
            try:
                fitted(opened, name)
                fit.state = "done"
            except CrowdError as refusal:
                fit.state, fit.words = "refused", str(refusal)
            except Exception:
                _log.exception("The fit %r failed", name)
                fit.state, fit.words = "failed", "It failed; what went wrong is in the app's log."
            finally:
                fit.ended.set()


@st.cache_resource(show_spinner=False)
def _queue() -> _Queue:
    return _Queue()


def start_fits(of: str, names: Iterable[str], again: bool = False) -> dict[str, Fit]:
    """See to it that these fits of a dataset are run; returns how far each is."""
    opened = dataset(of)
    return {name: _queue().submit(opened, name, again) for name in names}


def wait_for(fits: Iterable[Fit], seconds: float) -> None:
    """Wait until all stand still, but no longer than that."""
    end = time.monotonic() + seconds
    for fit in fits:
        fit.ended.wait(max(0.0, end - time.monotonic()))


def labels_csv(name: str, fit: str) -> bytes:
    """Labels and posterior as a CSV that no spreadsheet takes for formulas."""
    from crowdcore.data.writers import write_aggregated

    opened = dataset(name)
    found = fitted(opened, fit)
    with tempfile.TemporaryDirectory() as folder:
        path = write_aggregated(opened, found.labels, Path(folder) / "labels.csv", posterior=found.posterior)
        return path.read_bytes()
