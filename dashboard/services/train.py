"""What can be trained, with which settings, and starting it; torch is never loaded here."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from crowdcore.core.errors import CrowdError, SettingError
from dashboard.services import spelling
from dashboard.services._cache import dataset
from dashboard.services.runs import forget, spelled

if TYPE_CHECKING:
    from crowdcore.runs import RunSpec

__all__ = [
    "Draft",
    "about_backbone",
    "about_method",
    "backbones",
    "canonical_method",
    "changed",
    "devices",
    "draft_of",
    "learners",
    "own_training",
    "read_method",
    "specs",
    "spell_method",
    "start",
    "training_schema",
    "untrainable",
]

_PATIENCE = 180.0  # seconds
FIRST = ("crowd-layer", "trace", "conal")


@functools.cache
def _stamp() -> str:
    """Changes whenever what can be trained may have changed."""
    import crowdcore

    folder = Path(crowdcore.__file__).parent / "learning"
    files = [(str(f), f.stat().st_mtime_ns) for f in sorted(folder.rglob("*.py"))]
    others = sorted(f"{e.name} {e.value}" for e in entry_points(group="crowdcore.methods"))
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
    try:
        return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
    except (OSError, ValueError):
        command = [sys.executable, "-m", "crowdcore.learning.describe"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if told.returncode:
        last = (told.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise CrowdError(f"What can be trained could not be looked up: {last}")
    _keep(file, told.stdout)
    return json.loads(told.stdout)  # type: ignore[no-any-return]


def _keep(file: Path, text: str) -> None:
    partial = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)
    except OSError:
        pass  # looked up anew next time


def learners() -> dict[str, str]:
    """Name -> title of every learning method, the papers' comparison first."""
    found = _described(_stamp())["methods"]
    names = [*(name for name in FIRST if name in found), *(name for name in found if name not in FIRST)]
    return {name: found[name]["title"] for name in names}


def about_method(name: str) -> dict[str, Any]:
    """``title``, ``paper``, ``words``, ``schema`` and ``training``; see `crowdcore.learning.describe`.

    Raises:
        SettingError: no such method.
    """
    found = _described(_stamp())["methods"]
    if name not in found:
        raise SettingError("method", "name one that exists", name, f"Known: {', '.join(found)}.")
    return found[name]  # type: ignore[no-any-return]


def about_backbone(name: str) -> dict[str, Any]:
    """``title``, ``words``, ``schema`` and ``images`` of one of `backbones`."""
    return _described(_stamp())["backbones"][name]  # type: ignore[no-any-return]


def training_schema() -> dict[str, Any]:
    """The JSON schema of the trainer's settings."""
    return _described(_stamp())["training"]  # type: ignore[no-any-return]


def read_method(line: str) -> tuple[str, dict[str, Any]]:
    """Method and settings of a line such as ``conal regularisation=0``.

    Raises:
        SettingError: no such method, or a setting that it does not have.
    """
    method, settings = spelling.read(line)
    known = about_method(method)["schema"].get("properties", {})
    strange = next((name for name in settings if name not in known), None)
    if strange is not None:
        raise SettingError(f"a setting of {method}", f"be one of {', '.join(known) or 'none'}", strange)
    return method, settings


def spell_method(method: str, settings: Mapping[str, Any]) -> str:
    """The line of a method whose settings are these; those that equal their default are left out."""
    return spelling.spell(method, changed(about_method(method)["schema"], settings))


def canonical_method(line: str) -> str:
    """The one spelling of a line.

    Raises:
        SettingError: see `read_method`.
    """
    return spell_method(*read_method(line))


def changed(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not the schema's defaults."""
    fields = schema.get("properties", {})
    usual = {name: field.get("default", {} if field.get("type") == "object" else ...) for name, field in fields.items()}
    return {name: value for name, value in values.items() if usual.get(name, ...) != value}


def own_training(line: str) -> dict[str, Any]:
    """The trainer settings that a method brings along, given its own settings."""
    method, settings = read_method(line)
    found: dict[str, Any] = {}
    for choice, given in about_method(method)["training"]:
        if all(settings.get(k) == v for k, v in choice.items()):
            found = given
    return found


def untrainable(name: str) -> str:
    """Why nothing can be trained on a dataset, and what would help; empty if something can."""
    opened = dataset(name)
    if opened.n_annotations == 0:
        return (
            "It has no annotations, so there is nothing to learn from. Open a file on the Data page that has a label "
            "per row: task, worker, label."
        )
    if opened.features is None and (opened.media is None or opened.media.images is None):
        return (
            "It has neither features nor images, so a classifier has nothing to look at. Bring a ZIP of a dataset "
            "folder to the Data page, with `features_train.npy` (a row per task, in the order of `tasks.csv`) or "
            "`images_train.npz`, and the same for other splits. Without them the labels can still be aggregated."
        )
    return ""


def backbones(name: str) -> dict[str, str]:
    """Name -> title of the networks that fit a dataset, the first one best."""
    opened = dataset(name)
    pictures = opened.media is not None and opened.media.images is not None
    found = _described(_stamp())["backbones"]
    fitting = [b for b in found if pictures or not found[b]["images"]]
    usual = "cnn" if opened.features is None and "cnn" in fitting else "mlp"
    fitting.sort(key=lambda b: b != usual)
    return {b: found[b]["title"] for b in fitting}


def devices() -> dict[str, str]:
    """What "device" can be here, and in words: the processor, and the CUDA devices that the driver lists."""
    cards = Path("/proc/driver/nvidia/gpus")
    n = len(list(cards.iterdir())) if cards.is_dir() else 0
    own = {f"cuda:{k}": f"GPU {k}" for k in range(n if n > 1 else 0)}
    return {"auto": "Automatic", "cpu": "CPU", **({"cuda": "GPU"} if n else {}), **own}


Draft = Mapping[str, Any]
"""What the form holds: ``methods`` (lines), ``seeds``, ``device``, ``priority`` and ``training`` (name -> value)."""


def specs(name: str, draft: Draft) -> list[RunSpec]:
    """One run per method of a draft; settings that equal their default are left out.

    Raises:
        SettingError: a method or setting that does not exist.
    """
    from crowdcore.runs import RunSpec

    training = {name: value for name, value in draft["training"].items() if value is not None}
    asked = changed(training_schema(), training)
    group = uuid.uuid4().hex[:8]
    return [
        RunSpec(
            dataset=spelled(name),
            fingerprint=dataset(name).fingerprint,
            method=method,
            settings={**asked, **{k: v for k, v in training.items() if k in own_training(line)}, **settings},
            seeds=tuple(range(draft["seeds"])),
            device=draft["device"],
            priority=draft["priority"],
            group=group,
        )
        for line in draft["methods"]
        for method, settings in [read_method(line)]
    ]


def draft_of(spec: RunSpec) -> Draft:
    """The draft that starts a run once more."""
    own = about_method(spec.method)["schema"].get("properties", {})
    training = {k: v for k, v in spec.settings.items() if k not in own}
    return {
        "methods": [spell_method(spec.method, {k: v for k, v in spec.settings.items() if k in own})],
        "seeds": len(spec.seeds),
        "device": spec.device,
        "priority": spec.priority,
        "training": training,
    }


def start(name: str, draft: Draft) -> list[str]:
    """Queue the runs of a draft; returns their ids."""
    from crowdcore import runs

    started = [runs.submit(spec).id for spec in specs(name, draft)]
    forget()
    return started
