"""Fast Dawid–Skene: Dawid & Skene's model with hard assignments."""

from __future__ import annotations

from typing import ClassVar

from crowdcore.aggregation._em import ConfusionEM


class FastDawidSkene(ConfusionEM):
    """Dawid–Skene whose E-step puts all mass on the most probable class.

    ``z_i = argmax_c ρ_c Π_r π^r[c, y_i^r]`` (ties to the lowest class), then counts as if z were the truth. The
    objective is the log-likelihood of the completed data, which neither step lowers.
    """

    name: ClassVar[str] = "fast-dawid-skene"
    title: ClassVar[str] = "Fast Dawid–Skene"
    paper: ClassVar[str] = "Sinha, Rao & Balasubramanian, Fast Dawid-Skene, 2018, arXiv:1803.02781"

    hard: ClassVar[bool] = True
