"""Lines, options, means and seeds are read back as they were spelled."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from crowdcore.core import spelling
from crowdcore.core.errors import SettingError
from crowdcore.core.spelling import Part, read_mean, read_options, spell, spell_mean, spell_options

VALUES = st.one_of(st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


def test_a_mean_of_methods_is_read_back() -> None:
    parts = [Part(0.75, spell("dl-em", {"note": "a + b"}), 0.6), Part(0.25, "conal")]
    assert read_mean(spell_mean(parts)) == parts
    assert read_mean("3 dl-em + 1 conal") == [Part(0.75, "dl-em"), Part(0.25, "conal")]
    assert read_mean(spell_mean(parts[1:])) == [Part(1.0, "conal")]


@pytest.mark.parametrize(
    "text",
    ["dl-em + conal", "0.5 dl-em + conal", "0 dl-em + 1 conal", "-1 dl-em + 2 conal", "nan a + 1 b", "1 a^0 + 1 b"],
)
def test_every_method_of_a_mean_has_a_weight(text: str) -> None:
    with pytest.raises(SettingError, match="a weight each"):
        read_mean(text)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES))
def test_a_line_is_read_back(settings: dict[str, object]) -> None:
    line = spelling.spell("conal", settings)
    method, found = spelling.read(line)
    assert method == "conal"
    assert found == settings
    assert {k: type(v) for k, v in found.items()} == {k: type(v) for k, v in settings.items()}


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), VALUES))
def test_options_are_read_back(settings: dict[str, object]) -> None:
    assert read_options(spell_options(settings)) == settings


def test_an_option_that_is_none_is_refused() -> None:
    assert read_options([' sizes=[1, "b"]', "rule=dawid-skene smoothing=0.1"]) == {
        "sizes": [1, "b"],
        "rule": "dawid-skene smoothing=0.1",
    }
    for wrong in ("sizes", "=1", "sizes=[1, b]"):
        with pytest.raises(SettingError, match="--set"):
            read_options([wrong], "--set")


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=12, unique=True))
def test_seeds_are_read_back(seeds: list[int]) -> None:
    assert spelling.read_seeds(spelling.spell_seeds(seeds)) == tuple(seeds)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "a", "1,,2", ",", "2,2", "1001", "99999999999999", "１"])
def test_seeds_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="Seeds"):
        spelling.read_seeds(text)
