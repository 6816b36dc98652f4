"""Methods and networks as lists and forms show them, lines that choose them, and what a dataset can be trained with.

Those that come along are described by their source and by `crowdcore.learning.method_settings`, without torch; one
whose settings are in its own file, or in another package, is imported, and with it torch.
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
from crowdcore.learning import backbones as networks, method_settings as of, methods, settings as shared
from crowdcore.learning.settings import TrainSettings, drop_retired

Kind = Literal["classes", "ratings"]
"""What the labels are, which decides the methods; tags are classes."""
FIRST = ("auto", "crowd-layer", "trace", "conal")
"""Methods that lists begin with: the one suggested, then those of the papers' comparison."""
_RECOVERABLE = ("worker_confusion", "common_confusion", "omega")  # what a method may recover that does not say
_log = logging.getLogger("crowdcore")


@dataclass(frozen=True)
class Learner:
    """A method or a network.

    Attributes:
        title: for people.
        description: first paragraph of its docstring.
        settings: model of its settings.
        paper: where it is from; "" for a network.
        variants: value of the setting ``variant`` -> settings, the trainer's among them, that come with it.
        recovers: the parts of a result that a method fills.
        images: whether a network takes images.
        sentences: whether a network reads words of whole sentences.
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
    """A method or network that describes itself."""
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
    """The settings of a method or network by its description; None where they are not in our modules of settings."""
    name = facts.get("Settings", "Settings")
    model: type[Settings] | None = getattr(of, name, None) or getattr(shared, name, None)
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
    names = [*(name for name in FIRST if name in known), *(name for name in known if name not in FIRST)]
    return {name: known[name].title for name in names}


def recovering(part: str) -> list[str]:
    """Names of the methods that recover a part: ``worker_confusion``, ``common_confusion``, ``omega`` …"""
    return [name for name in learners() if part in about_method(name).recovers]


def about_method(name: str, kind: Kind = "classes") -> Learner:
    """The method called ``name`` for such labels.

    Raises:
        SettingError: there is none.
    """
    known = _methods(kind)
    if kind == "classes" and ":" in name:  # of one's own, which only its user's commands and runs import
        return Learner(name.partition(":")[2], "", Settings)
    if name not in known:
        raise SettingError("method", "name one that exists", name, f"Known: {', '.join(known)}.")
    return known[name]


def about_backbone(name: str) -> Learner:
    """Description of one of `backbones`."""
    return _backbones()[name]


def backbones(dataset: Labelled) -> dict[str, str]:
    """Name -> title of the networks that fit a dataset, the first one best."""
    words = dataset.of_words
    pictures = not dataset.kind.numeric and dataset.media is not None and dataset.media.images is not None
    known = _backbones()
    fitting = [name for name, one in known.items() if one.sentences == words and (pictures or not one.images)]
    usual = "tagger" if words else "cnn" if dataset.features is None and "cnn" in fitting else "mlp"
    fitting.sort(key=lambda name: name != usual)
    return {name: known[name].title for name in fitting}


def devices() -> dict[str, str]:
    """What "device" can be here, and in words: the processor, and the CUDA devices that the driver lists."""
    cards = Path("/proc/driver/nvidia/gpus")
    n = len(list(cards.iterdir())) if cards.is_dir() else 0
    own = {f"cuda:{k}": f"GPU {k}" for k in range(n if n > 1 else 0)}
    return {"auto": "Automatic", "cpu": "CPU", **({"cuda": "GPU"} if n else {}), **own}


def setting_title(name: str, method: str = "") -> str:
    """A setting of a method, or of the trainer, in words."""
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
            fields = network.fields if network else {}  # none of a network of one's own
            words += [f"{fields[n].title if n in fields else n} {value_in_words(v)}" for n, v in value.items()]
        else:
            words.append(f"{setting_title(name, method)} {value_in_words(value)}")
    return words


def value_in_words(value: object) -> str:
    """The value of a setting for people."""
    return ("no", "yes")[value] if isinstance(value, bool) else "none" if value is None else str(value)


OWN_TRAINING = tuple(name for name in TrainSettings.model_fields if name not in {"backbone", "backbone_settings"})
"""Settings of the trainer that the line of a method may hold for that method alone."""


def read_method(line: str, kind: Kind = "classes") -> tuple[str, dict[str, Any]]:
    """Method and settings of a line such as ``conal regularisation=0 lr=0.01``; the trainer's hold for it alone.

    Raises:
        SettingError: no such method, a setting that neither it nor the trainer has, or a value that it does not take.
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
    """The line of a method; its own settings that are its defaults, or those of its variant, are left out."""
    own = about_method(method, kind).settings
    usual = dict(own()) | variant_settings(method, settings, kind)
    return spelling.spell(method, {k: v for k, v in settings.items() if k not in own.model_fields or usual[k] != v})


def own_line(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> str:
    """`spell_method` without the trainer's settings."""
    own = about_method(method, kind).settings.model_fields
    return spell_method(method, {k: v for k, v in settings.items() if k in own}, kind)


def variant_settings(method: str, settings: Mapping[str, Any], kind: Kind = "classes") -> dict[str, Any]:
    """Settings, the method's own and the trainer's, that come with the variant that the settings choose."""
    about = about_method(method, kind)
    usual = about.settings.model_fields["variant"].default if about.variants else ""
    return dict(about.variants.get(settings.get("variant", usual), {}))


def run_settings(
    method: str, own: Mapping[str, Any], shared: Mapping[str, Any], kind: Kind = "classes"
) -> dict[str, Any]:
    """The settings that a run is given: the method's line > shared settings > the method's defaults.

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
    """The crowd layer, which explains labels of every kind, where they are numbers or tags; CoNAL of classes."""
    return "crowd-layer" if dataset.kind.numeric or dataset.of_words else "conal"


def suggested_methods(dataset: Labelled) -> list[str]:
    """Methods to begin with: `auto` of classes with features (of images, each of its trials would train a network)."""
    classes = not dataset.kind.numeric and not dataset.of_words
    return ["auto"] if classes and dataset.features is not None else [usual_method(dataset)]


def plantable(dataset: Labelled) -> bool:
    """Whether nobody has labelled a dataset whose true classes are known: one to plant a crowd on."""
    return not dataset.kind.numeric and dataset.n_annotations == 0 and bool(dataset.known.any())


def embeddable(dataset: Labelled) -> str:
    """The texts, images or sounds, in words, of labelled tasks without features; "" if there are none."""
    bare = not dataset.kind.numeric and dataset.features is None and dataset.n_annotations > 0
    if not bare or dataset.media is None or dataset.media.images is not None:
        return ""
    for kind in ("text", "image", "audio"):
        if (column := image_names(dataset, kind)) is not None and (n := int(column.notna().sum())):
            return plural(n, "sound" if kind == "audio" else kind)
    return ""


def untrainable(dataset: Labelled) -> str:
    """Why nothing can be trained on a dataset, and what would help; empty if something can."""
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
