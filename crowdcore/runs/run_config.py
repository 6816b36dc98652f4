"""`RunSpec`: everything that decides what a run computes, and what is needed to compute it again."""

from __future__ import annotations

import shlex
from typing import Any

from pydantic import Field, field_validator

from crowdcore.core.settings import Settings
from crowdcore.core.spelling import spell_options
from crowdcore.runs.space import SearchPlan


class RunSpec(Settings):
    """One training run: dataset, method, settings and seeds."""

    dataset: str = Field(min_length=1, description="Name of a dataset, or a path to one.")
    fingerprint: str = Field(
        default="", description="Content hash that the dataset must have; empty: whatever is there."
    )
    method: str = Field(min_length=1, description="Name of a learning method.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Settings of the trainer and of the method.")
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1, description="One replica for each.")
    device: str = Field(default="auto", description="auto, cpu, cuda or cuda:N.")
    priority: int = Field(default=0, description="Higher goes first.")
    accept: bool = Field(default=False, description="Leave out tasks whose image or text cannot be used.")
    group: str = Field(default="", description="Runs that were started together share it.")
    parent: str = Field(default="", description="The search that this run is a trial of.")
    search: SearchPlan | None = Field(default=None, description="A search, whose trials are runs; empty: one run.")

    @field_validator("seeds")
    @classmethod
    def _different(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if min(seeds) < 0 or len(set(seeds)) < len(seeds):
            raise ValueError("Seeds must be different non-negative numbers")
        return seeds


def command_line(spec: RunSpec) -> str:
    """``crowdcore train …``, which computes a run again without the record; what reading drops is accepted."""
    words = ["crowdcore", "train", spec.dataset, "--method", spec.method]
    if spec.seeds == tuple(range(len(spec.seeds))):
        words += ["--seeds", str(len(spec.seeds))]
    else:
        words += [word for seed in spec.seeds for word in ("--seed", str(seed))]
    if spec.device != "auto":
        words += ["--device", spec.device]
    for name, value in spec.settings.items():
        words += ["--epochs", str(value)] if name == "epochs" else ["--set", *spell_options({name: value})]
    return shlex.join([*words, "--accept"])
