"""Check of a crowd against rules, which pass, fail or stay undecided; as HTML page and as JUnit XML."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, TypeAlias
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from crowdcore.analysis.checks.rules import Measured, Measures, Rules, read_rules, recommended, rules_of, truth_of
from crowdcore.analysis.reference import ReferenceLike, resolve_reference
from crowdcore.analysis.verdicts import verdict_word
from crowdcore.core.errors import DataError
from crowdcore.core.shown import Shown
from crowdcore.core.types import IntArray
from crowdcore.data.dataset import CrowdDataset
from crowdcore.data.doors import door

Verdict: TypeAlias = Literal["pass", "fail", "underpowered"]
_MEASURES = {"class_percent": {"min": "smallest_class_percent", "max": "largest_class_percent"}}


@dataclass(frozen=True, eq=False)
class Outcome:
    """One rule's verdict.

    Attributes:
        rule: its name in `Rules`.
        verdict: ``pass`` if the whole interval keeps the limit, ``fail`` if none of it does, else ``underpowered``.
        value: measured value; NaN where there is nothing to measure.
        low, high: ends of its interval.
        limit: limit of the rule, in the unit of its name.
        needed: rough number of annotations that would decide; NaN if the rule is decided, or no number would do.
        sentence: the verdict in words.
        workers: numbers of the workers concerned.
    """

    rule: str
    verdict: Verdict
    value: float
    low: float
    high: float
    limit: float
    needed: float
    sentence: str
    workers: IntArray


@dataclass(frozen=True, eq=False)
class Check(Shown):
    """Verdicts on a crowd, in the order of `Rules`.

    Attributes:
        outcomes: one for each given limit.
        dataset: name of the dataset.
        fingerprint: digest of the dataset.
        n_annotations: labels behind the check.
    """

    outcomes: tuple[Outcome, ...]
    dataset: str
    fingerprint: str
    reference: str
    n_annotations: int
    worker_ids: pd.Index[str]

    def failed(self, strict: bool = False) -> tuple[Outcome, ...]:
        """Failed rules; with ``strict`` also those that the data cannot decide."""
        return tuple(o for o in self.outcomes if o.verdict == "fail" or (strict and o.verdict == "underpowered"))

    def workers_of(self, outcome: Outcome) -> list[str]:
        """Names of the workers whom an outcome concerns, sorted."""
        return sorted(map(str, self.worker_ids[outcome.workers]))

    def frame(self) -> pd.DataFrame:
        """One row per rule."""
        columns = ("rule", "verdict", "value", "low", "high", "limit", "needed", "sentence")
        frame = pd.DataFrame({name: [getattr(o, name) for o in self.outcomes] for name in columns})
        return frame.assign(workers=[", ".join(self.workers_of(o)) for o in self.outcomes])


@door
def check(
    dataset: CrowdDataset,
    rules: Rules | Mapping[str, Any] | str | Path | None = None,
    *,
    reference: ReferenceLike = None,
) -> Check:
    """Check a crowd against limits on agreement, dependence, drift, spam, speed, labels, balance and accuracy.

    A rule passes if the interval of its measurement keeps the limit, and fails if all of it is beyond. Otherwise, or if
    the test behind the rule had no power, it is underpowered, and ``needed`` is the approximate number of annotations
    that would decide, as intervals narrow with the square root of their number. For workers, the interval begins at
    those who are named (with the error control of `worker_verdicts`) and ends at those whom the labels do not
    exonerate.

    Args:
        rules: limits, as `Rules`, by name, or a file; default: all rules at the limits of `example_rules`.
        reference: what counts as the truth; default: the reference of the rules.

    Raises:
        DataError: no annotations, or no such file or reference.
        SettingError: invalid rules.

    Examples:
        >>> import crowdcore as cc
        >>> rules = {"min_krippendorff_alpha": 0.4, "max_spamming_workers_percent": 1}
        >>> measured = cc.check(cc.load_dataset("demo"), rules)
        >>> [(o.rule, o.verdict) for o in measured.outcomes]
        [('min_krippendorff_alpha', 'pass'), ('max_spamming_workers_percent', 'fail')]
        >>> measured.workers_of(measured.outcomes[1])
        ['w24', 'w35']
    """
    if not isinstance(rules, Rules):
        rules = (
            read_rules(rules) if isinstance(rules, str | Path) else rules_of(recommended() if rules is None else rules)
        )
    if not dataset.n_annotations:
        raise DataError(f"{dataset.name} has no annotations", "There is nothing to check.")
    truth = truth_of(dataset, rules) if reference is None else resolve_reference(dataset, reference)
    measures = Measures(dataset, rules, truth)
    outcomes = tuple(_outcome(name, limit, measures) for name, limit in rules.limits.items())
    return Check(outcomes, dataset.name, dataset.fingerprint, truth.name, dataset.n_annotations, dataset.worker_ids)


def _outcome(rule: str, limit: float, measures: Measures) -> Outcome:
    side, what = rule.split("_", 1)
    measured: Measured = getattr(measures, _MEASURES.get(what, {}).get(side, what))()
    kept, broken = (
        (measured.low >= limit, measured.high < limit)
        if side == "min"
        else (measured.high <= limit, measured.low > limit)
    )
    verdict: Verdict = "pass" if kept else "fail" if broken else "underpowered"
    needed = _needed(measured, limit, measures.dataset.n_annotations) if verdict == "underpowered" else math.nan
    sentence = _sentence(measured, rule, limit, verdict, needed, measures.rules.level)
    return Outcome(
        rule, verdict, measured.value, measured.low, measured.high, limit, needed, sentence, measured.workers
    )


def _needed(measured: Measured, limit: float, n: int) -> float:
    """Number of annotations whose interval would end at the limit, as its half-width falls with 1 / √n."""
    if measured.lacks or math.isnan(measured.value):
        return measured.needed
    reach = measured.value - measured.low if measured.value > limit else measured.high - measured.value
    gap = abs(measured.value - limit)
    return math.ceil(n * (reach / gap) ** 2) if gap > reach / 100 else math.nan


def _sentence(measured: Measured, rule: str, limit: float, verdict: Verdict, needed: float, level: float) -> str:
    """Sentence about the measurement, its basis, and what is missing."""
    if math.isnan(measured.value):
        return f"{measured.lacks}: the data cannot decide."
    bound = "at least" if rule.startswith("min") else "at most"
    unit = " %" if rule.endswith("_percent") else ""
    value, low, high = (_format(x, rule, limit) for x in (measured.value, measured.low, measured.high))
    span = "" if measured.low == measured.high else f" ({100 * level:g} % interval {low} to {high})"
    if measured.lacks and measured.low < measured.high:
        span = f" (between {low} and {high})"
    sentence = f"{value}{unit}{span}; {bound} {limit:g}{unit} is wanted. It rests on {measured.rests_on}."
    if verdict != "underpowered":
        return sentence
    why = f" {measured.lacks}." if measured.lacks else " The interval contains the limit."
    more = f" About {needed:,.0f} annotations in all would tell." if np.isfinite(needed) else ""
    return f"{sentence}{why}{more}"


def _format(value: float, rule: str, limit: float) -> str:
    """Format a count, a percentage (one decimal) or a coefficient (three), with one decimal more than the limit."""
    if rule == "max_shared_mistakes":
        return f"{value:,.0f}"
    least = 1 if rule.endswith("_percent") else 3
    return f"{value:z.{max(least, len(f'{limit:g}'.partition('.')[2]) + 1)}f}"


_STYLE = """
:root { color-scheme: light dark; --pass: light-dark(#1a7f37, #4ac26b); --fail: light-dark(#b3261e, #ff8a80);
  --underpowered: light-dark(#8a5a00, #e3b341); --line: light-dark(#d0d7de, #3d444d) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line) }
.pass { color: var(--pass) } .fail { color: var(--fail) } .underpowered { color: var(--underpowered) }
td:nth-child(2) { font-weight: 600 } code { font-size: .9em }
"""


def check_page(result: Check, strict: bool = False) -> str:
    """Write an HTML page of the rules: first those that failed, then the undecided ones, then those that passed.

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.analysis import check_page
        >>> "at least 0.9 is wanted" in check_page(cc.check(cc.load_dataset("demo"), {"min_krippendorff_alpha": 0.9}))
        True
    """
    order = ("fail", "underpowered", "pass")
    rows = "".join(_row(result, o) for o in sorted(result.outcomes, key=lambda o: order.index(o.verdict)))
    counts = ", ".join(f"{sum(o.verdict == v for o in result.outcomes)} {verdict_word(v)}" for v in order)
    verdict = "fail" if result.failed(strict) else "pass"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(result.dataset)}: {verdict}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(result.dataset)}: <span class="{verdict}">{verdict}</span></h1>\n'
        f"<p>{counts}{'; undecided counts as a failure' if strict else ''}. {result.n_annotations:,} annotations, "
        f"reference {escape(result.reference)}, fingerprint <code>{result.fingerprint}</code>.</p>\n"
        "<table>\n<thead><tr><th>Rule</th><th>Verdict</th><th>Why</th></tr></thead>\n"
        f"<tbody>\n{rows}</tbody>\n</table>\n</main>\n</body>\n</html>\n"
    )


def _row(result: Check, outcome: Outcome) -> str:
    named = ", ".join(result.workers_of(outcome))
    workers = f"<br>Workers: {escape(named)}" if named else ""
    rule, verdict = outcome.rule.replace("_", "_<wbr>"), outcome.verdict
    return (
        f'<tr><td><code>{rule}</code></td><td class="{verdict}">{verdict_word(verdict)}</td>'
        f"<td>{escape(outcome.sentence)}{workers}</td></tr>\n"
    )


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: Check, strict: bool = False) -> str:
    """Write JUnit XML with a test per rule: failed, or skipped if the data cannot decide (failed when strict).

    Examples:
        >>> import crowdcore as cc
        >>> from crowdcore.analysis import junit_xml
        >>> result = cc.check(cc.load_dataset("demo"), {"min_krippendorff_alpha": 0.9})
        >>> 'failures="1"' in junit_xml(result)
        True
    """
    failed = result.failed(strict)
    skipped = [o for o in result.outcomes if o.verdict == "underpowered" and o not in failed]
    counts = {"tests": len(result.outcomes), "failures": len(failed), "errors": 0, "skipped": len(skipped)}
    suite = ElementTree.Element("testsuite", {"name": _legal(f"crowdcore check {result.dataset}")})
    suite.attrib |= {name: str(n) for name, n in counts.items()}
    for outcome in result.outcomes:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "crowdcore.check", "name": outcome.rule})
        if outcome.verdict != "pass":
            kind = "failure" if outcome in failed else "skipped"
            element = ElementTree.SubElement(case, kind, {"message": _legal(outcome.sentence), "type": outcome.verdict})
            element.text = _legal("\n".join(result.workers_of(outcome)))
        else:
            ElementTree.SubElement(case, "system-out").text = _legal(outcome.sentence)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
