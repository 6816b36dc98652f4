"""Verdicts on workers in words: reasons, effects, and the message that one could send."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdcore.analysis.coordinated.groups import BEYOND, PUSH
from crowdcore.analysis.reference import REVIEWED
from crowdcore.data.report import plural

if TYPE_CHECKING:
    from crowdcore.analysis import WorkerVerdicts
    from crowdcore.analysis.coordinated.groups import Group
    from crowdcore.core.types import AnyArray

_SINGLE = 0.8  # share of one label from which it is worth saying


class SharedConfusion(NamedTuple):
    """A worker's confusion of ``true`` with ``given``, ``times`` of ``of`` labels, that ``workers`` of all make."""

    true: str
    given: str
    times: float
    of: float
    workers: int
    n_workers: int

    @property
    def reason(self) -> str:
        """The confusion in a sentence."""
        return (
            f"Calls “{self.true}” “{self.given}” on {self.times:.0f} of {self.of:.0f} tasks, a mistake that "
            f"{self.workers} of {self.n_workers} workers share."
        )


def reasons(found: WorkerVerdicts) -> list[str]:
    """(n_workers,) why each worker got the verdict; workers go by ``worker_ids``."""
    return [" ".join(_reason(found, worker)) for worker in range(len(found.verdict))]


def _reason(found: WorkerVerdicts, r: int) -> list[str]:
    verdict, words = found.verdict[r], []
    if found.n_annotations[r] == 0:
        return ["Gave no label."]
    if not found.judged[r]:
        return ["None of the labels can be judged: no truth is known for their tasks."]
    between = f"skill between {found.low[r]:z.2f} and {found.high[r]:z.2f}"
    if verdict == "remove":
        words.append(f"The labels look like guesses: {between}, the typical worker has {found.typical:.2f}.")
        if found.favourite_share[r] >= _SINGLE:
            words.append(f"{_percent(found.favourite_share[r])} of them are “{found.classes[found.favourite[r]]}”.")
    if found.copies.partner[r] >= 0:
        pair = found.copies
        words.append(
            f"Agrees with {found.worker_ids[pair.partner[r]]} on {pair.agreed[r]:,} of {pair.both[r]:,} tasks, "
            f"{pair.expected_agreed[r]:.0f} expected, and is wrong alike on {pair.alike[r]:,}, {pair.expected[r]:.1f} "
            "expected; labels do not show which of the two copies."
        )
    words += [_group(found, group) for group in found.groups if r in group.members and _says_more(found, r, group)]
    if found.drifts[r] and found.drift is not None:
        change = 100 * (found.drift.before[r] - found.drift.after[r])
        words.append(
            f"Worse after the first {found.drift.at[r]:,} labels, by {change:.0f} percentage points beside the others "
            "on the same tasks."
        )
    if found.train[r] and verdict != "remove":
        cells = found.confused
        true, given = found.classes[cells.true[r]], found.classes[cells.given[r]]
        back = f", and “{given}” “{true}”: {cells.back[r]:.0f} of {cells.back_of[r]:.0f}"
        words.append(
            f"Calls “{true}” “{given}”: about {cells.times[r]:.0f} of "
            f"{cells.of[r]:.0f} times ({_percent(cells.times[r] / cells.of[r])}, surely above "
            f"{_percent(cells.low[r])}; the others {_percent(cells.others[r])}){back if cells.back[r] > 0 else ''}."
        )
    if words:
        return words + _speed(found, r)
    if verdict == "underpowered":
        more = found.needed[r] - found.judged[r]
        enough = f" About {plural(max(round(more), 1), 'more label')} would decide." if np.isfinite(more) else ""
        told = "Too few labels to estimate a skill."
        if found.only_peer[r] >= 0 and len(found.classes) > 1:
            told = (
                f"Only {found.worker_ids[found.only_peer[r]]} labelled the same tasks. Where the two differ, labels do "
                "not tell who is wrong: gold would, or a third worker."
            )
        elif np.isfinite(found.low[r]):
            told = f"Too few labels to decide: {between}."
        elif len(found.classes) == 1:
            told = "With only one class, no label can be wrong."
        return [f"{told}{enough}", *_speed(found, r)]
    if verdict == "trust":
        return [f"Good enough with certainty, above {found.trust_above:z.2f}: {between}.", *_speed(found, r)]
    weak = "Weak, and perhaps guessing" if found.low[r] <= 0 else "Weak"
    return [f"{weak}: {between}, the typical worker has {found.typical:.2f}.", *_speed(found, r)]


def _says_more(found: WorkerVerdicts, r: int, group: Group) -> bool:
    """Whether a worker's group is more than a pair of whom `copies` tells already."""
    pair = len(group.members) == 2 and BEYOND in group.found_by and PUSH not in group.found_by
    return not pair or found.copies.partner[r] < 0


def _group(found: WorkerVerdicts, group: Group) -> str:
    names = listed(sorted(map(str, found.worker_ids[group.members])))
    pushed = [f"“{found.classes[a]}” called “{found.classes[b]}”" for a, b in group.cells[:3].tolist()]
    return f"One of {len(group.members)} workers who {' and '.join(group.found_by)}" + (
        f" ({', '.join(pushed)}): {names}." if pushed else f": {names}."
    )


def listed(names: list[str], most: int = 8) -> str:
    """Names in a sentence, the first ones of many."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _speed(found: WorkerVerdicts, r: int) -> list[str]:
    speed = found.speed
    if speed is None or not speed.too_fast[r]:
        return []
    share = _percent(speed.fast[r])
    return [f"{share} of {speed.n[r]} answers took less than a fifth of what their tasks usually take."]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def changes_without(found: WorkerVerdicts) -> AnyArray:
    """(n_workers,) what a majority vote is like without each worker."""
    words, of = [], found.without
    for changed, lost, points in zip(of.changed, of.unlabelled, 100 * of.accuracy_change, strict=True):
        gold = f" ({points:+z.2f} points right)" if points == points and found.reference in {"gold", *REVIEWED} else ""
        gone = f", {lost:,} task{' loses its' if lost == 1 else 's lose their'} only label" if lost else ""
        words.append(f"{changed:,} label{' changes' if changed == 1 else 's change'}{gone} without{gold}")
    return np.array(words, object)


def message(found: WorkerVerdicts, r: int, common: SharedConfusion | None = None) -> str:
    """What one could write to the worker; it accuses nobody. A confusion that many share is the guideline's fault."""
    thanks = f"Thank you for your {plural(found.n_annotations[r], 'label')}."
    verdict, cells = found.verdict[r], found.confused
    if found.train[r] and verdict != "remove":
        a, b = found.classes[cells.true[r]], found.classes[cells.given[r]]
        back = f", and {cells.back[r]:.0f} of {cells.back_of[r]:.0f} the other way round" if cells.back[r] > 0 else ""
        return (
            f"{thanks} Please read again what the guideline says about “{a}” and “{b}”: about "
            f"{cells.times[r]:.0f} of {cells.of[r]:.0f} tasks that seem to be “{a}” you called “{b}”{back}. "
            "Do you see a reason that we have missed? Then tell us."
        )
    if found.together[r]:
        return f"{thanks} Please answer every task alone: on some tasks several people gave the same unusual answer."
    if verdict == "remove":
        return (
            f"{thanks} Your labels differ from what we expected so often that we would like to understand why. Was the "
            "task clear, did the page work? Until we know, please pause."
        )
    if found.drifts[r]:
        return (
            f"{thanks} Your later labels differ more often from the others' than your first ones. Please take breaks."
        )
    if verdict == "check":
        return f"{thanks} Please read the guideline again, and ask where it is unclear: your labels often differ."
    if common is not None and verdict == "trust":
        return (
            f"{thanks} They agree well with what we know, but for one confusion: {common.times:.0f} of {common.of:.0f} "
            f"tasks that seem to be “{common.true}” you called “{common.given}”. Many workers do ({common.workers} of "
            f"{common.n_workers}), so our guideline may be unclear there. What made you choose so?"
        )
    if verdict == "trust":
        return f"{thanks} They agree well with what we know. Please go on."
    if not found.judged[r]:
        return f"{thanks} To tell you how well they fit, we need other opinions on your tasks."
    if found.only_peer[r] >= 0:
        return f"{thanks} To tell you how well they fit, we need a third opinion on your tasks."
    return f"{thanks} A few more would help us to tell you how well they fit."
