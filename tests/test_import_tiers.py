"""Imports by installed extras: the light paths load nothing heavy, in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "streamlit",
    "mlflow",
    "dask",
    "distributed",
    "optuna",
    "sklearn",
    "crowdkit",
    "kaleido",
    "numba",
    "scipy.stats",
)

ANALYSIS = """
import crowdcore as cc
ds = cc.load_dataset("demo")
cc.analysis.summary(ds), cc.analysis.available_references(ds)
cc.analysis.shared_mistakes(ds, "gold")
cc.analysis.shared_mistakes(ds, "majority-vote")
distance = cc.analysis.worker_distance(ds, "gold")
cc.figures.shared_mistakes(cc.analysis.shared_mistakes(ds, "gold"))
cc.aggregation.get("dawid-skene").fit(ds)
"""

EXHIBITS = """
import crowdcore as cc
from crowdcore.exhibits.catalogue import catalogue
catalogue()
view = cc.exhibits.view(cc.load_dataset("demo"), "dawid-skene")
cc.exhibits.mistakes.shared_mistakes(view)
"""

RUNS = """
import crowdcore as cc
for name in cc.runs.__all__:
    getattr(cc.runs, name)
cc.runs.Workspace.open()
cc.runs.RunSpec(dataset="demo", method="conal")
"""
RESULTS = """
import crowdcore as cc
for name in ("load_result", "TrainingResult", "TrainSettings", "EpochEvent", "NoteEvent"):
    getattr(cc.learning, name)
"""


def loaded_after(code: str) -> set[str]:
    """Heavy packages that running ``code`` in a fresh interpreter loads."""
    script = f"{code}\nimport json, sys\nprint(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_light_paths_load_nothing_heavy() -> None:
    assert loaded_after("import crowdcore.cli\n" + ANALYSIS + EXHIBITS + RUNS + RESULTS) == set()
    assert loaded_after("import sklearn") >= {"sklearn"}


def test_small_data_need_neither_numba_nor_torch() -> None:
    block = "import sys\nfor m in ('numba', 'llvmlite', 'torch', 'dask'): sys.modules[m] = None\n"
    code = block + (
        "from testkit.crowds import simulate_crowd\n"
        "import crowdcore as cc\n"
        "ds = simulate_crowd(n_tasks=60_000, per_task=5)\n"
        "assert cc.aggregation.get('dawid-skene').fit(ds).posterior.shape == (60_000, 4)\n"
        "assert cc.analysis.shared_mistakes(ds).percent.shape == (4, 4)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("chosen", [None, "mimalloc"])
def test_arrow_takes_memory_from_the_c_library_unless_something_else_is_chosen(chosen: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    environment |= {"ARROW_DEFAULT_MEMORY_POOL": chosen} if chosen else {}
    code = "import crowdcore, pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == (chosen or "system")
