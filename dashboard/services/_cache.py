"""What is kept between reruns and sessions: opened datasets, and results by fingerprint and settings."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

if TYPE_CHECKING:
    from crowdcore import CrowdDataset

__all__ = ["dataset", "kept", "upload_folder", "version", "workspace"]

_FRESH = 1.0  # seconds
_RUN = re.compile(r"(?:run:)?([0-9a-f]{32})")
_recent: dict[str, tuple[float, CrowdDataset]] = {}
P = ParamSpec("P")
T = TypeVar("T")


def workspace() -> Path:
    """Where uploads live: ``CROWDCORE_WORKSPACE``, or ``workspace`` in the current folder."""
    return Path(os.environ.get("CROWDCORE_WORKSPACE") or "workspace").resolve()


def upload_folder(name: str) -> Path | None:
    """The folder of an uploaded dataset, or None; a name never leads out of the workspace."""
    folder = workspace() / "datasets" / name
    return folder if Path(name).name == name and name not in {"", ".", ".."} and folder.is_dir() else None


@st.cache_resource(show_spinner=False, max_entries=12)
def _opened(name: str, folder: str, stamp: int) -> CrowdDataset:
    import crowdcore as cc

    return cc.read_dataset(folder) if folder else cc.load_dataset(name)


def dataset(name: str) -> CrowdDataset:
    """An opened dataset, named or uploaded; whether its files have changed is looked up once a second.

    Raises:
        CrowdError: there is none of that name, or its files are at fault.
    """
    looked, opened = _recent.get(name, (0.0, None))
    if opened is None or time.monotonic() - looked > _FRESH:
        opened = _looked_up(name)
        _recent.clear()  # one is enough to speed up a run, and keeps nothing else alive
        _recent[name] = time.monotonic(), opened
    return opened


def _looked_up(name: str) -> CrowdDataset:
    from crowdcore.data.catalogue import dataset_folders

    uploaded = upload_folder(name)
    folder = uploaded or dataset_folders().get(name)
    stamp = max((f.stat().st_mtime_ns for f in folder.iterdir()), default=0) if folder else 0
    return _opened(name, str(uploaded or ""), stamp)


def version(run_id: str) -> int:
    """When a run's process last wrote something: a cancelled run that goes on comes to another result."""
    try:
        return (workspace() / "runs" / run_id / "log.txt").stat().st_mtime_ns
    except OSError:
        return 0


def _versions(settings: Iterable[object]) -> tuple[int, ...]:
    """The versions of the runs that settings name."""
    flat = [word for one in settings for word in (one if isinstance(one, tuple) else (one,))]
    return tuple(version(found[1]) for word in flat if isinstance(word, str) and (found := _RUN.fullmatch(word)))


@st.cache_resource(show_spinner=False, max_entries=96)
def _kept(
    _function: Callable[..., Any],
    _dataset: CrowdDataset,
    what: str,
    fingerprint: str,
    settings: tuple[object, ...],
    versions: tuple[int, ...],
) -> Any:
    return _function(_dataset, *settings)


def kept(function: Callable[Concatenate[CrowdDataset, P], T]) -> Callable[Concatenate[str | CrowdDataset, P], T]:
    """Let a function of a dataset take its name too, and compute once per content and (positional) settings.

    Settings may name runs, which count as what they have come to by now. Results are shared, never copied: nobody
    may change them.
    """

    @functools.wraps(function)
    def call(which: str | CrowdDataset, /, *settings: P.args, **none: P.kwargs) -> T:
        opened = dataset(which) if isinstance(which, str) else which
        what = f"{function.__module__}.{function.__qualname__}"
        return _kept(function, opened, what, opened.fingerprint, settings, _versions(settings))  # type: ignore[no-any-return]

    return call
