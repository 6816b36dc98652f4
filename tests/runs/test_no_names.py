"""What a run leaves behind, its record and its log, tells no worker's name and nothing of further columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from crowdcore.data.writers import write_folder
from testkit.named_crowd import NAME, SIDE, names_in
from tests.learning.helpers import featured_crowd


@pytest.fixture
def crowd_folder(tmp_path: Path) -> Path:
    """A crowd to train on, whose workers have names; one of them has a single label, one is always of one mind."""
    crowd = featured_crowd()
    extra = pd.DataFrame({"mail": [f"{SIDE}{r}@example.org" for r in crowd.worker]})
    names = pd.Index([f"{NAME}{r}" for r in range(crowd.n_workers)])
    (tmp_path / "data").mkdir()
    return write_folder(replace(crowd, worker_ids=names, extra=extra), tmp_path / "data" / "named")


def test_a_run_keeps_no_names(make, train, workspace, crowd_folder: Path, capfd, caplog) -> None:
    assert names_in((crowd_folder / "annotations.parquet").read_bytes())
    assert train(make("conal", seeds=(0,), epochs=1)) == 0
    said = capfd.readouterr()
    found = {str(file): names_in(file.read_bytes()) for file in workspace.folder.rglob("*") if file.is_file()}
    assert any("mlflow.db" in file for file in found)
    assert any("predictions" in file for file in found)
    assert not any(found.values())
    assert not names_in(said.out.encode(), said.err.encode(), caplog.text.encode())
