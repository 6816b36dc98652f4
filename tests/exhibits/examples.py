"""Arguments with which every exhibit of a view can be made."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from crowdcore.data import simulate
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import View, view as view_of
from crowdcore.exhibits.catalogue import catalogue
from testkit.crowds import simulate_crowd

FITS = ("dawid-skene", "conal-em")
OF_VIEWS = {
    name: function
    for name, function in catalogue().items()
    if next(iter(inspect.signature(function).parameters.values())).annotation in ("View", "TaggedView")
}


def crowd() -> CrowdDataset:
    """Names that must be escaped, and ids of workers that must not be seen where they are hidden."""
    plain = simulate_crowd(60, n_workers=5, accuracy=0.5)
    return replace(
        plain,
        name="crowd",
        classes=("R&D", "<x>street</x>", "class 2", "class 3"),
        worker_ids=pd.Index([f"<x>anna{n}</x>" for n in range(5)]),
        task_ids=pd.Index([f"<x>task{n}</x>" for n in range(60)]),
        extra=pd.DataFrame({"e-mail": [f"anna{r}@example.org" for r in plain.worker]}),
        notes=("1 worker with a single annotation, such as '<x>anna0</x>'.", "Worker 'hanna' would be left out."),
    )


def tagged(plain: CrowdDataset) -> CrowdDataset:
    """A crowd that tags tokens, with names of the same kind."""
    tags = simulate.tags(n_sentences=12, n_workers=5, types=("<x>LOC</x>", "R&D"))
    return replace(tags, worker_ids=plain.worker_ids, notes=plain.notes)


OF_TAGS = {"tag_recovery", "recovered_tags", "recovered_errors"}


def of_tags(function: Callable[..., Any]) -> bool:
    """Return whether an exhibit is about a crowd that tags tokens."""
    return function.__annotations__["view"] == "TaggedView" or function.__name__ in OF_TAGS


@cache
def _tagging(view: View) -> View:
    return view_of(tagged(view.dataset), hidden=view.hidden)


@cache
def _copying(view: View) -> View:
    return view_of(simulate.copy_leader(view.dataset, [1], leader=0, rate=1.0), hidden=view.hidden)


@cache
def _judging(view: View) -> View:
    """Three people and two models, who label twice, in two positions; gold of some."""
    plain = simulate_crowd(60, n_workers=5, n_classes=2, per_task=5, accuracy=0.7)
    names = pd.Index([*crowd().worker_ids[:3], *("gpt-" + crowd().worker_ids[3:])])
    twice = {name: np.repeat(getattr(plain, name), 2) for name in ("task", "worker", "label")}
    extra, gold = (
        pd.DataFrame({"swapped": np.arange(2 * len(plain.task)) % 5 < 2}),
        np.where(np.arange(60) % 3, plain.gold, -1),
    )
    return view_of(replace(plain, **twice, worker_ids=names, extra=extra, gold=gold), hidden=view.hidden)


def made(function: Callable[..., Any], view: View) -> Any:
    """An exhibit of this view, with something for each of its arguments that has no default."""
    if of_tags(function):
        view = _tagging(view)
    if function.__module__.endswith(".coordinated") or function.__name__ == "actions":
        view = _copying(view)
    if function.__name__.startswith(("panel_people", "panel_leanings", "panel_flips", "panel_score")):
        view = _judging(view)
    some = {
        "true": view.classes[0],
        "given": view.classes[1],
        "worker": view.workers[0],
        "other": view.workers[1],
        "without": (view.workers[0],),
        "task": str(view.dataset.task_ids[0]),
        "fit": "item-response" if function.__name__ == "hard_tasks" else FITS[1],
        "first": FITS[0],
        "second": FITS[1],
    }
    _, *others = inspect.signature(function).parameters.values()
    rounds = {"by": "halves"} if function.__module__.endswith(".two_rounds") else {}  # those not given are asked for
    return function(view, **{p.name: some[p.name] for p in others if p.default is p.empty}, **rounds)
