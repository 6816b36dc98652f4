"""Several methods with their weights in one line."""

from __future__ import annotations

import pytest

from crowdcore.core.errors import SettingError
from crowdcore.core.method_string import Part, read_mean, spell, spell_mean


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
