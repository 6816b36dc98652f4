"""Who found again what was planted: the runs on planted crowds beside their truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core import method_string as spelling
from dashboard.services._cache import dataset, kept, version
from dashboard.services.runs import readable, result, runs_of
from dashboard.services.train import draft_of

if TYPE_CHECKING:
    import pandas as pd

    from crowdcore import CrowdDataset
    from crowdcore.exhibits import Exhibit
    from crowdcore.learning.recovery.measures import Learnt
    from crowdcore.runs import Run

__all__ = [
    "crowd_words",
    "errors",
    "learnt_workers",
    "matrices",
    "matrix_kinds",
    "newest",
    "runs_on",
]

COMMON, EFFECTIVE, OWN = "common", "effective", "own"


def _settings(name: str) -> dict[str, Any]:
    truth = dataset(name).truth
    return {} if truth is None else {k: v for k, v in truth.settings.items() if k not in {"bias"}}


def _varied(names: Sequence[str]) -> list[str]:
    """Settings in which planted crowds differ, the seed aside."""
    known = [_settings(name) for name in names]
    keys = dict.fromkeys(key for one in known for key in one if key != "seed")
    return [key for key in keys if len({str(one.get(key)) for one in known}) > 1]


def crowd_words(names: Sequence[str]) -> dict[str, str]:
    """What to call planted crowds that stand together: how they differ, else their names."""
    if len(names) == 1:
        return {names[0]: names[0]}
    varied, words = _varied(names), {}
    for name in names:
        known = _settings(name)
        words[name] = ", ".join(f"{key.replace('_', ' ')} {known.get(key)}" for key in varied)
    if len(set(words.values())) < len(names):
        words = {name: f"{words[name] if varied else 'crowd'}, seed {_settings(name).get('seed')}" for name in names}
    return words if len(set(words.values())) == len(names) else {name: f"{words[name]} ({name[-6:]})" for name in names}


def runs_on(names: Sequence[str]) -> list[tuple[str, Run]]:
    """The runs on planted crowds with the crowd's name, oldest first within a crowd."""
    return [(name, run) for name in names for run in reversed(runs_of(name)) if run.spec.search is None]


def _called(run: Run) -> str:
    """A method with its own settings."""
    from crowdcore.learning.recovery.plan import Candidate

    method, settings = spelling.read(draft_of(run.spec)["methods"][0])
    return Candidate(method=method, settings=settings).name


def newest(names: Sequence[str]) -> dict[tuple[str, str], Run]:
    """(crowd, what the method is called) -> its newest run that came to a result."""
    return {(name, _called(run)): run for name, run in runs_on(names) if readable(run, name)}


@st.cache_resource(show_spinner=False, max_entries=256)
def _judged(name: str, run_id: str, version: int) -> pd.DataFrame:
    from crowdcore.learning.recovery.measures import judge

    found = result(run_id)
    return judge(found, dataset(name)).assign(seconds=found.seconds / len(found.seeds))


@kept
def _bounds(opened: CrowdDataset) -> pd.DataFrame:
    from crowdcore.learning.recovery.measures import bounds

    return bounds(opened)


def errors(names: Sequence[str]) -> Exhibit | None:
    """Who recovered what of these crowds; None while no run has ended."""
    from crowdcore.exhibits.recovery_study import errors
    from crowdcore.learning.recovery.measures import assembled, spelled

    found = newest(names)
    if not found:
        return None
    varied = _varied(names)
    heads = {
        name: {**spelled({key: _settings(name).get(key) for key in varied}), "crowd": _settings(name).get("seed", 0)}
        for name in names
    }
    rows = [_bounds(name).assign(**heads[name]) for name in dict.fromkeys(name for name, _ in found)]
    rows += [
        _judged(name, run.id, version(run.id)).assign(method=called, **heads[name])
        for (name, called), run in found.items()
    ]
    columns = [key.replace("_", " ") for key in varied]
    n = len({name for name, _ in found})
    words = f"{n} crowds" if n > 1 else f"{_settings(names[0]).get('simulation', '')} · {names[0]}"
    return errors(assembled(rows, columns), columns, {called: r.spec.method for (_, called), r in found.items()}, words)


@st.cache_resource(show_spinner=False, max_entries=64)
def _learnt(name: str, run_id: str, version: int) -> Learnt:
    from crowdcore.learning.recovery.measures import learnt_of

    return learnt_of(result(run_id), dataset(name))


def matrix_kinds(name: str) -> dict[str, str]:
    """Which planted matrices there are, and in words."""
    truth = dataset(name).truth
    if truth is None:
        return {}
    common = truth.common_confusion is not None and truth.common_confusion.ndim == 2
    return {
        **({COMMON: "Common confusion"} if common else {}),
        **({EFFECTIVE: "Effective confusion"} if truth.worker_confusion is not None else {}),
        **({OWN: "Own confusion"} if common and truth.worker_confusion is not None else {}),
    }


def learnt_workers(name: str) -> list[str]:
    """Workers with annotations."""
    opened = dataset(name)
    return [str(w) for w, n in zip(opened.worker_ids, opened.labels_per_worker, strict=True) if n]


def matrices(name: str, kind: str, worker: str) -> Exhibit | None:
    """The planted matrix beside what every method learnt; None where no method learns it.

    Args:
        name: of the crowd.
        kind: one of `matrix_kinds`.
        worker: whose, unless it is the common one.
    """
    from crowdcore.exhibits import recovery_study as recovery_exhibits
    from crowdcore.learning.recovery.measures import true_effective

    opened = dataset(name)
    truth, at = opened.truth, [str(w) for w in opened.worker_ids].index(worker) if kind != COMMON else 0
    if truth is None:
        return None
    true = {COMMON: truth.common_confusion, OWN: truth.worker_confusion, EFFECTIVE: true_effective(opened)}[kind]
    learnt = {}
    for (_, called), run in newest([name]).items():
        found = getattr(_learnt(name, run.id, version(run.id)), kind)
        if found is not None:
            learnt[called] = found if kind == COMMON else found[:, at]
    if true is None or not learnt:
        return None
    what = matrix_kinds(name)[kind] + ("" if kind == COMMON else f" of {worker}")
    return recovery_exhibits.matrices(
        what, true if kind == COMMON else true[at], learnt, opened.classes, "mean over seeds, selected epoch"
    )
