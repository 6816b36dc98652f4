"""Modules of 0.3 that were merged still resolve under their old names, with a note."""

from __future__ import annotations

import pytest

from crowdcore import exhibits
from crowdcore.exhibits import comparison, differences, planted


def test_an_old_module_is_the_new_one() -> None:
    for old, new in exhibits._MOVED.items():
        with pytest.warns(DeprecationWarning, match=old):
            assert getattr(exhibits, old).__name__ == f"crowdcore.exhibits.{new}"


def test_functions_go_by_their_old_names() -> None:
    assert planted.errors is planted.study_errors
    assert comparison.over_seeds is differences.over_seeds
