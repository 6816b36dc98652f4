"""Types as a script outside this repository sees them, as `py.typed` promises."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Union, get_type_hints

import crowdcore as cc
from crowdcore.aggregation import aggregators
from crowdcore.learning import methods
from crowdcore.learning.api import TrainKeywords
from crowdcore.learning.methods import RATINGS as OF_RATINGS
from crowdcore.learning.settings import TrainSettings
from tests.packaging.conftest import ROOT

PACKAGES = {name: getattr(cc, name) for name in cc.__all__ if hasattr(getattr(cc, name), "__path__")}
PUBLIC = [f"cc.{name}" for name in cc.__all__] + [f"cc.{p}.{n}" for p, m in PACKAGES.items() for n in m.__all__]
RIGHT = """
ds = cc.load_dataset("demo")
result = cc.learning.train(ds, method="conal", seeds=1, epochs=1, embedding=10)
cc.aggregation.DawidSkene(smoothing=0.1).fit(ds).posterior.shape
cc.figures.shared_mistakes(cc.analysis.shared_mistakes(ds, reference="gold"))
assert_type(cc.aggregation.MACE().fit_predict("votes.csv"), "Series[str]")
assert_type(cc.analysis.worker_verdicts("votes.csv"), cc.analysis.WorkerVerdicts)
assert_type(cc.analysis.shared_mistakes(ds, cc.aggregation.MACE().fit(ds)), cc.analysis.SharedMistakes)
assert_type(cc.analysis.omega_ranking(result), cc.analysis.OmegaRanking)
assert_type(cc.analysis.recovered(result), cc.analysis.RecoveredConfusion)
assert_type(cc.analysis.agreement(ds, n_resamples=9), cc.analysis.Agreement)
settings_of_a_plugin: dict[str, Any] = {"depth": 3}
cc.learning.train(ds, method="acme", **settings_of_a_plugin)
"""
WRONG = {
    'cc.learning.train(ds, metod="conal")': 'Unexpected keyword argument "metod"',
    "cc.analysis.agreement(ds, n_resample=9)": "No overload variant",
    'cc.learning.train(ds, epochs="ten")': 'Argument "epochs"',
    'cc.learning.train(ds, variant="papr")': 'Argument "variant"',
    "cc.learning.trian(ds)": 'Module has no attribute "trian"',
    "cc.aggregation.DawidSkeen()": 'has no attribute "DawidSkeen"',
    "cc.aggregation.DawidSkene(smoothin=0.1)": 'Unexpected keyword argument "smoothin"',
    'cc.figures.shared_mistakes(cc.analysis.shared_mistakes(ds), layer="percents")': "incompatible type",
    "result.accurracy()": 'has no attribute "accurracy"',
}
CONFIG = """
[mypy]
follow_imports = silent
[mypy-torch.*,torchvision.*,pandas.*,plotly.*,scipy.*,mlflow.*,distributed.*,dask.*,sklearn.*,numba.*,optuna.*,rich.*]
follow_imports = skip
follow_imports_for_stubs = True
ignore_missing_imports = True
"""


def test_public_names_are_typed_and_typing_errors_are_found(tmp_path: Path) -> None:
    lines = [
        "from typing import Any, assert_type",
        "from pandas import Series",
        "import crowdcore as cc",
        *RIGHT.strip().splitlines(),
        *(f"reveal_type({name})" for name in PUBLIC),
    ]
    first_wrong = len(lines) + 1
    (tmp_path / "outside.py").write_text("\n".join([*lines, *WRONG]) + "\n")
    (tmp_path / "mypy.ini").write_text(CONFIG)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", "outside.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    matches = re.findall(r"^outside\.py:(\d+): (\w+): (.*)$", done.stdout, re.MULTILINE)
    revealed = {int(line): text for line, _, text in matches if text.startswith("Revealed type")}
    untyped = [
        lines[n - 1] for n in range(first_wrong - len(PUBLIC), first_wrong) if '"Any"' in revealed.get(n, '"Any"')
    ]
    assert untyped == []
    errors = {int(line): text for line, kind, text in matches if kind == "error"}
    assert sorted(errors) == list(range(first_wrong, first_wrong + len(WRONG))), done.stdout
    for line, (code, expected) in enumerate(WRONG.items(), first_wrong):
        assert expected in errors[line], code


def test_the_keywords_of_train_are_the_settings_of_trainer_and_methods() -> None:
    known: dict[str, object] = {}
    own = [methods.get(name).Settings for name in methods.REGISTRY.modules]
    for settings in (TrainSettings, *own, *(method.Settings for method in OF_RATINGS.values())):
        for name, field in settings.model_fields.items():
            known[name] = Union[known.get(name, field.annotation), field.annotation]  # noqa: UP007
    taken, own_too = get_type_hints(TrainKeywords), {"backbone", "aggregator"}  # objects of one's own, too
    assert taken.keys() == known.keys()
    assert all(_as_set(taken[n]) == _as_set(t) for n, t in known.items() if n not in own_too)


def test_every_aggregator_of_the_folder_is_a_public_name() -> None:
    """A new one needs a line in ``aggregation/__init__.pyi``."""
    assert {aggregators[name].__name__ for name in aggregators.modules} <= set(cc.aggregation.__all__)


def test_every_figure_of_the_folder_is_a_public_name() -> None:
    """A new one needs a line in ``figures/__init__.pyi``."""
    folder = ROOT / "crowdcore" / "figures"
    helpers = {"__init__", "axes", "theme", "heatmap", "paper"}
    names = [f"crowdcore.figures.{f.stem}" for f in folder.glob("*.py") if f.stem not in helpers]
    functions = {f for name in names for _, f in inspect.getmembers(importlib.import_module(name), inspect.isfunction)}
    drawing = {f.__name__ for f in functions if f.__module__ in names and f.__annotations__["return"] == "go.Figure"}
    assert {name for name in drawing if not name.startswith("_")} <= set(cc.figures.__all__)


def _as_set(annotation: object) -> frozenset[str]:
    """Members of a union, and the values of a Literal, in any order."""
    parts = getattr(annotation, "__args__", ()) if not isinstance(annotation, type) else ()
    if isinstance(annotation, Mapping) or not parts or getattr(annotation, "__origin__", None) is dict:
        return frozenset({str(annotation)})
    return frozenset().union(*(_as_set(part) for part in parts))
