"""`Rules`: the limits that a crowd must keep, and the files that hold them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from crowdcore.core.errors import DataError, SettingError, did_you_mean, need_extra
from crowdcore.core.settings import Settings

_PLAIN = re.compile(r"[a-z][\w-]*")


def _limit(recommended: float, low: float, high: float, words: str) -> Any:
    return Field(default=None, ge=low, le=high, description=words, examples=[recommended])


class Rules(Settings):
    """Limits, each checked where it is given, and how they are measured; `None` = not checked.

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
        """The limits that are given, by rule."""
        return {name: limit for name in LIMITS if (limit := getattr(self, name)) is not None}


LIMITS = tuple(name for name in Rules.model_fields if name.startswith(("min_", "max_")))
"""Names of the rules."""


def recommended() -> dict[str, float]:
    """A limit for every rule: a start, to be adapted to the project."""
    return {name: (Rules.model_fields[name].examples or [])[0] for name in LIMITS}


def example_rules() -> str:
    """A commented YAML file with all rules at recommended limits, and all other settings at their defaults.

    Examples:
        >>> from crowdcore.analysis import example_rules
        >>> print(example_rules().splitlines()[3])
        min_krippendorff_alpha: 0.4
    """
    return rules_yaml(Rules(**recommended()))


def rules_yaml(rules: Rules) -> str:
    """A commented YAML file of rules, which `read_rules` reads back; what is not set is a comment.

    Examples:
        >>> from crowdcore.analysis import Rules, rules_yaml
        >>> print(rules_yaml(Rules(min_krippendorff_alpha=0.5)).splitlines()[3])
        min_krippendorff_alpha: 0.5
    """
    lines = ["# Rules for `crowdcore check`. Rules that are left out are not checked.", ""]
    for name, field in Rules.model_fields.items():
        if name == "reference":
            lines += ["# How it is measured.", ""]
        value = getattr(rules, name)
        if isinstance(value, str) and not _PLAIN.fullmatch(value):
            value = json.dumps(value)  # which is YAML, too
        shown = f"# {name}:" if value in (None, '""') else f"{name}: {value}"
        lines += [f"# {field.description}", shown, ""]
    return "\n".join(lines)


def read_rules(file: str | Path) -> Rules:
    """Rules from a `.yaml`, `.toml` or `.json` file.

    Raises:
        DataError: no such file, or one that does not hold names and values.
        SettingError: an unknown rule (with the nearest name), a limit that cannot be, or no rule at all.
        MissingExtraError: YAML without PyYAML.
    """
    path = Path(file)
    try:
        return parse_rules(path.read_bytes(), path)
    except OSError as error:
        raise DataError(f"The rules cannot be read: {error.strerror}", file=path) from error


def parse_rules(content: bytes, path: Path) -> Rules:
    """Rules from the content of a file; its name's end says what it is.

    Raises:
        DataError: it does not hold names and values.
        SettingError: as in `read_rules`.
        MissingExtraError: YAML without PyYAML.
    """
    readers: dict[str, Callable[[str], object]] = {
        ".yaml": _yaml,
        ".yml": _yaml,
        ".toml": tomllib.loads,
        ".json": lambda text: json.loads(text, object_pairs_hook=_once),
    }
    if path.suffix not in readers:
        raise SettingError("rules", f"end in {', '.join(readers)}", str(path))
    try:
        held = readers[path.suffix](content.decode())
    except SettingError:
        raise
    except (ValueError, RecursionError) as error:  # of the parsers, of text that is no UTF-8, of nesting without end
        raise DataError(f"The rules cannot be read: {' '.join(str(error).split())}", file=path) from error
    if not isinstance(held, Mapping) or not all(isinstance(name, str) for name in held):
        raise DataError("The rules must be names with values, such as `labels_per_task: 3`", file=path)
    return rules_of(held)


def rules_of(given: Mapping[str, Any]) -> Rules:
    """Rules by name.

    Raises:
        SettingError: an unknown rule (with the nearest name), a limit that cannot be, or no rule at all.
    """
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
    """What a YAML document holds; a name that is given twice is refused, as PyYAML would take the last."""
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
