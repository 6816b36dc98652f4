"""Figures of who recovered what: every number of the table is where it should be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdcore import figures
from crowdcore.core.errors import SettingError

MEASURES = {"common error": "Error of the common confusion", "effective error": "Error of the effective confusions"}
METHODS = {"conal, lr 1": "conal", "trace": "trace"}
BOUNDS = ("identity", "counted with gold")


def table(strengths: tuple[float, ...] = (0.4,)) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = []
    for strength in strengths:
        for method in (*METHODS, *BOUNDS):
            for crowd in range(2):
                common = rng.random() if method in ("conal, lr 1", "identity") else np.nan
                rows.append((strength, method, crowd, 0, common, rng.random()))
    return pd.DataFrame(rows, columns=["strength", "method", "crowd", "seed", *MEASURES])


def test_every_crowd_is_a_point_and_bounds_are_lines_at_their_mean() -> None:
    shown = table()
    fig = figures.recovery_errors(shown, MEASURES, methods=METHODS, bounds=BOUNDS)
    points = [t for t in fig.data if t.mode == "markers" and len(t.x) > 1]
    drawn = sorted(value for trace in points for value in trace.x)
    expected = shown[shown["method"].isin(METHODS)]
    assert drawn == pytest.approx(sorted(expected[list(MEASURES)].stack().dropna()))
    lines = {(t.name, t.xaxis): t.x[0] for t in fig.data if t.mode == "lines"}
    assert lines[("counted with gold", "x2")] == pytest.approx(
        shown.loc[shown["method"] == "counted with gold", "effective error"].mean()
    )
    assert ("counted with gold", "x") not in lines
    assert fig.layout.yaxis.ticktext == tuple(METHODS)
    assert "–" in [a.text for a in fig.layout.annotations]


def test_curves_go_along_the_setting_with_a_column_for_another() -> None:
    shown = pd.concat([table((0.4, 0.8)).assign(pattern=p) for p in ("asymmetric", "symmetric")])
    fig = figures.recovery_along(shown, "strength", MEASURES, methods=METHODS, columns="pattern", bounds=BOUNDS)
    trace = next(t for t in fig.data if t.name == "trace" and t.yaxis == "y3")
    mine = shown.query("method == 'trace' and pattern == 'asymmetric'").groupby("strength")["effective error"].mean()
    assert list(trace.x) == [0.4, 0.8]
    assert list(trace.y) == pytest.approx(mine.tolist())
    assert [a.text for a in fig.layout.annotations] == ["<b>pattern: asymmetric</b>", "<b>pattern: symmetric</b>"]
    assert sum(bool(t.showlegend) for t in fig.data) == 4


def test_a_measure_that_is_not_there_is_refused() -> None:
    with pytest.raises(SettingError, match="own error"):
        figures.recovery_errors(table(), {"own error": "…"}, methods=METHODS)
