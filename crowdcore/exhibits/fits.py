"""Fits of aggregators by name: one line of text from which a fit can be run again.

A name is the method with the settings that differ from its defaults: ``dawid-skene``, ``dawid-skene smoothing=0.1``,
``conal-em groups=2 gold=20%`` (with the gold of 20 % of the training tasks). It appears in the address bar, in figures
and in the reference picker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdcore import analysis
from crowdcore.aggregation import DawidSkene
from crowdcore.core import spelling
from crowdcore.core.errors import CrowdError, SettingError
from crowdcore.exhibits.exhibit import cached

if TYPE_CHECKING:
    from crowdcore.aggregation import AggregationResult, Aggregator
    from crowdcore.analysis import ConfusionIntervals, Reference
    from crowdcore.core.types import IntArray
    from crowdcore.data.dataset import CrowdDataset


SUGGESTED = ("auto", "majority-vote", "dawid-skene", "conal-em")
"""Fits to begin with."""
OF_TAGS = ("majority-vote", "span-majority", "hmm-crowd", "bsc-seq")
"""Fits to begin with where the labels are tags of tokens."""
_GOLD = "gold"


def spell_fit(method: str, settings: Mapping[str, Any], gold: int = 0) -> str:
    """Spell the name of a fit.

    Args:
        method: an aggregator's name.
        settings: its settings; defaults are left out.
        gold: percentage of the training tasks whose gold is shown to it.

    Raises:
        SettingError: no such method.
    """
    from crowdcore import aggregation

    fields = aggregation.aggregators.find(method).model_fields
    own = {k: v for k, v in settings.items() if k not in fields or fields[k].default != v}
    return spelling.spell(method, own) + (f" {_GOLD}={gold}%" if gold else "")


def read_fit(name: str) -> tuple[str, dict[str, Any], int]:
    """Read method, settings and percentage of shown gold from a fit's name.

    Raises:
        SettingError: a word that is no ``setting=value``.
    """
    method, settings = spelling.read(name)
    gold = settings.pop(_GOLD, "0%")
    if not (isinstance(gold, str) and gold.removesuffix("%").isdecimal() and int(gold.removesuffix("%")) <= 100):
        raise SettingError(_GOLD, "be a whole percentage", gold, "Write gold=20%, for example.")
    return method, settings, int(gold.removesuffix("%"))


def canonical(name: str) -> str:
    """Return the one spelling of a fit's name, its settings checked.

    Raises:
        SettingError: no such method, or an invalid setting.
    """
    method, settings, gold = read_fit(name)
    return spell_fit(method, _aggregator(method, settings).model_dump(), gold)


def is_fit(name: str) -> bool:
    """Return whether this names a fit that could be run."""
    try:
        canonical(name)
    except CrowdError:
        return False
    return True


@cached
def shown_gold(dataset: CrowdDataset, percent: int) -> tuple[IntArray, IntArray]:
    """Gold shown to the aggregators, and the gold that judges them; see `analysis.show_gold`."""
    return analysis.show_gold(dataset, percent)


@cached
def fitted(dataset: CrowdDataset, name: str) -> AggregationResult:
    """The result of a fit, run once.

    Raises:
        CrowdError: no such method or setting, or data that the method cannot work with.
    """
    method, settings, gold = read_fit(name)
    known = shown_gold(dataset, gold)[0] if gold else None
    return _aggregator(method, settings).fit(dataset, known=known)


def _aggregator(method: str, settings: Mapping[str, Any]) -> Aggregator:
    from crowdcore import aggregation

    aggregator = aggregation.aggregators.find(method)
    strange = next((key for key in settings if key not in aggregator.model_fields), None)
    if strange is not None:
        raise SettingError(f"a setting of {method}", f"be one of {', '.join(aggregator.model_fields)}", strange)
    return aggregator(**settings)


_SAMPLES, _BURN_IN = 400, 150
_WORK, _BYTES = 200_000, 256 << 20  # labels times classes, and bytes of draws, that sampling may take
_COVERAGE = (
    " In simulated crowds they contained the true share in 93 to 97 % of the cells if workers labelled at least forty "
    "tasks of a class. With eight or fewer they are too wide and contained it in 99 %."
)
_CLEARLY = 0.02  # of a row; an estimate farther outside of its interval is mentioned


@cached
def sampled(dataset: CrowdDataset, truth: Reference | None = None) -> ConfusionIntervals:
    """95 % intervals of Dawid & Skene's confusions, the true labels drawn; of large datasets with them fixed.

    Args:
        dataset: the annotations.
        truth: known labels of tasks; None: none.
    """
    known, n = None if truth is None else truth.labels, dataset.n_classes
    if dataset.n_annotations * n > _WORK or 8 * _SAMPLES * dataset.n_workers * n * n > _BYTES:
        return analysis.credible_intervals(DawidSkene().fit(dataset, known=known))
    return analysis.sampled_confusion(dataset, known=known, n_samples=_SAMPLES, burn_in=_BURN_IN)


def describe_intervals(intervals: ConfusionIntervals, *, uncertain: bool = True) -> str:
    """Describe the intervals, and where they do not fit the model.

    Args:
        intervals: the intervals.
        uncertain: whether the true labels are inferred, not known.
    """
    words = f"{100 * intervals.level:.0f} % intervals for each cell"
    unknown = "the true labels" if uncertain else "unknown true labels"
    if "draws" in intervals.how:
        words += f" by Dawid & Skene's model. They include the uncertainty of {unknown}."
        words += _COVERAGE if uncertain else ""
    else:
        words += (
            f". They leave out the uncertainty of {unknown}: with so many labels or classes, drawing them takes long."
        )
    outside = np.maximum(intervals.low - intervals.estimate, intervals.estimate - intervals.high) > _CLEARLY
    if outside.any():
        words += (
            f" In {outside.sum()} cells the estimate is clearly outside its interval: there the model's smoothing or "
            "pooling outweighs this worker's labels."
        )
    return words
