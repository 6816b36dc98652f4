"""What can be trained, in which words, and which values its settings take; torch is never loaded here."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sys
import threading
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any, Literal

from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.core.json_files import read_json, write_json
from crowdcore.core.json_schema import fields_of
from crowdcore.core.printed import printed
from crowdcore.data import CrowdDataset
from crowdcore.data.catalogue import cache_folder
from crowdcore.data.ratings import Labelled

Kind = Literal["classes", "ratings"]
"""What the labels are, which decides the methods; tags are classes."""
_METHODS: Mapping[Kind, str] = {"classes": "methods", "ratings": "rating_methods"}
"""Kind of labels -> where `crowdcore.learning.describe` has its methods."""
_one = threading.Lock()  # of several threads, one asks
FIRST = ("auto", "crowd-layer", "trace", "conal")


def _stamp() -> str:
    """Changes whenever what can be trained may have changed."""
    files = [(str(f), f.stat().st_mtime_ns) for f in sorted(Path(__file__).parent.rglob("*.py"))]
    others = sorted(f"{e}" for group in ("methods", "backbones") for e in entry_points(group=f"crowdcore.{group}"))
    try:
        torch = version("torch")
    except PackageNotFoundError:
        torch = ""
    return hashlib.blake2b(repr([files, others, torch, sys.version]).encode(), digest_size=10).hexdigest()


@functools.cache
def described() -> dict[str, Any]:
    """`crowdcore.learning.describe`, by a process of its own, kept on disk.

    Raises:
        CrowdError: torch is not there, or a method of one's own cannot be loaded.
    """
    file = cache_folder().parent / "methods" / f"{_stamp()}.json"
    with _one:
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


def kind_of(dataset: Labelled) -> Kind:
    """What the labels of a dataset are."""
    return "classes" if isinstance(dataset, CrowdDataset) else "ratings"


def learners(kind: Kind = "classes") -> dict[str, str]:
    """Name -> title of every method for such labels, the one suggested and the papers' comparison first."""
    found = described()[_METHODS[kind]]
    names = [*(name for name in FIRST if name in found), *(name for name in found if name not in FIRST)]
    return {name: found[name]["title"] for name in names}


def recovering(part: str) -> list[str]:
    """Names of the methods that recover a part: ``worker_confusion``, ``common_confusion``, ``omega`` …"""
    return [name for name in learners() if part in about_method(name)["recovers"]]


def about_method(name: str, kind: Kind = "classes") -> dict[str, Any]:
    """``title``, ``paper``, ``words``, ``schema`` and ``training``; see `crowdcore.learning.describe`.

    Raises:
        SettingError: no such method for such labels.
    """
    found = described()[_METHODS[kind]]
    if name not in found:
        raise SettingError("method", "name one that exists", name, f"Known: {', '.join(found)}.")
    return found[name]  # type: ignore[no-any-return]


def about_backbone(name: str) -> dict[str, Any]:
    """``title``, ``words``, ``schema``, ``images`` and ``sentences`` of one of `backbones`."""
    return described()["backbones"][name]  # type: ignore[no-any-return]


def training_schema() -> dict[str, Any]:
    """The JSON schema of the trainer's settings."""
    return described()["training"]  # type: ignore[no-any-return]


def backbones(dataset: Labelled) -> dict[str, str]:
    """Name -> title of the networks that fit a dataset, the first one best."""
    words = isinstance(dataset, CrowdDataset) and dataset.of_words
    pictures = isinstance(dataset, CrowdDataset) and dataset.media is not None and dataset.media.images is not None
    found = described()["backbones"]
    fitting = [b for b in found if found[b]["sentences"] == words and (pictures or not found[b]["images"])]
    usual = "tagger" if words else "cnn" if dataset.features is None and "cnn" in fitting else "mlp"
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
        own = [found[method]["schema"] for k in _METHODS.values() if method in (found := described()[k])]
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
