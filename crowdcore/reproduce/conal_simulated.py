"""CoNAL's figures on simulated crowds: its Synthetic, and CIFAR-10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdcore.data.simulate import TaskChoice
from crowdcore.learning.recovery.plan import RecoveryPlan, preset
from crowdcore.learning.recovery.study import judge
from crowdcore.reproduce.entry import SELECTED, Measure, Part, Scale

METHODS = {
    "DL-MV": "dl-mv",
    "DL-CL": "crowd-layer",
    "DL-CL_Over": "crowd-layer-over",
    "Doctor Net": "wdn",  # "aggregates the networks' output by weighted majority voting"
    "Anno-Reg": "trace",
    "Max-MIG": "max-mig",
    "DL-GLAD": "dl-glad",
    "DL-WC": "dl-wc",
    "AggNet": "dl-em",
    "CoNAL": "conal",
}
"""What the paper calls a method -> what we call it."""
_ALL = tuple(row for row in METHODS if row != "DL-CL_Over")
_PATTERNS = ("asymmetric", "symmetric")
_ALIKE = (8, 9, 6, 5, 7, 3, 2, 4, 0, 1)  # ours: the paper pairs similar classes by hand, bird and airplane say
_SYNTHETIC = (
    "20 Gaussian features of separation 1, as the paper gives neither; every method's classes are named by the "
    "validation split's gold, as labels cannot name them where most are wrong."
)
_CIFAR_10 = (
    "images from JPEG (about 30 dB); a tenth of the training images validates instead of 10,000 of them; symmetric "
    "pairs are ours."
)


def figure_4(scale: Scale) -> list[Part]:
    """Methods on CIFAR-10; at small scale three of them, at two strengths of asymmetric noise."""
    if scale == "small":
        return _along(scale, "cifar10", ("DL-MV", "DL-CL", "CoNAL"), _PATTERNS[:1], {"common_strength": (0.4, 0.8)}, 1)
    return _along(scale, "cifar10", _ALL, _PATTERNS, _POINTS, 5)


def figure_6(scale: Scale) -> list[Part]:
    """Methods on Synthetic; at small scale five of them, at the ends of both axes."""
    if scale == "small":
        rows = ("DL-MV", "DL-CL", "Anno-Reg", "AggNet", "CoNAL")
        ends = {name: (values[0], values[-1]) for name, values in _POINTS.items()}
        return _along(scale, "synthetic", rows, _PATTERNS, ends, 1)
    return _along(scale, "synthetic", _ALL, _PATTERNS, _POINTS, 5)


def recovered(on: str, scale: Scale) -> list[Part]:
    """Figs. 5 and 7: CoNAL at common strength 0.7 and proportion 0.5."""
    paper = {_error(name): "" for name in ("common error", "own error", "effective error")}
    point = {"common_strength": 0.7, "proportion": 0.5}
    return [_part(scale, on, "CoNAL", pattern, paper, {"pattern": pattern, **point}) for pattern in _PATTERNS]


_POINTS = {"common_strength": (0.4, 0.5, 0.6, 0.7, 0.8), "proportion": (0.0, 0.3, 0.4, 0.5, 0.6, 0.7)}
_FIXED = {"common_strength": {"proportion": 0.5}, "proportion": {"common_strength": 0.4}}


def _along(
    scale: Scale,
    on: str,
    rows: tuple[str, ...],
    patterns: tuple[str, ...],
    points: Mapping[str, tuple[float, ...]],
    seeds: int,
) -> list[Part]:
    """Methods along the strength of common noise, or along its proportion."""
    return [
        _part(
            scale,
            on,
            row,
            f"{pattern}, by {name.replace('_', ' ')}",
            {SELECTED: ""},
            {"pattern": pattern, name: value, **_FIXED[name]},
            seeds,
            value,
        )
        for pattern in patterns
        for name, values in points.items()
        for value in values
        for row in rows
    ]


def _part(
    scale: Scale,
    on: str,
    row: str,
    column: str,
    paper: Mapping[Measure, str],
    crowd: Mapping[str, Any],
    seeds: int = 1,
    at: float | None = None,
) -> Part:
    """A method on one crowd, on Synthetic or CIFAR-10."""
    method = METHODS[row]
    if on == "synthetic":
        known = preset("strength")
        own = next((c.settings for c in known.methods if c.method == method), {})
        plan = RecoveryPlan(simulation="synthetic", settings=dict(crowd))
        return Part(row, column, paper, plan, method, {**known.training, **own}, seeds, at, _SYNTHETIC)
    small = scale == "small"
    training = {"backbone": "cnn", "epochs": 12, "lr": 2e-3, "batch_size": 64} if small else {
        "backbone": "vgg16", "epochs": 100, "lr": 5e-3, "batch_size": 128, "precision": "bfloat16",
    }  # fmt: skip
    pairs = {"targets": _ALIKE} if crowd["pattern"] == "symmetric" else {}
    tasks = TaskChoice(n_train=2000, n_test=500) if small else TaskChoice()
    plan = RecoveryPlan(simulation="conal", settings={**crowd, **pairs}, dataset="cifar10_images", tasks=tasks)
    part = "2,000 training images and a network of four convolutions, 12 epochs; " if small else ""
    return Part(row, column, paper, plan, method, training, seeds, at, f"{part}{_CIFAR_10}")


def _error(column: str) -> Measure:
    """Error of a recovered confusion, per row of the matrix: 0 = the same, 2 = the most."""
    return Measure(column, lambda result, dataset: judge(result, dataset)[column].to_numpy(float))
