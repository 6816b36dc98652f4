"""What trials choose is trained, and predicts together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crowdcore.core import spelling
from crowdcore.core.settings import Settings
from crowdcore.learning import methods
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.choice import Choice
from crowdcore.learning.results.blended import blended
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import TrainSettings
from crowdcore.learning.training.events import Listener, NoteEvent
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.trials import FOLDS, REPLICAS, Fit, Trials


def train_chosen(
    fit: Fit,
    problem: Problem,
    method: type[CrowdMethod],
    given: Mapping[str, Any],
    seeds: Sequence[int],
    listen: Listener,
    should_stop: Callable[[], bool],
    checkpoint: tuple[Path, int] | None,
) -> TrainingResult:
    """Weigh the candidates of a method, and train those that weigh something.

    Args:
        fit: trains a method on a dataset.
        problem: what the run learns from.
        method: the one with candidates; its setting ``chosen`` makes trials needless.
        given: settings that were asked for, the trainer's and the method's.
        seeds: of the run.
        listen: gets the events.
        should_stop: asked after every epoch.
        checkpoint: folder and epochs between writes, or None.
    """
    shared = {k: v for k, v in given.items() if k in TrainSettings.model_fields}
    own: Any = method.Settings(**{k: v for k, v in given.items() if k not in shared})
    candidates = [_line(name, own.model_copy(update={"networks": 1})) for name in method.candidates]
    trained = 0.75 * REPLICAS * FOLDS * len(candidates)
    trials = Trials(problem, fit, shared, listen, should_stop, checkpoint, trained / (trained + len(seeds)))
    choice: Choice | None = None
    notes: tuple[str, ...] = ()
    parts = spelling.read_mean(own.chosen or candidates[0])
    if own.chosen:
        trials.share = 0.0
    elif problem.n_train < 2 * problem.n_classes:
        notes = (f"There are too few training tasks for trials: {candidates[0]} was trained.",)
    else:
        choice = trials.choice(candidates)
        if choice is None:
            notes, checkpoint = (
                (f"Stopped before all trials were done: {candidates[0]} was trained for a moment.",),
                None,
            )
        else:
            parts = spelling.read_mean(spelling.spell_mean(choice.parts))  # with the weights that are told
            notes = tuple(filter(None, (choice.verdict, choice.doubt, choice.evidence)))
    for note in notes:
        listen(NoteEvent(note))
    parts = [part._replace(line=_line(part.line, own)) for part in parts]
    results = _train_parts(fit, problem, [part.line for part in parts], shared, seeds, trials, checkpoint)
    if len(results) < len(parts):
        notes = (*notes, f"Stopped before {parts[len(results)].line} was trained: it is left out.")
    trained_parts = spelling.read_mean(spelling.spell_mean(parts[: len(results)]))
    result = blended(results, trained_parts)
    return replace(
        result,
        method=method.name,
        settings={**own.model_dump(), "chosen": spelling.spell_mean(trained_parts)},
        tried=(*choice.table, *trials.left) if choice else (),
        seconds=result.seconds + trials.seconds,
        notes=(*notes, *trials.notes, *result.notes),
    )


def _train_parts(
    fit: Fit,
    problem: Problem,
    lines: Sequence[str],
    shared: Mapping[str, Any],
    seeds: Sequence[int],
    trials: Trials,
    checkpoint: tuple[Path, int] | None,
) -> list[TrainingResult]:
    """Results of some methods, one after the other, the first one anyway; none begins after the run was stopped."""
    results: list[TrainingResult] = []
    each = (1 - trials.share) / len(lines)
    for number, line in enumerate(lines):
        if results and trials.should_stop():
            break
        name, settings = spelling.read(line)
        folder, every = checkpoint or (None, 10)
        result = fit(
            problem.dataset,
            name,
            seeds=seeds,
            on_event=trials.listener(trials.share + number * each, each, is_trial=number > 0),
            should_stop=trials.should_stop,
            checkpoint=folder and (folder / "parts" / line.replace("/", "-") if number else folder),
            checkpoint_every=every,
            **{**shared, **settings},
        )
        results.append(result)
    return results


def _line(candidate: str, own: Settings) -> str:
    """A candidate with the settings that it shares with the method that chooses, unless it has others."""
    name, settings = spelling.read(candidate)
    usual = methods.get(name).Settings()
    shared = {k: v for k, v in own if k in type(usual).model_fields and v != getattr(usual, k)}
    return spelling.spell(name, {**shared, **settings})
