"""Drafts of trainings: lines of methods and what they share, read from and written to text as addresses hold it.

Torch is not loaded here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crowdcore.core import method_string as spelling
from crowdcore.core.errors import SettingError
from crowdcore.core.settings import Settings, check_settings
from crowdcore.data.ratings import Labelled
from crowdcore.learning import presets as tables
from crowdcore.learning.learners import Kind, Learner, about_backbone, about_method, backbones, kind_of
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
    own = about_method(method, kind).settings
    known = [*own.model_fields, *row_settings()]
    strange = next((name for name in settings if name not in known), None)
    if strange is not None:
        raise SettingError(f"a setting of {method}", f"be one of {', '.join(known)}", strange)
    check_settings(own, {k: v for k, v in settings.items() if k in own.model_fields})
    check_settings(TrainSettings, {k: v for k, v in settings.items() if k not in own.model_fields})
    return method, settings


def row_settings() -> list[str]:
    """The trainer's settings that a method may have of its own, beside others in the same draft."""
    return [name for name in TrainSettings.model_fields if name not in _OF_ALL]


def spell_method(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> str:
    """The line of a method; its own settings that would come along anyway are left out."""
    own = about_method(method, kind).settings
    usual = dict(own()) | along(spelling.spell(method, settings), kind)
    return spelling.spell(method, {k: v for k, v in settings.items() if k not in own.model_fields or usual[k] != v})


def changed(model: type[Settings], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the model's defaults."""
    usual = dict(model())
    return {name: value for name, value in values.items() if usual.get(name, ...) != value}


def along(line: str, kind: Kind = "classes") -> dict[str, Any]:
    """Settings, the method's own and the trainer's, that come with the variant that a line chooses."""
    method, settings = spelling.read(line)
    about = about_method(method, kind)
    return dict(about.variants.get(settings.get("variant", _usual_variant(about)), {}))


def _usual_variant(about: Learner) -> str:
    field = about.settings.model_fields.get("variant")
    return str(field.default) if field is not None else ""


def rows_of(draft: Draft, dataset: Labelled) -> list[tuple[str, dict[str, Any]]]:
    """Method and settings of each training on a dataset; settings that equal their default are left out.

    Raises:
        SettingError: a method or a setting that cannot be.
    """
    shared = {name: value for name, value in draft["training"].items() if value is not None}
    check_settings(TrainSettings, shared)
    network = shared.get("backbone", "")
    if network in backbones(dataset):
        check_settings(about_backbone(network).settings, shared.get("backbone_settings", {}))
    kind = kind_of(dataset)
    lines = [read_method(line, kind) for line in draft["methods"]]
    return [(method, _asked(method, own, shared, kind)) for method, own in lines]


def _asked(method: str, own: Mapping[str, Any], shared: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """The settings of one run: method line > shared settings > what comes with the method."""
    comes = along(spelling.spell(method, own), kind)
    return changed(TrainSettings, shared) | {k: v for k, v in shared.items() if k in comes} | dict(own)


def draft_of(
    dataset: Labelled, method: str, settings: Mapping[str, Any], seeds: Sequence[int], device: str = "auto"
) -> Draft:
    """The draft that starts a training once more."""
    own = about_method(method, kind_of(dataset)).settings.model_fields
    network = _USUAL_NETWORK if _USUAL_NETWORK["backbone"] in backbones(dataset) else {}
    return {
        "methods": [line_of(method, settings, kind_of(dataset))],
        "seeds": spelling.spell_seeds(seeds),
        "device": device,
        "training": {**network, **{k: v for k, v in settings.items() if k not in own}},
    }


def line_of(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> str:
    """The line of a method, without the trainer's settings."""
    own = about_method(method, kind).settings.model_fields
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
    check_settings(TrainSettings, found)
    training = {"backbone": next(iter(listed)), "backbone_settings": {}, **found}
    return {"seeds": seeds, "device": device, "training": training}
