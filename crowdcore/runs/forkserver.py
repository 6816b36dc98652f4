"""Training processes are forked from Python's forkserver, which has loaded the packages that a run needs.

Loading PyTorch and MLflow takes seconds of a core, a fork takes milliseconds. The forkserver loads nothing of our own
(a run uses the code as it is then), never trains, opens no database and touches no GPU. It ends with its worker.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.forkserver
import os
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection, wait
from pathlib import Path

NICE = 2
"""How much training gives way to other programs: beside two that never rest, it gets 0.3 of two cores."""
_PACKAGES = (
    "crowdcore.core.garbage",
    "crowdcore.runs",
    "mlflow",
    "mlflow.artifacts",
    "mlflow.store.tracking.sqlalchemy_store",
    "numba",
    "optuna",
    "pyarrow.parquet",
    "scipy.sparse",
    "safetensors.torch",
    "torch._dynamo",  # which PyTorch's optimisers load
    "torch.func",
)
_OUT_OF_MEMORY = 500  # added to the score by which the system chooses what to kill when memory runs out
_LOST = 255  # exit code in the place of one that the forkserver could not tell
_context = multiprocessing.get_context("forkserver")
_one_at_a_time = threading.Lock()  # starting a process also collects the exit codes of others


def preload(log: Path) -> None:
    """Start the forkserver, if it is not running; it loads its packages in the background.

    Args:
        log: file for what it says. It must not have our standard streams: it outlives us while it loads packages, and
            whoever reads them waits until all that have them are gone.
    """
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # asking whether there is a GPU must not touch it
    _context.set_forkserver_preload(list(_PACKAGES))
    with _one_at_a_time, log.open("ab") as written:
        ours = [os.dup(stream) for stream in (1, 2)]
        try:
            for stream in (1, 2):
                os.dup2(written.fileno(), stream)
            multiprocessing.forkserver.ensure_running()
        finally:
            for stream, own in zip((1, 2), ours, strict=True):
                os.dup2(own, stream)
                os.close(own)


class Forked:
    """A training process of its own group and session; started at once.

    Args:
        run_id: the run to train; see `train_process.main`.
        environment: added to the worker's.
        log: file for what it writes.
        handle: file descriptor that it inherits.
    """

    def __init__(self, run_id: str, environment: Mapping[str, str], log: Path, handle: int) -> None:
        preload(log)
        inherited = Connection(os.dup(handle))  # the kind of descriptor that multiprocessing hands to a child
        arguments = (run_id, dict(environment), str(log), inherited)
        self._process = _context.Process(target=_run, args=arguments)
        with _one_at_a_time, inherited:
            self._process.start()
        self.pid = self._process.pid or 0

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within that time."""
        return bool(wait([self._process.sentinel], seconds))

    @property
    def code(self) -> int | None:
        """Exit code, or minus the signal that ended it; None while it lives, or when the forkserver was lost."""
        with _one_at_a_time:
            code = self._process.exitcode
        return None if code == _LOST else code


def give_way() -> None:
    """Let other programs go first, and be what is ended when memory runs out."""
    os.nice(NICE)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(str(_OUT_OF_MEMORY))


def _run(run_id: str, environment: Mapping[str, str], log: str, inherited: Connection) -> None:
    """What a forked process does; what it has ``inherited`` stays open until it ends."""
    os.setsid()
    give_way()
    os.environ.update(environment)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(written, 1)
    os.dup2(written, 2)
    from crowdcore.runs.train_process import main

    raise SystemExit(main(run_id))
