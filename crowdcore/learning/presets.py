"""Presets: the runs of a published table, by name, for the page Train, the command line and the benchmarks.

``get("labelme-table").runs`` are methods with all their settings; nothing here loads torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from crowdcore.core.errors import SettingError, did_you_mean

Rows: TypeAlias = tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True)
class Preset:
    """Methods with settings that belong to one table.

    Args:
        name: key in `PRESETS`.
        title: name for people.
        dataset: dataset of the table; its runs work on any other one, too.
        methods: (method, settings) of each row; settings of the trainer among them hold for that row only.
        training: settings of the trainer that all rows share.
        seeds: replicas of every row.
        note: difference from the documented table; "" without.

    Examples:
        >>> [own for _, own in get("labelme-table-2").methods][0]
        {'regularisation': 0.0}
    """

    name: str
    title: str
    dataset: str
    methods: Rows
    training: Mapping[str, Any]
    seeds: tuple[int, ...]
    note: str = ""

    @property
    def runs(self) -> list[tuple[str, dict[str, Any]]]:
        """(method, all its settings) of every row."""
        return [(method, {**self.training, **own}) for method, own in self.methods]

    @property
    def labels(self) -> list[str]:
        """Label of each row, such as ``dl-mv (targets=hard)``."""
        own = [(method, ", ".join(f"{name}={v}" for name, v in settings.items())) for method, settings in self.methods]
        return [f"{method} ({words})" if words else method for method, words in own]


_COMMON = {"batch_size": 64, "schedule": "cosine"}
_PROTOCOL: dict[str, dict[str, Any]] = {  # network of 128 ReLU units with 50 % dropout, Adam
    "labelme": {**_COMMON, "epochs": 50, "lr": 1e-3},
    "music": {**_COMMON, "epochs": 100, "lr": 5e-3, "backbone_settings": {"batch_norm": True}},
}
_AUTHORS = {"variant": "authors", "lr": 1e-2, "batch_size": 1024, "schedule": "constant"}  # as CoNAL's authors run it
_OWN: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "labelme": [("conal", {"lr": 5e-3}), ("conal", {**_AUTHORS, "epochs": 100}), ("ccc", {})],
    "music": [
        ("conal", {**_AUTHORS, "epochs": 200, "normalise": "worker", "embedding": 80}),
        ("ccc", {"correction_rate": 0.3, "n_groups": 20, "meta_size": 160}),  # as CCC's Table 3 and text have it
    ],
}
_BASELINES: list[tuple[str, dict[str, Any]]] = [
    ("dl-mv", {}),
    ("dl-mv", {"targets": "hard"}),
    ("dl-ds", {}),
    ("vanilla", {}),
    ("soft-bootstrap", {}),
    ("single-cm", {}),
    ("dl-em", {}),
    ("dl-em", {"e_step": "batch"}),
    ("dl-em", {"leave_one_out": True}),
    ("dl-em", {"leave_one_out": True, "folds": 5}),
    ("generalized-em", {}),
    ("generalized-em", {"leave_one_out": True, "folds": 5}),
    ("crowd-layer", {}),
    ("crowd-layer", {"start": "identity", "noise_lr": 1.0}),
    ("crowd-layer", {"connection": "vw"}),
    ("crowd-layer", {"connection": "vw+b"}),
    ("crowd-layer-over", {}),
    ("trace", {}),
    ("trace", {"start": "identity"}),
    ("conal", {}),
    ("conal", {"start": "best-of"}),
    ("conal", {"variant": "paper"}),
    ("max-mig", {}),
    ("doctor-net", {}),
    ("wdn", {}),
    ("unionnet", {"variant": "a"}),
    ("unionnet", {"variant": "b"}),
    ("mbem", {}),
    ("geocrowdnet", {"volume": "f"}),
    ("geocrowdnet", {"volume": "w"}),
    ("crowdlab", {}),
    ("crowdar", {}),
    ("madl", {}),
    ("annot-mix", {}),
    ("coinnet", {}),
]
_TITLES = {"labelme": "LabelMe", "music": "Music"}
_HELD_OUT = {
    "labelme": "",
    "music": "All seeds share the 70 songs held out for validation; the documented table holds out other 70 for "
    "every seed, as the command “python -m benchmarks.learning_labelme music” does.",
}


def _tables(dataset: str) -> Iterator[Preset]:
    """All methods under one protocol, and CoNAL's own tables."""

    def table(suffix: str, title: str, rows: Rows, n_seeds: int = 5, note: str = "") -> Preset:
        title = f"{_TITLES[dataset]}: {title}"
        return Preset(f"{dataset}-{suffix}", title, dataset, rows, _PROTOCOL[dataset], tuple(range(n_seeds)), note)

    every = (*_BASELINES, *_OWN[dataset], ("conal-groups", {}), ("dl-true", {}))
    yield table("table", "all methods", every, 10, _HELD_OUT[dataset])
    strengths = tuple(("conal", {"regularisation": strength}) for strength in (0.0, 1e-4, 1e-5, 1e-6))
    yield table("table-2", "λ of CoNAL (Table 2)", strengths)
    layers: Rows = (("crowd-layer", {}), ("crowd-layer-over", {}), ("conal", {}))
    yield table("table-3", "over-parameterised crowd layer (Table 3)", layers)


PRESETS: Mapping[str, Preset] = {preset.name: preset for dataset in _TITLES for preset in _tables(dataset)}
"""Name -> preset."""


def titles(dataset: str) -> dict[str, str]:
    """Name -> title of every preset, those made for a dataset first."""
    return {p.name: p.title for p in sorted(PRESETS.values(), key=lambda p: p.dataset != dataset)}


def get(name: str) -> Preset:
    """The preset called ``name``.

    Raises:
        SettingError: no such preset; the nearest one is suggested.
    """
    if name not in PRESETS:
        remedy = f"{did_you_mean(name, PRESETS)}Known: {', '.join(PRESETS)}."
        raise SettingError("preset", "name one that exists", name, remedy)
    return PRESETS[name]
