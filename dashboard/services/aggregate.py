"""Aggregators side by side: what they found, how good it is, where they differ, what they say of a worker."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dashboard.services._cache import dataset, kept
from dashboard.services.fits import fitted, read_fit, shown_gold

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from crowdcore import CrowdDataset
    from crowdcore.analysis import Calibration, Judgement, LabelDisagreement

__all__ = [
    "about_aggregator",
    "aggregators",
    "calibration_figure",
    "calibration_table",
    "comparison",
    "differing_tasks",
    "escaped",
    "gold_to_show",
    "judgement",
    "label_disagreement",
    "label_disagreement_figure",
    "most_different",
    "objective_figure",
    "objective_table",
    "pair_in_words",
]

GOLD = "gold"


def aggregators() -> dict[str, str]:
    """Name -> title of every aggregator there is."""
    from crowdcore import aggregation

    return aggregation.aggregators.map(lambda found: found.title)


def about_aggregator(method: str) -> dict[str, Any]:
    """What a method is: ``title``, ``paper``, ``words`` (first sentence of its description) and ``schema``.

    Raises:
        SettingError: no such method.
    """
    from crowdcore import aggregation

    found = aggregation.aggregators.find(method)
    words = (found.__doc__ or "").strip().split("\n\n")[0]
    return {
        "title": found.title,
        "paper": found.paper,
        "words": " ".join(words.split()),
        "schema": found.model_json_schema(),
    }


def gold_to_show(name: str) -> int:
    """Training tasks whose gold could be shown to an aggregator."""
    return int((shown_gold(name, 100)[0] >= 0).sum())


@kept
def judgement(opened: CrowdDataset, fit: str) -> Judgement:
    """Accuracy, calibration error and warnings of a fit, by gold it was not shown."""
    from crowdcore import analysis

    return analysis.judge(opened, fitted(opened, fit), shown_gold(opened, read_fit(fit)[2])[1])


def comparison(name: str, fits: tuple[str, ...]) -> pd.DataFrame:
    """One row per fit; what rests on gold only where there is some to judge by.

    ``gained`` and ``lost`` are the tasks that the fit alone, or majority vote alone, has right.
    """
    import pandas as pd

    found, judged = [fitted(name, fit) for fit in fits], [judgement(name, fit) for fit in fits]
    columns: dict[str, Any] = {"method": fits}
    if any(j.n_judged for j in judged):
        columns["accuracy"] = [j.accuracy for j in judged]
        columns["gained"] = [j.gained for j in judged]
        columns["lost"] = [j.lost for j in judged]
        columns["calibration error"] = [j.calibration_error for j in judged]
    columns["log-likelihood"] = [f.log_likelihood[-1] if len(f.log_likelihood) else np.nan for f in found]
    columns["iterations"] = pd.array([len(f.log_likelihood) or None for f in found], "Int64")
    columns["seconds"] = [f.seconds for f in found]
    columns["converged"] = pd.array([f.converged for f in found], "boolean")
    columns["stopped"] = [f.stopped for f in found]
    columns["warnings"] = [" ".join(j.warnings) for j in judged]
    return pd.DataFrame(columns)


def _judging(opened: CrowdDataset, fits: tuple[str, ...]) -> Any:
    """Gold that none of the fits was shown: what a larger percentage leaves, a smaller one leaves too."""
    return shown_gold(opened, max(read_fit(fit)[2] for fit in fits))[1]


@kept
def label_disagreement(opened: CrowdDataset, fits: tuple[str, ...]) -> LabelDisagreement:
    """The fits in pairs; gold is the first of them where there is some to judge by."""
    from crowdcore import analysis

    judging = _judging(opened, fits)
    gold = {GOLD: analysis.Reference(GOLD, judging)} if (judging >= 0).any() else {}
    return analysis.label_disagreement(opened, gold | {fit: _reference(opened, fit) for fit in fits}, judging)


def _reference(opened: CrowdDataset, fit: str) -> Any:
    from crowdcore.analysis import Reference

    found = fitted(opened, fit)
    return Reference(fit, found.labels, found.posterior)


def most_different(found: LabelDisagreement) -> tuple[int, int]:
    """The two fits that differ on most tasks; gold is one of them only beside a single fit."""
    first = 1 if found.names[0] == GOLD and len(found.names) > 2 else 0
    differ = np.triu(found.differ[first:, first:], 1)
    one, other = np.unravel_index(int(differ.argmax()), differ.shape) if differ.any() else (0, 1)
    return int(one) + first, int(other) + first


def pair_in_words(found: LabelDisagreement, first: int, second: int) -> str:
    """Which of two is right more often where they differ, as far as gold tells."""
    from crowdcore.analysis.evaluation.paired_tests import LEVEL
    from crowdcore.analysis.labels.label_disagreement import p_in_words

    names = found.names
    if GOLD in (names[first], names[second]):
        return "Tasks that the method has wrong, most confident first."
    if not (found.n_judged[first] and found.n_judged[second]):
        return "Tasks are listed most confident first."
    one, other, p = (table[first, second] for table in (found.row_right, found.row_right.T, found.p_value))
    verdict = "" if p != p else f" Such a gap is {'' if p <= LEVEL else 'not '}significant ({p_in_words(p)})."
    right = f"By gold, the first is right on {one:,} of them, the second on {other:,}."
    return f"{right}{verdict} Tasks are listed most confident first."


@kept
def label_disagreement_figure(opened: CrowdDataset, fits: tuple[str, ...]) -> go.Figure:
    """The heatmap of the pairs."""
    from crowdcore import figures

    found = label_disagreement(opened, fits)
    return figures.label_disagreement(replace(found, names=tuple(map(escaped, found.names))))


@kept
def differing_tasks(opened: CrowdDataset, fits: tuple[str, ...], first: str, second: str) -> pd.DataFrame:
    """The tasks that two of the fits (or a fit and gold) label differently; index = task number."""
    from crowdcore import analysis

    judging = _judging(opened, fits)
    one, other = (
        analysis.Reference(GOLD, judging) if which == GOLD else _reference(opened, which) for which in (first, second)
    )
    frame = analysis.label_difference(opened, one, other, judging)
    if GOLD in (first, second):
        frame = frame.drop(columns=[GOLD, "first_probability" if first == GOLD else "second_probability"])
    elif not (judging >= 0).any():
        frame = frame.drop(columns=GOLD)
    return frame


def _calibrations(opened: CrowdDataset, fits: tuple[str, ...]) -> dict[str, Calibration]:
    from crowdcore import analysis

    judging = _judging(opened, fits)
    if not (judging >= 0).any():
        return {}
    return {fit: analysis.calibration(fitted(opened, fit), judging) for fit in fits}


@kept
def calibration_figure(opened: CrowdDataset, fits: tuple[str, ...]) -> go.Figure | None:
    """Reliability curves, or None where no gold judges them."""
    from crowdcore import figures

    curves = _calibrations(opened, fits)
    return figures.calibration({escaped(fit): curve for fit, curve in curves.items()}) if curves else None


def calibration_table(name: str, fits: tuple[str, ...]) -> pd.DataFrame:
    """The numbers behind the reliability curves."""
    import pandas as pd

    curves = _calibrations(dataset(name), fits)
    frames = [curve.frame().assign(method=fit) for fit, curve in curves.items()]
    frame = pd.concat(frames, ignore_index=True)
    return frame[["method", *frame.columns.drop("method")]]


@kept
def objective_figure(opened: CrowdDataset, fits: tuple[str, ...], gap: bool) -> go.Figure | None:
    """Objective by iteration, or its distance to the end; None where no fit iterates towards one."""
    from crowdcore import figures

    curves = {escaped(fit): fitted(opened, fit) for fit in fits}
    if not any(len(found.log_likelihood) for found in curves.values()):
        return None
    return figures.log_likelihood(curves, opened.n_annotations, gap=gap)


def objective_table(name: str, fits: tuple[str, ...]) -> pd.DataFrame:
    """Objective of each fit in each iteration."""
    import pandas as pd

    values = {fit: fitted(name, fit).log_likelihood for fit in fits}
    columns = {"method": np.repeat(list(values), [len(v) for v in values.values()])}
    columns["iteration"] = np.concatenate([np.arange(1, len(v) + 1) for v in values.values()])
    return pd.DataFrame({**columns, "log_likelihood": np.concatenate(list(values.values()))})


def escaped(text: object) -> str:
    """Plotly reads tags in names."""
    return html.escape(str(text), quote=False)
