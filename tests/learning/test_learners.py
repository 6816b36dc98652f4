"""Learners: what is registered, retired, imported and recovered."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.data import load_dataset, simulate
from crowdcore.data.simulate import synthetic
from crowdcore.learning import backbones, learners, load_result, methods, presets, split_settings, train
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.methods import RATINGS as OF_RATINGS, get
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import RETIRED, TrainSettings, drop_retired
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.metrics import recovery_error, skill_correlation
from crowdcore.learning.training.problem import make_problem
from tests.learning.helpers import featured_crowd

FORMS = """
import sys
import crowdcore as cc
from crowdcore.learning import backbones, learners, methods
for name in methods.REGISTRY.modules:
    assert learners.about_method(name).fields is not None
for name in learners.learners("ratings"):
    learners.about_method(name, "ratings")
for name in backbones.REGISTRY.modules:
    learners.about_backbone(name)
assert "torch" not in sys.modules
"""


def test_forms_of_all_methods_and_networks_load_no_torch() -> None:
    done = subprocess.run([sys.executable, "-c", FORMS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_methods_and_networks_are_listed_and_described_as_their_classes_are() -> None:
    assert set(learners.learners()) == set(methods.names())
    assert set(learners.learners("ratings")) == set(OF_RATINGS)
    modules = [(learners.about_method(n), methods.REGISTRY[n]) for n in methods.REGISTRY.modules]
    for about, method in [*modules, *((learners.about_method(n, "ratings"), m) for n, m in OF_RATINGS.items())]:
        assert about.settings is method.Settings
        assert (about.title, about.paper, about.recovers) == (method.title, method.paper, method.recovers)
        assert about.variants == method.variants
        assert about.description == " ".join((method.__doc__ or "").split("\n\n")[0].split())
    for name in backbones.REGISTRY.modules:
        about, network = learners.about_backbone(name), backbones.REGISTRY.find(name)
        assert about.settings is network.Settings
        assert (about.title, about.images, about.sentences) == (network.title, network.images, network.sentences)
        assert about.description


def test_a_method_recovers_the_parts_that_it_lists() -> None:
    problem = make_problem(synthetic(n_tasks=60, n_valid=10, n_test=10, n_workers=5), TrainSettings())
    for method in (methods.get(name) for name in methods.REGISTRY.modules if name != "auto"):
        [module] = make_replicas(problem, method, [Replica(method.Settings(), 0)], TrainSettings())
        omega = {"omega"} if method.omega is not CrowdMethod.omega else set()
        assert set(method.recovers) == set(module.recovered()) - {"worker_counts"} | omega, method.name
        assert set(method.recovers) <= {field.name for field in fields(TrainingResult)}
    parts = {part for name in methods.get("auto").candidates for part in methods.get(name).recovers}
    assert set(methods.get("auto").recovers) == {*parts, "q"} == parts


def test_a_method_of_ones_own_is_described_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(CrowdMethod):
        """``-log p``.

        More about it.
        """

        name, title, paper, Settings = "own", "My own", "-", Settings

        def recovered(self) -> dict[str, object]:  # type: ignore[override]
            return {}

    class Members(dict):  # type: ignore[type-arg]
        find = dict.__getitem__

        def describe(self, name: str) -> dict[str, object]:
            return {}

    assert learners._members(Members({"own": Own}))["own"] == learners.Learner(  # type: ignore[arg-type]
        "My own", "``-log p``.", Settings, "-", recovers=("worker_confusion", "common_confusion", "omega")
    )


@pytest.mark.parametrize("name", presets.PRESETS)
def test_every_row_can_be_trained_and_is_another_one(name: str) -> None:
    preset = presets.get(name)
    split = [(method, *split_settings(methods.get(method), settings)) for method, settings in preset.runs]
    assert len({(method, repr(training), repr(own)) for method, training, own in split}) == len(preset.methods)
    assert preset.seeds == tuple(range(len(preset.seeds)))


def test_what_a_row_says_wins_over_what_the_table_says() -> None:
    preset = presets.get("labelme-table")
    settings = next(s for method, s in preset.runs if s.get("variant") == "authors")
    assert settings["batch_size"] == 1024 != preset.training["batch_size"]
    assert {method for method, _ in preset.runs} >= {"conal", "crowd-layer", "trace", "dl-em", "dl-true"}


def test_the_tables_of_lambda_differ_in_lambda_only() -> None:
    rows = presets.get("music-table-2").runs
    assert [settings.pop("regularisation") for _, settings in rows] == [0, 1e-4, 1e-5, 1e-6]
    assert all(row == rows[0] for row in rows)


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(SettingError, match="'labelme-table'"):
        presets.get("labelme-tabel")


@pytest.mark.parametrize("name", RETIRED)
def test_a_call_that_names_one_is_told_and_served(name: str) -> None:
    usual, _ = RETIRED[name]
    other = {"feed": "stream", "stack": "all", "record": False}.get(name, 3)
    with pytest.warns(DeprecationWarning, match=name):
        assert split_settings(get("conal"), {name: other, "lr": 0.1})[0] == split_settings(get("conal"), {"lr": 0.1})[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split_settings(get("conal"), {name: usual})
        assert learners.read_method(f"conal {name}={json.dumps(usual)}") == ("conal", {})
    assert drop_retired({name: other}, known={name}) == {name: other}, "a method of one's own may have it"


def test_a_result_that_holds_them_predicts(tmp_path) -> None:
    crowd = featured_crowd()
    rows = np.asarray(crowd.features)
    result = train(crowd, "gaussian-em", seeds=1, epochs=1, rounds=3, select_on="none")
    usual = {name: default for name, (default, _) in RETIRED.items() if name != "networks"}
    before = replace(result, training={**result.training, **usual}, settings={**result.settings, "networks": 1})
    again: TrainingResult = load_result(before.save(tmp_path / "one"))
    np.testing.assert_array_equal(again.predict_proba(rows), result.predict_proba(rows))
    alone = "classifier.network."
    twice = {
        f"{alone}networks.{k}.{n.removeprefix(alone)}": v
        for n, v in result.model.items()
        if n.startswith(alone)
        for k in (0, 1)
    }
    model = {**{n: v for n, v in result.model.items() if not n.startswith(alone)}, **twice}
    two = replace(before, model=model, settings={**result.settings, "networks": 2})
    np.testing.assert_allclose(two.predict_proba(rows), result.predict_proba(rows), atol=1e-6)


BLOCKED = (
    "platformdirs",
    "numba",
    "llvmlite",
    "plotly",
    "typer",
    "rich",
    "streamlit",
    "PIL",
    "torchvision",
    "mlflow",
    "dask",
    "distributed",
    "optuna",
    "crowdkit",
    "krippendorff",
)

RUN = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import torch
torch.set_num_threads(1)
import crowdcore as cc
from tests.learning.helpers import featured_crowd
crowd = featured_crowd()
result = cc.learning.train(crowd, "conal", seeds=2, epochs=2)
cc.learning.train(crowd, "dl-ds", seeds=1, epochs=1)
assert result.accuracy("test").shape == (2,)
cc.list_datasets()
"""


def test_training_runs_where_only_its_own_needs_are_installed():
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(blocked=BLOCKED)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_crowd_layer_finds_rodrigues_five_binary_annotators():
    rng = np.random.default_rng(0)
    gold = rng.integers(2, size=1500)
    centres = 1.5 * rng.standard_normal((2, 10))
    features = (centres[gold] + rng.standard_normal((1500, 10))).astype(np.float32)
    crowd = simulate.rodrigues((features, gold), seed=0)
    result = train(crowd, "crowd-layer", seeds=2, epochs=30, lr=0.01, batch_size=64, select_on="none")
    true = crowd.truth.worker_confusion
    diagonals = np.diagonal(true, axis1=1, axis2=2).ravel()
    for s in range(2):
        values = np.diagonal(result.worker_confusion[s], axis1=1, axis2=2).ravel()
        assert np.corrcoef(diagonals, values)[0, 1] > 0.98
    assert (skill_correlation(true, result.worker_confusion) > 0.95).all()
    assert result.accuracy("train").min() > 0.9


@pytest.mark.parametrize(("labels", "bound"), [("dense", 0.02), ("one", 0.08)])
def test_trace_regularisation_finds_tannos_flippers_on_real_digits(labels, bound):
    digits = load_digits()
    features = (digits.data / 16).astype(np.float32)
    crowd = simulate.tanno((features, digits.target), kind="pairwise-flipper", skill=0.6, labels=labels, seed=1)
    result = train(crowd, "trace", seeds=2, epochs=40, lr=0.01, batch_size=64, schedule="cosine", select_on="none")
    true = crowd.truth.worker_confusion
    error = recovery_error(true, result.worker_confusion)
    assert (error < bound).all(), error
    assert recovery_error(true, np.tile(np.eye(10), (5, 1, 1))) > 0.3
    assert (result.accuracy("train") > 0.9).all()


def test_labelmes_common_confusion_shows_inside_city_taken_for_street(data_folder):
    crowd = load_dataset("labelme")
    result = train(crowd, "conal", seeds=3, epochs=20)
    city, street = crowd.classes.index("insidecity"), crowd.classes.index("street")
    mean = result.common_confusion.mean(0)
    assert mean[city, street] > 0.12
    observed = np.zeros_like(mean)
    known = crowd.gold[crowd.task] >= 0
    np.add.at(observed, (crowd.gold[crowd.task][known], crowd.label[known]), 1)
    observed /= observed.sum(1, keepdims=True)
    largest = [set(np.argsort(-(m * (1 - np.eye(8))).ravel())[:5]) for m in (mean, observed)]
    assert len(largest[0] & largest[1]) >= 3, "the largest shared confusions are the ones observed"
    assert np.nanstd(result.omega, axis=1).min() > 0.1
    assert result.accuracy("test").mean() > 0.86
