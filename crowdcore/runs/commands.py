"""The command that computes a run again, without workspace and record."""

from __future__ import annotations

import shlex

from crowdcore.core.method_string import plain
from crowdcore.runs.run_config import RunSpec


def command_line(spec: RunSpec) -> str:
    """``crowdcore train …`` with the dataset, method, settings and seeds of a run; what reading drops is accepted."""
    words = ["crowdcore", "train", spec.dataset, "--method", spec.method]
    if spec.seeds == tuple(range(len(spec.seeds))):
        words += ["--seeds", str(len(spec.seeds))]
    else:
        words += [word for seed in spec.seeds for word in ("--seed", str(seed))]
    if spec.device != "auto":
        words += ["--device", spec.device]
    for name, value in spec.settings.items():
        words += ["--epochs", str(value)] if name == "epochs" else ["--set", f"{name}={plain(value)}"]
    return shlex.join([*words, "--accept"])
