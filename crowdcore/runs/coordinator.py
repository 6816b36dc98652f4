"""`Coordinator`: a search goes on within the engine, which tells Optuna what trials came to and asks it for the next.

A search needs no process: its study, a journal in its folder, and the runs of its trials say where it stands, so each
step may be the last. Optuna's `ask` and `tell` rather than its loop, which takes trials of a process that was killed
for failed ones (or, with a retry callback, evaluates them a second time), whereas their runs go on here.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from crowdcore.core.errors import CrowdError
from crowdcore.learning.selection_score import SelectionScore
from crowdcore.runs import store
from crowdcore.runs.patience import may_pass
from crowdcore.runs.queue import resume, submit
from crowdcore.runs.redaction import redact
from crowdcore.runs.run import Run, State
from crowdcore.runs.space import SearchPlan
from crowdcore.runs.study import RUN, distributions, open_study
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

_HOPELESS = 3  # first trials that all fail


class Coordinator:
    """One search, from where its study stands.

    Args:
        run: its record.
        plan: of it.
        workspace: of it and its trials.
    """

    def __init__(self, run: Run, plan: SearchPlan, workspace: Workspace) -> None:
        self._run, self._plan, self._workspace = run, plan, workspace
        self._study: Study | None = None
        self._began, self._told = time.monotonic(), 0
        points = math.prod(map(len, plan.grid().values())) if plan.sampler == "grid" else plan.trials
        self._total = min(plan.trials, points)

    def step(self, slots: int) -> bool:
        """Collect trials that have ended and start others; what cannot pass by itself ends the search.

        Args:
            slots: runs that the engine can have at once.

        Returns:
            Whether the search goes on. One that has ended may be resumed at any time, by a new `Coordinator`.
        """
        try:
            recorded = self._recorded()  # before the flag, which comes before any of its trials is cancelled with it
            if self._workspace.cancel_requested(self._run.id):
                return self._end("cancelled", f"Cancelled after {self._told} trials.")
            if self._study is None:
                self._study = self._take_up(recorded)
                return True
            return self._go_on(self._study, recorded, self._plan.parallel or max(1, slots))
        except Exception as error:
            if may_pass(error):
                raise
            self._say(traceback.format_exc())
            return self._end("failed", str(error))

    def _take_up(self, recorded: Mapping[str, Run]) -> Study:
        """Begin, or go on with the trials of an engine that was killed, or of a search that was cancelled."""
        from optuna.trial import Trial

        study = open_study(self._workspace.run_folder(self._run.id), self._plan)
        assert study is not None
        store.set_state(self._run.id, "running", workspace=self._workspace)
        known = {trial.user_attrs.get(RUN) for trial in study.trials}
        unknown = [run for run in recorded.values() if run.id not in known]
        for trial in _in_state(study, "RUNNING"):
            if RUN not in trial.user_attrs:  # killed between drawing its settings and noting its run
                again = Trial(study, trial._trial_id)
                for name, distribution in distributions(self._plan).items():
                    again._suggest(name, distribution)  # what was drawn already stays
                self._start(again, unknown)
            elif (run := recorded.get(trial.user_attrs[RUN])) and run.state == "cancelled":
                resume(run.id, workspace=self._workspace)
        return study

    def _go_on(self, study: Study, recorded: Mapping[str, Run], parallel: int) -> bool:
        for trial in _in_state(study, "RUNNING"):
            self._collect(study, trial, recorded.get(trial.user_attrs[RUN]))
        running, failed = len(_in_state(study, "RUNNING")), len(_in_state(study, "FAIL"))
        values = [trial.value for trial in study.trials if trial.value is not None]
        if not values and not running and failed >= _HOPELESS:
            return self._end("failed", f"The first trials failed. {_last_failure(recorded)}")
        while running < parallel and len(study.trials) < self._total:
            self._start(study.ask(distributions(self._plan)), [])
            running += 1
        self._tell_progress(values, failed)
        if running:
            return True
        if values:
            best = study.best_trial
            chosen = ", ".join(f"{name} {_in_words(value)}" for name, value in best.params.items())
            return self._end("finished", f"Best {self._plan.selection.words} {best.value:.4f}: {chosen}.")
        return self._end("failed", f"No trial has a result. {_last_failure(recorded)}")

    def _recorded(self) -> dict[str, Run]:
        """The runs of its trials that were not deleted, newest first."""
        return {run.id: run for run in store.list_runs(parent=self._run.id, workspace=self._workspace)}

    def _start(self, trial: Trial, recorded: list[Run]) -> None:
        """Give a trial its run: the recorded one with its settings, else a new one."""
        settings = {**self._run.spec.settings, **trial.params}
        run = next((run for run in recorded if run.spec.settings == settings), None)
        if run is None:
            own = {"settings": settings, "search": None, "parent": self._run.id}
            run = submit(self._run.spec.model_copy(update=own), workspace=self._workspace)
        else:
            recorded.remove(run)
        trial.set_user_attr(RUN, run.id)
        self._say(f"Trial {trial.number}: {trial.params}")

    def _collect(self, study: Study, trial: FrozenTrial, run: Run | None) -> None:
        """Tell the study what a trial's run came to, once it has ended."""
        from optuna.trial import TrialState

        if run is not None and not run.has_ended:
            return
        score = self._plan.selection
        try:
            value = _reached(run, score)
        except CrowdError as error:
            study.tell(trial.number, state=TrialState.FAIL)
            self._say(f"Trial {trial.number} failed: {error}")
        else:
            study.tell(trial.number, value)
            self._say(f"Trial {trial.number}: {score.words} {value:.4f}")

    def _tell_progress(self, values: list[float], failed: int) -> None:
        """Let the record say how many trials have ended, and what the best of them reached."""
        ended = len(values) + failed
        if ended == self._told:
            return
        each = (time.monotonic() - self._began) / ended
        progress = {
            "epoch": ended,
            "epochs": self._total,
            "done": ended / self._total,
            "remaining": each * (self._total - ended),
        }
        at = round(1000 * time.time())
        score = self._plan.selection
        best = [(f"best_{score.metric}", max(values, key=score.better), at, ended)] if values else []
        store.log_progress(self._run.id, progress, best, workspace=self._workspace)
        self._told = ended

    def _end(self, state: State, message: str) -> Literal[False]:
        """Let the record say that the search has ended; it does not go on."""
        self._say(message)
        store.set_state(self._run.id, state, message, workspace=self._workspace)
        return False

    def _say(self, text: str) -> None:
        with (self._workspace.run_folder(self._run.id) / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"{redact(text)}\n")


def _reached(run: Run | None, score: SelectionScore) -> float:
    """The validation score of a trial's run that has ended.

    Raises:
        CrowdError: it was deleted, failed, was cancelled by itself, or has no such score.
    """
    if run is None:
        raise CrowdError("Its run was deleted.")
    if run.state != "finished":
        raise CrowdError(run.message)
    if score.recorded not in run.scores:
        raise CrowdError(f"There is no {score.words}: a search needs `select_on` or `holdout`.")
    return run.scores[score.recorded]


def _in_state(study: Study, name: str) -> list[FrozenTrial]:
    return [trial for trial in study.trials if trial.state.name == name]


def _last_failure(recorded: Mapping[str, Run]) -> str:
    return next((run.message.partition("\n")[0] for run in recorded.values() if run.state == "failed"), "")


def _in_words(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
