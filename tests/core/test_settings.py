"""Settings models: frozen, bounded, and refusing in our phrasing."""

from __future__ import annotations

import pytest
from pydantic import Field, ValidationError

from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings


class Some(Settings):
    share: float = Field(0.5, ge=0, le=1)
    sizes: tuple[int, ...] = (1, 2)


def test_defaults_and_values() -> None:
    assert Some().share == 0.5
    assert Some(share=1, sizes=[3]).sizes == (3,)
    assert Some() == Some(share=0.5)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"share": 2}, "`share` must be at most 1, but got 2."),
        ({"sizes": "3"}, r"`sizes` must be a list, such as \[\"a\", \"b\"\], but got '3'"),
        ({"sizes": (1, "x")}, r"`sizes\.1` must be a whole number, but got 'x'"),
        ({"shape": 1}, "`setting` must be one of share, sizes, but got 'shape'. Did you mean 'share'?"),
    ],
)
def test_refusals_name_argument_value_and_remedy(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        Some(**given)


def test_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Some().share = 0.1  # type: ignore[misc]
