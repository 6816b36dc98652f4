"""Plans and studies: planting, refusals, their tables against the definitions, and stopping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.simulate import TaskChoice
from crowdcore.learning import study_recovery
from crowdcore.learning.recovery.plan import PRESETS, RecoveryPlan, plant, preset
from crowdcore.learning.recovery.study import bounds, judge, learnt_of, true_effective
from tests.learning.made_up import made_up

SMALL = {"n_tasks": 240, "n_valid": 40, "n_test": 40, "n_workers": 6, "n_classes": 3}
PLAN = RecoveryPlan(
    settings=SMALL,
    over={"common_strength": [0.2, 0.8]},
    crowds=2,
    methods=[{"method": "conal"}, {"method": "dl-mv"}, {"method": "single-cm"}],
    training={"epochs": 2, "batch_size": 64},
    seeds=2,
)


@pytest.fixture(scope="module")
def study():
    return study_recovery(PLAN, device="cpu")


def test_one_row_per_point_method_crowd_and_seed_in_the_order_of_the_plan(study) -> None:
    names = ["conal", "dl-mv", "single-cm", "identity", "counted with gold"]
    assert study.summary()["method"].tolist() == names * 2
    assert study.summary()["common strength"].tolist() == [0.2] * 5 + [0.8] * 5
    trained = study.table[study.table["seed"].notna()]
    assert len(trained) == 2 * 3 * 2 * 2
    assert trained["accuracy"].between(0, 1).all()
    assert len(study.trained) == 2 * 3 * 2
    assert study.crowds["misleading classes"].between(0, 3).all()
    assert not study.stopped and not study.notes


def test_a_method_without_a_matrix_has_no_error(study) -> None:
    rows = study.table.set_index("method")
    assert rows.loc["dl-mv", ["common error", "own error", "effective error", "ω correlation"]].isna().all(axis=None)
    assert rows.loc["conal", ["common error", "own error", "effective error", "ω correlation"]].notna().all(axis=None)
    assert rows.loc["single-cm", "effective error"].notna().all()


def test_means_and_spreads_are_over_crowds_and_seeds(study) -> None:
    mine = study.table.query("method == 'conal' and `common strength` == 0.8")["accuracy"]
    row = study.summary().query("method == 'conal' and `common strength` == 0.8").iloc[0]
    assert row["accuracy"] == pytest.approx(mine.mean())
    assert row["accuracy ±"] == pytest.approx(mine.std(ddof=1))


@pytest.mark.parametrize("alike", [True, False])
def test_the_truth_itself_has_no_error(alike: bool) -> None:
    crowd = simulate.synthetic(**SMALL, individual_strength=0.4, strength_spread=0.0 if alike else 0.2)
    truth = crowd.truth
    result = replace(
        made_up(crowd, "conal", (0,)),
        worker_confusion=truth.worker_confusion[None],
        common_confusion=truth.common_confusion[None],
        omega=truth.omega[None],
        worker_counts=1e9 * np.nan_to_num(true_effective(crowd))[None],
    )
    row = judge(result, crowd).iloc[0]
    assert row[["common error", "own error", "effective error"]].tolist() == pytest.approx([0, 0, 0], abs=1e-9)
    assert row["ω correlation"] == pytest.approx(1)
    assert row["skill correlation"] == pytest.approx(np.nan if alike else 1, nan_ok=True)


def test_errors_by_hand_leave_workers_without_annotations_out() -> None:
    crowd = simulate.synthetic(**SMALL)
    crowd = crowd.without_workers(np.array([2]))
    result = made_up(crowd, "crowd-layer", (0, 1))
    labelled = (crowd.labels_per_worker > 0)[:, None, None]
    result = replace(result, worker_counts=1e9 * result.worker_confusion * labelled)
    effective = true_effective(crowd)
    seen = [r for r in range(6) if r != 2]
    assert np.isnan(effective[2]).all()
    for r in seen:
        mine = crowd.worker == r
        mixture = [
            w * crowd.truth.common_confusion + (1 - w) * crowd.truth.worker_confusion[r]
            for w in crowd.truth.omega[mine]
        ]
        assert effective[r] == pytest.approx(np.mean(mixture, axis=0))
    by_hand = [
        np.mean([((result.worker_confusion[s, r] - effective[r]) ** 2).sum(-1).mean() for r in seen]) for s in range(2)
    ]
    assert judge(result, crowd)["effective error"].tolist() == pytest.approx(by_hand)
    counted = learnt_of(result, crowd).effective
    assert np.isnan(counted[:, 2]).all()
    np.testing.assert_allclose(counted[:, seen], result.worker_confusion[:, seen], atol=1e-8)


def test_counting_with_gold_is_nearer_than_the_identity() -> None:
    crowd = simulate.synthetic(n_tasks=3000, n_valid=100, n_test=100, n_workers=6, n_classes=3)
    row = bounds(crowd).set_index("method")["effective error"]
    counted = analysis.worker_confusion(crowd, "gold").matrices
    assert row["counted with gold"] == pytest.approx(((counted - true_effective(crowd)) ** 2).sum(-1).mean())
    assert row["counted with gold"] < 0.02 < row["identity"]


def test_it_stops_and_keeps_what_has_ended() -> None:
    seen: list[tuple[float, str]] = []
    done = study_recovery(
        PLAN,
        device="cpu",
        on_progress=lambda share, words: seen.append((share, words)),
        should_stop=lambda: any("dl-mv" in words for _, words in seen),
    )
    assert done.stopped
    assert done.table["method"].unique().tolist() == ["conal", "identity", "counted with gold"]
    shares = [share for share, _ in seen]
    assert shares == sorted(shares) and 0 < shares[0] <= shares[-1] < 1


def test_the_same_plan_gives_the_same_numbers(study) -> None:
    again = study_recovery(PLAN, device="cpu")
    columns = [c for c in study.table if c != "seconds"]
    assert again.table[columns].equals(study.table[columns])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": []}, "no method"),
        ({"methods": [{"method": "conel"}]}, "conal"),
        ({"training": {"epoch": 2}}, "epoch"),
        ({"over": {"common_strength": [0.2, 2]}}, "common_strength"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_before_anything_is_trained(change: dict, words: str) -> None:
    shares: list[float] = []
    plan = RecoveryPlan(**{**PLAN.model_dump(), **change})
    with pytest.raises((SettingError, DataError), match=words):
        study_recovery(plan, on_progress=lambda share, words: shares.append(share))
    assert not shares


PLANTED = {"n_tasks": 300, "n_valid": 50, "n_test": 50}


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
    plan = RecoveryPlan(settings={**PLANTED, "seed": 5}, over={"common_strength": [0.7]})
    expected = simulate.synthetic(**PLANTED, common_strength=0.7, seed=7)
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
    with pytest.raises(SettingError, match="makes"):
        plant(made, made.points()[0])
    given = RecoveryPlan(simulation="tanno")
    with pytest.raises(DataError, match="with gold"):
        plant(given, given.points()[0])
    wrong = RecoveryPlan(settings={"common_strength": 3})
    with pytest.raises(SettingError, match="common_strength"):
        plant(wrong, wrong.points()[0])
    with pytest.raises(SettingError, match="needs"):
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
