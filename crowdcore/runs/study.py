"""A search's trials, kept by Optuna in a journal of the search's own folder."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdcore.core.errors import need_extra
from crowdcore.runs.space import Choice, Range, SearchPlan

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

RUN = "run"
"""User attribute of a trial: the run behind it."""
_NAME = "search"


def open_study(folder: Path, plan: SearchPlan | None = None) -> Study | None:
    """The study of a search.

    Args:
        folder: of the search's run.
        plan: to make it where there is none yet, and to choose its next trials.

    Returns:
        None where there is none and no plan.
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
        warnings.simplefilter("ignore")  # what it calls experimental we have tested
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(journal)))
        if plan is None:
            with contextlib.suppress(KeyError):
                return optuna.load_study(study_name=_NAME, storage=storage)
            return None
        made = optuna.create_study(
            study_name=_NAME,
            storage=storage,
            direction="minimize" if plan.selection.lowest else "maximize",
            load_if_exists=True,
        )
        made.sampler = _sampler(plan, len(made.trials))
    return made


def _cut_to_whole_lines(journal: Path) -> None:
    """Take away what a full disk left of a line."""
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
    """What Optuna draws from."""
    from optuna import distributions as d

    def one(part: Range | Choice) -> BaseDistribution:
        if isinstance(part, Choice):
            return d.CategoricalDistribution(part.values)
        if part.integer:
            return d.IntDistribution(round(part.low), round(part.high), log=part.log)
        return d.FloatDistribution(part.low, part.high, log=part.log)

    return {name: one(part) for name, part in plan.space.items()}
