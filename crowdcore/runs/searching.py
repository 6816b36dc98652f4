"""Searches of settings: one record for the search, one run for every trial, judged on the validation split.

A search goes on within the engine, which tells Optuna the results of trials and asks it for the next ones. It needs no
process: its state is its study, a journal in its folder, and the runs of its trials, so each step may be the last.
It uses Optuna's `ask` and `tell` rather than its loop, which counts trials of a killed process as failed (or, with a
retry callback, evaluates them a second time), whereas their runs go on here.
"""

from __future__ import annotations

import contextlib
import math
import time
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from crowdcore.core.errors import CrowdError, DataError, SettingError, need_extra
from crowdcore.core.settings import FormField, form_fields
from crowdcore.data.catalogue import open_labels
from crowdcore.learning.curve_metrics import SelectionScore, selection_score
from crowdcore.learning.learners import Kind, about_method, read_method
from crowdcore.learning.settings import TrainSettings
from crowdcore.runs import store
from crowdcore.runs.engine import resume, submit
from crowdcore.runs.faults import may_pass, redact
from crowdcore.runs.run import Choice, Range, Run, RunSpec, SearchPlan, State
from crowdcore.runs.workspace import Workspace

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial, Trial

RUN = "run"
"""User attribute of a trial: the run behind it."""
_NAME = "search"
_HOPELESS = 3  # first trials that all fail
# Settings of validation and computation, which are never searched.
_FIXED = {"backbone", "backbone_settings", "select_on", "holdout"}
_FIXED |= {"standardise", "deterministic", "precision", "epochs", "patience"}
_OF_CLASSES = {"names", "augment"}
_PAPERS = {"embedding": (20, 80), "regularisation": (1e-6, 1e-4), "strength": (1e-3, 1e-1), "lr": (1e-4, 1e-2)}


def search(
    spec: RunSpec,
    space: Mapping[str, Range | Choice],
    trials: int = 20,
    *,
    sampler: str = "tpe",
    seed: int = 0,
    parallel: int = 0,
    workspace: Workspace | None = None,
) -> Run:
    """Search the settings with the best validation score; the test split is not used.

    The score is accuracy for classes, F1 of spans for tags, RMSE for ratings.

    Args:
        spec: specification shared by all trials; a trial trains all its seeds, and its mean over them counts.
        space: settings of the trainer or the method -> values to try.
        trials: number of runs; a grid ends sooner when all its points have been tried.
        sampler: tpe, grid or random.
        seed: seed of the sampler.
        parallel: trials at once; 0: as many as the engine has slots.
        workspace: workspace of the record.

    Returns:
        The record of the search: a run whose epochs are its trials, and whose trials are runs with it as ``parent``.

    Raises:
        SettingError: nothing to vary, or an impossible bound.
        CrowdError: the dataset cannot be opened.
    """
    if not space:
        raise SettingError("space", "name at least one setting to vary", dict(space))
    score = selection_score(open_labels(spec.dataset, accept=True, home=(workspace or Workspace.open()).folder)).metric
    plan = SearchPlan(space=dict(space), trials=trials, sampler=sampler, score=score, seed=seed, parallel=parallel)
    return submit(spec.model_copy(update={"search": plan, "parent": ""}), workspace=workspace)


def search_trials(search_id: str, *, workspace: Workspace | None = None) -> pd.DataFrame:
    """Return the trials so far, in their order: trial (from 1), run, state, score, best so far, each setting.

    The score is validation_accuracy, for tags validation_span_f1, for ratings validation_rmse.

    Raises:
        DataError: the run is not a search.
    """
    workspace = workspace or Workspace.open()
    plan = _plan(search_id, workspace)
    score = plan.selection
    study = open_study(workspace.run_folder(search_id))
    states = {run.id: run.state for run in store.list_runs(parent=search_id, workspace=workspace)}
    rows = [
        {
            "trial": trial.number + 1,
            "run": trial.user_attrs[RUN],
            "state": states.get(trial.user_attrs[RUN], "deleted"),
            score.column: trial.value if trial.value is not None else float("nan"),
            **trial.params,
        }
        for trial in (study.trials if study else [])
        if RUN in trial.user_attrs
    ]
    columns = ["trial", "run", "state", score.column, *plan.space]
    frame = pd.DataFrame(rows, columns=columns).astype({score.column: float})
    reached = frame[score.column]
    frame.insert(4, "best", reached.cummin() if score.lowest else reached.cummax())
    return frame


def search_importances(search_id: str, *, workspace: Workspace | None = None) -> dict[str, float]:
    """Setting -> share of the variance of the validation score that it explains (fANOVA); empty below four trials."""
    workspace = workspace or Workspace.open()
    plan = _plan(search_id, workspace)
    study = open_study(workspace.run_folder(search_id))
    values = [t.value for t in study.trials if t.value is not None] if study else []
    if study is None or len(values) < 4 or len(set(values)) < 2:
        return {}
    from optuna.importance import get_param_importances

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shares = get_param_importances(study, params=list(plan.space))
    return {name: float(share) for name, share in shares.items()}


def _plan(search_id: str, workspace: Workspace) -> SearchPlan:
    plan = store.get_run(search_id, workspace=workspace).spec.search
    if plan is None:
        raise DataError(f"Run {search_id} is not a search")
    return plan


def searchable(line: str, kind: Kind = "classes") -> dict[str, Range | Choice]:
    """Settings of the method and the trainer that can be varied, the method's first."""
    method, _ = read_method(line, kind)
    fixed = _FIXED | (_OF_CLASSES if kind == "ratings" else set())
    trained = {name: field for name, field in form_fields(TrainSettings).items() if name not in fixed}
    ranges = {name: _range(field) for name, field in {**about_method(method, kind).fields, **trained}.items()}
    return {name: values for name, values in ranges.items() if values is not None}


def usually_searched(line: str, kind: Kind = "classes") -> dict[str, Range | Choice]:
    """Settings of `searchable` that the papers choose on the validation split."""
    return {name: values for name, values in searchable(line, kind).items() if name in _PAPERS}


def _range(field: FormField) -> Range | Choice | None:
    """Values to try, or None for a setting that is text, a list, or empty by default."""
    if field.choices:
        return Choice(values=field.choices)
    if field.kind == "boolean":
        return Choice(values=(False, True))
    if field.kind not in {"integer", "number"} or field.optional:
        return None
    default, integer = float(field.default), field.kind == "integer"
    low, high = _PAPERS.get(field.name, (default, default))
    if not low <= default <= high or low == high:  # another setting with that name, or one for ratings
        low, high = _around(default, field)
    return Range(low=low, high=high, log=low > 0 and high >= 20 * low, integer=integer)


def _around(value: float, field: FormField) -> tuple[float, float]:
    """Range from a tenth to ten times the default, within its bounds."""
    smallest, largest = field.low or 0.0, field.high
    if field.kind == "integer":
        return max(smallest, value // 4), max(value * 4, smallest + 1)
    if largest is not None:
        return smallest + 0.05 * (largest - smallest), smallest + 0.95 * (largest - smallest)
    return (value / 10, value * 10) if value else (1e-5, 1e-1)


def open_study(folder: Path, plan: SearchPlan | None = None) -> Study | None:
    """Open the study of a search in its run's folder, or create it from a ``plan``; None without both.

    The plan also chooses its next trials.
    """
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend
    except ModuleNotFoundError as error:
        raise need_extra("Searching settings", "optuna") from error

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    journal = folder / "search.journal"
    if plan is None and not journal.exists():
        return None
    if plan is not None:
        _cut_to_whole_lines(journal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its experimental parts are covered by our tests
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(journal)))
        if plan is None:
            with contextlib.suppress(KeyError):
                return optuna.load_study(study_name=_NAME, storage=storage)
            return None
        study = optuna.create_study(
            study_name=_NAME,
            storage=storage,
            direction="minimize" if plan.selection.lowest else "maximize",
            load_if_exists=True,
        )
        study.sampler = _sampler(plan, len(study.trials))
    return study


def _cut_to_whole_lines(journal: Path) -> None:
    """Drop a last line that a full disk has cut."""
    if journal.exists():
        content = journal.read_bytes()
        if content and not content.endswith(b"\n"):
            journal.write_bytes(content[: content.rfind(b"\n") + 1])


def _sampler(plan: SearchPlan, already: int) -> Any:
    from optuna import samplers

    seed = plan.seed + already  # a search that goes on does not repeat its first draws
    if plan.sampler == "grid":
        grid = samplers.GridSampler(plan.grid(), seed=plan.seed)  # the point of a trial follows from its number
        grid.after_trial = lambda *_: None  # type: ignore[method-assign]  # it would stop Optuna's own loop
        return grid
    if plan.sampler == "tpe":
        return samplers.TPESampler(seed=seed, constant_liar=True, n_startup_trials=min(10, max(1, plan.trials // 3)))
    return samplers.RandomSampler(seed=seed)


def distributions(plan: SearchPlan) -> dict[str, BaseDistribution]:
    """Optuna distributions of the search space."""
    from optuna import distributions as d

    def one(part: Range | Choice) -> BaseDistribution:
        if isinstance(part, Choice):
            return d.CategoricalDistribution(part.values)
        if part.integer:
            return d.IntDistribution(round(part.low), round(part.high), log=part.log)
        return d.FloatDistribution(part.low, part.high, log=part.log)

    return {name: one(part) for name, part in plan.space.items()}


class Coordinator:
    """Carries on one search from the state of its study.

    Args:
        run: its record.
        plan: its plan.
        workspace: workspace of the search and its trials.
    """

    def __init__(self, run: Run, plan: SearchPlan, workspace: Workspace) -> None:
        self._run, self._plan, self._workspace = run, plan, workspace
        self._study: Study | None = None
        self._began, self._reported = time.monotonic(), 0
        points = math.prod(map(len, plan.grid().values())) if plan.sampler == "grid" else plan.trials
        self._total = min(plan.trials, points)

    def step(self, slots: int) -> bool:
        """Collect trials that have ended and start others; return True if the search goes on.

        A lasting error ends it. A search that has ended may be resumed at any time, by a new `Coordinator`.
        """
        try:
            recorded = self._recorded()  # read before the flag, which is set before any of its trials is cancelled
            if self._workspace.cancel_requested(self._run.id):
                return self._end("cancelled", f"Cancelled after {self._reported} trials.")
            if self._study is None:
                self._study = self._take_up(recorded)
                return True
            return self._go_on(self._study, recorded, self._plan.parallel or max(1, slots))
        except Exception as error:
            if may_pass(error):
                raise
            self._log(traceback.format_exc())
            return self._end("failed", str(error))

    def _take_up(self, recorded: Mapping[str, Run]) -> Study:
        """Begin, or go on with the trials of a killed engine or a cancelled search."""
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
                    again._suggest(name, distribution)  # settings already drawn stay
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
        self._report(values, failed)
        if running:
            return True
        if values:
            best = study.best_trial
            chosen = ", ".join(f"{name} {_in_words(value)}" for name, value in best.params.items())
            return self._end("finished", f"Best {self._plan.selection.words} {best.value:.4f}: {chosen}.")
        return self._end("failed", f"No trial has a result. {_last_failure(recorded)}")

    def _recorded(self) -> dict[str, Run]:
        """Runs of its trials that were not deleted, newest first."""
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
        self._log(f"Trial {trial.number}: {trial.params}")

    def _collect(self, study: Study, trial: FrozenTrial, run: Run | None) -> None:
        """Tell the study the score of a trial's run, once it has ended."""
        from optuna.trial import TrialState

        if run is not None and not run.has_ended:
            return
        score = self._plan.selection
        try:
            value = _trial_score(run, score)
        except CrowdError as error:
            study.tell(trial.number, state=TrialState.FAIL)
            self._log(f"Trial {trial.number} failed: {error}")
        else:
            study.tell(trial.number, value)
            self._log(f"Trial {trial.number}: {score.words} {value:.4f}")

    def _report(self, values: list[float], failed: int) -> None:
        """Record the number of trials that have ended, and the best score."""
        ended = len(values) + failed
        if ended == self._reported:
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
        self._reported = ended

    def _end(self, state: State, message: str) -> Literal[False]:
        """Record that the search has ended; return False, as it does not go on."""
        self._log(message)
        store.set_state(self._run.id, state, message, workspace=self._workspace)
        return False

    def _log(self, text: str) -> None:
        with (self._workspace.run_folder(self._run.id) / "log.txt").open("a", encoding="utf-8") as log:
            log.write(f"{redact(text)}\n")


def _trial_score(run: Run | None, score: SelectionScore) -> float:
    """Validation score of a trial's run that has ended."""
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
