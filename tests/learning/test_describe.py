"""What methods say of themselves to those that must not load torch."""

from __future__ import annotations

from dataclasses import fields

from crowdcore.learning import methods
from crowdcore.learning.describe import describe
from crowdcore.learning.result import TrainingResult


def test_every_method_says_which_parts_of_a_result_it_fills():
    found = describe()["methods"]
    assert list(found) == methods.names()
    parts = {field.name for field in fields(TrainingResult)}
    assert all(set(about["recovers"]) <= parts for about in found.values())
    assert set(found["conal"]["recovers"]) == {"common_confusion", "worker_confusion", "omega"}
    assert found["single-cm"]["recovers"] == ["common_confusion"]
    assert found["dl-true"]["recovers"] == []
