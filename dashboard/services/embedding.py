"""Features from texts, images or sounds: possible kinds, time, and making them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import streamlit as st

from crowdcore.core.confined import run_in_child
from crowdcore.core.files import write_json
from crowdcore.data.catalogue import NOTE, dataset_title, note_of, upload_folder
from crowdcore.learning.embedding import prepare
from dashboard.services.opening import dataset, datasets_folder, forget_dataset
from dashboard.services.uploads import free_title, note_dataset

KIND_TITLES = {
    "tfidf": "TF-IDF of the texts",
    "sentences": "Sentence embeddings, pretrained",
    "efficientnet": "EfficientNet-Lite0, pretrained on ImageNet",
    "pixels": "Pixels, for a network from scratch",
    "logmel": "Log-mel energies of the sounds",
}
"""Kinds of features that the app makes, and in words."""


def embedding_kinds(name: str) -> list[str]:
    """Kinds that the app can make here, the usual one first; a pretrained network only where it is installed."""
    kinds = _plan(name, dataset(name).fingerprint, "auto")["kinds"]
    return [kind for kind in kinds if kind in KIND_TITLES]


def embedding_seconds(name: str, kind: str, model: str = "") -> float | None:
    """Estimated seconds for a kind, with one of `sentence_models`; None where a trial cannot tell."""
    fingerprint = dataset(name).fingerprint
    usual = _plan(name, fingerprint, "auto")
    seconds: float | None = (usual if usual["kind"] == kind else _plan(name, fingerprint, kind, model))["seconds"]
    return seconds


@st.cache_data(show_spinner="Looking at a few of them …", max_entries=100)
def _plan(name: str, fingerprint: str, kind: str, model: str = "") -> dict[str, Any]:
    return _prepare(name, None, kind, False, model)


def embed(name: str, kind: str, accept: bool, model: str = "") -> str:
    """Make features of a dataset, in place for an upload, else in a copy in the workspace.

    Args:
        name: the dataset.
        kind: one of `KIND_TITLES`.
        accept: leave out tasks whose text or image cannot be used.
        model: one of `sentence_models`; default: the first.

    Returns:
        The name to open it by.

    Raises:
        CrowdError: tasks would be left out and that was not accepted, or there is nothing to make features from.
    """
    folder, home = upload_folder(name), datasets_folder()
    slug = re.sub(r"[^\w-]+", "-", name)
    by = Path(model).name or kind
    called = name if folder else f"{slug}-{by}"
    made, gone = home / f".{slug}.{kind}", home / f".{slug}.replaced"
    for left in (made, gone):
        shutil.rmtree(left, ignore_errors=True)
    notes = tuple(_prepare(name, made, kind, accept, model)["notes"])
    if folder:
        note = note_of(folder)
        write_json(made / NOTE, {**note, "notes": [*note.get("notes", ()), *notes]})
        folder.rename(gone)
    else:
        note_dataset(made, free_title(f"{dataset_title(name)} ({by})"), "", {}, notes)
        if (home / called).exists():
            (home / called).rename(gone)
    made.rename(home / called)
    shutil.rmtree(gone, ignore_errors=True)
    forget_dataset()
    return called


def _prepare(name: str, folder: Path | None, kind: str, accept: bool, model: str) -> dict[str, Any]:
    """`crowdcore.learning.embedding.prepare` in a process of its own, whose memory is free again afterwards."""
    return run_in_child(prepare, str(upload_folder(name) or name), folder, kind, accept, model=model)
