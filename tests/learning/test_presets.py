"""Presets: every run of every table is one that training takes."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import SettingError
from crowdcore.learning import methods, presets, split_settings


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
