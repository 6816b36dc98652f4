"""Base of every settings model: frozen pydantic fields with bounds, and refusals in our phrasing."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crowdcore.core.errors import SettingError, did_you_mean

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


def setting(default: Any, title: str, description: str, **bounds: Any) -> Any:
    """A field of `Settings`: its default, what a form calls it, what it is, and its bounds (``ge=1``, ``lt=1`` …)."""
    return Field(default=default, title=title, description=description, **bounds)


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
            known = ", ".join(type(self).model_fields) or "none"
            if first["type"] == "extra_forbidden":
                near = did_you_mean(argument, type(self).model_fields)
                raise SettingError("setting", f"be one of {known}", argument, near) from error
            wrong = (
                'input should be a list, such as ["a", "b"]' if first["type"] == "tuple_type" else first["msg"].lower()
            )
            raise SettingError(argument, f"satisfy: {wrong}", first["input"], f"Known settings: {known}.") from error
