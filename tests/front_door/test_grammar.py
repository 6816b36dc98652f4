"""One grammar of names: the same thing has the same name in every public function, and the dataset comes first."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.data.doors import FORMER

PLACES = ("aggregation", "analysis", "data", "figures", "learning", "runs")
OTHER_MEANING = {
    ("analysis.critical_difference", "blocks"): "what a block is, in words",
    ("analysis.confusion_error", "truth"): "confusions, not what labels are judged by",
    ("analysis.rating_recovery", "truth"): "what was planted",
    ("figures.task_ratings", "truth"): "a number to draw",
}
NOT_FIRST = {
    "aggregation.temper": "a result becomes another one",
    "aggregation.changed_labels": "two results; the dataset is not needed",
    "learning.worker_counts": "a result",
    "runs.reference": "a run makes it",
    "runs.estimate": "a run's specification",
}


def functions() -> Iterator[tuple[str, dict[str, inspect.Parameter]]]:
    for place in PLACES:
        module = getattr(cc, place)
        for name in module.__all__:
            one: Any = getattr(module, name)
            if inspect.isfunction(one):
                yield f"{place}.{name}", dict(inspect.signature(one).parameters)


def test_the_same_thing_has_the_same_name() -> None:
    old = [(name, former) for name, parameters in functions() for former in FORMER if former in parameters]
    assert {*old} == {*OTHER_MEANING}
    drawn = ("random_state", "rng", "n_seeds", "bootstrap", "ds", "crowd")
    assert [(name, other) for name, parameters in functions() for other in drawn if other in parameters] == []


def test_the_dataset_comes_first() -> None:
    late = [name for name, parameters in functions() if "dataset" in parameters and [*parameters].index("dataset")]
    assert {*late} == {*NOT_FIRST}


def test_every_registry_lists_and_gets() -> None:
    from crowdcore.data import simulate, sources
    from crowdcore.learning import backbones, methods

    for registry in (cc.aggregation, cc.aggregation.ratings, methods, backbones, simulate, sources):
        assert all(registry.get(name) is not None for name in registry.names())


def test_a_former_name_still_works_and_says_so() -> None:
    demo = cc.load_dataset("demo")
    rated = cc.data.simulate.ratings(n_tasks=200, n_workers=5)
    for function, data, old, new in (
        (analysis.agreement, demo, {"resamples": 20}, {"n_resamples": 20}),
        (analysis.shared_bias, rated, {"bins": 4, "truth": "gold"}, {"n_bins": 4, "reference": "gold"}),
        (analysis.paired_bootstrap, np.ones(30), {"resamples": 99}, {"n_resamples": 99}),
    ):
        with pytest.warns(DeprecationWarning, match="is now") as said:
            found = function(data, **old)
        assert len(said) == len(old)
        assert {one.filename for one in said} == {__file__}
        assert repr(found) == repr(function(data, **new))
