"""Tags of tokens whose errors are known: which aggregators find truth, confusions and kinds of errors again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from crowdcore import analysis, figures
from crowdcore.analysis import TagRecovery
from crowdcore.analysis.recovery.planted import KINDS
from crowdcore.core.drawable import escaped
from crowdcore.data.dataset import CrowdDataset
from crowdcore.exhibits import recovery_study
from crowdcore.exhibits.exhibit import Exhibit
from crowdcore.exhibits.fits import OF_TAGS, read_fit
from crowdcore.exhibits.view import View, cached, named

COMPARED = (*OF_TAGS[:2], "dawid-skene", *OF_TAGS[2:])
"""Aggregators to begin with."""
_MEASURES = {
    "f1": "F1 of spans",
    "missed error": "missed",
    "boundary error": "boundaries",
    "type error": "types",
}
_NOTES = (
    "F1: of the spans that the aggregator infers. The other columns are errors of the workers' statistics if its tags "
    "replace the true ones (0 for the true tags). Missed, boundaries, types: shares of the true spans, root mean "
    "square over workers. Confusions of tags: mean squared distance between rows.",
)


@cached
def tag_recovery(view: View, compared: tuple[str, ...] = COMPARED) -> Exhibit:
    """How near do aggregators come to the true tags, and to what gold says of the workers' errors?

    Args:
        view: of a crowd that tags tokens, with gold.
        compared: names of fits.
    """
    found = {name: _recovered(view.dataset, name) for name in compared}
    rows = [
        {
            "method": name,
            "f1": one.scores.f1,
            **{f"{kind} error": one.rate_error(kind) for kind in KINDS},
            "crowd confusion error": one.crowd_error,
            "own confusion error": one.own_error,
        }
        for name, one in found.items()
    ]
    table = pd.DataFrame(rows)
    figure = figures.recovery_errors(
        table.assign(method=table["method"].map(escaped), crowd=0, seed=0),
        _MEASURES,
        methods={escaped(name): read_fit(name)[0] for name in found},
        title="F1 (further right is better) and errors (further left is better)",
        subtitle=escaped(view.dataset.name),
    )
    alt = "F1 of spans, and errors of what is found of the workers, a row per aggregator"
    return Exhibit("tag-recovery", "Who recovered what", figure, table, _NOTES, alt)


@cached
def recovered_tags(view: View, fit: str, worker: str = "") -> Exhibit:
    """Tags by true tag, beside those by the tags of a fit.

    Args:
        view: of a crowd that tags tokens, with gold.
        fit: whose tags stand in the place of the true ones.
        worker: whose tags; empty: of all workers.
    """
    found = _recovered(view.dataset, fit)
    at = view.worker_number(worker) if worker else -1
    planted, learnt = (one.matrices[at] if worker else one.crowd for one in (found.true, found.found))
    what = f"Tags of {worker or 'all workers'}"
    return recovery_study.matrices(
        what, planted, {fit: learnt[None]}, view.classes, "by true tags, and by inferred ones"
    )


@cached
def recovered_errors(view: View, fit: str) -> Exhibit:
    """Share of the true spans that each worker missed, cut otherwise or took for another type, by gold and by a fit.

    Args:
        view: of a crowd that tags tokens, with gold.
        fit: whose tags stand in the place of the true ones.
    """
    table = _recovered(view.dataset, fit).frame()
    number = {str(worker): n for n, worker in enumerate(view.dataset.worker_ids)}
    workers = [number[str(worker)] for worker in table["worker"]]
    table["worker"] = view.names_of(np.array(workers))
    truth = view.dataset.truth
    if truth is not None and truth.worker_role and not view.hidden:
        table.insert(1, "role", [truth.worker_role[n] for n in workers])
    return Exhibit("recovered-errors", f"Errors of the workers, recovered by {fit}", None, view.in_order(table), ())


@cached
def _recovered(crowd: CrowdDataset, name: str) -> TagRecovery:
    return analysis.tag_recovery(crowd, named(crowd, name))
