"""Coordinated workers: groups who agree too much or push the same mistake, and what changes without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdcore import analysis, figures
from crowdcore.analysis.verdicts.workers import TOGETHER
from crowdcore.core.errors import SettingError
from crowdcore.data.report import plural
from crowdcore.exhibits.exhibit import Exhibit, cells, escaped
from crowdcore.exhibits.verdicts import LEVEL
from crowdcore.exhibits.view import View, cached, copy_evidence
from crowdcore.exhibits.worker_words import in_crowds, listed
from crowdcore.exhibits.workers import nobody_together

if TYPE_CHECKING:
    from crowdcore.analysis import CoordinatedGroup, CoordinatedWorkers

_MOST = 5  # groups that have a sentence


@cached
def coordinated_workers(view: View) -> Exhibit:
    """Groups of workers who act together, what they push, and the labels they change. A click chooses a group."""
    groups = coordinated(view)
    table = view.renamed(groups).frame()
    words = [in_words(view, number) for number in range(1, min(len(groups.groups), _MOST) + 1)]
    figure = figures.coordinated_workers(view.drawable(groups)) if groups.groups else None
    alt = "Labels of the majority vote that change without each group of coordinated workers"
    first = () if words else (nobody_together(view),)
    notes = (*first, *words, *groups.notes)

    def click(number: int) -> dict[str, str]:
        return {"together": str(number + 1)}

    return Exhibit("coordinated-workers", "Coordinated workers", figure, table, notes, alt, click)


@cached
def coordinated_confusion(view: View, together: int = 1, *, dark: bool = False) -> Exhibit:
    """Change of the common confusion of all workers by a group; a click on a cell chooses it.

    Args:
        together: number of the group in `coordinated_workers`, from 1.
        dark: whether the page is dark.

    Raises:
        SettingError: no such group.
    """
    of = _group(view, together).influence
    title = f"Common confusion with group {together} − without"
    figure = figures.confusion(
        [of.common, of.common_without],
        [escaped(name) for name in view.classes],
        difference="only",
        dark=dark,
        title=title,
        subtitle=escaped(f"all annotations together · reference: {view.reference}"),
    )
    change = of.common - of.common_without
    table = cells(view.classes, **{"share with": of.common, "share without": of.common_without, "difference": change})
    alt = f"Change of the common confusion by group {together}: true classes downwards, given labels to the right"
    return Exhibit(f"coordinated-confusion-{together}", title, figure, table, (), alt, view.clicked)


def coordinated(view: View) -> CoordinatedWorkers:
    """Coordinated workers by the pairs and beliefs that other exhibits share, at the level of the verdicts."""
    return view.of(analysis.coordinated_workers, copy_evidence(view), level=TOGETHER * LEVEL)


def members(view: View, together: int) -> tuple[str, ...]:
    """Names of a group's members, or their pseudonyms, in order.

    Raises:
        SettingError: no such group.
    """
    return tuple(sorted(view.names_of(_group(view, together).members)))


def in_words(view: View, together: int) -> str:
    """Describe a group: its members, the evidence, the mistakes that they push and what changes without them."""
    group = _group(view, together)
    influence, names = group.influence, listed(list(members(view, together)))
    sentences = [
        f"Group {together}: {names} {' and '.join(group.found_by)}, {in_crowds(group.adjusted)}; two or more of them "
        f"labelled {plural(group.shared_tasks, 'task')}."
    ]
    pushed = [
        f"“{view.classes[a]}” called “{view.classes[b]}” on {tasks:,} ({alike:,} by two or more)"
        for a, b, tasks, alike in group.pushed[:3].tolist()
    ]
    sentences += [f"Mistakes that they share: {', '.join(pushed)}."] if pushed else []
    changed = plural(len(influence.changed), "label")
    change = f"Without them {changed} of the majority vote {'changes' if len(influence.changed) == 1 else 'change'}"
    if influence.become_right >= 0:
        change += f": {influence.become_right:,} become right, {influence.become_wrong:,} become wrong"
    return " ".join([*sentences, f"{change}."])


def _group(view: View, together: int) -> CoordinatedGroup:
    groups = coordinated(view).groups
    if not 1 <= together <= len(groups):
        must = f"be a group in 1 … {len(groups)}" if groups else "be left out: no group was found"
        raise SettingError("together", must, together)
    return groups[together - 1]
