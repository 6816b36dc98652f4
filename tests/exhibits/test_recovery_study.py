"""What there is to see of a study."""

from __future__ import annotations

import numpy as np
import pytest

from crowdcore.exhibits.planted import matrices, study_errors
from crowdcore.learning.recovery.plan import RecoveryPlan, plant
from crowdcore.learning.recovery.study import assembled, bounds, judge, spelled
from tests.learning.made_up import made_up

SMALL = {"n_tasks": 120, "n_valid": 20, "n_test": 20, "n_workers": 4, "n_classes": 3}


def made_up_table(**over):
    plan = RecoveryPlan(settings=SMALL, over=over)
    rows = []
    for point in plan.points():
        crowd, head = plant(plan, point), {**spelled(point.varied), "crowd": 0}
        rows.append(bounds(crowd).assign(**head))
        rows += [
            judge(made_up(crowd, method), crowd).assign(method=f"<b>{method}", seconds=1.0, **head)
            for method in ("conal", "crowd-layer")
        ]
    return assembled(rows, list(spelled(plan.over)))


METHODS = {"<b>conal": "conal", "<b>crowd-layer": "crowd-layer"}


def test_one_crowd_is_drawn_method_by_method() -> None:
    shown = study_errors(made_up_table(), [], METHODS)
    assert [axis for axis in shown.figure.layout.to_plotly_json() if axis.startswith("xaxis")] == [
        "xaxis", "xaxis2", "xaxis3", "xaxis4",
    ]  # fmt: skip
    assert shown.figure.layout.yaxis.ticktext == ("&lt;b&gt;conal", "&lt;b&gt;crowd-layer")
    assert shown.table["method"].tolist() == ["<b>conal", "<b>crowd-layer", "identity", "counted with gold"]


@pytest.mark.parametrize(
    ("over", "x", "heads"),
    [
        ({"common_strength": [0.2, 0.6]}, "common strength", 0),
        ({"common_strength": [0.2, 0.6], "pattern": ["asymmetric", "symmetric"]}, "common strength", 2),
        ({"pattern": ["asymmetric", "symmetric"]}, "pattern", 0),
        ({"pattern": ["asymmetric", "symmetric"], "per_task": [2, 3], "proportion": [0.2, 0.5]}, "proportion", 4),
    ],
)
def test_what_varies_becomes_the_axis(over: dict, x: str, heads: int) -> None:
    shown = study_errors(made_up_table(**over), [name.replace("_", " ") for name in over], METHODS)
    titles = {axis.title.text for axis in shown.figure.select_xaxes()} - {None}
    assert titles == {x}
    assert len(shown.figure.layout.annotations) == heads
    assert len(shown.table) == 4 * np.prod([len(v) for v in over.values()])


def test_matrices_stand_beside_the_planted_one_with_their_error() -> None:
    truth = np.array([[0.8, 0.2], [0.4, 0.6]])
    off = np.array([[0.1, -0.1], [0, 0]])
    learnt = np.stack([truth + off, truth - off])
    shown = matrices("Common confusion", truth, {"conal": learnt}, ["a", "b"])
    assert shown.table["conal"].tolist() == pytest.approx(truth.ravel().tolist())
    assert any("error 0.010" in a.text for a in shown.figure.layout.annotations)
    assert shown.table[["true", "given"]].to_numpy().tolist() == [["a", "a"], ["a", "b"], ["b", "a"], ["b", "b"]]
