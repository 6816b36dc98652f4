"""What methods that choose another one have tried."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crowdcore.exhibits.comparison import candidates
from tests.learning.helpers import featured_crowd
from tests.learning.made_up import made_up


@pytest.fixture(scope="module")
def crowd():
    return featured_crowd(200)


def test_candidates_of_a_method_that_chooses(crowd):
    tried = [
        {"candidate": "dl-em", "accuracy": None, "likelihood": -1.5, "weight": 0.8, "chosen_in": 0.75},
        {"candidate": "conal", "accuracy": None, "likelihood": -2.0, "weight": 0.2, "chosen_in": 0.25},
    ]
    results = {"auto": replace(made_up(crowd, "dl-em"), tried=tuple(tried)), "trace": made_up(crowd, "trace")}
    table = candidates(results).table
    assert table["likeliest in %"].tolist() == [75, 25]
    assert table["weight in the mean"].tolist() == [0.8, 0.2]
    assert table["candidate"].tolist() == ["dl-em", "conal"]
    assert "validation %" not in table, "no gold validated"
    assert candidates({"trace": results["trace"]}) is None


def test_a_result_that_an_earlier_version_wrote_has_no_weights(crowd):
    tried = ({"candidate": "dl-em", "accuracy": 0.9, "likelihood": -1.5, "chosen_in": 1.0},)
    table = candidates({"auto": replace(made_up(crowd, "dl-em"), tried=tried)}).table
    assert "weight in the mean" not in table
