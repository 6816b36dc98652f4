"""Starting what the page Train asks for."""

from __future__ import annotations

import uuid

from crowdcore import runs
from crowdcore.core.method_string import read_seeds
from crowdcore.learning import drafts
from crowdcore.learning.drafts import Draft
from crowdcore.runs import RunSpec
from dashboard.services.opening import labelled
from dashboard.services.runs import forget, spelled


def specs(name: str, draft: Draft) -> list[RunSpec]:
    """One run per method of a draft.

    Raises:
        SettingError: a method, a setting or a seed that cannot be.
    """
    opened, seeds = labelled(name), read_seeds(draft["seeds"])
    shared = {"dataset": spelled(name), "fingerprint": opened.fingerprint, "group": uuid.uuid4().hex[:8]}
    return [
        RunSpec(method=method, settings=settings, seeds=seeds, device=draft["device"], **shared)
        for method, settings in drafts.rows_of(draft, opened)
    ]


def start(name: str, draft: Draft) -> list[str]:
    """Queue the runs of a draft; returns their ids."""
    started = [runs.submit(spec).id for spec in specs(name, draft)]
    forget()
    return started


def draft_of(name: str, spec: RunSpec) -> Draft:
    """The draft that starts a run on a dataset once more."""
    return drafts.draft_of(labelled(name), spec.method, spec.settings, spec.seeds, spec.device)
