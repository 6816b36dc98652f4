"""The command that computes a run again, without workspace and record."""

from __future__ import annotations

import json
import shlex

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
        words += ["--epochs", str(value)] if name == "epochs" else ["--set", f"{name}={_written(value)}"]
    return shlex.join([*words, "--accept"])


def _written(value: object) -> str:
    """As ``--set`` reads it: text as it is, unless it would be read as something else."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except json.JSONDecodeError:
            return value
    return json.dumps(value)
