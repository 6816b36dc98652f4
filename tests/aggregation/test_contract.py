"""Every aggregator of the folder keeps the contract."""

from __future__ import annotations

from functools import partial

import pytest

from crowdcore import aggregation
from tests.aggregation.contract import AggregatorContract


@pytest.mark.parametrize("name", aggregation.names())
class TestEveryAggregator(AggregatorContract):
    @pytest.fixture
    def make(self, name):
        return partial(aggregation.get, name)

    def test_is_called_what_it_is_listed_as(self, name):
        assert aggregation.get(name).name == name
