"""Trials of candidates on folds of the training tasks, and training of the mean that they choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from crowdcore.core import spelling
from crowdcore.core.errors import CrowdError
from crowdcore.core.settings import Settings
from crowdcore.core.types import FloatArray, IntArray
from crowdcore.data.dataset import NO_SPLIT, CrowdDataset
from crowdcore.learning import methods
from crowdcore.learning.base import CrowdMethod
from crowdcore.learning.choice import (
    Choice,
    Scores,
    choose,
    cluster_prior,
    label_agreement,
    label_likelihood,
)
from crowdcore.learning.results.predictions import blended, raised
from crowdcore.learning.results.result import TrainingResult
from crowdcore.learning.settings import TrainSettings, executing
from crowdcore.learning.training.events import EpochEvent, Event, Listener, NoteEvent, Pace
from crowdcore.learning.training.metrics import match_names, match_names_without_task
from crowdcore.learning.training.problem import Problem
from crowdcore.learning.validation import by_gold

FOLDS, REPLICAS = 4, 1
"""Folds of the tasks, and seeds of each trial."""
_MOST = 10_000  # training tasks that trials learn from
_ENOUGH, _ENOUGH_JUDGED = 500, 150  # training tasks that trials have to predict, the latter where gold judges
JUDGED = ("max-mig",)  # candidates where gold judges: by labels alone they gain nothing
_SURE = 3.0  # standard errors of the gain in accuracy that lets gold rename classes
_LEAST = 1e-3  # probability of a true class: one task with gold shall not decide alone
_TRAIN, _VALID = range(2)
_COST = "On few tasks all takes up to 35 times as long as dl-em."
_ONCE = "The trials chose once for all seeds: how far these differ does not say how sure the choice is."

Fit = Callable[..., TrainingResult]
"""`train` with the run's device and worker features."""


@dataclass
class Trials:
    """Trials of the candidates of one run.

    Args:
        problem: the run's problem.
        fit: trains a candidate.
        given: settings of the trainer that the caller gave.
        listen: receives the progress, as that of a first stage.
        should_stop: called between trials, and after every epoch.
        checkpoint: folder and epochs between writes, or None; finished trials are read from it.
        share: share of the whole run's time.
        seeds: of each trial; the first one draws the folds.
    """

    problem: Problem
    fit: Fit
    given: Mapping[str, Any]
    listen: Listener
    should_stop: Callable[[], bool]
    checkpoint: tuple[Path, int] | None
    share: float
    seeds: tuple[int, ...] = (0, 1)
    notes: list[str] = field(default_factory=list)
    naming: dict[str, str] = field(default_factory=dict)
    shared: float = 0.0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        problem, rng = self.problem, np.random.default_rng(self.seeds[0])
        train, valid = problem.order[problem.splits["train"]], problem.order[problem.splits["valid"]]
        known = valid[problem.valid_label >= 0]
        self.train: IntArray = np.sort(rng.permutation(train)[:_MOST])
        judging = by_gold(problem.validated_on) and len(known) >= 2 * FOLDS
        self.judged: IntArray = known if judging else known[:0]
        self.fold: IntArray = np.full(problem.dataset.n_tasks, -1, np.int64)
        for tasks, folds in ((self.train, FOLDS), (self.judged, max(2, FOLDS // 2))):  # half the folds judge all gold
            self.fold[tasks] = rng.permutation(len(tasks)) % folds
        self.pace = Pace()

    def choice(self, candidates: Sequence[str]) -> Choice | None:
        """Weigh candidates, given as lines of method and settings; None if the run was stopped.

        Raises:
            CrowdError: no candidate could be trained; the reason is the first one's.
        """
        dataset, failed, enough = self.problem.dataset, None, _ENOUGH_JUDGED if len(self.judged) else _ENOUGH
        tried = {name: np.full((dataset.n_tasks, dataset.n_classes), np.nan) for name in candidates}
        for fold in range(FOLDS):
            held_out, n = np.flatnonzero(self.fold == fold), len(tried)
            for number, candidate in enumerate(list(tried)):
                if self.should_stop():
                    return None
                self.listen(NoteEvent(f"Trial of {candidate}, fold {fold + 1} of {FOLDS}."))
                try:
                    result = self._trial(candidate, fold, (fold + number / n) / FOLDS, 1 / n / FOLDS)
                except CrowdError as error:
                    failed = failed or error
                    del tried[candidate]
                    self.notes.append(f"{candidate} is no candidate here: {error}")
                    self.listen(NoteEvent(self.notes[-1]))
                    continue
                if self.should_stop():
                    return None
                tried[candidate][held_out] = result.mean_posterior(dataset.n_tasks)[held_out]
                self.seconds += result.seconds
            if failed is not None and set(tried) <= set(JUDGED):
                raise failed
            if fold + 1 >= FOLDS / 2 and (len(tried) == 1 or (self.fold[self.train] <= fold).sum() >= enough):
                break
        scores = self._scores(tried, fold + 1)
        self.notes += filter(None, map(self.naming.get, tried))
        choice = choose(scores)
        lead = choice.scores[choice.chosen]
        if lead.prior:
            self.notes.append(
                f"A share of {self.shared:.2f} of the pairs of labels of one task agree beyond independent mistakes "
                f"(η), and labels reward what foretells these: {lead.candidate} weighs {lead.prior:.2f} beforehand."
            )
        return choice

    def _trial(self, candidate: str, fold: int, done: float, part: float) -> TrainingResult:
        name, own = spelling.read(candidate)
        folder, every = self.checkpoint or (None, 10)
        with executing(brief=True):
            return self.fit(
                self._without_fold(fold),
                name,
                seeds=self.seeds,
                on_event=self.listener(self.share * done, self.share * part, is_trial=True),
                should_stop=self.should_stop,
                checkpoint=None if folder is None else folder / "trials" / f"{candidate.replace('/', '-')} {fold}",
                checkpoint_every=every,
                **{**self.given, "select_on": self._select_on(), **own},
            )

    def listener(self, done: float, part: float, is_trial: bool = False) -> Listener:
        """Return a listener that passes events on with the progress of the whole run.

        Args:
            done: share of the run before.
            part: share of the run now.
            is_trial: leave out metrics and notes, as for trials and methods whose curves are not kept.
        """

        def listen(event: Event) -> None:
            if isinstance(event, EpochEvent):
                now = done + part * event.done
                event = replace(event, done=now, remaining=self.pace.remaining(now, part / event.epochs))
                self.listen(replace(event, epoch=0, metrics={}) if is_trial else event)
            elif not is_trial:
                self.listen(event)

        return listen

    def _select_on(self) -> str:
        """Value of ``select_on`` in trials: the same labels as in the run."""
        by = self.problem.validated_on
        return "none" if not by else "gold" if by_gold(by) else "consensus"

    def _without_fold(self, fold: int) -> CrowdDataset:
        """The dataset without a fold's labels, without a test split, and with gold of the validation tasks only."""
        problem = self.problem
        dataset, order, splits = problem.dataset, problem.order, problem.splits
        split = np.full(dataset.n_tasks, NO_SPLIT, np.int8)
        split[self.train] = _TRAIN
        split[order[splits["valid"]]] = _VALID
        split[self.fold == fold] = NO_SPLIT
        seen = (split == _VALID) & (by_gold(problem.validated_on) or "names" in self.given)
        part = replace(dataset, split=split, gold=np.where(seen, dataset.gold, -1), truth=None)
        return part.where(((split == _TRAIN) | (split == _VALID))[dataset.task])

    def _scores(self, tried: Mapping[str, FloatArray], folds: int) -> list[Scores]:
        """Scores of all candidates on the tasks of the first folds."""
        dataset, position = self.problem.dataset, np.full(self.problem.dataset.n_tasks, -1, np.int64)
        train, judged = (tasks[self.fold[tasks] < folds] for tasks in (self.train, self.judged))
        position[train] = np.arange(len(train))
        used = position[dataset.task] >= 0
        task, worker, label = position[dataset.task][used], dataset.worker[used], dataset.label[used]
        each = np.stack([p[train] for p in tried.values()])
        likelihood, powers, self.shared = label_likelihood(each, task, worker, label, dataset.n_workers)
        gold, scores = dataset.gold[judged], []
        clusters = np.array([candidate.split()[0] == "gaussian-em" for candidate in tried])
        prior = cluster_prior(self.shared) * clusters / max(clusters.sum(), 1)
        for k, (candidate, p) in enumerate(tried.items()):
            line, of_gold, order = self._name_classes(candidate, p[judged], gold)
            predicted = each[k][:, order].argmax(1)
            agreement = label_agreement(predicted[task], label, dataset.n_classes)
            true = np.log(np.maximum(raised(of_gold, powers[k])[np.arange(len(gold)), gold], _LEAST))
            of_labels = (likelihood[k], predicted, agreement, prior[k], powers[k])
            scores.append(Scores(line, of_gold.argmax(1) == gold, true, *of_labels))
        return scores

    def _name_classes(self, candidate: str, p: FloatArray, gold: IntArray) -> tuple[str, FloatArray, IntArray]:
        """Name a candidate's classes by gold if that is right for more tasks, by three standard errors.

        Every task is judged under the names that the gold of the others gives.

        Returns:
            The candidate's line, its probabilities of tasks with gold, and the order of its classes.
        """
        unchanged = candidate, p, np.arange(p.shape[1])
        self.naming.pop(candidate, None)
        if not len(gold) or "names" in self.given:
            return unchanged
        other = match_names_without_task(p, gold)
        gain = (other.argmax(1) == gold).astype(np.float64) - (p.argmax(1) == gold)
        if gain.mean() <= _SURE * gain.std() / np.sqrt(len(gold)):
            return unchanged
        method, own = spelling.read(candidate)
        line = spelling.spell(method, {**own, "names": "validation-gold"})
        self.naming[candidate] = (
            f"Gold of {len(gold)} validation tasks names the classes of {candidate} otherwise than the labels do; "
            f"{100 * gain.mean():.0f} % more are right, each named by the others."
        )
        return line, other, match_names(p[None], gold)[0]


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
    """Weigh the candidates of a method by trials, and train those with a weight.

    Args:
        fit: trains a method on a dataset.
        problem: the run's problem.
        method: the method with candidates; with its setting ``chosen`` there are no trials.
        given: settings of trainer and method that the caller gave.
        seeds: seeds of the run.
        listen: receives the events.
        should_stop: called after every epoch.
        checkpoint: folder and epochs between writes, or None.
    """
    shared = {k: v for k, v in given.items() if k in TrainSettings.model_fields}
    own: Any = method.Settings(**{k: v for k, v in given.items() if k not in shared})
    first = (*seeds, max(seeds) + 1)[:REPLICAS]
    trials = Trials(problem, fit, shared, listen, should_stop, checkpoint, 0.0, first)
    candidates = [_line(name, own) for name in method.candidates if len(trials.judged) or name not in JUDGED]
    trained = 0.75 * REPLICAS * FOLDS * len(candidates)
    trials.share = 0.0 if own.chosen else trained / (trained + len(seeds))
    choice: Choice | None = None
    notes: tuple[str, ...] = ()
    parts = spelling.read_mean(own.chosen or candidates[0])
    if not own.chosen and problem.n_train < 2 * problem.n_classes:
        notes = (f"There are too few training tasks for trials: {candidates[0]} was trained.",)
    elif not own.chosen:
        listen(NoteEvent(f"Up to {FOLDS} trials of {' and '.join(candidates)} each come first. {_COST}"))
        choice = trials.choice(candidates)
        if choice is None:
            notes = (f"Stopped before all trials were done: {candidates[0]} was trained for a moment.",)
            checkpoint = None
        else:
            parts = spelling.read_mean(spelling.spell_mean(choice.parts))  # with rounded weights
            notes = tuple(filter(None, (choice.verdict, choice.doubt, choice.evidence)))
            notes += (_ONCE,) if len(seeds) > 1 else ()
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
        tried=tuple(choice.table) if choice else (),
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
    """Train methods one after another; only the first one is trained after the run was stopped."""
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
    """A candidate with the settings of ``own`` that it has, too, unless its line gives others."""
    name, settings = spelling.read(candidate)
    usual = methods.get(name).Settings()
    shared = {k: v for k, v in own if k in type(usual).model_fields and v != getattr(usual, k)}
    return spelling.spell(name, {**shared, **settings})
