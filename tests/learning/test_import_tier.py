"""Training needs torch, NumPy, SciPy, pandas, pyarrow, scikit-learn, safetensors and pydantic, and nothing else."""

from __future__ import annotations

import subprocess
import sys

BLOCKED = (
    "platformdirs",
    "numba",
    "llvmlite",
    "plotly",
    "typer",
    "rich",
    "streamlit",
    "PIL",
    "torchvision",
    "mlflow",
    "dask",
    "distributed",
    "optuna",
    "crowdkit",
    "krippendorff",
)

RUN = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import torch
torch.set_num_threads(1)
import crowdcore as cc
from tests.learning.helpers import featured_crowd
crowd = featured_crowd()
result = cc.learning.train(crowd, "conal", seeds=2, epochs=2)
cc.learning.train(crowd, "dl-ds", seeds=1, epochs=1)
assert result.accuracy("test").shape == (2,)
cc.list_datasets()
"""


def test_training_runs_where_only_its_own_needs_are_installed():
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(blocked=BLOCKED)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_without_torch_there_is_a_sentence():
    code = "import sys; sys.modules['torch'] = None\nimport crowdcore as cc\ncc.learning.train"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "'torch'" in done.stderr.splitlines()[-1]
