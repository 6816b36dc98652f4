"""The sandbox: crowds whose mistakes are known, planted into the workspace, and how well runs recover them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore import exhibits
from crowdcore.core import spelling
from crowdcore.core.errors import SettingError
from crowdcore.core.files import workspace
from crowdcore.core.settings import changed_settings
from crowdcore.data import CrowdDataset, simulate
from crowdcore.data.catalogue import upload_folder
from crowdcore.data.ratings import Labelled
from crowdcore.data.simulate import Simulation, TaskChoice
from crowdcore.data.unpack import pack_zip
from crowdcore.exhibits.view import cached
from crowdcore.learning.learners import own_line
from crowdcore.learning.recovery import plan as recovery
from crowdcore.learning.recovery.plan import RecoveryPlan
from dashboard.services.opening import dataset, datasets_folder, kind, labelled
from dashboard.services.runs import learnt, readable, result, runs_of

if TYPE_CHECKING:
    from crowdcore.exhibits import Exhibit
    from crowdcore.runs import Run

MOST = 5_000_000  # labels, or numbers of an array


def read_crowd(line: str) -> tuple[str, dict[str, Any]]:
    """Simulator and settings of a line such as ``synthetic common_strength=0.7``.

    Raises:
        SettingError: no such simulator or setting, or a value out of bounds.
    """
    name, settings = spelling.read(line)
    simulate.get(name)(**settings)
    return name, settings


def spell_crowd(name: str, settings: Mapping[str, Any]) -> str:
    """The line of a simulator; settings that equal their default are left out."""
    return spelling.spell(name, changed_settings(simulate.get(name), settings))


def read_vary(lines: Sequence[str]) -> dict[str, list[Any]]:
    """Setting -> values, of lines ``setting=[…]``.

    Raises:
        SettingError: a line that is no such thing.
    """
    varied = {setting: values for line in lines for setting, values in spelling.read_settings(line).items()}
    return {setting: values if isinstance(values, list) else [values] for setting, values in varied.items()}


def read_tasks(line: str) -> dict[str, Any]:
    """Choice of a dataset's tasks, read from a line ``tasks n_train=500``; "" stands for all.

    Raises:
        SettingError: a setting that does not exist, or a value that it does not take.
    """
    settings = spelling.read(line)[1]
    TaskChoice(**settings)
    return settings


def spell_tasks(settings: Mapping[str, Any]) -> str:
    """A line that `read_tasks` reads; "" for all tasks."""
    return spelling.spell("tasks", settings) if settings else ""


def plan(name: str, crowd: str, vary: Sequence[str], tasks: str, crowds: int) -> RecoveryPlan:
    """Read the plan from the address.

    Args:
        name: the dataset whose gold is planted on, by simulators that make no tasks.
        crowd: see `read_crowd`.
        vary: see `read_vary`.
        tasks: see `read_tasks`.
        crowds: how many at each point.

    Raises:
        SettingError: what cannot be.
    """
    simulator, settings = read_crowd(crowd)
    given = {} if simulate.get(simulator).makes_tasks else {"dataset": name, "tasks": read_tasks(tasks)}
    plan = RecoveryPlan(simulation=simulator, settings=settings, over=read_vary(vary), crowds=crowds, **given)
    for point in plan.points():
        _bounded(plan.simulator(point))
    return plan


def _bounded(simulator: Simulation) -> None:
    """Refuse crowds that would fill the memory of an app that others use too."""
    for names in (
        ("n_tasks", "per_task"),
        ("n_tasks", "n_features"),
        ("n_workers", "n_classes", "n_classes"),
        ("n_sentences", "length", "per_sentence"),
    ):
        n = math.prod(getattr(simulator, name, None) or 1 for name in names)
        if n > MOST:
            words = " × ".join(dict.fromkeys(names))
            raise SettingError(
                words, f"be at most {MOST:,} in the app", n, "`crowdcore simulate` plants larger crowds."
            )


@cached
def _first(opened: Labelled, spelled: str) -> Labelled:
    plan = RecoveryPlan.model_validate_json(spelled)
    return recovery.plant(plan, plan.points()[0], 0, opened if isinstance(opened, CrowdDataset) else None)


def preview(name: str, plan: RecoveryPlan) -> Labelled:
    """The first crowd of a plan.

    Raises:
        CrowdError: there is no gold to plant on, or the simulator does not fit the classes.
    """
    return _first(labelled(name), plan.model_copy(update={"methods": (), "training": {}, "seeds": 1}).model_dump_json())


def plant(name: str, plan: RecoveryPlan) -> list[str]:
    """Keep every crowd of a plan as a dataset of the workspace; returns their names."""
    from crowdcore.data.writers import write_folder

    source = dataset(name) if plan.dataset else None
    names, folder = [], datasets_folder()
    for point in plan.points():
        for k in range(plan.crowds):
            crowd = recovery.plant(plan, point, k, source)
            called = f"{'-'.join(crowd.name.lower().split())[:40]}-{crowd.fingerprint[:10]}"
            if not (folder / called).exists():
                write_folder(crowd, folder / called)
            names.append(called)
    uploads = st.session_state.setdefault("uploads", [])
    uploads[:0] = [called for called in names if called not in uploads]
    return names


def planted_before() -> list[str]:
    """Planted crowds of the workspace, the newest first."""
    folders = [file.parent for file in (workspace() / "datasets").glob("*/truth.npz")]
    return [f.name for f in sorted(folders, key=lambda f: (-f.stat().st_mtime_ns, f.name))]


def archive(name: str) -> bytes:
    """The files of a planted crowd as a ZIP."""
    folder = upload_folder(name)
    if folder is None:
        raise SettingError("planted", "name a crowd of this workspace", name)
    return pack_zip(folder, name)


def crowd_words(names: Sequence[str]) -> dict[str, str]:
    """Names that tell these planted crowds apart."""
    return exhibits.planted.crowd_names({name: labelled(name) for name in names})


def runs_on(names: Sequence[str]) -> list[tuple[str, Run]]:
    """The runs on planted crowds with the crowd's name, oldest first within a crowd."""
    return [(name, run) for name in names for run in reversed(runs_of(name)) if run.spec.search is None]


def _candidate_name(name: str, run: Run) -> str:
    """A method with its own settings."""
    from crowdcore.learning.recovery.plan import Candidate

    method, settings = spelling.read(own_line(run.spec.method, run.spec.settings, kind(name)))
    return Candidate(method=method, settings=settings).name


def newest(names: Sequence[str]) -> dict[tuple[str, str], Run]:
    """(crowd, name of the method) -> its newest run with a result."""
    return {(name, _candidate_name(name, run)): run for name, run in runs_on(names) if readable(run, name)}


def errors(names: Sequence[str]) -> Exhibit | None:
    """Recovery errors of the runs on these crowds; None while no run has ended."""
    runs = newest(names)
    if not runs:
        return None
    if kind(names[0]) == "ratings":
        words = crowd_words(names)
        called = {one if len(names) == 1 else f"{one}, {words[name]}": run for (name, one), run in runs.items()}
        return exhibits.comparison.rating_errors({one: learnt(run.id) for one, run in called.items()})  # type: ignore[misc]
    results = {key: result(run.id) for key, run in runs.items()}
    methods = {called: run.spec.method for (_, called), run in runs.items()}
    return exhibits.planted.recovery_errors({name: dataset(name) for name in names}, results, methods)
