"""Presets: the runs of a published table, by name, for the page Train, the command line and the benchmarks.

``get("labelme-table").runs`` are methods with all their settings; nothing here loads torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crowdcore.core.errors import SettingError, did_you_mean


@dataclass(frozen=True)
class Preset:
    """Methods with settings that belong to one table.

    Args:
        name: what to ask for.
        title: for people.
        dataset: what the table is about; its runs can be had on any other dataset, too.
        methods: (method, settings) of each row; settings of the trainer among them hold for that row only.
        training: settings of the trainer that all rows share.
        seeds: replicas of every row.
        note: in what the table may differ from the documented one; "" in nothing.

    Examples:
        >>> [own for _, own in get("labelme-table-2").methods][0]
        {'regularisation': 0.0}
    """

    name: str
    title: str
    dataset: str
    methods: tuple[tuple[str, Mapping[str, Any]], ...]
    training: Mapping[str, Any]
    seeds: tuple[int, ...]
    note: str = ""

    @property
    def runs(self) -> list[tuple[str, dict[str, Any]]]:
        """(method, all its settings) of every row."""
        return [(method, {**self.training, **own}) for method, own in self.methods]

    @property
    def labels(self) -> list[str]:
        """What to call each row: ``dl-mv (targets=hard)``."""
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


def _table(dataset: str) -> Preset:
    """All methods under one protocol."""
    rows = (*_BASELINES, *_OWN[dataset], ("conal-groups", {}), ("dl-true", {}))
    title = f"{_TITLES[dataset]}: all methods"
    return Preset(f"{dataset}-table", title, dataset, rows, _PROTOCOL[dataset], tuple(range(10)), _HELD_OUT[dataset])


def _table_2(dataset: str) -> Preset:
    """CoNAL's λ."""
    rows = tuple(("conal", {"regularisation": strength}) for strength in (0.0, 1e-4, 1e-5, 1e-6))
    title = f"{_TITLES[dataset]}: λ of CoNAL (Table 2)"
    return Preset(f"{dataset}-table-2", title, dataset, rows, _PROTOCOL[dataset], tuple(range(5)))


def _table_3(dataset: str) -> Preset:
    """Whether more numbers in the noise layers explain CoNAL."""
    rows: tuple[tuple[str, dict[str, Any]], ...] = tuple((m, {}) for m in ("crowd-layer", "crowd-layer-over", "conal"))
    title = f"{_TITLES[dataset]}: over-parameterised crowd layer (Table 3)"
    return Preset(f"{dataset}-table-3", title, dataset, rows, _PROTOCOL[dataset], tuple(range(5)))


PRESETS: Mapping[str, Preset] = {
    preset.name: preset for dataset in _TITLES for preset in (_table(dataset), _table_2(dataset), _table_3(dataset))
}
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
