"""CoNAL's common and individual noise on any labelled set."""

from __future__ import annotations

from typing import Any, ClassVar

from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.simulate._common_noise import CommonNoise
from crowdcore.data.simulate.base import TaskSource


class Conal(CommonNoise):
    """CoNAL's noise on tasks that are given; the equations are in `CommonNoise`."""

    name: ClassVar[str] = "conal"
    title: ClassVar[str] = "Common and individual confusions (CoNAL)"
    paper: ClassVar[str] = "Chu, Ma, Wang: Learning from Crowds by Modeling Common Confusions, AAAI 2021"


def conal(source: TaskSource, **settings: Any) -> CrowdDataset:
    """Label the training tasks of ``source`` with CoNAL's noise; settings are the fields of `Conal`."""
    return Conal(**settings).run(source)
