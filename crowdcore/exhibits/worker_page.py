"""One worker: the verdict, the worst confusions, partners, accuracy over time, and the message one could send."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis.statistics import row_shares
from crowdcore.analysis.workers.speed import BY_GAPS, CHANGED, RULE
from crowdcore.exhibits.exhibit import Exhibit, cell_of
from crowdcore.exhibits.fits import describe_intervals, sampled
from crowdcore.exhibits.verdicts import common_confusions, worker_verdicts, workers_judged
from crowdcore.exhibits.view import View, cached
from crowdcore.exhibits.worker_words import changes_without, message
from crowdcore.exhibits.workers import describe_pairs, worker_pairs


@cached
def worker_verdict(view: View, worker: str) -> Exhibit:
    """Verdict on one worker, its reason, what changes without, and a message to send."""
    verdicts, r = view.renamed(workers_judged(view)), view.worker_number(worker)
    row = {
        "worker": worker,
        "verdict": verdicts.verdict[r],
        "reason": worker_verdicts(view).table.loc[r, "reason"],
        "skill κ": verdicts.skill[r],
        "κ low": verdicts.low[r],
        "κ high": verdicts.high[r],
        "labels": verdicts.n_annotations[r],
        "without": changes_without(verdicts)[r],
        "message": message(verdicts, r, common_confusions(view).get(r)),
    }
    return Exhibit("worker-verdict", f"Verdict on {worker}", None, pd.DataFrame([row], index=[r]), (verdicts.truth,))


@cached
def worker_mistakes(view: View, worker: str) -> Exhibit:
    """Confusions of one worker, the most frequent first; a click leads to their tasks."""
    confusion, r = view.of(analysis.worker_confusion), view.worker_number(worker)
    own = confusion.counts[r]
    others = confusion.crowd_counts - own
    rest = row_shares(others)
    true, given = np.nonzero((own > 0) & ~np.eye(len(view.classes), dtype=bool))
    order = np.argsort(-own[true, given], kind="stable")
    at = true[order], given[order]
    names, ends = np.array(view.classes, object), sampled(view.dataset, view.truth if view.truth.checked else None)
    table = pd.DataFrame(
        {
            "true": names[at[0]],
            "given": names[at[1]],
            "labels": own[at].round(1),
            "of": own.sum(1)[at[0]].round(1),
            "share": confusion.matrices[r][at],
            "share low": ends.low[r][at],
            "share high": ends.high[r][at],
            "share of others": rest[at],
        }
    )
    notes = (describe_intervals(ends, uncertain=not view.truth.checked),)
    return Exhibit("worker-mistakes", f"What {worker} confuses", None, table, notes, click=cell_of(table))


@cached
def worker_partners(view: View, worker: str) -> Exhibit:
    """Workers who share mistakes with this one, the least probable by chance first."""
    every = worker_pairs(view)
    own = every.table[(every.table["worker_a"] == worker) | (every.table["worker_b"] == worker)]
    other = np.where(own["worker_a"] == worker, own["worker_b"], own["worker_a"])
    kept = own.drop(columns=["worker_a", "worker_b"])
    kept.insert(0, "other", other)
    table = kept.reset_index(drop=True)

    def click(row: int) -> dict[str, str]:
        return {"worker": worker, "other": str(table["other"][row]), "view": "Distances"}

    title = f"Who makes the same mistakes as {worker}"
    notes = (describe_pairs(view, table, worker), *every.notes[1:])
    return Exhibit("worker-partners", title, None, table, notes, click=click)


@cached
def worker_over_time(view: View, worker: str) -> Exhibit:
    """Accuracy of one worker over time, with intervals; an empty table where labels have no times."""
    accuracies = view.of(analysis.worker_over_time, worker=np.intp(view.worker_number(worker)))
    title = f"{worker} over time"
    if accuracies is None:
        none = pd.DataFrame({"times": ["none: the data have no column “timestamp”"]})
        return Exhibit("worker-over-time", title, None, none)
    figure = figures.worker_over_time(view.drawable(replace(accuracies, name=worker)))
    how = "Share of right labels" if view.truth.checked else "Mean probability of the labels given the others' labels"
    notes = (f"{how}, in blocks by time, with 95 % intervals.",)
    return Exhibit("worker-over-time", title, figure, accuracies.frame(), notes, f"Accuracy of {worker} over time")


@cached
def worker_speed(view: View) -> Exhibit:
    """Answer times of each worker beside the others', too-fast answers and changes of speed."""
    speeds = analysis.worker_speed(view.dataset)
    title = "Speed of the workers"
    if speeds is None:
        return Exhibit(
            "worker-speed", title, None, pd.DataFrame({"seconds": ["none: no column “seconds” or “timestamp”"]})
        )
    table = view.in_order(view.renamed(speeds).frame().sort_values("fast", ascending=False, kind="stable"))
    gaps = view.dataset.extra is not None and "seconds" not in view.dataset.extra
    notes = (RULE, *([BY_GAPS] if gaps else []))
    return Exhibit("worker-speed", title, None, table, notes, click=view.to_worker)


@cached
def worker_speed_over_time(view: View, worker: str) -> Exhibit:
    """Answer times of one worker over time, beside the others on the same tasks."""
    speed = analysis.worker_speed_over_time(view.dataset, worker=np.intp(view.worker_number(worker)))
    title = f"Speed of {worker}"
    if speed is None:
        none = pd.DataFrame({"seconds": ["none: it needs the column “timestamp”"]})
        return Exhibit("worker-speed-over-time", title, None, none)
    speed = replace(speed, name=worker)
    change = "No change of speed is significant."
    if speed.change >= 0:
        change = (
            f"After {speed.change:,} answers the speed changes from {speed.before:.2f} to {speed.after:.2f} times the "
            "others' on the same tasks."
        )
    figure = figures.worker_speed_over_time(view.drawable(speed))
    level = f"Tested at {CHANGED:g} over all workers (Holm), a level of its own, beside that of the verdicts."
    notes = (f"{change} {level}",)
    return Exhibit("worker-speed-over-time", title, figure, speed.frame(), notes, f"Speed of {worker} over time")
