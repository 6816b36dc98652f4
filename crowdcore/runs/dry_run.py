"""A short trial of a run, for its estimate: ``python -m crowdcore.runs.dry_run PARENT`` reads its `RunSpec`.

It trains two epochs on growing parts of the tasks until some seconds have passed, and prints one line of JSON.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import crowdcore.core.garbage  # noqa: F401
from crowdcore.core.errors import CrowdError
from crowdcore.data.catalogue import open_labels
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.ratings import Labelled
from crowdcore.data.rows import Rows
from crowdcore.data.splitting import take_tasks
from crowdcore.learning import backbones, split_settings
from crowdcore.learning.api import method_for, train, usual_settings
from crowdcore.learning.training.events import EpochEvent, Event
from crowdcore.learning.training.inputs import input_rows, with_inputs
from crowdcore.learning.trials import FOLDS, REPLICAS
from crowdcore.runs.forkserver import give_way
from crowdcore.runs.processes import end_with
from crowdcore.runs.run_config import RunSpec
from crowdcore.runs.usage import Processors, peak_bytes, process_age
from crowdcore.runs.workspace import Workspace

_FIRST, _GROWTH = 512, 4  # tasks
_BUDGET = 4.0  # seconds after which no larger part is tried


@dataclass
class _Clock:
    """Times of the first two epochs of the first stack, had no other program used the processors."""

    seconds: list[float] = field(default_factory=list)
    replicas: int = 1
    processors: Processors = field(default_factory=Processors)

    def listen(self, event: Event) -> None:
        if isinstance(event, EpochEvent):
            self.seconds.append(event.seconds * self.processors.share())
            self.replicas = len(event.seeds)

    def enough(self) -> bool:
        return len(self.seconds) >= 2


def measure(dataset: Labelled, method: str, settings: dict[str, Any], seeds: int, device: str) -> dict[str, float]:
    """Time and memory of a run.

    Args:
        dataset: what it trains on.
        method: its method.
        settings: of trainer and method, without epochs.
        seeds: how many.
        device: where.

    Returns:
        ``seconds_per_epoch`` (all seeds), ``bytes``, ``epochs`` (when none are asked for), ``share`` of the tasks that
        the trial has seen.
    """
    training, own = split_settings(found := method_for(dataset, method), {**usual_settings(dataset), **settings})
    candidates = found.candidates
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
        except CrowdError:  # a part may lack what the whole has
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
    """What the network reads."""
    if isinstance(dataset, CrowdDataset):
        return input_rows(dataset, backbones.wants_images(backbone))
    assert dataset.features is not None
    return dataset.features


def _of_trials(parts: list[dict[str, float]], seeds: int) -> dict[str, float]:
    """What it takes at most: to try all candidates, without a fold each time, and to train all of them."""
    each = sum(part["seconds_per_epoch"] for part in parts)
    most = {key: max(part[key] for part in parts) for key in ("bytes", "epochs")}
    return {
        "seconds_per_epoch": (FOLDS - 1 + math.ceil(seeds / REPLICAS)) * each,
        **most,
        "share": min(part["share"] for part in parts),
    }


def _part(dataset: Labelled, size: int) -> Labelled:
    """The dataset with input for ``size`` of its tasks only, evenly chosen from all splits; sentences stay whole."""
    if size >= dataset.n_tasks:
        return dataset
    if isinstance(dataset, CrowdDataset) and dataset.of_words:
        assert dataset.sentences is not None
        n = max(1, round(size / dataset.n_tasks * len(dataset.sentences)))
        chosen = np.linspace(0, len(dataset.sentences) - 1, n).astype(int)
        return take_tasks(dataset, dataset.sentences.tasks(chosen))
    keep = np.zeros(dataset.n_tasks, bool)
    keep[np.linspace(0, dataset.n_tasks - 1, size).astype(int)] = True

    def some(rows: Rows | None) -> Rows | None:
        return None if rows is None else replace(rows, part_of=np.where(keep, rows.part_of, -1))

    media = dataset.media and replace(dataset.media, images=some(dataset.media.images))
    return replace(dataset, features=some(dataset.features), media=media)


def main() -> None:
    """Read, measure, print; whoever waits for the app goes first, and nothing goes on without the app."""
    give_way()
    processors = Processors()
    end_with(int(sys.argv[1]))
    spec = RunSpec.model_validate_json(sys.stdin.read())
    try:
        opened = open_labels(spec.dataset, accept=True, home=Workspace.open().folder)
        dataset = with_inputs(opened, accept=True) if isinstance(opened, CrowdDataset) else opened
        startup = process_age() * processors.share()
        found = measure(dataset, spec.method, spec.settings, len(spec.seeds), spec.device)
    except CrowdError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    print(json.dumps(found | {"startup_seconds": startup}))


if __name__ == "__main__":
    main()
