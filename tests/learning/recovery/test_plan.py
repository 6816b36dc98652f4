"""Plans: what they plant, what they refuse, and the presets."""

from __future__ import annotations

import numpy as np
import pytest

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.simulate import TaskChoice
from crowdcore.learning.recovery.plan import PRESETS, RecoveryPlan, plant, preset

SMALL = {"n_tasks": 300, "n_valid": 50, "n_test": 50}


def test_points_are_all_combinations_the_last_varying_fastest() -> None:
    plan = RecoveryPlan(over={"pattern": ["asymmetric", "symmetric"], "common_strength": [0.4, 0.7]})
    assert [tuple(p.varied.values()) for p in plan.points()] == [
        ("asymmetric", 0.4),
        ("asymmetric", 0.7),
        ("symmetric", 0.4),
        ("symmetric", 0.7),
    ]
    assert plan.points()[1].words == "pattern asymmetric, common strength 0.7"
    assert [p.varied for p in RecoveryPlan().points()] == [{}]


def test_a_planted_crowd_is_that_of_the_simulator_and_crowds_differ_in_their_seed() -> None:
    plan = RecoveryPlan(settings={**SMALL, "seed": 5}, over={"common_strength": [0.7]})
    expected = simulate.synthetic(**SMALL, common_strength=0.7, seed=7)
    assert plant(plan, plan.points()[0], 2).fingerprint == expected.fingerprint
    assert plant(plan, plan.points()[0], 0).fingerprint != expected.fingerprint


def test_noise_on_the_gold_of_a_dataset() -> None:
    plan = RecoveryPlan(simulation="conal", dataset="demo", tasks=TaskChoice(n_train=100))
    crowd = plant(plan, plan.points()[0])
    assert crowd.name == "demo-conal"
    assert len(np.unique(crowd.task)) == (crowd.gold[crowd.split == 0] >= 0).sum()
    opened = cc.load_dataset("demo")
    assert plant(plan, plan.points()[0], source=opened).fingerprint == crowd.fingerprint


def test_what_cannot_be_planted_is_refused() -> None:
    made = RecoveryPlan(dataset="demo")
    with pytest.raises(SettingError, match="makes its own tasks"):
        plant(made, made.points()[0])
    given = RecoveryPlan(simulation="tanno")
    with pytest.raises(DataError, match="with gold"):
        plant(given, given.points()[0])
    wrong = RecoveryPlan(settings={"common_strength": 3})
    with pytest.raises(SettingError, match="common_strength"):
        plant(wrong, wrong.points()[0])
    with pytest.raises(SettingError, match="needs a value"):
        RecoveryPlan(over={"common_strength": []})
    with pytest.raises(SettingError, match="differ"):
        RecoveryPlan(methods=[{"method": "trace"}, {"method": "trace"}])


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_names_simulators_settings_and_methods_that_exist(name: str) -> None:
    from crowdcore.learning import methods, split_settings

    plan = preset(name)
    for point in plan.points():
        plan.simulator(point)
    for candidate in plan.methods:
        split_settings(methods.get(candidate.method), {**plan.training, **candidate.settings})
    assert plan.methods
    assert RecoveryPlan(**plan.model_dump()) == plan


def test_the_sweeps_are_those_of_the_figures() -> None:
    assert len(preset("strength").points()) == 10
    assert len(preset("proportion").points()) == 12
    with pytest.raises(SettingError, match="strength, proportion"):
        preset("fig 4")
