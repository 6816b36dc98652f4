"""What the page Train asks for: lines of methods, a draft of runs with everything they share, and starting it."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from crowdcore import runs
from crowdcore.core import method_string as spelling
from crowdcore.core.errors import SettingError
from crowdcore.core.json_schema import check
from crowdcore.learning import presets as tables
from crowdcore.learning.settings import SEEDS, TrainSettings
from dashboard.services.learners import about_backbone, about_method, backbones, training_schema
from dashboard.services.opening import Kind, kind, labelled
from dashboard.services.runs import forget, spelled

_USUAL_NETWORK = {"backbone": TrainSettings.model_fields["backbone"].default}  # where a run on features names none
_OF_ALL = {"backbone", "backbone_settings"}  # settings of the trainer that a line cannot have of its own

Draft = Mapping[str, Any]
"""What the form holds: ``methods`` (lines), ``seeds`` (as typed), ``device`` and ``training`` (name -> value): settings
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


def specs(name: str, draft: Draft) -> list[runs.RunSpec]:
    """One run per method of a draft; settings that equal their default are left out.

    Raises:
        SettingError: a method, a setting or a seed that cannot be.
    """
    seeds = spelling.read_seeds(draft["seeds"])
    shared = {name: value for name, value in draft["training"].items() if value is not None}
    check(training_schema(), shared)
    network = shared.get("backbone", "")
    if network in backbones(name):
        check(about_backbone(network)["schema"], shared.get("backbone_settings", {}))
    group, of = uuid.uuid4().hex[:8], kind(name)
    return [
        runs.RunSpec(
            dataset=spelled(name),
            fingerprint=labelled(name).fingerprint,
            method=method,
            settings=_asked(method, own, shared, of),
            seeds=seeds,
            device=draft["device"],
            group=group,
        )
        for method, own in (read_method(line, of) for line in draft["methods"])
    ]


def _asked(method: str, own: Mapping[str, Any], shared: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """The settings of one run: what the method's line says wins over what all share, and that over what comes along."""
    comes, choices = _along(method, own, kind)
    written = comes if choices > 1 else {}  # several choices at once: what is shown is what is asked for
    asked = changed(training_schema(), shared) | {k: v for k, v in shared.items() if k in comes}
    return {**written, **asked, **own}


def draft_of(name: str, spec: runs.RunSpec) -> Draft:
    """The draft that starts a run on a dataset once more."""
    own = about_method(spec.method, kind(name))["schema"].get("properties", {})
    network = _USUAL_NETWORK if _USUAL_NETWORK["backbone"] in backbones(name) else {}
    return {
        "methods": [spell_method(spec.method, {k: v for k, v in spec.settings.items() if k in own}, kind(name))],
        "seeds": spelling.spell_seeds(spec.seeds),
        "device": spec.device,
        "training": {**network, **{k: v for k, v in spec.settings.items() if k not in own}},
    }


def presets(name: str) -> dict[str, str]:
    """Name -> title of every preset, those made for this dataset first; they are about classes."""
    if kind(name) == "ratings":
        return {}
    found = sorted(tables.PRESETS.values(), key=lambda p: p.dataset != name)
    return {p.name: p.title for p in found}


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


def spell_draft(name: str, draft: Draft) -> str:
    """What all methods of a draft share, as a line for the address; "" when it is what an untouched form has."""
    usual = read_draft(name, "")
    seeds = draft["seeds"].replace(" ", "")
    plain = {"seeds": int(seeds) if seeds.isdecimal() else seeds, "device": draft["device"]}
    plain = {key: value for key, value in plain.items() if str(value) != usual[key]}
    training = {k: v for k, v in draft["training"].items() if v is not None and usual["training"].get(k, ...) != v}
    return spelling.spell_settings({**plain, **training})


def read_draft(name: str, line: str, trusted: str = "") -> Draft:
    """The draft, without its methods, of a line of `spell_draft`.

    Args:
        line: from an address.
        trusted: a network of one's own code that may be named, as a run named it.

    Raises:
        SettingError: a setting that does not exist, a value it does not take, or a network that is not listed.
    """
    found = spelling.read_settings(line)
    listed = backbones(name)
    seeds, device = str(found.pop("seeds", SEEDS)), str(found.pop("device", "auto"))
    network = found.get("backbone")
    if network is not None and network not in {*listed, trusted}:
        remedy = "Choose one of these, or use the command line for a network of your own."
        raise SettingError("network", f"be one of {', '.join(listed)}", network, remedy)
    check(training_schema(), found)
    training = {"backbone": next(iter(listed)), "backbone_settings": {}, **found}
    return {"seeds": seeds, "device": device, "training": training}


def start(name: str, draft: Draft) -> list[str]:
    """Queue the runs of a draft; returns their ids."""
    started = [runs.submit(spec).id for spec in specs(name, draft)]
    forget()
    return started
