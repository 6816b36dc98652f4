"""Searching settings: one record for the search, one run for every trial, judged on the validation split."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import pandas as pd

from crowdcore.core.errors import DataError, SettingError
from crowdcore.data.catalogue import open_labels
from crowdcore.learning.selection_score import selection_score
from crowdcore.runs import store
from crowdcore.runs.queue import submit
from crowdcore.runs.run import Run
from crowdcore.runs.run_config import RunSpec
from crowdcore.runs.space import Choice, Range, SearchPlan
from crowdcore.runs.study import RUN, open_study
from crowdcore.runs.workspace import Workspace


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
    """Look for the settings with the best validation score; the test split is not used.

    Of classes the score is accuracy, of tags the F1 of spans, of ratings the RMSE.

    Args:
        spec: what all trials share; one trial trains all its seeds, and its mean over them counts.
        space: settings of the trainer or the method -> values to try.
        trials: how many runs; a grid ends sooner when all its points have been tried.
        sampler: tpe, grid or random.
        seed: of the sampler.
        parallel: trials at once; 0: as many as the engine has slots.
        workspace: where the record is kept.

    Returns:
        The record of the search: a run whose epochs are its trials, and whose trials are runs with it as ``parent``.

    Raises:
        SettingError: nothing to vary, or a bound that cannot be.
        CrowdError: the dataset cannot be opened.
    """
    if not space:
        raise SettingError("space", "name at least one setting to vary", dict(space))
    score = selection_score(open_labels(spec.dataset, accept=True, home=(workspace or Workspace.open()).folder)).metric
    plan = SearchPlan(space=dict(space), trials=trials, sampler=sampler, score=score, seed=seed, parallel=parallel)
    return submit(spec.model_copy(update={"search": plan, "parent": ""}), workspace=workspace)


def search_trials(search_id: str, *, workspace: Workspace | None = None) -> pd.DataFrame:
    """The trials so far, in their order: trial (from 1), run, state, score, best so far, each setting.

    The score is validation_accuracy, of tags validation_span_f1, of ratings validation_rmse.

    Raises:
        DataError: that run is no search.
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
        found = get_param_importances(study, params=list(plan.space))
    return {name: float(share) for name, share in found.items()}


def _plan(search_id: str, workspace: Workspace) -> SearchPlan:
    plan = store.get_run(search_id, workspace=workspace).spec.search
    if plan is None:
        raise DataError(f"Run {search_id} is not a search")
    return plan
