"""What runs will take, found out beside the app: a trial in a process of its own may take some seconds."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import runs
from crowdcore.core.errors import CrowdError
from dashboard.services._cache import labelled
from dashboard.services.train import Draft, specs

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled
    from crowdcore.runs import Estimate, RunSpec

__all__ = ["estimate", "refused"]

_SETTLED, _FORGOTTEN = 1.0, 4.0  # seconds: nobody has changed the form since; nobody asks any more
_MOST = 500  # estimates that are remembered
_log = logging.getLogger("dashboard")


@dataclass
class _Wanted:
    """An estimate that somebody waits for."""

    spec: RunSpec
    opened: Labelled
    first: float
    last: float


class _Estimator:
    """One estimate after another, on a thread of its own; those that nobody asks for any more are dropped."""

    def __init__(self) -> None:
        self.known: dict[str, Estimate | CrowdError] = {}
        self.wanted: dict[str, _Wanted] = {}
        self.changed = threading.Condition()
        threading.Thread(target=self.serve, daemon=True, name="estimates").start()

    def ask(self, asked: list[RunSpec], opened: Labelled) -> list[Estimate | CrowdError | None]:
        """What is known of these runs; what is not will be."""
        keys = [spec.model_dump_json(exclude={"group", "priority"}) for spec in asked]
        now = time.monotonic()
        with self.changed:
            for key, spec in zip(keys, asked, strict=True):
                if key not in self.known:
                    self.wanted.setdefault(key, _Wanted(spec, opened, now, now)).last = now
            self.changed.notify()
            return [self.known.get(key) for key in keys]

    def serve(self) -> None:
        """Find out what is wanted, for ever."""
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.wanted)
                now = time.monotonic()
                self.wanted = {k: w for k, w in self.wanted.items() if now - w.last < _FORGOTTEN}
                key = next((k for k, w in self.wanted.items() if now - w.first >= _SETTLED), None)
                if key is None:
                    self.changed.wait(_SETTLED / 4)
                    continue
                wanted = self.wanted[key]
            found = self.look(wanted.spec, wanted.opened)
            with self.changed:
                if len(self.known) >= _MOST:
                    self.known.pop(next(iter(self.known)))
                self.known[key] = found
                self.wanted.pop(key, None)

    def look(self, spec: RunSpec, opened: Labelled) -> Estimate | CrowdError:
        """An estimate, or why there is none."""
        try:
            return runs.estimate(spec, opened)
        except CrowdError as refusal:
            return refusal
        except Exception:
            _log.exception("There is no estimate for %s", spec)
            return CrowdError("There is no estimate; why not is in the app's log.")


@st.cache_resource(show_spinner=False)
def _estimator() -> _Estimator:
    return _Estimator()


def refused(name: str, draft: Draft) -> str:
    """Why one of these runs would be refused, as far as a trial has told; "" while none has.

    Raises:
        CrowdError: see `specs`.
    """
    from crowdcore.runs.estimation import RefusedError

    found = _estimator().ask(specs(name, draft), labelled(name))
    return next((str(one) for one in found if isinstance(one, RefusedError)), "")


def estimate(name: str, draft: Draft) -> list[Estimate] | None:
    """Time and memory of each run of a draft; None while that is being found out.

    Raises:
        CrowdError: the settings or the dataset are refused, as the run itself would be.
    """
    found = _estimator().ask(specs(name, draft), labelled(name))
    known = [one for one in found if one is not None]
    for one in known:
        if isinstance(one, CrowdError):
            raise one
    return [one for one in known if not isinstance(one, CrowdError)] if len(known) == len(found) else None
