"""What can be trained, in which words, and which values its settings take; torch is never loaded here."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import operator
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

import streamlit as st

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.data import CrowdDataset
from crowdcore.learning.usual_method import usual_method
from crowdcore.runs.files import read_json, write_json
from dashboard.services._cache import Kind, labelled
from dashboard.services._process import printed
from dashboard.services.embedding import embeddable

__all__ = [
    "about_backbone",
    "about_method",
    "backbones",
    "check",
    "devices",
    "fields_of",
    "learners",
    "setting_title",
    "settings_in_words",
    "suggested",
    "training_schema",
    "untrainable",
    "value_in_words",
]

_METHODS: Mapping[Kind, str] = {"classes": "methods", "ratings": "rating_methods"}
"""Kind of labels -> where `crowdcore.learning.describe` has its methods."""
FIRST = ("auto", "crowd-layer", "trace", "conal")
_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("minimum", "at least", operator.ge),
    ("exclusiveMinimum", "more than", operator.gt),
    ("maximum", "at most", operator.le),
    ("exclusiveMaximum", "less than", operator.lt),
)
_KINDS = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}


@functools.cache
def _stamp() -> str:
    """Changes whenever what can be trained may have changed."""
    import crowdcore

    folder = Path(crowdcore.__file__).parent / "learning"
    files = [(str(f), f.stat().st_mtime_ns) for f in sorted(folder.rglob("*.py"))]
    others = sorted(f"{e}" for group in ("methods", "backbones") for e in entry_points(group=f"crowdcore.{group}"))
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return hashlib.blake2b(repr([files, others, torch, sys.version]).encode(), digest_size=10).hexdigest()


@st.cache_resource(show_spinner="Looking up the methods …")
def _described(stamp: str) -> dict[str, Any]:
    """`crowdcore.learning.describe`, by a process of its own, kept on disk."""
    from crowdcore.data.catalogue import cache_folder

    file = cache_folder().parent / "methods" / f"{stamp}.json"
    if kept := read_json(file):
        return kept
    try:
        found: dict[str, Any] = json.loads(printed("crowdcore.learning.describe"))
    except CrowdError as fault:
        raise CrowdError(f"Could not list training methods: {fault}") from fault
    with contextlib.suppress(OSError):  # looked up anew next time
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, found)
    return found


def learners(kind: Kind = "classes") -> dict[str, str]:
    """Name -> title of every method for such labels, the one suggested and the papers' comparison first."""
    found = _described(_stamp())[_METHODS[kind]]
    names = [*(name for name in FIRST if name in found), *(name for name in found if name not in FIRST)]
    return {name: found[name]["title"] for name in names}


def about_method(name: str, kind: Kind = "classes") -> dict[str, Any]:
    """``title``, ``paper``, ``words``, ``schema`` and ``training``; see `crowdcore.learning.describe`.

    Raises:
        SettingError: no such method for such labels.
    """
    found = _described(_stamp())[_METHODS[kind]]
    if name not in found:
        raise SettingError("method", "name one that exists", name, f"Known: {', '.join(found)}.")
    return found[name]  # type: ignore[no-any-return]


def about_backbone(name: str) -> dict[str, Any]:
    """``title``, ``words``, ``schema``, ``images`` and ``sentences`` of one of `backbones`."""
    return _described(_stamp())["backbones"][name]  # type: ignore[no-any-return]


def training_schema() -> dict[str, Any]:
    """The JSON schema of the trainer's settings."""
    return _described(_stamp())["training"]  # type: ignore[no-any-return]


def untrainable(name: str) -> str:
    """Why nothing can be trained on a dataset, and what would help; empty if something can."""
    opened = labelled(name)
    if opened.n_annotations == 0:
        return (
            "It has no annotations, so there is nothing to learn from. Open a file on the Data page that has a label "
            "per row: task, worker, label."
        )
    if not isinstance(opened, CrowdDataset):
        how = "Bring a folder with `features_train.npy` (a row per task, in the order of `tasks.csv`)."
        return "" if opened.features is not None else f"It has no features, so a network has nothing to look at. {how}"
    if opened.of_words:
        return ""
    if noun := embeddable(name):
        return f"It has {noun}, but no features yet: the page Train makes them."
    if opened.features is None and (opened.media is None or opened.media.images is None):
        return (
            "It has neither features nor images, so a classifier has nothing to look at. Bring a table with a column "
            "`text`, a ZIP of a table with a column `image` and those files, or a ZIP of a dataset folder with "
            "`features_train.npy` (a row per task, in the order of `tasks.csv`) to the Data page. Without them the "
            "labels can still be aggregated."
        )
    return ""


def suggested(name: str) -> list[str]:
    """Methods to begin with: `auto` of classes with features (of images, each of its trials would train a network)."""
    opened = labelled(name)
    classes = isinstance(opened, CrowdDataset) and not opened.of_words
    return ["auto"] if classes and opened.features is not None else [usual_method(opened)]


def backbones(name: str) -> dict[str, str]:
    """Name -> title of the networks that fit a dataset, the first one best."""
    opened = labelled(name)
    words = isinstance(opened, CrowdDataset) and opened.of_words
    pictures = isinstance(opened, CrowdDataset) and opened.media is not None and opened.media.images is not None
    found = _described(_stamp())["backbones"]
    fitting = [b for b in found if found[b]["sentences"] == words and (pictures or not found[b]["images"])]
    usual = "tagger" if words else "cnn" if opened.features is None and "cnn" in fitting else "mlp"
    fitting.sort(key=lambda b: b != usual)
    return {b: found[b]["title"] for b in fitting}


def devices() -> dict[str, str]:
    """What "device" can be here, and in words: the processor, and the CUDA devices that the driver lists."""
    cards = Path("/proc/driver/nvidia/gpus")
    n = len(list(cards.iterdir())) if cards.is_dir() else 0
    own = {f"cuda:{k}": f"GPU {k}" for k in range(n if n > 1 else 0)}
    return {"auto": "Automatic", "cpu": "CPU", **({"cuda": "GPU"} if n else {}), **own}


def fields_of(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Setting -> its field: references followed, ``T | None`` as T with ``optional``, ``title`` always in words."""
    definitions = schema.get("$defs", {})
    return {
        name: {**(field := _resolved(described, definitions)), "title": _title(name, field)}
        for name, described in schema.get("properties", {}).items()
    }


def _resolved(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(field)
    if "anyOf" in found:
        kinds = [k for k in found.pop("anyOf") if k.get("type") != "null"]
        optional = len(kinds) < len(field["anyOf"])
        if len(kinds) > 1 and all(k.get("type") == "boolean" or "const" in k for k in kinds):
            choices = [[k["const"]] if "const" in k else [True, False] for k in kinds]
            return {**found, "enum": sorted(itertools.chain(*choices), key=lambda c: isinstance(c, bool))}
        found = {**(kinds[0] if len(kinds) == 1 else {}), **found, "optional": optional}
    if "$ref" in found:
        found = {**definitions.get(str(found.pop("$ref")).rsplit("/", 1)[-1], {}), **found}
    return found


def _title(name: str, field: Mapping[str, Any]) -> str:
    """Its title, unless pydantic made it from the name."""
    title = str(field.get("title", ""))
    return title if title and title != name.replace("_", " ").title() else name.replace("_", " ").capitalize()


def setting_title(name: str, method: str = "") -> str:
    """A setting of a method, or of the trainer, in words."""
    try:
        own = [found[method]["schema"] for k in _METHODS.values() if method in (found := _described(_stamp())[k])]
        schemas = [training_schema(), *own[::-1]]
    except CrowdError:  # methods cannot be listed
        schemas = []
    return next((f[name]["title"] for f in map(fields_of, schemas[::-1]) if name in f), name.replace("_", " "))


def settings_in_words(settings: Mapping[str, Any], method: str = "") -> list[str]:
    """``Learning rate 0.01`` for each setting of a method or of the trainer."""
    words = []
    for name, value in settings.items():
        if name == "backbone_settings" and isinstance(value, Mapping):
            words += _network_in_words(str(settings.get("backbone", "mlp")), value)
        else:
            words.append(f"{setting_title(name, method)} {value_in_words(value)}")
    return words


def _network_in_words(network: str, settings: Mapping[str, Any]) -> list[str]:
    try:
        fields = fields_of(about_backbone(network)["schema"])
    except (CrowdError, KeyError):  # a network of one's own
        fields = {}
    return [f"{fields.get(name, {}).get('title', name)} {value_in_words(value)}" for name, value in settings.items()]


def value_in_words(value: object) -> str:
    """The value of a setting for people."""
    return ("no", "yes")[value] if isinstance(value, bool) else "none" if value is None else str(value)


def check(schema: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Refuse what training would refuse.

    Raises:
        SettingError: a setting that is not there, or a value that it does not take.
    """
    fields = fields_of(schema)
    for name, value in values.items():
        if name not in fields:
            raise SettingError("a setting", f"be one of {', '.join(fields) or 'none'}", name)
        must = _must(fields[name], value)
        if must:
            raise SettingError(fields[name]["title"], must, value)


def _must(field: Mapping[str, Any], value: Any) -> str:
    """What a value has to be and is not; "" if it is fine."""
    if value is None:
        return "" if field.get("optional") else "be given"
    if "enum" in field:
        return "" if value in field["enum"] else f"be one of {', '.join(map(str, field['enum']))}"
    kind = str(field.get("type"))
    if kind in {"integer", "number"}:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"be {_KINDS[kind]}"
        if kind == "integer" and not float(value).is_integer():
            return f"be {_KINDS[kind]}"
        for bound, how, holds in _BOUNDS:
            if bound in field and not holds(value, field[bound]):
                return f"be {how} {field[bound]:g}"
        return ""
    python = {"boolean": bool, "string": str, "object": dict}.get(kind, object)
    return "" if isinstance(value, python) else f"be {_KINDS.get(kind, kind)}"
