"""What there is to see of a recovery study, for the page and the command line: its figure, and truth beside learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from crowdcore import figures
from crowdcore.core.drawable import escaped
from crowdcore.core.types import FloatArray
from crowdcore.exhibits.exhibit import Exhibit, cells
from crowdcore.learning.recovery.measures import BOUNDS, MEASURES, NOTES, summary

_DRAWN = ("accuracy", "F1 of spans", "common error", "own error", "effective error")


def errors(table: pd.DataFrame, varied: Sequence[str], methods: Mapping[str, str], subtitle: str = "") -> Exhibit:
    """Accuracy and errors of every method; along what varies, if anything does.

    Args:
        table: of a `RecoveryStudy`.
        varied: names of the columns that set crowds apart.
        methods: what each is called -> registered name.
        subtitle: which crowds.
    """
    measures = {name: MEASURES[name] for name in _DRAWN if table[name].notna().any()}
    shown = table.assign(method=table["method"].map(escaped))
    called = {escaped(name): method for name, method in methods.items()}
    several = [name for name in varied if table[name].nunique() > 1]
    title = "Accuracy, and errors (further left is better)"
    if several:
        title = "Accuracy (higher is better) and errors (lower is better)"
        numbers = [name for name in several if table[name].dtype.kind in "if"]
        x = (numbers or several)[-1]
        others = [name for name in several if name != x]
        column = ", ".join(others)
        if len(others) > 1:
            shown = shown.assign(**{column: [", ".join(map(str, row)) for row in shown[others].to_numpy(object)]})
        if x not in numbers:
            shown = shown.assign(**{x: shown[x].astype(str)})
        figure = figures.recovery_along(
            shown, x, measures, methods=called, columns=column, bounds=BOUNDS, title=title, subtitle=escaped(subtitle)
        )
    else:
        figure = figures.recovery_errors(
            shown, measures, methods=called, bounds=BOUNDS, title=title, subtitle=escaped(subtitle)
        )
    return Exhibit("recovery", "Who recovered what", figure, summary(table, varied), NOTES)


def matrices(
    what: str, truth: FloatArray, learnt: Mapping[str, FloatArray], classes: Sequence[str], subtitle: str = ""
) -> Exhibit:
    """The planted matrix beside those that methods learnt, on one scale, each with its error.

    Args:
        what: whose confusion it is.
        truth: (C, C).
        learnt: name -> (S, C, C) one per seed; their mean is drawn, and the mean of their errors told.
        classes: names.
        subtitle: which crowd.
    """
    means = {name: np.asarray(found.mean(0)) for name, found in learnt.items()}
    errors = {name: float(((found - truth) ** 2).sum(-1).mean()) for name, found in learnt.items()}
    figure = figures.confusion(
        [truth, *means.values()],
        [escaped(c) for c in classes],
        names=["planted", *(f"{escaped(name)}<br>error {errors[name]:.3f}" for name in means)],
        scale_max=1.0,
        title=escaped(what),
        subtitle=escaped(subtitle),
    )
    figure.update_annotations(align="left").update_layout(margin_t=104)
    table = cells(classes, **{"planted": truth, **means})
    notes = (
        "Error: squared distance between a row of the learnt and of the planted matrix, mean over rows and seeds.",
    )
    return Exhibit("planted-and-learnt", what, figure, table, notes)
