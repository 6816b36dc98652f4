"""The sandbox: crowds whose mistakes are known, planted into the workspace, and who found the mistakes again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core import method_string as spelling
from crowdcore.core.errors import SettingError
from crowdcore.data import CrowdDataset, RatingDataset
from crowdcore.exhibits.view import cached
from dashboard.services._cache import dataset, kind, labelled, upload_folder, workspace
from dashboard.services.tables import zipped
from dashboard.services.train import changed

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled
    from crowdcore.data.simulate import Simulation
    from crowdcore.learning.recovery.plan import RecoveryPlan


FIRST = ("synthetic", "conal")
LARGE, VALID = 4000, 1  # training tasks; the validation split
MOST = 5_000_000  # labels, or numbers of an array


def simulators(name: str) -> dict[str, str]:
    """Name -> title, that for such labels as a dataset's first; those for benchmarks are left out.

    Those that label the tasks of a dataset are left out, too, where its labels are numbers.
    """
    from crowdcore.data import simulate

    titles = simulate.REGISTRY.map(lambda found: found.title)
    without = {"large"}
    if kind(name) == "ratings":
        without |= {one for one in titles if not simulate.get(one).makes_tasks}
    return {one: titles[one] for one in (usual_simulator(name), *FIRST, *titles) if one not in without}


def usual_simulator(name: str) -> str:
    """The simulator of such labels as a dataset's."""
    opened = labelled(name)
    if isinstance(opened, RatingDataset):
        return "ratings"
    return "spans" if opened.sentences is not None else "synthetic"


def about_simulator(name: str) -> dict[str, Any]:
    """``title``, ``paper``, ``words``, ``schema`` and ``makes_tasks`` of a simulator.

    Raises:
        SettingError: there is none.
    """
    from crowdcore.data import simulate

    found = simulate.get(name)
    return {
        "title": found.title,
        "paper": found.paper,
        "words": " ".join((found.__doc__ or "").split("\n\n")[0].split()),
        "schema": found.model_json_schema(),
        "makes_tasks": found.makes_tasks,
    }


def read_crowd(line: str) -> tuple[str, dict[str, Any]]:
    """Simulator and settings of a line such as ``synthetic common_strength=0.7``.

    Raises:
        SettingError: no such simulator or setting, or a value out of bounds.
    """
    from crowdcore.data import simulate

    name, settings = spelling.read(line)
    simulate.get(name)(**settings)
    return name, settings


def spell_crowd(name: str, settings: Mapping[str, Any]) -> str:
    """The line of a simulator whose settings are these; those that equal their default are left out."""
    return spelling.spell(name, changed(about_simulator(name)["schema"], settings))


def usual_settings(name: str) -> str:
    """Seeds and settings of the trainer that suit a planted crowd, as a line; gold names the classes where it can."""
    opened = labelled(name)
    if isinstance(opened, RatingDataset) or opened.sentences is not None:
        return ""
    large = int((opened.split <= 0).sum()) >= LARGE
    gold = bool((opened.gold[opened.split == VALID] >= 0).any())
    usual = {
        "seeds": 1,
        **({"epochs": 20, "batch_size": 256} if large else {"epochs": 50}),
        "lr": 0.005,
        "schedule": "cosine",
        **({"names": "validation-gold"} if gold else {}),
    }
    return spelling.spell_settings(usual)


def read_values(text: str) -> list[Any]:
    """The values of a text such as ``0.4, 0.7``; words stay words."""
    return [spelling.read(f"x y={part.strip()}")[1]["y"] for part in text.split(",") if part.strip()]


def read_vary(lines: Sequence[str]) -> dict[str, list[Any]]:
    """Setting -> values, of lines ``setting=[…]``.

    Raises:
        SettingError: a line that is no such thing.
    """
    found = {}
    for line in lines:
        for setting, values in spelling.read(f"vary {line}")[1].items():
            found[setting] = values if isinstance(values, list) else [values]
    return found


def spell_vary(setting: str, values: Sequence[Any]) -> str:
    """A line that `read_vary` reads."""
    return spelling.spell("vary", {setting: list(values)}).partition(" ")[2]


def read_tasks(line: str) -> dict[str, Any]:
    """Which tasks of a dataset, of a line that `spell_tasks` wrote.

    Raises:
        SettingError: a line that is no such thing.
    """
    from crowdcore.data.simulate import TaskChoice

    settings = spelling.read(line or "tasks")[1]
    TaskChoice(**settings)
    return settings


def spell_tasks(settings: Mapping[str, Any]) -> str:
    """Which tasks of a dataset; empty for all."""
    return spelling.spell("tasks", settings) if settings else ""


def plan(name: str, crowd: str, vary: Sequence[str], tasks: str, crowds: int) -> RecoveryPlan:
    """What is planted, from what the address says.

    Args:
        name: the dataset whose gold is planted on, by simulators that make no tasks.
        crowd: a line of `spell_crowd`.
        vary: lines ``setting=[…]``.
        tasks: ``tasks classes=[…] n_train=…``, or empty for all.
        crowds: how many at each point.

    Raises:
        SettingError: what cannot be.
    """
    from crowdcore.learning.recovery.plan import RecoveryPlan

    simulator, settings = read_crowd(crowd)
    own = about_simulator(simulator)["makes_tasks"]
    found = RecoveryPlan(
        simulation=simulator,
        settings=settings,
        over=read_vary(vary),
        dataset="" if own else name,
        tasks={} if own else read_tasks(tasks),
        crowds=crowds,
    )
    for point in found.points():
        _bounded(found.simulator(point))
    return found


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


def plan_words(found: RecoveryPlan) -> str:
    """How many crowds, and what sets them apart."""
    n = len(found.points()) * found.crowds
    varied = [f"{name.replace('_', ' ')} {', '.join(map(str, values))}" for name, values in found.over.items()]
    return f"{n} crowd{'s' if n > 1 else ''}" + (f": {'; '.join(varied)}" if varied else "")


@cached
def _first(opened: Labelled, spelled: str) -> Labelled:
    from crowdcore.learning.recovery.plan import RecoveryPlan, plant

    found = RecoveryPlan.model_validate_json(spelled)
    return plant(found, found.points()[0], 0, opened if isinstance(opened, CrowdDataset) else None)


def preview(name: str, found: RecoveryPlan) -> Labelled:
    """The first crowd of a plan.

    Raises:
        CrowdError: there is no gold to plant on, or the simulator does not fit the classes.
    """
    return _first(
        labelled(name), found.model_copy(update={"methods": (), "training": {}, "seeds": 1}).model_dump_json()
    )


def plant(name: str, found: RecoveryPlan) -> list[str]:
    """Keep every crowd of a plan as a dataset of the workspace; returns their names."""
    from crowdcore.data.writers import write_folder
    from crowdcore.learning.recovery.plan import plant

    source = dataset(name) if found.dataset else None
    names, folder = [], workspace() / "datasets"
    folder.mkdir(parents=True, exist_ok=True)
    for point in found.points():
        for k in range(found.crowds):
            crowd = plant(found, point, k, source)
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
    return zipped(folder, name)
