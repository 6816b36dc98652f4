"""Queue of background jobs on a thread of its own, and the state of each.

A thread and not an executor's: those are waited for at exit, and the app would outlive its SIGTERM by a job.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal

from crowdcore.core.errors import CrowdError

_MOST = 500  # jobs that are remembered
_log = logging.getLogger("dashboard")


@dataclass
class Job:
    """State of a job.

    Attributes:
        work: what to do.
        first, last: times (monotonic) at which somebody asked for it.
        state: where it stands.
        began: time (monotonic) at which it began to run.
        result: what it returned.
        refusal: why it was refused or failed.
        ended: set when it stands still.
    """

    work: Callable[[], Any]
    first: float = field(default_factory=time.monotonic)
    last: float = 0.0
    state: Literal["waiting", "running", "done", "refused", "failed"] = "waiting"
    began: float = 0.0
    result: Any = None
    refusal: CrowdError | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self, what: str) -> None:
        """Run the job; faults are logged."""
        self.began, self.state = time.monotonic(), "running"
        try:
            self.result, self.state = self.work(), "done"
        except CrowdError as refusal:
            self.refusal, self.state = refusal, "refused"
        except Exception:
            _log.exception("The %s failed", what)
            self.refusal = CrowdError(f"The {what} failed; what went wrong is in the app's log.")
            self.state = "failed"
        self.work = lambda: None  # which lets go of the data
        self.ended.set()


class Jobs:
    """A queue of jobs by their keys.

    Args:
        what: what each is, for the log.
        settled: seconds that a job waits at least: by then, something else may be wanted.
        forgotten: seconds after which a waiting job that nobody asks for any more is dropped.
    """

    def __init__(self, what: str, settled: float = 0.0, forgotten: float = math.inf) -> None:
        self._what, self._settled, self._forgotten = what, settled, forgotten
        self._jobs: dict[Hashable, Job] = {}
        self._changed = threading.Condition()
        threading.Thread(target=self._serve, daemon=True, name=f"{what}s").start()

    def submit(self, key: Hashable, work: Callable[[], Any], again: bool = False) -> Job:
        """Return the job of that key, queued if it is new (or failed, and is tried again)."""
        with self._changed:
            job = self._jobs.get(key)
            if job is None or (again and job.state == "failed"):
                job = self._jobs[key] = Job(work)
                self._changed.notify()
            job.last = time.monotonic()
            return job

    def _serve(self) -> None:
        while True:
            with self._changed:
                while (job := self._next()) is None:
                    waiting = any(other.state == "waiting" for other in self._jobs.values())
                    self._changed.wait(self._settled / 4 if waiting else None)
            job.run(self._what)

    def _next(self) -> Job | None:
        """Next job that is due; drop those that nobody waits for, and the oldest that ended."""
        now = time.monotonic()
        ended = [key for key, job in self._jobs.items() if job.ended.is_set()]
        lost = [k for k, job in self._jobs.items() if job.state == "waiting" and now - job.last >= self._forgotten]
        for key in [*ended[: max(0, len(ended) - _MOST)], *lost]:
            del self._jobs[key]
        due = (j for j in self._jobs.values() if j.state == "waiting" and now - j.first >= self._settled)
        return next(due, None)
