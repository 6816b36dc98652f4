"""The process that trains one run: ``python -m crowdcore.runs.train_process RUN_ID``.

If the run has been cancelled, it turns the last checkpoint into the result and trains no further.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import crowdcore
from crowdcore.core import forkserver, processes
from crowdcore.core.errors import CrowdError, DataError
from crowdcore.data.catalogue import open_labels
from crowdcore.runs import store
from crowdcore.runs.artefacts import keep_result, result_scores
from crowdcore.runs.faults import redact, retry
from crowdcore.runs.locks import Ending, leased
from crowdcore.runs.record import client_of
from crowdcore.runs.recorder import Recorder, checkpointed
from crowdcore.runs.run import TAG, Run, RunSpec
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from crowdcore.learning.api import Learnt

_CHECKPOINT_EVERY = 5  # epochs
_USED = ("numpy", "pandas", "pyarrow", "scipy", "numba", "pydantic", "safetensors", "torch", "torchvision", "mlflow")


def main(run_id: str) -> int:
    """Train the run; return the exit code."""
    workspace = Workspace.open()
    folder = workspace.run_folder(run_id)
    try:
        with contextlib.ExitStack() as leases:
            if not forkserver.is_forked():  # started by hand: no worker holds the run's lease
                leases.enter_context(leased(folder)).begin(child=os.getpid())
            _log_to(folder / "log.txt")
            return work(workspace, run_id)
    except BlockingIOError:
        print(f"Run {run_id} is being trained by another process.", file=sys.stderr)
        return Ending.LOST.code


def work(workspace: Workspace, run_id: str) -> int:
    """Train the run in this process, whose standard output is its log; return the exit code."""
    signalled = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: signalled.set())

    def is_cancelled() -> bool:
        return signalled.is_set() or workspace.cancel_requested(run_id)

    try:
        run = retry(lambda: store.get_run(run_id, workspace=workspace))
        kept = workspace.has_checkpoint(run_id)
        if run.state in {"finished", "cancelled"} or (is_cancelled() and not kept):
            if not run.has_ended:
                store.set_state(run_id, "cancelled", "Cancelled before it began.", workspace=workspace)
            return (Ending.FINISHED if run.state == "finished" else Ending.CANCELLED).code
        retry(lambda: store.set_state(run_id, "running", workspace=workspace))
        ending, message = _train(workspace, run, is_cancelled)
    except BaseException as error:
        if not isinstance(error, CrowdError):
            traceback.print_exc()
        ending, message = Ending.FAILED, _explain(error)
    print(message or "Finished.", flush=True)
    if ending is not Ending.LOST:
        retry(lambda: _end(workspace, run_id, ending, message), lambda: not workspace.run_folder(run_id).exists())
    if ending is Ending.FINISHED:
        shutil.rmtree(workspace.run_folder(run_id) / "checkpoint", ignore_errors=True)
    return ending.code


def _train(workspace: Workspace, run: Run, is_cancelled: Callable[[], bool]) -> tuple[Ending, str]:
    from crowdcore import learning
    from crowdcore.learning.api import method_for, train, usual_settings

    spec, folder = run.spec, workspace.run_folder(run.id)
    print(f"{spec.method} on {spec.dataset}, seeds {', '.join(map(str, spec.seeds))}", flush=True)
    dataset = open_labels(spec.dataset, accept=True, home=workspace.folder)
    if spec.fingerprint and dataset.fingerprint != spec.fingerprint:
        raise DataError(
            f"{spec.dataset} has changed since this run was submitted", "Run it again to train on what is there now."
        )
    training, own = learning.split_settings(
        method_for(dataset, spec.method), {**usual_settings(dataset), **spec.settings}
    )
    described = spec.model_copy(update={"fingerprint": dataset.fingerprint})
    retry(lambda: _describe(workspace, run, described, {**training.model_dump(), **own.model_dump()}))
    with Recorder(workspace, run.id) as recorder:
        for seeds, history in checkpointed(folder / "checkpoint"):
            recorder.restore(seeds, history)
        startup = processes.age()
        result = train(
            dataset,
            spec.method,
            accept=spec.accept,
            seeds=spec.seeds,
            device=spec.device,
            on_event=recorder.listen,
            should_stop=lambda: is_cancelled() or recorder.deleted or recorder.orphaned,
            checkpoint=folder / "checkpoint",
            checkpoint_every=_CHECKPOINT_EVERY,
            **spec.settings,
        )
        if recorder.orphaned:
            return Ending.LOST, "The process that supervised this run is gone; the run continues with another one."
        if recorder.deleted:
            return Ending.CANCELLED, "The run was deleted."
        if getattr(result, "start_loss", None):  # keep the curves of the better of two starts
            recorder.restore(result.seeds, result.curves)
        retry(lambda: keep_result(run.id, result, dataset, workspace), lambda: recorder.orphaned or recorder.deleted)
    retry(lambda: _log_scores(workspace, run.id, result, startup))
    if is_cancelled():
        when = f"after epoch {int(result.last_epoch.max())}" if result.seconds else "in its first stage"
        return Ending.CANCELLED, f"Cancelled {when}. The result up to then is saved."
    return Ending.FINISHED, result.notes[0] if getattr(result, "tried", ()) else ""


def _describe(workspace: Workspace, run: Run, spec: RunSpec, settings: dict[str, Any]) -> None:
    """Record the specification with the data's fingerprint, the settings as used, the environment and the device."""
    from mlflow.entities import Param, RunTag

    from crowdcore.learning.training.device import resolve_device

    client = client_of(workspace)
    parameters = [
        Param(name, str(value)[:6000]) for name, value in {"fingerprint": spec.fingerprint, **settings}.items()
    ]
    tags = {"spec": spec.model_dump_json(), "device": str(resolve_device(run.spec.device)), "result": ""}
    client.log_batch(run.id, params=parameters, tags=[RunTag(TAG + name, value) for name, value in tags.items()])
    client.log_dict(run.id, environment(), "environment.json")


def _log_scores(workspace: Workspace, run_id: str, result: Learnt, startup: float) -> None:
    from mlflow.entities import Metric

    at = int(time.time() * 1000)
    scores = {
        "seconds": result.seconds,
        "startup_seconds": startup,
        "annotations_per_second": result.annotations_per_second,
        "peak_bytes": float(peak_bytes(result.device)),
        **result_scores(result),
    }
    client_of(workspace).log_batch(run_id, [Metric(name, value, at, 0) for name, value in scores.items()])


def _end(workspace: Workspace, run_id: str, ending: Ending, message: str) -> None:
    client = client_of(workspace)
    with contextlib.suppress(OSError):  # without room for a copy, the log stays in the run's folder
        client.log_artifact(run_id, str(workspace.run_folder(run_id) / "log.txt"))
    store.set_state(run_id, ending.state, message, workspace=workspace)


def _explain(error: BaseException) -> str:
    """Explain an error in one sentence, for the page."""
    text = str(error)
    if isinstance(error, CrowdError):
        return text
    if isinstance(error, MemoryError):
        return "There was not enough memory. Choose smaller batches, fewer seeds or a smaller backbone."
    if "No space left" in text or "File too large" in text or getattr(error, "errno", None) in {27, 28, 122}:
        return (
            "The disk is full, so no result could be written. Make room and resume: it continues from its checkpoint."
        )
    return f"{type(error).__name__}: {text}"


def environment() -> dict[str, str]:
    """Versions of packages and facts of the machine: no paths, no names of people, no values of variables."""
    versions = {"crowdcore": crowdcore.__version__, "python": platform.python_version()}
    for package in _USED:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions | {
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": str(os.cpu_count() or 1),
    }


def peak_bytes(device: str) -> int:
    """Peak memory of the GPU if this process has trained on one, else of the process."""
    import torch

    if device != "cpu" and torch.cuda.is_available() and torch.cuda.is_initialized():
        return int(torch.cuda.max_memory_reserved())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _log_to(path: Path) -> None:
    """Send all output of this process, its libraries included, to the run's log, without secrets."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
    sys.stdout = sys.stderr = _Redacted()


class _Redacted(io.TextIOBase):
    """A text stream to standard output that removes secrets."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):  # a full disk ends the log, not the run
            os.write(1, redact(text).encode("utf-8", "replace"))
        return len(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
