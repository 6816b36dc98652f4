"""References: names, results and refusals."""

from __future__ import annotations

import inspect
import types

import numpy as np
import pytest

import crowdcore as cc
from crowdcore import analysis
from crowdcore.analysis import Reference, available_references, resolve_reference
from tests.analysis.crowds import make_crowd


def test_gold_is_hard_and_first(crowd):
    found = resolve_reference(crowd, "gold")
    assert (found.name, found.soft) == ("gold", False)
    np.testing.assert_array_equal(found.labels, crowd.gold)
    assert available_references(crowd)[:1] == ["gold"]
    assert "majority-vote" in available_references(crowd)


def test_an_aggregator_is_fitted_by_name_or_given_as_result(crowd):
    result = cc.aggregation.get("majority-vote").fit(crowd)
    for found in (resolve_reference(crowd, "majority-vote"), resolve_reference(crowd, result)):
        assert found.name == "majority-vote"
        np.testing.assert_array_equal(found.posterior, result.posterior)
    ready = Reference("run:7", crowd.gold)
    assert resolve_reference(crowd, ready) is ready


def test_gold_on_tasks_without_annotations_is_no_reference():
    crowd = make_crowd([0], [0], [0], 2, 1, 2, gold=np.array([-1, 1]))
    assert "gold" not in available_references(crowd)
    with pytest.raises(cc.DataError, match="no gold labels"):
        resolve_reference(crowd, "gold")


def test_refusals(crowd):
    with pytest.raises(cc.SettingError, match="majority-vote"):
        resolve_reference(crowd, "majority-votes")
    with pytest.raises(cc.SettingError, match="300 tasks"):
        resolve_reference(crowd, Reference("short", np.zeros(5, np.int32)))


def test_functions_win_over_files_of_their_name():
    from crowdcore.analysis import shared_mistakes as again

    assert inspect.isfunction(again)
    modules = [name for name in analysis.__all__ if isinstance(getattr(analysis, name), types.ModuleType)]
    assert modules == []
