"""Drafts of trainings, their spelling in addresses, their time and memory, and starting them and searches.

A trial for an estimate may take some seconds, so it runs in a process of its own, beside the app.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from crowdcore import exhibits, runs
from crowdcore.core import spelling
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import check_settings
from crowdcore.exhibits.view import cached
from crowdcore.learning import learners, presets
from crowdcore.learning.curve_metrics import ACCURACY
from crowdcore.learning.settings import SEEDS, TrainSettings, drop_retired
from crowdcore.runs import RunSpec
from dashboard.services.jobs import Job, Jobs
from dashboard.services.opening import kind, labelled
from dashboard.services.runs import forget, spelled

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore.data.ratings import Labelled
    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.curve_metrics import SelectionScore
    from crowdcore.runs import Choice, Estimate, Range, Run

T = TypeVar("T")
Draft = Mapping[str, Any]
"""Values of a form: ``methods`` (lines), ``seeds`` (as typed), ``device`` and ``training`` (name -> value): settings
of the trainer that somebody chose, for all methods."""
_NETWORK = {"backbone": TrainSettings.model_fields["backbone"].default}  # where a run on features names none


def specs(name: str, draft: Draft) -> list[RunSpec]:
    """One run per method of a draft; settings that equal their default are left out.

    Raises:
        SettingError: a method, a setting or a seed that cannot be.
    """
    opened, seeds = labelled(name), spelling.read_seeds(draft["seeds"])
    training = {setting: value for setting, value in draft["training"].items() if value is not None}
    check_settings(TrainSettings, training)
    network = training.get("backbone", "")
    if network in learners.backbones(opened):
        check_settings(learners.about_backbone(network).settings, training.get("backbone_settings", {}))
    methods = [learners.read_method(line, kind(name)) for line in draft["methods"]]
    shared = {"dataset": spelled(name), "fingerprint": opened.fingerprint, "group": uuid.uuid4().hex[:8]}
    return [
        RunSpec(
            method=method,
            settings=learners.run_settings(method, own, training, kind(name)),
            seeds=seeds,
            device=draft["device"],
            **shared,
        )
        for method, own in methods
    ]


def start(name: str, draft: Draft) -> list[str]:
    """Queue the runs of a draft; returns their ids."""
    started = [runs.submit(spec).id for spec in specs(name, draft)]
    forget()
    return started


def draft_of(name: str, spec: RunSpec) -> Draft:
    """Draft that starts a run on a dataset again."""
    own = learners.about_method(spec.method, kind(name)).settings.model_fields
    network = _NETWORK if _NETWORK["backbone"] in learners.backbones(labelled(name)) else {}
    settings = drop_retired(spec.settings, own)
    return {
        "methods": [learners.own_line(spec.method, settings, kind(name))],
        "seeds": spelling.spell_seeds(spec.seeds),
        "device": spec.device,
        "training": {**network, **{k: v for k, v in settings.items() if k not in own}},
    }


def draft_of_preset(preset: str) -> tuple[Draft, str]:
    """Draft that starts all runs of a preset, and how they may differ from the published table.

    Raises:
        SettingError: no such preset.
    """
    table = presets.get(preset)
    draft = {
        "methods": [spelling.spell(method, own) for method, own in table.methods],
        "seeds": spelling.spell_seeds(table.seeds),
        "device": "auto",
        "training": {**_NETWORK, **table.training},
    }
    return draft, table.note


def spell_draft(name: str, draft: Draft) -> str:
    """Settings that all methods of a draft share, as a line for the address; "" for those of an untouched form."""
    usual = read_draft(name, "")
    seeds = draft["seeds"].replace(" ", "")
    shared = {"seeds": int(seeds) if seeds.isdecimal() else seeds, "device": draft["device"]}
    shared = {key: value for key, value in shared.items() if str(value) != usual[key]}
    training = {k: v for k, v in draft["training"].items() if v is not None and usual["training"].get(k, ...) != v}
    return spelling.spell_settings({**shared, **training})


def read_draft(name: str, line: str, trusted: str = "") -> Draft:
    """The draft, without its methods, of a line of `spell_draft`.

    Args:
        name: the dataset that is trained on.
        line: from an address.
        trusted: a network of one's own code that may be named, as a run named it.

    Raises:
        SettingError: a setting that does not exist, a value it does not take, or a network that is not listed.
    """
    training = drop_retired(spelling.read_settings(line))
    networks = learners.backbones(labelled(name))
    seeds, device = str(training.pop("seeds", SEEDS)), str(training.pop("device", "auto"))
    network = training.get("backbone")
    if network is not None and network not in {*networks, trusted}:
        remedy = "Choose one of these, or use the command line for a network of your own."
        raise SettingError("network", f"be one of {', '.join(networks)}", network, remedy)
    check_settings(TrainSettings, training)
    training = {"backbone": next(iter(networks)), "backbone_settings": {}, **training}
    return {"seeds": seeds, "device": device, "training": training}


_SETTLED, _FORGOTTEN = 1.0, 4.0  # seconds: nobody has changed the form since; nobody asks any more


@st.cache_resource(show_spinner=False)
def _jobs() -> Jobs:
    return Jobs("estimate", _SETTLED, _FORGOTTEN)


def _estimate_job(spec: RunSpec, opened: Labelled) -> Job:
    return _jobs().submit(spec.model_dump_json(exclude={"group", "priority"}), partial(runs.estimate, spec, opened))


def refused(name: str, draft: Draft) -> str:
    """Reason why one of these runs would be refused, by its trial run; "" while none is known.

    Raises:
        CrowdError: see `specs`.
    """
    from crowdcore.core.processes import RefusedError

    trials = [_estimate_job(spec, labelled(name)).refusal for spec in specs(name, draft)]
    return next((str(refusal) for refusal in trials if isinstance(refusal, RefusedError)), "")


def estimate(name: str, draft: Draft) -> list[Estimate] | None:
    """Time and memory of each run of a draft; None while that is being measured.

    Raises:
        CrowdError: the settings or the dataset are refused, as the run itself would be.
    """
    trials = [_estimate_job(spec, labelled(name)) for spec in specs(name, draft)]
    for job in trials:
        if job.refusal is not None:
            raise job.refusal
    return [job.result for job in trials] if all(job.ended.is_set() for job in trials) else None


def start_search(name: str, draft: Draft, space: Mapping[str, Range | Choice], trials: int, sampler: str) -> str:
    """Queue a search; returns its id.

    Raises:
        SettingError: bounds that cannot be.
    """
    (spec,) = specs(name, draft)
    kept = {k: v for k, v in spec.settings.items() if k not in space}
    started = runs.search(spec.model_copy(update={"settings": kept}), dict(space), trials, sampler=sampler)
    forget()
    return started.id


def compared_by(run: Run) -> SelectionScore:
    """The validation score by which a search compares its trials."""
    return run.spec.search.selection if run.spec.search else ACCURACY


def search_trials(run: Run) -> pd.DataFrame:
    """The trials so far: trial, run, state, score, best so far, and the settings."""
    return _so_far(runs.search_trials, run.id, run.epoch, run.state)


@cached
def _so_far(look: Callable[[str], T], search: str, done: int, state: str) -> T:
    return look(search)


def search_exhibits(run: Run) -> tuple[Exhibit, Exhibit | None]:
    """Validation score by trial; which settings matter, None while there are too few trials."""
    made, method = exhibits.comparison, run.spec.method
    shares = _so_far(runs.search_importances, run.id, run.epoch, run.state)
    return made.search_history(search_trials(run), method, compared_by(run)), made.search_importance(shares, method)


def best_draft(name: str, run: Run) -> Draft | None:
    """A draft with the settings of the best trial of a search on a dataset; None while no trial has ended."""
    score = compared_by(run)
    trials = search_trials(run).dropna(subset=score.column)
    if trials.empty or run.spec.search is None:
        return None
    best = trials.iloc[[int(trials[score.column].map(score.better).argmax())]]
    chosen = {name: best[name].tolist()[0] for name in run.spec.search.space}
    settings = {**run.spec.settings, **chosen}
    spec = run.spec.model_copy(update={"settings": settings, "search": None, "priority": 0})
    return draft_of(name, spec)
