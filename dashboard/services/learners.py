"""What can be trained, in which words, and which values its settings take; torch is never loaded here."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

import streamlit as st

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.json_schema import fields_of
from crowdcore.data import CrowdDataset
from crowdcore.learning.usual_method import usual_method
from crowdcore.runs.files import read_json, write_json
from dashboard.services._process import printed
from dashboard.services.embedding import embeddable
from dashboard.services.opening import Kind, labelled

_METHODS: Mapping[Kind, str] = {"classes": "methods", "ratings": "rating_methods"}
"""Kind of labels -> where `crowdcore.learning.describe` has its methods."""
FIRST = ("auto", "crowd-layer", "trace", "conal")


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


def plantable(name: str) -> bool:
    """Whether nobody has labelled a dataset whose true classes are known: one to plant a crowd on."""
    opened = labelled(name)
    return isinstance(opened, CrowdDataset) and opened.n_annotations == 0 and bool((opened.gold >= 0).any())


def untrainable(name: str) -> str:
    """Why nothing can be trained on a dataset, and what would help; empty if something can."""
    opened = labelled(name)
    if opened.n_annotations == 0:
        plant = "Plant a crowd on its true classes on the page Sandbox, or open" if plantable(name) else "Open"
        return (
            f"It has no annotations, so there is nothing to learn from. {plant} a file on the Data page that has a "
            "label per row: task, worker, label."
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
            "`features_train.npy` (a row per task, in the order of `tasks.csv`) to the Data page; of embeddings of "
            "your own `crowdcore embed TABLE FOLDER --given FILE.npy` makes such a folder. Without them the labels can "
            "still be aggregated."
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
