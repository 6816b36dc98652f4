"""What can be trained, told to those that must not load torch."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest

from crowdcore.learning import backbones, methods
from crowdcore.learning.describe import describe
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import TrainSettings


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return describe()


def test_it_is_plain_json(told):
    assert json.loads(json.dumps(told)) == told


def test_every_method_and_backbone_has_words_and_a_schema(told):
    assert list(told["methods"]) == methods.names()
    assert list(told["backbones"]) == backbones.names()
    assert told["training"] == TrainSettings.model_json_schema()
    for name, about in told["methods"].items():
        found = methods.get(name)
        assert (about["title"], about["paper"]) == (found.title, found.paper)
        assert about["words"]
        assert about["schema"] == found.Settings.model_json_schema()
    for name, about in told["backbones"].items():
        assert about["images"] is backbones.REGISTRY.find(name).images
        assert about["sentences"] is (name == "tagger")
        assert about["title"] and about["words"]


def test_a_choice_brings_its_own_training(told):
    training = {json.dumps(choice): given for choice, given in told["methods"]["conal"]["training"]}
    assert training['{"variant": "authors"}'] == methods.get("conal").variants["authors"]
    assert training["{}"] == methods.get("conal").variants["mixture"]
    assert told["methods"]["dl-true"]["training"] == []


def test_every_method_says_which_parts_of_a_result_it_fills(told):
    found = told["methods"]
    parts = {field.name for field in fields(TrainingResult)}
    assert all(set(about["recovers"]) <= parts for about in found.values())
    assert set(found["conal"]["recovers"]) == {"common_confusion", "worker_confusion", "omega"}
    assert found["single-cm"]["recovers"] == ["common_confusion"]
    assert found["dl-true"]["recovers"] == []


def test_a_method_that_chooses_recovers_what_its_candidates_do(told):
    parts = {part for name in methods.get("auto").candidates for part in told["methods"][name]["recovers"]}
    assert {"worker_confusion", "common_confusion", "omega", "q"} <= set(told["methods"]["auto"]["recovers"]) == parts
