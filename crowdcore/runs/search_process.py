"""The process behind a search, ``python -m crowdcore.runs.search_process RUN_ID``: it asks for trials and waits.

Its exit codes are those of a training child. It can be ended at any time: the study tells where to go on. Optuna's
`ask` and `tell` rather than its loop, which takes trials of a process that was killed for failed ones (or, with a
retry callback, evaluates them a second time), whereas their runs go on here.
"""

from __future__ import annotations

import math
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
from crowdcore.runs.lease import read_note
from crowdcore.runs.patience import insist
from crowdcore.runs.queue import cancel, resume, submit
from crowdcore.runs.recorder import Recorder
from crowdcore.runs.run import Run
from crowdcore.runs.scores import validation_accuracy
from crowdcore.runs.space import SearchPlan
from crowdcore.runs.study import RUN, distributions, open_study
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial, Trial

__all__ = ["main"]

_FINISHED, _FAILED, _CANCELLED, _ORPHANED = 0, 1, 3, 4
_TICK = 0.3  # seconds between looks at the trials
_HOPELESS = 3  # first trials that all fail


class Coordinator:
    """One search, from where the study stands.

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
        self._recorder, self._began, self._told, self._stopped = recorder, time.monotonic(), 0, False
        points = math.prod(map(len, plan.grid().values())) if plan.sampler == "grid" else plan.trials
        self._total = min(plan.trials, points)
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, number: int, frame: object) -> None:
        self._stopped = True

    def run(self) -> tuple[int, str]:
        """Until all trials have ended; returns exit code and message."""
        self._take_up()
        while True:
            if self._recorder.orphaned:
                return _ORPHANED, ""
            if self._is_cancelled():
                for trial in self._in_state("RUNNING"):  # which goes on when the search does
                    cancel(trial.user_attrs[RUN], workspace=self._workspace)
                return _CANCELLED, f"Cancelled after {len(self._values())} trials."
            for trial in self._in_state("RUNNING"):
                self._collect(trial)
            running = len(self._in_state("RUNNING"))
            if not self._values() and not running and len(self._in_state("FAIL")) >= _HOPELESS:
                return _FAILED, f"The first trials failed. {self._last_failure()}"
            while running < self._parallel() and len(self._study.trials) < self._total:
                self._start(self._study.ask(distributions(self._plan)), [])
                running += 1
            self._tell_progress()
            if not running:
                break
            time.sleep(_TICK)
        if not self._values():
            return _FAILED, f"No trial came to a result. {self._last_failure()}"
        best = self._study.best_trial
        chosen = ", ".join(f"{name} {_said(value)}" for name, value in best.params.items())
        return _FINISHED, f"Best validation accuracy {best.value:.4f}: {chosen}."

    def _is_cancelled(self) -> bool:
        return self._stopped or self._workspace.cancel_requested(self._run.id)

    def _take_up(self) -> None:
        """Go on with the trials of a process that was killed, or of a search that was cancelled."""
        from optuna.trial import Trial

        known = {trial.user_attrs.get(RUN) for trial in self._study.trials}
        recorded = store.list_runs(parent=self._run.id, workspace=self._workspace)
        unknown = [run for run in recorded if run.id not in known]
        state = {run.id: run.state for run in recorded}
        for trial in self._in_state("RUNNING"):
            if RUN not in trial.user_attrs:  # killed between drawing its settings and noting its run
                again = Trial(self._study, trial._trial_id)
                for name, distribution in distributions(self._plan).items():
                    again._suggest(name, distribution)  # what was drawn already stays
                self._start(again, unknown)
            elif state.get(trial.user_attrs[RUN]) == "cancelled" and not self._is_cancelled():
                resume(trial.user_attrs[RUN], workspace=self._workspace)

    def _start(self, trial: Trial, recorded: list[Run]) -> None:
        """Give a trial its run: the recorded one with its settings, else a new one."""
        spec = self._run.spec
        settings = {**spec.settings, **trial.params}
        run = next((run for run in recorded if run.spec.settings == settings), None)
        if run is None:
            own = spec.model_copy(update={"settings": settings, "search": None, "parent": self._run.id})
            run = submit(own, workspace=self._workspace)
        else:
            recorded.remove(run)
        trial.set_user_attr(RUN, run.id)
        print(f"Trial {trial.number}: {trial.params}", flush=True)

    def _collect(self, trial: FrozenTrial) -> None:
        """Tell the study what a trial's run came to, once it has ended."""
        try:
            run = store.get_run(trial.user_attrs[RUN], workspace=self._workspace)
            if not run.has_ended or (run.state == "cancelled" and self._is_cancelled()):
                return
            if run.state != "finished":
                raise CrowdError(run.message)
            value = float(validation_accuracy(result(run.id, workspace=self._workspace)).mean())
        except CrowdError as error:  # deleted, failed, cancelled alone, or without a result
            self._study.tell(trial.number, state=_failed())
            print(f"Trial {trial.number} failed: {error}", flush=True)
        else:
            self._study.tell(trial.number, value)
            print(f"Trial {trial.number}: validation accuracy {value:.4f}", flush=True)

    def _last_failure(self) -> str:
        recorded = store.list_runs(states=["failed"], parent=self._run.id, workspace=self._workspace)
        return recorded[0].message.partition("\n")[0] if recorded else ""

    def _parallel(self) -> int:
        slots = sum(w.slots for w in engine_state(workspace=self._workspace).workers)
        return self._plan.parallel or max(1, slots)

    def _in_state(self, name: str) -> list[FrozenTrial]:
        return [t for t in self._study.trials if t.state.name == name]

    def _values(self) -> list[float]:
        return [t.value for t in self._study.trials if t.value is not None]

    def _tell_progress(self) -> None:
        values = self._values()
        ended = len(values) + len(self._in_state("FAIL"))
        if ended == self._told:
            return
        elapsed = time.monotonic() - self._began
        event = EpochEvent(
            method=self._run.spec.method,
            seeds=(0,),
            epoch=ended,
            epochs=self._total,
            metrics={"best_valid_accuracy": np.array([max(values)])} if values else {},
            seconds=elapsed / ended,
            annotations_per_second=0.0,
            done=ended / self._total,
            remaining=elapsed / ended * (self._total - ended),
        )
        self._recorder.listen(event)
        self._told = ended


def _failed() -> Any:
    from optuna.trial import TrialState

    return TrialState.FAIL


def _said(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def main(run_id: str) -> int:
    """Coordinate the search; returns the exit code."""
    workspace = Workspace.open()
    try:
        run = insist(lambda: store.get_run(run_id, workspace=workspace))
        plan = run.spec.search
        if plan is None:
            raise DataError(f"Run {run_id} is no search")
        why = read_note(workspace.run_folder(run_id)).message or None
        insist(lambda: store.set_state(run_id, "running", why, workspace=workspace))
        with Recorder(workspace, run_id) as recorder:
            code, message = insist(lambda: Coordinator(run, plan, workspace, recorder).run())
    except Exception as error:
        traceback.print_exc()
        code, message = _FAILED, str(error)
    print(message, flush=True)
    states: dict[int, Any] = {_FINISHED: "finished", _FAILED: "failed", _CANCELLED: "cancelled"}
    if code in states:
        insist(lambda: store.set_state(run_id, states[code], message, workspace=workspace))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
