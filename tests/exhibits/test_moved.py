"""Modules of 0.3 that were merged still resolve under their old names, with a note."""

from __future__ import annotations

import pytest

from crowdcore import exhibits
from crowdcore.exhibits import planted


def test_an_old_module_is_the_new_one() -> None:
    for old, new in exhibits._MOVED.items():
        with pytest.warns(DeprecationWarning, match=old):
            assert getattr(exhibits, old).__name__ == f"crowdcore.exhibits.{new}"


def test_the_figure_of_a_study_goes_by_its_old_name() -> None:
    with pytest.warns(DeprecationWarning, match="study_errors"):
        assert planted.errors is planted.study_errors
