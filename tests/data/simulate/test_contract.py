"""What every simulation must keep, run over the whole folder."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import chisquare

import crowdcore as cc
from crowdcore.core.errors import DataError, SettingError
from crowdcore.data import simulate
from crowdcore.data.simulate.base import as_tasks

SMALL = {
    "tags": {"n_sentences": 60},
    "spans": {"n_sentences": 60},
    "synthetic": {"n_tasks": 600, "n_valid": 100, "n_test": 100},
    "large": {"n_tasks": 500, "n_workers": 20},
}
LARGER = {"tags": {"n_sentences": 800}, "large": {"n_tasks": 20_000}, "ccc": {"patterns": "COR-I", "per_pattern": 2}}
N_CLASSES = {"rodrigues": 2}


def source(name: str, n: int = 600, seed: int = 3):
    """Tasks in three splits, or None for simulations that make their own."""
    if simulate.get(name).makes_tasks:
        return None
    rng = np.random.default_rng(seed)
    gold = rng.integers(N_CLASSES.get(name, 10), size=n)
    return as_tasks((rng.standard_normal((n, 5)), gold), "tasks", np.arange(n) % 4 - (np.arange(n) % 4 == 3))


def make(name: str, n: int = 600, **settings):
    return simulate.get(name)(**{**SMALL.get(name, {}), **settings}).run(source(name, n))


@pytest.fixture(params=[n for n in simulate.names() if issubclass(simulate.get(n), simulate.ClassSimulation)])
def name(request) -> str:
    return request.param


def test_every_family_is_listed_with_a_function_of_its_name() -> None:
    assert " ".join(simulate.names()) == "ccc conal judges large ratings rodrigues spans synthetic tags tanno"
    for name in simulate.names():
        assert simulate.get(name).name == name
        assert callable(getattr(simulate, name))
    with pytest.raises(SettingError, match="Did you mean 'conal'"):
        simulate.get("conel")


def test_reachable_from_the_top() -> None:
    assert cc.data.simulate.synthetic(n_tasks=50, n_valid=5, n_test=5).n_tasks == 50


def test_settings_carry_bounds_and_descriptions(name: str) -> None:
    schema = simulate.get(name).model_json_schema()
    for field, said in schema["properties"].items():
        assert said["description"].endswith("."), field
        assert said["default"] is not ...
        if said.get("type") in ("integer", "number"):
            assert {"minimum", "exclusiveMinimum"} & set(said), field
    assert simulate.get(name).title and simulate.get(name).paper


def test_same_seed_same_dataset_and_another_seed_another(name: str) -> None:
    one, two, other = make(name), make(name), make(name, seed=1)
    assert one.fingerprint == two.fingerprint != other.fingerprint
    for part in ("worker_confusion", "common_confusion", "omega", "used_common", "group"):
        np.testing.assert_array_equal(getattr(one.truth, part), getattr(two.truth, part))


def test_truth_fits_the_dataset(name: str) -> None:
    ds = make(name)
    truth = ds.truth
    assert truth.worker_confusion.shape == (ds.n_workers, ds.n_classes, ds.n_classes)
    np.testing.assert_allclose(truth.worker_confusion.sum(-1), 1, atol=1e-12)
    assert (truth.worker_confusion >= 0).all()
    if truth.common_confusion is not None:
        np.testing.assert_allclose(truth.common_confusion.sum(-1), 1, atol=1e-12)
        assert len(truth.omega) == len(truth.used_common) == ds.n_annotations
    assert truth.worker_role == () or len(truth.worker_role) == ds.n_workers
    assert truth.settings["simulation"] == name and truth.settings["seed"] == 0
    assert set(simulate.get(name).model_fields) <= set(truth.settings)
    json.loads(json.dumps(truth.settings, allow_nan=False))
    assert list(ds.worker_ids) == sorted(ds.worker_ids)


def test_annotations_are_sorted_distinct_and_only_of_training_tasks(name: str) -> None:
    ds = make(name)
    pair = ds.task.astype(np.int64) * ds.n_workers + ds.worker
    assert (np.diff(pair) > 0).all()
    given = source(name)
    if given is not None:
        assert set(ds.split[ds.task]) <= {0, -1}
        assert ds.annotated[given.split <= 0].all()
        np.testing.assert_array_equal(ds.gold, given.gold)


def test_labels_follow_the_stated_confusions(name: str) -> None:
    """Each (matrix, true class) row of labels against its stated probabilities, one chi-square a row, Bonferroni."""
    ds = make(name, n=12_000, **LARGER.get(name, {}))
    matrices = ds.truth.worker_confusion
    which = ds.worker
    if ds.truth.common_confusion is not None:
        matrices = np.concatenate([matrices, ds.truth.common_confusion[None]])
        which = np.where(ds.truth.used_common, ds.n_workers, which)
    counts = np.zeros_like(matrices)
    np.add.at(counts, (which, ds.gold[ds.task], ds.label), 1)
    assert counts[matrices == 0].sum() == 0
    p_values = []
    for row, expected in zip(counts.reshape(-1, ds.n_classes), matrices.reshape(-1, ds.n_classes), strict=True):
        possible = expected > 0
        if possible.sum() > 1 and row.sum() * expected[possible].min() >= 5:
            p_values.append(chisquare(row[possible], row.sum() * expected[possible]).pvalue)
    assert len(p_values) >= 4
    assert min(p_values) * len(p_values) > 1e-3
    assert max(p_values) > 0.5  # and the fit is not too good to be true


def test_sources_that_cannot_be(name: str) -> None:
    simulation = simulate.get(name)()
    if simulation.makes_tasks:
        with pytest.raises(SettingError, match="makes its own tasks"):
            simulation.run((None, np.array([0, 1])))
        return
    with pytest.raises(SettingError, match="hold tasks with gold"):
        simulation.run()
    with pytest.raises(DataError, match="no training task with a known true class"):
        simulation.run((None, np.array([-1, -1])))
    with pytest.raises(SettingError, match="vector of class numbers"):
        simulation.run((None, np.array([[0.5]])))


def test_unknown_and_impossible_settings(name: str) -> None:
    with pytest.raises(SettingError, match=r"`setting` must be one of .*seed.*, but got 'colour'"):
        simulate.get(name)(colour="red")
    with pytest.raises(SettingError, match="`seed` must be at least 0, but got -1"):
        simulate.get(name)(seed=-1)


def test_tasks_without_gold_get_no_labels() -> None:
    gold = np.array([0, -1, 1, 0, -1, 1])
    ds = simulate.conal((None, gold), n_workers=5, per_task=2)
    np.testing.assert_array_equal(ds.annotated, gold >= 0)
