"""Base of every settings model: frozen pydantic fields with bounds, and refusals in our phrasing."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from crowdcore.core.errors import SettingError

__all__ = ["Settings"]


class Settings(BaseModel):
    """Named settings with defaults, bounds and one-line descriptions; CLI and app draw their forms from them.

    Raises:
        SettingError: an unknown setting or a value out of bounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            first = error.errors()[0]
            argument = ".".join(map(str, first["loc"]))
            known = f"Known settings: {', '.join(type(self).model_fields) or 'none'}."
            raise SettingError(argument, f"satisfy: {first['msg'].lower()}", first["input"], known) from error
