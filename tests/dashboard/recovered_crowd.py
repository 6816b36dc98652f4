"""A crowd with known truth and finished runs on it, for the pages on recovered confusions and ω."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from crowdcore import read_dataset
from crowdcore.data.dataset import CrowdDataset, SimulatedTruth
from crowdcore.data.writers import write_folder
from crowdcore.learning.results.result import TrainingResult
from testkit.crowds import simulate_crowd
from testkit.recorded_runs import invented, record
from tests.rated_crowd import rated_folder

ABLE = {"conal": ["common_confusion", "worker_confusion", "omega"], "trace": ["worker_confusion"], "dl-mv": []}


def with_epochs(result: TrainingResult) -> TrainingResult:
    """A result that kept its start, epoch 10 and the last epoch; the common confusion has hardly moved since."""
    assert result.worker_confusion is not None
    assert result.common_confusion is not None
    assert result.omega is not None
    now = {"worker_confusion": result.worker_confusion, "common_confusion": result.common_confusion}
    start = {
        "worker_confusion": np.broadcast_to(np.eye(4), result.worker_confusion.shape),
        "common_confusion": 0.99 * result.common_confusion + 0.01 * np.eye(4),
    }
    middle = {part: (now[part] + start[part]) / 2 for part in now}
    kept = {part: np.stack([start[part], middle[part]]).astype(np.float32) for part in now}
    kept["omega"] = np.stack([np.full_like(result.omega, 0.5), result.omega]).astype(np.float32)
    last = {**now, "omega": result.omega}
    return replace(result, kept_epochs=np.array([0, 10]), kept=kept, last=last)


def odd_ones(crowd: CrowdDataset) -> dict[str, TrainingResult]:
    """A seed with its classes in another order, names that votes would swap, ω that does not vary."""
    trace, conal = (invented(crowd, method, salt=1) for method in ("trace", "conal"))
    assert trace.worker_confusion is not None
    assert conal.omega is not None
    other = trace.worker_confusion.copy()
    other[2] = other[2][:, [1, 0, 2, 3]]
    misled = np.broadcast_to(np.eye(4)[[1, 0, 2, 3]], other.shape)
    return {
        "another order": replace(trace, worker_confusion=other),
        "misled": replace(trace, worker_confusion=misled, worker_counts=20 * misled),
        "flat": replace(conal, omega=0.7 + 0.01 * conal.omega),
    }


def record_runs(home: Path) -> SimpleNamespace:
    """A crowd with known truth, written to a folder, and three finished runs on it in a workspace."""
    rng = np.random.default_rng(0)
    crowd = replace(simulate_crowd(), name="crowd")
    truth = SimulatedTruth(
        worker_confusion=rng.dirichlet(np.ones(4), (12, 4)),
        common_confusion=rng.dirichlet(np.ones(4), 4),
        omega=rng.random(crowd.n_annotations),
        used_common=rng.random(crowd.n_annotations) < 0.5,
    )
    (home / "found").mkdir()
    write_folder(replace(crowd, truth=truth), home / "found" / "crowd")
    write_folder(simulate_crowd(60), home / "found" / "fresh")
    rated_folder(home / "found" / "rated")
    crowd = read_dataset(home / "found" / "crowd")
    results = {method: invented(crowd, method) for method in ABLE}
    results["conal"] = with_epochs(results["conal"])
    results = odd_ones(crowd) | results
    order = [*list(results)[:3], *reversed(ABLE)]  # what is recorded last is shown first
    settings = {"misled": {"epochs": 7}}
    ids = {name: record(home / "workspace", results[name], crowd, **settings.get(name, {})) for name in order}
    return SimpleNamespace(home=home, crowd=crowd, results=results, ids=ids)
