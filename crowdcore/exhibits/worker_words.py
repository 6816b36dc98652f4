"""Sentences about each worker, the same on every page, their certainty, and a message to send."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdcore import analysis
from crowdcore.analysis.reference import REVIEWED
from crowdcore.analysis.verdicts import LEVEL
from crowdcore.analysis.verdicts.workers import DRIFTING
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import cached

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crowdcore.analysis import WorkerVerdicts
    from crowdcore.analysis.coordinated.groups import Group
    from crowdcore.core.types import AnyArray
    from crowdcore.data.dataset import CrowdDataset

_SINGLE = 0.8  # share of one label from which it is mentioned
_SOON = 10  # times as many labels as the worker has given, up to which more of them are asked for
_NARROW = 0.15  # width of the interval of a skill, below which more labels would not decide
_TO_DO = {
    "remove": "Leave the labels out, and ask what went wrong.",
    "together": "Let both work alone, and count equal labels once; labels do not show who copied.",
    "falls": "Look at the latest labels first.",
    "train": "Show examples of both.",
    "weak": "Check a sample of the labels.",
    "watch": "Look again after more labels.",
}


class SharedConfusion(NamedTuple):
    """Confusion of ``true`` with ``given`` by a worker, in ``times`` of ``of`` labels.

    ``workers`` of ``n_workers`` make it, ``again`` of these again and again.
    """

    true: str
    given: str
    times: float
    of: float
    workers: int
    again: int
    n_workers: int

    @property
    def reason(self) -> str:
        """Describe the confusion in a sentence."""
        again = f", {self.again} of them again and again" if self.again else ""
        return (
            f"Calls “{self.true}” “{self.given}” on {self.times:.0f} of {self.of:.0f} tasks, as {self.workers} of "
            f"{self.n_workers} workers do{again}: a matter of the guideline."
        )


def reasons(
    result: WorkerVerdicts, common: Mapping[int, SharedConfusion], lean: Mapping[int, str] = MappingProxyType({})
) -> list[str]:
    """(n_workers,) reason of each worker's verdict, and what to do; names are those of ``worker_ids``.

    Args:
        result: the verdicts.
        common: worker -> the worker's part in a mistake of the guideline.
        lean: worker -> sentence on being strict or lenient.
    """
    n = len(result.verdict)
    hidden = np.full(n, np.nan) if result.drift is None else result.drift.hidden(DRIFTING * LEVEL)
    words = []
    for r in range(n):
        more = [*([common[r].reason] if r in common else []), *([lean[r]] if r in lean else [])]
        more = [] if result.verdict[r] == "remove" else more
        words.append(" ".join([*_reason(result, r, hidden[r], bool(more)), *more]))
    return words


@cached
def leans_in_words(dataset: CrowdDataset) -> dict[int, str]:
    """Worker -> sentence on how strict or lenient the worker is in ordered classes."""
    if dataset.sentences is not None or not analysis.is_ordered(dataset):
        return {}
    result, words = analysis.worker_lean(dataset), {}
    for r in np.flatnonzero(result.leans):
        how, sign = ("Strict", -1) if result.shift[r] < 0 else ("Lenient", 1)
        ends = sorted(sign * np.array([result.low[r], result.high[r]]))
        words[int(r)] = (
            f"{how} by {sign * result.shift[r]:.1f} grades beside the others on the same tasks ({ends[0]:.1f} to "
            f"{ends[1]:.1f}); labels can be corrected for it."
        )
    return words


def _reason(result: WorkerVerdicts, r: int, hidden: float, more: bool) -> list[str]:
    """Why a worker got the verdict; ``more`` is to be said of the worker afterwards."""
    verdict, n = result.verdict[r], _labels(result, r)
    if result.n_annotations[r] == 0:
        return ["Gave no label."]
    if not result.judged[r]:
        return ["Cannot be judged: there is neither gold nor another label on these tasks."]
    knows = knowledge(result, r)
    if result.only_peer[r] < 0:
        knows += f" of the tasks, the typical worker on {_percent(result.typical)}"
    words, to_do = [], []
    if verdict == "remove":
        words.append(f"Shows no knowledge in {n}: {knows}.")
        if result.favourite_share[r] >= _SINGLE:
            words.append(f"{_percent(result.favourite_share[r])} of them are “{result.classes[result.favourite[r]]}”.")
        to_do.append("remove")
    if result.copies.partner[r] >= 0:
        pair = result.copies
        words.append(
            f"Gave the same label as {result.worker_ids[pair.partner[r]]} on {pair.agreed[r]:,} of {pair.both[r]:,} "
            f"tasks; the others' labels explain {pair.expected[r]:.0f}."
        )
        to_do.append("together")
    words += [_group(result, group) for group in result.groups if r in group.members and len(group.members) > 2]
    if result.drifts[r]:
        words.append(f"{_fall(result, r, 'Got worse')}, which tasks and the other workers do not explain.")
        to_do.append("falls")
    if result.train[r] and verdict != "remove":
        words.append(f"{_confused(result, r)}.")
        to_do.append("train")
    if words:
        return [*words, *_speed(result, r), *(_TO_DO[what] for what in to_do)]
    if verdict == "underpowered":
        return [*_too_few(result, r, knows), *_speed(result, r)]
    if verdict == "trust":
        points = f" A fall of less than {100 * hidden:.0f} points could hide in them." if hidden == hidden else ""
        speed = _speed(result, r)
        return [f"{'Good in' if more or speed else 'Nothing found among'} {n}: {knows}.{points}", *speed]
    if verdict == "watch":
        of = f"of 100 {{}}, {{}} look like this by chance ({knows})."
        if result.may_fall[r]:
            assert result.drift is not None
            fall = _fall(result, r, "May be getting worse")
            words.append(f"{fall}; {of.format('workers who stay as good', _of_100(float(result.drift.p_value[r])))}")
        if result.may_copy[r]:
            pair = result.alike
            words.append(
                f"Gave the same label as {result.worker_ids[pair.partner[r]]} on {pair.agreed[r]:,} of "
                f"{pair.both[r]:,} tasks, where the others' labels explain {pair.expected[r]:.0f}; "
                f"{of.format('workers who work alone', _of_100(float(pair.adjusted[r])))}"
            )
        if result.may_confuse[r]:
            words.append(f"{_confused(result, r)}, if the few who say otherwise are right: gold would tell.")
        return [*words, *_speed(result, r), _TO_DO["watch"]]
    weak = f"{'Weak, and perhaps guessing' if result.low[r] <= 0 else 'Weak'}: {knows}."
    if result.high[r] < 0:
        weak = "Agrees with what is taken for the truth less often than guesses do: may have mixed up the classes."
    return [weak, *_speed(result, r), _TO_DO["weak"]]


def _confused(result: WorkerVerdicts, r: int) -> str:
    cells = result.confused
    true, given = result.classes[cells.true[r]], result.classes[cells.given[r]]
    back = f", and the other way round on {cells.back[r]:.0f} of {cells.back_of[r]:.0f}" if cells.back[r] > 0 else ""
    return (
        f"Calls “{true}” “{given}” on about {cells.times[r]:.0f} of {cells.of[r]:.0f} tasks "
        f"({_percent(cells.times[r] / cells.of[r])}; the others {_percent(cells.others[r])}){back}"
    )


def _too_few(result: WorkerVerdicts, r: int, knows: str) -> list[str]:
    if len(result.classes) == 1:
        return ["With only one class, no label can be wrong."]
    if result.only_peer[r] >= 0:
        return [
            f"Only {result.worker_ids[result.only_peer[r]]} labelled the same tasks. Where the two differ, labels do "
            "not tell who is wrong: gold would, or a third worker."
        ]
    more = result.needed[r] - result.judged[r]
    if result.high[r] - result.low[r] <= _NARROW:
        return [f"Between weak and good, whose limit is {_percent(result.trust_above)}: {knows}."]
    soon = more <= _SOON * result.n_annotations[r]
    such = "more label" if result.judged[r] >= result.n_annotations[r] else "more such label"
    enough = [f"About {plural(max(round(more), 1), such)} would decide."] if soon else []
    return [f"Too few to decide, {_labels(result, r)}{f': {knows}' if np.isfinite(result.low[r]) else ''}.", *enough]


def _labels(result: WorkerVerdicts, r: int) -> str:
    """The labels of a worker, or those of them that the verdict rests on."""
    n, judged = plural(int(result.n_annotations[r]), "label"), int(result.judged[r])
    return n if judged >= result.n_annotations[r] else f"the {judged:,} of {n} that can be judged"


def knowledge(result: WorkerVerdicts, r: int) -> str:
    """Phrase the interval of the skill, in which guesses are no knowledge: ``knows the answer on 0 to 11 %``."""
    low, high = (max(100 * end, 0.0) for end in (result.low[r], result.high[r]))
    if result.only_peer[r] >= 0:
        return f"knows the answer on {low**2 / 100:.0f} % or more if the two err independently"
    return f"knows the answer on {low:.0f} to {high:.0f} %" if high >= 0.5 else "knows the answer on 0 %"


def how_sure(result: WorkerVerdicts, r: int) -> str:
    """Certainty of the verdict on a worker, in a few words."""
    if result.verdict[r] != "remove" and result.copies.partner[r] >= 0:
        return in_crowds(float(result.copies.adjusted[r]))
    if result.verdict[r] != "remove" and result.drift is not None and (result.drifts[r] or result.may_fall[r]):
        return in_crowds(float(result.drift.adjusted[r]))
    if result.train[r] and result.verdict[r] == "train":
        return f"at least {_percent(result.confused.low[r])} of such tasks"
    return knowledge(result, r) if np.isfinite(result.low[r]) else "no evidence"


def in_crowds(p: float) -> str:
    """Explain a corrected p-value: how many crowds have, by chance, a worker who looks like this."""
    shown = "fewer than 1 of 1,000" if p < 0.001 else f"{min(1000 * p, 1000):,.0f} of 1,000"
    return f"by chance in {shown} crowds"


def _of_100(p: float) -> str:
    return "fewer than 1" if p < 0.01 else f"{100 * p:.0f}"


def _fall(result: WorkerVerdicts, r: int, words: str) -> str:
    assert result.drift is not None
    drift = result.drift
    right = "right" if by_gold(result) else "likely right by the others' labels"
    before, after = _percent(drift.before[r]), _percent(drift.after[r])
    if drift.steady[r]:
        return f"{words} steadily: {before} {right} in the first half, {after} in the second"
    return f"{words} after the first {drift.at[r]:,} labels: {before} {right}, then {after}"


def by_gold(result: WorkerVerdicts) -> bool:
    """Return whether people judged the truth."""
    return result.reference in {"gold", *REVIEWED}


def _group(result: WorkerVerdicts, group: Group) -> str:
    names = listed(sorted(map(str, result.worker_ids[group.members])))
    return f"One of {len(group.members)} workers who {' and '.join(group.found_by)}: {names}."


def listed(names: list[str], most: int = 8) -> str:
    """List names in a sentence; of many, the first ones."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _speed(result: WorkerVerdicts, r: int) -> list[str]:
    speed = result.speed
    if speed is None or not speed.too_fast[r]:
        return []
    share = _percent(speed.fast[r])
    return [f"{share} of {speed.n[r]} answers took less than a fifth of what their tasks usually take."]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def changes_without(result: WorkerVerdicts) -> AnyArray:
    """(n_workers,) changes of the majority vote without each worker, in words."""
    words, without = [], result.without
    for changed, lost, points in zip(without.changed, without.unlabelled, 100 * without.accuracy_change, strict=True):
        gold = f" ({points:+z.2f} points right)" if points == points and by_gold(result) else ""
        gone = f", {lost:,} task{' loses its' if lost == 1 else 's lose their'} only label" if lost else ""
        words.append(f"{changed:,} label{' changes' if changed == 1 else 's change'}{gone} without{gold}")
    return np.array(words, object)


def message(result: WorkerVerdicts, r: int, common: SharedConfusion | None = None) -> str:
    """Message to the worker, which accuses nobody; a confusion that many share is the guideline's fault."""
    thanks = f"Thank you for your {plural(result.n_annotations[r], 'label')}."
    verdict, cells = result.verdict[r], result.confused
    if result.train[r] and verdict != "remove":
        a, b = result.classes[cells.true[r]], result.classes[cells.given[r]]
        back = f", and {cells.back[r]:.0f} of {cells.back_of[r]:.0f} the other way round" if cells.back[r] > 0 else ""
        return (
            f"{thanks} Please read again what the guideline says about “{a}” and “{b}”: about "
            f"{cells.times[r]:.0f} of {cells.of[r]:.0f} tasks that seem to be “{a}” you called “{b}”{back}. "
            "Do you see a reason that we have missed? Then tell us."
        )
    if result.together[r]:
        return (
            f"{thanks} Please answer every task alone: on some tasks two people gave the same answer unusually often."
        )
    if verdict == "remove":
        return (
            f"{thanks} Your labels differ from what we expected so often that we would like to understand why. Was the "
            "task clear, did the page work? Until we know, please pause."
        )
    if result.drifts[r]:
        less = "are less often right" if by_gold(result) else "agree less often with the others'"
        return f"{thanks} Your later labels {less} than your first ones. Please take breaks."
    if verdict == "watch":
        return f"{thanks} We look at the next ones before we say how well they fit."
    if verdict == "check":
        return f"{thanks} Please read the guideline again, and ask where it is unclear: your labels often differ."
    if common is not None and verdict in ("trust", "watch", "underpowered"):
        return (
            f"{thanks} {common.times:.0f} of {common.of:.0f} tasks that seem to be “{common.true}” you called "
            f"“{common.given}”. Many workers do ({common.workers} of "
            f"{common.n_workers}), so our guideline may be unclear there. What made you choose so?"
        )
    if verdict == "trust":
        return f"{thanks} They agree well with what we know. Please go on."
    if not result.judged[r]:
        return f"{thanks} To tell you how well they fit, we need other opinions on your tasks."
    if result.only_peer[r] >= 0:
        return f"{thanks} To tell you how well they fit, we need a third opinion on your tasks."
    return f"{thanks} A few more would help us to tell you how well they fit."
