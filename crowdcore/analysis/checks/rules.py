"""`Rules`: limits that a crowd must keep, their files, and their measurements."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from crowdcore import aggregation
from crowdcore.analysis.coordinated.copying import LEAST
from crowdcore.analysis.gold_scores import judge
from crowdcore.analysis.labels.agreement import Agreement, Coefficient, agreement
from crowdcore.analysis.labels.summary import class_balance, correctness
from crowdcore.analysis.mistakes.shared_mistakes import shared_mistakes
from crowdcore.analysis.mistakes.significance import guideline_cells
from crowdcore.analysis.reference import Reference, resolve_reference
from crowdcore.analysis.statistics import bootstrap_weights, percentile_interval, wilson_interval
from crowdcore.analysis.verdicts import CONFUSED, LEVEL, REMOVE, TRUST
from crowdcore.analysis.verdicts.workers import (
    DRIFTING,
    TOGETHER,
    WorkerEvidence,
    WorkerVerdicts,
    worker_evidence,
)
from crowdcore.analysis.workers.speed import answer_times
from crowdcore.core.errors import DataError, SettingError, did_you_mean, need_extra
from crowdcore.core.settings import Settings
from crowdcore.core.types import AnyArray, BoolArray, FloatArray, IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.report import plural

_PLAIN = re.compile(r"[a-z][\w-]*")


def _limit(recommended: float, low: float, high: float, words: str) -> Any:
    return Field(default=None, ge=low, le=high, description=words, examples=[recommended])


class Rules(Settings):
    """Limits that a crowd must keep, `None` = not checked, and settings of their measurement.

    Examples:
        >>> from crowdcore.analysis import Rules
        >>> Rules(min_krippendorff_alpha=0.4).limits
        {'min_krippendorff_alpha': 0.4}
    """

    min_krippendorff_alpha: float | None = _limit(0.4, -1, 1, "Krippendorff's α of the labels; 1 = all agree.")
    min_raw_agreement_percent: float | None = _limit(60, 0, 100, "Pairs of labels of a task that are equal.")
    max_dependent_workers_percent: float | None = _limit(
        0, 0, 100, "Workers who agree with another worker more than skills and tasks explain."
    )
    max_shared_mistakes: float | None = _limit(
        5, 0, 1e9, "Confusions (true class, given label) that more workers share than chance explains."
    )
    max_drifting_workers_percent: float | None = _limit(
        5, 0, 100, "Workers who became worse, relative to the others on the same tasks; needs a column timestamp."
    )
    max_spamming_workers_percent: float | None = _limit(
        10, 0, 100, "Workers whose labels carry no information about the truth."
    )
    max_fast_labels_percent: float | None = _limit(
        5, 0, 100, "Labels given faster than fast_below_seconds; needs a column seconds, or timestamp of each label."
    )
    max_tasks_with_few_labels_percent: float | None = _limit(
        10, 0, 100, "Labelled tasks with fewer labels than labels_per_task."
    )
    min_class_percent: float | None = _limit(1, 0, 100, "Tasks of the rarest class.")
    max_class_percent: float | None = _limit(80, 0, 100, "Tasks of the most frequent class.")
    min_label_accuracy_percent: float | None = _limit(85, 0, 100, "Tasks with gold whose aggregated label matches it.")
    min_annotation_accuracy_percent: float | None = _limit(65, 0, 100, "Labels on tasks with gold that match it.")

    reference: str = Field(
        default="",
        description="What counts as the truth: gold, or an aggregator; default: gold where half of the labelled tasks "
        "have some, else the aggregator below.",
    )
    aggregator: str = Field(default="auto", description="The aggregator of the labels.")
    labels_per_task: int = Field(default=3, ge=1, description="Minimum number of labels per task.")
    labels_per_judged_worker: int = Field(
        default=10, ge=1, description="Workers with fewer labels are not judged (drift, spam, dependence)."
    )
    drift_points: float = Field(
        default=30, gt=0, le=100, description="Fall of a worker's accuracy that the test must be able to see, points."
    )
    fast_below_seconds: float | None = Field(
        default=None,
        gt=0,
        description="Labels faster than this are too fast; default: a fifth of the median answer time.",
    )
    break_minutes: float = Field(
        default=30, gt=0, description="A longer gap between a worker's labels is a break, not an answer time."
    )
    level: float = Field(default=0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    resamples: int = Field(
        default=1000, ge=100, le=100_000, description="Number of resamples of the bootstrap over tasks."
    )
    seed: int = Field(default=0, ge=0, description="Of the bootstrap.")

    @property
    def limits(self) -> dict[str, float]:
        """Given limits, by rule."""
        return {name: limit for name in LIMITS if (limit := getattr(self, name)) is not None}


LIMITS = tuple(name for name in Rules.model_fields if name.startswith(("min_", "max_")))
"""Names of the rules."""


def recommended() -> dict[str, float]:
    """Return a limit for every rule, to be adapted to the project."""
    return {name: (Rules.model_fields[name].examples or [])[0] for name in LIMITS}


def example_rules() -> str:
    """Write a commented YAML file with all rules at recommended limits, and all other settings at their defaults.

    Examples:
        >>> from crowdcore.analysis import example_rules
        >>> print(example_rules().splitlines()[3])
        min_krippendorff_alpha: 0.4
    """
    return rules_yaml(Rules(**recommended()))


def rules_yaml(rules: Rules) -> str:
    """Write a commented YAML file of rules, which `read_rules` reads back; settings without a value are comments.

    Examples:
        >>> from crowdcore.analysis import Rules, rules_yaml
        >>> print(rules_yaml(Rules(min_krippendorff_alpha=0.5)).splitlines()[3])
        min_krippendorff_alpha: 0.5
    """
    lines = ["# Rules for `crowdcore check`. Rules that are left out are not checked.", ""]
    for name, about in Rules.model_fields.items():
        if name == "reference":
            lines += ["# How it is measured.", ""]
        value = getattr(rules, name)
        if isinstance(value, str) and not _PLAIN.fullmatch(value):
            value = json.dumps(value)  # which is YAML, too
        shown = f"# {name}:" if value in (None, '""') else f"{name}: {value}"
        lines += [f"# {about.description}", shown, ""]
    return "\n".join(lines)


def read_rules(file: str | Path) -> Rules:
    """Read rules from a `.yaml`, `.toml` or `.json` file.

    Raises:
        DataError: no such file, or one without names and values.
        SettingError: an unknown rule (with the nearest name), an invalid limit, or no rule at all.
        MissingExtraError: YAML without PyYAML.
    """
    path = Path(file)
    try:
        return parse_rules(path.read_bytes(), path)
    except OSError as error:
        raise DataError(f"The rules cannot be read: {error.strerror}", file=path) from error


def parse_rules(content: bytes, path: Path) -> Rules:
    """Parse rules from the content of a file, whose suffix sets the format (YAML needs PyYAML)."""
    readers: dict[str, Callable[[str], object]] = {
        ".yaml": _yaml,
        ".yml": _yaml,
        ".toml": tomllib.loads,
        ".json": lambda text: json.loads(text, object_pairs_hook=_once),
    }
    if path.suffix not in readers:
        raise SettingError("rules", f"end in {', '.join(readers)}", str(path))
    try:
        content_read = readers[path.suffix](content.decode())
    except SettingError:
        raise
    except (ValueError, RecursionError) as error:  # of parsers, of text that is not UTF-8, of too deep nesting
        raise DataError(f"The rules cannot be read: {' '.join(str(error).split())}", file=path) from error
    if not isinstance(content_read, Mapping) or not all(isinstance(name, str) for name in content_read):
        raise DataError("The rules must be names with values, such as `labels_per_task: 3`", file=path)
    return rules_of(content_read)


def rules_of(given: Mapping[str, Any]) -> Rules:
    """Make rules from limits and settings by name; refuse unknown names, invalid limits, and no rule at all."""
    for name, value in given.items():
        if name not in Rules.model_fields:
            remedy = did_you_mean(name, Rules.model_fields, say="`{}`".format)
            remedy = remedy or "`crowdcore check --example-rules` lists all."
            raise SettingError("rules", "hold known rules only", name, remedy)
        if isinstance(value, bool | list | dict):
            raise SettingError(name, "be one number or name", type(value).__name__)
    settings = {name: value for name, value in given.items() if value is not None}
    rules = Rules(**settings)
    if not rules.limits:
        raise SettingError(
            "rules", "limit something", ", ".join(settings) or "nothing", "`crowdcore check --example-rules` shows how."
        )
    return rules


def _yaml(text: str) -> object:
    """Parse a YAML document; refuse repeated keys, of which PyYAML would take the last."""
    try:
        import yaml
    except ImportError:
        raise need_extra("Reading rules in YAML (rules in TOML and JSON need nothing)", "yaml") from None

    try:
        root = yaml.compose(text, yaml.SafeLoader)
        if isinstance(root, yaml.MappingNode):
            _once([(str(name.value), None) for name, _ in root.value])
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SettingError("rules", "hold each name once", twice[0])
    return dict(pairs)


NOBODY: IntArray = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Measured:
    """A measured value.

    Attributes:
        value: NaN where there is nothing to measure.
        low, high: ends of its interval.
        rests_on: its basis in words: how many labels, tasks or workers.
        workers: numbers of the workers concerned.
        needed: annotations that would make its interval narrow enough, where its width does not tell.
        lacks: reason why the data cannot decide, one sentence; empty if only the interval is too wide.
    """

    value: float
    low: float
    high: float
    rests_on: str
    workers: IntArray = field(default_factory=lambda: NOBODY)
    needed: float = np.nan
    lacks: str = ""


def truth_of(dataset: CrowdDataset, rules: Rules) -> Reference:
    """Return the reference of the rules; default: gold if half of the labelled tasks have some."""
    labelled = dataset.annotated
    mostly_gold = (dataset.gold[labelled] >= 0).mean() >= 0.5 if labelled.any() else False
    return resolve_reference(dataset, rules.reference or ("gold" if mostly_gold else rules.aggregator))


@dataclass(frozen=True, eq=False)
class Measures:
    """Measurements: one method for each rule; their common basis is computed once."""

    dataset: CrowdDataset
    rules: Rules
    truth: Reference

    def krippendorff_alpha(self) -> Measured:
        """Krippendorff's α, with its bootstrap interval over tasks."""
        return _coefficient(self._agreement.alpha, 1)

    def raw_agreement_percent(self) -> Measured:
        """Mean over tasks of the share of equal pairs of labels."""
        return _coefficient(self._agreement.raw, 100)

    def dependent_workers_percent(self) -> Measured:
        """Workers with a named partner; unknown: those who share too few tasks with anyone to be named."""
        if self.dataset.kind.sequential:
            return _nothing(
                "The tokens of a sentence are not independent tasks, so dependent workers are not searched for"
            )
        pairs, result, n = self._evidence.pairs, self._verdicts, self.dataset.n_workers
        seen, most = np.zeros(n, bool), np.zeros(n)
        enough = pairs.enough(TOGETHER * LEVEL)
        able = pairs.both >= enough
        seen[pairs.worker_a[able]] = seen[pairs.worker_b[able]] = True
        for worker in (pairs.worker_a, pairs.worker_b):
            np.maximum.at(most, worker, pairs.both)
        common = float(np.median(enough)) if len(enough) else np.nan
        lacks = f"Two workers need about {common:.0f} tasks in common before copying could be detected"
        if not len(enough):
            lacks = f"No two workers labelled {LEAST} tasks both"
        return self._share_of_workers(result.together, seen, lacks, np.maximum(common - most, 1))

    def shared_mistakes(self) -> Measured:
        """Mistakes of the guideline; few of them are false, so the count has no interval."""
        result, own = shared_mistakes(self.dataset, replace(self.truth, posterior=None)), self._evidence.guideline
        cells = guideline_cells(result.p_value, own, checked=self.truth.checked)
        tested, n = int((~np.isnan(result.q_value)).sum()), int(cells.sum())
        if not tested and not n:
            tags = self.dataset.kind.sequential
            why = "these are tags" if tags else "there are two classes or too few workers with mistakes"
            return _nothing(f"No confusion could be tested, as {why}")
        return Measured(n, n, n, f"{tested:,} confusions tested, and who repeats which")

    def drifting_workers_percent(self) -> Measured:
        """Workers who became worse; unknown: those with too few labels for a fall of ``drift_points``."""
        result, n = self._verdicts, self.dataset.labels_per_worker
        if result.drift is None:
            return _nothing("The labels have no times (column timestamp)")
        tested = result.drift.at >= 0
        needed = (result.drift.limit(DRIFTING * LEVEL) / (self.rules.drift_points / 100)) ** 2
        lacks = (
            f"A fall of {self.rules.drift_points:g} points can be detected from about {needed:,.0f} labels of a worker"
        )
        return self._share_of_workers(result.drifts, tested & (n >= needed), lacks, np.maximum(needed - n, 0))

    def spamming_workers_percent(self) -> Measured:
        """Workers to remove; unknown: those whose interval of skill includes guessing."""
        result = self._verdicts
        reach, typical = result.skill - result.low, max(result.typical, 1e-3)
        missing = np.maximum(result.judged * ((reach / typical) ** 2 - 1), 1)
        lacks = "The labels of some workers cannot be distinguished from guesses"
        return self._share_of_workers(result.verdict == "remove", result.low > 0, lacks, missing)

    def fast_labels_percent(self) -> Measured:
        """Labels faster than the limit, with a bootstrap over tasks; of those in batches, all or none may be."""
        result = answer_times(self.dataset, self.rules.break_minutes)
        if result is None:
            return _nothing("The labels have neither seconds nor times (columns seconds, timestamp)")
        batched, known = int(result.batch.sum()), ~np.isnan(result.seconds)
        left_out = [f"{result.first:,} that begin a session"] if result.first else []
        left_out += [f"{batched:,} that share their time with another label of the worker"] if batched else []
        if not known.any():
            return _nothing(f"No label has an answer time ({' and '.join(left_out)})")
        limit = self.rules.fast_below_seconds or float(np.median(result.seconds[known])) / 5
        if limit <= result.step:
            return _nothing(f"Times are rounded to {result.step:g} s, so answers below {limit:.3g} s cannot be seen")
        fast = np.where(known, result.seconds < limit, np.nan)
        per_worker = np.bincount(self.dataset.worker, fast == 1, self.dataset.n_workers)
        usual = per_worker > self.dataset.labels_per_worker / 2
        words = f"labels with a time ({result.source}); too fast is below {limit:.3g} s"
        words += f"; not judged are {' and '.join(left_out)}" if left_out else ""
        measured = self._share_of_labels(fast, words, np.flatnonzero(usual))
        judged = known.sum() / (known.sum() + batched)
        low, high = judged * measured.low, judged * measured.high + 100 * (1 - judged)
        lacks = "The answer times of labels with the same time are unknown" if batched else ""
        return replace(measured, low=low, high=high, lacks=lacks)

    def tasks_with_few_labels_percent(self) -> Measured:
        """Labelled tasks with too few labels, without interval."""
        n = self.dataset.labels_per_task
        labelled = int((n > 0).sum())
        few = 100 * float(((n > 0) & (n < self.rules.labels_per_task)).sum()) / max(labelled, 1)
        return Measured(
            few, few, few, f"{plural(labelled, 'labelled task')}, {self.rules.labels_per_task} labels wanted of each"
        )

    def smallest_class_percent(self) -> Measured:
        """The rarest class of the reference, with Wilson's interval at the level that C classes together keep."""
        return self._class(int(np.argmin(self._class_tasks)))

    def largest_class_percent(self) -> Measured:
        """The most frequent class of the reference."""
        return self._class(int(np.argmax(self._class_tasks)))

    def label_accuracy_percent(self) -> Measured:
        """Accuracy of the aggregated labels on gold, with Wilson's interval."""
        if not self.dataset.has_gold:
            return _nothing("There is no gold")
        result = judge(self.dataset, aggregation.get(self.rules.aggregator).fit(self.dataset))
        return self._share_of_tasks(result.accuracy, result.n_judged, f" with gold, labels by {self.rules.aggregator}")

    def annotation_accuracy_percent(self) -> Measured:
        """Labels that are the gold one, with a bootstrap over tasks."""
        if not self.dataset.has_gold:
            return _nothing("There is no gold")
        return self._share_of_labels(
            correctness(self.dataset, resolve_reference(self.dataset, "gold")), "labels on gold"
        )

    @cached_property
    def _agreement(self) -> Agreement:
        rules = self.rules
        return agreement(self.dataset, n_resamples=rules.resamples, level=rules.level, seed=rules.seed, pairs=False)

    @cached_property
    def _evidence(self) -> WorkerEvidence:
        return worker_evidence(self.dataset, self.truth)

    @cached_property
    def _verdicts(self) -> WorkerVerdicts:
        return self._evidence.verdicts(remove=REMOVE, trust=TRUST, confused=CONFUSED)

    @cached_property
    def _class_tasks(self) -> FloatArray:
        return class_balance(self.dataset, self.truth).tasks

    def _class(self, number: int) -> Measured:
        tasks, of = self._class_tasks[number], self._class_tasks.sum()
        words = f"; “{self.dataset.classes[number]}” by {self.truth.name}"
        return self._share_of_tasks(tasks / of, of, words, self.dataset.n_classes)

    def _share_of_tasks(self, share: float, n: float, words: str, at_once: int = 1) -> Measured:
        low, high = wilson_interval(np.array(share), np.array(float(n)), 1 - (1 - self.rules.level) / at_once)
        return Measured(100 * share, 100 * float(low), 100 * float(high), plural(round(n), "task") + words)

    def _share_of_labels(self, right: FloatArray, words: str, workers: IntArray = NOBODY) -> Measured:
        """Share of ones among the known (1, 0, NaN), resampled over tasks of one pattern at a time."""
        dataset, known = self.dataset, ~np.isnan(right)
        n, ones = (np.bincount(dataset.task[known], w, dataset.n_tasks) for w in (None, right[known]))
        patterns, tasks = np.unique(np.stack([ones, n])[:, n > 0], axis=1, return_counts=True)
        drawn = bootstrap_weights(tasks, self.rules.resamples, np.random.default_rng(self.rules.seed))
        low, high = percentile_interval((patterns[0] @ drawn) / (patterns[1] @ drawn), self.rules.level)
        share = float(ones.sum() / n.sum())
        if share in (0, 1):  # the bootstrap cannot see the other side
            low, high = wilson_interval(np.array(share), np.array(float(tasks.sum())), self.rules.level)
        return Measured(100 * share, 100 * float(low), 100 * float(high), f"{int(n.sum()):,} {words}", workers)

    def _share_of_workers(self, named: AnyArray, seen: BoolArray, lacks: str, missing: FloatArray) -> Measured:
        """Percentage of judged workers: those named surely are, those not named were seen not to be, or are unknown."""
        least = self.rules.labels_per_judged_worker
        judged = self.dataset.labels_per_worker >= least
        n = int(judged.sum())
        if not n:
            return _nothing(f"No worker has {least} labels")
        unknown = judged & ~named & ~seen
        low, open_ = 100 * float((named & judged).sum()) / n, 100 * float(unknown.sum()) / n
        words = f"{plural(n, 'worker')} with {least} labels or more"
        words += f"; of {int(unknown.sum()):,} of them the data do not tell" if open_ else ""
        needed = self.dataset.n_annotations + float(missing[unknown].sum())
        return Measured(low, low, low + open_, words, np.flatnonzero(named & judged), needed, lacks if open_ else "")


def _coefficient(result: Coefficient, scale: float) -> Measured:
    value, low, high = (scale * x for x in (result.value, result.low, result.high))
    state = result.state[:1].upper() + result.state[1:]
    return Measured(value, low, high, f"{plural(result.tasks, 'task')} with two labels or more", lacks=state)


def _nothing(lacks: str) -> Measured:
    return Measured(np.nan, np.nan, np.nan, "nothing", lacks=lacks)
