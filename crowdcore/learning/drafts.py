"""Drafts of trainings: lines of methods and what they share, read from and written to text as addresses hold it.

Checked by the schemas that `crowdcore.learning.learners` knows; torch is not loaded here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crowdcore.core import method_string as spelling
from crowdcore.core.errors import SettingError
from crowdcore.core.json_schema import check
from crowdcore.data.ratings import Labelled
from crowdcore.learning import presets as tables
from crowdcore.learning.learners import Kind, about_backbone, about_method, backbones, kind_of, training_schema
from crowdcore.learning.settings import SEEDS, TrainSettings

_USUAL_NETWORK = {"backbone": TrainSettings.model_fields["backbone"].default}  # where a run on features names none
_OF_ALL = {"backbone", "backbone_settings"}  # settings of the trainer that a line cannot have of its own

Draft = Mapping[str, Any]
"""What a form holds: ``methods`` (lines), ``seeds`` (as typed), ``device`` and ``training`` (name -> value): settings
of the trainer that somebody chose, for all methods."""


def read_method(line: str, kind: Kind = "classes") -> tuple[str, dict[str, Any]]:
    """Method and settings of a line such as ``conal regularisation=0 lr=0.01``; the trainer's hold for it alone.

    Raises:
        SettingError: no such method, a setting that neither it nor the trainer has, or a value that it does not take.
    """
    method, settings = spelling.read(line)
    own, shared = about_method(method, kind)["schema"], row_settings()
    known = {**own.get("properties", {}), **shared}
    strange = next((name for name in settings if name not in known), None)
    if strange is not None:
        raise SettingError(f"a setting of {method}", f"be one of {', '.join(known)}", strange)
    check(own, {k: v for k, v in settings.items() if k in own.get("properties", {})})
    check(training_schema(), {k: v for k, v in settings.items() if k not in own.get("properties", {})})
    return method, settings


def row_settings() -> dict[str, Any]:
    """The trainer's settings that a method may have of its own, beside others in the same draft."""
    return {k: v for k, v in training_schema()["properties"].items() if k not in _OF_ALL}


def spell_method(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> str:
    """The line of a method; its own settings that would come along anyway are left out."""
    own = about_method(method, kind)["schema"].get("properties", {})
    usual = {k: _default(f) for k, f in own.items()} | along(spelling.spell(method, settings), kind)
    return spelling.spell(method, {k: v for k, v in settings.items() if k not in own or usual.get(k, ...) != v})


def changed(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the schema's defaults."""
    fields = schema.get("properties", {})
    return {name: value for name, value in values.items() if _default(fields.get(name, {})) != value}


def _default(field: Mapping[str, Any]) -> Any:
    return field.get("default", {} if field.get("type") == "object" else ...)


def along(line: str, kind: Kind = "classes") -> dict[str, Any]:
    """Settings, the method's own and the trainer's, that come along with a method and what is chosen in its line."""
    return _along(*spelling.read(line), kind)[0]


def _along(method: str, settings: Mapping[str, Any], kind: Kind) -> tuple[dict[str, Any], int]:
    """What comes along, and with how many choices besides the defaults."""
    told = about_method(method, kind)["training"]
    usual: dict[str, Any] = next((given for choice, given in told if not choice), {})
    fitting = [g for choice, g in told if choice and all(settings.get(k) == v for k, v in choice.items())]
    found = dict(usual)
    for given in fitting:
        unusual = {k: v for k, v in given.items() if usual.get(k, ...) != v}
        found = {k: v for k, v in found.items() if k in given} | unusual
    return found, len(fitting)


def rows_of(draft: Draft, dataset: Labelled) -> list[tuple[str, dict[str, Any]]]:
    """Method and settings of each training on a dataset; settings that equal their default are left out.

    Raises:
        SettingError: a method or a setting that cannot be.
    """
    shared = {name: value for name, value in draft["training"].items() if value is not None}
    check(training_schema(), shared)
    network = shared.get("backbone", "")
    if network in backbones(dataset):
        check(about_backbone(network)["schema"], shared.get("backbone_settings", {}))
    kind = kind_of(dataset)
    lines = [read_method(line, kind) for line in draft["methods"]]
    return [(method, _asked(method, own, shared, kind)) for method, own in lines]


def _asked(method: str, own: Mapping[str, Any], shared: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """The settings of one run: what the method's line says wins over what all share, and that over what comes along."""
    comes, choices = _along(method, own, kind)
    written = comes if choices > 1 else {}  # several choices at once: what is shown is what is asked for
    asked = changed(training_schema(), shared) | {k: v for k, v in shared.items() if k in comes}
    return {**written, **asked, **own}


def draft_of(
    dataset: Labelled, method: str, settings: Mapping[str, Any], seeds: Sequence[int], device: str = "auto"
) -> Draft:
    """The draft that starts a training once more."""
    own = about_method(method, kind_of(dataset))["schema"].get("properties", {})
    network = _USUAL_NETWORK if _USUAL_NETWORK["backbone"] in backbones(dataset) else {}
    return {
        "methods": [line_of(method, settings, kind_of(dataset))],
        "seeds": spelling.spell_seeds(seeds),
        "device": device,
        "training": {**network, **{k: v for k, v in settings.items() if k not in own}},
    }


def line_of(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> str:
    """The line of a method, without the trainer's settings."""
    own = about_method(method, kind)["schema"].get("properties", {})
    return spell_method(method, {k: v for k, v in settings.items() if k in own}, kind)


def draft_of_preset(preset: str) -> tuple[Draft, str]:
    """The draft that starts all runs of a preset, and in what they may differ from the published table.

    Raises:
        SettingError: no such preset.
    """
    found = tables.get(preset)
    draft = {
        "methods": [spelling.spell(method, own) for method, own in found.methods],
        "seeds": spelling.spell_seeds(found.seeds),
        "device": "auto",
        "training": {**_USUAL_NETWORK, **found.training},
    }
    return draft, found.note


def spell_draft(dataset: Labelled, draft: Draft) -> str:
    """What all methods of a draft share, as a line for the address; "" when it is what an untouched form has."""
    usual = read_draft(dataset, "")
    seeds = draft["seeds"].replace(" ", "")
    plain = {"seeds": int(seeds) if seeds.isdecimal() else seeds, "device": draft["device"]}
    plain = {key: value for key, value in plain.items() if str(value) != usual[key]}
    training = {k: v for k, v in draft["training"].items() if v is not None and usual["training"].get(k, ...) != v}
    return spelling.spell_settings({**plain, **training})


def read_draft(dataset: Labelled, line: str, trusted: str = "") -> Draft:
    """The draft, without its methods, of a line of `spell_draft`.

    Args:
        dataset: what is trained on.
        line: from an address.
        trusted: a network of one's own code that may be named, as a run named it.

    Raises:
        SettingError: a setting that does not exist, a value it does not take, or a network that is not listed.
    """
    found = spelling.read_settings(line)
    listed = backbones(dataset)
    seeds, device = str(found.pop("seeds", SEEDS)), str(found.pop("device", "auto"))
    network = found.get("backbone")
    if network is not None and network not in {*listed, trusted}:
        remedy = "Choose one of these, or use the command line for a network of your own."
        raise SettingError("network", f"be one of {', '.join(listed)}", network, remedy)
    check(training_schema(), found)
    training = {"backbone": next(iter(listed)), "backbone_settings": {}, **found}
    return {"seeds": seeds, "device": device, "training": training}
