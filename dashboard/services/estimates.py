"""What runs will take, found out beside the app: a trial in a process of its own may take some seconds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from crowdcore import runs
from dashboard.services.jobs import Job, Jobs
from dashboard.services.opening import labelled
from dashboard.services.train import Draft, specs

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled
    from crowdcore.runs import Estimate, RunSpec

_SETTLED, _FORGOTTEN = 1.0, 4.0  # seconds: nobody has changed the form since; nobody asks any more


@st.cache_resource(show_spinner=False)
def _jobs() -> Jobs:
    return Jobs("estimate", _SETTLED, _FORGOTTEN)


def _asked(spec: RunSpec, opened: Labelled) -> Job:
    return _jobs().ask(spec.model_dump_json(exclude={"group", "priority"}), partial(runs.estimate, spec, opened))


def refused(name: str, draft: Draft) -> str:
    """Why one of these runs would be refused, as far as a trial has told; "" while none has.

    Raises:
        CrowdError: see `specs`.
    """
    from crowdcore.runs.estimation import RefusedError

    found = [_asked(spec, labelled(name)).refusal for spec in specs(name, draft)]
    return next((str(refusal) for refusal in found if isinstance(refusal, RefusedError)), "")


def estimate(name: str, draft: Draft) -> list[Estimate] | None:
    """Time and memory of each run of a draft; None while that is being found out.

    Raises:
        CrowdError: the settings or the dataset are refused, as the run itself would be.
    """
    found = [_asked(spec, labelled(name)) for spec in specs(name, draft)]
    for job in found:
        if job.refusal is not None:
            raise job.refusal
    return [job.found for job in found] if all(job.ended.is_set() for job in found) else None
