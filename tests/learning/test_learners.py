"""What lists and forms show of methods and networks without torch; presets that training takes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings
from crowdcore.data.simulate import synthetic
from crowdcore.learning import backbones, learners, methods, presets, split_settings
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.ratings.methods import METHODS as OF_RATINGS
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.loop import Replica, make_replicas
from crowdcore.learning.training.problem import Problem, make_problem

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


@pytest.mark.parametrize("name", methods.REGISTRY.modules)
def test_a_method_is_described_as_its_class_is(name: str) -> None:
    about, method = learners.about_method(name), methods.get(name)
    assert about.settings is method.Settings
    assert (about.title, about.paper, about.recovers) == (method.title, method.paper, method.recovers)
    assert about.variants == method.variants
    assert about.description == " ".join((method.__doc__ or "").split("\n\n")[0].split())


@pytest.mark.parametrize("name", OF_RATINGS)
def test_a_method_for_ratings_is_described_as_its_class_is(name: str) -> None:
    about, method = learners.about_method(name, "ratings"), OF_RATINGS[name]
    assert about.settings is method.Settings
    assert (about.title, about.paper) == (method.title, method.paper)
    assert about.description


@pytest.mark.parametrize("name", backbones.REGISTRY.modules)
def test_a_network_is_described_as_its_class_is(name: str) -> None:
    about, network = learners.about_backbone(name), backbones.REGISTRY.find(name)
    assert about.settings is network.Settings
    assert (about.title, about.images, about.sentences) == (network.title, network.images, network.sentences)
    assert about.description


def test_every_method_is_listed() -> None:
    assert set(learners.learners()) == set(methods.names())
    assert set(learners.learners("ratings")) == set(OF_RATINGS)


@pytest.fixture(scope="module")
def small_problem() -> Problem:
    return make_problem(synthetic(n_tasks=60, n_valid=10, n_test=10, n_workers=5), TrainSettings())


@pytest.mark.parametrize("name", [name for name in methods.REGISTRY.modules if name != "auto"])
def test_a_method_recovers_the_parts_that_it_lists(name: str, small_problem: Problem) -> None:
    method = methods.get(name)
    [module] = make_replicas(small_problem, method, [Replica(method.Settings(), 0)], TrainSettings())
    omega = {"omega"} if method.omega is not CrowdMethod.omega else set()
    assert set(method.recovers) == set(module.recovered()) - {"worker_counts"} | omega
    assert set(method.recovers) <= {field.name for field in fields(TrainingResult)}


def test_a_method_that_chooses_recovers_what_its_candidates_do() -> None:
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
