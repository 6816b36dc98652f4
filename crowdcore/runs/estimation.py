"""How long a run will take and how much memory: from earlier runs like it, else from a short trial."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from statistics import median
from typing import Any

import crowdcore
from crowdcore.core.errors import CrowdError
from crowdcore.core.json_files import read_json, write_json
from crowdcore.data.catalogue import full_name
from crowdcore.data.ratings import Labelled
from crowdcore.runs.run import Run
from crowdcore.runs.run_config import RunSpec
from crowdcore.runs.store import list_runs
from crowdcore.runs.workspace import Workspace

_PATIENCE = 120  # seconds for a trial
_REFUSED = 2  # exit code of a trial that says why


class RefusedError(CrowdError):
    """A trial was refused, as the run itself would be."""


class UntoldError(CrowdError):
    """A trial took too long to tell anything; the run itself may be started all the same."""


@dataclass(frozen=True)
class Estimate:
    """What a run will need.

    Args:
        seconds: wall time of all seeds, from start to result.
        bytes: memory at its peak, the GPU's where it trains on one.
        basis: what this rests on, one sentence.
    """

    seconds: float
    bytes: int
    basis: str


def estimate(spec: RunSpec, dataset: Labelled, *, workspace: Workspace | None = None) -> Estimate:
    """Time and memory of a run before it starts.

    Earlier finished runs with the same settings, epochs and seeds aside, say best; otherwise a process of its own
    trains two epochs on growing parts of the tasks for some seconds, once: the answer is kept in the workspace.

    Args:
        spec: the run.
        dataset: what it trains on.
        workspace: where to look for earlier runs.

    Raises:
        RefusedError: the settings or the dataset are refused, as the run itself would be.
        UntoldError: the trial took too long.
        CrowdError: the trial failed.
    """
    workspace = workspace or Workspace.open()
    earlier = [r for r in list_runs(spec.dataset, ["finished"], workspace=workspace) if _is_alike(r, spec, dataset)]
    same = [r for r in earlier if len(r.spec.seeds) == len(spec.seeds)]
    return _from_runs(same or earlier, spec) if earlier else _from_trial(spec, dataset, workspace)


def _is_alike(run: Run, spec: RunSpec, dataset: Labelled) -> bool:
    def rest(of: RunSpec) -> dict[str, Any]:
        return {k: v for k, v in of.settings.items() if k != "epochs"}

    return (
        run.spec.method == spec.method
        and run.spec.device == spec.device
        and run.spec.fingerprint in {"", dataset.fingerprint}
        and rest(run.spec) == rest(spec)
        and {"seconds", "peak_bytes"} <= run.scores.keys()
        and run.epochs > 0
    )


def _from_runs(runs: list[Run], spec: RunSpec) -> Estimate:
    epochs = spec.settings.get("epochs")
    seconds = [
        r.scores.get("startup_seconds", 0.0)
        + r.scores["seconds"] * (epochs or r.epochs) / r.epochs * len(spec.seeds) / len(r.spec.seeds)
        for r in runs
    ]
    count = f"{len(runs)} earlier run{'s' if len(runs) > 1 else ''}"
    exact = all(len(r.spec.seeds) == len(spec.seeds) and epochs in {None, r.epochs} for r in runs)
    how = "" if exact else ", in proportion to epochs and seeds"
    return Estimate(
        median(seconds), int(max(r.scores["peak_bytes"] for r in runs)), f"From {count} with these settings{how}."
    )


def _from_trial(spec: RunSpec, dataset: Labelled, workspace: Workspace) -> Estimate:
    order = RunSpec(
        dataset=full_name(spec.dataset),
        method=spec.method,
        settings={k: v for k, v in spec.settings.items() if k != "epochs"},
        seeds=tuple(range(len(spec.seeds))),
        device=spec.device,
    )
    key = json.dumps([crowdcore.__version__, dataset.fingerprint, order.model_dump(mode="json")], sort_keys=True)
    kept = workspace.folder / "estimates" / f"{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.json"
    found = read_json(kept)
    if not found:
        found = _measure(order, workspace)
        write_json(kept, found)
    epochs = spec.settings.get("epochs", found["epochs"])
    part = "" if found["share"] == 1 else f" on {100 * found['share']:.1f} % of the tasks"
    return Estimate(
        found["startup_seconds"] + epochs * found["seconds_per_epoch"],
        int(found["bytes"]),
        f"From a trial of two epochs{part} on this machine.",
    )


def _measure(order: RunSpec, workspace: Workspace) -> dict[str, float]:
    try:
        done = subprocess.run(
            [sys.executable, "-m", "crowdcore.runs.dry_run", str(os.getpid())],
            input=order.model_dump_json(),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            env={"OMP_WAIT_POLICY": "PASSIVE", **os.environ, **workspace.environment},
        )
    except subprocess.TimeoutExpired as error:
        raise UntoldError(
            f"A trial of two epochs took longer than {_PATIENCE} s, so how long this will take is not known. It can be "
            "started all the same, and Runs tells how far it is; a smaller network takes less."
        ) from error
    last = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()[-1:]
    if done.returncode == _REFUSED:
        raise RefusedError(last[0])
    if done.returncode != 0:
        raise CrowdError(f"A trial of two epochs failed: {' '.join(last) or f'exit code {done.returncode}'}")
    found: dict[str, float] = json.loads(last[0])
    return found
