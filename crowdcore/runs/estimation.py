"""Estimates of the time and memory of a run, from similar earlier runs or from a short trial.

``python -m crowdcore.runs.estimation PARENT`` is that trial: it reads a `RunSpec`, trains two epochs on growing parts
of the tasks until some seconds have passed, and prints one line of JSON.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

import crowdcore
from crowdcore.core import processes
from crowdcore.core.errors import CrowdError
from crowdcore.core.files import read_json, write_json
from crowdcore.core.processes import RefusedError, run_module
from crowdcore.data import CrowdDataset
from crowdcore.data.catalogue import full_name, open_labels
from crowdcore.learning.training.events import EpochEvent, Event
from crowdcore.runs.run import Run, RunSpec
from crowdcore.runs.store import list_runs
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from crowdcore.data.ratings import Labelled
    from crowdcore.data.rows import Rows

_PATIENCE = 120  # seconds for a trial
_FIRST, _GROWTH = 512, 4  # tasks
_BUDGET = 4.0  # seconds after which no larger part is tried


class SlowTrialError(CrowdError):
    """A trial took too long for an estimate; the run itself may be started all the same."""


@dataclass(frozen=True)
class Estimate:
    """Time and memory of a run.

    Args:
        seconds: wall time of all seeds, from start to result.
        bytes: peak memory, the GPU's for a run on one.
        basis: basis of the estimate, one sentence.
    """

    seconds: float
    bytes: int
    basis: str


def estimate(spec: RunSpec, dataset: Labelled, *, workspace: Workspace | None = None) -> Estimate:
    """Estimate time and memory of a run before it starts.

    Earlier finished runs with the same settings, epochs and seeds aside, are the best basis; otherwise a process of its
    own trains two epochs on growing parts of the tasks for some seconds, once: the answer is kept in the workspace.

    Args:
        spec: the run.
        dataset: its dataset.
        workspace: workspace of earlier runs.

    Raises:
        RefusedError: the settings or the dataset are refused, as the run itself would be.
        SlowTrialError: the trial took too long.
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
    measured = read_json(kept)
    if not measured:
        measured = _try(order, workspace)
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(kept, measured)
    epochs = spec.settings.get("epochs", measured["epochs"])
    part = "" if measured["share"] == 1 else f" on {100 * measured['share']:.1f} % of the tasks"
    return Estimate(
        measured["startup_seconds"] + epochs * measured["seconds_per_epoch"],
        int(measured["bytes"]),
        f"From a trial of two epochs{part} on this machine.",
    )


def _try(order: RunSpec, workspace: Workspace) -> dict[str, float]:
    environment = {"OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE"), **workspace.environment}
    try:
        printed = run_module(
            "crowdcore.runs.estimation",
            str(os.getpid()),
            input=order.model_dump_json(),
            environment=environment,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired as error:
        raise SlowTrialError(
            f"A trial of two epochs took longer than {_PATIENCE} s, so how long this will take is not known. It can be "
            "started all the same, and Runs shows its progress; a smaller network takes less."
        ) from error
    except RefusedError:
        raise
    except CrowdError as error:
        raise CrowdError(f"A trial of two epochs failed: {error}") from error
    measured: dict[str, float] = json.loads(printed.strip().splitlines()[-1])
    return measured


@dataclass
class _Clock:
    """Times of the first two epochs of the first stack, without the share of other programs."""

    seconds: list[float] = field(default_factory=list)
    replicas: int = 1
    share: processes.ProcessorShare = field(default_factory=processes.ProcessorShare)

    def listen(self, event: Event) -> None:
        if isinstance(event, EpochEvent):
            self.seconds.append(event.seconds * self.share.measure())
            self.replicas = len(event.seeds)

    def enough(self) -> bool:
        return len(self.seconds) >= 2


def measure(dataset: Labelled, method: str, settings: dict[str, Any], seeds: int, device: str) -> dict[str, float]:
    """Measure ``seconds_per_epoch`` (all seeds), ``bytes``, default ``epochs``, and ``share`` of the tasks tried."""
    from crowdcore.learning import split_settings
    from crowdcore.learning.api import method_for, train, usual_settings
    from crowdcore.learning.trials import JUDGED, REPLICAS
    from crowdcore.runs.train_process import peak_bytes

    learner = method_for(dataset, method)
    training, own = split_settings(learner, {**usual_settings(dataset), **settings})
    judged = bool((dataset.gold >= 0).any())
    candidates = [name for name in learner.candidates if judged or name not in JUDGED]
    if candidates and not settings.get("chosen"):
        shared = {k: v for k, v in settings.items() if k not in own.model_fields_set}
        return _of_trials([measure(dataset, name, shared, REPLICAS, device) for name in candidates], seeds)
    began, size = time.perf_counter(), _FIRST
    while True:
        part = _part(dataset, size)
        clock = _Clock()
        given = {**settings, "epochs": max(training.epochs, 2), "patience": None}
        try:
            train(part, method, seeds=seeds, device=device, on_event=clock.listen, should_stop=clock.enough, **given)
        except CrowdError:  # a part may be too small
            if size >= dataset.n_tasks:
                raise
        else:
            if size >= dataset.n_tasks or time.perf_counter() - began > _BUDGET:
                break
        size *= _GROWTH
    share = min(1.0, size / dataset.n_tasks)
    row = math.prod(_inputs(dataset, training.backbone).shape[1:])
    return {
        "seconds_per_epoch": clock.seconds[-1] * math.ceil(seeds / clock.replicas) / share,
        "bytes": peak_bytes(device) + 4 * row * round(dataset.n_tasks * (1 - share)),
        "epochs": training.epochs,
        "share": share,
    }


def _inputs(dataset: Labelled, backbone: str) -> Rows:
    """Inputs of the network."""
    from crowdcore.learning import backbones
    from crowdcore.learning.training.inputs import input_rows

    if isinstance(dataset, CrowdDataset):
        return input_rows(dataset, backbones.wants_images(backbone))
    assert dataset.features is not None
    return dataset.features


def _of_trials(parts: list[dict[str, float]], seeds: int) -> dict[str, float]:
    """Upper bound: all candidates are tried, without a fold each time, and all are trained."""
    from crowdcore.learning.trials import FOLDS, REPLICAS

    each = sum(part["seconds_per_epoch"] for part in parts)
    most = {key: max(part[key] for part in parts) for key in ("bytes", "epochs")}
    return {
        "seconds_per_epoch": (FOLDS - 1 + math.ceil(seeds / REPLICAS)) * each,
        **most,
        "share": min(part["share"] for part in parts),
    }


def _part(dataset: Labelled, size: int) -> Labelled:
    """Keep the input of ``size`` tasks only, evenly chosen from all splits; sentences stay whole."""
    from crowdcore.data.splitting import take_tasks

    if size >= dataset.n_tasks:
        return dataset
    if isinstance(dataset, CrowdDataset) and dataset.of_words:
        n = max(1, round(size / dataset.n_tasks * len(dataset.tokens)))
        return take_tasks(dataset, dataset.tokens.tasks(np.linspace(0, len(dataset.tokens) - 1, n).astype(int)))
    keep = np.zeros(dataset.n_tasks, bool)
    keep[np.linspace(0, dataset.n_tasks - 1, size).astype(int)] = True

    def some(rows: Rows | None) -> Rows | None:
        return None if rows is None else replace(rows, part_of=np.where(keep, rows.part_of, -1))

    media = dataset.media and replace(dataset.media, images=some(dataset.media.images))
    return replace(dataset, features=some(dataset.features), media=media)


def main() -> None:
    """Read, measure, print; other programs go first, and the process ends with the app."""
    from crowdcore.learning.embedding import with_inputs

    processes.give_way()
    share = processes.ProcessorShare()
    processes.end_with(int(sys.argv[1]))
    spec = RunSpec.model_validate_json(sys.stdin.read())
    try:
        opened = open_labels(spec.dataset, accept=True, home=Workspace.open().folder)
        network = str(spec.settings.get("backbone", "mlp"))
        dataset = with_inputs(opened, True, network, spec.device) if isinstance(opened, CrowdDataset) else opened
        startup = processes.age() * share.measure()
        measured = measure(dataset, spec.method, spec.settings, len(spec.seeds), spec.device)
    except CrowdError as error:
        print(error, file=sys.stderr)
        sys.exit(processes.REFUSED)
    print(json.dumps(measured | {"startup_seconds": startup}))


if __name__ == "__main__":
    import crowdcore.core.garbage

    main()
