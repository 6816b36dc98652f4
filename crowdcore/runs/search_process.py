"""The process behind a search, ``python -m crowdcore.runs.search_process RUN_ID``: it asks for trials and waits.

Its exit codes are those of a training child. It can be ended at any time: the study tells where to go on.
"""

from __future__ import annotations

import itertools
import random
import signal
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdcore.core.errors import CrowdError, DataError
from crowdcore.learning.training.events import EpochEvent
from crowdcore.runs import store
from crowdcore.runs.artefacts import result
from crowdcore.runs.engine import engine_state
from crowdcore.runs.queue import cancel, submit
from crowdcore.runs.record import patient
from crowdcore.runs.recorder import Recorder
from crowdcore.runs.run import Run
from crowdcore.runs.scores import validation_accuracy
from crowdcore.runs.space import SearchPlan
from crowdcore.runs.study import RUN, distributions, open_study
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

__all__ = ["main"]

_FINISHED, _FAILED, _CANCELLED, _ORPHANED = 0, 1, 3, 4
_TICK = 0.3  # seconds between looks at the trials
_HOPELESS = 3  # first trials that all fail
_CANCELLED_TRIALS = "cancelled"  # attribute of the study: numbers of trials that do not count


class Coordinator:
    """One search.

    Args:
        run: its record.
        plan: of it.
        workspace: of it and its trials.
        recorder: for its progress.
    """

    def __init__(self, run: Run, plan: SearchPlan, workspace: Workspace, recorder: Recorder) -> None:
        study = open_study(workspace.run_folder(run.id), plan)
        assert study is not None
        self._run, self._plan, self._workspace, self._study = run, plan, workspace, study
        self._recorder, self._began = recorder, time.monotonic()
        self._stopped, self._told = False, 0
        signal.signal(signal.SIGTERM, self._stop)
        if plan.sampler == "grid" and not study.trials:
            self._enqueue_grid()

    def _stop(self, number: int, frame: object) -> None:
        self._stopped = True

    def run(self) -> tuple[int, str]:
        """Until all trials have ended; returns exit code and message."""
        self._forget_unborn()
        while True:
            if self._recorder.orphaned:
                return _ORPHANED, ""
            if self._stopped or self._workspace.cancel_requested(self._run.id):
                self._cancel_trials()
                return _CANCELLED, f"Cancelled after {len(self._values())} trials."
            for trial in self._in_state("RUNNING"):
                self._collect(trial)
            if self._is_hopeless():
                return _FAILED, f"The first trials failed. {self._last_failure()}"
            while len(self._in_state("RUNNING")) < self._parallel() and self._wants_more():
                self._ask()
            if not self._in_state("RUNNING"):
                break
            self._tell_progress()
            time.sleep(_TICK)
        self._tell_progress()
        if not self._values():
            return _FAILED, f"No trial came to a result. {self._last_failure()}"
        best = self._study.best_trial
        chosen = ", ".join(f"{name} {_said(value)}" for name, value in best.params.items())
        return _FINISHED, f"Best validation accuracy {best.value:.4f}: {chosen}."

    def _ask(self) -> None:
        trial = self._study.ask(distributions(self._plan))
        spec = self._run.spec
        own = spec.model_copy(
            update={"settings": {**spec.settings, **trial.params}, "search": None, "parent": self._run.id}
        )
        run = submit(own, workspace=self._workspace)
        trial.set_user_attr(RUN, run.id)
        print(f"Trial {trial.number}: {trial.params}", flush=True)

    def _collect(self, trial: FrozenTrial) -> None:
        """Tell the study what a trial's run came to, once it has ended."""
        try:
            run = store.get_run(trial.user_attrs[RUN], workspace=self._workspace)
        except DataError as error:  # deleted
            self._fail(trial, str(error))
            return
        if run.state == "finished":
            try:
                value = float(validation_accuracy(result(run.id, workspace=self._workspace)).mean())
            except CrowdError as error:
                self._fail(trial, str(error))
                return
            self._study.tell(trial.number, value)
            print(f"Trial {trial.number}: validation accuracy {value:.4f}", flush=True)
        elif run.has_ended:
            if run.state == "cancelled":
                self._discount(trial)
            self._fail(trial, run.message)

    def _fail(self, trial: FrozenTrial, why: str) -> None:
        from optuna.trial import TrialState

        self._study.tell(trial.number, state=TrialState.FAIL)
        print(f"Trial {trial.number} failed: {why}", flush=True)

    def _forget_unborn(self) -> None:
        """Trials that were drawn but whose run was never recorded: the process ended in between."""
        for trial in self._in_state("RUNNING"):
            if RUN not in trial.user_attrs:
                self._fail(trial, "its run was never recorded")

    def _cancel_trials(self) -> None:
        for trial in self._in_state("RUNNING"):
            cancel(trial.user_attrs[RUN], workspace=self._workspace)
            self._discount(trial)
            self._fail(trial, "the search was cancelled")

    def _discount(self, trial: FrozenTrial) -> None:
        """A cancelled trial leaves room for another one."""
        self._study.set_user_attr(_CANCELLED_TRIALS, sorted({*self._discounted(), trial.number}))

    def _discounted(self) -> set[int]:
        return set(self._study.user_attrs.get(_CANCELLED_TRIALS, ()))

    def _enqueue_grid(self) -> None:
        grid = self._plan.grid()
        points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        if len(points) > self._plan.trials:
            points = random.Random(self._plan.seed).sample(points, self._plan.trials)
        for point in points:
            self._study.enqueue_trial(point)

    def _wants_more(self) -> bool:
        waiting = len(self._in_state("WAITING"))
        if self._plan.sampler == "grid":
            return waiting > 0
        counted = {t.number for t in self._study.trials if RUN in t.user_attrs} - self._discounted()
        return len(counted) < self._plan.trials

    def _is_hopeless(self) -> bool:
        ended = len(self._in_state("FAIL"))
        return not self._values() and ended >= _HOPELESS and not self._in_state("RUNNING")

    def _last_failure(self) -> str:
        for trial in reversed(self._in_state("FAIL")):
            if RUN in trial.user_attrs:
                return store.get_run(trial.user_attrs[RUN], workspace=self._workspace).message.splitlines()[0]
        return ""

    def _parallel(self) -> int:
        slots = sum(w.slots for w in engine_state(workspace=self._workspace).workers)
        return self._plan.parallel or max(1, slots)

    def _in_state(self, name: str) -> list[FrozenTrial]:
        return [t for t in self._study.trials if t.state.name == name]

    def _values(self) -> list[float]:
        return [t.value for t in self._study.trials if t.value is not None]

    def _tell_progress(self) -> None:
        values, total = self._values(), self._total()
        ended = len(values) + len(self._in_state("FAIL"))
        if ended == self._told:
            return
        elapsed = time.monotonic() - self._began
        event = EpochEvent(
            method=self._run.spec.method,
            seeds=(0,),
            epoch=ended,
            epochs=total,
            metrics={"best_valid_accuracy": np.array([max(values)])} if values else {},
            seconds=elapsed / max(ended, 1),
            annotations_per_second=0.0,
            done=min(1.0, ended / max(total, 1)),
            remaining=elapsed / max(ended, 1) * max(0, total - ended),
        )
        self._recorder.listen(event)
        self._told = ended

    def _total(self) -> int:
        return len(self._study.trials) if self._plan.sampler == "grid" else self._plan.trials


def _said(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@patient(120)
def main(run_id: str) -> int:
    """Coordinate the search; returns the exit code."""
    workspace = Workspace.open()
    try:
        run = store.get_run(run_id, workspace=workspace)
        if run.spec.search is None:
            raise DataError(f"Run {run_id} is no search")
        store.set_state(run_id, "running", workspace=workspace)
        with Recorder(workspace, run_id) as recorder:
            code, message = Coordinator(run, run.spec.search, workspace, recorder).run()
    except Exception as error:
        traceback.print_exc()
        code, message = _FAILED, str(error)
    print(message, flush=True)
    states: dict[int, Any] = {_FINISHED: "finished", _FAILED: "failed", _CANCELLED: "cancelled"}
    if code in states:
        store.set_state(run_id, states[code], message, workspace=workspace)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
