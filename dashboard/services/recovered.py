"""Views of runs, from what addresses say of their seeds and epochs; which methods recover what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dashboard.services.datasets import view
from dashboard.services.learners import about_method, learners
from dashboard.services.runs import result, run_labels, run_title, runs_of, training_fault

if TYPE_CHECKING:
    from crowdcore.exhibits.recovered import Epoch, RunView, Seed
    from crowdcore.runs import Run

__all__ = ["besides", "epoch_names", "recovering", "run_view", "seed_names", "without"]

_PARTS = {"worker_confusion": "recovers no confusions", "omega": "does not tell common from individual noise"}


def recovering(part: str) -> list[str]:
    """Names of the methods that recover a part: ``worker_confusion``, ``common_confusion``, ``omega`` …"""
    return [] if training_fault() else [n for n in learners() if part in about_method(n)["recovers"]]


def without(method: str, part: str) -> str:
    """What to say of a method that does not recover a part."""
    others = [name for name in recovering(part) if name != method]
    return f"This run of {method} {_PARTS[part]}. Methods that do: {', '.join(others)}."


def besides(name: str, offered: list[Run]) -> dict[str, str]:
    """Which other runs a run can be compared with: id -> words."""
    labels = run_labels(runs_of(name))
    return {"": "Nothing", **{other.id: labels[other.id] for other in offered}}


def run_view(
    name: str, which: str, hidden: bool, of: Run, seed: str = "", at: str = "selected", part: str = "", other: str = ""
) -> RunView:
    """A run on a dataset, by its reference.

    Args:
        which: the reference.
        hidden: show pseudonyms.
        of: the run.
        seed: a key of `seed_names`.
        at: a key of `epoch_names`.
        part: "" or "own".
        other: what another run on the same page is called.
    """
    from crowdcore.exhibits.recovered import of_run

    title = run_title(of)
    called = f"{title} ({of.id[:4]})" if title == other else title
    own: Literal["", "own"] = "own" if part == "own" else ""
    return of_run(view(name, which, hidden), result(of.id), called, seed=_seed(seed), at=_epoch(at), part=own)


def epoch_names(run_id: str) -> dict[str, str]:
    """Epochs that can be shown, as addresses spell them -> words."""
    from crowdcore.exhibits.recovered import epochs

    return {str(key): words for key, words in epochs(result(run_id)).items()}


def seed_names(of: RunView) -> dict[str, str]:
    """What can be shown of a run's seeds, as addresses spell it (their mean is "") -> words."""
    from crowdcore.exhibits.recovered import seeds

    return {"" if key is None else str(key): words for key, words in seeds(of).items()}


def _seed(text: str) -> Seed:
    return int(text) if text.isdecimal() else "each" if text == "each" else None


def _epoch(text: str) -> Epoch:
    return int(text) if text.isdecimal() else "last" if text == "last" else "selected"
