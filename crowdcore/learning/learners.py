"""Methods and networks for lists and forms, the lines that name them, and those that fit a dataset.

Built-in ones are described by their source and by `crowdcore.learning.method_settings`, without torch; one whose
settings are in its own file, or in another package, is imported, and with it torch.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from crowdcore.core import spelling
from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.registry import Registry
from crowdcore.core.settings import FormField, Settings, changed_settings, check_settings, form_fields
from crowdcore.data.media import image_names
from crowdcore.data.ratings import Labelled
from crowdcore.data.report import plural
from crowdcore.learning import backbones as networks, method_settings, methods, settings as trainer_settings
from crowdcore.learning.settings import TrainSettings, drop_retired

Kind = Literal["classes", "ratings"]
"""Kind of the labels, which decides the methods; tags are classes."""
FIRST = ("auto", "crowd-layer", "trace", "conal")
"""Methods that lists begin with: the one suggested, then those of the papers' comparison."""
_RECOVERABLE = ("worker_confusion", "common_confusion", "omega")  # assumed of a method that declares nothing
_log = logging.getLogger("crowdcore")


@dataclass(frozen=True)
class Learner:
    """A method or a network.

    Attributes:
        title: name for people.
        description: first paragraph of its docstring.
        settings: model of its settings.
        paper: its paper; "" for a network.
        variants: value of the setting ``variant`` -> settings, the trainer's among them, that come with it.
        recovers: the parts of a result that a method fills.
        images: True for a network that takes images.
        sentences: True for a network that reads words of whole sentences.
    """

    title: str
    description: str
    settings: type[Settings]
    paper: str = ""
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    recovers: tuple[str, ...] = ()
    images: bool = False
    sentences: bool = False

    @property
    def fields(self) -> dict[str, FormField]:
        """Setting -> its field in a form."""
        return form_fields(self.settings)


_FACTS = ("title", "description", "paper", "variants", "recovers", "images", "sentences")


def _learner(facts: Mapping[str, Any], settings: type[Settings]) -> Learner:
    return Learner(settings=settings, **{name: facts[name] for name in _FACTS if name in facts})


def _imported(member: type[Any]) -> Learner:
    """Describe a method or network by its class."""
    facts = {name: getattr(member, name) for name in _FACTS if hasattr(member, name)}
    words = " ".join((member.__doc__ or "").strip().split("\n\n")[0].split())
    if not facts.get("recovers") and hasattr(member, "recovered") and "recovered" in vars(member):
        facts["recovers"] = _RECOVERABLE
    return _learner({**facts, "description": words}, member.Settings)


@functools.cache
def _methods(kind: Kind) -> dict[str, Learner]:
    return _members(methods.RATINGS if kind == "ratings" else methods.REGISTRY)


@functools.cache
def _backbones() -> dict[str, Learner]:
    return _members(networks.REGISTRY)


def _settings_of(facts: Mapping[str, Any]) -> type[Settings] | None:
    """Settings of a described method or network; None where they are not in our modules of settings."""
    name = facts.get("Settings", "Settings")
    model: type[Settings] | None = getattr(method_settings, name, None) or getattr(trainer_settings, name, None)
    return model


def _members(registry: Registry[Any]) -> dict[str, Learner]:
    """Name -> member; a plug-in that cannot be loaded is left out and named in the log."""
    members = {}
    for name in registry:
        try:
            facts = registry.describe(name)
            settings = _settings_of(facts) if facts else None
            members[name] = _learner(facts, settings) if settings else _imported(registry.find(name))
        except CrowdError as error:
            _log.warning("%s", error)
    return members


def kind_of(dataset: Labelled) -> Kind:
    """Kind of a dataset's labels."""
    return "ratings" if dataset.kind.numeric else "classes"


def learners(kind: Kind = "classes") -> dict[str, str]:
    """Name -> title of every method for such labels, `FIRST` first."""
    known = _methods(kind)
    return {name: known[name].title for name in dict.fromkeys((*FIRST, *known)) if name in known}


def recovering(part: str) -> list[str]:
    """Names of the methods that recover a part: ``worker_confusion``, ``common_confusion``, ``omega`` …"""
    return [name for name in learners() if part in about_method(name).recovers]


def about_method(name: str, kind: Kind = "classes") -> Learner:
    """The method called ``name`` for such labels.

    Raises:
        SettingError: there is none.
    """
    known = _methods(kind)
    if kind == "classes" and ":" in name:  # one's own method, which only its user's commands and runs import
        return Learner(name.partition(":")[2], "", Settings)
    if name not in known:
        raise SettingError("method", "name one that exists", name, f"Known: {', '.join(known)}.")
    return known[name]


def about_backbone(name: str) -> Learner:
    """Description of one of `backbones`."""
    return _backbones()[name]


def backbones(dataset: Labelled) -> dict[str, str]:
    """Name -> title of the networks that fit a dataset, the best one first."""
    words = dataset.of_words
    pictures = not dataset.kind.numeric and dataset.media is not None and dataset.media.images is not None
    known = _backbones()
    fitting = [name for name, one in known.items() if one.sentences == words and (pictures or not one.images)]
    usual = "tagger" if words else "cnn" if dataset.features is None and "cnn" in fitting else "mlp"
    fitting.sort(key=lambda name: name != usual)
    return {name: known[name].title for name in fitting}


def devices() -> dict[str, str]:
    """Value of "device" -> title: the processor, and the CUDA devices that the driver lists."""
    cards = Path("/proc/driver/nvidia/gpus")
    n = len(list(cards.iterdir())) if cards.is_dir() else 0
    own = {f"cuda:{k}": f"GPU {k}" for k in range(n if n > 1 else 0)}
    return {"auto": "Automatic", "cpu": "CPU", **({"cuda": "GPU"} if n else {}), **own}


def setting_title(name: str, method: str = "") -> str:
    """Title of a setting of a method or of the trainer."""
    models: list[type[Settings]] = [TrainSettings]
    models[:0] = [known[method].settings for known in (_methods("classes"), _methods("ratings")) if method in known]
    for model in models:
        if name in model.model_fields:
            return form_fields(model)[name].title
    return name.replace("_", " ")


def settings_in_words(settings: Mapping[str, Any], method: str = "") -> list[str]:
    """``Learning rate 0.01`` for each setting of a method or of the trainer."""
    words = []
    for name, value in settings.items():
        if name == "backbone_settings" and isinstance(value, Mapping):
            network = _backbones().get(str(settings.get("backbone", "mlp")))
            fields = network.fields if network else {}  # unknown for one's own network
            words += [f"{fields[n].title if n in fields else n} {value_in_words(v)}" for n, v in value.items()]
        else:
            words.append(f"{setting_title(name, method)} {value_in_words(value)}")
    return words


def value_in_words(value: object) -> str:
    """The value of a setting for people."""
    return ("no", "yes")[value] if isinstance(value, bool) else "none" if value is None else str(value)


OWN_TRAINING = tuple(name for name in TrainSettings.model_fields if name not in {"backbone", "backbone_settings"})
"""Settings of the trainer that the line of a method may set for that method alone."""


def read_method(line: str, kind: Kind = "classes") -> tuple[str, dict[str, Any]]:
    """Read method and settings from a line such as ``conal regularisation=0 lr=0.01``.

    Raises:
        SettingError: no such method, a setting that neither it nor the trainer has, or a value out of bounds.
    """
    method, settings = spelling.read(line)
    own = about_method(method, kind).settings
    settings = drop_retired(settings, own.model_fields)
    for name in settings:
        if name not in own.model_fields and name not in OWN_TRAINING:
            known = ", ".join([*own.model_fields, *OWN_TRAINING])
            raise SettingError(f"a setting of {method}", f"be one of {known}", name)
    check_settings(own, {k: v for k, v in settings.items() if k in own.model_fields})
    check_settings(TrainSettings, {k: v for k, v in settings.items() if k not in own.model_fields})
    return method, settings


def spell_method(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> str:
    """Write the line of a method; its own settings at their defaults, or at those of its variant, are left out."""
    own = about_method(method, kind).settings
    usual = dict(own()) | variant_settings(method, settings, kind)
    return spelling.spell(method, {k: v for k, v in settings.items() if k not in own.model_fields or usual[k] != v})


def own_line(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> str:
    """`spell_method` without the trainer's settings."""
    own = about_method(method, kind).settings.model_fields
    return spell_method(method, {k: v for k, v in settings.items() if k in own}, kind)


def variant_settings(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> dict[str, Any]:
    """Settings, the method's own and the trainer's, that come with the chosen variant."""
    about = about_method(method, kind)
    usual = about.settings.model_fields["variant"].default if about.variants else ""
    return dict(about.variants.get(settings.get("variant", usual), {}))


def run_settings(
    method: str, own: Mapping[str, Any], shared: Mapping[str, Any], kind: Kind = "classes"
) -> dict[str, Any]:
    """Settings of a run, by precedence: the method's line > shared settings > the method's defaults.

    Args:
        method: its name.
        own: settings of its line.
        shared: settings of the trainer for all methods; one that equals the trainer's default counts where the
            method's variant brings another value.
        kind: of the labels.
    """
    beside = variant_settings(method, own, kind)
    return {**changed_settings(TrainSettings, shared), **{k: v for k, v in shared.items() if k in beside}, **own}


def usual_method(dataset: Labelled) -> str:
    """Default method: CoNAL for classes, the crowd layer for ratings and tags."""
    return "crowd-layer" if dataset.kind.numeric or dataset.of_words else "conal"


def suggested_methods(dataset: Labelled) -> list[str]:
    """Methods to begin with: `auto` of classes with features (of images, each of its trials would train a network)."""
    classes = not dataset.kind.numeric and not dataset.of_words
    return ["auto"] if classes and dataset.features is not None else [usual_method(dataset)]


def plantable(dataset: Labelled) -> bool:
    """Return True for a dataset with true classes and without labels: one to plant a crowd on."""
    return not dataset.kind.numeric and dataset.n_annotations == 0 and bool(dataset.known.any())


def embeddable(dataset: Labelled) -> str:
    """Number of texts, images or sounds of labelled tasks without features, in words; "" if there are none."""
    bare = not dataset.kind.numeric and dataset.features is None and dataset.n_annotations > 0
    if not bare or dataset.media is None or dataset.media.images is not None:
        return ""
    for kind in ("text", "image", "audio"):
        if (column := image_names(dataset, kind)) is not None and (n := int(column.notna().sum())):
            return plural(n, "sound" if kind == "audio" else kind)
    return ""


def untrainable(dataset: Labelled) -> str:
    """Reason why nothing can be trained on a dataset, with the remedy; "" if something can."""
    if dataset.n_annotations == 0:
        plant = "Plant a crowd on its true classes on the page Sandbox, or open" if plantable(dataset) else "Open"
        return (
            f"It has no annotations, so there is nothing to learn from. {plant} a file on Home that has a "
            "label per row: task, worker, label."
        )
    if dataset.kind.numeric:
        how = "Bring a folder with `features_train.npy` (a row per task, in the order of `tasks.csv`)."
        return "" if dataset.features is not None else f"It has no features, so a network has nothing to look at. {how}"
    if dataset.of_words:
        return ""
    if noun := embeddable(dataset):
        return f"It has {noun}, but no features yet: the page Runs makes them."
    if dataset.features is None and (dataset.media is None or dataset.media.images is None):
        return (
            "It has neither features nor images, so a classifier has nothing to look at. Bring a table with a column "
            "`text`, a ZIP of a table with a column `image` and those files, or a ZIP of a dataset folder with "
            "`features_train.npy` (a row per task, in the order of `tasks.csv`) to Home; of embeddings of "
            "your own `crowdcore embed TABLE FOLDER --given FILE.npy` makes such a folder. Without them the labels can "
            "still be aggregated."
        )
    return ""
