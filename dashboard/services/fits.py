"""Fits of aggregators: each is named by one line of text, run once per dataset, one after another, out of the way.

A fit's name holds what differs from the method's defaults: ``dawid-skene``, ``dawid-skene smoothing=0.1``,
``conal-em groups=2 gold=20%`` (the gold of 20 % of the training tasks shown to it). It stands in the address bar, in
figures and in the reference picker, and says all that is needed to run it again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from crowdcore.core.errors import CrowdError, SettingError
from dashboard.services import spelling
from dashboard.services._cache import dataset, kept

if TYPE_CHECKING:
    from crowdcore import CrowdDataset
    from crowdcore.aggregation import AggregationResult, Aggregator
    from crowdcore.core.types import IntArray

__all__ = ["Fit", "canonical", "fitted", "is_fit", "read_fit", "shown_gold", "spell_fit", "start_fits", "wait_for"]

_GOLD = "gold"
_log = logging.getLogger("dashboard")


def spell_fit(method: str, settings: Mapping[str, Any], gold: int = 0) -> str:
    """The name of a fit.

    Args:
        method: an aggregator's name.
        settings: its settings; those that equal their default are left out.
        gold: per cent of the training tasks whose gold it is shown.

    Raises:
        SettingError: no such method.
    """
    from crowdcore import aggregation

    fields = aggregation.aggregators.find(method).model_fields
    own = {k: v for k, v in settings.items() if k not in fields or fields[k].default != v}
    return spelling.spell(method, own) + (f" {_GOLD}={gold}%" if gold else "")


def read_fit(name: str) -> tuple[str, dict[str, Any], int]:
    """Method, settings and percentage of gold shown, of a fit's name.

    Raises:
        SettingError: a word that is no ``setting=value``.
    """
    method, settings = spelling.read(name)
    gold = settings.pop(_GOLD, "0%")
    if not (isinstance(gold, str) and gold.removesuffix("%").isdecimal() and int(gold.removesuffix("%")) <= 100):
        raise SettingError(_GOLD, "be a whole percentage", gold, "Write gold=20%, for example.")
    return method, settings, int(gold.removesuffix("%"))


def canonical(name: str) -> str:
    """The one spelling of a fit's name, its settings checked.

    Raises:
        SettingError: no such method, or a setting that cannot be.
    """
    method, settings, gold = read_fit(name)
    return spell_fit(method, _aggregator(method, settings).model_dump(), gold)


def is_fit(name: str) -> bool:
    """Whether this names a fit that could be run."""
    try:
        canonical(name)
    except CrowdError:
        return False
    return True


def _aggregator(method: str, settings: Mapping[str, Any]) -> Aggregator:
    from crowdcore import aggregation

    found = aggregation.aggregators.find(method)
    strange = next((key for key in settings if key not in found.model_fields), None)
    if strange is not None:
        raise SettingError(f"a setting of {method}", f"be one of {', '.join(found.model_fields)}", strange)
    return found(**settings)


@kept
def shown_gold(opened: CrowdDataset, percent: int) -> tuple[IntArray, IntArray]:
    """Gold shown to the aggregators, and the gold that judges them; see `analysis.show_gold`."""
    from crowdcore import analysis

    return analysis.show_gold(opened, percent)


@kept
def fitted(opened: CrowdDataset, name: str) -> AggregationResult:
    """The result of a fit.

    Raises:
        CrowdError: no such method or setting, or data that the method cannot work with.
    """
    method, settings, gold = read_fit(name)
    known = shown_gold(opened, gold)[0] if gold else None
    return _aggregator(method, settings).fit(opened, known=known)


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
