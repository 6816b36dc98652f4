"""Base of every settings model: frozen pydantic fields with bounds, refusals in our phrasing, and fields of forms."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from crowdcore.core.errors import SettingError, did_you_mean

Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]

_MUST = {  # type of pydantic's error -> its phrase, with the values of its context
    "greater_than_equal": "be at least {ge:g}",
    "greater_than": "be more than {gt:g}",
    "less_than_equal": "be at most {le:g}",
    "less_than": "be less than {lt:g}",
    "literal_error": "be one of {expected}",
    "int_type": "be a whole number",
    "int_parsing": "be a whole number",
    "int_from_float": "be a whole number",
    "float_type": "be a number",
    "float_parsing": "be a number",
    "finite_number": "be a number",
    "bool_type": "be true or false",
    "bool_parsing": "be true or false",
    "string_type": "be text",
    "tuple_type": 'be a list, such as ["a", "b"]',
    "list_type": 'be a list, such as ["a", "b"]',
    "missing": "be given",
}


def setting(default: Any, title: str, description: str, **bounds: Any) -> Any:
    """A field of `Settings`: its default, title in forms, description, and bounds (``ge=1``, ``lt=1`` …)."""
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
            fields = type(self).model_fields
            if first["type"] == "extra_forbidden":
                near = did_you_mean(argument, fields)
                raise SettingError("setting", f"be one of {', '.join(fields) or 'none'}", argument, near) from error
            name = str(first["loc"][0]) if first["loc"] else ""
            choices = form_field(name, fields[name]).choices if name in fields else ()
            if choices:
                raise SettingError(name, f"be one of {', '.join(map(str, choices))}", first["input"]) from error
            must = _MUST.get(first["type"], f"satisfy: {first['msg'].lower()}").format(**first.get("ctx", {}))
            raise SettingError(argument, must, first["input"]) from error

    def __dir__(self) -> Iterable[str]:
        """Names without pydantic's own."""
        return [name for name in super().__dir__() if name.startswith("__") or name not in dir(BaseModel)]


FieldKind: TypeAlias = Literal["integer", "number", "boolean", "text", "choice", "list", "other"]
_KINDS: dict[Any, FieldKind] = {int: "integer", float: "number", bool: "boolean", str: "text"}


@dataclass(frozen=True)
class FormField:
    """A setting as a form shows it.

    Attributes:
        name: of the setting.
        title: for people.
        description: one or two sentences.
        kind: "integer", "number", "boolean", "text", "choice", "list", or "other", which forms leave out.
        default: None where there is none.
        choices: values of a choice.
        optional: whether None is a value.
        low: the bound below, or None.
        high: the bound above, or None.
    """

    name: str
    title: str
    description: str
    kind: FieldKind
    default: Any
    choices: tuple[Any, ...] = ()
    optional: bool = False
    low: float | None = None
    high: float | None = None


def form_fields(model: type[BaseModel]) -> dict[str, FormField]:
    """Name -> field of a form, for every setting of a model."""
    return {name: form_field(name, field) for name, field in model.model_fields.items()}


def form_field(name: str, field: FieldInfo) -> FormField:
    """A field of a form: ``T | None`` is T with ``optional``; literals, also beside true and false, are a choice."""
    kinds = _members(field.annotation)
    optional = type(None) in kinds
    kinds = [kind for kind in kinds if kind is not type(None)]
    literals = [value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind)]
    choices: tuple[Any, ...] = ()
    if literals and all(kind is bool or get_origin(kind) is Literal for kind in kinds):
        choices = (*literals, *((True, False) if bool in kinds else ()))
    kind: FieldKind = "choice" if choices else _KINDS.get(kinds[0], "other") if len(kinds) == 1 else "other"
    if len(kinds) == 1 and (get_origin(kinds[0]) or kinds[0]) in (list, tuple):
        kind = "list"
    low = [bound for part in field.metadata for b in ("ge", "gt") if (bound := getattr(part, b, None)) is not None]
    high = [bound for part in field.metadata for b in ("le", "lt") if (bound := getattr(part, b, None)) is not None]
    return FormField(
        name,
        field.title or name.replace("_", " ").capitalize(),
        field.description or "",
        kind,
        None if field.is_required() else field.get_default(call_default_factory=True),
        choices,
        optional,
        low[0] if low else None,
        high[0] if high else None,
    )


def _members(annotation: Any) -> list[Any]:
    """The types of a union, without their annotations."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [member for part in get_args(annotation) for member in _members(part)]
    return [annotation]


def text_settings(model: type[BaseModel]) -> frozenset[str]:
    """The settings whose values are texts or lists of texts, so that numbers stay as written."""
    fields = model.model_fields.items()
    return frozenset(name for name, field in fields if not {bool, int, float} & set(_members(field.annotation)))


def changed_settings(model: type[BaseModel], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the model's defaults; a list is the tuple of its elements."""
    usual = {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
    return {name: value for name, value in values.items() if name not in usual or _plain(usual[name]) != _plain(value)}


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def check_settings(model: type[Settings], values: Mapping[str, Any]) -> None:
    """Refuse the values that a model refuses, and call each setting by its title."""
    for name, value in values.items():
        try:
            model(**{name: value})
        except SettingError as error:
            if name not in model.model_fields:
                raise
            title = form_field(name, model.model_fields[name]).title
            raise SettingError(title, error.must, error.got) from None
